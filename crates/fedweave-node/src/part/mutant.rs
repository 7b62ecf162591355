//! Bugs, planted by hand: the simulator must find every one of them. They exist only in test builds.

use super::Part;

/// A protocol bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code))]
pub enum Mutant {
    /// Frames leave before the state is durable.
    CheckpointAfterSend,
}

impl Part {
    /// True if this bug is planted.
    #[cfg(test)]
    pub(super) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// Never, outside tests.
    #[cfg(not(test))]
    #[inline(always)]
    pub(super) fn is(&self, _: Mutant) -> bool {
        false
    }
}
