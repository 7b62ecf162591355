//! What parts have learnt together.

use super::super::Coupling;
use super::super::dense::sandwich;
use super::super::likelihood::Likelihood;
use super::super::structure::Structure;
use super::question::Common;
use super::search::{Found, Value};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::loss::Family;
use crate::matrix::Matrix;
use crate::problem::Problem;
use crate::scaling::Scaling;

/// A coupling, and the scale of the features in which it is meant.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedCoupling {
    /// The scale of the features.
    pub scaling: Scaling,
    /// The coupling of models in scaled features.
    pub coupling: Coupling,
    /// What a row counts in the losses: one over the mean number of rows of a node.
    pub row_unit: f64,
    /// Probability of a likelihood ratio as large if the graph did not matter, if anything too large; `None` if no part has
    /// edges inside.
    pub p_value: Option<f64>,
}

impl SharedCoupling {
    pub(super) fn new(
        common: &Common,
        fit: &Found,
        value: &Value,
        varies: Vec<bool>,
        p_value: Option<f64>,
        intercept: bool,
    ) -> Self {
        let (d, square) = (common.pooled.len(), common.unit * common.unit);
        let rho = fit.kappa / (common.degree + fit.kappa);
        let factor = (1.0 - rho) * value.point.precision.scale() * value.best.s2 * square;
        let scaled: Vec<f64> = (0..d * d).map(|k| if k / d == k % d { factor } else { 0.0 }).collect();
        let mu = value.best.mu.iter().zip(&common.pooled).map(|(w, p)| common.unit * w + p).collect();
        let coupling = Coupling {
            family: Family::Squared,
            structure: fit.structure,
            mu,
            covariance: Matrix::from_rows(d, sandwich(&value.point.root.entries, &scaled, d, d)),
            varies,
            rho,
            s2: value.best.s2 * square,
            node_noise: None,
            log_likelihood: common.log_likelihood(value.deviance),
            likelihood: Likelihood::default(),
            prior: true,
            intercept,
        };
        let row_unit = common.nodes_with_rows / f64::max(common.rows, 1.0);
        SharedCoupling { scaling: common.scaling.clone(), coupling, row_unit, p_value }
    }

    /// The problem of all parts together; `data` are rows as given.
    pub fn problem(&self, graph: &Graph, data: &Dataset) -> Result<Problem> {
        self.coupling.problem(graph, &self.scaling.apply(data))
    }

    /// Everything as a list of numbers.
    pub fn to_numbers(&self) -> Vec<f64> {
        let Coupling { structure, mu, covariance, varies, rho, s2, log_likelihood, intercept, .. } = &self.coupling;
        let structure = STRUCTURES.iter().position(|s| s == structure).unwrap_or(0) as f64;
        let flag = |set: &bool| f64::from(u8::from(*set));
        let p_value = self.p_value.unwrap_or(-1.0);
        let head = [structure, flag(intercept), *rho, *s2, *log_likelihood, self.row_unit, p_value];
        let varies = varies.iter().map(flag);
        let scaling = self.scaling.mean().iter().chain(self.scaling.scale()).copied();
        let matrices = mu.iter().chain(covariance.as_slice()).copied();
        head.into_iter().chain(varies).chain(scaling).chain(matrices).collect()
    }

    /// Numbers that a coupling of models of so many parameters has.
    pub fn numbers(dim: usize) -> usize {
        HEAD + 4 * dim + dim * dim
    }

    /// The reverse of [`to_numbers`](SharedCoupling::to_numbers); numbers that cannot be a coupling are refused.
    pub fn from_numbers(numbers: &[f64], dim: usize) -> Result<Self> {
        let expected = Self::numbers(dim);
        if numbers.len() != expected {
            return Err(Error::Size { what: "numbers of a coupling", expected, found: numbers.len() });
        }
        let refuse = |name, value, needs| Err(Error::Parameter { name, value, needs });
        if let Some(&value) = numbers.iter().find(|x| !x.is_finite()) {
            return refuse("a number of the coupling", value, "finite");
        }
        let (head, rest) = numbers.split_at(HEAD);
        let &[structure, intercept, rho, s2, log_likelihood, row_unit, p_value] = head else {
            unreachable!("the head has its length");
        };
        if !(0.0..1.0).contains(&rho) {
            return refuse("rho", rho, "at least 0 and below 1");
        }
        for (name, value) in [("the noise", s2), ("what a row counts", row_unit)] {
            if value <= 0.0 {
                return refuse(name, value, "positive");
            }
        }
        let mut rest = rest.chunks_exact(dim.max(1));
        let mut next = || rest.next().unwrap_or_default();
        let (varies, mean, scale, mu) = (next(), next(), next(), next());
        let covariance: Vec<f64> = (0..dim).flat_map(|_| next()).copied().collect();
        let variance = |j: usize| covariance[j * dim + j];
        if let Some(j) = (0..dim).find(|j| scale[*j] <= 0.0 || variance(*j) <= 0.0) {
            return refuse("a scale or a variance", scale[j].min(variance(j)), "positive");
        }
        let coupling = Coupling {
            family: Family::Squared,
            structure: STRUCTURES[(structure.max(0.0) as usize).min(STRUCTURES.len() - 1)],
            mu: mu.to_vec(),
            varies: varies.iter().map(|v| *v != 0.0).collect(),
            covariance: Matrix::from_rows(dim, covariance),
            rho,
            s2,
            node_noise: None,
            log_likelihood,
            likelihood: Likelihood::default(),
            prior: true,
            intercept: intercept != 0.0,
        };
        let scaling = Scaling::of_moments(mean, scale, intercept != 0.0);
        Ok(SharedCoupling { scaling, coupling, row_unit, p_value: Some(p_value).filter(|p| *p >= 0.0) })
    }
}

const HEAD: usize = 7;
/// Structures that are tried, narrow ones first; their places stand for them among numbers.
pub(super) const STRUCTURES: [Structure; 3] = [Structure::Intercept, Structure::Diagonal, Structure::Full];
