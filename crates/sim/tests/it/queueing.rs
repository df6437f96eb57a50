//! The engine against what queueing theory says, within its own intervals.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::theory::check;
use measure::draw::{Draw, Stream};
use sim::resources::cores::Sharing;
use sim::resources::disk::Speed;
use sim::resources::locks::Locking;
use sim::simulation::Simulation;
use sim::task::Task;
use sim::world::{Hardware, Whose, World};

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
        disk: Speed { latency_ns: 0, bytes_per_s: 1.0, channels: 1, grain_ns: 1 },
    }
}

/// Lets it run for so long while somebody comes again and again.
fn run_open(
    simulation: &mut Simulation,
    lasts_ns: f64,
    (gaps, mut stream): (Draw, Stream),
    mut comes: impl FnMut(&mut World),
) {
    let mut world = simulation.world.borrow_mut();
    let place = world.place(Whose::Outside(0));
    let mut gap_ns = move || gaps.draw(&mut stream).round() as u64;
    world.agenda.set(place, gap_ns());
    drop(world);
    simulation.run(lasts_ns as u64, |world, _| {
        comes(world);
        world.agenda.set(place, world.now_ns + gap_ns());
    });
}

/// What a queue with so many servers is like: customers in it on the average, over a simulation of
/// so many arrivals, by Little's law from the time that they spent in it.
fn mean_customers(servers: u32, room: usize, load: f64, service: Draw, seed: u64) -> f64 {
    const ARRIVALS: u64 = 100_000;
    let mut simulation = Simulation::new(&hardware(servers));
    let queue = simulation.world.borrow_mut().queue(room);
    let arrived: Rc<RefCell<Vec<u64>>> = Rc::default();
    let spent_ns = Rc::new(Cell::new(0_u64));
    for server in 0..servers {
        simulation.spawn(server, Some(server), |task: Task| {
            let (arrived, spent_ns) = (Rc::clone(&arrived), Rc::clone(&spent_ns));
            let mut stream = Stream::of(seed, 2, u64::from(server));
            async move {
                loop {
                    let number = task.take(queue).await;
                    task.work(service.draw(&mut stream).round() as u64).await;
                    let came_ns = arrived.borrow()[number as usize];
                    spent_ns.set(spent_ns.get() + task.world.borrow().now_ns - came_ns);
                }
            }
        });
    }
    let gaps = Draw::Exponential { mean: MEAN_NS / load / f64::from(servers) };
    let lasts_ns = ARRIVALS as f64 * MEAN_NS / load / f64::from(servers);
    run_open(&mut simulation, lasts_ns, (gaps, Stream::of(seed, 1, 0)), |world| {
        let mut arrived = arrived.borrow_mut();
        arrived.push(world.now_ns);
        world.push(queue, arrived.len() as u32 - 1);
    });
    spent_ns.get() as f64 / lasts_ns
}

/// Of so many servers with a row of all: who is served, and who waits (Erlang's C formula).
fn erlang(servers: u32, load: f64) -> f64 {
    let offered = load * f64::from(servers);
    // The share that is turned away where nobody waits: Erlang's B formula, server by server.
    let turned_away = (1..=servers)
        .fold(1.0, |share, servers| offered * share / (f64::from(servers) + offered * share));
    let waits = turned_away / (1.0 - load * (1.0 - turned_away));
    offered + waits * load / (1.0 - load)
}

#[test]
fn queues_are_as_long_as_theory_says() {
    let exponential = Draw::Exponential { mean: MEAN_NS };
    let constant = Draw::Constant(MEAN_NS);
    for load in [0.5, 0.8] {
        for servers in [1, 2, 4, 8] {
            check(&format!("M/M/{servers}"), erlang(servers, load), |seed| {
                mean_customers(servers, usize::MAX, load, exponential, seed)
            });
        }
        check("M/D/1", load + load * load / (2.0 * (1.0 - load)), |seed| {
            mean_customers(1, usize::MAX, load, constant, seed)
        });
        // So that nothing is compared with a mistake: M/M/1: ρ / (1 - ρ). M/M/2: 2 ρ / (1 - ρ²).
        let known = [load / (1.0 - load), 2.0 * load / (1.0 - load * load)];
        for (servers, known) in [1, 2].into_iter().zip(known) {
            assert!((erlang(servers, load) - known).abs() < 1e-9, "M/M/{servers}");
        }
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
        let shared = Sharing { slice_ns, ..hardware(1).sharing };
        let mut simulation = Simulation::new(&Hardware { sharing: shared, ..hardware(1) });
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
        let lasts_ns = ARRIVALS as f64 * MEAN_NS / load;
        run_open(&mut simulation, lasts_ns, (gaps, Stream::of(seed, 1, 0)), |world| {
            world.push(queue, (world.now_ns / 1000) as u32);
        });
        spent.get().1 as f64 * 1000.0 / lasts_ns
    });
}

/// Customers who go from one station to the next, and think before they come again.
struct Network {
    /// What each station takes, and thinking, of [`MEAN_NS`].
    stations: &'static [f64],
    thinks: f64,
    customers: u32,
}

impl Network {
    /// Rounds in [`MEAN_NS`], by mean value analysis (Reiser and Lavenberg, 1980).
    fn expected(&self) -> f64 {
        let (mut in_row, mut rate) = (vec![0.0; self.stations.len()], 0.0);
        for customers in 1..=self.customers {
            let stations = self.stations.iter().zip(&in_row);
            let waits: Vec<f64> = stations.map(|(mean, in_row)| mean * (1.0 + in_row)).collect();
            rate = f64::from(customers) / (self.thinks + waits.iter().sum::<f64>());
            in_row = waits.iter().map(|wait| rate * wait).collect();
        }
        rate
    }

    fn simulated(&self, seed: u64) -> f64 {
        const LASTS: f64 = 50_000.0;
        let last = self.stations.len() - 1;
        let mut simulation = Simulation::new(&hardware(last as u32 + 1));
        let mut world = simulation.world.borrow_mut();
        let queues: Vec<_> = self.stations.iter().map(|_| world.queue(usize::MAX)).collect();
        let rings = (0..self.customers).map(|customer| world.place(Whose::Outside(customer)));
        let rings: Vec<u32> = rings.collect();
        rings.iter().for_each(|place| world.agenda.set(*place, 0));
        drop(world);
        let rounds = Rc::new(Cell::new(0_u64));
        for (station, mean) in self.stations.iter().enumerate() {
            let service = Draw::Exponential { mean: mean * MEAN_NS };
            let thinks = Draw::Exponential { mean: self.thinks * MEAN_NS };
            let mut stream = Stream::of(seed, 3, station as u64);
            let (own, next) = (queues[station], queues.get(station + 1).copied());
            let (rounds, rings) = (Rc::clone(&rounds), rings.clone());
            simulation.spawn(0, Some(station as u32), |task: Task| async move {
                loop {
                    let customer = task.take(own).await;
                    task.work(service.draw(&mut stream).round() as u64).await;
                    if let Some(next) = next {
                        task.push(next, customer);
                        continue;
                    }
                    rounds.set(rounds.get() + 1);
                    let mut world = task.world.borrow_mut();
                    let comes_ns = world.now_ns + thinks.draw(&mut stream).round() as u64;
                    world.agenda.set(rings[customer as usize], comes_ns);
                }
            });
        }
        simulation.run((LASTS * MEAN_NS) as u64, |world, customer| {
            world.push(queues[0], customer);
        });
        rounds.get() as f64 / LASTS
    }
}

#[test]
fn closed_networks_are_as_mean_values_say() {
    for (stations, thinks, customers) in [
        (&[1.0, 0.7][..], 0.0, 5),
        (&[1.0, 0.7, 0.9, 0.4], 0.0, 7),
        (&[0.3, 1.0, 0.8], 10.0, 15),
        (&[1.0], 20.0, 21),
    ] {
        let network = Network { stations, thinks, customers };
        let what = format!("{stations:?}, {customers} who think for {thinks}");
        check(&what, network.expected(), |seed| network.simulated(seed));
    }
}
