//! Noise of gradients in a federation: what it is drawn from, and what was released of it.
//!
//! A release is the gradients of all nodes of a part at its models. Its noise follows from a key and the models: a round that is replayed at the same
//! models sends the same bytes, whatever was lost in between, and costs nothing; at other models it has other noise, which must be paid
//! for. One noise for each *number* of a round would not do: the difference of two releases would be free of it.

use std::collections::BTreeSet;
use std::fmt;

use fedweave::loss::LossSpec;
use fedweave::trust::privacy::rounds::{ClippedGradients, GradientNoise};
use fedweave_io::Noise;

use crate::error::Result;
use crate::plan::Plan;

/// Bytes of a record: the round, a mark of the models, a checksum.
pub const RECORD: usize = 8 + 16 + 4;

/// A secret that is not shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NoiseKey(pub [u8; 32]);

impl fmt::Debug for NoiseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NoiseKey(..)")
    }
}

/// How the gradients of a part are released.
#[derive(Debug, Clone)]
pub struct NoisePlan {
    /// Bounds and noise.
    pub settings: GradientNoise,
    /// What the noise follows from.
    pub key: NoiseKey,
    /// The budget is for so many releases.
    pub releases: u64,
    /// Marks of those that were made.
    made: BTreeSet<[u8; 16]>,
}

impl NoisePlan {
    /// Nothing was released yet.
    pub fn new(settings: GradientNoise, key: [u8; 32], releases: u64) -> Self {
        NoisePlan { settings, key: NoiseKey(key), releases, made: BTreeSet::new() }
    }

    /// Takes over the records of releases that were paid for; false if one is damaged.
    pub fn recall(&mut self, records: &[u8]) -> bool {
        let (records, rest) = records.as_chunks::<RECORD>();
        let intact = |record: &[u8; RECORD]| crc32fast::hash(&record[..24]).to_le_bytes() == record[24..];
        self.made.extend(records.iter().filter(|record| intact(record)).map(|record| {
            let mut mark = [0; 16];
            mark.copy_from_slice(&record[8..24]);
            mark
        }));
        rest.is_empty() && records.iter().all(intact)
    }

    /// Releases that were paid for.
    pub fn paid(&self) -> u64 {
        self.made.len() as u64
    }

    /// The record of a release at these models, or none if it was made before; how many were made, if there may be no more.
    pub fn pay(&mut self, round: u64, models: &[f64]) -> std::result::Result<Option<Vec<u8>>, u64> {
        let mark = Noise::mark(&self.key.0, models.len(), models.iter().copied());
        if self.made.contains(&mark) {
            return Ok(None);
        }
        if self.paid() >= self.releases {
            return Err(self.paid());
        }
        self.made.insert(mark);
        let mut record = round.to_le_bytes().to_vec();
        record.extend(mark);
        record.extend(crc32fast::hash(&record).to_le_bytes());
        Ok(Some(record))
    }

    /// The gradients of the nodes of a plan.
    pub fn gradients(&self, plan: &Plan) -> Result<ClippedGradients> {
        let LossSpec::Same(family) = plan.loss else {
            return Err(fedweave::Error::Method { method: "noisy-fedgd", needs: "the same loss at all nodes" }.into());
        };
        Ok(ClippedGradients::new(family, plan.data.clone(), &plan.loss_options, self.settings)?)
    }

    /// The noise of these nodes at their models.
    pub fn draw(&self, nodes: Vec<String>) -> impl Fn(usize, &[f64]) -> Noise + Send + Sync + use<> {
        let key = self.key;
        move |node, models| Noise::at(&key.0, &nodes[node], models)
    }

    #[cfg(test)]
    pub(crate) fn forget(&mut self) {
        self.made.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_paid_once_and_refused_when_the_budget_is_used_up() {
        let settings = GradientNoise { row_norm: 1.0, clip: 1.0, multiplier: 1.0, rate: 1.0 };
        let mut plan = NoisePlan::new(settings, [3; 32], 2);
        let first = plan.pay(1, &[0.0, 1.0]).unwrap().unwrap();
        assert_eq!(plan.pay(7, &[0.0, 1.0]), Ok(None));
        let second = plan.pay(1, &[0.0, 2.0]).unwrap().unwrap();
        assert_eq!(plan.pay(2, &[0.0, 3.0]), Err(2));
        assert_eq!((first.len(), plan.paid()), (RECORD, 2));
        let mut again = NoisePlan::new(settings, [3; 32], 2);
        assert!(again.recall(&[first.clone(), second].concat()));
        assert_eq!((again.pay(1, &[0.0, 2.0]), again.pay(1, &[5.0, 2.0])), (Ok(None), Err(2)));
        let mut damaged = first;
        damaged[9] ^= 1;
        assert!(!NoisePlan::new(settings, [3; 32], 2).recall(&damaged));
        let shown = format!("{plan:?}");
        assert!(shown.contains("key: NoiseKey(..)") && !shown.contains("[3, 3"), "{shown}");
    }
}
