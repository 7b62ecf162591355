//! An average of couplings: every structure of `D`, with and without the graph, weighted by how well they predict rows that
//! they were not fitted to.
//!
//! Which structure is right is rarely clear from the rows, and a choice between models that are nearly as good is a gamble.
//! An average of models that are linear in the features is such a model again, and each member is the optimum of its own
//! problem ([`Coupling::problem`]): the average is the optimum of the problem on as many copies of the graph as there are
//! members.

use rayon::prelude::*;

use super::choose::{FAIR, ROUGH, UNSOLVED, coupling, fit_all, learn, noise_of, refine_to, told};
use super::evidence::GraphTest;
use super::fit::Fit;
use super::folds::{Fold, fold_models, rho_of, training_rows, worth_scoring};
use super::regions::{fitting, is_large};
use super::stack::{Row, Stack};
use super::{Coupling, CouplingOptions, Noise, Posterior, Prepared, Structure, check};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::matrix::{Matrix, axpy, dot};

/// A member with less weight is left out.
const WEIGHT_MIN: f64 = 0.01;

/// A weighted average of couplings.
#[derive(Debug, Clone, PartialEq)]
pub struct Blend {
    /// The members, the largest weight first, of equal ones the smallest error.
    pub members: Vec<Member>,
    /// How far the weights are on the way from equal (0) to those that were best on the folds (1).
    pub trust: f64,
    /// Does the graph matter, given the structure of the largest weight? `None` without edges, and where rows come in groups:
    /// the likelihood takes rows as independent.
    pub graph: Option<GraphTest>,
}

/// A coupling and its share.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Share of the average.
    pub weight: f64,
    /// The coupling, learnt from all rows.
    pub coupling: Coupling,
    /// Mean over the nodes of the mean loss of the rows that a fold held out; `None` if there were no folds.
    pub error: Option<f64>,
}

/// A fit to all rows, and the noise of the nodes by which its rows are weighted.
struct Candidate {
    fit: Fit,
    noise: Option<Vec<f64>>,
}

/// Learns all structures of the options from all rows and averages them by their predictions on `folds`. Rows of a group (of
/// a node, if there are no groups) count as one piece of evidence. On large graphs, and without folds, the average has one
/// member, that of the largest likelihood.
pub fn blend(
    graph: &Graph,
    data: &Dataset,
    options: &CouplingOptions,
    folds: &[Fold],
    groups: Option<&[u32]>,
) -> Result<Blend> {
    check(graph, data, options)?;
    for (what, found) in folds.iter().map(|f| ("rows of a fold", f.validation.len().min(f.train.len()))) {
        if found != data.len() {
            return Err(Error::Size { what, expected: data.len(), found });
        }
    }
    if folds.len() < 2 || is_large(graph, data.dim()) {
        let learnt = learn(graph, data, options)?;
        let test = (graph.edges() > 0).then_some(learnt.graph);
        return Ok(Blend { graph: test, ..Blend::of(learnt.coupling) });
    }
    let prepared = Prepared::new(graph, data, options.family, options.intercept)?;
    let candidates = candidates(&prepared, data, options)?;
    let mut stack = held_out_rows(data, options, folds, groups);
    stack.scores = held_out_scores(&prepared, data, options, folds, &candidates);
    let solved: Vec<bool> = stack.scores.iter().map(|s| s.iter().all(|s| s.is_finite())).collect();
    let mut kept = solved.iter();
    stack.scores.retain(|_| *kept.next().expect("one for each candidate"));
    let (weights, trust) = stack.weights();
    let alive = candidates.iter().zip(&solved).filter(|(_, solved)| **solved).map(|(candidate, _)| candidate);
    let member = |(k, (candidate, weight)): (usize, (&Candidate, f64))| {
        let coupling = finished(data, options, &prepared, candidate)?;
        Ok(Member { weight, coupling, error: Some(stack.error(k)) })
    };
    let heavy = alive.zip(weights).enumerate().filter(|(_, (_, weight))| *weight >= WEIGHT_MIN);
    let heavy: Vec<_> = heavy.collect();
    let mut members = heavy.into_par_iter().map(member).collect::<Result<Vec<_>>>()?;
    let total: f64 = members.iter().map(|m| m.weight).sum();
    members.iter_mut().for_each(|m| m.weight /= total);
    let by_weight = |a: &Member, b: &Member| b.weight.total_cmp(&a.weight);
    let by_error = |a: &Member, b: &Member| a.error.unwrap_or(0.0).total_cmp(&b.error.unwrap_or(0.0));
    members.sort_by(|a, b| by_weight(a, b).then(by_error(a, b)));
    let lead = members.first().ok_or(UNSOLVED)?;
    let graph = (groups.is_none() && graph.edges() > 0).then(|| graph_test(&prepared, options, &candidates, lead));
    Ok(Blend { members, trust, graph: graph.flatten() })
}

/// The test for the structure of a member, with the same noise at all nodes.
fn graph_test(
    prepared: &Prepared,
    options: &CouplingOptions,
    candidates: &[Candidate],
    of: &Member,
) -> Option<GraphTest> {
    let alike = |c: &&Candidate| c.noise.is_none() && c.fit.structure == of.coupling.structure;
    // Of both fits of a structure the first one is without the graph, the last one with it, if that is more likely.
    let (free, best) = (&candidates.iter().find(alike)?.fit, &candidates.iter().rfind(alike)?.fit);
    let known = free.kappa == 0.0;
    known.then(|| GraphTest::of(&prepared.task(options.likelihood, options.prior), free.deviance, best))
}

/// Every structure with and without the graph; the diagonal one also with noise of its own at every node.
fn candidates(prepared: &Prepared, data: &Dataset, options: &CouplingOptions) -> Result<Vec<Candidate>> {
    let task = prepared.task(options.likelihood, options.prior);
    let structures = told(&options.structures, data, options.intercept)?;
    let pairs = fit_all(&task, &structures, options.rho).into_iter().flatten();
    let fits: Vec<Fit> = pairs.flat_map(|pair| worth_scoring(pair, options.rho)).collect();
    let by_node = CouplingOptions { noise: Noise::ByNode, ..options.clone() };
    let noisy = |fit: &Fit| {
        let noise = noise_of(prepared, &by_node, fit)?;
        let weighted = prepared.moments.weighted(&noise);
        let task = super::Task { moments: &weighted, ..task };
        let fit = refine_to(&task, fit, rho_of(fit, options), ROUGH)?;
        Some(Candidate { fit, noise: Some(noise) })
    };
    let diagonal: Vec<&Fit> = fits.iter().filter(|fit| fit.structure == Structure::Diagonal).collect();
    let mut all: Vec<Candidate> = diagonal.par_iter().filter_map(|fit| noisy(fit)).collect();
    all.extend(fits.into_iter().map(|fit| Candidate { fit, noise: None }));
    if all.is_empty() { Err(UNSOLVED) } else { Ok(all) }
}

/// The held-out rows of all folds, without scores.
fn held_out_rows(data: &Dataset, options: &CouplingOptions, folds: &[Fold], groups: Option<&[u32]>) -> Stack {
    let mut rows = Vec::new();
    for (fold, masks) in folds.iter().enumerate() {
        for node in 0..data.nodes() {
            for row in data.rows(node).filter(|row| masks.validation[*row]) {
                let unit = groups.map_or(node, |groups| groups[row] as usize);
                rows.push((node, Row { y: data.y()[row], weight: 0.0, fold, unit }));
            }
        }
    }
    // Every node counts the same.
    let mut counts = vec![0.0; data.nodes()];
    rows.iter().for_each(|(node, _)| counts[*node] += 1.0);
    let nodes = counts.iter().filter(|c| **c > 0.0).count() as f64;
    let weighted = |(node, row): (usize, Row)| Row { weight: 1.0 / (nodes * counts[node]), ..row };
    Stack { family: options.family, rows: rows.into_iter().map(weighted).collect(), scores: Vec::new() }
}

/// Scores of the held-out rows, in their order, by every candidate; not a number where one failed.
fn held_out_scores(
    prepared: &Prepared,
    data: &Dataset,
    options: &CouplingOptions,
    folds: &[Fold],
    candidates: &[Candidate],
) -> Vec<Vec<f64>> {
    let rows_of = |fold: &Fold| training_rows(&prepared.network, data, options, fold);
    let training: Vec<Option<Prepared>> = folds.par_iter().map(rows_of).collect();
    let jobs: Vec<(usize, usize)> = (0..folds.len()).flat_map(|f| (0..candidates.len()).map(move |k| (f, k))).collect();
    let scores = |&(f, k): &(usize, usize)| {
        let noise = if candidates[k].noise.is_some() { Noise::ByNode } else { Noise::Common };
        let options = CouplingOptions { noise, ..options.clone() };
        let w = training[f].as_ref().and_then(|rows| fold_models(rows, &options, &candidates[k].fit));
        let rows = (0..data.nodes()).flat_map(|node| data.rows(node).map(move |row| (node, row)));
        let held_out = rows.filter(|(_, row)| folds[f].validation[*row]);
        let score = |(node, row): (usize, usize)| w.as_ref().map_or(f64::NAN, |w| dot(data.x(row), w.row(node)));
        held_out.map(score).collect::<Vec<f64>>()
    };
    let found: Vec<Vec<f64>> = jobs.par_iter().map(scores).collect();
    let of_candidate = |k: usize| found.iter().skip(k).step_by(candidates.len()).flatten().copied().collect();
    (0..candidates.len()).map(of_candidate).collect()
}

/// The coupling of a candidate, close enough for an average.
fn finished(data: &Dataset, options: &CouplingOptions, prepared: &Prepared, candidate: &Candidate) -> Result<Coupling> {
    let noise = candidate.noise.as_deref();
    let weighted = match noise {
        Some(_) => Some(Prepared::on(&prepared.network, data, options.family, options.intercept)?.weighted(noise)?),
        None => None,
    };
    let task = weighted.as_ref().unwrap_or(prepared).task(options.likelihood, options.prior);
    let fit = refine_to(&task, &candidate.fit, rho_of(&candidate.fit, options), FAIR);
    let found = coupling(&task, fit.as_ref().unwrap_or(&candidate.fit), options)?;
    Ok(Coupling { node_noise: candidate.noise.clone(), ..found })
}

impl Blend {
    /// The average of one.
    pub fn of(coupling: Coupling) -> Self {
        Blend { members: vec![Member { weight: 1.0, coupling, error: None }], trust: 0.0, graph: None }
    }

    /// The member with the largest weight.
    pub fn lead(&self) -> &Coupling {
        &self.members[0].coupling
    }

    /// The models given the rows of `data`: mean and covariance of the mixture of the members' posteriors.
    pub fn posterior(&self, graph: &Graph, data: &Dataset) -> Result<Posterior> {
        check(graph, data, &CouplingOptions::default())?;
        let network = fitting(graph, data.dim());
        let posterior = |m: &Member| Ok((m.weight, m.coupling.posterior_on(&network, graph, data)?));
        let mut all = self.members.par_iter().map(posterior).collect::<Result<Vec<_>>>()?;
        if all.len() == 1 {
            return Ok(all.swap_remove(0).1);
        }
        let mean = |part: &dyn Fn(&Posterior) -> &[f64]| -> Vec<f64> {
            let mut sum = vec![0.0; part(&all[0].1).len()];
            all.iter().for_each(|(weight, p)| axpy(*weight, part(p), &mut sum));
            sum
        };
        let d = data.dim();
        let (w, mu) = (mean(&|p| p.w.as_slice()), mean(&|p| &p.mu));
        let mut covariance = mean(&|p| p.covariance.as_slice());
        let mut mu_covariance = mean(&|p| p.mu_covariance.as_slice());
        for (weight, p) in &all {
            add_spread(*weight, p.w.as_slice(), &w, d, &mut covariance);
            add_spread(*weight, &p.mu, &mu, d, &mut mu_covariance);
        }
        Ok(Posterior {
            mu_covariance: Matrix::from_rows(d, mu_covariance),
            covariance: Matrix::from_rows(d * d, covariance),
            // Members with and without edges have nothing in common to average.
            edge_covariance: Matrix::from_rows(d * d, Vec::new()),
            noise: mean(&|p| &p.noise),
            exact: all.iter().all(|(_, p)| p.exact),
            w: Matrix::from_rows(d, w),
            mu,
        })
    }
}

/// Adds `weight (w - mean)(w - mean)'` of every model of `d` numbers.
fn add_spread(weight: f64, w: &[f64], mean: &[f64], d: usize, covariance: &mut [f64]) {
    for ((w, mean), out) in w.chunks_exact(d).zip(mean.chunks_exact(d)).zip(covariance.chunks_exact_mut(d * d)) {
        let apart: Vec<f64> = w.iter().zip(mean).map(|(w, m)| w - m).collect();
        apart.iter().zip(out.chunks_exact_mut(d)).for_each(|(a, row)| axpy(weight * a, &apart, row));
    }
}
