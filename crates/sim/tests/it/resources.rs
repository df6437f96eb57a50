//! Each resource by itself, by times that can be worked out by hand.

use std::cell::RefCell;
use std::rc::Rc;

use sim::resources::cores::{Busy, Sharing};
use sim::resources::disk::Speed;
use sim::resources::locks::{Locking, Waits};
use sim::simulation::Simulation;
use sim::task::Task;
use sim::world::{Hardware, Whose, World};

const MS: u64 = 1_000_000;

fn hardware(cores: u32) -> Hardware {
    Hardware {
        cores,
        sharing: Sharing {
            slice_ns: 10 * MS,
            thread_switch_ns: MS,
            process_switch_ns: 2 * MS,
            wake_ns: 0,
        },
        locking: Locking { spin_ns: 0, transfer_ns: 0 },
        disk: Speed { latency_ns: 4 * MS, bytes_per_s: 1e6, channels: 1, grain_ns: 1 },
    }
}

/// Where who comes to run does so at once.
fn without_switches(cores: u32) -> Hardware {
    let sharing =
        Sharing { slice_ns: 10 * MS, thread_switch_ns: 0, process_switch_ns: 0, wake_ns: 0 };
    Hardware { sharing, ..hardware(cores) }
}

/// When each task had done what it wanted, in milliseconds.
#[derive(Clone, Default)]
struct Done(Rc<RefCell<Vec<u64>>>);

impl Done {
    fn now(&self, task: &Task) {
        self.0.borrow_mut().push(task.world.borrow().now_ns / MS);
    }

    #[track_caller]
    fn check(&self, simulation: &mut Simulation, expected_ms: &[u64]) {
        simulation.run(1_000 * MS, |_, _| ());
        assert_eq!(*self.0.borrow(), expected_ms);
    }
}

fn busy(simulation: &Simulation) -> Vec<Busy> {
    simulation.world.borrow().cores.busy().collect()
}

#[test]
fn tasks_share_a_core_by_slices() {
    // (processes, when both are done, switches' costs)
    for (processes, expected_ms, switching_ms) in [([0, 0], [49, 55], 5), ([0, 1], [53, 60], 10)] {
        let (mut simulation, done) = (Simulation::new(&hardware(1)), Done::default());
        for process in processes {
            let done = done.clone();
            simulation.spawn(process, None, |task| async move {
                task.work(25 * MS).await;
                done.now(&task);
            });
        }
        done.check(&mut simulation, &expected_ms);
        let expected = Busy {
            work_ns: 50 * MS,
            switching_ns: switching_ms * MS,
            switches: 5,
            ..Busy::default()
        };
        assert_eq!(busy(&simulation), [expected]);
    }
}

/// A task that comes to run does nothing before it does: it takes no lock, and looks at nothing.
#[test]
fn a_task_begins_behind_its_switch() {
    // (processes, when each begins and is done)
    for (processes, expected_ms) in [([0, 0], [0, 5, 6, 11]), ([0, 1], [0, 5, 7, 12])] {
        let (mut simulation, done) = (Simulation::new(&hardware(1)), Done::default());
        for process in processes {
            let done = done.clone();
            simulation.spawn(process, None, |task| async move {
                done.now(&task);
                task.work(5 * MS).await;
                done.now(&task);
            });
        }
        done.check(&mut simulation, &expected_ms);
    }
}

/// For a core on which somebody comes to run, or spins for a lock: an interrupt goes first.
#[test]
fn an_interrupt_is_no_work_of_who_is_not_there_yet() {
    let rung = |world: &mut World, _| {
        world.cores.interrupt(0, world.now_ns, 3 * MS, &mut world.agenda);
    };
    let interrupted = |simulation: &mut Simulation, at_ms: u64| {
        let place = simulation.world.borrow_mut().place(Whose::Outside(7));
        simulation.world.borrow_mut().agenda.set(place, at_ms * MS);
        simulation.run(100 * MS, rung);
        busy(simulation)[0]
    };
    let (mut simulation, done) = (Simulation::new(&hardware(1)), Done::default());
    for process in [0, 1] {
        let done = done.clone();
        simulation.spawn(process, None, |task| async move {
            done.now(&task);
            task.work(5 * MS).await;
        });
    }
    let of = interrupted(&mut simulation, 6);
    assert_eq!(*done.0.borrow(), [0, 10]);
    assert_eq!([of.work_ns, of.interrupts_ns, of.switching_ns], [10 * MS, 3 * MS, 2 * MS]);

    let locking = Locking { spin_ns: 20 * MS, transfer_ns: 0 };
    let mut simulation = Simulation::new(&Hardware { locking, ..hardware(2) });
    let lock = simulation.world.borrow_mut().lock();
    for (core, after_ms) in [(0, 2), (1, 0)] {
        simulation.spawn(core, Some(core), |task| async move {
            task.work(after_ms * MS).await;
            task.hold(lock, 10 * MS).await;
        });
    }
    let of = interrupted(&mut simulation, 4);
    assert_eq!([of.work_ns, of.interrupts_ns, of.spinning_ns], [12 * MS, 3 * MS, 5 * MS]);
}

#[test]
fn who_has_a_core_alone_costs_one_event() {
    let (mut simulation, done) = (Simulation::new(&hardware(1)), Done::default());
    let also = done.clone();
    simulation.spawn(0, None, |task| async move {
        task.work(95 * MS).await;
        also.now(&task);
    });
    done.check(&mut simulation, &[95]);
    assert_eq!(simulation.world.borrow().events(), 1);
}

#[test]
fn whoever_is_ready_runs_on_any_core_that_is_idle() {
    let (mut simulation, done) = (Simulation::new(&hardware(3)), Done::default());
    for pinned in [None, None, Some(0)] {
        let done = done.clone();
        simulation.spawn(0, pinned, |task| async move {
            task.work(20 * MS).await;
            done.now(&task);
        });
    }
    // Core 0 is called for the first, and taken by the third before.
    done.check(&mut simulation, &[20, 20, 20]);
}

#[test]
fn soft_interrupts_go_first() {
    let (mut simulation, done) = (Simulation::new(&hardware(1)), Done::default());
    let also = done.clone();
    simulation.spawn(0, None, |task| async move {
        task.work(25 * MS).await;
        also.now(&task);
    });
    let place = simulation.world.borrow_mut().place(Whose::Outside(7));
    simulation.world.borrow_mut().agenda.set(place, 5 * MS);
    simulation.run(1_000 * MS, |world, who| {
        assert_eq!(who, 7);
        world.cores.interrupt(0, world.now_ns, 3 * MS, &mut world.agenda);
    });
    assert_eq!(*done.0.borrow(), [28]);
    let expected = Busy { work_ns: 25 * MS, interrupts_ns: 3 * MS, ..Busy::default() };
    assert_eq!(busy(&simulation), [expected]);
}

#[test]
fn who_waits_for_a_lock_spins_and_then_blocks() {
    // (how long he spins at most, how long he did)
    for (spin_ms, spun_ms) in [(0, 0), (5, 5), (20, 8)] {
        let locking = Locking { spin_ns: spin_ms * MS, transfer_ns: MS };
        let mut simulation = Simulation::new(&Hardware { locking, ..hardware(2) });
        let (done, lock) = (Done::default(), simulation.world.borrow_mut().lock());
        for (core, after_ms) in [(0, 0), (1, 2)] {
            let done = done.clone();
            simulation.spawn(0, Some(core), |task| async move {
                task.work(after_ms * MS).await;
                task.hold(lock, 10 * MS).await;
                done.now(&task);
            });
        }
        // It moves to the other core, which costs one more.
        done.check(&mut simulation, &[10, 21]);
        assert_eq!(busy(&simulation)[1].spinning_ns, spun_ms * MS, "spins {spin_ms} ms");
        let expected = Waits { asked: 2, waited: 1, waited_ns: 8 * MS, held_ns: 21 * MS };
        assert_eq!(simulation.world.borrow().lock_at(lock).waits(), expected);
    }
}

#[test]
fn a_disk_serves_so_many_at_a_time() {
    for (channels, expected_ms) in [(1, [5, 11, 18]), (2, [5, 6, 12]), (9, [5, 6, 7])] {
        let disk = Speed { channels, ..hardware(1).disk };
        let mut simulation = Simulation::new(&Hardware { disk, ..without_switches(1) });
        let done = Done::default();
        for bytes in [1_000, 2_000, 3_000] {
            let done = done.clone();
            simulation.spawn(0, None, |task| async move {
                task.read(bytes).await;
                done.now(&task);
            });
        }
        done.check(&mut simulation, &expected_ms);
    }
}

/// Whoever came first is woken first, and by one queue of those that he waits at.
#[test]
fn what_comes_into_a_queue_wakes_one() {
    let (mut simulation, taken) = (Simulation::new(&without_switches(2)), Done::default());
    let [one, other] = [2, 2].map(|bound| simulation.world.borrow_mut().queue(bound));
    let also = taken.clone();
    simulation.spawn(0, None, |task| async move {
        loop {
            task.wait(&[one, other]).await;
            for queue in [one, other] {
                while task.pop(queue).is_some() {
                    also.now(&task);
                }
            }
        }
    });
    simulation.spawn(1, None, |task| async move {
        task.work(10 * MS).await;
        assert!(task.push(one, 1) && task.push(other, 2) && task.push(other, 3));
        assert!(!task.push(other, 4), "no room");
        task.work(10 * MS).await;
        assert!(task.push(other, 5));
    });
    taken.check(&mut simulation, &[10, 10, 10, 20]);
    let passed = simulation.world.borrow().queue_at(other).traffic();
    assert_eq!((passed.items, passed.refused, passed.longest), (3, 1, 2));
}
