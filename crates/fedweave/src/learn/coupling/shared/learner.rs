//! The path from one question to the next, the same for everybody who has the same totals.

use std::sync::Arc;

use super::super::choose::{FINE, KAPPA_START, REVIVED, ROUGH, SHARED, usable};
use super::super::dense::{semi_cholesky, spectral};
use super::super::evidence::GraphTest;
use super::super::fit::Strength;
use super::super::moments::{pooled_model, unit_of};
use super::super::structure::Structure;
use super::super::system::Root;
use super::question::{Ask, Common, Question};
use super::result::{STRUCTURES, SharedCoupling};
use super::search::{Found, Replay, Shared};
use crate::scaling::Scaling;

/// Learns from totals of answers. What was found by earlier steps is kept; the step under way is walked again from its start
/// whenever a total comes in, which costs little beside the answers.
pub struct Learner {
    members: usize,
    dim: usize,
    intercept: bool,
    totals: Vec<Vec<f64>>,
    common: Option<Arc<Common>>,
    /// What a step found, and how many totals were used up by its end.
    fits: Vec<(Option<Found>, usize)>,
}

/// What comes next.
pub enum Turn {
    /// All parts are to answer this.
    Ask(Question),
    /// The end.
    Learnt(Box<SharedCoupling>),
    /// Some sums have no meaning: there are no rows, or numbers left the range of f64.
    Failed,
}

/// Why the path stops before its end.
enum Halt {
    Open(Box<Question>),
    Failed,
}

/// Two fits of a structure: without the graph, and the better one.
struct Pair {
    free: Found,
    best: Found,
}

impl Learner {
    /// For so many parts with models of so many parameters, the last of which belongs to a column of ones with `intercept`.
    pub fn new(members: usize, dim: usize, intercept: bool) -> Self {
        Learner { members, dim, intercept, totals: Vec::new(), common: None, fits: Vec::new() }
    }

    /// Questions that were answered.
    pub fn answered(&self) -> usize {
        self.totals.len()
    }

    /// The totals, in the order of the questions.
    pub fn totals(&self) -> &[Vec<f64>] {
        &self.totals
    }

    /// Takes the total of the answers to the question of the last turn.
    pub fn answer(&mut self, total: Vec<f64>) {
        self.totals.push(total);
    }

    /// The next question, or the end.
    pub fn turn(&mut self) -> Turn {
        match self.walk() {
            Ok(learnt) => Turn::Learnt(Box::new(learnt)),
            Err(Halt::Open(question)) => Turn::Ask(*question),
            Err(Halt::Failed) => Turn::Failed,
        }
    }

    fn walk(&mut self) -> Result<SharedCoupling, Halt> {
        let common = self.common()?;
        let start = equal_say(&common);
        let mut path = Path { learner: self, common, at: 0 };
        let structures = usable(&STRUCTURES, start.len(), path.learner.intercept).map_err(|_| Halt::Failed)?;
        let start = diagonal(&start);
        let (mut pairs, mut wide) = (Vec::new(), start.clone());
        for structure in structures {
            let from = if structure == Structure::Full { &wide } else { &start };
            let found = path.pair(structure, from)?;
            if let Some(pair) = found.as_ref().filter(|_| structure == Structure::Diagonal) {
                wide = path.lifted(&pair.free, REVIVED);
            }
            pairs.extend(found);
        }
        let score = |pair: &Pair| path.criterion(&pair.best);
        let better = |best: Pair, next: Pair| if score(&next) > score(&best) { next } else { best };
        let Pair { free, best } = pairs.into_iter().reduce(better).ok_or(Halt::Failed)?;
        let fine = path.refined(&best)?.unwrap_or(best);
        path.result(&free, &fine)
    }

    /// What all must know before the likelihood can be looked at.
    fn common(&mut self) -> Result<Arc<Common>, Halt> {
        if let Some(common) = &self.common {
            return Ok(common.clone());
        }
        let replay = Replay::new(&self.totals, self.members);
        let found = self.count_and_scale(&replay);
        replay.end(self.dim).map_err(Halt::Open)?;
        let common = Arc::new(found.ok_or(Halt::Failed)?);
        self.common = Some(common.clone());
        Ok(common)
    }

    fn count_and_scale(&self, replay: &Replay) -> Option<Common> {
        let d = self.dim;
        let counts = replay.ask(|| Ask::Counts)?;
        let &[nodes, nodes_with_rows, rows, all_rows, edges, degrees, ..] = counts else { return None };
        let mean: Vec<f64> = counts[6..].iter().map(|sum| sum / all_rows.max(1.0)).collect();
        let squares = replay.ask(|| Ask::Spread { mean: mean.clone() })?;
        let deviation: Vec<f64> = squares.iter().map(|s| (s / all_rows.max(1.0)).sqrt()).collect();
        let scaling = Scaling::of_moments(&mean, &deviation, self.intercept);
        let sums = replay.ask(|| Ask::Sums { scaling: scaling.clone() })?;
        let (form, right) = (&sums[..d * d], &sums[d * d..d * d + d]);
        let (pooled, rank) = pooled_model(form, right, d);
        let left = replay.ask(|| Ask::LeftOver { scaling: scaling.clone(), pooled: pooled.clone() })?[0];
        let unit = unit_of(left, sums[d * d + d], rows);
        (rows >= 1.0 && nodes >= 1.0).then_some(Common {
            nodes,
            nodes_with_rows,
            rows,
            rank,
            degree: if degrees > 0.0 { degrees / nodes } else { 1.0 },
            coupled: edges > 0.0,
            squares: left / (unit * unit),
            scaling,
            pooled,
            unit,
        })
    }
}

/// Variances with which rows and prior have an equal say.
fn equal_say(common: &Common) -> Vec<f64> {
    vec![1.0 / common.mean_rows(); common.pooled.len()]
}

fn diagonal(entries: &[f64]) -> Vec<f64> {
    let d = entries.len();
    (0..d * d).map(|k| if k / d == k % d { entries[k / d] } else { 0.0 }).collect()
}

/// A walk along the steps of a learner.
struct Path<'a> {
    learner: &'a mut Learner,
    common: Arc<Common>,
    at: usize,
}

/// Totals that the steps before the likelihood use up.
const COUNTED: usize = 4;

impl Path<'_> {
    /// The next step: what it found before, or what the totals since then say.
    fn step<T>(&mut self, walk: impl FnOnce(&Shared) -> T) -> Result<(T, usize), Halt> {
        let begin = self.begin();
        let replay = Replay::new(&self.learner.totals[begin..], self.learner.members);
        let found = walk(&Shared { common: &self.common, replay: &replay });
        let used = replay.end(self.learner.dim).map_err(Halt::Open)?;
        Ok((found, begin + used))
    }

    /// Totals that were used up before the step under way.
    fn begin(&self) -> usize {
        self.learner.fits.get(self.at.wrapping_sub(1)).map_or(COUNTED, |(_, end)| *end)
    }

    fn fit(
        &mut self,
        structure: Structure,
        start: &[f64],
        strength: Strength,
        gain: f64,
    ) -> Result<Option<Found>, Halt> {
        if self.at >= self.learner.fits.len() {
            let found = self.step(|shared| shared.fit(structure, start, strength, gain))?;
            self.learner.fits.push(found);
        }
        self.at += 1;
        Ok(self.learner.fits[self.at - 1].0.clone())
    }

    fn pair(&mut self, structure: Structure, start: &[f64]) -> Result<Option<Pair>, Halt> {
        let Some(free) = self.fit(structure, start, Strength::Fixed(0.0), ROUGH)? else { return Ok(None) };
        if !self.common.coupled {
            return Ok(Some(Pair { best: free.clone(), free }));
        }
        let start = self.lifted(&free, REVIVED);
        let coupled = self.fit(structure, &start, Strength::From(KAPPA_START), ROUGH)?;
        let best = coupled.filter(|fit| fit.deviance < free.deviance).unwrap_or_else(|| free.clone());
        Ok(Some(Pair { free, best }))
    }

    fn refined(&mut self, fit: &Found) -> Result<Option<Found>, Halt> {
        let strength = if fit.kappa > 0.0 { Strength::From(fit.kappa) } else { Strength::Fixed(0.0) };
        self.fit(fit.structure, &fit.root.covariance(), strength, FINE)
    }

    /// A covariance in which no direction is quite without variance.
    fn lifted(&self, fit: &Found, share: f64) -> Vec<f64> {
        let floor = share / self.common.mean_rows();
        spectral(&fit.root.covariance(), self.common.pooled.len(), |e| e.max(floor))
    }

    fn criterion(&self, fit: &Found) -> f64 {
        let numbers = fit.structure.numbers(self.common.pooled.len()) as f64;
        self.common.log_likelihood(fit.deviance) - 0.5 * self.common.nodes.ln() * numbers
    }

    /// The fit in units of the target and scaled features.
    fn result(&mut self, free: &Found, fit: &Found) -> Result<SharedCoupling, Halt> {
        let d = self.common.pooled.len();
        let root = Root { d, p: d, entries: semi_cholesky(&self.lifted(fit, SHARED), d) };
        let (value, _) = self.step(|shared| shared.value(&root, fit.kappa))?;
        let value = value.ok_or(Halt::Failed)?;
        let relative = fit.root.covariance();
        let floor = 2.0 * SHARED / self.common.mean_rows();
        let varies = (0..d).map(|j| relative[j * d + j] > floor).collect();
        let p_value = self.common.coupled.then(|| GraphTest::new(free.deviance, fit.deviance).p_value);
        Ok(SharedCoupling::new(&self.common, fit, &value, varies, p_value, self.learner.intercept))
    }
}
