//! Does the network help? Local-only, one global model, networked, networked over a shuffled graph, and what statisticians
//! would use instead.
//!
//! All have the same information: every method chooses what it has to choose on rows held out of the training and validation
//! rows (one share of them, or all in turn), is then fitted to all of these, and is judged on test rows that nothing was
//! chosen with.

mod clustered;

use rand::seq::SliceRandom;
use rayon::prelude::*;

use crate::baseline;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::folds::{FoldSpec, Folds};
use crate::graph::Graph;
use crate::learn::race::{Cost, Growing, Grown, Linear, Rows, Sees, grow_trunk, predict_linear, predict_trunk};
use crate::loss::{Confusion, Family, LossOptions, LossSpec};
use crate::matrix::Matrix;
use crate::penalty::Penalty;
use crate::problem::Problem;
use crate::random::{Purpose, stream};
use crate::scaling::Scaling;
use crate::solve::{Record, Settings, Status, Watch, solve};
use crate::split::{Part, Split};
use crate::tune::{Errors, FoldTask, Rule, lambda_grid, pooled_errors};

/// Makes a penalty.
pub type PenaltyMaker<'a> = dyn Fn() -> Result<Box<dyn Penalty>> + Sync + 'a;

/// What is compared: one loss, one penalty, one graph, and the grids each method may choose from.
pub struct Comparison<'a> {
    /// The loss of all nodes.
    pub family: Family,
    /// Its options; the ridge is taken from `ridges`.
    pub options: LossOptions,
    /// Ridges every method chooses from on validation rows.
    pub ridges: &'a [f64],
    /// Makes the penalty.
    pub penalty: &'a PenaltyMaker<'a>,
    /// Other penalties with their names: the network is also judged with these.
    pub more: &'a [(&'a str, &'a PenaltyMaker<'a>)],
    /// Values of `lambda`; `None` for the default grid.
    pub lambdas: Option<&'a [f64]>,
    /// Rule for `lambda`.
    pub rule: Rule,
    /// Standardise features with the pooled training rows.
    pub standardize: bool,
    /// The last feature is an intercept.
    pub intercept: bool,
    /// Folds of the training and validation rows to choose by; `None`: the validation rows.
    pub folds: Option<FoldSpec>,
    /// Numbers that describe nodes, for trees.
    pub attributes: Option<&'a Matrix>,
    /// Also the rivals.
    pub rivals: bool,
    /// Also the network with a way back, for this share of nodes that may be hurt: see [`keeps_local`].
    pub fallback: Option<f64>,
    /// How accurately to solve.
    pub settings: Settings,
    /// Asked before longer pieces of work; once it says no, nobody looks at the outcome any more.
    pub go_on: &'a (dyn Fn() -> bool + Sync),
}

/// One method, tuned and judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Errors on test rows, by node.
    pub test: Errors,
    /// Which classes of test rows are taken for which, where there are classes.
    pub confusion: Option<Confusion>,
    /// Errors on validation rows, by node.
    pub held_out: Errors,
    /// Their mean.
    pub validation: f64,
    /// The chosen ridge.
    pub ridge: f64,
    /// The chosen `lambda`, for networked methods.
    pub lambda: Option<f64>,
    /// The models, in original features, fitted to training and validation rows.
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
    /// The network with other penalties, by their names.
    pub more: Vec<(String, Judged)>,
    /// What would be used instead, where it can be fitted.
    pub rivals: Vec<Rival>,
}

/// What would be used instead.
#[derive(Debug, Clone, PartialEq)]
pub struct Rival {
    /// Its name.
    pub name: &'static str,
    /// Errors on test rows, by node.
    pub test: Errors,
    /// Which classes of test rows are taken for which, where there are classes.
    pub confusion: Option<Confusion>,
    /// What it chose, in words.
    pub chosen: String,
}

/// Rivals in the order they are shown: linear ones, and boosted trees.
const RIVALS: [(&str, Option<Linear>); 4] = [
    ("node effects", Some(Linear::NodeEffects)),
    ("mixed model", Some(Linear::Mixed)),
    ("learnt coupling", Some(Linear::Learnt)),
    ("boosted trees", None),
];

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

/// Sees the records of several solves at a time.
type Watcher<'a> = dyn Fn(&Record) -> Watch + Sync + 'a;

/// The rows of a split, ready for training and judging.
struct Parts {
    /// Training and validation rows.
    train: Dataset,
    /// Which of them are held out to choose.
    folds: Folds,
    test: Dataset,
    scaling: Option<Scaling>,
}

/// What a method chose for itself.
struct Choice {
    error: f64,
    errors: Errors,
    ridge: f64,
    lambda: Option<f64>,
    converged: bool,
}

impl Comparison<'_> {
    /// Runs all methods on one split; `groups` names the group of every row, where folds need it.
    pub fn run(
        &self,
        graph: &Graph,
        data: &Dataset,
        groups: Option<&[u32]>,
        split: &Split,
        seed: u64,
        watch: &Watcher,
    ) -> Result<Outcome> {
        let parts = self.parts(data, groups, split)?;
        let mut name: Vec<usize> = (0..graph.nodes()).collect();
        name.shuffle(&mut stream(seed, Purpose::Shuffle, 0));
        let local = |rows: &Dataset, ridge: f64| self.local(rows, ridge);
        let global = |rows: &Dataset, ridge: f64| self.global(rows, ridge);
        let networked = |graph: &Graph| self.networked(graph, &parts, watch);
        let (networked, shuffled) = rayon::join(|| networked(graph), || networked(&graph.renamed(&name)));
        let (local, networked) = (self.alone(&parts, local)?, networked?);
        let more = self.more.iter().map(|(name, penalty)| {
            let other = Comparison { penalty: *penalty, settings: self.settings.clone(), ..*self };
            Ok(((*name).to_owned(), other.networked(graph, &parts, watch)?))
        });
        let more = more.collect::<Result<Vec<_>>>()?;
        let mut rivals = Vec::new();
        if self.rivals {
            let (others, clustered) =
                rayon::join(|| self.run_rivals(graph, &parts, seed), || self.run_clustered(graph, &parts, seed));
            rivals = [others, clustered].concat();
        }
        if let Some(hurt) = self.fallback {
            rivals.insert(0, fall_back(&local, &networked, hurt));
        }
        Ok(Outcome { global: self.alone(&parts, global)?, shuffled: shuffled?, local, networked, more, rivals })
    }

    fn parts(&self, data: &Dataset, groups: Option<&[u32]>, split: &Split) -> Result<Parts> {
        let test = split.mask(Part::Test);
        let kept: Vec<bool> = test.iter().map(|test| !test).collect();
        let all = data.select(&kept);
        let of_kept =
            |mask: Vec<bool>| mask.iter().zip(&kept).filter(|(_, k)| **k).map(|(m, _)| *m).collect::<Vec<_>>();
        let folds = match self.folds {
            Some(spec) => {
                let groups: Option<Vec<u32>> =
                    groups.map(|groups| groups.iter().zip(&kept).filter(|(_, k)| **k).map(|(g, _)| *g).collect());
                Folds::new(&all, groups.as_deref(), spec)?
            }
            // A node that never trains has no local model to compare with: it is judged by nobody.
            None => {
                let train = data.select(&split.mask(Part::Train));
                Folds::once(&of_kept(held_out(data, &train, split, Part::Validation)))
            }
        };
        let test = data.select(&held_out(data, &all, split, Part::Test));
        let scaling = self.standardize.then(|| Scaling::of(&all, self.intercept));
        let scaled = |d: Dataset| scaling.as_ref().map_or(d.clone(), |s| s.apply(&d));
        Ok(Parts { train: scaled(all), folds, test: scaled(test), scaling })
    }

    fn local(&self, rows: &Dataset, ridge: f64) -> Result<Matrix> {
        baseline::local(&LossSpec::Same(self.family), rows.clone(), &self.with(ridge))
    }

    fn global(&self, rows: &Dataset, ridge: f64) -> Result<Matrix> {
        let w = baseline::global(self.family, rows, &self.with(ridge))?;
        Ok(Matrix::from_rows(w.len(), w.repeat(rows.nodes())))
    }

    fn with(&self, ridge: f64) -> LossOptions {
        LossOptions { ridge, ..self.options }
    }

    /// Methods that only choose a ridge.
    fn alone(&self, parts: &Parts, models: impl Fn(&Dataset, f64) -> Result<Matrix> + Sync) -> Result<Judged> {
        let ridges = if (self.go_on)() { self.ridges } else { &self.ridges[..1] };
        let tried = ridges.par_iter().map(|&ridge| {
            let loss = LossSpec::Same(self.family);
            let errors = pooled_errors(&parts.train, &parts.folds, &loss, |train| models(train, ridge))?;
            let error = errors.mean().unwrap_or(f64::INFINITY);
            Ok(Choice { error, errors, ridge, lambda: None, converged: true })
        });
        let choice = best(tried.collect::<Result<Vec<_>>>()?);
        let w = models(&parts.train, choice.ridge)?;
        self.judge(parts, w, choice)
    }

    /// The network as given, or shuffled: chooses a ridge and `lambda`.
    fn networked(&self, graph: &Graph, parts: &Parts, watch: &Watcher) -> Result<Judged> {
        let tried = self.ridges.par_iter().map(|&ridge| self.choose_lambda(graph, parts, ridge, watch));
        let mut choice = best(tried.collect::<Result<Vec<_>>>()?);
        let mut problem = self.problem(graph, parts.train.clone(), choice.ridge)?;
        problem.set_lambda(choice.lambda.unwrap_or(0.0))?;
        let solution = solve(&problem, &self.settings, None, &mut |record| watch(record));
        choice.converged &= solution.status == Status::Converged;
        self.judge(parts, solution.w, choice)
    }

    fn problem(&self, graph: &Graph, rows: Dataset, ridge: f64) -> Result<Problem> {
        Problem::build(graph.clone(), self.family.build(rows, &self.with(ridge))?, (self.penalty)()?, 0.0)
    }

    fn choose_lambda(&self, graph: &Graph, parts: &Parts, ridge: f64, watch: &Watcher) -> Result<Choice> {
        let grid = match self.lambdas {
            Some(grid) => grid.to_vec(),
            None => lambda_grid(&mut self.problem(graph, parts.train.clone(), ridge)?, &mut |r| watch(r))?,
        };
        let task = FoldTask {
            problem: &|rows| self.problem(graph, rows, ridge),
            loss: &LossSpec::Same(self.family),
            data: &parts.train,
            folds: std::slice::from_ref(&parts.folds),
            settings: &self.settings,
            watch,
        };
        let tuning = task.tune(&grid, self.lambdas.is_none(), self.rule)?.tuning;
        let chosen = tuning.best();
        let error = chosen.validation.mean().unwrap_or(f64::INFINITY);
        let errors = chosen.validation.clone();
        Ok(Choice { error, errors, ridge, lambda: Some(chosen.lambda), converged: chosen.converged })
    }

    fn judge(&self, parts: &Parts, mut w: Matrix, choice: Choice) -> Result<Judged> {
        let test = match Cost::of(self.family) {
            Some(cost) => cost.errors(&parts.test, &predict_linear(&parts.test, &w, cost)),
            None => Errors::of(&*self.family.build(parts.test.clone(), &LossOptions::default())?, &w),
        };
        let confusion = self.family.confusion(&parts.test, &w);
        if let Some(scaling) = &parts.scaling {
            scaling.restore(&mut w);
        }
        let Choice { error: validation, errors: held_out, ridge, lambda, converged } = choice;
        Ok(Judged { test, confusion, held_out, validation, ridge, lambda, w, converged })
    }

    /// Those that know the loss; one that cannot be fitted is left out.
    fn run_rivals(&self, graph: &Graph, parts: &Parts, seed: u64) -> Vec<Rival> {
        let (Some(cost), true) = (Cost::of(self.family), self.intercept) else { return Vec::new() };
        let (family, intercept, attributes) = (self.family, self.intercept, self.attributes);
        let rows = Rows { graph, data: &parts.train, family, cost, intercept, groups: None, attributes };
        let growing = Growing { seed, go_on: self.go_on };
        let judged = |(name, linear): &(&'static str, Option<Linear>)| {
            if !(self.go_on)() {
                return None;
            }
            let (predictions, chosen) = match linear {
                Some(linear) => {
                    let fit = linear.fit(&rows, &parts.folds, &|_| Watch::Continue).ok()?;
                    (predict_linear(&parts.test, &fit.w, cost), fit.chosen)
                }
                None => {
                    let Grown { trunk, chosen, .. } = grow_trunk(&rows, &parts.folds, Sees::Node, &growing)?.ok()?;
                    (predict_trunk(&Rows { data: &parts.test, ..rows }, &trunk), chosen)
                }
            };
            let confusion = Confusion::of_probabilities(family, &parts.test, &predictions);
            Some(Rival { name, test: cost.errors(&parts.test, &predictions), confusion, chosen })
        };
        RIVALS.par_iter().filter_map(judged).collect()
    }
}

/// Nodes that should keep their local models, so that in expectation at most this share of the nodes is hurt by the network.
///
/// Held-out errors are noisy: a network that is no better looks as much better at some nodes as it looks worse at others. So
/// a node joins if its error falls by a larger factor than it rises by anywhere, but for a share `hurt` of the nodes. Where the
/// noise of `log(networked / local)` is symmetric, a node that the network hurts looks better by that factor no more often
/// than it looks worse by it. With a share of 1 this is: keep the local model where the network is worse.
///
/// Without held-out rows a node stays in the network.
pub fn keeps_local(local: &Errors, networked: &Errors, hurt: f64) -> Vec<bool> {
    let pairs = local.by_node.iter().zip(&networked.by_node);
    let rise = |(local, networked): (&Option<f64>, &Option<f64>)| match ((*local)?, (*networked)?) {
        (local, networked) if local == networked => Some(0.0),
        (local, networked) => Some((networked / local).ln()),
    };
    let rises: Vec<Option<f64>> = pairs.map(rise).collect();
    let mut worse: Vec<f64> = rises.iter().flatten().copied().filter(|rise| *rise > 0.0).collect();
    worse.sort_by(|a, b| b.total_cmp(a));
    let allowed = (hurt * rises.iter().flatten().count() as f64).floor() as usize;
    match worse.get(allowed) {
        Some(margin) => rises.iter().map(|rise| rise.is_some_and(|rise| rise >= -margin)).collect(),
        None => rises.iter().map(|rise| rise.is_some_and(|rise| rise > 0.0)).collect(),
    }
}

/// The network, but for nodes that should keep their local models.
fn fall_back(local: &Judged, networked: &Judged, hurt: f64) -> Rival {
    let keeps = keeps_local(&local.held_out, &networked.held_out, hurt);
    let test = |i: usize| if keeps[i] { local.test.by_node[i] } else { networked.test.by_node[i] };
    let (count, all) = (keeps.iter().filter(|keeps| **keeps).count(), keeps.len());
    let chosen = format!("{count} of {all} nodes keep their local models");
    let test = Errors { by_node: (0..all).map(test).collect() };
    Rival { name: "fallback", test, confusion: None, chosen }
}

/// The choice with the smallest error, the first of equals.
fn best(tried: Vec<Choice>) -> Choice {
    tried.into_iter().reduce(|a, b| if b.error < a.error { b } else { a }).expect("there is at least one ridge")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(values: &[f64]) -> Errors {
        Errors { by_node: values.iter().map(|v| (!v.is_nan()).then_some(*v)).collect() }
    }

    #[test]
    fn nodes_join_if_they_gain_more_than_others_lose() {
        let local = errors(&[1.0, 1.0, 1.0, 1.0, 1.0, f64::NAN]);
        // The third loses a factor of 2: who gains less than that may be hurt as well.
        let networked = errors(&[0.1, 0.6, 2.0, 1.1, 1.0, 7.0]);
        assert_eq!(keeps_local(&local, &networked, 0.05), [false, true, true, true, true, false]);
        // One of five may be hurt: the next worst loses a tenth.
        assert_eq!(keeps_local(&local, &networked, 0.2), [false, false, true, true, true, false]);
        assert_eq!(keeps_local(&local, &networked, 1.0), [false, false, true, true, false, false]);
    }
}
