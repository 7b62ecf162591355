//! What a change of labels does to models: Propositions 2.1 and 8.1 of the book.

use rand::RngExt;

use super::connectivity::eigenvalues;
use super::pooled::{distance, minimise};
use super::quadratic::{Quadratic, positive};
use super::{Comparison, Finding, Question, tightest};
use crate::dataset::Dataset;
use crate::matrix::{Matrix, axpy, dot, norm2};
use crate::problem::Problem;
use crate::random::{Purpose, stream};
use crate::trust::explain::hessians;

/// Labels are changed by up to this much.
const CHANGE: f64 = 1.0;
/// Residual of the conjugate gradients that find the changed models.
const RESIDUAL: f64 = 1e-11;

pub(super) fn findings(question: &Question, facts: &Result<Quadratic, String>) -> Vec<Finding> {
    let changed = facts.as_ref().map_err(String::clone).and_then(|q| Changed::new(question, q));
    let with = |f: fn(&Changed, &Quadratic) -> Result<Comparison, String>| {
        f(changed.as_ref().map_err(String::clone)?, facts.as_ref().map_err(String::clone)?)
    };
    vec![
        Finding::new(
            "Prop. 2.1",
            "squared distance of a node's own model from its networked one",
            own_models(question),
        ),
        Finding::new("Prop. 8.1", "squared change of all models when labels change", with(proposition_8_1)),
        Finding::new("Prop. 8.1 with 1/m_i", "the same, with the mean of every node's changes", with(with_means)),
    ]
}

/// Proposition 2.1 at every node: labels are those of the networked model and the noise that this leaves.
fn own_models(question: &Question) -> Result<Comparison, String> {
    let problem = question.problem;
    if !problem.loss().is_quadratic() {
        return Err("about losses that are quadratic".into());
    }
    let all = hessians(problem, question.w).ok_or("about losses with Hessians")?;
    let of = |i: usize| own_model(question, &all, i).ok();
    tightest((0..problem.nodes()).filter_map(of), "no node's rows determine its own model")
}

pub(super) fn own_model(question: &Question, hessians: &[f64], node: usize) -> Result<Comparison, String> {
    let (problem, d) = (question.problem, question.problem.dim());
    let values = eigenvalues(&hessians[node * d * d..][..d * d], d).ok_or("eigenvalues did not converge")?;
    let smallest = 0.5 * positive(values[0], values[d - 1], 100 * d);
    if smallest <= 0.0 {
        return Err("the rows of the node do not determine its model".into());
    }
    let at = question.w.row(node);
    let (own, remainder) = minimise(problem, &[node], at.to_vec())?;
    let mut noise = vec![0.0; d];
    problem.loss().gradient(node, at, &mut noise);
    let (actual, off) = (distance(&own, at), remainder / (2.0 * smallest));
    Ok(Comparison::at_most(actual.powi(2), dot(&noise, &noise) / smallest.powi(2), 2.0 * off * actual + off * off))
}

/// Labels changed at random, and what that does.
pub(super) struct Changed {
    /// `sum_i |change of the labels of i|^2`.
    pub labels: f64,
    /// `sum_i (1/m_i) |change of the labels of i|^2`.
    pub mean_labels: f64,
    /// `sum_i |change of the model of i|^2`.
    pub models: f64,
    /// By how much that may be wrong.
    pub slack: f64,
}

impl Changed {
    /// The change of the models solves `2 Q v = -n` with `n_i = -(2/m_i) X_i' eps_i`.
    pub fn new(question: &Question, q: &Quadratic) -> Result<Self, String> {
        q.least()?;
        let data = question.data.ok_or("about the squared loss on rows")?;
        own_rows(question, q, data)?;
        let (n, d) = (question.problem.nodes(), question.problem.dim());
        let (mut labels, mut mean_labels, mut right) = (0.0, 0.0, Matrix::zeros(n, d));
        for i in 0..n {
            let total: f64 = data.weights(i).iter().sum();
            let mut rng = stream(1, Purpose::Noise, i);
            for (r, weight) in data.rows(i).zip(data.weights(i)).filter(|(_, weight)| **weight > 0.0) {
                let change = CHANGE * (2.0 * rng.random::<f64>() - 1.0);
                labels += change * change;
                mean_labels += weight / total * change * change;
                axpy(2.0 * weight / total * change, data.x(r), right.row_mut(i));
            }
        }
        let (v, residual) = conjugate_gradients(question.problem, q, &right);
        let (models, off) = (dot(v.as_slice(), v.as_slice()), q.distance(residual)?);
        Ok(Changed { labels, mean_labels, models, slack: 2.0 * off * models.sqrt() + off * off })
    }
}

/// The losses must be means over these rows, but for a ridge.
fn own_rows(question: &Question, q: &Quadratic, data: &Dataset) -> Result<(), String> {
    let (n, d) = (question.problem.nodes(), question.problem.dim());
    if data.nodes() != n || data.dim() != d {
        return Err("about the squared loss on rows".into());
    }
    let mut gram = vec![0.0; d * d];
    for i in 0..n {
        let total: f64 = data.weights(i).iter().sum();
        gram.fill(0.0);
        for (r, weight) in data.rows(i).zip(data.weights(i)) {
            let x = data.x(r);
            (0..d).for_each(|a| axpy(2.0 * weight / total * x[a], x, &mut gram[a * d..][..d]));
        }
        let (own, size) = (&q.hessians[i * d * d..][..d * d], 1e-9 * (q.lambda_max + 1e-300));
        let is_ridge = |k: usize, (h, g): (&f64, &f64)| match k / d == k % d {
            true => h - g >= -size,
            false => (h - g).abs() <= size,
        };
        if total > 0.0 && !own.iter().zip(&gram).enumerate().all(|(k, pair)| is_ridge(k, pair)) {
            return Err("about losses that are means over the rows of their nodes".into());
        }
    }
    Ok(())
}

/// `v` with `2 Q v = right`, and the length of the residual.
pub(super) fn conjugate_gradients(problem: &Problem, q: &Quadratic, right: &Matrix) -> (Matrix, f64) {
    let (n, d) = (problem.nodes(), problem.dim());
    let product = |v: &Matrix| {
        let mut out = Matrix::zeros(n, d);
        q.product(problem.graph(), v, &mut out);
        out
    };
    let (mut v, mut r) = (Matrix::zeros(n, d), right.clone());
    let mut p = r.clone();
    let mut rr = dot(r.as_slice(), r.as_slice());
    let stop = RESIDUAL * norm2(right.as_slice());
    for _ in 0..20 * n * d {
        let qp = product(&p);
        let curvature = dot(p.as_slice(), qp.as_slice());
        // Not so where nothing is left but rounding.
        if rr.sqrt() <= stop || curvature <= f64::MIN_POSITIVE {
            break;
        }
        let length = rr / curvature;
        axpy(length, p.as_slice(), v.as_mut_slice());
        axpy(-length, qp.as_slice(), r.as_mut_slice());
        let next = dot(r.as_slice(), r.as_slice());
        p.as_mut_slice().iter_mut().zip(r.as_slice()).for_each(|(p, r)| *p = r + next / rr * *p);
        rr = next;
    }
    let mut left = right.clone();
    axpy(-1.0, product(&v).as_slice(), left.as_mut_slice());
    (v, norm2(left.as_slice()))
}

/// (8.3) as printed.
pub(super) fn proposition_8_1(changed: &Changed, q: &Quadratic) -> Result<Comparison, String> {
    let factor = q.lambda_max * (1.0 + q.rho().powi(2)).powi(2) / q.least()?.powi(2);
    Ok(Comparison::at_most(changed.models, factor * changed.labels, changed.slack))
}

/// (8.3) with the `1/m_i` that its proof has.
pub(super) fn with_means(changed: &Changed, q: &Quadratic) -> Result<Comparison, String> {
    let factor = q.lambda_max * (1.0 + q.rho().powi(2)).powi(2) / q.least()?.powi(2);
    Ok(Comparison::at_most(changed.models, factor * changed.mean_labels, changed.slack))
}
