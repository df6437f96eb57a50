//! Who performs a step of a request: the question that every architecture answers.

/// Who performs a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Performer {
    /// The one thread of the loop.
    Loop,
    /// The thread that holds the connection.
    Thread,
    /// A helper thread.
    Helper,
    /// The kernel, through a ring of the loop.
    Ring,
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

    /// The name in traces and tables, and of the thread: `weir-loop`, `weir-thread`, `weir-helper`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loop => "loop",
            Self::Thread => "thread",
            Self::Helper => "helper",
            Self::Ring => "ring",
        }
    }
}
