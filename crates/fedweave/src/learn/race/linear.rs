//! Linear models at every node, each rule with what it chooses by itself: the rivals and the couplings.

use std::fmt;

use rayon::prelude::*;

use super::cost::Cost;
use super::rows::{Rows, Watcher};
use crate::baseline;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::folds::Folds;
use crate::learn::coupling::{CouplingOptions, Fold, Member, Rho, Structure, blend, learn};
use crate::loss::{Family, LossOptions, LossSpec, NodeWeight};
use crate::matrix::{Matrix, dot};
use crate::penalty::{Norm2, Penalty, SquaredNorm};
use crate::problem::Problem;
use crate::solve::{Settings, solve};
use crate::tune::{FoldTask, Rule, lambda_grid};

/// How models of all nodes are found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Linear {
    /// Every node alone; one ridge for all, by folds.
    Local,
    /// One model for all rows; ridge by folds.
    Pooled,
    /// One model, and an intercept for every node that is drawn to a common one.
    NodeEffects,
    /// The mixed-effects model: every coefficient varies around a common mean, without the graph.
    Mixed,
    /// The coupling learnt from the rows, with the graph.
    Learnt,
    /// A penalty on the graph with one strength, by folds.
    Given(Given),
}

/// A coupling with one strength.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Given {
    /// The penalty.
    pub penalty: GivenPenalty,
    /// Share of a common mean.
    pub hub: Option<f64>,
    /// How much nodes with many rows count.
    pub node_weight: NodeWeight,
    /// Ridge at every node.
    pub ridge: f64,
}

/// Penalties that take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenPenalty {
    /// `|w_i - w_j|`.
    Norm2,
    /// `|w_i - w_j|^2`.
    Squared,
}

/// Models found on folds and on all rows.
pub struct LinearFit {
    /// Models of every fold.
    pub by_fold: Vec<Matrix>,
    /// Models of all rows.
    pub w: Matrix,
    /// What was chosen, in words.
    pub chosen: String,
}

impl LinearFit {
    /// What models that had not seen a row predict for it; NaN where no fold holds it out.
    pub fn out_of_fold(&self, data: &Dataset, folds: &Folds, cost: Cost) -> Vec<f64> {
        let of = |node: usize, row: usize| match folds.of(row) {
            Some(fold) => cost.respond(dot(data.x(row), self.by_fold[fold].row(node))),
            None => f64::NAN,
        };
        (0..data.nodes()).flat_map(|i| data.rows(i).map(move |row| (i, row))).map(|(i, row)| of(i, row)).collect()
    }
}

/// What linear models predict for rows.
pub fn predict_linear(data: &Dataset, w: &Matrix, cost: Cost) -> Vec<f64> {
    let rows = (0..data.nodes()).flat_map(|i| data.rows(i).map(move |row| (i, row)));
    rows.map(|(i, row)| cost.respond(dot(data.x(row), w.row(i)))).collect()
}

/// Ridges to choose from, in units of scaled features.
const RIDGES: [f64; 9] = [1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 3.0];
/// Accuracy of solves that are compared with each other.
const ROUGH: f64 = 1e-4;

impl Linear {
    /// Finds the models on every fold and on all rows.
    pub fn fit(self, rows: &Rows, folds: &Folds, watch: &Watcher) -> Result<LinearFit> {
        match self {
            Linear::Local => ridge(rows, folds, |train, options| {
                baseline::local(&LossSpec::Same(rows.family), train.clone(), &options)
            }),
            Linear::Pooled => ridge(rows, folds, |train, options| {
                let w = baseline::global(rows.family, train, &options)?;
                Ok(Matrix::from_rows(w.len(), w.repeat(train.nodes())))
            }),
            Linear::NodeEffects => coupled(rows, folds, Rho::Fixed(0.0), &[Structure::Intercept]),
            Linear::Mixed => coupled(rows, folds, Rho::Fixed(0.0), &CouplingOptions::default().structures),
            Linear::Learnt => averaged(rows, folds),
            Linear::Given(given) => given.fit(rows, folds, watch),
        }
    }
}

/// Models that depend on the strength of a ridge.
fn ridge(
    rows: &Rows,
    folds: &Folds,
    models: impl Fn(&Dataset, LossOptions) -> Result<Matrix> + Sync,
) -> Result<LinearFit> {
    let least = smallest_ridge(rows.family);
    let options =
        |ridge: f64| LossOptions { ridge, lasso: 0.0, spare_last: rows.intercept, node_weight: NodeWeight::Rows };
    let trains: Vec<Dataset> = (0..folds.count()).map(|k| rows.data.select(&folds.train(k))).collect();
    let ridges: Vec<f64> = RIDGES.into_iter().filter(|ridge| *ridge >= least).collect();
    let tried = ridges.par_iter().map(|&ridge| {
        let by_fold = trains.par_iter().map(|train| models(train, options(ridge))).collect::<Result<Vec<_>>>()?;
        let fit = LinearFit { by_fold, w: Matrix::zeros(0, 1), chosen: format!("ridge {ridge}") };
        let error = rows.error(&fit.out_of_fold(rows.data, folds, rows.cost));
        Ok((error, ridge, fit))
    });
    let tried: Vec<(f64, f64, LinearFit)> = tried.collect::<Result<_>>()?;
    let best = tried.into_iter().reduce(|a, b| if b.0 < a.0 { b } else { a }).expect("there are ridges");
    Ok(LinearFit { w: models(rows.data, options(best.1))?, ..best.2 })
}

/// Classes that can be told apart and counts of zero have no models without a ridge.
fn smallest_ridge(family: Family) -> f64 {
    match family {
        Family::Squared | Family::Huber { .. } | Family::Absolute | Family::Quantile { .. } => 0.0,
        _ => 1e-3,
    }
}

/// Structure by the likelihood of all rows; on every fold the rest is learnt anew.
fn coupled(rows: &Rows, folds: &Folds, rho: Rho, structures: &[Structure]) -> Result<LinearFit> {
    let (family, intercept) = (rows.family, rows.intercept);
    let options = CouplingOptions { family, intercept, rho, structures: structures.to_vec(), ..Default::default() };
    let coupling = learn(rows.graph, rows.data, &options)?.coupling;
    let again = CouplingOptions { structures: vec![coupling.structure], ..options };
    let fold = |k: usize| {
        let train = rows.data.select(&folds.train(k));
        Ok(learn(rows.graph, &train, &again)?.coupling.posterior(rows.graph, &train)?.w)
    };
    Ok(LinearFit {
        by_fold: (0..folds.count()).into_par_iter().map(fold).collect::<Result<_>>()?,
        w: coupling.posterior(rows.graph, rows.data)?.w,
        chosen: format!("{}, rho {:.2}", coupling.structure.name(), coupling.rho),
    })
}

/// The couplings of all structures averaged, as `fit --coupling learnt` does, by the folds of the race.
fn averaged(rows: &Rows, folds: &Folds) -> Result<LinearFit> {
    let options = CouplingOptions { family: rows.family, intercept: rows.intercept, ..Default::default() };
    let mask = |k: usize| Fold { train: folds.train(k), validation: folds.validation(k) };
    let masks: Vec<Fold> = (0..folds.count()).map(mask).collect();
    let average = blend(rows.graph, rows.data, &options, &masks, rows.groups)?;
    let fold = |k: usize| {
        let train = rows.data.select(&folds.train(k));
        Ok(average.relearn(rows.graph, &train)?.posterior(rows.graph, &train)?.w)
    };
    Ok(LinearFit {
        by_fold: (0..folds.count()).into_par_iter().map(fold).collect::<Result<_>>()?,
        w: average.posterior(rows.graph, rows.data)?.w,
        chosen: words(&average.members),
    })
}

/// An average in a few words.
fn words(members: &[Member]) -> String {
    let rho = |better: fn(f64, f64) -> f64| members.iter().map(|m| m.coupling.rho).reduce(better).unwrap_or(0.0);
    match members {
        [one] => format!("{}, rho {:.2}", one.coupling.structure.name(), one.coupling.rho),
        _ => format!("average of {}, rho {:.2} to {:.2}", members.len(), rho(f64::min), rho(f64::max)),
    }
}

impl Given {
    /// Everything that takes part in a race.
    pub fn all(family: Family) -> Vec<Given> {
        let least = smallest_ridge(family).max(1e-6);
        let mut all = Vec::new();
        for penalty in [GivenPenalty::Squared, GivenPenalty::Norm2] {
            for hub in [None, Some(0.3)] {
                for node_weight in [NodeWeight::Equal, NodeWeight::Rows] {
                    all.extend([least, 1e-2].map(|ridge| Given { penalty, hub, node_weight, ridge }));
                }
            }
        }
        all
    }

    fn problem(&self, rows: &Rows, data: Dataset) -> Result<Problem> {
        let options =
            LossOptions { ridge: self.ridge, lasso: 0.0, spare_last: rows.intercept, node_weight: self.node_weight };
        let penalty: Box<dyn Penalty> = match self.penalty {
            GivenPenalty::Norm2 => Box::new(Norm2),
            GivenPenalty::Squared => Box::new(SquaredNorm),
        };
        let (graph, data) = match self.hub {
            Some(share) => (rows.graph.with_hub(share)?, data.with_hub()),
            None => (rows.graph.clone(), data),
        };
        Problem::build(graph, rows.family.build(data, &options)?, penalty, 0.0)
    }

    /// Models of every fold at the best `lambda`, and that.
    pub fn on_folds(&self, rows: &Rows, folds: &Folds, watch: &Watcher) -> Result<(LinearFit, f64)> {
        let mut problem = self.problem(rows, rows.data.clone())?;
        let grid = lambda_grid(&mut problem, &mut |record| watch(record))?;
        let loss = LossSpec::Same(rows.family);
        let task = FoldTask {
            problem: &|data| self.problem(rows, data),
            loss: &loss,
            data: rows.data,
            folds: std::slice::from_ref(folds),
            settings: &Settings { tolerance: ROUGH, ..Settings::default() }.quick(),
            watch,
        };
        let found = task.tune(&grid, true, Rule::Minimum)?;
        let lambda = found.tuning.best().lambda;
        let chosen = format!("lambda {lambda:.3e}");
        Ok((LinearFit { by_fold: found.by_fold, w: Matrix::zeros(0, 1), chosen }, lambda))
    }

    fn fit(&self, rows: &Rows, folds: &Folds, watch: &Watcher) -> Result<LinearFit> {
        let (fit, lambda) = self.on_folds(rows, folds, watch)?;
        let mut problem = self.problem(rows, rows.data.clone())?;
        problem.set_lambda(lambda)?;
        let solution = solve(&problem, &Settings::default(), None, &mut |record| watch(record));
        Ok(LinearFit { w: solution.w, ..fit })
    }
}

impl fmt::Display for Linear {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Linear::Local => f.write_str("local"),
            Linear::Pooled => f.write_str("pooled"),
            Linear::NodeEffects => f.write_str("node-effects"),
            Linear::Mixed => f.write_str("mixed"),
            Linear::Learnt => f.write_str("learnt"),
            Linear::Given(given) => given.fmt(f),
        }
    }
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self.penalty {
            GivenPenalty::Norm2 => "norm2",
            GivenPenalty::Squared => "squared",
        })?;
        if let Some(share) = self.hub {
            write!(f, " hub={share}")?;
        }
        if self.node_weight != NodeWeight::Equal {
            f.write_str(" weight=rows")?;
        }
        write!(f, " ridge={}", self.ridge)
    }
}
