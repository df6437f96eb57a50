//! A pipeline whose stages are told apart by the wants that they do: each connection goes on to the
//! first stage that does what it wants next.
//!
//! Nobody waits for room who is waited for. A stage whose queue is full is waited for only by
//! stages before it: whoever goes back goes by way of the first one, which waits for sockets, and
//! such a stage takes whoever comes; and so do helpers.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};

use control::loads::Loads as Pace;
use control::pool::SAMPLE;
use measure::{Duration, Instant};
use os::poller::Interest;
use os::thread::Queue;

use super::belt::{Batch, Belt, Took};
use super::carried::{Carried, Does, Next};
use super::crew::Crew;
use super::fetching::{Askers, Fetching};
use super::holding::{Holding, close};
use super::plant::{Guard, Plant};
use super::{STACK_BYTES, no_thread};
use crate::connection::books::Books;
use crate::connection::pending::Pending;
use crate::connection::perform::InPlace;
use crate::connection::revalidator::Revalidator;
use crate::loops::phases::BUFFER_BYTES;
use crate::shared::counters::Counter;
use crate::shared::performer::Performer;
use crate::shared::settings::Settings;

/// A stage, behind the one that accepts.
pub(crate) struct Stage {
    /// Whose work it is: in traces, and in the names of its threads.
    pub(crate) by: Performer,
    pub(crate) does: &'static [Does],
    pub(crate) is: Is,
}

/// Of which kind it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Is {
    /// It waits for sockets: connections rest there.
    Holding,
    /// It takes connections from its queue; where that is full, those before it stop.
    Queue,
    /// It takes connections from its queue, and waits for the disk: where a path would wait for
    /// too long, whoever asked for it is refused.
    Helper,
}

/// What a pipeline is made of.
pub(crate) struct Design {
    /// The first waits for sockets, and receives.
    pub(crate) stages: &'static [Stage],
    /// Connections that may wait in a queue where those before it are to stop then.
    pub(crate) queue_max: usize,
    /// Whether stages that wait for nothing but their queues have threads of their own.
    pub(crate) is_private: bool,
    pub(crate) crew: fn(&Settings) -> Crew,
    /// The processor on which all threads stay; none: wherever they may.
    pub(crate) processor: Option<usize>,
}

/// Its stages, with the queue in front of each.
pub(crate) struct Line<'s, 'p> {
    plant: &'p Plant<'s>,
    stages: &'static [Stage],
    pub(crate) belts: Vec<Belt<'p>>,
    crews: Vec<Crew>,
    /// Where stages share threads.
    common: Option<Common>,
    /// Paths that helpers look for.
    askers: Askers,
    /// Of each stage, how long its loads take.
    disk: Vec<Disk>,
    processor: Option<usize>,
}

/// The threads of several stages.
struct Common {
    crew: Crew,
    /// Stages for which somebody waits, each once.
    told: Queue<usize>,
    is_told: Vec<AtomicBool>,
}

/// What helpers have to do.
#[derive(Default)]
struct Disk {
    /// Connections that wait for one, or that one has in hand.
    out: AtomicUsize,
    pace: Mutex<Pace>,
}

impl<'s, 'p> Line<'s, 'p> {
    /// # Errors
    /// No descriptor is left.
    pub(crate) fn new(plant: &'p Plant<'s>, design: Design) -> io::Result<Self> {
        let Design { stages, queue_max, is_private, crew, processor } = design;
        // Where threads are shared whoever waits for room may be the one who makes it.
        let queue_max = if is_private { queue_max } else { plant.connections_max() };
        let belt = |stage: &Stage| match stage.is {
            Is::Holding => Belt::to_holding(plant),
            Is::Queue => Ok(Belt::new(plant, queue_max)),
            Is::Helper => Ok(Belt::to_helpers(plant)),
        };
        let belts = stages.iter().map(belt).collect::<io::Result<_>>()?;
        let settings = &plant.worker.server.settings;
        let crews = stages.iter().map(|_| crew(settings)).collect();
        let common = (!is_private).then(|| Common {
            crew: crew(settings),
            told: Queue::new(stages.len()),
            is_told: stages.iter().map(|_| AtomicBool::new(false)).collect(),
        });
        let disk = stages.iter().map(|_| Disk::default()).collect();
        let askers = Askers::new(Pending::new(plant.connections_max()));
        Ok(Self { plant, stages, belts, crews, common, askers, disk, processor })
    }

    /// A thread for each stage, or one for all that share them.
    ///
    /// # Errors
    /// No thread can be made.
    pub(crate) fn hire<'e>(&'e self, scope: &'e Scope<'e, '_>) -> io::Result<()> {
        let plant = self.plant;
        if let Some(revalidator) = &plant.revalidator {
            revalidator.spawn(scope, plant.worker).map_err(no_thread)?;
        }
        for number in (0..self.stages.len()).filter(|number| !self.is_shared(*number)) {
            self.spawn(scope, Some(number)).map_err(no_thread)?;
        }
        if self.common.is_some() { self.spawn(scope, None).map_err(no_thread) } else { Ok(()) }
    }

    /// No thread waits any more for somebody to come.
    pub(crate) fn end(&self) {
        self.common.iter().for_each(|common| common.told.close());
        self.plant.revalidator.iter().for_each(Revalidator::close);
    }

    /// The calling thread runs where the pipeline is to.
    ///
    /// # Errors
    /// It may not.
    pub(crate) fn stay(&self) -> io::Result<()> {
        self.processor.map_or(Ok(()), |number| os::thread::stay_on(&[number]))
    }

    /// Another thread: of that stage, or of those that share them.
    fn spawn<'e>(&'e self, scope: &'e Scope<'e, '_>, of: Option<usize>) -> io::Result<()> {
        let name = of.map_or("pool", |number| self.stages[number].by.name());
        let thread = Builder::new().name(format!("weir-{name}")).stack_size(STACK_BYTES);
        let life = move || {
            let _guard = Guard;
            self.stay().unwrap_or_else(|e| self.plant.fail(&e));
            match of.map(|number| (number, self.stages[number].is)) {
                Some((number, Is::Holding)) => {
                    self.hold(scope, number).unwrap_or_else(|e| self.plant.fail(&e));
                }
                Some((number, _)) => self.take_and_pass_on(scope, number),
                None => self.take_of_any(scope),
            }
        };
        thread.spawn_scoped(scope, life).map(drop)
    }

    /// The life of a stage that waits for sockets.
    fn hold<'e>(&'e self, scope: &'e Scope<'e, '_>, number: usize) -> io::Result<()> {
        let Stage { by, does, .. } = self.stages[number];
        let mut holding = Holding::new((self.plant, &self.belts[number]), (number, by, does))?;
        let mut out = Out::new(self, scope, number);
        while !self.plant.is_over() {
            // Where all threads of a stage wait, nobody but this one looks at its queue.
            let looks = number == FIRST && self.has_pools() && holding.are_elsewhere();
            holding.get_events_within(looks.then_some(SAMPLE))?;
            for token in holding.round() {
                if let Some((wants, carried)) = holding.work(token, &mut InPlace) {
                    out.pass(carried, self.of(wants, number), &mut holding.books);
                }
            }
            holding.worked();
            out.flush(&mut holding.books);
            if number == FIRST {
                (0..self.stages.len())
                    .for_each(|of| self.look_at_pool(scope, of, &mut holding.books));
            }
            holding.expire();
        }
        Ok(())
    }

    /// The life of a thread of another one.
    fn take_and_pass_on<'e>(&'e self, scope: &'e Scope<'e, '_>, number: usize) {
        let (crew, belt) = (&self.crews[number], &self.belts[number]);
        let mut bench = Bench::new(self, scope, number);
        // Who has been helped does not wait for the next one's disk.
        let is_helper = self.stages[number].is == Is::Helper;
        loop {
            let most = if is_helper { 1 } else { crew.batch_max() };
            match belt.take(&mut bench.batch, most, crew.patience()) {
                Took::Some => bench.work(number, crew),
                Took::Nothing if crew.may_go() => return,
                Took::Nothing => {}
                Took::End => return,
            }
        }
    }

    /// The life of a thread of several of them: it goes where somebody waits.
    fn take_of_any<'e>(&'e self, scope: &'e Scope<'e, '_>) {
        let Common { crew, told, is_told } = self.common.as_ref().expect("stages share threads");
        let mut bench = Bench::new(self, scope, FIRST);
        let mut numbers = VecDeque::new();
        loop {
            match told.take_some(&mut numbers, 1, crew.patience()) {
                Took::Some => {}
                Took::Nothing if crew.may_go() => return,
                Took::Nothing => continue,
                Took::End => return,
            }
            for number in numbers.drain(..) {
                let belt = &self.belts[number];
                // First, so that who comes in between is told of again.
                is_told[number].store(false, SeqCst);
                // Another may have taken them.
                if belt.take(&mut bench.batch, crew.batch_max(), Duration::ZERO) == Took::Some {
                    if belt.length() > 0 {
                        self.tell(number);
                    }
                    bench.work(number, crew);
                }
            }
        }
    }

    /// Somebody has come to that stage: who does its work is told.
    fn has_come<'e>(&'e self, scope: &'e Scope<'e, '_>, number: usize, books: &mut Books<'_>) {
        if self.is_shared(number) {
            self.tell(number);
        }
        self.look_at_pool(scope, number, books);
    }

    /// Whether threads come and go.
    fn has_pools(&self) -> bool {
        self.crews.iter().any(Crew::has_pool)
    }

    /// Another thread comes where many wait for that stage, or for all of those that share them.
    fn look_at_pool<'e>(&'e self, scope: &'e Scope<'e, '_>, number: usize, books: &mut Books<'_>) {
        let shared = self.common.as_ref().filter(|_| self.is_shared(number));
        let (crew, of) = match shared {
            Some(common) => (&common.crew, None),
            None => (&self.crews[number], Some(number)),
        };
        if self.stages[number].is == Is::Holding || !crew.has_pool() {
            return;
        }
        let is_of = |of: &usize| *of == number || shared.is_some() && self.is_shared(*of);
        let waiting = (0..self.stages.len()).filter(is_of).map(|of| self.belts[of].length()).sum();
        let now = books.now.at;
        if !crew.grows(now, waiting) {
            return;
        }
        match self.spawn(scope, of) {
            Ok(()) => crew.has_come(),
            Err(e) => {
                books.tally.add(Counter::MachineFaults, 1);
                let so = "those that wait for a stage go on waiting";
                books.server.errors.no_thread(so, books.worker.number, &e, now);
            }
        }
    }

    /// Whether threads of several stages do its work.
    fn is_shared(&self, number: usize) -> bool {
        self.common.is_some() && self.stages[number].is == Is::Queue
    }

    /// Somebody may wait for that stage.
    fn tell(&self, number: usize) {
        if let Some(Common { told, is_told, .. }) = &self.common
            && !is_told[number].swap(true, SeqCst)
        {
            assert!(told.push(number).is_ok(), "it has room for each stage");
        }
    }

    /// Whether what a path that is asked for now leads to would be sent soon: helpers look for it,
    /// and perhaps others read it then, who cannot refuse it any more.
    fn has_room(&self, carried: &Carried, settings: &Settings, now: Instant) -> bool {
        let has = |lookup| locked(&self.askers).has(&lookup);
        if carried.has_waited || carried.lookup().is_some_and(has) {
            // It comes with the first one who has asked for it, or has, if it can be kept.
            return true;
        }
        let has_room = |number: usize| {
            let Disk { out, pace } = &self.disk[number];
            let (out, threads) = (out.load(SeqCst), self.crews[number].threads());
            let is_full = out >= settings.helper_queue as usize + threads;
            !is_full && locked(pace).admit(now, out, threads, settings.load_delay)
        };
        let is_helper = |number: &usize| self.stages[*number].is == Is::Helper;
        (0..self.stages.len()).filter(is_helper).all(has_room)
    }

    /// What a thread loads by.
    fn fetching(&self) -> Fetching<'_, 's> {
        Fetching::new(self.plant, &self.askers, &self.belts[FIRST])
    }

    /// A helper of that stage is done with a connection. If it asked the disk, that took so long.
    fn has_helped(&self, number: usize, took: Option<Duration>, now: Instant) {
        let Disk { out, pace } = &self.disk[number];
        out.fetch_sub(1, SeqCst);
        match took {
            Some(took) => locked(pace).done(now, took),
            None => locked(pace).returned(),
        }
    }

    /// Who does that, behind that stage.
    fn of(&self, wants: Does, behind: usize) -> usize {
        if wants == Does::End {
            return FIRST;
        }
        let place = self.stages.iter().position(|stage| stage.does.contains(&wants));
        let place = place.expect("each want is some stage's");
        let is_back = place <= behind && self.stages[place].is == Is::Queue;
        if is_back { FIRST } else { place }
    }

    /// Where a connection waits for its socket.
    fn of_resting(&self, interest: Interest) -> usize {
        let writes = |stage: &Stage| stage.is == Is::Holding && stage.does.contains(&Does::Part);
        let place = self.stages.iter().position(writes).filter(|_| interest.write);
        place.unwrap_or(FIRST)
    }
}

/// The stage that receives.
const FIRST: usize = 0;

/// What a thread works at.
struct Bench<'e, 's, 'p, 'x> {
    line: &'e Line<'s, 'p>,
    books: Books<'s>,
    batch: Batch,
    out: Out<'e, 's, 'p, 'x>,
    buffer: Vec<u8>,
}

impl<'e, 's, 'p, 'x> Bench<'e, 's, 'p, 'x> {
    fn new(line: &'e Line<'s, 'p>, scope: &'e Scope<'e, 'x>, number: usize) -> Self {
        let books = Books::new(line.plant.worker, line.stages[number].by);
        let buffer = vec![0; BUFFER_BYTES];
        Self { line, books, batch: Batch::new(), out: Out::new(line, scope, number), buffer }
    }

    /// Does that stage's work for what was taken.
    fn work(&mut self, number: usize, crew: &Crew) {
        let Self { line, books, batch, out, buffer } = self;
        let Stage { by, is, .. } = line.stages[number];
        let worked = batch.len();
        (books.by, out.from) = (by, number);
        books.look_at_clock();
        Belt::tell_wait(batch, books);
        for carried in batch.drain(..) {
            work_on(carried, (line, number), out, (buffer, books));
        }
        let took = books.look_at_clock().as_nanos() as u64;
        // What helpers wait for the disk is nobody's work.
        if is != Is::Helper {
            books.tally.add(Counter::WorkPhases, 1);
            books.tally.add(Counter::Worked, worked as u64);
            books.tally.add(Counter::WorkNs, took);
        }
        books.publish();
        crew.worked(books.now.at, worked);
        out.flush(books);
    }
}

fn work_on(
    mut carried: Box<Carried>,
    (line, number): (&Line<'_, '_>, usize),
    out: &mut Out<'_, '_, '_, '_>,
    (buffer, books): (&mut [u8], &mut Books<'_>),
) {
    let Stage { does, is, .. } = line.stages[number];
    carried.is_worked_on(line.plant);
    if line.plant.is_draining() {
        carried.hear_end(buffer, books);
    }
    let mut service = line.fetching();
    if is == Is::Helper {
        match service.asks(carried) {
            Some(first) => carried = first,
            // No helper has to do with it for now.
            None => return line.has_helped(number, None, books.now.at),
        }
    }
    let next = loop {
        let next = carried.work(0, does, buffer, (&mut service, books, line.plant));
        // Whoever is sent much goes on by turns with others, where that is done.
        let is_sent = matches!(carried.wants(), Does::Head | Does::Part);
        match next {
            Next::Again if is_sent => break Next::Rests(Interest::WRITE),
            Next::Again => {}
            next => break next,
        }
    };
    service.found(books.now.at);
    if is == Is::Helper {
        line.has_helped(number, service.took(), books.now.at);
    }
    match next {
        Next::Again => unreachable!("it has gone on"),
        Next::Moves(wants) => out.pass(carried, line.of(wants, number), books),
        Next::Rests(interest) => out.pass(carried, line.of_resting(interest), books),
        Next::Over => close(carried, line.plant, books),
    }
}

/// What a stage passes on at the end of its round.
struct Out<'e, 's, 'p, 'x> {
    line: &'e Line<'s, 'p>,
    scope: &'e Scope<'e, 'x>,
    from: usize,
    /// To each stage.
    batches: Vec<Batch>,
}

impl<'e, 's, 'p, 'x> Out<'e, 's, 'p, 'x> {
    fn new(line: &'e Line<'s, 'p>, scope: &'e Scope<'e, 'x>, from: usize) -> Self {
        let batches = line.stages.iter().map(|_| Batch::new()).collect();
        Self { line, scope, from, batches }
    }

    /// To that stage. Who asks and is not admitted, and whose path would wait for too long, hears
    /// so from whoever sends that.
    fn pass(&mut self, mut carried: Box<Carried>, to: usize, books: &mut Books<'_>) {
        let line = self.line;
        if let Some(took) = carried.took() {
            line.plant.replied(books.now.at, took);
        }
        let wants = carried.wants();
        if wants == Does::Find && line.plant.has_admission() {
            carried.ask_whether_admitted(line.plant, books);
        }
        let is_helped = |to: usize| line.stages[to].is == Is::Helper;
        let (settings, now) = (&books.server.settings, books.now.at);
        if is_helped(to) && wants == Does::Path && !line.has_room(&carried, settings, now) {
            carried.refuse(books);
        }
        let is_refused = carried.wants() != wants;
        let to = if is_refused { line.of(carried.wants(), self.from) } else { to };
        if is_helped(to) {
            line.disk[to].out.fetch_add(1, SeqCst);
        }
        self.batches[to].push_back(carried);
    }

    fn flush(&mut self, books: &mut Books<'_>) {
        for (number, batch) in self.batches.iter_mut().enumerate() {
            if !batch.is_empty() {
                self.line.belts[number].put(batch, books.now.at);
                self.line.has_come(self.scope, number, books);
            }
        }
    }
}

// A thread that panics ends the process.
fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
