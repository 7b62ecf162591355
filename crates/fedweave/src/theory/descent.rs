//! Gradient descent on a quadratic form: how fast it goes, and where it stays if steps are inexact. Book (4.6)-(4.10), (4.14) with
//! the exponent `k' - 1`. Steps are taken, not imagined: with the gradients of the losses, from models that are zero.

use rand::RngExt;

use super::quadratic::Quadratic;
use super::sensitivity::conjugate_gradients;
use super::{Comparison, Finding, Question};
use crate::matrix::{Matrix, axpy, norm2};
use crate::problem::Problem;
use crate::random::{Purpose, stream};

/// Numbers that the steps may touch.
const WORK_MAX: usize = 400_000_000;
const STEPS_MAX: usize = 20_000;
/// The distance from the optimum is to be reduced to this share.
const SHARE: f64 = 1e-3;
/// Inexact steps, and the length of their errors relative to the distance at the start.
const NOISY_STEPS: usize = 60;
const NOISE: f64 = 0.02;
/// Ratios of distances are looked at while these are so many times what is known about the optimum.
const SURE: f64 = 1e5;
const REFINEMENTS: usize = 2;

/// `grad F(w)` of a smooth problem.
pub(super) fn gradient(problem: &Problem, w: &Matrix, out: &mut Matrix) {
    let (d, graph) = (problem.dim(), problem.graph());
    for i in 0..problem.nodes() {
        problem.loss().gradient(i, w.row(i), out.row_mut(i));
    }
    let (mut t, mut work) = (vec![0.0; d], vec![0.0; 8 * d]);
    for e in 0..graph.edges() {
        let (i, j) = graph.nodes_of(e);
        problem.with_difference(w, e, |difference| t.copy_from_slice(difference));
        problem.penalty().gradient(e, problem.edge_weights()[e], &mut t, &mut work);
        axpy(1.0, &t, out.row_mut(i));
        axpy(-1.0, &t, out.row_mut(j));
    }
}

pub(super) fn findings(question: &Question, facts: &Result<Quadratic, String>) -> Vec<Finding> {
    let of = facts.as_ref().map_err(String::clone).and_then(|q| Descent::new(question.problem, question.w, q));
    let (claim, rounds) = match &of {
        Ok(descent) => (
            format!("contraction of gradient steps of the best length {:.4e}", descent.step),
            format!("gradient steps to {SHARE} of the distance from the optimum"),
        ),
        Err(_) => ("contraction of gradient steps of the best length".into(), "gradient steps needed".into()),
    };
    let with = |f: fn(&Descent) -> Result<Comparison, String>| of.as_ref().map_err(String::clone).and_then(f);
    vec![
        Finding::new("(4.6)-(4.10)", claim, with(contraction)),
        Finding::new("(4.8)", rounds, with(steps_needed)),
        Finding::new("(4.14)", "distance after inexact gradient steps", with(inexact)),
    ]
}

/// Gradient descent with the best step.
pub(super) struct Descent<'a> {
    pub problem: &'a Problem,
    /// The minimiser, refined.
    pub w: Matrix,
    /// How far `w` may be from the minimiser.
    pub off: f64,
    /// (4.9).
    pub step: f64,
    /// (4.10).
    pub kappa: f64,
}

impl<'a> Descent<'a> {
    pub fn new(problem: &'a Problem, w: &Matrix, q: &Quadratic) -> Result<Self, String> {
        let (low, high) = q.ends()?;
        let (mut w, mut g) = (w.clone(), Matrix::zeros(w.rows(), w.cols()));
        // Iterates come nearer to the minimiser than a solution with a modest gap is.
        for _ in 0..REFINEMENTS {
            gradient(problem, &w, &mut g);
            let correction = conjugate_gradients(problem, q, &g).0;
            axpy(-1.0, correction.as_slice(), w.as_mut_slice());
        }
        gradient(problem, &w, &mut g);
        // A gradient that is all rounding says nothing about distances below this.
        let rounding = 4.0 * f64::EPSILON * high / low * norm2(w.as_slice());
        let off = q.distance(norm2(g.as_slice()))? + rounding;
        if SURE * off >= norm2(w.as_slice()) {
            return Err("the form is so ill-conditioned that the minimiser is not known accurately enough".into());
        }
        Ok(Descent { problem, w, off, step: 1.0 / (low + high), kappa: (high - low) / (high + low) })
    }

    /// Distances from the optimum, from zero models on; `after` may change the models of a step and says when to stop.
    fn walk(&self, mut after: impl FnMut(usize, &mut Matrix, f64) -> bool) {
        let (mut at, mut g) =
            (Matrix::zeros(self.w.rows(), self.w.cols()), Matrix::zeros(self.w.rows(), self.w.cols()));
        for k in 0.. {
            let square = |(a, b): (&f64, &f64)| (a - b) * (a - b);
            let distance = at.as_slice().iter().zip(self.w.as_slice()).map(square).sum::<f64>().sqrt();
            if !after(k, &mut at, distance) {
                return;
            }
            gradient(self.problem, &at, &mut g);
            axpy(-self.step, g.as_slice(), at.as_mut_slice());
        }
    }

    /// Steps that are affordable.
    fn affordable(&self) -> usize {
        let (n, d) = (self.problem.nodes(), self.problem.dim());
        (WORK_MAX / (n * self.problem.loss().cost() + 8 * d * self.problem.graph().edges()).max(1)).min(STEPS_MAX)
    }

    /// (4.8).
    fn needed(&self) -> f64 {
        if self.kappa <= 0.0 { 1.0 } else { (SHARE.ln() / self.kappa.ln()).ceil().max(1.0) }
    }
}

pub(super) fn contraction(descent: &Descent) -> Result<Comparison, String> {
    let (mut worst, mut before) = (0.0f64, f64::NAN);
    let steps = descent.affordable().min(500);
    descent.walk(|k, _, distance| {
        if k > 0 {
            worst = worst.max(distance / before);
        }
        before = distance;
        k < steps && distance > SURE * descent.off
    });
    // The distances are those from a point that is `off` away from the optimum.
    Ok(Comparison::at_most(worst, descent.kappa, 3.0 / SURE))
}

pub(super) fn steps_needed(descent: &Descent) -> Result<Comparison, String> {
    let needed = descent.needed();
    if needed > descent.affordable() as f64 {
        return Err(format!("{needed} steps suffice, more than are tried here"));
    }
    let (mut start, mut taken) = (0.0, needed + 1.0);
    descent.walk(|k, _, distance| {
        if k == 0 {
            start = distance;
        }
        if distance <= SHARE * start + 2.0 * descent.off {
            taken = k as f64;
        }
        taken > needed && (k as f64) < needed
    });
    Ok(Comparison::at_most(taken, needed, 0.0))
}

pub(super) fn inexact(descent: &Descent) -> Result<Comparison, String> {
    if descent.affordable() < NOISY_STEPS {
        return Err("the problem is too large for steps to be tried".into());
    }
    let (mut bound, mut start, mut found) = (0.0, 0.0, Vec::new());
    descent.walk(|k, at, distance| {
        if k == 0 {
            (start, bound) = (distance, distance);
        } else {
            bound *= descent.kappa;
        }
        // The error of the step that led here; there was none before the first.
        if k > 0 {
            let mut rng = stream(k as u64, Purpose::Noise, 0);
            let mut error: Vec<f64> = at.as_slice().iter().map(|_| rng.random::<f64>() - 0.5).collect();
            let length = norm2(&error);
            error.iter_mut().for_each(|e| *e *= NOISE * start / length);
            axpy(1.0, &error, at.as_mut_slice());
            bound += NOISE * start;
            let square = |(a, b): (&f64, &f64)| (a - b) * (a - b);
            let now = at.as_slice().iter().zip(descent.w.as_slice()).map(square).sum::<f64>().sqrt();
            found.push(Comparison::at_most(now, bound, 2.0 * descent.off));
        }
        k < NOISY_STEPS
    });
    super::tightest(found, "no steps")
}
