//! The structure of `D`, by the likelihood with a penalty on the numbers in `D`.

use super::dense::{sandwich, semi_cholesky};
use super::evidence::GraphTest;
use super::fit::{Fit, Strength, Task, lifted};
use super::noise::{Noise, node_noise};
use super::regions::{is_large, learn_in_regions};
use super::structure::Structure;
use super::system::Root;
use super::{Coupling, CouplingOptions, Prepared, Rho, check};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::loss::Family;
use crate::matrix::Matrix;

/// Differences of the deviance that do not matter for a choice, and for the answer.
pub(super) const ROUGH: f64 = 1e-2;
pub(super) const FINE: f64 = 1e-8;
/// The same for members of an average, whose weights are known less well: a hundredth of a standard error.
pub(super) const FAIR: f64 = 1e-4;
/// The smallest variance of a coefficient, as a share of that with which data and prior have an equal say: a coefficient
/// with less is shared by all for every practical purpose, and `D` keeps an inverse.
pub(super) const SHARED: f64 = 1e-4;
/// A wider structure starts with at least this much.
pub(super) const REVIVED: f64 = 1e-2;
/// Where the search for the strength of the graph starts.
pub(super) const KAPPA_START: f64 = 1.0;

/// A structure that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The structure.
    pub structure: Structure,
    /// The share of the graph that suits it best.
    pub rho: f64,
    /// `log p(y)`.
    pub log_likelihood: f64,
    /// `log p(y)` with nodes that do not know of each other, where that was looked at.
    pub log_likelihood_without_graph: f64,
    /// `log p(y)` less `log(n) / 2` for every free number in `D`: the largest wins.
    pub criterion: f64,
}

/// The choice and what it was made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Learnt {
    /// The winner.
    pub coupling: Coupling,
    /// All structures, in the order of the options.
    pub candidates: Vec<Candidate>,
    /// Does the graph matter, given the structure of the winner?
    pub graph: GraphTest,
}

/// Learns the coupling from all rows; on large graphs from regions (`candidates` and the test of the graph then belong to a
/// sample of them).
pub fn learn(graph: &Graph, data: &Dataset, options: &CouplingOptions) -> Result<Learnt> {
    check(graph, data, options)?;
    match is_large(graph, data.dim()) && options.rho != Rho::Fixed(0.0) {
        true => learn_in_regions(graph, data, options),
        false => learn_exactly(graph, data, options),
    }
}

/// Learns with factors of the whole graph.
fn learn_exactly(graph: &Graph, data: &Dataset, options: &CouplingOptions) -> Result<Learnt> {
    Ok(learn_and_fit(graph, data, options)?.0)
}

/// The same, and the fit that won.
pub(super) fn learn_and_fit(graph: &Graph, data: &Dataset, options: &CouplingOptions) -> Result<(Learnt, Fit)> {
    let mut prepared = Prepared::new(graph, data, options.family, options.intercept)?;
    let structures = told_or_low_rank(&options.structures, data, options.intercept)?;
    let pairs = fit_all(&prepared.task(options.likelihood, options.prior), &structures, options.rho);
    let mut pairs: Vec<Pair> = pairs.into_iter().flatten().collect();
    let mut best = winner(&prepared.task(options.likelihood, options.prior), &pairs).ok_or(UNSOLVED)?;
    let noise = noise_of(&prepared, options, &pairs[best].best);
    if let Some(noise) = &noise {
        prepared = prepared.weighted(Some(noise))?;
        let task = prepared.task(options.likelihood, options.prior);
        pairs = pairs.iter().filter_map(|pair| refit(&task, pair, options.rho)).collect();
        best = winner(&task, &pairs).ok_or(UNSOLVED)?;
    }
    let task = prepared.task(options.likelihood, options.prior);
    let candidates = pairs.iter().map(|pair| candidate(&task, pair)).collect();
    let fine = refine(&task, &pairs[best].best, options.rho).unwrap_or_else(|| pairs[best].best.clone());
    let graph = GraphTest::of(&task, pairs[best].free.deviance, &fine);
    let coupling = Coupling { node_noise: noise, ..coupling(&task, &fine, options)? };
    Ok((Learnt { coupling, candidates, graph }, fine))
}

/// The structure with the largest criterion.
fn winner(task: &Task, pairs: &[Pair]) -> Option<usize> {
    let scores = pairs.iter().map(|pair| criterion(task, &pair.best)).enumerate();
    let better = |best: Option<(usize, f64)>, (k, score): (usize, f64)| match best {
        Some((_, highest)) if highest >= score => best,
        _ => Some((k, score)),
    };
    scores.fold(None, better).map(|(k, _)| k)
}

/// The noise of every node at a fit with the same noise everywhere, found in two rounds; `None` if it stays the same.
pub(super) fn noise_of(prepared: &Prepared, options: &CouplingOptions, fit: &Fit) -> Option<Vec<f64>> {
    if options.noise == Noise::Common || options.family != Family::Squared {
        return None;
    }
    let task = prepared.task(options.likelihood, options.prior);
    let first = node_noise(&task, fit, None)?;
    let weighted = prepared.moments.weighted(&first);
    let again = Task { moments: &weighted, ..task };
    let fit = refine_to(&again, fit, options.rho, ROUGH)?;
    node_noise(&again, &fit, Some(&first))
}

/// Both fits of a structure, continued with other weights of the rows.
fn refit(task: &Task, pair: &Pair, rho: Rho) -> Option<Pair> {
    let free = refine_to(task, &pair.free, Rho::Fixed(0.0), ROUGH)?;
    let best = if pair.best.kappa > 0.0 { refine_to(task, &pair.best, rho, ROUGH)? } else { free.clone() };
    let keep = matches!(rho, Rho::Fixed(_)) || best.deviance < free.deviance;
    Some(Pair { best: if keep { best } else { free.clone() }, free })
}

pub(super) const UNSOLVED: Error = Error::Method {
    method: "learnt coupling",
    needs: "a graph whose factor fits into memory, and finite sums of squares",
};

/// A structure without and with the graph.
pub(super) struct Pair {
    /// Without.
    pub free: Fit,
    /// The better one, or the one asked for.
    pub best: Fit,
}

/// The structures that make sense for these rows. Where others are left, a full covariance with more numbers than there are
/// nodes to tell them is not one of them.
pub(super) fn told(structures: &[Structure], data: &Dataset, intercept: bool) -> Result<Vec<Structure>> {
    let nodes = nodes_with_rows(data);
    let is_told = |s: &Structure| *s != Structure::Full || s.numbers(data.dim()) <= nodes || structures.len() == 1;
    let kept: Vec<Structure> = structures.iter().copied().filter(is_told).collect();
    usable(&kept, data.dim(), intercept)
}

/// The same for a choice by the likelihood, which pays for every number: a full covariance that is left out gives way to a
/// diagonal one with a few directions in common, if nodes can tell that.
fn told_or_low_rank(structures: &[Structure], data: &Dataset, intercept: bool) -> Result<Vec<Structure>> {
    let mut kept = told(structures, data, intercept)?;
    let low_rank = Structure::low_rank(data.dim(), nodes_with_rows(data));
    let left_out = structures.contains(&Structure::Full) && !kept.contains(&Structure::Full);
    if let Some(low_rank) = low_rank.filter(|s| left_out && !kept.contains(s)) {
        kept.push(low_rank);
    }
    Ok(kept)
}

fn nodes_with_rows(data: &Dataset) -> usize {
    (0..data.nodes()).filter(|i| !data.rows(*i).is_empty()).count()
}

/// The structures that make sense for models with `d` parameters, each once.
pub(super) fn usable(structures: &[Structure], d: usize, intercept: bool) -> Result<Vec<Structure>> {
    let mut kept: Vec<Structure> = Vec::new();
    for structure in structures {
        let fits = match structure {
            Structure::Intercept => intercept,
            Structure::LowRank(rank) => *rank > 0 && *rank + 1 < d,
            Structure::Full => d > 1,
            Structure::Diagonal => !(intercept && d == 1 && kept.contains(&Structure::Intercept)),
        };
        if fits && !kept.contains(structure) {
            kept.push(*structure);
        }
    }
    if kept.is_empty() && !structures.is_empty() {
        kept.push(Structure::Diagonal);
    }
    match kept.is_empty() {
        true => Err(Error::Size { what: "structures of the covariance", expected: 1, found: 0 }),
        false => Ok(kept),
    }
}

/// Fits every structure; wider ones start from the diagonal.
pub(super) fn fit_all(task: &Task, structures: &[Structure], rho: Rho) -> Vec<Option<Pair>> {
    let fit = |structure: Structure, start: &[f64]| fit_pair(task, structure, start, rho);
    let wide = |s: &Structure| matches!(s, Structure::Full | Structure::LowRank(_));
    let narrow: Vec<Structure> = structures.iter().copied().filter(|s| !wide(s) && *s != Structure::Diagonal).collect();
    let start = task.start();
    // Two chains, side by side.
    let (mut first, mut second) = rayon::join(
        || narrow.iter().map(|s| (*s, fit(*s, &start))).collect::<Vec<_>>(),
        || {
            let diagonal = fit(Structure::Diagonal, &start);
            let start = match &diagonal {
                Some(pair) => lifted(&pair.free.root.covariance(), task.moments, REVIVED),
                None => start.clone(),
            };
            let wider = structures.iter().filter(|s| wide(s)).map(|s| (*s, fit(*s, &start)));
            let mut all: Vec<_> = wider.collect();
            all.push((Structure::Diagonal, diagonal));
            all
        },
    );
    first.append(&mut second);
    let mut take = |s: &Structure| first.iter_mut().find(|(t, _)| t == s).and_then(|(_, pair)| pair.take());
    structures.iter().map(&mut take).collect()
}

fn fit_pair(task: &Task, structure: Structure, start: &[f64], rho: Rho) -> Option<Pair> {
    let free = task.fit(structure, start, Strength::Fixed(0.0), ROUGH)?;
    let strength = match rho {
        _ if !task.network.is_coupled() => return Some(Pair { best: free.clone(), free }),
        Rho::Fixed(0.0) => return Some(Pair { best: free.clone(), free }),
        Rho::Fixed(rho) => Strength::Fixed(task.network.kappa(rho)),
        Rho::Learnt => Strength::From(KAPPA_START),
    };
    let d = task.moments.d;
    let entries = semi_cholesky(&lifted(&free.root.covariance(), task.moments, REVIVED), d);
    let coupled = task.fit_again(&Fit { root: Root { d, p: d, entries }, ..free.clone() }, strength, ROUGH);
    let keep = |fit: &Fit| matches!(rho, Rho::Fixed(_)) || fit.deviance < free.deviance;
    let best = coupled.filter(keep).unwrap_or_else(|| free.clone());
    Some(Pair { free, best })
}

/// The same fit to the last digits.
pub(super) fn refine(task: &Task, fit: &Fit, rho: Rho) -> Option<Fit> {
    refine_to(task, fit, rho, FINE)
}

/// The search continued from a fit.
pub(super) fn refine_to(task: &Task, fit: &Fit, rho: Rho, gain: f64) -> Option<Fit> {
    let strength = match rho {
        Rho::Learnt if fit.kappa > 0.0 => Strength::From(fit.kappa),
        _ => Strength::Fixed(fit.kappa),
    };
    task.fit_again(fit, strength, gain)
}

fn candidate(task: &Task, pair: &Pair) -> Candidate {
    let Pair { free, best } = pair;
    Candidate {
        structure: best.structure,
        rho: task.network.rho(best.kappa),
        log_likelihood: task.log_likelihood(best.deviance),
        log_likelihood_without_graph: task.log_likelihood(free.deviance),
        criterion: criterion(task, best),
    }
}

/// `log p(y)` less `log(n) / 2` for every free number in `D`.
pub(super) fn criterion(task: &Task, fit: &Fit) -> f64 {
    let numbers = fit.structure.numbers(task.moments.d) as f64;
    task.log_likelihood(fit.deviance) - 0.5 * (task.moments.nodes() as f64).ln() * numbers
}

/// The fit in the units of the features and the target as given.
pub(super) fn coupling(task: &Task, fit: &Fit, options: &CouplingOptions) -> Result<Coupling> {
    let (moments, network, d) = (task.moments, task.network, task.moments.d);
    let relative = fit.root.covariance();
    let floor = 2.0 * SHARED / moments.mean_rows().max(1.0);
    let varies = (0..d).map(|j| relative[j * d + j] > floor).collect();
    let kept = lifted(&relative, moments, SHARED);
    let root = Root { d, p: d, entries: semi_cholesky(&kept, d) };
    let plan = network.plan(d);
    let at = task.at(&plan, &root, fit.kappa).ok_or(UNSOLVED)?;
    let factor = network.covariance_factor(&at.system.precision) * at.s2;
    let identity: Vec<f64> = (0..d * d).map(|k| if k / d == k % d { factor } else { 0.0 }).collect();
    let covariance = moments.restore_covariance(&sandwich(&root.entries, &identity, d, d));
    Ok(Coupling {
        family: options.family,
        structure: fit.structure,
        mu: moments.restore(&at.mu),
        covariance: Matrix::from_rows(d, covariance),
        varies,
        rho: network.rho(fit.kappa),
        s2: at.s2 * moments.variance_unit(),
        node_noise: None,
        log_likelihood: task.log_likelihood(at.deviance),
        likelihood: task.likelihood,
        prior: task.prior,
        intercept: options.intercept,
    })
}
