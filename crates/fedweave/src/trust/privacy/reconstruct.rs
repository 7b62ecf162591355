//! What the only neighbour of a node finds out from the rounds of the primal-dual method: it knows what it sent, what came, and the step, and every round
//! is one exact equation for `X'X / m` and `X'y / m` of the node. After `d + 1` rounds it solves for them.

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::loss::{Family, LossOptions};
use crate::matrix::{Matrix, axpy};
use crate::penalty::SquaredNorm;
use crate::problem::Problem;
use crate::solve::{PrimalDualRound, Round};

/// Step of the node, by the choice of a weight of its one edge.
const ETA: f64 = 0.8;

/// What the neighbour believes to be the node's moments.
#[derive(Debug, Clone, PartialEq)]
pub struct Reconstructed {
    /// `X'X / m`.
    pub moments: Matrix,
    /// `X'y / m`.
    pub cross: Vec<f64>,
}

/// Plays the only neighbour of a node with these rows (squared loss, `ridge` sparing nothing) for `d + 1` rounds.
pub fn sole_neighbour(rows: &Dataset, ridge: f64) -> Result<Reconstructed> {
    let d = rows.dim();
    let mut x = rows.features(0).to_vec();
    x.extend(std::iter::repeat_n(0.0, d));
    let m = rows.rows(0).len();
    let (y, weight) = ([rows.labels(0), &[0.0]].concat(), [rows.weights(0), &[1.0]].concat());
    let data = Dataset::new(vec![0, m, m + 1], Matrix::from_rows(d, x), y, weight)?;
    let loss = Family::Squared.build(data, &LossOptions { ridge, ..LossOptions::default() })?;
    let problem = Problem::build(Graph::new(2, &[(0, 1, 1.0)])?, loss, Box::new(SquaredNorm), 1.0)?;
    let mut node = PrimalDualRound::new(&problem, vec![0], &Matrix::zeros(2, d), &Matrix::zeros(1, d), ETA, 1.0);
    let (mut w, mut left, mut right) = (vec![0.0; d], Vec::new(), Vec::new());
    for round in 1..=d + 1 {
        // The flow is the same at both ends: the neighbour computes it, too.
        let flow = node.flows().row(0).to_vec();
        node.begin();
        let came = node.outgoing(0).to_vec();
        // `came = 2 w+ - w`, and `w+` solves `2 Q w+ - 2 q + 2 ridge w+ + (w+ - w) / eta + u = 0`.
        let next: Vec<f64> = came.iter().zip(&w).map(|(o, w)| 0.5 * (o + w)).collect();
        let known = |j: usize| -0.5 * ((next[j] - w[j]) / ETA + flow[j]) - ridge * next[j];
        right.push((0..d).map(known).collect::<Vec<f64>>());
        left.push(next.iter().copied().chain([-1.0]).collect::<Vec<f64>>());
        w = next;
        // What it answers makes the next equation a new one.
        let sent: Vec<f64> = (0..d).map(|j| ((7 * round + 3 * j) as f64).sin() * 4.0).collect();
        node.incoming(1).copy_from_slice(&sent);
        node.complete();
    }
    let mut moments = Matrix::zeros(d, d);
    let mut cross = vec![0.0; d];
    for j in 0..d {
        let solution = solve(left.clone(), right.iter().map(|b| b[j]).collect())?;
        moments.row_mut(j).copy_from_slice(&solution[..d]);
        cross[j] = solution[d];
    }
    Ok(Reconstructed { moments, cross })
}

impl Reconstructed {
    /// Largest error of `X'X / m` and `X'y / m`, relative to the largest of their entries.
    pub fn error(&self, rows: &Dataset) -> f64 {
        let (d, m) = (rows.dim(), rows.rows(0).len().max(1) as f64);
        let (mut worst, mut largest) = (0.0f64, 0.0f64);
        let mut truth = vec![0.0; d];
        for j in 0..=d {
            truth.fill(0.0);
            for r in rows.rows(0) {
                let factor = if j < d { rows.x(r)[j] } else { rows.y()[r] };
                axpy(factor / m, rows.x(r), &mut truth);
            }
            let found = if j < d { self.moments.row(j) } else { &self.cross };
            for (a, b) in found.iter().zip(&truth) {
                (worst, largest) = (worst.max((a - b).abs()), largest.max(b.abs()));
            }
        }
        if largest > 0.0 { worst / largest } else { worst }
    }
}

/// Gaussian elimination with pivots.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Result<Vec<f64>> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap_or(k);
        a.swap(k, pivot);
        b.swap(k, pivot);
        if a[k][k] == 0.0 {
            return Err(Error::Parameter { name: "equations", value: k as f64, needs: "to be independent" });
        }
        let row = a[k].clone();
        for i in (0..n).filter(|i| *i != k) {
            let factor = a[i][k] / row[k];
            axpy(-factor, &row, &mut a[i]);
            b[i] -= factor * b[k];
        }
    }
    Ok((0..n).map(|k| b[k] / a[k][k]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moments_of_the_node_are_found_to_rounding() {
        let x = vec![1.0, 2.0, -0.5, 0.3, -1.0, 2.0, 1.5, 0.0, 0.7, -0.2, 0.9, 1.1];
        let rows = Dataset::new(vec![0, 4], Matrix::from_rows(3, x), vec![1.0, -2.0, 0.5, 3.0], vec![1.0; 4]).unwrap();
        let found = sole_neighbour(&rows, 0.01).unwrap();
        assert!(found.error(&rows) < 1e-8, "{}", found.error(&rows));
        // It is the rows that it found, not just anything.
        let other = Dataset::new(vec![0, 1], Matrix::from_rows(3, vec![1.0, 1.0, 1.0]), vec![1.0], vec![1.0]).unwrap();
        assert!(found.error(&other) > 0.1);
    }
}
