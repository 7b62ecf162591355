//! Models where no rows are, or few: what the rows of all nodes nearby say, if models change gradually from place to place.
//!
//! ```text
//! y_i = X_i w_i + noise(s2),     w_i = mu + Lambda v_i,     cov(v_i, v_j) = sill k(x_i, x_j) I
//! k(x, x') = (1 - own) exp(-|x - x'| / length) + own [same node]
//! ```
//!
//! `mu`, `D = Lambda Lambda'` and `s2` are those of the mixed-effects model (`rho = 0`): how much each coefficient varies between
//! nodes, and how well the rows of a node tell its model. The model at a place is the mean given the rows of its nearest nodes, and
//! its own rows if it has some: kriging in which every parameter has its own variance, every node its own certainty, and what is not
//! known about one coefficient of a node is made up for by the others. `length` and `own` are those that predict the rows of seen
//! nodes best from the rows of the others.

mod around;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::dense::{product, sandwich, semi_cholesky, transposed};
use super::moments::node_sums;
use super::{CouplingOptions, Rho, Whitening, learn};
use crate::dataset::Dataset;
use crate::error::Result;
use crate::graph::Graph;
use crate::matrix::{Matrix, axpy, dot};
use crate::parallel::ordered_map;
use around::Around;

/// Nodes that have a say in the model of a place: an exponential kernel hides those that are behind others. Fewer where models are
/// long, and half as many while the kernel is chosen.
const NEAREST: usize = 24;
const NEAREST_MIN: usize = 8;
/// Equations of a place at most, where that leaves enough nodes.
const EQUATIONS: usize = 256;
/// Nodes by which the kernel is chosen, as many as these multiplications allow.
const JUDGES: (usize, usize) = (16, 256);
const JUDGING: f64 = 4e9;
/// Lengths, in units of the median distance, and shares of what a node has of its own. With 1 places say nothing.
const LENGTHS: [f64; 5] = [0.03, 0.1, 0.3, 1.0, 3.0];
const OWN: [f64; 5] = [0.0, 0.03, 0.1, 0.3, 0.6];

/// How alike the models of two places are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    /// How far likeness reaches.
    pub length: f64,
    /// The share that a node has of its own.
    pub own: f64,
    /// The variance over a plane without end, in units of that between seen nodes.
    pub sill: f64,
}

impl Kernel {
    /// The kernel in which nodes that are where those of a network are vary, on average, as much as these do.
    fn scaled(length: f64, own: f64, apart: &[f64]) -> Kernel {
        let alike = apart.iter().map(|apart| (-apart / length).exp()).sum::<f64>() / apart.len().max(1) as f64;
        Kernel { length, own, sill: 1.0 / (1.0 - (1.0 - own) * alike).max(1e-3) }
    }

    fn covariance(&self, apart: f64, same: bool) -> f64 {
        let near = (1.0 - self.own) * (-apart / self.length).exp();
        self.sill * if same { near + self.own } else { near }
    }
}

/// Rows that say of a model what all rows of a node say: at most as many as there are directions, with noise of variance 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Gist {
    node: usize,
    /// Their number.
    count: usize,
    /// Their features, for `v`, one row after another.
    x: Vec<f64>,
    /// Their targets.
    y: Vec<f64>,
}

/// Models as a function of the place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Field {
    kernel: Kernel,
    noise: f64,
    mean: Vec<f64>,
    /// `Lambda`, a row per parameter.
    root: Vec<f64>,
    /// Directions in which models vary.
    directions: usize,
    gists: Vec<Gist>,
}

impl Field {
    /// Learns a field from rows and places, a row of `at` per node; who has no rows, or no place, has no say. `None` if fewer than
    /// three nodes have, or if models do not vary.
    pub fn learn(at: &Matrix, data: &Dataset, intercept: bool) -> Result<Option<Field>> {
        let options = CouplingOptions { rho: Rho::Fixed(0.0), intercept, ..CouplingOptions::default() };
        let placed = |i: &usize| !data.rows(*i).is_empty() && at.row(*i).iter().all(|v| v.is_finite());
        let nodes: Vec<usize> = (0..data.nodes()).filter(placed).collect();
        if nodes.len() < 3 {
            return Ok(None);
        }
        let (d, white) = (data.dim(), Whitening::of_features(data, intercept));
        let coupling = learn(&Graph::new(data.nodes(), &[])?, &white.apply(data), &options)?.coupling;
        let back = |rows: Vec<f64>| {
            let mut rows = Matrix::from_rows(d, rows);
            white.restore(&mut rows);
            rows.as_slice().to_vec()
        };
        let lower = semi_cholesky(coupling.covariance.as_slice(), d);
        let (root, directions) = columns(&transposed(&back(transposed(&lower, d, d)), d, d), d);
        if directions == 0 {
            return Ok(None);
        }
        let (noise, mean) = (coupling.s2, back(coupling.mu));
        let kernel = Kernel { length: 1.0, own: 1.0, sill: 1.0 };
        let mut field = Field { kernel, noise, mean, root, directions, gists: Vec::new() };
        field.gists = ordered_map(nodes.len(), |k| field.gist(data, nodes[k], nodes[k]));
        field.kernel = field.best_kernel(at, data);
        Ok(Some(field))
    }

    /// What was chosen.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// The model at a place, given where the nodes of the network are, and the rows of node `new` of `own`.
    pub fn model(&self, at: &Matrix, place: &[f64], own: &Dataset, new: usize) -> Vec<f64> {
        let gist = self.gist(own, new, usize::MAX);
        let around = Around::new(&self.nearest(at, place, None, self.neighbours()), at, place, &gist, self.directions);
        self.in_full(&around.solve(&self.kernel))
    }

    fn in_full(&self, v: &[f64]) -> Vec<f64> {
        self.root.chunks_exact(self.directions).zip(&self.mean).map(|(row, mean)| mean + dot(row, v)).collect()
    }

    fn neighbours(&self) -> usize {
        NEAREST.min((EQUATIONS / self.directions).max(NEAREST_MIN))
    }

    /// The sums over the rows of a node as few rows: `Lambda' X'X Lambda / s2 = x'x`, `Lambda' X'(y - X mu) / s2 = x'y`.
    fn gist(&self, data: &Dataset, from: usize, node: usize) -> Gist {
        let (d, p) = (self.mean.len(), self.directions);
        let sums = node_sums(data, from);
        let across = transposed(&self.root, d, p);
        let form: Vec<f64> = sandwich(&across, &sums.a, p, d).iter().map(|v| v / self.noise).collect();
        let mut rest = sums.c.clone();
        axpy(-1.0, &product(&sums.a, &self.mean, d, d, 1), &mut rest);
        let right: Vec<f64> = product(&across, &rest, p, d, 1).iter().map(|v| v / self.noise).collect();
        let lower = semi_cholesky(&form, p);
        let mut gist = Gist { node, count: 0, x: Vec::new(), y: Vec::new() };
        let mut solved = vec![0.0; p];
        for k in (0..p).filter(|k| lower[k * p + k] > 0.0) {
            solved[k] = (right[k] - dot(&lower[k * p..k * p + k], &solved[..k])) / lower[k * p + k];
            gist.count += 1;
            gist.x.extend((0..p).map(|j| lower[j * p + k]));
            gist.y.push(solved[k]);
        }
        gist
    }

    /// The gists nearest to a place, but for that of one node.
    fn nearest(&self, at: &Matrix, place: &[f64], but: Option<usize>, count: usize) -> Vec<&Gist> {
        let others = self.gists.iter().filter(|gist| Some(gist.node) != but);
        let mut all: Vec<(f64, &Gist)> = others.map(|gist| (distance(at.row(gist.node), place), gist)).collect();
        let order = |a: &(f64, &Gist), b: &(f64, &Gist)| a.0.total_cmp(&b.0).then(a.1.node.cmp(&b.1.node));
        if count < all.len() {
            all.select_nth_unstable_by(count, order);
            all.truncate(count);
        }
        all.sort_by(order);
        all.into_iter().map(|(_, gist)| gist).collect()
    }

    /// Nodes from all of them, evenly.
    fn judges(&self) -> Vec<&Gist> {
        let n = self.gists.len();
        let rows = self.gists.iter().map(|gist| gist.count).sum::<usize>() as f64 / n as f64;
        let equations = rows * self.fewer().min(n - 1) as f64;
        let kernels = (1 + LENGTHS.len() * OWN.len()) as f64;
        let afforded = JUDGING / (kernels * equations.powi(3) / 6.0).max(1.0);
        let count = (afforded as usize).clamp(JUDGES.0, JUDGES.1).min(n);
        (0..count).map(|k| &self.gists[k * n / count]).collect()
    }

    /// Neighbours while the kernel is chosen.
    fn fewer(&self) -> usize {
        (self.neighbours() / 2).max(NEAREST_MIN)
    }

    /// The kernel by which the others predict the rows of a node best, on average over nodes.
    fn best_kernel(&self, at: &Matrix, data: &Dataset) -> Kernel {
        let judges = self.judges();
        let pairs = (0..judges.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        let mut apart: Vec<f64> =
            pairs.map(|(i, j)| distance(at.row(judges[i].node), at.row(judges[j].node))).collect();
        apart.sort_by(f64::total_cmp);
        let unit = apart[apart.len() / 2];
        let nothing = Kernel { length: 1.0, own: 1.0, sill: 1.0 };
        let places = if unit > 0.0 { &LENGTHS[..] } else { &[] };
        let tried = places.iter().flat_map(|l| OWN.map(|own| Kernel::scaled(l * unit, own, &apart)));
        let kernels: Vec<Kernel> = std::iter::once(nothing).chain(tried).collect();
        let errors = ordered_map(judges.len(), |k| self.left_out(at, judges[k], data, &kernels));
        let mean = |k: usize| errors.iter().map(|errors| errors[k]).sum::<f64>();
        let best = (0..kernels.len()).min_by(|&a, &b| mean(a).total_cmp(&mean(b)));
        kernels[best.unwrap_or(0)]
    }

    /// Mean squared errors on the rows of a node, predicted from the others, but for what no model explains.
    fn left_out(&self, at: &Matrix, judge: &Gist, data: &Dataset, kernels: &[Kernel]) -> Vec<f64> {
        let place = at.row(judge.node);
        let near = self.nearest(at, place, Some(judge.node), self.fewer());
        let nobody = Gist { node: usize::MAX, count: 0, x: Vec::new(), y: Vec::new() };
        let around = Around::new(&near, at, place, &nobody, self.directions);
        let rows = data.rows(judge.node).len() as f64;
        let error = |kernel: &Kernel| {
            let v = around.solve(kernel);
            let rows_left = judge.x.chunks_exact(self.directions).zip(&judge.y);
            rows_left.map(|(x, y)| (y - dot(x, &v)).powi(2)).sum::<f64>() / rows
        };
        kernels.iter().map(error).collect()
    }
}

/// A square root without its columns of zeros, and how many are left.
fn columns(root: &[f64], d: usize) -> (Vec<f64>, usize) {
    let kept: Vec<usize> = (0..d).filter(|j| (0..d).any(|i| root[i * d + j] != 0.0)).collect();
    ((0..d).flat_map(|i| kept.iter().map(move |j| root[i * d + j])).collect(), kept.len())
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}
