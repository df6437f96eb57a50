//! What a switch costs: from one fiber to another, and from one thread of the kernel's to another
//! on the same processor. In rounds, one after the other; each figure is nanoseconds for a switch.
//!
//! `cargo run --release -p os --example switches`
#![forbid(unsafe_code)]

use std::io::{self, Read, Write};
use std::thread;

use measure::Duration;
use os::fiber::{Arena, Fiber};

const ROUNDS: usize = 9;
const SWITCHES_OF_FIBERS: u32 = 2_000_000;
const SWITCHES_OF_THREADS: u32 = 100_000;
/// As many fibers, in turn, so that their stacks are as cold as those of so many connections.
const MANY: usize = 1000;

fn main() -> io::Result<()> {
    os::thread::stay_on(&os::thread::processors()?[..1])?;
    let [mut two, mut many, mut threads] = [(); 3].map(|()| Vec::new());
    for _ in 0..ROUNDS {
        two.push(fibers(2)?);
        many.push(fibers(MANY)?);
        threads.push(kernel_threads()?);
    }
    for (name, mut all) in [
        ("between two fibers", two),
        ("between a thousand fibers", many),
        ("between two threads of the kernel's, by a pipe", threads),
    ] {
        all.sort_by(f64::total_cmp);
        let [least, median, most] = [0, ROUNDS / 2, ROUNDS - 1].map(|at| all[at]);
        println!("{median:8.1} ns ({least:.1} to {most:.1}) {name}");
    }
    Ok(())
}

/// A scheduler resumes them in turn: from one to the next is a switch, as it is counted.
fn fibers(count: usize) -> io::Result<f64> {
    let arena = Arena::new(count, 16 << 10)?;
    let rounds = SWITCHES_OF_FIBERS / count as u32;
    let run = move |parking: &os::fiber::Parking<'_>| {
        for _ in 0..rounds {
            parking.park();
        }
    };
    let all = (0..count).map(|_| Fiber::new(&arena, run));
    let mut all = all.collect::<io::Result<Vec<_>>>()?;
    let begun = os::clock::monotonic();
    for _ in 0..rounds {
        for fiber in &mut all {
            fiber.resume();
        }
    }
    let took = os::clock::monotonic() - begun;
    all.iter_mut().for_each(|fiber| assert!(fiber.resume(), "its rounds are over"));
    Ok(of_each(took, rounds * count as u32))
}

/// Each writes a byte for the other, and waits for one: two switches a round, and four calls.
fn kernel_threads() -> io::Result<f64> {
    let (mut for_one, mut to_one) = io::pipe()?;
    let (mut for_other, mut to_other) = io::pipe()?;
    let rounds = SWITCHES_OF_THREADS / 2;
    let other = thread::spawn(move || {
        let mut byte = [0];
        for _ in 0..rounds {
            for_other.read_exact(&mut byte)?;
            to_one.write_all(&byte)?;
        }
        io::Result::Ok(())
    });
    let begun = os::clock::monotonic();
    let mut byte = [0];
    for _ in 0..rounds {
        to_other.write_all(&byte)?;
        for_one.read_exact(&mut byte)?;
    }
    let took = os::clock::monotonic() - begun;
    other.join().expect("it has not panicked")?;
    Ok(of_each(took, SWITCHES_OF_THREADS))
}

fn of_each(took: Duration, switches: u32) -> f64 {
    took.as_nanos() as f64 / f64::from(switches)
}
