//! How far one row can move what is released. Datasets are neighbours if one row of one node is *replaced*; how many rows a node
//! has is public.

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::loss::{Family, NodeWeight};

/// Share of the bound on the movement of the minimiser that inexact minimisation may add.
const INEXACT_SHARE: f64 = 0.01;

/// How far replacing a row moves all models together (2-norm), if `F` is minimised with `ridge |w|^2` on every parameter of every node.
///
/// With gradients of rows of at most `G` and a row that counts `share` in `F`, the gradient of `F` changes by at most
/// `2 G share` everywhere, and `F` is `2 ridge`-strongly convex: the minimiser moves by at most `G share / ridge`. A point
/// with `F(w) - min F <= gap` is within `sqrt(gap / ridge)` of it, on both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Movement {
    /// The bound.
    pub bound: f64,
    /// The gap that must be certified for it to hold. It depends on nothing but settings and numbers of rows; a point that misses
    /// it is not released.
    pub gap: f64,
}

impl Movement {
    /// The bound for rows whose gradients are at most `gradient` long and count at most `share`.
    pub fn new(gradient: f64, share: f64, ridge: f64) -> Result<Movement> {
        if !(ridge > 0.0 && ridge.is_finite()) {
            let needs = "positive: without it one row could move the models without limit";
            return Err(Error::Parameter { name: "ridge", value: ridge, needs });
        }
        let minimiser = gradient * share / ridge;
        let gap = ridge * (0.5 * INEXACT_SHARE * minimiser).powi(2);
        Ok(Movement { bound: minimiser + 2.0 * (gap / ridge).sqrt(), gap })
    }
}

/// A bound on the gradient of a row of norm `row_norm`, whatever its label and whatever the model: none for most losses.
pub fn gradient_bound(family: Family, row_norm: f64) -> Option<f64> {
    match family {
        Family::Logistic | Family::Absolute => Some(row_norm),
        Family::Huber { delta } => Some(delta * row_norm),
        Family::Quantile { q } => Some(q.max(1.0 - q) * row_norm),
        _ => None,
    }
}

/// The largest share of a row in the objective: one over the rows of its node, or the same for all.
pub fn largest_share(data: &Dataset, node_weight: NodeWeight) -> f64 {
    let least = (0..data.nodes()).map(|i| data.rows(i).len()).filter(|m| *m > 0).min();
    match node_weight.resolved(data) {
        NodeWeight::Equal | NodeWeight::Rows => least.map_or(0.0, |m| 1.0 / m as f64),
        NodeWeight::Unit(unit) => unit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::loss::LossOptions;
    use crate::matrix::Matrix;
    use crate::penalty::{Penalty, named};
    use crate::problem::Problem;
    use crate::random::{Purpose, stream};
    use crate::solve::Settings;
    use rand::RngExt;

    /// Three nodes with rows of norm at most 1; the first row of the first node is given.
    fn models(first: ([f64; 2], f64), penalty: Box<dyn Penalty>, ridge: f64) -> Matrix {
        let mut rng = stream(9, Purpose::LocalData, 0);
        let mut draw = || rng.random::<f64>() - 0.5;
        let mut x = first.0.to_vec();
        let mut y = vec![first.1];
        for _ in 1..15 {
            x.extend([draw(), draw()]);
            y.push(if draw() > 0.0 { 1.0 } else { -1.0 });
        }
        let data = Dataset::new(vec![0, 5, 10, 15], Matrix::from_rows(2, x), y, vec![1.0; 15]).unwrap();
        let options = LossOptions { ridge, ..LossOptions::default() };
        let loss = Family::Logistic.build(data, &options).unwrap();
        let graph = Graph::new(3, &[(0, 1, 1.0), (1, 2, 0.5)]).unwrap();
        let problem = Problem::build(graph, loss, penalty, 0.05).unwrap();
        problem.solve_with(&Settings { tolerance: 1e-12, ..Settings::default() }).w
    }

    #[test]
    fn no_replaced_row_moves_the_models_further_than_the_bound() {
        let ridge = 0.02;
        let bound = Movement::new(1.0, 1.0 / 5.0, ridge).unwrap().bound;
        for squared in [false, true] {
            let penalty = || named(if squared { "squared" } else { "norm2" }).unwrap();
            let mut largest = 0.0f64;
            for angle in 0..12 {
                let (sin, cos) = (f64::from(angle) * std::f64::consts::FRAC_PI_6).sin_cos();
                let (a, b) =
                    (models(([cos, sin], 1.0), penalty(), ridge), models(([cos, sin], -1.0), penalty(), ridge));
                let moved = a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                largest = largest.max(moved);
            }
            assert!(largest <= bound && largest > 0.1 * bound, "squared {squared}: moved {largest}, bound {bound}");
        }
    }

    #[test]
    fn without_a_ridge_there_is_no_bound() {
        assert!(Movement::new(1.0, 0.1, 0.0).is_err());
        assert_eq!(gradient_bound(Family::Squared, 1.0), None);
        assert_eq!(gradient_bound(Family::Huber { delta: 0.5 }, 2.0), Some(1.0));
    }
}
