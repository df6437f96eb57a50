//! The calling thread: its number, its name, its processors.

use os::thread::{cpu_affinity_count, id, set_name};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

#[test]
fn numbers_are_the_kernels() {
    let ids: Vec<u32> = std::thread::scope(|scope| {
        let ask = || {
            let known = std::path::Path::new("/proc/self/task").join(id().to_string());
            assert!(known.is_dir(), "{known:?}");
            (id(), rustix::thread::gettid().as_raw_nonzero().get() as u32)
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        let told = threads.into_iter().map(|thread| thread.join().unwrap());
        told.map(|(ours, kernels)| if ours == kernels { ours } else { 0 }).collect()
    });
    assert!(!ids.contains(&0) && !ids.contains(&id()), "{ids:?}");
}

/// The name, and what ps(1) shows.
#[test]
fn names_are_cut() {
    let rows: [(&str, &[u8]); 7] = [
        ("sped", b"sped"),
        ("", b""),
        ("fifteen letters", b"fifteen letters"),
        ("sixteen  letters", b"sixteen  letter"),
        ("a\0b", b"a"),
        ("with (brackets)", b"with (brackets)"),
        // Bytes are counted, not letters.
        (
            "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}",
            b"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3",
        ),
    ];
    for (name, shown) in rows {
        std::thread::spawn(move || {
            set_name(name);
            let mut kept = std::fs::read(format!("/proc/self/task/{}/comm", id())).unwrap();
            assert_eq!(kept.pop(), Some(b'\n'));
            assert_eq!(kept, shown, "{name:?}");
        })
        .join()
        .unwrap();
    }
}

#[test]
fn processors_are_counted() {
    let all = sched_getaffinity(None).unwrap();
    assert_eq!(cpu_affinity_count(), all.count() as usize);
    let first = (0..CpuSet::MAX_CPU).find(|&cpu| all.is_set(cpu)).unwrap();
    std::thread::spawn(move || {
        let mut one = CpuSet::new();
        one.set(first);
        sched_setaffinity(None, &one).unwrap();
        assert_eq!(cpu_affinity_count(), 1);
    })
    .join()
    .unwrap();
}
