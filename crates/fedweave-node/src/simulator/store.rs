//! A store of checkpoints in memory that can be damaged like a disk.

use crate::checkpoint::{Store, newest, open, seal};
use crate::error::Result;

/// How a write goes wrong when the machine fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// Only the first bytes arrived.
    Torn(u64),
    /// The write was promised but never happened.
    Lost,
    /// One bit is another.
    Flipped(u64),
}

/// Two slots in memory.
#[derive(Debug, Clone, Default)]
pub struct FaultyStore {
    slots: [Vec<u8>; 2],
    /// What the slot written last held before.
    before: Vec<u8>,
    next: usize,
    sequence: u64,
    /// Nothing was written since the last damage.
    damaged: bool,
    /// Planted bugs: believe damaged slots; write over the good one.
    believes_all: bool,
    overwrites: bool,
}

impl FaultyStore {
    /// Plants a bug, if it is one of checkpoints.
    #[cfg(test)]
    pub(super) fn plant(&mut self, mutant: Option<crate::part::Mutant>) {
        self.believes_all = mutant == Some(crate::part::Mutant::BelievesDamagedCheckpoints);
        self.overwrites = mutant == Some(crate::part::Mutant::OverwritesGoodCheckpoint);
    }

    /// Damages the checkpoint written last. Two damaged ones in a row are more than two slots can bear: then nothing happens,
    /// and this says so.
    pub fn damage(&mut self, damage: Damage) -> bool {
        let Some((slot, _)) = newest([&self.slots[0], &self.slots[1]]) else { return false };
        if self.damaged || open(&self.slots[1 - slot]).is_none() {
            return false;
        }
        self.damaged = true;
        match damage {
            Damage::Lost => self.slots[slot] = std::mem::take(&mut self.before),
            damage => spoil(&mut self.slots[slot], damage),
        }
        true
    }

    /// A write in the middle of which the machine fails.
    pub fn save_torn(&mut self, bytes: &[u8], damage: Damage) {
        let slot = self.next;
        let old = std::mem::take(&mut self.slots[slot]);
        let mut sealed = seal(self.sequence + 1, bytes);
        match damage {
            Damage::Lost => sealed = old,
            damage => spoil(&mut sealed, damage),
        }
        self.slots[slot] = sealed;
    }
}

fn spoil(sealed: &mut Vec<u8>, damage: Damage) {
    let len = sealed.len() as u64;
    match damage {
        Damage::Torn(at) => sealed.truncate((at % len.max(1)) as usize),
        Damage::Flipped(bit) if len > 0 => sealed[(bit / 8 % len) as usize] ^= 1 << (bit % 8),
        _ => (),
    }
}

impl Store for FaultyStore {
    fn save(&mut self, bytes: &[u8]) -> Result<()> {
        let slot = self.next;
        self.before = std::mem::replace(&mut self.slots[slot], seal(self.sequence + 1, bytes));
        (self.sequence, self.next, self.damaged) = (self.sequence + 1, 1 - slot, false);
        Ok(())
    }

    fn load(&mut self) -> Result<Option<Vec<u8>>> {
        if self.believes_all && self.slots[1 - self.next].len() > 28 {
            let slot = &self.slots[1 - self.next];
            return Ok(Some(slot[24..slot.len() - 4].to_vec()));
        }
        let Some((slot, sequence)) = newest([&self.slots[0], &self.slots[1]]) else { return Ok(None) };
        (self.sequence, self.next) = (sequence, if self.overwrites { slot } else { 1 - slot });
        Ok(open(&self.slots[slot]).map(|(_, bytes)| bytes.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_damaged_checkpoint_leaves_the_one_before() {
        for damage in [Damage::Torn(40), Damage::Lost, Damage::Flipped(300)] {
            let mut store = FaultyStore::default();
            for round in 1..=6u8 {
                store.save(&[round; 30]).unwrap();
            }
            assert!(store.damage(damage));
            assert_eq!(store.load().unwrap(), Some(vec![5; 30]), "{damage:?}");
            // What is left is not damaged as well.
            assert!(!store.damage(damage));
            store.save(&[6; 30]).unwrap();
            store.save_torn(&[7; 30], damage);
            assert_eq!(store.load().unwrap(), Some(vec![6; 30]), "{damage:?}");
        }
    }
}
