use crate::{Arrival, Corrupt, Policy, State};

/// No cache: nobody comes in.
///
/// Idea: what each request costs that finds nothing. Source: JAWS97 3.2.4 measures its cache
/// against a server without. Knobs: none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCache;

impl Policy for NoCache {
    fn heads(&self) -> u32 {
        0
    }

    fn words(&self) -> usize {
        0
    }

    fn admits(&self, _arrival: &Arrival) -> bool {
        false
    }

    fn insert(&self, _state: &mut State<&mut [u64]>, index: u32, _arrival: &Arrival) {
        panic!("nobody is let in, not even to {index}");
    }

    fn touch(&self, _state: &mut State<&mut [u64]>, _index: u32) {}

    fn remove(&self, _state: &mut State<&mut [u64]>, _index: u32) {}

    fn choose(
        &self,
        _state: &mut State<&mut [u64]>,
        _hear: &mut impl FnMut(u32) -> u32,
    ) -> Option<u32> {
        None
    }

    fn check(&self, _state: &State<&[u64]>, count: u32) -> Result<(), Corrupt> {
        if count == 0 { Ok(()) } else { Err(Corrupt::new("in, where nobody is", count.into())) }
    }
}
