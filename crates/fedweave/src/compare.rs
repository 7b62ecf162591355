//! Does the network help? Local-only, one global model, networked, and networked over a shuffled graph, each tuned on
//! validation rows and judged on test rows that nothing was chosen with.

use rand::seq::SliceRandom;
use rayon::prelude::*;

use crate::baseline;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::graph::Graph;
use crate::loss::{Family, LossOptions, LossSpec};
use crate::matrix::Matrix;
use crate::penalty::Penalty;
use crate::problem::Problem;
use crate::random::{Purpose, stream};
use crate::scaling::Scaling;
use crate::solve::{Record, Settings, Watch};
use crate::split::{Part, Split};
use crate::tune::{Errors, Rule, Tuning, lambda_grid, tune};

/// What is compared: one loss, one penalty, one graph, and the grids each method may choose from.
pub struct Comparison<'a> {
    /// The loss of all nodes.
    pub family: Family,
    /// Its options; the ridge is taken from `ridges`.
    pub options: LossOptions,
    /// Ridges every method chooses from on validation rows.
    pub ridges: &'a [f64],
    /// Makes the penalty.
    pub penalty: &'a (dyn Fn() -> Result<Box<dyn Penalty>> + Sync),
    /// Values of `lambda`; `None` for the default grid.
    pub lambdas: Option<&'a [f64]>,
    /// Rule for `lambda`.
    pub rule: Rule,
    /// Standardise features with the pooled training rows.
    pub standardize: bool,
    /// The last feature is an intercept.
    pub intercept: bool,
    /// How accurately to solve.
    pub settings: Settings,
}

/// One method, tuned and judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Errors on test rows, by node.
    pub test: Errors,
    /// Mean error on validation rows.
    pub validation: f64,
    /// The chosen ridge.
    pub ridge: f64,
    /// The chosen `lambda`, for networked methods.
    pub lambda: Option<f64>,
    /// The models, in original features.
    pub w: Matrix,
    /// The solver reached its tolerance.
    pub converged: bool,
}

/// One method per field, all on the same split.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Every node alone.
    pub local: Judged,
    /// One model for all.
    pub global: Judged,
    /// The network as given.
    pub networked: Judged,
    /// The same graph with its nodes renamed at random: gains it shares are not due to this graph.
    pub shuffled: Judged,
}

/// The rows of one part of a split, at nodes that have training rows.
pub fn held_out(data: &Dataset, train: &Dataset, split: &Split, part: Part) -> Vec<bool> {
    let mut mask = split.mask(part);
    for node in (0..data.nodes()).filter(|&i| train.rows(i).is_empty()) {
        mask[data.rows(node)].fill(false);
    }
    mask
}

/// The training rows of a split, and the held-out rows of one of its parts.
pub fn trial_rows(data: &Dataset, split: &Split, part: Part) -> (Dataset, Dataset) {
    let train = data.select(&split.mask(Part::Train));
    let held = data.select(&held_out(data, &train, split, part));
    (train, held)
}

/// Models, and the `lambda` they were found with.
struct Trained {
    w: Matrix,
    lambda: Option<f64>,
    converged: bool,
}

/// The parts of a split, ready for training and judging.
struct Parts {
    train: Dataset,
    validation: Dataset,
    test: Dataset,
    scaling: Option<Scaling>,
}

impl Comparison<'_> {
    /// Runs all methods on one split. `watch` sees the records of the solver, of several solves at a time.
    pub fn run(
        &self,
        graph: &Graph,
        data: &Dataset,
        split: &Split,
        seed: u64,
        watch: &(dyn Fn(&Record) -> Watch + Sync),
    ) -> Result<Outcome> {
        let parts = self.parts(data, split);
        let mut name: Vec<usize> = (0..graph.nodes()).collect();
        name.shuffle(&mut stream(seed, Purpose::Shuffle, 0));
        let (local, global) = (
            self.best(&parts, |ridge| self.local(&parts, ridge))?,
            self.best(&parts, |ridge| self.global(&parts, ridge))?,
        );
        let networked = |graph: &Graph| self.best(&parts, |ridge| self.networked(graph, &parts, ridge, watch));
        let (networked, shuffled) = rayon::join(|| networked(graph), || networked(&graph.renamed(&name)));
        Ok(Outcome { local, global, networked: networked?, shuffled: shuffled? })
    }

    fn local(&self, parts: &Parts, ridge: f64) -> Result<Trained> {
        let w = baseline::local(&LossSpec::Same(self.family), parts.train.clone(), &self.with(ridge))?;
        Ok(Trained { w, lambda: None, converged: true })
    }

    fn global(&self, parts: &Parts, ridge: f64) -> Result<Trained> {
        let w = baseline::global(self.family, &parts.train, &self.with(ridge))?;
        Ok(Trained { w: Matrix::from_rows(w.len(), w.repeat(parts.train.nodes())), lambda: None, converged: true })
    }

    fn with(&self, ridge: f64) -> LossOptions {
        LossOptions { ridge, ..self.options }
    }

    fn parts(&self, data: &Dataset, split: &Split) -> Parts {
        let train = data.select(&split.mask(Part::Train));
        // A node that never trains has no local model to compare with: it is judged by nobody.
        let part = |p: Part| data.select(&held_out(data, &train, split, p));
        let scaling = self.standardize.then(|| Scaling::of(&train, self.intercept));
        let scaled = |d: Dataset| scaling.as_ref().map_or(d.clone(), |s| s.apply(&d));
        let (validation, test) = (scaled(part(Part::Validation)), scaled(part(Part::Test)));
        Parts { train: scaled(train), validation, test, scaling }
    }

    /// The plain mean of the pointwise loss, without ridge.
    fn errors(&self, data: &Dataset, w: &Matrix) -> Result<Errors> {
        let loss = self.family.build(data.clone(), &LossOptions::default())?;
        Ok(Errors::of(&*loss, w))
    }

    /// Trains for every ridge, keeps the one with the smallest validation error, judges it on the test rows.
    fn best(&self, parts: &Parts, train: impl Fn(f64) -> Result<Trained> + Sync) -> Result<Judged> {
        let trials = self.ridges.par_iter().map(|&ridge| {
            let trained = train(ridge)?;
            let error = self.errors(&parts.validation, &trained.w)?.mean().unwrap_or(f64::INFINITY);
            Ok((error, ridge, trained))
        });
        let trials: Vec<(f64, f64, Trained)> = trials.collect::<Result<_>>()?;
        let best = trials.into_iter().reduce(|best, trial| if trial.0 < best.0 { trial } else { best });
        let (validation, ridge, Trained { mut w, lambda, converged }) = best.expect("there is at least one ridge");
        let test = self.errors(&parts.test, &w)?;
        if let Some(scaling) = &parts.scaling {
            scaling.restore(&mut w);
        }
        Ok(Judged { test, validation, ridge, lambda, w, converged })
    }

    fn networked(
        &self,
        graph: &Graph,
        parts: &Parts,
        ridge: f64,
        watch: &(dyn Fn(&Record) -> Watch + Sync),
    ) -> Result<Trained> {
        let loss = self.family.build(parts.train.clone(), &self.with(ridge))?;
        let mut problem = Problem::build(graph.clone(), loss, (self.penalty)()?, 0.0)?;
        let grid = match self.lambdas {
            Some(grid) => grid.to_vec(),
            None => lambda_grid(&mut problem, &mut |r| watch(r))?,
        };
        let plain = LossOptions::default();
        let (train, validation) =
            (self.family.build(parts.train.clone(), &plain)?, self.family.build(parts.validation.clone(), &plain)?);
        let (open, settings) = (self.lambdas.is_none(), &self.settings);
        let tuning: Tuning =
            tune(&mut problem, &*train, &*validation, &grid, open, self.rule, settings, &mut |_, r| watch(r))?;
        let best = tuning.best();
        Ok(Trained { w: best.w.clone(), lambda: Some(best.lambda), converged: best.converged })
    }
}
