//! Proof that a name is true: which process and thread performed each step of a request.
//!
//! One line of JSON for each reply:
//! `{"request":"GET / HTTP/1.1","status":200,"steps":{"accept":{"by":"loop","pid":7,"tid":7,
//! "thread":"weir-loop"},...}}`. The steps are the papers' (Brecht04 figure 1, Choi05 section 2):
//! `accept`, `receive`, `find`, `path`, `pages`, `send`; a step that a request did not need is
//! left out. `by` says through whom: `loop`, `thread`, `process`, `acceptor`, `fiber`, `helper`,
//! `worker` or `ring`; for `ring` the thread is the one that submitted it. A fiber's number follows
//! as `"fiber":3`.

use h1::Status;
use h1::log_entry::json_text;

use crate::shared::performer::Performer;

/// The steps of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Accept,
    Receive,
    Find,
    Path,
    Pages,
    Send,
}

const STEPS: [(Step, &str); 6] = [
    (Step::Accept, "accept"),
    (Step::Receive, "receive"),
    (Step::Find, "find"),
    (Step::Path, "path"),
    (Step::Pages, "pages"),
    (Step::Send, "send"),
];

/// Who did it: what, in which process and thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Who {
    by: Performer,
    pid: u32,
    tid: u32,
    fiber: Option<u32>,
}

impl Who {
    /// The calling thread.
    pub(crate) fn me(by: Performer) -> Self {
        Self { by, pid: os::process::id(), tid: os::thread::id(), fiber: None }
    }

    /// The fiber of that number, which runs on the calling thread.
    pub(crate) fn fiber(number: u32) -> Self {
        Self { fiber: Some(number), ..Self::me(Performer::Fiber) }
    }
}

/// The steps that were performed so far.
#[derive(Debug, Default)]
pub(crate) struct Steps([Option<Who>; STEPS.len()]);

impl Steps {
    /// One was performed.
    pub(crate) fn mark(&mut self, step: Step, who: Who) {
        self.0[step as usize] = Some(who);
    }

    /// These, and behind them the others.
    pub(crate) fn and(&self, others: &Self) -> Self {
        let mut all = self.0;
        all.iter_mut().zip(others.0).for_each(|(one, other)| *one = other.or(*one));
        Self(all)
    }
}

/// The name of a thread, and the end of a line: proc_pid_comm(5).
const COMM_BYTES_MAX: usize = 16;

/// That of a reply which is out.
pub(crate) fn line(request: &str, status: Status, steps: &Steps) -> String {
    let mut line = format!("{{\"request\":\"{request}\",\"status\":{},\"steps\":{{", status.0);
    let done = STEPS.iter().filter_map(|&(step, name)| Some((name, steps.0[step as usize]?)));
    for (n, (name, who)) in done.enumerate() {
        let comma = if n > 0 { "," } else { "" };
        let (by, Who { pid, tid, fiber, .. }) = (who.by.name(), who);
        let fiber = fiber.map_or_else(String::new, |number| format!(",\"fiber\":{number}"));
        let comm = format!("/proc/{pid}/task/{tid}/comm");
        let comm = os::read_file(comm.as_ref(), COMM_BYTES_MAX);
        let thread = json_text(comm.unwrap_or_default().trim_ascii_end());
        line.push_str(&format!(
            "{comma}\"{name}\":{{\"by\":\"{by}\",\"pid\":{pid},\"tid\":{tid},\
             \"thread\":\"{thread}\"{fiber}}}"
        ));
    }
    line + "}}"
}
