//! Discrepancies: how different two nodes are, as far as their training rows tell.
//!
//! | measure | what a node sends | distance of two nodes |
//! |---|---|---|
//! | `gradient` | the gradient of `L_i` at the pooled model (book 7.3) | Euclidean |
//! | `parameters` | its ridge model | Euclidean |
//! | `moments` | means and deviations of its columns | Euclidean |
//! | `histogram` | shares of its labels in common bins | Hellinger |
//! | `wasserstein` | quantiles of its rows along common random directions | sliced Wasserstein |
//! | `components` | first and second moments; their principal components count | Euclidean |
//! | `wald` | gradient and Hessian at the pooled model | difference of both models in units of its standard error |
//! | `pooled-fit` | the same | likelihood lost if both share a model (FedRelax II-A) |
//! | `kl` | its rows | symmetric Kullback-Leibler divergence by nearest neighbours |
//!
//! The first six give every node a point, and nearest points are found without looking at all pairs; the others compare
//! pairs, and have points that say which pairs are worth comparing where there are many.

mod columns;
mod divergence;
mod gaussian;
mod points;
mod sent;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::loss::Family;
use crate::matrix::Matrix;

pub use gaussian::Gaussian;
pub(super) use gaussian::of_nodes;
pub use points::gradients_at;
pub(super) use points::local_options;
pub use sent::Sent;

/// How different two nodes are.
pub trait Discrepancy: Sync {
    /// A point for every node: nodes with near points are candidates for small discrepancies.
    fn points(&self) -> &Matrix;
    /// The discrepancy of two nodes, zero or more; `work` is scratch that grows as needed.
    fn between(&self, i: usize, j: usize, work: &mut Vec<f64>) -> f64;
    /// True if the discrepancy is the Euclidean distance of the points.
    fn is_euclidean(&self) -> bool;
}

/// A discrepancy by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table above says it")]
pub enum Measure {
    Gradient,
    Parameters,
    Moments,
    Histogram,
    Wasserstein,
    Components,
    Wald,
    PooledFit,
    Kl,
}

impl Measure {
    /// All of them.
    pub const ALL: [Measure; 9] = [
        Measure::Gradient,
        Measure::Parameters,
        Measure::Moments,
        Measure::Histogram,
        Measure::Wasserstein,
        Measure::Components,
        Measure::Wald,
        Measure::PooledFit,
        Measure::Kl,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Gradient => "gradient",
            Measure::Parameters => "parameters",
            Measure::Moments => "moments",
            Measure::Histogram => "histogram",
            Measure::Wasserstein => "wasserstein",
            Measure::Components => "components",
            Measure::Wald => "wald",
            Measure::PooledFit => "pooled-fit",
            Measure::Kl => "kl",
        }
    }

    /// The measure with this name.
    pub fn named(name: &str) -> Option<Self> {
        Measure::ALL.into_iter().find(|measure| measure.name() == name)
    }

    /// Compares the nodes of `rows`, all of which must have some.
    pub fn compare(self, rows: &NodeRows) -> Result<Box<dyn Discrepancy>> {
        rows.check()?;
        let euclidean = |points: Matrix| -> Box<dyn Discrepancy> { Box::new(Euclidean(points)) };
        Ok(match self {
            Measure::Gradient => euclidean(points::gradients(rows)?),
            Measure::Parameters => euclidean(points::parameters(rows)?),
            Measure::Moments => euclidean(points::moments(rows)),
            Measure::Histogram => euclidean(points::histogram(rows)),
            Measure::Wasserstein => euclidean(points::quantiles(rows)),
            Measure::Components => euclidean(points::components(rows)),
            Measure::Wald => Box::new(gaussian::Wald(Gaussian::of(rows)?)),
            Measure::PooledFit => Box::new(gaussian::PooledFit(Gaussian::of(rows)?)),
            Measure::Kl => Box::new(divergence::Divergence::of(rows)),
        })
    }
}

/// The rows of nodes to be compared, and what they are for.
#[derive(Debug, Clone)]
pub struct NodeRows {
    /// Training rows, scaled; nodes without rows are not among them.
    pub data: Dataset,
    /// The loss.
    pub family: Family,
    /// True if the last feature is a column of ones.
    pub intercept: bool,
    /// Everything random follows from it.
    pub seed: u64,
}

impl NodeRows {
    /// Features with mean 0 and deviation 1 over all rows; numbers as labels in units of their deviation.
    pub fn scaled(data: &Dataset, family: Family, intercept: bool, seed: u64) -> Self {
        let scaled = crate::scaling::Scaling::of(data, intercept).apply(data);
        let is_number =
            matches!(family, Family::Squared | Family::Absolute | Family::Huber { .. } | Family::Quantile { .. });
        let data = match is_number {
            true => {
                let (mean, deviation) = columns::mean_and_deviation(data.y().iter().copied());
                let unit = if deviation > 1e-12 * mean.abs() { deviation } else { 1.0 };
                // Without an intercept a shift of the labels is no part of the model.
                let shift = if intercept { mean } else { 0.0 };
                scaled.map_labels(|y| (y - shift) / unit)
            }
            false => scaled,
        };
        NodeRows { data, family, intercept, seed }
    }

    fn check(&self) -> Result<()> {
        if self.data.nodes() < 2 {
            return Err(Error::Size { what: "nodes with rows to compare", expected: 2, found: self.data.nodes() });
        }
        Ok(())
    }
}

/// Points whose distance is the discrepancy.
struct Euclidean(Matrix);

impl Discrepancy for Euclidean {
    fn points(&self) -> &Matrix {
        &self.0
    }

    fn between(&self, i: usize, j: usize, _: &mut Vec<f64>) -> f64 {
        let squares = self.0.row(i).iter().zip(self.0.row(j)).map(|(a, b)| (a - b) * (a - b));
        squares.sum::<f64>().sqrt()
    }

    fn is_euclidean(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
