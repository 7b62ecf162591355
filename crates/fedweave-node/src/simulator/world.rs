//! The event loop: virtual time, links, crashes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::faults::{Cut, Faults, Incident, Limits};
use super::invariants::{check_frame, check_outcome, check_paid, check_part, check_record, rounds_of};
use super::liars::{self, Liars, scene_with_liars};
use super::recovery;
use super::scene::Scene;
use super::seat::Seat;
use super::standstill;
use super::store::Damage;
use super::{Failure, Tally};
use crate::checkpoint::Store;
use crate::part::{Effect, Event, Reason};
use crate::plan::PeerId;

/// Liars look so often whether their victims have begun a round.
const EARLY_MS: u64 = 2;
/// Time between two ticks of a part.
const TICK_MS: u64 = 20;
/// After the faults end, all parts must be done within this time.
const HEALED_MS: u64 = 120_000;

/// Rounds before the last one in which who comes back may be too late.
const NEAR_THE_END: u64 = 400;
/// Liars hold everybody up, again and again.
const HEALED_AMONG_LIARS_MS: u64 = 1_200_000;
/// A process whose part is done, and whose neighbours have all they need, stays for so long.
const GRACE_MS: u64 = 60;
/// And in any case no longer than this.
const LINGER_MS: u64 = 30_000;
/// Operators look so often whether somebody waits for those that have left.
const RESUME_AFTER_MS: u64 = 40_000;

/// Runs one seed.
pub fn simulate(scene: &Scene, limits: &Limits, seed: u64) -> Result<Tally, Failure> {
    World::new(scene, limits, seed).run()
}

/// Runs one seed with liars in a network that is otherwise only a little unreliable.
pub fn simulate_liars(seed: u64) -> Result<Tally, Failure> {
    let fault = |e: crate::error::Error| Failure { seed, at_ms: 0, part: None, what: e.to_string() };
    let (scene, liars) = liars_of(seed).map_err(fault)?;
    simulated(&scene, liars, seed).run()
}

/// The same with a bug.
#[cfg(test)]
pub(super) fn liars_world(seed: u64, mutant: Option<crate::part::Mutant>) -> Result<Tally, Failure> {
    let (scene, liars) = liars_of(seed).unwrap();
    let mut world = simulated(&scene, liars, seed);
    world.mutant = mutant;
    world.run()
}

/// The scene of a seed with liars, and who they are.
pub(super) fn liars_of(seed: u64) -> crate::error::Result<(Scene, Liars)> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(1);
    scene_with_liars(&mut random, seed)
}

/// The world of a seed with liars.
pub(super) fn simulated(scene: &Scene, liars: Liars, seed: u64) -> World<'_> {
    let mut world = World::new(scene, &liars_limits(seed), seed);
    world.liars = Some(liars);
    world
}

/// Every second seed has parts that crash, or come back with old states or none; in the others liars may hold half of the weight.
fn liars_limits(seed: u64) -> Limits {
    let away = u32::from(seed.is_multiple_of(2));
    let mostly_calm = Limits { loss: 0.1, duplication: 0.1, crashes: 3 * away, partitions: 1, ..Limits::default() };
    Limits { pauses: 1, full_disks: away, rollbacks: 2 * away, far_away_one_in: 0, ..mostly_calm }
}

pub(super) enum What {
    Deliver { to: usize, from: PeerId, bytes: Vec<u8> },
    Tick(usize, u32),
    Incident(Incident),
    Back(usize),
}

pub(super) struct World<'s> {
    pub(super) scene: &'s Scene,
    pub(super) faults: Faults,
    seed: u64,
    pub(super) random: ChaCha8Rng,
    pub(super) now: u64,
    order: u64,
    queue: BinaryHeap<Reverse<(u64, u64, usize)>>,
    /// What happens, by the number in the queue; freed places are used again.
    pub(super) what: Vec<Option<What>>,
    free: Vec<usize>,
    pub(super) seats: Vec<Seat>,
    pub(super) cuts: Vec<(Cut, u64)>,
    pub(super) tally: Tally,
    effects: Vec<Effect>,
    pub(super) liars: Option<Liars>,
    /// Parts without a valid certificate.
    pub(super) revoked: Vec<usize>,
    /// A part that was told something else than its neighbours were.
    pub(super) other_plan: Option<(usize, crate::plan::Plan)>,
    pub(super) backs_up: bool,
    inconclusive: bool,
    resumed_at: u64,
    /// What happened, if somebody wants to know.
    pub(super) told: Option<Vec<String>>,
    #[cfg(test)]
    pub(super) mutant: Option<crate::part::Mutant>,
}

impl<'s> World<'s> {
    pub(super) fn new(scene: &'s Scene, limits: &Limits, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut faults = Faults::draw(&mut random, limits, scene.plans.len());
        if scene.plans.iter().any(|plan| plan.noise.is_some()) {
            faults.add_rollbacks(seed);
        }
        World {
            scene,
            faults,
            seed,
            random,
            now: 0,
            order: 0,
            queue: BinaryHeap::new(),
            what: Vec::new(),
            free: Vec::new(),
            seats: scene.plans.iter().map(|_| Seat::default()).collect(),
            cuts: Vec::new(),
            tally: Tally::default(),
            effects: Vec::new(),
            liars: None,
            revoked: Vec::new(),
            other_plan: None,
            backs_up: limits.rollbacks > 0,
            inconclusive: false,
            resumed_at: 0,
            told: None,
            #[cfg(test)]
            mutant: None,
        }
    }

    pub(super) fn run(&mut self) -> Result<Tally, Failure> {
        for k in 0..self.seats.len() {
            let start = self.random.random_range(0..50);
            self.at(start, What::Back(k));
        }
        for (at, incident) in std::mem::take(&mut self.faults.incidents) {
            self.at(at, What::Incident(incident));
        }
        while let Some(Reverse((at, _, place))) = self.queue.pop() {
            self.now = at;
            let patience = if self.liars.is_some() { HEALED_AMONG_LIARS_MS } else { HEALED_MS };
            if at > self.faults.heal_ms + patience {
                let waiting = (0..self.seats.len()).find(|&k| !self.is_over(k));
                return Err(self.failure(waiting, "is not done long after all faults ended".into()));
            }
            self.free.push(place);
            if let Some(what) = self.what[place].take() {
                self.step(what)?;
            }
            self.resume_those_away()?;
            if (0..self.seats.len()).all(|k| self.is_over(k)) {
                self.tally.elapsed_ms = self.now;
                return self.verdict();
            }
        }
        Err(self.failure(None, "nothing happens any more".into()))
    }

    /// A process ends some time after its part: soon if nobody needs it any more, late in any case.
    fn leave_when_done(&mut self, k: usize) {
        let (now, seat) = (self.now, &mut self.seats[k]);
        let Some(part) = seat.part.as_ref().filter(|_| seat.done) else { return };
        let settled = part.status().settled.then(|| *seat.settled_at.get_or_insert(now));
        if settled.is_some_and(|at| now >= at + GRACE_MS) || now >= seat.done_at + LINGER_MS {
            (seat.part, seat.away) = (None, true);
        }
    }

    /// Long after all faults somebody still waits: the operators start those that have left once more.
    fn resume_those_away(&mut self) -> Result<(), Failure> {
        if self.now < self.faults.heal_ms.max(self.resumed_at) + RESUME_AFTER_MS {
            return Ok(());
        }
        self.resumed_at = self.now;
        let away: Vec<usize> = (0..self.seats.len()).filter(|&k| self.seats[k].away).collect();
        away.into_iter().try_for_each(|k| self.start(k))
    }

    fn others_are_near_the_end(&self) -> bool {
        let farthest = self.seats.iter().map(|seat| seat.part.as_ref().map_or(0, crate::part::Part::round)).max();
        farthest.unwrap_or(0) + NEAR_THE_END > self.scene.rounds
    }

    /// Nobody cares how liars end.
    fn is_over(&self, k: usize) -> bool {
        self.seats[k].done || self.liars.as_ref().is_some_and(|liars| liars.lies[k].is_some())
    }

    /// What there is to say when all are done.
    fn verdict(&mut self) -> Result<Tally, Failure> {
        let outcomes: Vec<_> = self.seats.iter_mut().map(|s| s.outcome.take()).collect();
        let wrong = match &self.liars {
            _ if self.inconclusive => None,
            Some(liars) => liars.check(&outcomes),
            None if self.scene.network.method.is_async() => standstill::check(self, &outcomes),
            None if self.scene.trusting => recovery::check(self, &outcomes),
            None => None,
        };
        match wrong {
            Some(what) => Err(self.failure(None, what)),
            None => Ok(self.tally),
        }
    }

    fn step(&mut self, what: What) -> Result<(), Failure> {
        match what {
            What::Deliver { to, from, bytes } => {
                let paused = self.seats[to].paused_until;
                if self.now < paused {
                    self.at(paused, What::Deliver { to, from, bytes });
                    return Ok(());
                }
                match liars::with_flows_that_fit(self, to, from, bytes) {
                    Ok(bytes) => self.handle(to, Event::Frame { from, bytes: &bytes }),
                    Err(early) => {
                        self.at(self.now + EARLY_MS, What::Deliver { to, from, bytes: early });
                        Ok(())
                    }
                }
            }
            What::Tick(k, life) => {
                let paused = self.seats[k].paused_until;
                if self.seats[k].part.is_none() || self.seats[k].life != life {
                    return Ok(());
                }
                self.at(paused.max(self.now + TICK_MS), What::Tick(k, life));
                if self.now < paused {
                    return Ok(());
                }
                self.handle(k, Event::Tick { now: self.now })?;
                self.leave_when_done(k);
                Ok(())
            }
            What::Incident(incident) => self.strike(incident),
            What::Back(k) => self.start(k),
        }
    }

    pub(super) fn handle(&mut self, k: usize, event: Event) -> Result<(), Failure> {
        let mut effects = std::mem::take(&mut self.effects);
        let seat = &mut self.seats[k];
        let Some(part) = &mut seat.part else { return Ok(()) };
        // The frame that ends learning begins the first round.
        let frame = matches!(event, Event::Frame { .. }) && !part.is_learning();
        (seat.memory.done, seat.memory.frame) = (part.round(), frame);
        self.tally.events += 1;
        part.handle(event, &mut effects);
        let sends = effects.iter().filter(|e| matches!(e, Effect::Send { .. })).count();
        let wrong = check_part(self.scene, part, self.scene.plans[k].peers.len(), &seat.memory, sends);
        if let Some(what) = wrong {
            return Err(self.failure(Some(k), what));
        }
        let outcome = effects.drain(..).try_for_each(|effect| self.carry_out(k, effect));
        effects.clear();
        self.effects = effects;
        match outcome {
            Err(Stop::Crash) => Ok(()),
            Err(Stop::Failure(failure)) => Err(failure),
            Ok(()) => Ok(()),
        }
    }

    fn carry_out(&mut self, k: usize, effect: Effect) -> Result<(), Stop> {
        match effect {
            Effect::Spend(record) => {
                let budget = self.scene.plans[k].noise.as_ref().map_or(0, |noise| noise.releases);
                if let Some(what) = check_record(&record, &self.seats[k].ledger, budget) {
                    return Err(Stop::Failure(self.failure(Some(k), what)));
                }
                let fails = self.seats[k].fails_in_write.is_some() && self.random.random_bool(0.5);
                if let Some((_, back_after_ms)) = self.seats[k].fails_in_write.take_if(|_| fails) {
                    // The record was written before the machine failed, or not.
                    if self.random.random_bool(0.5) {
                        self.seats[k].ledger.push(record);
                    }
                    self.crash(k, back_after_ms);
                    return Err(Stop::Crash);
                }
                self.tally.releases += 1;
                self.seats[k].ledger.push(record);
            }
            Effect::Persist(bytes) => {
                let seat = &mut self.seats[k];
                if let Some((damage, back_after_ms)) = seat.fails_in_write.take() {
                    seat.store.save_torn(&bytes, damage.unwrap_or(Damage::Lost));
                    self.tally.damaged += 1;
                    self.crash(k, back_after_ms);
                    return Err(Stop::Crash);
                }
                if self.now < seat.full_until {
                    #[cfg(test)]
                    if self.mutant == Some(crate::part::Mutant::GoesOnWithoutDisk) {
                        return Ok(());
                    }
                    self.tally.full += 1;
                    let wait = seat.full_until - self.now;
                    self.crash(k, wait);
                    return Err(Stop::Crash);
                }
                seat.store.save(&bytes).map_err(|e| Stop::Failure(self.failure(Some(k), e.to_string())))?;
                if self.backs_up {
                    self.seats[k].back_up(&bytes);
                }
                self.seats[k].memory.durable = rounds_of(&bytes);
            }
            Effect::Send { to, bytes } => {
                let peer = to.0 as usize;
                if let Some(what) = check_frame(self.scene, k, peer, &bytes, &self.seats[k].memory) {
                    return Err(Stop::Failure(self.failure(Some(k), what)));
                }
                if self.scene.plans[k].noise.is_some()
                    && let Some(what) = check_paid(&bytes, &self.seats[k].ledger)
                {
                    return Err(Stop::Failure(self.failure(Some(k), what)));
                }
                self.transmit(k, peer, bytes);
            }
            Effect::Done(outcome) => {
                let lies = self.liars.as_ref().is_some_and(|liars| liars.lies[k].is_some());
                let late = outcome.reason == Reason::PeerFinished
                    && self.seats[k].rolled_back
                    && self.others_are_near_the_end();
                if late {
                    // It came back when there was nothing left to join: what the others end with is judged by other seeds.
                    self.inconclusive = true;
                }
                let lies = lies || late;
                if let Some(what) = check_outcome(self.scene, k, &outcome).filter(|_| !lies) {
                    return Err(Stop::Failure(self.failure(Some(k), what)));
                }
                let now = self.now;
                let counted = self.seats[k]
                    .part
                    .as_ref()
                    .map(|p| p.status().peers.iter().map(|p| p.counted || p.stands).collect());
                let seat = &mut self.seats[k];
                seat.counted = counted.unwrap_or_default();
                (seat.done, seat.done_at, seat.outcome) = (true, now, Some(outcome));
            }
            Effect::Note(note) => self.tell_note(k, &note),
        }
        Ok(())
    }

    pub(super) fn at(&mut self, time: u64, what: What) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.what.push(None);
            self.what.len() - 1
        });
        self.what[place] = Some(what);
        self.order += 1;
        self.queue.push(Reverse((time, self.order, place)));
    }

    pub(super) fn failure(&self, part: Option<usize>, what: String) -> Failure {
        Failure { seed: self.seed, at_ms: self.now, part, what }
    }
}

enum Stop {
    Crash,
    Failure(Failure),
}
