//! Gradients are paid for before they are computed: what follows from them may then be sent, again and again.

use super::mutant::Mutant;
use super::{Effect, Note, Part};
use crate::error::{Error, Result};

impl Part {
    /// Pays for the gradients at the models as they are, unless they were paid for; false if nothing is left to pay with.
    pub(super) fn pay(&mut self, round: u64, effects: &mut Vec<Effect>) -> bool {
        if self.plan.noise.is_none() {
            return true;
        }
        let models = self.models();
        let Some(noise) = &mut self.plan.noise else { return true };
        match noise.pay(round, models.as_slice()) {
            Ok(Some(record)) if !self.is(Mutant::SpendsNothing) => effects.push(Effect::Spend(record)),
            Ok(_) => {}
            Err(releases) => {
                effects.push(Effect::Note(Note::Spent { releases }));
                return false;
            }
        }
        true
    }

    /// What the method remembers, and how many releases were paid for.
    pub(super) fn memory(&self) -> Vec<f64> {
        let paid = self.plan.noise.as_ref().map(|noise| noise.paid() as f64);
        paid.into_iter().chain(self.kernel.memory()).collect()
    }

    /// The memory of the method, if the releases that a checkpoint knows of are still in the ledger.
    pub(super) fn check_releases(&self, mut memory: Vec<f64>) -> Result<Vec<f64>> {
        let Some(noise) = &self.plan.noise else { return Ok(memory) };
        let counted = memory.remove(0);
        if counted > noise.paid() as f64 && !self.is(Mutant::ForgetsReleases) {
            let what = "it knows of more releases than the ledger: that was lost or replaced by an older one; nothing is sent \
                        before it is restored";
            return Err(Error::Checkpoint { what });
        }
        Ok(memory)
    }
}
