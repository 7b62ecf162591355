//! Scenes with noisy gradients, and falls back of all parts together, as when older backups of all machines are restored.

use fedweave::Matrix;
use fedweave::loss::Family;
use fedweave::matrix::norm2;
use fedweave::solve::{NoisyRound, Round};
use fedweave::trust::privacy::rounds::{ClippedGradients, GradientNoise};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::faults::{Faults, Incident};
use super::scene::{Scene, of_trace, random_network};
use super::store::FaultyStore;
use super::world::{What, World};
use crate::error::Result;
use crate::noise::NoisePlan;
use crate::plan::{MethodSpec, PenaltyKind};

const PARTS: usize = 20;
const ROUNDS: u64 = 60;
/// Most rollbacks in a run.
const ROLLBACKS: u32 = 3;
const KEY: [u8; 32] = *b"a key that everybody may look at";

impl Scene {
    /// Scene `k` with noisy gradients: 20 parts, 60 rounds, squared or Huber loss, all rows or half of them in a round.
    pub fn noisy(k: u64) -> Result<Self> {
        let mut network = random_network(k, PARTS, ROUNDS, None)?;
        let family = if k.is_multiple_of(2) { Family::Squared } else { Family::Huber { delta: 0.5 } };
        network.loss = fedweave::loss::LossSpec::Same(family);
        network.penalty = PenaltyKind::Squared;
        let row_norm = (0..network.data.len()).map(|r| norm2(network.data.x(r))).fold(0.0, f64::max);
        let rate = if k % 3 == 1 { 0.5 } else { 1.0 };
        let settings = GradientNoise { row_norm, clip: 0.5, multiplier: 2.0, rate };
        let gradients = || ClippedGradients::new(family, network.data.clone(), &network.loss_options, settings);
        let problem = network.problem()?;
        let step = gradients()?.step(&problem);
        let noise = NoisePlan::new(settings, KEY, ROUNDS);
        let draw = noise.draw(network.names.clone());
        let (own, zero) = ((0..PARTS as u32).collect(), Matrix::zeros(PARTS, problem.dim()));
        let mut whole = NoisyRound::part(&problem, own, zero, step, gradients()?, ROUNDS, draw);
        let over = (0..ROUNDS).map(|_| {
            let sent = whole.models().clone();
            whole.complete();
            sent
        });
        let (over, models) = (over.collect(), whole.answer());
        network.method = MethodSpec::NoisyFedGd { step };
        let mut plans = network.plans(&(0..PARTS).collect::<Vec<_>>(), PARTS)?;
        plans.iter_mut().for_each(|plan| plan.noise = Some(noise.clone()));
        Ok(of_trace(network, plans, over, models))
    }
}

impl Faults {
    /// Some rollbacks, drawn apart from all else.
    pub(super) fn add_rollbacks(&mut self, seed: u64) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(3);
        for _ in 0..random.random_range(0..=ROLLBACKS) {
            self.incidents.push((random.random_range(0..self.heal_ms), Incident::FallBack));
        }
        self.incidents.sort_by_key(|(at, _)| *at);
    }
}

impl World<'_> {
    /// Ledgers stay; everything else is as it was at the rollback before, or at the start. Connections end: what is on its way is lost.
    pub(super) fn fall_back(&mut self) {
        self.tally.rollbacks += 1;
        self.what.iter_mut().for_each(|what| drop(what.take_if(|what| matches!(what, What::Deliver { .. }))));
        for k in 0..self.seats.len() {
            let seat = &mut self.seats[k];
            let older: FaultyStore = std::mem::replace(&mut seat.older, seat.store.clone());
            seat.store = older;
            // Who had ended may have to end again.
            (seat.done, seat.outcome, seat.settled_at) = (false, None, None);
            let (runs, left) = (seat.part.is_some(), seat.away);
            let back = self.random.random_range(1..=500);
            if runs {
                self.crash(k, back);
            } else if left {
                self.at(self.now + back, What::Back(k));
            }
        }
    }
}
