//! Losses other than the squared one: the mode of the models, and Laplace's approximation of the marginal likelihood there.
//!
//! With `J = sum_rows l(y, x'w) + u'(R (x) I) u / 2` at its minimum over `mu` and `u`, `w_i = mu + Lambda u_i`, and
//! `A_i = X_i' diag(l'') X_i`:
//!
//! ```text
//! -2 log p(y)  ~  2 J + log |K| + log |S|
//! ```
//!
//! A Newton step is a least-squares problem with the same `K`, so one piece of code serves all. The mode moves with the
//! parameters, and the curvature with the mode: `q_i = sum_r v_r l''' x_r`, with `v_r` the posterior variance of the score of
//! a row, is what that costs, and one more solve (of the adjoint system) brings it into the gradient.

use super::dense::{add_product, product};
use super::likelihood::{Evaluation, Likelihood, Model};
use super::moments::{Moments, row_shares};
use super::network::Network;
use super::slopes::Slopes;
use super::system::{Plan, Root};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::loss::Family;
use crate::matrix::{axpy, dot};
use crate::scaling::Scaling;

/// Newton steps at most.
const STEPS_MAX: usize = 60;
/// The mode is found where a step gains less than this.
const GAIN_MIN: f64 = 1e-11;

/// Rows of a loss that is a negative log-likelihood.
pub struct ModeRows {
    data: Dataset,
    /// Weight of every row.
    share: Vec<f64>,
    family: Family,
    base: Moments,
    start: Vec<f64>,
}

/// Value and three derivatives of a pointwise loss.
pub type Derivatives = [f64; 4];

/// The loss of a row with this label and score, and its derivatives by the score.
pub fn row_derivatives(family: Family, y: f64, score: f64) -> Derivatives {
    match family {
        Family::Squared => [(score - y).powi(2), 2.0 * (score - y), 2.0, 0.0],
        Family::Logistic => {
            let (y, p) = (if y > 0.0 { 1.0 } else { 0.0 }, 1.0 / (1.0 + (-score).exp()));
            let softplus = score.max(0.0) + (-score.abs()).exp().ln_1p();
            [softplus - y * score, p - y, p * (1.0 - p), p * (1.0 - p) * (1.0 - 2.0 * p)]
        }
        _ => {
            let mean = score.exp();
            [mean - y * score, mean - y, mean, mean]
        }
    }
}

impl ModeRows {
    /// Scales the features; labels must fit the loss.
    pub fn new(data: &Dataset, family: Family, intercept: bool) -> Result<Self> {
        let needs = match family {
            Family::Logistic => "labels -1 and 1, or 0 and 1",
            Family::Poisson => "counts: zero or positive",
            _ => {
                return Err(Error::Method {
                    method: "learnt coupling",
                    needs: "a loss with a likelihood: squared, logistic or Poisson",
                });
            }
        };
        let fits = |y: f64| match family {
            Family::Logistic => y == 0.0 || y.abs() == 1.0,
            _ => y >= 0.0,
        };
        if let Some(row) = data.y().iter().position(|y| !fits(*y)) {
            let loss = if family == Family::Logistic { "logistic" } else { "poisson" };
            return Err(Error::Label { row, label: data.y()[row], loss, needs });
        }
        let base = Moments::bare(data, intercept);
        let scaled = Scaling::of(data, intercept).apply(data);
        let share = (0..data.nodes()).flat_map(|i| {
            let share = row_shares(data.weights(i)).1;
            data.weights(i).iter().map(move |w| w * share)
        });
        let mut rows = ModeRows { share: share.collect(), start: vec![0.0; data.dim()], data: scaled, family, base };
        rows.start = rows.pooled_mode();
        Ok(rows)
    }

    /// Numbers of rows, and the scales of the features.
    pub fn moments(&self) -> &Moments {
        &self.base
    }

    fn derivatives(&self, row: usize, score: f64) -> Derivatives {
        row_derivatives(self.family, self.data.y()[row], score)
    }

    /// `sum_rows l`.
    fn value(&self, w: impl Fn(usize) -> Vec<f64>) -> f64 {
        let node = |i: usize| -> f64 {
            let w = w(i);
            self.data.rows(i).map(|r| self.share[r] * self.derivatives(r, dot(self.data.x(r), &w))[0]).sum()
        };
        (0..self.data.nodes()).map(node).sum()
    }

    /// The least-squares problem that a Newton step from `w` solves.
    fn working(&self, w: impl Fn(usize) -> Vec<f64>) -> Moments {
        let (d, mut moments) = (self.data.dim(), self.base.clone());
        moments.a.fill(0.0);
        moments.c.fill(0.0);
        for i in 0..self.data.nodes() {
            let w = w(i);
            let (a, c) = (&mut moments.a[i * d * d..(i + 1) * d * d], &mut moments.c[i * d..(i + 1) * d]);
            for r in self.data.rows(i) {
                let x = self.data.x(r);
                let score = dot(x, &w);
                let [_, slope, curvature, _] = self.derivatives(r, score).map(|v| v * self.share[r]);
                for (x_j, row) in x.iter().zip(a.chunks_exact_mut(d)) {
                    axpy(curvature * x_j, x, row);
                }
                axpy(curvature * score - slope, x, c);
            }
        }
        moments
    }

    /// The model of all rows: Newton's method with a little ridge, from the mean of the labels.
    fn pooled_mode(&self) -> Vec<f64> {
        let d = self.data.dim();
        let mut w = vec![0.0; d];
        let mut value = self.value(|_| w.clone());
        for _ in 0..STEPS_MAX {
            let moments = self.working(|_| w.clone());
            let mut form = moments.total_form();
            let ridge = 1e-6 * (0..d).map(|j| form[j * d + j]).fold(1e-3, f64::max);
            (0..d).for_each(|j| form[j * d + j] += ridge);
            let inverse = super::dense::spectral(&form, d, |e| 1.0 / e.max(ridge));
            let target = product(&inverse, &moments.total_right(), d, d, 1);
            let Some((next, length)) = halve(|length| {
                let next: Vec<f64> = w.iter().zip(&target).map(|(w, t)| w + length * (t - w)).collect();
                let found = self.value(|_| next.clone());
                (found < value).then_some(next)
            }) else {
                break;
            };
            let found = self.value(|_| next.clone());
            let gained = value - found;
            (w, value) = (next, found);
            if length == 1.0 && gained < 1e-8 {
                break;
            }
        }
        w
    }

    /// The mode and Laplace's approximation there; `None` if `K` cannot be factored.
    pub fn evaluate<'a>(
        &self,
        network: &'a Network,
        plan: &'a Plan,
        likelihood: Likelihood,
        root: &Root,
        kappa: f64,
    ) -> Option<Mode<'a>> {
        let (n, p) = (self.data.nodes(), root.p);
        let precision = network.precision(kappa)?;
        let pull = |u: &[f64]| 0.5 * super::system::energy(network, &precision, u, p);
        let (mut mu, mut u) = (self.start.clone(), vec![0.0; n * p]);
        let mut value = self.value(|_| mu.clone());
        for _ in 0..STEPS_MAX {
            let moments = self.working(|i| model_of(root, &mu, &u, i));
            let model = Model { network, moments: &moments, plan, likelihood };
            let mut at = model.evaluate(root, kappa)?;
            let along = |length: f64, from: &[f64], to: &[f64]| -> Vec<f64> {
                from.iter().zip(to).map(|(a, b)| a + length * (b - a)).collect()
            };
            let found = halve(|length| {
                let (mu, u) = (along(length, &mu, &at.mu), along(length, &u, &at.u));
                let found = self.value(|i| model_of(root, &mu, &u, i)) + pull(&u);
                (found < value).then_some((mu, u, found))
            });
            let gained = found.as_ref().map_or(0.0, |((_, _, found), _)| value - found);
            if let Some(((next_mu, next_u, found), _)) = found {
                (mu, u, value) = (next_mu, next_u, found);
            }
            if gained < GAIN_MIN * (1.0 + value.abs()) {
                (at.mu, at.u, at.s2) = (mu, u, 1.0);
                let deviance = 2.0 * value + at.log_determinant(likelihood);
                return deviance.is_finite().then_some(Mode { deviance, at, moments });
            }
        }
        None
    }

    /// Derivatives of the approximation.
    pub fn slopes(&self, likelihood: Likelihood, network: &Network, plan: &Plan, mode: &mut Mode) -> Slopes {
        let Mode { at, moments, .. } = mode;
        let model = Model { network, moments, plan, likelihood };
        let mut slopes = model.slopes(at);
        let (d, p) = (at.system.root.d, at.system.root.p);
        let cost = self.curvature_costs(at, likelihood);
        let (a_mu, a_u) = at.joint_solve(&cost);
        for i in 0..self.data.nodes() {
            let u = &at.u[i * p..(i + 1) * p];
            let adjoint = model_of(&at.system.root, &a_mu, &a_u, i);
            // q_i u_i' - g_i a_i' - A_i (a_mu + Lambda a_i) u_i'; the misfit is -g_i.
            let mut left = product(moments.form(i), &adjoint, d, d, 1);
            left.iter_mut().zip(&cost[i * d..(i + 1) * d]).for_each(|(l, q)| *l = q - *l);
            let misfit = model.misfit(at, i);
            for (j, row) in slopes.root.chunks_exact_mut(p).enumerate() {
                axpy(left[j], u, row);
                axpy(misfit[j], &a_u[i * p..(i + 1) * p], row);
            }
        }
        at.system.for_entries(|i, j, _, slope| {
            let (one, other) =
                (dot(&a_u[i * p..][..p], &at.u[j * p..][..p]), dot(&a_u[j * p..][..p], &at.u[i * p..][..p]));
            slopes.log_kappa -= slope * if i == j { one } else { one + other };
        });
        slopes
    }

    /// `q_i` of all nodes.
    fn curvature_costs(&self, at: &Evaluation, likelihood: Likelihood) -> Vec<f64> {
        let d = self.data.dim();
        let mut cost = vec![0.0; self.data.nodes() * d];
        for i in (0..self.data.nodes()).filter(|i| !self.data.rows(*i).is_empty()) {
            let w = at.model(i);
            let covariance = match likelihood {
                Likelihood::Restricted => at.covariance(i, i),
                Likelihood::Maximum => at.covariance_given_mean(i, i),
            };
            for r in self.data.rows(i) {
                let x = self.data.x(r);
                let variance = dot(x, &product(&covariance, x, d, d, 1));
                let third = self.derivatives(r, dot(x, &w))[3];
                axpy(self.share[r] * variance * third, x, &mut cost[i * d..(i + 1) * d]);
            }
        }
        cost
    }
}

/// The mode of the models, as the solution of the last least-squares problem.
pub struct Mode<'a> {
    /// `-2 log p(y)`, approximately.
    pub deviance: f64,
    /// The last problem and its solution.
    pub at: Evaluation<'a>,
    /// Its sums.
    pub moments: Moments,
}

/// `mu + Lambda u_i`.
fn model_of(root: &Root, mu: &[f64], u: &[f64], node: usize) -> Vec<f64> {
    let mut w = mu.to_vec();
    add_product(&root.entries, &u[node * root.p..(node + 1) * root.p], root.d, root.p, 1, &mut w);
    w
}

/// The first of the lengths 1, 1/2, 1/4 ... that is accepted.
fn halve<T>(accept: impl Fn(f64) -> Option<T>) -> Option<(T, f64)> {
    (0..30).map(|k| 0.5f64.powi(k)).find_map(|length| accept(length).map(|found| (found, length)))
}
