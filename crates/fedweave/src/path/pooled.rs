//! One model per connected component: the minimiser of the pooled loss, and what every node would rather do there.

use crate::graph::partition::Partition;
use crate::linalg::cholesky::{packed_len, symmetric_product};
use crate::loss::Loss;
use crate::matrix::{Matrix, axpy, dot, norm2};
use crate::problem::Problem;

const NEWTON_MAX: usize = 60;
const HALVINGS_MAX: usize = 40;
/// Gradients of a component that cancel to this share of their sizes are balanced up to rounding.
const BALANCED: f64 = 1e-9;

/// The gradients of all nodes at the pooled models.
pub(super) struct Pooled {
    /// `grad L_i` at the model of the component, the mean of the component removed.
    pub gradients: Matrix,
    /// The model of its component, at every node.
    pub w: Matrix,
    /// What was removed is rounding. False where the loss has kinks.
    pub balanced: bool,
}

/// Minimises the pooled loss of every component of the graph.
pub(super) fn pooled(problem: &Problem) -> Pooled {
    let (n, d, loss) = (problem.nodes(), problem.dim(), problem.loss());
    let components = Partition::components(problem.graph());
    let mut members = vec![Vec::new(); components.len()];
    (0..n).for_each(|i| members[components.part(i)].push(i));
    let (mut gradients, mut models, mut balanced) = (Matrix::zeros(n, d), Matrix::zeros(n, d), true);
    for nodes in members.iter().filter(|nodes| nodes.len() > 1) {
        let mut sum = Sum { loss, nodes, work: vec![0.0; d] };
        let w = sum.minimise(d);
        let (mut mean, mut size) = (vec![0.0; d], 0.0);
        for &i in nodes {
            models.row_mut(i).copy_from_slice(&w);
            loss.gradient(i, &w, gradients.row_mut(i));
            size += norm2(gradients.row(i));
            axpy(1.0 / nodes.len() as f64, gradients.row(i), &mut mean);
        }
        balanced &= norm2(&mean) * nodes.len() as f64 <= BALANCED * size;
        nodes.iter().for_each(|&i| axpy(-1.0, &mean, gradients.row_mut(i)));
    }
    Pooled { gradients, w: models, balanced }
}

/// `sum_i L_i(w)` over some nodes.
struct Sum<'a> {
    loss: &'a dyn Loss,
    nodes: &'a [usize],
    work: Vec<f64>,
}

impl Sum<'_> {
    fn value(&self, w: &[f64]) -> f64 {
        self.nodes.iter().map(|&i| self.loss.value(i, w)).sum()
    }

    /// `out <- sum_i grad L_i(w)`; returns the sum of the sizes.
    fn gradient(&mut self, w: &[f64], out: &mut [f64]) -> f64 {
        out.fill(0.0);
        let mut size = 0.0;
        for &i in self.nodes {
            self.loss.gradient(i, w, &mut self.work);
            size += norm2(&self.work);
            axpy(1.0, &self.work, out);
        }
        size
    }

    /// `sum_i L_i''(w)`, its lower triangle row after row.
    fn hessian(&self, w: &[f64]) -> Vec<f64> {
        let (mut sum, mut work) = (vec![0.0; packed_len(w.len())], vec![0.0; self.loss.work_len()]);
        for &i in self.nodes {
            let mut own = vec![0.0; self.loss.hessian_len(i)];
            self.loss.hessian(i, w, &mut own, &mut work);
            self.loss.add_hessian(i, &own, &mut sum);
        }
        sum
    }

    /// Newton's method with conjugate gradients and backtracking, down to rounding.
    fn minimise(&mut self, d: usize) -> Vec<f64> {
        let (mut w, mut g, mut trial) = (vec![0.0; d], vec![0.0; d], vec![0.0; d]);
        let mut size = self.gradient(&w, &mut g);
        for _ in 0..NEWTON_MAX {
            if norm2(&g) <= 1e-14 * size {
                break;
            }
            let step = self.newton_step(&w, &g);
            let (value, slope, before) = (self.value(&w), dot(&g, &step), norm2(&g));
            let mut length = 1.0;
            let mut accepted = false;
            for _ in 0..HALVINGS_MAX {
                trial.copy_from_slice(&w);
                axpy(length, &step, &mut trial);
                size = self.gradient(&trial, &mut g);
                // Where values differ by rounding only, gradients still tell.
                let lower = self.value(&trial) <= value + 1e-4 * length * slope;
                accepted = (lower && norm2(&g) < 2.0 * before) || norm2(&g) < 0.5 * before;
                if accepted {
                    break;
                }
                length *= 0.5;
            }
            if !accepted {
                break;
            }
            w.copy_from_slice(&trial);
        }
        w
    }

    /// `-H^-1 g` by conjugate gradients, or steepest descent where there is no curvature.
    fn newton_step(&mut self, w: &[f64], g: &[f64]) -> Vec<f64> {
        let d = g.len();
        let (mut x, mut r, mut hp) = (vec![0.0; d], g.iter().map(|g| -g).collect::<Vec<_>>(), vec![0.0; d]);
        let (hessian, mut p) = (self.hessian(w), r.clone());
        let (mut rr, stop) = (dot(&r, &r), 1e-28 * dot(g, g));
        for _ in 0..(2 * d + 20) {
            symmetric_product(&hessian, &p, &mut hp);
            let curvature = dot(&p, &hp);
            if rr <= stop || curvature <= 1e-300 {
                break;
            }
            let length = rr / curvature;
            axpy(length, &p, &mut x);
            axpy(-length, &hp, &mut r);
            let next = dot(&r, &r);
            p.iter_mut().zip(&r).for_each(|(p, r)| *p = r + next / rr * *p);
            rr = next;
        }
        if norm2(&x) > 0.0 { x } else { g.iter().map(|g| -g).collect() }
    }
}
