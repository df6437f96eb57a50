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
        sharing: Sharing {
            slice_ns: u64::MAX / 2,
            thread_switch_ns: 0,
            process_switch_ns: 0,
            wake_ns: 0,
        },
        locking: Locking { spin_ns: 0, transfer_ns: 0 },
        disk: Speed { latency_ns: 0, bytes_per_s: 1.0, channels: 1 },
    }
}

/// What a queue with so many servers is like: customers in it on the average, over a simulation of
/// so many arrivals, by Little's law from the time that they spent in it.
fn mean_customers(servers: u32, room: usize, load: f64, service: Draw, seed: u64) -> f64 {
    const ARRIVALS: u64 = 100_000;
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
    const RUNS: u64 = 12;
    /// Student's t for that and eleven degrees of freedom.
    const T: f64 = 4.437;
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

/// M/G/1 with processor sharing: ρ / (1 - ρ) whatever is drawn, here much that is short and little
/// that is long. Shares are slices of a hundredth.
#[test]
fn a_shared_core_is_as_theory_says() {
    const WORKERS: u32 = 60;
    const ARRIVALS: u64 = 20_000;
    let load = 0.6;
    // The mean of a Weibull of shape 0.5 is twice its scale.
    let service = Draw::Weibull { scale: MEAN_NS / 2.0, shape: 0.5 };
    let gaps = Draw::Exponential { mean: MEAN_NS / load };
    check("M/G/1-PS", load / (1.0 - load), |seed| {
        let slice_ns = (MEAN_NS / 100.0) as u64;
        let shared = Sharing { slice_ns, ..hardware(2).sharing };
        let mut simulation = Simulation::new(&Hardware { sharing: shared, ..hardware(2) });
        let queue = simulation.world.borrow_mut().queue(usize::MAX);
        let spent = Rc::new(Cell::new((0_u64, 0_u64)));
        for worker in 0..WORKERS {
            let (spent, mut stream) = (Rc::clone(&spent), Stream::of(seed, 2, worker.into()));
            simulation.spawn(0, Some(0), |task: Task| async move {
                loop {
                    let came_us = task.take(queue).await;
                    task.work(service.draw(&mut stream).round() as u64).await;
                    let (count, sum_us) = spent.get();
                    let now_us = task.world.borrow().now_ns / 1000;
                    spent.set((count + 1, sum_us + now_us - u64::from(came_us)));
                }
            });
        }
        simulation.spawn(0, Some(1), |task| {
            let mut stream = Stream::of(seed, 1, 0);
            async move {
                loop {
                    task.pause(gaps.draw(&mut stream).round() as u64).await;
                    let now_us = task.world.borrow().now_ns / 1000;
                    task.push(queue, now_us as u32);
                }
            }
        });
        let lasts_ns = ARRIVALS as f64 * MEAN_NS / load;
        simulation.run(lasts_ns as u64, |_, _| ());
        spent.get().1 as f64 * 1000.0 / lasts_ns
    });
}

/// A closed network of two stations, by mean value analysis (Reiser and Lavenberg, 1980).
#[test]
fn a_closed_network_is_as_mean_values_say() {
    const CUSTOMERS: u32 = 5;
    let means = [MEAN_NS, 0.7 * MEAN_NS];
    let (mut in_row, mut rate) = ([0.0; 2], 0.0);
    for customers in 1..=CUSTOMERS {
        let waits = [0, 1].map(|station| means[station] * (1.0 + in_row[station]));
        rate = f64::from(customers) / (waits[0] + waits[1]);
        in_row = waits.map(|wait| rate * wait);
    }
    check("closed network", rate * MEAN_NS, |seed| {
        let mut simulation = Simulation::new(&hardware(2));
        let queues = [0, 1].map(|_| simulation.world.borrow_mut().queue(usize::MAX));
        let served = Rc::new(Cell::new(0_u64));
        for station in 0..2 {
            let service = Draw::Exponential { mean: means[station] };
            let mut stream = Stream::of(seed, 3, station as u64);
            let served = Rc::clone(&served);
            simulation.spawn(0, Some(station as u32), |task: Task| async move {
                loop {
                    let customer = task.take(queues[station]).await;
                    task.work(service.draw(&mut stream).round() as u64).await;
                    served.set(served.get() + u64::from(station == 0));
                    task.push(queues[1 - station], customer);
                }
            });
        }
        for customer in 0..CUSTOMERS {
            assert!(simulation.world.borrow_mut().push(queues[0], customer));
        }
        let lasts = 50_000;
        simulation.run((f64::from(lasts) * MEAN_NS) as u64, |_, _| ());
        served.get() as f64 / f64::from(lasts)
    });
}
