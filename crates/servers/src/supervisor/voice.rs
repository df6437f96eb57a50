//! What the supervisor says: to whoever starts it until it serves, to the error log from then on.

use std::os::fd::RawFd;
use std::sync::Arc;

use crate::shared::error_log::{By, ErrorLog};
use crate::shared::settings::Level;

/// See the head of this file.
pub struct Voice<'p> {
    /// Of who has started the server.
    terminal: &'p mut dyn FnMut(&str),
    /// Nothing before it serves.
    log: Option<Arc<ErrorLog>>,
    by: By,
    through: Option<RawFd>,
}

impl<'p> Voice<'p> {
    /// `terminal` gets lines for whoever starts the server, and those of later where the error log
    /// is a file: who waits for a drain looks there.
    pub fn new(terminal: &'p mut dyn FnMut(&str)) -> Self {
        Self { terminal, log: None, by: By::Supervisor, through: None }
    }

    /// The lines for the terminal leave through that descriptor.
    #[must_use]
    pub fn through(self, descriptor: Option<RawFd>) -> Self {
        Self { through: descriptor, ..self }
    }

    /// What a keeper must not close that is to be heard there.
    pub(super) fn descriptor(&self) -> Option<RawFd> {
        self.through
    }

    /// In the process of a keeper: it is he who speaks from now on.
    pub(super) fn become_keeper(&mut self, log: &Arc<ErrorLog>) {
        self.log = Some(Arc::clone(log));
        self.by = By::Keeper;
    }

    /// From now on that is the log.
    pub(crate) fn goes_to(&mut self, log: &Arc<ErrorLog>) {
        self.log = Some(Arc::clone(log));
    }

    pub(crate) fn say(&mut self, level: Level, text: &str) {
        if let Some(log) = &self.log {
            log.write(level, self.by, text);
            if !log.is_file() {
                return;
            }
        }
        match level {
            Level::Warn => (self.terminal)(&format!("warning: {text}")),
            _ => (self.terminal)(text),
        }
    }

    /// What has changed.
    pub(crate) fn tell(&mut self, text: &str) {
        self.say(Level::Info, text);
    }

    /// What soon may not work.
    pub(crate) fn warn(&mut self, text: &str) {
        self.say(Level::Warn, text);
    }

    /// What somebody has to look after.
    pub(crate) fn complain(&mut self, text: &str) {
        self.say(Level::Error, text);
    }
}
