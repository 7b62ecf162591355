//! The marginal likelihood of all rows and its gradient, with `mu` and `s2` at their best.
//!
//! With `B = Lambda' A`, `S = sum_i A_i - B' K^-1 B` and `RSS = min_{mu, u} |y - X (mu + Lambda u)|^2 + u' (R (x) I) u`:
//!
//! ```text
//! -2 log p(y) = log |K| + N (1 + log(2 pi RSS / N))                                   maximum likelihood
//!             = log |K| + log |S| + (N - d) (1 + log(2 pi RSS / (N - d)))             restricted (REML): mu integrated out
//! ```
//!
//! (`|R| = 1`.) Derivatives need the blocks of `K^-1` at nodes and edges only. With `U = K^-1 B`, `G_i = I - Lambda U_i`,
//! `g_i = X_i'(y_i - X_i w_i)`:
//!
//! ```text
//! d/dLambda     2 sum_i A_i (Lambda (K^-1)_ii - G_i S^-1 U_i') - 2 sum_i g_i u_i' / s2       (S^-1 with REML only)
//! d/dlog kappa  sum_ij R'_ij ( tr (K^-1)_ij + u_i'u_j / s2 + tr U_i S^-1 U_j' )
//! ```

use super::dense::{add_product, inverse_and_log_determinant, product, transposed};
use super::moments::Moments;
use super::network::Network;
use super::profile::Profile;
use super::system::{Plan, Root, System};
use crate::matrix::{axpy, dot};

/// What is maximised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Likelihood {
    /// The likelihood at the best common mean.
    Maximum,
    /// The likelihood with the common mean integrated out: variances are not biased by having estimated it.
    #[default]
    Restricted,
}

impl Likelihood {
    /// Rows less the means that are integrated out.
    fn freedom(self, moments: &Moments) -> f64 {
        self.freedom_of(moments.total_rows(), moments.rank)
    }

    /// The same for so many rows of this rank.
    pub(super) fn freedom_of(self, rows: f64, rank: f64) -> f64 {
        match self {
            Likelihood::Restricted if rows > rank => rows - rank,
            _ => rows,
        }
    }

    /// `log p(y)` in the units of the target, from a deviance.
    pub(super) fn log_likelihood(self, moments: &Moments, deviance: f64) -> f64 {
        -0.5 * deviance + moments.log_units(moments.total_rows() - self.freedom(moments))
    }
}

/// Rows, graph and plan of a likelihood.
pub struct Model<'a, 'm> {
    /// The graph.
    pub network: &'a Network,
    /// The rows.
    pub moments: &'m Moments,
    /// Eliminations for the roots that are tried.
    pub plan: &'a Plan,
    /// What is maximised.
    pub likelihood: Likelihood,
}

/// The likelihood at one point.
pub struct Evaluation<'a> {
    /// `-2 log p(y)` in scaled units.
    pub deviance: f64,
    /// Common mean.
    pub mu: Vec<f64>,
    /// `u`, node after node.
    pub u: Vec<f64>,
    /// Noise.
    pub s2: f64,
    /// `U_i` transposed: column `j` of all nodes, column after column.
    pub means: Vec<f64>,
    /// `S^-1`.
    pub mean_covariance: Vec<f64>,
    /// `log |S|`.
    pub log_s: f64,
    /// The factor.
    pub system: System<'a>,
}

/// Noise below this share of what one model leaves over is rounding.
const NOISE_MIN: f64 = 1e-12;

/// `s2` and its part of the deviance, from the residual sum of squares and that of the target.
pub(super) fn noise_and_deviance(rss: f64, total: f64, freedom: f64) -> (f64, f64) {
    let s2 = (rss / freedom.max(1.0)).max(NOISE_MIN * (total / freedom.max(1.0)).max(1e-3));
    (s2, freedom * ((2.0 * std::f64::consts::PI * s2).ln() + 1.0))
}

impl<'a> Model<'a, '_> {
    /// Rows less the means that are integrated out.
    fn freedom(&self) -> f64 {
        self.likelihood.freedom(self.moments)
    }

    pub(super) fn is_restricted(&self) -> bool {
        self.freedom() < self.moments.total_rows()
    }

    /// The deviance; `None` where `K` cannot be factored.
    pub fn evaluate(&self, root: &Root, kappa: f64) -> Option<Evaluation<'a>> {
        let (moments, d) = (self.moments, root.d);
        let Profile { system, mut solved, targets, target_means, s, v } =
            self.profile(root, self.network.precision(kappa)?)?;
        let np = targets.len();
        let (mean_covariance, log_s) = inverse_and_log_determinant(&s, d);
        let mu = product(&mean_covariance, &v, d, d, 1);
        let mut u = target_means;
        for j in 0..d {
            axpy(-mu[j], &solved[j * np..(j + 1) * np], &mut u);
        }
        let total: f64 = moments.yy.iter().sum();
        let rss = total - dot(&mu, &moments.total_right()) - dot(&u, &targets);
        let (s2, rest) = noise_and_deviance(rss, total, self.freedom());
        let mut deviance = system.log_determinant() + moments.log_weights;
        deviance += rest;
        if self.is_restricted() {
            deviance += log_s;
        }
        solved.truncate(d * np);
        deviance.is_finite().then_some(Evaluation {
            deviance,
            mu,
            u,
            s2,
            means: solved,
            mean_covariance,
            log_s,
            system,
        })
    }

    /// `X_i'(y_i - X_i w_i)`.
    pub fn misfit(&self, at: &Evaluation, node: usize) -> Vec<f64> {
        let (d, p) = (at.system.root.d, at.system.root.p);
        let mut g = product(self.moments.form(node), &at.mu, d, d, 1);
        add_product(
            &at.system.spread[node * d * p..(node + 1) * d * p],
            &at.u[node * p..(node + 1) * p],
            d,
            p,
            1,
            &mut g,
        );
        g.iter_mut().zip(self.moments.right(node)).for_each(|(g, c)| *g = c - *g);
        g
    }
}

impl Evaluation<'_> {
    /// `log |K|`, and with the restricted likelihood `+ log |S|`.
    pub fn log_determinant(&self, likelihood: Likelihood) -> f64 {
        let means = if likelihood == Likelihood::Restricted { self.log_s } else { 0.0 };
        self.system.log_determinant() + means
    }

    /// The joint solution `(mu, u)` for right-hand sides `q_i` in the space of the models, node after node.
    pub fn joint_solve(&self, q: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let Root { d, p, entries: root } = &self.system.root;
        let (d, p, n) = (*d, *p, self.u.len() / self.system.root.p);
        let (mut right, mut total) = (vec![0.0; n * p], vec![0.0; d]);
        for (own, q) in right.chunks_exact_mut(p).zip(q.chunks_exact(d)) {
            add_product(q, root, 1, d, p, own);
            axpy(1.0, q, &mut total);
        }
        // U'r = B' K^-1 r.
        (0..d).for_each(|j| total[j] -= dot(&self.means[j * n * p..(j + 1) * n * p], &right));
        let mu = product(&self.mean_covariance, &total, d, d, 1);
        self.system.solve(&mut right, 1);
        (0..d).for_each(|j| axpy(-mu[j], &self.means[j * n * p..(j + 1) * n * p], &mut right));
        (mu, right)
    }

    /// `U_i`, `p x d`.
    pub fn own_means(&self, node: usize) -> Vec<f64> {
        let (d, p) = (self.system.root.d, self.system.root.p);
        let n = self.u.len() / p;
        (0..p * d).map(|k| self.means[((k % d) * n + node) * p + k / d]).collect()
    }

    /// `G_i = I - Lambda U_i`, `d x d`: how a change of the common mean moves the model of a node.
    pub fn leverage(&self, node: usize) -> Vec<f64> {
        let (d, p) = (self.system.root.d, self.system.root.p);
        let mut g = product(&self.system.root.entries, &self.own_means(node), d, p, d);
        g.iter_mut().for_each(|g| *g = -*g);
        (0..d).for_each(|j| g[j * d + j] += 1.0);
        g
    }

    /// The model of a node, in scaled units.
    pub fn model(&self, node: usize) -> Vec<f64> {
        let (d, p) = (self.system.root.d, self.system.root.p);
        let mut w = self.mu.clone();
        add_product(&self.system.root.entries, &self.u[node * p..(node + 1) * p], d, p, 1, &mut w);
        w
    }

    /// Posterior covariance of the models of two neighbours, or of one node, in scaled units; after
    /// [`slopes`](Model::slopes) or [`System::invert`].
    pub fn covariance(&self, i: usize, j: usize) -> Vec<f64> {
        let d = self.system.root.d;
        let mut c = self.covariance_given_mean(i, j);
        let left = product(&self.leverage(i), &self.mean_covariance, d, d, d);
        let mut means = product(&left, &transposed(&self.leverage(j), d, d), d, d, d);
        means.iter_mut().for_each(|m| *m *= self.s2);
        axpy(1.0, &means, &mut c);
        c
    }

    /// The same if the common mean were known.
    pub fn covariance_given_mean(&self, i: usize, j: usize) -> Vec<f64> {
        let Root { d, p, entries: root } = &self.system.root;
        let (d, p) = (*d, *p);
        let mut block = vec![0.0; p * p];
        self.system.block(i, j, &mut block);
        let mut c = product(&product(root, &block, d, p, p), &transposed(root, d, p), d, p, d);
        c.iter_mut().for_each(|c| *c *= self.s2);
        c
    }
}
