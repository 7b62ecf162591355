//! Structures judged by rows that were held out. Where rows of different nodes have errors in common (the same hours
//! everywhere), the likelihood prefers structures that are too wide; folds that imitate the question do not.

use rayon::prelude::*;

use super::choose::{Pair, ROUGH, UNSOLVED, coupling, fit_all, usable};
use super::fit::{Fit, Strength, Task};
use super::moments::Moments;
use super::network::Network;
use super::{Coupling, CouplingOptions, Rho, Structure, check};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::matrix::dot;

/// Rows to train with and rows to be judged by, as masks over the rows of the dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Fold {
    /// Rows trained with.
    pub train: Vec<bool>,
    /// Rows judged by.
    pub validation: Vec<bool>,
}

/// A structure, with or without the graph, and how well it predicts.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldScore {
    /// The structure.
    pub structure: Structure,
    /// True if the graph takes part.
    pub graph: bool,
    /// Mean over the nodes of the mean squared error of their validation rows, one per fold; infinite where the fit failed.
    pub errors: Vec<f64>,
    /// The coupling learnt from all rows.
    pub coupling: Coupling,
}

impl FoldScore {
    /// Mean over the folds.
    pub fn mean(&self) -> f64 {
        self.errors.iter().sum::<f64>() / self.errors.len().max(1) as f64
    }
}

/// Scores every structure of the options, with a learnt `rho` and with `rho = 0` (or only with the given one), best first.
pub fn score_on_folds(
    graph: &Graph,
    data: &Dataset,
    options: &CouplingOptions,
    folds: &[Fold],
) -> Result<Vec<FoldScore>> {
    check(graph, data, options)?;
    for mask in folds.iter().flat_map(|fold| [&fold.train, &fold.validation]) {
        if mask.len() != data.len() {
            return Err(Error::Size { what: "rows of a fold", expected: data.len(), found: mask.len() });
        }
    }
    if folds.is_empty() {
        return Err(Error::Size { what: "folds", expected: 1, found: 0 });
    }
    let (moments, network) = (Moments::new(data, options.intercept), Network::new(graph));
    let task = Task { network: &network, moments: &moments, likelihood: options.likelihood };
    let structures = usable(&options.structures, data.dim(), options.intercept)?;
    let pairs = fit_all(&task, &structures, options.rho);
    let candidates: Vec<Fit> = pairs.into_iter().flatten().flat_map(|pair| worth_scoring(pair, options.rho)).collect();
    let errors: Vec<Vec<f64>> =
        folds.par_iter().map(|fold| fold_errors(&network, data, options, fold, &candidates)).collect();
    let mut scores = Vec::with_capacity(candidates.len());
    for (k, fit) in candidates.iter().enumerate() {
        scores.push(FoldScore {
            structure: fit.structure,
            graph: fit.kappa > 0.0,
            errors: errors.iter().map(|fold| fold[k]).collect(),
            coupling: coupling(&task, fit, options.intercept)?,
        });
    }
    scores.sort_by(|a, b| a.mean().total_cmp(&b.mean()));
    if scores.is_empty() { Err(UNSOLVED) } else { Ok(scores) }
}

fn worth_scoring(pair: Pair, rho: Rho) -> Vec<Fit> {
    match rho {
        Rho::Fixed(_) => vec![pair.best],
        Rho::Learnt if pair.best.kappa > 0.0 => vec![pair.free, pair.best],
        Rho::Learnt => vec![pair.free],
    }
}

/// Errors of all candidates on the validation rows of one fold.
fn fold_errors(
    network: &Network,
    data: &Dataset,
    options: &CouplingOptions,
    fold: &Fold,
    candidates: &[Fit],
) -> Vec<f64> {
    let train = data.select(&fold.train);
    if train.is_empty() {
        return vec![f64::INFINITY; candidates.len()];
    }
    let moments = Moments::new(&train, options.intercept);
    let task = Task { network, moments: &moments, likelihood: options.likelihood };
    let error = |fit: &Fit| {
        let strength = match options.rho {
            Rho::Learnt if fit.kappa > 0.0 => Strength::From(fit.kappa),
            _ => Strength::Fixed(fit.kappa),
        };
        // With other rows, close to the fit of all rows.
        let start = super::fit::lifted(&fit.root.covariance(), &moments, super::choose::REVIVED);
        let fit = task.fit(fit.structure, &start, strength, ROUGH)?;
        validation_error(&task, data, &fold.validation, &fit)
    };
    candidates.iter().map(|fit| error(fit).unwrap_or(f64::INFINITY)).collect()
}

fn validation_error(task: &Task, data: &Dataset, validation: &[bool], fit: &Fit) -> Option<f64> {
    let plan = super::system::Plan::new(task.network, fit.root.p);
    let Task { network, moments, likelihood } = *task;
    let model = super::likelihood::Model { network, moments, plan: &plan, likelihood };
    let at = model.evaluate(&fit.root, fit.kappa)?;
    let (mut sum, mut nodes) = (0.0, 0.0);
    for i in 0..data.nodes() {
        let w = moments.restore(&at.model(i));
        let rows = || data.rows(i).zip(data.weights(i)).filter(|(r, weight)| validation[*r] && **weight > 0.0);
        let total: f64 = rows().map(|(_, weight)| weight).sum();
        if total > 0.0 {
            sum += rows().map(|(r, weight)| weight * (data.y()[r] - dot(data.x(r), &w)).powi(2)).sum::<f64>() / total;
            nodes += 1.0;
        }
    }
    (nodes > 0.0).then_some(sum / nodes)
}
