//! The random subsets `S_P` and `S_D` of a round.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::pairs::Pairs;
use crate::error::{Error, Result};
use crate::random::{Purpose, stream};

/// What is updated in a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Subset {
    /// A share of the users, each with all its variables.
    Users(f64),
    /// A share of all `x_i` and `z_ij`, and a share of all `mu_ij`.
    Variables {
        /// `S_P / N^2` of the paper.
        primal: f64,
        /// `S_D / (N (N - 1))`.
        dual: f64,
    },
}

impl Subset {
    /// Everything in every round.
    pub const ALL: Subset = Subset::Users(1.0);

    /// The share of primal variables that are updated in a round.
    pub(super) fn primal_share(self) -> f64 {
        match self {
            Subset::Users(share) | Subset::Variables { primal: share, .. } => share,
        }
    }

    pub(super) fn check(self) -> Result<()> {
        let shares = match self {
            Subset::Users(share) => [share, share],
            Subset::Variables { primal, dual } => [primal, dual],
        };
        match shares.into_iter().find(|s| !(0.0 < *s && *s <= 1.0)) {
            Some(value) => Err(Error::Parameter { name: "subset", value, needs: "above 0 and at most 1" }),
            None => Ok(()),
        }
    }
}

/// What was drawn: which `x_i`, `z_ij` and `mu_ij`.
pub struct Drawn {
    pub models: Vec<bool>,
    pub differences: Vec<bool>,
    pub multipliers: Vec<bool>,
    /// A permutation, shuffled a little further in every round.
    order: Vec<u32>,
    dual_order: Vec<u32>,
}

impl Drawn {
    pub fn new(users: usize, pairs: usize) -> Self {
        Drawn {
            models: vec![false; users],
            differences: vec![false; pairs],
            multipliers: vec![false; pairs],
            order: (0..(users + pairs) as u32).collect(),
            dual_order: (0..pairs as u32).collect(),
        }
    }

    /// These users, each with all its variables.
    pub fn set(&mut self, pairs: &Pairs, users: &[bool]) {
        for (user, &drawn) in users.iter().enumerate() {
            self.models[user] = drawn;
            self.differences[pairs.of(user)].fill(drawn);
            self.multipliers[pairs.of(user)].fill(drawn);
        }
    }

    pub fn draw(&mut self, subset: Subset, pairs: &Pairs, seed: u64, round: u64) {
        let mut random = stream(seed, Purpose::Subsets, round as usize);
        let users = self.models.len();
        self.models.fill(false);
        self.differences.fill(false);
        self.multipliers.fill(false);
        match subset {
            Subset::Users(share) => {
                // Users come first in the common numbering.
                let order = &mut self.order[..users];
                for &user in some_of(order, share, &mut random) {
                    self.models[user as usize] = true;
                    self.differences[pairs.of(user as usize)].fill(true);
                    self.multipliers[pairs.of(user as usize)].fill(true);
                }
            }
            Subset::Variables { primal, dual } => {
                for &v in some_of(&mut self.order, primal, &mut random) {
                    match (v as usize).checked_sub(users) {
                        None => self.models[v as usize] = true,
                        Some(pair) => self.differences[pair] = true,
                    }
                }
                for &pair in some_of(&mut self.dual_order, dual, &mut random) {
                    self.multipliers[pair as usize] = true;
                }
            }
        }
    }
}

/// A random share of the entries, at least one, moved to the front.
fn some_of<'o>(order: &'o mut [u32], share: f64, random: &mut ChaCha8Rng) -> &'o [u32] {
    let wanted = ((share * order.len() as f64).round() as usize).clamp(order.len().min(1), order.len());
    if wanted < order.len() {
        (0..wanted).for_each(|k| order.swap(k, random.random_range(k..order.len())));
    }
    &order[..wanted]
}
