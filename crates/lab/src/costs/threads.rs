//! From one thread or process to another.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use os::process::{self, Fork};
use os::thread::Queue;

use super::{Place, stay};

/// There and back.
const ROUNDS: u32 = 20_000;

/// Two threads of one processor that both give way: as often as the kernel says that it changed
/// from one to the other.
pub(super) fn switch(place: &Place) -> io::Result<f64> {
    let on = Some(place.on.map_or_else(first, Ok)?);
    let give_way = || (0..ROUNDS).for_each(|_| thread::yield_now());
    let before = process::switches();
    let began = Instant::now();
    thread::scope(|scope| {
        let other = scope.spawn(|| stay(on).map(|()| give_way()));
        stay(on)?;
        give_way();
        other.join().map_err(|_| panicked())?
    })?;
    let took_ns = began.elapsed().as_nanos() as f64;
    let after = process::switches();
    let switches = (after.0 + after.1) - (before.0 + before.1);
    match switches > u64::from(ROUNDS) / 10 {
        true => Ok(took_ns / switches as f64),
        // This scheduler does not let threads give way: nothing is known.
        false => Err(io::ErrorKind::Unsupported.into()),
    }
}

fn first() -> io::Result<usize> {
    os::thread::processors()?.first().copied().ok_or_else(|| io::ErrorKind::Unsupported.into())
}

/// By pipes, between which the difference of processes and threads is the switch's.
pub(super) fn switch_process(place: &Place) -> io::Result<f64> {
    let on = Some(place.on.map_or_else(first, Ok)?);
    let here = Place { on, ..*place };
    stay(on)?;
    let between_processes = by_pipe(|there, back| {
        match process::fork()? {
            Fork::Child => {
                process::die_with_parent();
                process::exit(i32::from(answer(there, back).is_err()))
            }
            // It holds all ends of the pipes, so it does not hear that this one is over.
            Fork::Parent(pid) => Ok(Box::new(move || process::kill(pid)) as Ending),
        }
    })?;
    let between_threads = by_pipe(|there, back| {
        let other = thread::spawn(move || answer(there, back));
        Ok(Box::new(move || other.join().map_err(|_| panicked())?) as Ending)
    })?;
    Ok(switch(&here)? + (between_processes - between_threads) / 2.0)
}

/// Ends the other side, which has heard that nobody asks any more if it can.
type Ending = Box<dyn FnOnce() -> io::Result<()>>;

fn answer(mut there: PipeReader, mut back: PipeWriter) -> io::Result<()> {
    let mut byte = [0];
    while there.read(&mut byte)? > 0 {
        back.write_all(&byte)?;
    }
    Ok(())
}

/// A byte there and back, in nanoseconds.
fn by_pipe(start: impl FnOnce(PipeReader, PipeWriter) -> io::Result<Ending>) -> io::Result<f64> {
    let (there, mut ask) = io::pipe()?;
    let (mut hear, back) = io::pipe()?;
    let end = start(there, back)?;
    let mut byte = [b'x'];
    let began = Instant::now();
    for _ in 0..ROUNDS {
        ask.write_all(&byte)?;
        hear.read_exact(&mut byte)?;
    }
    let took_ns = began.elapsed().as_nanos() as f64;
    drop(ask);
    end()?;
    Ok(took_ns / f64::from(ROUNDS))
}

/// By a queue that a thread waits at, as helpers do: half of there and back.
pub(super) fn hand_over(place: &Place) -> io::Result<f64> {
    let on = Some(place.on.map_or_else(first, Ok)?);
    handed_over(on, on)
}

pub(super) fn hand_over_far(place: &Place) -> io::Result<f64> {
    let beside = place.beside.ok_or(io::ErrorKind::Unsupported)?;
    handed_over(place.on, Some(beside))
}

fn handed_over(on: Option<usize>, beside: Option<usize>) -> io::Result<f64> {
    let (there, back) = (Queue::new(1), Queue::new(1));
    let full = |()| io::Error::other("a queue was full");
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            stay(beside)?;
            while let Some(()) = there.pop() {
                back.push(()).map_err(full)?;
            }
            io::Result::Ok(())
        });
        stay(on)?;
        let began = Instant::now();
        let asked = (0..ROUNDS).try_for_each(|_| {
            there.push(()).map_err(full)?;
            back.pop().ok_or_else(panicked)
        });
        let took_ns = began.elapsed().as_nanos() as f64;
        there.close();
        other.join().map_err(|_| panicked())??;
        asked.map(|()| took_ns / f64::from(2 * ROUNDS))
    })
}

fn panicked() -> io::Error {
    io::Error::other("the other side has ended")
}

/// Two threads write the same word in turn.
pub(super) fn cache_line(place: &Place) -> io::Result<f64> {
    let beside = place.beside.ok_or(io::ErrorKind::Unsupported)?;
    let word = AtomicU64::new(0);
    let last = u64::from(2 * ROUNDS);
    let take_turns = |mine: u64| {
        (mine..last).step_by(2).for_each(|turn| {
            while word.load(Ordering::Acquire) != turn {
                std::hint::spin_loop();
            }
            word.store(turn + 1, Ordering::Release);
        });
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| stay(Some(beside)).map(|()| take_turns(1)));
        stay(place.on)?;
        let began = Instant::now();
        take_turns(0);
        let took_ns = began.elapsed().as_nanos() as f64;
        other.join().map_err(|_| panicked())??;
        Ok(took_ns / last as f64)
    })
}
