//! The engine against what queueing theory says, within its own intervals.

use std::cell::Cell;
use std::rc::Rc;

use measure::draw::{Draw, Stream};
use sim::resources::cores::Sharing;
use sim::resources::disk::Speed;
use sim::resources::locks::Locking;
use sim::simulation::Simulation;
use sim::task::Task;
use sim::world::Hardware;

const MEAN_NS: f64 = 1e6;

fn hardware(cores: u32) -> Hardware {
    Hardware {
        cores,
        sharing: Sharing { slice_ns: u64::MAX / 2, thread_switch_ns: 0, process_switch_ns: 0 },
        locking: Locking { spin_ns: 0, transfer_ns: 0 },
        disk: Speed { latency_ns: 0, bytes_per_s: 1.0, channels: 1 },
    }
}

/// What a queue with so many servers is like: customers in it on the average, over a simulation of
/// so many arrivals, by Little's law from the time that they spent in it.
fn mean_customers(servers: u32, room: usize, load: f64, service: Draw, seed: u64) -> f64 {
    const ARRIVALS: u64 = 200_000;
    // One core more: for who comes.
    let mut simulation = Simulation::new(&hardware(servers + 1));
    let queue = simulation.world.borrow_mut().queue(room);
    let arrived: Rc<Cell<Vec<u64>>> = Rc::default();
    let spent_ns = Rc::new(Cell::new(0_u64));
    let gaps = Draw::Exponential { mean: MEAN_NS / load / f64::from(servers) };
    simulation.spawn(0, Some(servers), |task| {
        let (arrived, mut stream) = (Rc::clone(&arrived), Stream::of(seed, 1, 0));
        async move {
            for number in 0.. {
                task.pause(gaps.draw(&mut stream).round() as u64).await;
                let mut times = arrived.take();
                times.push(task.world.borrow().now_ns);
                arrived.set(times);
                task.push(queue, number);
            }
        }
    });
    for server in 0..servers {
        simulation.spawn(1 + server, Some(server), |task: Task| {
            let (arrived, spent_ns) = (Rc::clone(&arrived), Rc::clone(&spent_ns));
            let mut stream = Stream::of(seed, 2, u64::from(server));
            async move {
                loop {
                    let number = task.take(queue).await;
                    task.work(service.draw(&mut stream).round() as u64).await;
                    let times = arrived.take();
                    let came_ns = times[number as usize];
                    arrived.set(times);
                    spent_ns.set(spent_ns.get() + task.world.borrow().now_ns - came_ns);
                }
            }
        });
    }
    let lasts_ns = ARRIVALS as f64 * MEAN_NS / load / f64::from(servers);
    simulation.run(lasts_ns as u64, |_, _| ());
    spent_ns.get() as f64 / lasts_ns
}

/// Judges the mean of some runs by its own interval of 99.9 %.
fn check(what: &str, expected: f64, run: impl Fn(u64) -> f64) {
    const RUNS: u64 = 20;
    /// Student's t for that and 19 degrees of freedom.
    const T: f64 = 3.883;
    let seen: Vec<f64> = (0..RUNS).map(run).collect();
    let mean = seen.iter().sum::<f64>() / RUNS as f64;
    let squares: f64 = seen.iter().map(|one| (one - mean).powi(2)).sum();
    let half = T * (squares / (RUNS - 1) as f64 / RUNS as f64).sqrt();
    assert!((mean - expected).abs() < half, "{what}: {mean} ± {half}, expected {expected}");
    assert!(half < expected / 10.0, "{what}: ± {half} tells too little of {expected}");
}

#[test]
fn queues_are_as_long_as_theory_says() {
    let exponential = Draw::Exponential { mean: MEAN_NS };
    let constant = Draw::Constant(MEAN_NS);
    // M/M/1: ρ / (1 - ρ). M/D/1: ρ + ρ² / (2 (1 - ρ)). M/M/2: 2 ρ / (1 - ρ²).
    for load in [0.5, 0.8] {
        check("M/M/1", load / (1.0 - load), |seed| {
            mean_customers(1, usize::MAX, load, exponential, seed)
        });
        check("M/D/1", load + load * load / (2.0 * (1.0 - load)), |seed| {
            mean_customers(1, usize::MAX, load, constant, seed)
        });
        check("M/M/2", 2.0 * load / (1.0 - load * load), |seed| {
            mean_customers(2, usize::MAX, load, exponential, seed)
        });
    }
}

/// M/M/1/K, with one in service and K - 1 in the queue, at a load of 1: all K + 1 states alike.
#[test]
fn a_bounded_queue_refuses_as_theory_says() {
    check("M/M/1/5", 2.5, |seed| {
        mean_customers(1, 4, 1.0, Draw::Exponential { mean: MEAN_NS }, seed)
    });
}
