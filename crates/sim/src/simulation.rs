//! Lets a machine's tasks run, one event after the other.

use std::cell::RefCell;
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crate::resources::cores::{CoreId, TaskId};
use crate::task::Task;
use crate::world::{Hardware, Rung, World};

/// A machine and the programs of its tasks.
pub struct Simulation {
    /// The machine.
    pub world: Rc<RefCell<World>>,
    /// By task; `None`: it is over.
    programs: Vec<Option<Pin<Box<dyn Future<Output = ()>>>>>,
}

impl Simulation {
    /// A machine without tasks.
    #[must_use]
    pub fn new(hardware: &Hardware) -> Self {
        Self { world: Rc::new(RefCell::new(World::new(hardware))), programs: Vec::new() }
    }

    /// One more task, which begins at once.
    pub fn spawn<F: Future<Output = ()> + 'static>(
        &mut self,
        process: u32,
        pinned: Option<CoreId>,
        program: impl FnOnce(Task) -> F,
    ) -> TaskId {
        let id = self.world.borrow_mut().hire(process, pinned);
        let task = Task { world: Rc::clone(&self.world), id };
        self.programs.push(Some(Box::pin(program(task))));
        self.world.borrow_mut().wake(id);
        id
    }

    /// Goes on until that time. `outside` is told whose alarm it was that is no part of the
    /// machine.
    pub fn run(&mut self, until_ns: u64, mut outside: impl FnMut(&mut World, u32)) {
        loop {
            self.turn_all();
            let rung = self.world.borrow_mut().ring(until_ns);
            match rung {
                None => break,
                Some(Rung::Outside(who)) => outside(&mut self.world.borrow_mut(), who),
                Some(Rung::Inside) => {}
            }
        }
        self.world.borrow_mut().now_ns = until_ns;
    }

    fn turn_all(&mut self) {
        loop {
            let core = self.world.borrow_mut().cores.turn();
            let Some(core) = core else { return };
            self.turn(core);
        }
    }

    /// Asks the task on this core what it wants next, and whoever gets the core after it.
    fn turn(&mut self, core: CoreId) {
        let context = &mut Context::from_waker(Waker::noop());
        loop {
            let next = self.world.borrow_mut().next(core);
            let Some(task) = next else { return };
            let program = &mut self.programs[task as usize];
            let asked = program.as_mut().expect("a task that runs has a program");
            if asked.as_mut().poll(context) == Poll::Ready(()) {
                *program = None;
                let mut world = self.world.borrow_mut();
                let now_ns = world.now_ns;
                world.cores.end(task, now_ns);
            }
        }
    }
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = self.programs.len();
        f.debug_struct("Simulation").field("tasks", &tasks).finish_non_exhaustive()
    }
}
