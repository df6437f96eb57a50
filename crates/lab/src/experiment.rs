//! What a question is.

use crate::design::Plan;
use crate::known::Known;
use crate::page::Section;
use crate::setup::Setup;

/// One question.
pub struct Experiment {
    /// As in `weir lab run NAME`.
    pub name: &'static str,
    /// Which figures of which paper ask the same; empty: none.
    pub paper: &'static str,
    /// See [`Start`](crate::subject::Start): where figures stand beside those of a paper. Who asks
    /// which server or which knobs are best for him has them as he will run them.
    pub is_as_in_papers: bool,
    /// In a sentence.
    pub question: &'static str,
    /// Knobs of a run that change nothing of it, as it says itself what they say: by name.
    pub ignores: &'static [&'static str],
    /// What is to be measured next, given what is known.
    pub plan: fn(&Setup, &Known<'_>) -> Plan,
    /// What is told of it.
    pub sections: fn(&Setup, &Known<'_>) -> Vec<Section>,
}
