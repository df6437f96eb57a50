//! Who performs a step of a request: the question that every architecture answers.

use crate::shared::choice::choice;

choice! {
    /// Who performs a step. The word stands in traces and tables, and names the thread:
    /// `weir-loop`, `weir-thread`, `weir-reader` and so on.
    pub enum Performer {
        /// The one thread of the loop.
        Loop = "loop",
        /// The thread that holds the connection.
        Thread = "thread",
        /// The process that holds the connection.
        Process = "process",
        /// The thread that only accepts.
        Acceptor = "acceptor",
        /// The stage that receives.
        Reader = "reader",
        /// The stage that parses what was received.
        Receiver = "receiver",
        /// The stage that looks up what is in memory.
        Finder = "finder",
        /// The stage that sends heads, and what is small with them.
        Header = "header",
        /// The stage that waits until clients take more.
        Selector = "selector",
        /// The stage that sends, or what is sent of files.
        Writer = "writer",
        /// The fiber that holds the connection: all of a scheduler run on one thread.
        Fiber = "fiber",
        /// A helper thread.
        Helper = "helper",
        /// A thread that does for fibers what blocks.
        Worker = "worker",
        /// The kernel, through a ring of the loop.
        Ring = "ring",
    }
}

impl Performer {
    /// Whose thread does what is computed for it: a ring has none of its own.
    #[must_use]
    pub const fn finder(self) -> Self {
        match self {
            Self::Ring => Self::Loop,
            other => other,
        }
    }
}
