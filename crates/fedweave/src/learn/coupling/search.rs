//! The coupling of losses that are not the logarithm of a likelihood, or whose likelihood is out of reach (Huber, absolute, quantile,
//! hinge, softmax): the same few numbers, found by rows that folds hold out.
//!
//! ```text
//! minimise  sum_i L_i(w_i) + rho sum_e A_e |w_i - w_j|^2_Q + (1 - rho) sum_i |w_i - mu|^2_Q      Q = diag(slopes, ..., slopes, intercept)
//! ```
//!
//! One number after the other: the strength of all, that of the intercepts, the share of the graph, and the strength once more.
//! Features have one scale, so one number does for all slopes.

use rayon::prelude::*;

use super::folds::Fold;
use super::{Coupling, CouplingOptions, Likelihood, Structure, check};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::loss::{Family, LossOptions};
use crate::matrix::Matrix;
use crate::solve::{Settings, Watch, solve};
use crate::tune::{Errors, mean_errors};

/// Logarithms (to base 10) of the strengths that are tried, in units of one row of a loss with curvature 1.
const STRENGTHS: [f64; 11] = [-3.0, -2.5, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0];
/// The same for the intercepts, relative to the slopes.
const INTERCEPTS: [f64; 6] = [-3.0, -2.0, -1.0, -0.5, 0.5, 1.0];
/// Shares of the graph.
const SHARES: [f64; 6] = [0.0, 0.25, 0.75, 0.9, 0.97, 0.99];
/// Steps around the best strength at the end.
const STEPS: [f64; 4] = [-0.5, -0.25, 0.25, 0.5];
/// Where the search for the share starts.
const SHARE_START: f64 = 0.5;
/// A coefficient with this strength is shared by all for every practical purpose.
const SHARED: f64 = 4.0;

/// The numbers that are searched for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Strengths {
    /// Logarithm of the strength of the slopes.
    pub slopes: f64,
    /// Logarithm of that of the intercept.
    pub intercept: f64,
    /// Share of the graph.
    pub rho: f64,
}

/// A coupling that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// Its numbers.
    pub at: Strengths,
    /// Errors of the nodes on the rows that folds hold out.
    pub errors: Errors,
}

/// What a search has found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The coupling of the smallest error.
    pub coupling: Coupling,
    /// Everything that was tried, in order.
    pub tried: Vec<Tried>,
    /// The mean error of the best.
    pub error: f64,
}

/// True if a coupling is learnt by the likelihood of this loss.
pub fn has_likelihood(family: Family) -> bool {
    matches!(family, Family::Squared | Family::Logistic | Family::Poisson)
}

/// Finds the coupling of a loss by folds. The features should have one scale.
pub fn search(graph: &Graph, data: &Dataset, options: &CouplingOptions, folds: &[Fold]) -> Result<Found> {
    check(graph, data, options)?;
    if folds.is_empty() {
        return Err(Error::Size { what: "folds", expected: 1, found: 0 });
    }
    let mut search = Search { graph, data, options, folds, tried: Vec::new() };
    let rho = if graph.edges() > 0 { SHARE_START } else { 0.0 };
    search.try_all(STRENGTHS.map(|s| Strengths { slopes: s, intercept: s, rho }))?;
    if options.intercept && data.dim() > 1 {
        let best = search.best().at;
        search.try_all(INTERCEPTS.map(|s| Strengths { intercept: best.slopes + s, ..best }))?;
    }
    if graph.edges() > 0 {
        let best = search.best().at;
        search.try_all(SHARES.map(|rho| Strengths { rho, ..best }))?;
    }
    let best = search.best().at;
    search.try_all(STEPS.map(|s| Strengths { slopes: best.slopes + s, intercept: best.intercept + s, ..best }))?;
    let (at, error) = (search.best().at, search.best().error());
    Ok(Found { coupling: at.coupling(options, data.dim()), tried: search.tried, error })
}

struct Search<'a> {
    graph: &'a Graph,
    data: &'a Dataset,
    options: &'a CouplingOptions,
    folds: &'a [Fold],
    tried: Vec<Tried>,
}

impl Search<'_> {
    fn try_all<const N: usize>(&mut self, candidates: [Strengths; N]) -> Result<()> {
        let held: Vec<Dataset> = self.folds.iter().map(|fold| self.data.select(&fold.validation)).collect();
        let tasks: Vec<(usize, usize)> = (0..N).flat_map(|k| (0..held.len()).map(move |f| (k, f))).collect();
        let judged = |&(k, f): &(usize, usize)| self.errors(candidates[k], &self.folds[f], &held[f]);
        let errors: Vec<Errors> = tasks.par_iter().map(judged).collect::<Result<_>>()?;
        for (at, errors) in candidates.into_iter().zip(errors.chunks_exact(held.len())) {
            self.tried.push(Tried { at, errors: mean_errors(&held, |f| &errors[f]) });
        }
        Ok(())
    }

    /// Errors on rows that a fold holds out.
    fn errors(&self, at: Strengths, fold: &Fold, held: &Dataset) -> Result<Errors> {
        let train = self.data.select(&fold.train);
        let w = at.coupling(self.options, self.data.dim()).models(self.graph, &train, &Settings::default().quick())?;
        let loss = self.options.family.build(held.clone(), &LossOptions::default())?;
        Ok(Errors::of(&*loss, &w))
    }

    /// The smallest error; of equal ones the first.
    fn best(&self) -> &Tried {
        let better = |a: &'_ Tried, b: &'_ Tried| b.error() < a.error();
        let mut best = &self.tried[0];
        self.tried.iter().for_each(|one| best = if better(best, one) { one } else { best });
        best
    }
}

impl Tried {
    /// Mean over the nodes.
    pub fn error(&self) -> f64 {
        self.errors.mean().filter(|e| !e.is_nan()).unwrap_or(f64::INFINITY)
    }
}

impl Strengths {
    /// The coupling with these numbers: `D = Q^-1 / 2`, as for losses that are the logarithm of a likelihood.
    fn coupling(self, options: &CouplingOptions, features: usize) -> Coupling {
        let d = options.family.dim(features);
        let is_intercept = |j: usize| options.intercept && j % features + 1 == features;
        let strength = |j: usize| if is_intercept(j) { self.intercept } else { self.slopes };
        let mut covariance = Matrix::zeros(d, d);
        (0..d).for_each(|j| covariance.row_mut(j)[j] = 0.5 * 10f64.powf(-strength(j)));
        Coupling {
            family: options.family,
            structure: Structure::Diagonal,
            mu: vec![0.0; d],
            covariance,
            varies: (0..d).map(|j| strength(j) < SHARED).collect(),
            rho: self.rho,
            s2: 1.0,
            node_noise: None,
            log_likelihood: f64::NAN,
            likelihood: Likelihood::default(),
            prior: false,
            intercept: options.intercept,
        }
    }
}

impl Coupling {
    /// The optimum of the problem, a row per node and the common model last.
    pub fn models(&self, graph: &Graph, data: &Dataset, settings: &Settings) -> Result<Matrix> {
        Ok(solve(&self.problem(graph, data)?, settings, None, &mut |_| Watch::Continue).w)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Structure, learn};
    use super::*;
    use crate::random::{Purpose, stream};
    use rand::RngExt;
    use rand_distr::StandardNormal;

    /// A ring whose slopes vary smoothly around it, intercepts alone; a tenth of the labels is far off.
    fn ring(nodes: usize, rows: usize, outliers: bool) -> (Graph, Dataset) {
        let edges: Vec<_> = (0..nodes).map(|i| (i, (i + 1) % nodes, 1.0)).collect();
        let mut rng = stream(8, Purpose::LocalData, 0);
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for i in 0..nodes {
            let angle = i as f64 / nodes as f64 * std::f64::consts::TAU;
            for row in 0..rows {
                let [a, e]: [f64; 2] = [rng.sample(StandardNormal), rng.sample(StandardNormal)];
                let wrong = if outliers && row % 10 == 0 { 50.0 * e.signum() } else { 0.0 };
                y.push(angle.sin() * a + 2.0 + 0.3 * e + wrong);
                x.extend([a, 1.0]);
            }
        }
        let offsets = (0..=nodes).map(|i| i * rows).collect();
        let weight = vec![1.0; y.len()];
        (Graph::new(nodes, &edges).unwrap(), Dataset::new(offsets, Matrix::from_rows(2, x), y, weight).unwrap())
    }

    fn options(family: Family) -> CouplingOptions {
        CouplingOptions { family, ..CouplingOptions::default() }
    }

    #[test]
    fn huber_finds_slopes_among_outliers_where_squares_do_not() {
        let (graph, data) = ring(30, 10, true);
        let folds = Fold::deal(&data, None, 5, 1);
        let found = search(&graph, &data, &options(Family::Huber { delta: 0.5 }), &folds).unwrap();
        let squares = learn(&graph, &data, &options(Family::Squared)).unwrap().coupling;
        let off = |w: &Matrix| {
            let angle = |i: usize| i as f64 / 30.0 * std::f64::consts::TAU;
            (0..30).map(|i| (w.row(i)[0] - angle(i).sin()).powi(2)).sum::<f64>() / 30.0
        };
        let robust = off(&found.coupling.models(&graph, &data, &Settings::default()).unwrap());
        let plain = off(&squares.posterior(&graph, &data).unwrap().w);
        assert!(robust < 0.03 && robust < 0.2 * plain, "{robust} {plain}");
        // Slopes follow the ring; nothing better was tried.
        assert!(found.coupling.rho >= 0.5 && found.coupling.varies[0]);
        assert!(found.tried.iter().all(|t| t.error() >= found.error));
    }

    /// With squares, for which the likelihood is at hand, folds find models that predict about as well.
    #[test]
    fn folds_agree_with_the_likelihood() {
        let (graph, data) = ring(30, 8, false);
        let folds = Fold::deal(&data, None, 5, 1);
        let found = search(&graph, &data, &options(Family::Squared), &folds).unwrap().coupling;
        let learnt = learn(&graph, &data, &options(Family::Squared)).unwrap().coupling;
        let w = found.models(&graph, &data, &Settings::default()).unwrap();
        let posterior = learnt.posterior(&graph, &data).unwrap().w;
        let apart: f64 = (0..30).map(|i| (w.row(i)[0] - posterior.row(i)[0]).powi(2)).sum::<f64>() / 30.0;
        assert!(apart < 0.01, "{apart}");
        // Intercepts are the same everywhere, and the folds notice.
        assert!(found.covariance.row(1)[1] < 0.2 * found.covariance.row(0)[0]);
    }

    #[test]
    fn every_other_loss_can_be_searched() {
        let (graph, data) = ring(6, 12, false);
        let signs = data.clone().map_labels(|y| if y > 2.0 { 1.0 } else { -1.0 });
        let classes = data.clone().map_labels(|y| (y - 1.0).clamp(0.0, 2.0).floor());
        let cases = [
            (Family::Absolute, &data),
            (Family::Quantile { q: 0.8 }, &data),
            (Family::SquaredHinge, &signs),
            (Family::Multinomial { classes: 3 }, &classes),
        ];
        for (family, rows) in cases {
            let folds = Fold::deal(rows, None, 3, 1);
            let found = search(&graph, rows, &options(family), &folds).unwrap();
            assert!(found.error.is_finite(), "{family}");
            assert_eq!(found.coupling.covariance.rows(), family.dim(2));
            assert_eq!(found.coupling.structure, Structure::Diagonal);
            let problem = found.coupling.problem(&graph, rows).unwrap();
            let solved = solve(&problem, &Settings::default(), None, &mut |_| Watch::Continue);
            assert!(solved.kkt.residual() < 1e-6, "{family}: {}", solved.kkt.residual());
        }
        assert!(search(&graph, &data, &options(Family::Absolute), &[]).is_err());
    }
}
