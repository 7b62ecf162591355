//! Vertical learning: parties hold different columns of the same rows, one of them also the labels.
//!
//! ```text
//! minimise  (1/n) sum_r l(s_r, y_r) + ridge sum_p |w_p|^2        s = sum_p X_p w_p
//! ```
//!
//! No column leaves its party. What travels in a round are scores `X_p v` of parties (a number a row), what the holder of the
//! labels makes of their sum (slopes or weighted scores, a number a row), and a few sums of squares. Newton's method needs no
//! more: a product with the Hessian is one round, so conjugate gradients solve for the step, and every party prepares them
//! with the factor of its own block. The result is the optimum of the pooled rows, not an approximation of it.

mod party;

use crate::accounting::Traffic;
use crate::error::{Error, Result};
use crate::loss::{Family, Logistic, Pointwise, Poisson, Squared};
use crate::matrix::{Matrix, dot};
use party::Party;

/// Newton steps, and rounds of conjugate gradients in one of them.
const NEWTON_MAX: usize = 100;
const GRADIENT_ROUNDS_MAX: usize = 10_000;
/// A step is halved until the objective falls by this share of what its slope promises.
const ENOUGH: f64 = 1e-4;
const HALVINGS_MAX: usize = 60;

/// What is fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VerticalOptions {
    /// Squared, logistic or Poisson.
    pub family: Family,
    /// Weight of the squares of all parameters but the intercept.
    pub ridge: f64,
    /// The holder of the labels has an intercept.
    pub intercept: bool,
    /// Every party scales its columns to mean 0 (with an intercept) and deviation 1; models are handed out in their own units.
    pub standardize: bool,
    /// Stop when the gradient is so small, relative to where the fit began.
    pub tolerance: f64,
}

/// What parties know in the end.
#[derive(Debug, Clone, PartialEq)]
pub struct VerticalFit {
    /// The parameters of every party's columns; each party knows its own.
    pub w: Vec<Vec<f64>>,
    /// The intercept, known to the holder of the labels.
    pub intercept: Option<f64>,
    /// What is minimised, at the end.
    pub objective: f64,
    /// The gradient there, relative to where the fit began.
    pub gradient: f64,
    /// Newton steps.
    pub steps: usize,
    /// The gradient is as small as was asked for.
    pub converged: bool,
    /// What was sent, by party.
    pub traffic: Traffic,
}

impl VerticalFit {
    /// The score of a row: every party adds what its columns say.
    pub fn score(&self, row: &[&[f64]]) -> f64 {
        self.w.iter().zip(row).map(|(w, x)| dot(w, x)).sum::<f64>() + self.intercept.unwrap_or(0.0)
    }
}

/// Fits one model to the columns of all parties. `holder` has the labels `y`, one for every row of every party.
pub fn fit_vertical(parties: &[Matrix], holder: usize, y: &[f64], options: &VerticalOptions) -> Result<VerticalFit> {
    check(parties, holder, y, options)?;
    let spared = |p: usize| options.intercept && p == holder;
    let parties_count = parties.len();
    let parties = parties.iter().enumerate().map(|(p, x)| Party::new(x, spared(p), options)).collect();
    let meeting = Meeting { holder, traffic: Traffic::new(parties_count), parties, rows: y.len() };
    match options.family {
        Family::Squared => meeting.fit(&Squared, y, options),
        Family::Logistic => {
            let signs: Vec<f64> = y.iter().map(|&y| if y == 0.0 { -1.0 } else { y }).collect();
            meeting.fit(&Logistic, &signs, options)
        }
        Family::Poisson => meeting.fit(&Poisson, y, options),
        _ => Err(Error::Method { method: "vertical learning", needs: "the squared, logistic or poisson loss" }),
    }
}

fn check(parties: &[Matrix], holder: usize, y: &[f64], options: &VerticalOptions) -> Result<()> {
    if holder >= parties.len() {
        let needs = "the number of a party, counted from 0";
        return Err(Error::Parameter { name: "holder of the labels", value: holder as f64, needs });
    }
    if let Some(odd) = parties.iter().find(|x| x.rows() != y.len()) {
        return Err(Error::Size { what: "rows of a party", expected: y.len(), found: odd.rows() });
    }
    if let Some(row) = y.iter().position(|y| !y.is_finite()) {
        return Err(Error::NotFinite { row, what: "label".into() });
    }
    for (name, value) in [("ridge", options.ridge), ("tolerance", options.tolerance)] {
        if !(value >= 0.0 && value.is_finite()) {
            return Err(Error::Parameter { name, value, needs: "zero or a positive number" });
        }
    }
    Ok(())
}

/// The parties, and what they have sent each other.
struct Meeting {
    parties: Vec<Party>,
    holder: usize,
    traffic: Traffic,
    rows: usize,
}

impl Meeting {
    fn fit<P: Pointwise>(mut self, loss: &P, y: &[f64], options: &VerticalOptions) -> Result<VerticalFit> {
        if let Some(row) = y.iter().position(|y| !loss.accepts(*y)) {
            let (label, loss, needs) = (y[row], P::NAME, P::LABELS);
            return Err(Error::Label { row, label, loss, needs });
        }
        let share = 1.0 / y.len().max(1) as f64;
        let mut scores = vec![0.0; y.len()];
        let mut squares = 0.0;
        let (mut first, mut gradient, mut steps) = (None, f64::INFINITY, 0);
        let mut objective = value(loss, &scores, y, share);
        while steps < NEWTON_MAX {
            let slopes: Vec<f64> = scores.iter().zip(y).map(|(s, y)| share * loss.slope(*s, *y)).collect();
            let curvature: Vec<f64> = scores.iter().zip(y).map(|(s, y)| share * loss.curvature(*s, *y)).collect();
            let size = self.begin_step(&slopes, &curvature, !P::QUADRATIC || steps == 0);
            let start = *first.get_or_insert(size);
            gradient = if start > 0.0 { size / start } else { 0.0 };
            if gradient <= options.tolerance {
                break;
            }
            // The nearer the optimum, the more exact the step.
            let accuracy = if P::QUADRATIC { 0.1 * options.tolerance } else { gradient.sqrt().min(0.1) };
            let direction = self.solve(&curvature, accuracy * size);
            let along = self.sums();
            let slope = dot(&slopes, &direction) + 2.0 * options.ridge * along.across;
            let at = |t: f64| {
                let moved: Vec<f64> = scores.iter().zip(&direction).map(|(s, d)| s + t * d).collect();
                let squares = squares + 2.0 * t * along.across + t * t * along.direction;
                (value(loss, &moved, y, share) + options.ridge * squares, squares, moved)
            };
            let trial = (0..HALVINGS_MAX).map(|k| 0.5f64.powi(k as i32)).map(|t| (t, at(t)));
            // What rounding hides is not waited for.
            let slack = 1e-14 * objective.abs();
            let Some((t, (value, now, moved))) =
                trial.into_iter().find(|(t, (value, ..))| *value <= objective + ENOUGH * t * slope + slack)
            else {
                break;
            };
            (objective, squares, scores) = (value, now, moved);
            self.parties.iter_mut().for_each(|party| party.advance(t));
            self.holder_tells(1);
            steps += 1;
        }
        Ok(self.finish(objective, gradient, steps, options))
    }

    /// The holder tells everybody slopes (and curvatures, where they changed); returns the size of the gradient.
    fn begin_step(&mut self, slopes: &[f64], curvature: &[f64], changed: bool) -> f64 {
        self.holder_tells(self.rows * if changed { 2 } else { 1 });
        if changed {
            self.parties.iter_mut().for_each(|party| party.prepare(curvature));
        }
        let squares: f64 = self.parties.iter_mut().map(|party| party.pull(slopes)).sum();
        self.holder_hears(1);
        squares.sqrt()
    }

    /// Conjugate gradients for the Newton step; returns what it does to the scores.
    fn solve(&mut self, curvature: &[f64], enough: f64) -> Vec<f64> {
        let mut direction = vec![0.0; self.rows];
        let mut product: f64 = self.parties.iter_mut().map(Party::begin).sum();
        self.holder_hears(1);
        for _ in 0..GRADIENT_ROUNDS_MAX {
            let (mut scores, mut own) = (vec![0.0; self.rows], 0.0);
            for party in &self.parties {
                own += party.add_scores(&mut scores);
            }
            self.holder_hears(self.rows + 1);
            let weighted: Vec<f64> = scores.iter().zip(curvature).map(|(s, c)| s * c).collect();
            let curved = dot(&scores, &weighted) + own;
            if curved.is_nan() || curved <= 0.0 {
                break;
            }
            let length = product / curved;
            direction.iter_mut().zip(&scores).for_each(|(d, s)| *d += length * s);
            self.holder_tells(self.rows + 1);
            let answers: Vec<(f64, f64)> = self.parties.iter_mut().map(|party| party.step(length, &weighted)).collect();
            self.holder_hears(2);
            let (left, next) = answers.iter().fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
            if left.sqrt() <= enough || next.is_nan() || next <= 0.0 {
                break;
            }
            let turn = next / product;
            product = next;
            self.parties.iter_mut().for_each(|party| party.turn(turn));
            self.holder_tells(1);
        }
        direction
    }

    /// Sums of squares that the objective along the step depends on.
    fn sums(&mut self) -> Sums {
        let each = self.parties.iter().map(Party::sums);
        let all = each
            .fold(Sums::default(), |a, b| Sums { across: a.across + b.across, direction: a.direction + b.direction });
        self.holder_hears(2);
        all
    }

    fn finish(mut self, objective: f64, gradient: f64, steps: usize, options: &VerticalOptions) -> VerticalFit {
        let shift: f64 = self.parties.iter_mut().map(Party::restore).sum();
        if options.standardize && options.intercept {
            self.holder_hears(1);
        }
        let intercept = options.intercept.then(|| self.parties[self.holder].take_intercept() - shift);
        VerticalFit {
            w: self.parties.into_iter().map(Party::into_parameters).collect(),
            intercept,
            objective,
            gradient,
            steps,
            converged: gradient <= options.tolerance,
            traffic: self.traffic,
        }
    }

    /// Every other party sends the holder so many numbers.
    fn holder_hears(&mut self, numbers: usize) {
        let others = (0..self.parties.len()).filter(|p| *p != self.holder);
        others.for_each(|p| self.traffic.send(p, 1, numbers));
        self.traffic.end_round();
    }

    /// The holder sends so many numbers to every other party.
    fn holder_tells(&mut self, numbers: usize) {
        self.traffic.send(self.holder, self.parties.len() - 1, numbers);
    }
}

/// `w'd` and `d'd` over the parameters that have a ridge.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    across: f64,
    direction: f64,
}

fn value<P: Pointwise>(loss: &P, scores: &[f64], y: &[f64], share: f64) -> f64 {
    share * scores.iter().zip(y).map(|(s, y)| loss.value(*s, *y)).sum::<f64>()
}

#[cfg(test)]
mod tests;
