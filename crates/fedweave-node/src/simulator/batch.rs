//! Many seeds, side by side on all threads.

use std::sync::Mutex;

use rayon::prelude::*;

use super::{Failure, Limits, Scene, Tally, simulate, simulate_liars, simulate_out_of_step, simulate_recovery};
use crate::error::Result;

/// Networks that seeds choose from.
const SCENES: u64 = 48;

/// What is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Subject {
    /// The primal-dual method, whose bits are compared with those of one machine.
    #[default]
    Parameters,
    /// Models of any class that exchange predictions, compared likewise.
    Predictions,
    /// The same as the first, with a coupling that the parts learn before.
    Coupling,
    /// Parts that come back with old states or none, are told other edges than their neighbours, or lose their certificate: all end
    /// at the optimum of the network that is left.
    Recovery,
    /// Gradient descent out of step, which must end within its tolerance.
    OutOfStep,
    /// Noisy gradients and their ledgers, with rollbacks.
    Noise,
    /// Neighbours that lie: honest models must stay within the bound.
    Liars,
}

/// Some seeds in a row.
#[derive(Debug, Clone, Copy)]
pub struct Batch {
    /// The first seed.
    pub first: u64,
    /// How many; the last one must be a `u64`, too.
    pub count: u64,
    /// What is simulated.
    pub subject: Subject,
    /// What may go wrong.
    pub limits: Limits,
}

/// How the seeds of a batch ended.
#[derive(Debug, Clone, Default)]
pub struct BatchOutcome {
    /// Seeds that passed.
    pub passed: u64,
    /// Sums over those; of the times, the largest.
    pub tally: Tally,
    /// Seeds that failed, in order.
    pub failures: Vec<Failure>,
}

impl Batch {
    /// Runs all seeds; from the moment on at which `interrupted` says so, no further ones. `done` is called after each.
    pub fn run(&self, interrupted: &(dyn Fn() -> bool + Sync), done: &(dyn Fn() + Sync)) -> Result<BatchOutcome> {
        let scenes = self.scenes()?;
        let sum = Mutex::new(BatchOutcome::default());
        // One by one, so that a slow one does not hold up its neighbours in the list.
        (0..self.count as usize).into_par_iter().with_max_len(1).for_each(|k| {
            let seed = self.first + k as u64;
            if interrupted() {
                return;
            }
            let ended = match self.subject {
                Subject::Liars => simulate_liars(seed),
                Subject::Recovery => simulate_recovery(seed),
                Subject::OutOfStep => simulate_out_of_step(&self.limits, seed),
                _ => simulate(&scenes[(seed % SCENES) as usize % scenes.len()], &self.limits, seed),
            };
            sum.lock().unwrap_or_else(|e| e.into_inner()).add(ended);
            done();
        });
        let mut outcome = sum.into_inner().unwrap_or_else(|e| e.into_inner());
        outcome.failures.sort_by_key(|failure| failure.seed);
        Ok(outcome)
    }

    /// The networks that these seeds need; one seed needs one.
    pub(super) fn scenes(&self) -> Result<Vec<Scene>> {
        let scene = match self.subject {
            Subject::Parameters => Scene::standard,
            Subject::Predictions => Scene::predictions,
            Subject::Coupling => Scene::coupling,
            Subject::Noise => Scene::noisy,
            Subject::Liars | Subject::Recovery | Subject::OutOfStep => return Ok(Vec::new()),
        };
        let wanted: Vec<u64> = if self.count == 1 { vec![self.first % SCENES] } else { (0..SCENES).collect() };
        wanted.into_par_iter().map(scene).collect()
    }
}

impl BatchOutcome {
    fn add(&mut self, ended: std::result::Result<Tally, Failure>) {
        let tally = match ended {
            Ok(tally) => tally,
            Err(failure) => return self.failures.push(failure),
        };
        self.passed += 1;
        self.tally.events += tally.events;
        self.tally.frames += tally.frames;
        self.tally.lost += tally.lost;
        self.tally.doubled += tally.doubled;
        self.tally.crashes += tally.crashes;
        self.tally.damaged += tally.damaged;
        self.tally.full += tally.full;
        self.tally.rollbacks += tally.rollbacks;
        self.tally.releases += tally.releases;
        self.tally.elapsed_ms = self.tally.elapsed_ms.max(tally.elapsed_ms);
    }
}
