//! Structures judged by rows that were held out. Where rows of different nodes have errors in common (the same hours
//! everywhere), the likelihood prefers structures that are too wide; folds that imitate the question do not.

use std::collections::HashMap;
use std::sync::Arc;

use rand::seq::SliceRandom;
use rayon::prelude::*;

use super::choose::{Pair, REVIVED, ROUGH, UNSOLVED, coupling, criterion, fit_all, noise_of, refine_to, told};
use super::dense::semi_cholesky;
use super::fit::{Fit, Task, lifted};
use super::network::Network;
use super::system::Root;
use super::{Coupling, CouplingOptions, Noise, Prepared, Rho, Structure, check};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::loss::LossOptions;
use crate::matrix::Matrix;
use crate::random::{Purpose, stream};
use crate::tune::{Errors, mean_and_error};

/// Rows to train with and rows to be judged by, as masks over the rows of the dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Fold {
    /// Rows trained with.
    pub train: Vec<bool>,
    /// Rows judged by.
    pub validation: Vec<bool>,
}

impl Fold {
    /// Deals rows out to folds at random: those of every node separately, or whole groups (times, say) at all nodes alike.
    pub fn deal(data: &Dataset, groups: Option<&[u32]>, count: usize, seed: u64) -> Vec<Fold> {
        let mut rng = stream(seed, Purpose::HeldOutRows, 0);
        let mut fold_of = vec![0; data.len()];
        if let Some(groups) = groups {
            let mut distinct = groups.to_vec();
            distinct.sort_unstable();
            distinct.dedup();
            distinct.shuffle(&mut rng);
            let place: HashMap<u32, usize> =
                distinct.iter().enumerate().map(|(k, group)| (*group, k % count)).collect();
            fold_of.iter_mut().zip(groups).for_each(|(fold, group)| *fold = place[group]);
        } else {
            for node in 0..data.nodes() {
                let mut rows: Vec<usize> = data.rows(node).collect();
                rows.shuffle(&mut rng);
                // Nodes with few rows do not all leave the same folds empty.
                rows.iter().enumerate().for_each(|(k, row)| fold_of[*row] = (k + node) % count);
            }
        }
        let fold = |k: usize| {
            let validation: Vec<bool> = fold_of.iter().map(|f| *f == k).collect();
            Fold { train: validation.iter().map(|v| !v).collect(), validation }
        };
        (0..count).map(fold).filter(|fold| fold.validation.contains(&true) && fold.train.contains(&true)).collect()
    }
}

/// A structure, with or without the graph, and how well it predicts.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldScore {
    /// The structure.
    pub structure: Structure,
    /// True if the graph takes part.
    pub graph: bool,
    /// Mean over the nodes of the mean loss of their validation rows, one per fold; infinite where the fit failed.
    pub errors: Vec<f64>,
    /// The coupling learnt from all rows.
    pub coupling: Coupling,
    /// `log p(y)` of all rows less `log(n) / 2` for every free number in `D`.
    pub criterion: f64,
}

impl FoldScore {
    /// Mean over the folds.
    pub fn mean(&self) -> f64 {
        self.errors.iter().sum::<f64>() / self.errors.len().max(1) as f64
    }

    /// Mean over the folds of the logarithm of the error: no single fold decides.
    fn mean_log(&self) -> f64 {
        self.errors.iter().map(|e| e.max(f64::MIN_POSITIVE).ln()).sum::<f64>() / self.errors.len().max(1) as f64
    }

    fn is_clearly_better_than(&self, other: &FoldScore) -> bool {
        let ratio = |(a, b): (&f64, &f64)| (b / a).ln();
        let gains = self.errors.iter().zip(&other.errors).map(ratio);
        mean_and_error(gains).is_some_and(|(mean, error)| mean > 0.0 && mean > CLEAR * error && self.errors.len() > 1)
    }
}

/// Standard errors of a clear difference.
const CLEAR: f64 = 2.0;

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
    let prepared = Prepared::new(graph, data, options.family, options.intercept)?;
    let structures = told(&options.structures, data, options.intercept)?;
    let pairs = fit_all(&prepared.task(options.likelihood, options.prior), &structures, options.rho);
    let fits: Vec<Fit> = pairs.into_iter().flatten().flat_map(|pair| worth_scoring(pair, options.rho)).collect();
    let common = CouplingOptions { noise: Noise::Common, ..options.clone() };
    let mut scores = score(data, &common, folds, &prepared, &fits, None)?;
    let task = prepared.task(options.likelihood, options.prior);
    let best = fits.iter().max_by(|a, b| criterion(&task, a).total_cmp(&criterion(&task, b)));
    if let Some(noise) = best.and_then(|fit| noise_of(&prepared, options, fit)) {
        let prepared = Prepared::on(&prepared.network, data, options.family, options.intercept)?;
        let prepared = prepared.weighted(Some(&noise))?;
        let task = prepared.task(options.likelihood, options.prior);
        let again = |fit: &Fit| refine_to(&task, fit, rho_of(fit, options), ROUGH).unwrap_or_else(|| fit.clone());
        let fits: Vec<Fit> = fits.iter().map(again).collect();
        scores.extend(score(data, options, folds, &prepared, &fits, Some(noise))?);
    }
    scores.sort_by(|a, b| a.mean().total_cmp(&b.mean()));
    if scores.is_empty() { Err(UNSOLVED) } else { Ok(scores) }
}

/// Scores of fits to all rows, with the noise that all rows suggest.
fn score(
    data: &Dataset,
    options: &CouplingOptions,
    folds: &[Fold],
    prepared: &Prepared,
    fits: &[Fit],
    noise: Option<Vec<f64>>,
) -> Result<Vec<FoldScore>> {
    let of_fold = |fold: &Fold| fold_errors(&prepared.network, data, options, fold, fits);
    let errors: Vec<Vec<f64>> = folds.par_iter().map(of_fold).collect();
    let task = prepared.task(options.likelihood, options.prior);
    let scored = |(k, fit): (usize, &Fit)| {
        Ok(FoldScore {
            structure: fit.structure,
            graph: fit.kappa > 0.0,
            errors: errors.iter().map(|fold| fold[k]).collect(),
            coupling: Coupling { node_noise: noise.clone(), ..coupling(&task, fit, options)? },
            criterion: criterion(&task, fit),
        })
    };
    fits.iter().enumerate().map(scored).collect()
}

/// What decides between candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judge {
    /// The smallest error on the folds: where rows of different nodes have errors in common, so that the likelihood, which
    /// takes rows as independent, is not to be trusted.
    Folds,
    /// The candidate of the largest criterion among those with a common noise, unless another one is better on the folds by
    /// more than two standard errors of the difference: folds alone choose badly among candidates that are nearly as good.
    LikelihoodAndFolds,
}

/// The candidate to use.
pub fn choose_on_folds(scores: &[FoldScore], judge: Judge) -> Option<&FoldScore> {
    let likely = scores.iter().filter(|s| s.coupling.node_noise.is_none());
    let likely = likely.max_by(|a, b| a.criterion.total_cmp(&b.criterion));
    match (judge, likely) {
        (Judge::LikelihoodAndFolds, Some(likely)) => {
            let mut order: Vec<&FoldScore> = scores.iter().collect();
            order.sort_by(|a, b| a.mean_log().total_cmp(&b.mean_log()));
            order.into_iter().find(|score| score.is_clearly_better_than(likely)).or(Some(likely))
        }
        _ => scores.iter().min_by(|a, b| a.mean().total_cmp(&b.mean())),
    }
}

/// How the share of the graph is found again for a candidate.
pub(super) fn rho_of(fit: &Fit, options: &CouplingOptions) -> Rho {
    if fit.kappa > 0.0 { options.rho } else { Rho::Fixed(0.0) }
}

pub(super) fn worth_scoring(pair: Pair, rho: Rho) -> Vec<Fit> {
    match rho {
        Rho::Fixed(_) => vec![pair.best],
        Rho::Learnt if pair.best.kappa > 0.0 => vec![pair.free, pair.best],
        Rho::Learnt => vec![pair.free],
    }
}

/// Errors of all candidates on the validation rows of one fold.
fn fold_errors(
    network: &Arc<Network>,
    data: &Dataset,
    options: &CouplingOptions,
    fold: &Fold,
    candidates: &[Fit],
) -> Vec<f64> {
    let failed = vec![f64::INFINITY; candidates.len()];
    let Ok(loss) = options.family.build(data.select(&fold.validation), &LossOptions::default()) else { return failed };
    let error = |w: Option<Matrix>| w.and_then(|w| Errors::of(&*loss, &w).mean()).unwrap_or(f64::INFINITY);
    let prepared = training_rows(network, data, options, fold);
    let models = |fit: &Fit| fold_models(prepared.as_ref()?, options, fit);
    candidates.iter().map(models).map(error).collect()
}

/// The training rows of a fold; `None` if there is nothing to be learnt from them.
pub(super) fn training_rows(
    network: &Arc<Network>,
    data: &Dataset,
    options: &CouplingOptions,
    fold: &Fold,
) -> Option<Prepared> {
    let train = data.select(&fold.train);
    if train.is_empty() { None } else { Prepared::on(network, &train, options.family, options.intercept).ok() }
}

/// Models of a candidate, fitted again to the training rows of a fold; `None` if that fails.
pub(super) fn fold_models(prepared: &Prepared, options: &CouplingOptions, candidate: &Fit) -> Option<Matrix> {
    let (task, d) = (prepared.task(options.likelihood, options.prior), prepared.moments.d);
    // With other rows, close to the fit of all rows.
    let start = lifted(&candidate.root.covariance(), task.moments, REVIVED);
    let fit = Fit { root: Root { d, p: d, entries: semi_cholesky(&start, d) }, ..candidate.clone() };
    let mut fit = refine_to(&task, &fit, rho_of(&fit, options), ROUGH)?;
    let weighted = noise_of(prepared, options, &fit).map(|noise| task.moments.weighted(&noise));
    let task = Task { moments: weighted.as_ref().unwrap_or(task.moments), ..task };
    if weighted.is_some() {
        fit = refine_to(&task, &fit, rho_of(&fit, options), ROUGH)?;
    }
    let plan = task.network.plan(fit.root.p);
    let at = task.at(&plan, &fit.root, fit.kappa)?;
    let w = (0..task.moments.nodes()).flat_map(|i| task.moments.restore(&at.model(i))).collect();
    Some(Matrix::from_rows(d, w))
}
