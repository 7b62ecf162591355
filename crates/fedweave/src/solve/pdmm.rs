//! PDMM (Algorithm 1 of convex-clustering-pdmm): a server and users, random subsets of variables, damped dual steps.
//!
//! Every edge `{i, j}` gives two ordered pairs with `z_ij = x_i - x_j`, multipliers `mu_ij` at the server and `mu^_ij` at the
//! user. In a round, for the variables that were drawn (all from the values of the round before, with `h = lambda / 2`):
//!
//! ```text
//! x_i+   = argmin L_i(x) + sum_j (mu^_ij - mu^_ji)'x + rho/2 sum_j ( |x - x_j - z_ij|^2 + |x_j - x - z_ji|^2 ) + eta/2 |x - x_i|^2
//! z_ij+  = argmin h A_ij phi(z) - mu^_ij'z + rho/2 |x_i - x_j - z|^2 + eta/2 |z - z_ij|^2
//! mu_ij+ = mu_ij + tau rho (x_i+ - x_j+ - z_ij+)          mu^_ij+ = mu_ij+ - nu rho (x_i+ - x_j+ - z_ij+)
//! ```
//!
//! As printed, (16) lacks the terms in which `x_i` stands second, and `h = lambda`. The two agree when all variables are
//! updated in every round; with random subsets the printed update stalls beside the optimum.

use super::minimise_local;
use super::rounds::Method;
use crate::accounting::{Traffic, work};
use crate::error::Result;
use crate::loss::Prepared;
use crate::matrix::{Matrix, norm2};
use crate::parallel::{ASLEEP, for_blocks, for_blocks2};
use crate::problem::Problem;
use crate::scratch::Scratch;
use draw::Drawn;
pub use draw::Subset;
pub use options::PdmmOptions;
use options::Steps;
use pairs::Pairs;

mod draw;
mod options;
mod pairs;

/// The parallel direction method of multipliers.
pub struct Pdmm<'p> {
    problem: &'p Problem,
    options: PdmmOptions,
    steps: Steps,
    pairs: Pairs,
    drawn: Drawn,
    x: Matrix,
    next: Matrix,
    z: Matrix,
    mu: Matrix,
    mu_hat: Matrix,
    /// Rounds in a row in which a drawn `z_ij` was zero.
    idle: Vec<u32>,
    nodes: Vec<u32>,
    step: Vec<f64>,
    prepared: Prepared,
    traffic: Traffic,
    scratch: Scratch,
}

impl<'p> Pdmm<'p> {
    /// Starts at zero; for any penalty and loss.
    pub fn new(problem: &'p Problem, options: PdmmOptions) -> Result<Self> {
        options.check()?;
        let steps = Steps::new(problem, &options);
        let (n, d, loss) = (problem.nodes(), problem.dim(), problem.loss());
        let pairs = Pairs::new(problem.graph());
        let count = pairs.len();
        let sides = if options.as_printed { 1.0 } else { 2.0 };
        let step = |i: usize| match problem.is_coupled(i) {
            true => 1.0 / (sides * steps.rho * problem.graph().degree(i) as f64 + steps.eta),
            false => 0.0,
        };
        let (nodes, step): (Vec<u32>, Vec<f64>) = ((0..n as u32).collect(), (0..n).map(step).collect());
        let mut x = Matrix::zeros(n, d);
        minimise_local(problem, &mut x, |i| !problem.is_coupled(i));
        Ok(Pdmm {
            problem,
            drawn: Drawn::new(n, count),
            next: x.clone(),
            x,
            z: Matrix::zeros(count, d),
            mu: Matrix::zeros(count, d),
            mu_hat: Matrix::zeros(count, d),
            idle: vec![0; count],
            prepared: loss.prepare(&nodes, &step),
            nodes,
            step,
            traffic: Traffic::new(n),
            scratch: Scratch::new(loss.work_len().max(5 * d)),
            pairs,
            options,
            steps,
        })
    }

    /// What the multipliers of both directions agree on.
    fn flow_matrix(&self) -> Matrix {
        let (edges, d) = (self.problem.graph().edges(), self.problem.dim());
        let mut u = Matrix::zeros(edges, d);
        let share = if self.options.as_printed { 0.5 } else { 1.0 };
        for (p, pair) in self.pairs.iter().enumerate() {
            let sign = if pair.from < pair.to { share } else { -share };
            u.row_mut(pair.edge as usize).iter_mut().zip(self.mu.row(p)).for_each(|(u, m)| *u += sign * m);
        }
        u
    }

    /// Ordered pairs that are no longer sent.
    pub fn ceased(&self) -> usize {
        (0..self.pairs.len()).filter(|&p| self.is_ceased(p)).count()
    }

    fn is_ceased(&self, pair: usize) -> bool {
        self.pairs.is_ceased(pair, &self.idle, &self.options)
    }

    /// `next_i <- x_i+` for the users drawn.
    fn update_models(&mut self) {
        let Pdmm {
            problem,
            options,
            steps,
            pairs,
            drawn,
            x,
            next,
            z,
            mu_hat,
            idle,
            nodes,
            step,
            prepared,
            scratch,
            ..
        } = self;
        let (d, loss) = (problem.dim(), problem.loss());
        for_blocks(next.as_mut_slice(), d, |start, rows| {
            for (node, row) in (start..).zip(rows.chunks_exact_mut(d)) {
                row.copy_from_slice(x.row(node));
                if drawn.models[node] && step[node] > 0.0 {
                    row.iter_mut().for_each(|r| *r *= steps.eta);
                    for p in pairs.of(node) {
                        // A ceased pair pulls a user to where it is.
                        let ceased = pairs.is_ceased(p, idle, options);
                        let other = if ceased { node } else { pairs.get(p).to as usize };
                        pull(row, steps.rho, 1.0, x.row(other), z.row(p), mu_hat.row(p));
                        if !options.as_printed {
                            let back = pairs.get(p).reverse as usize;
                            pull(row, steps.rho, -1.0, x.row(other), z.row(back), mu_hat.row(back));
                        }
                    }
                    row.iter_mut().for_each(|r| *r *= step[node]);
                    loss.prox_rows(node, &nodes[node..=node], step, prepared, row, &mut scratch.lock());
                }
            }
        });
    }

    /// `z_ij <- z_ij+` for the pairs drawn.
    fn update_differences(&mut self) {
        let Pdmm { problem, options, steps, pairs, drawn, x, z, mu_hat, idle, scratch, .. } = self;
        let (d, total) = (problem.dim(), steps.rho + steps.eta);
        let half = if options.as_printed { 1.0 } else { 0.5 };
        for_blocks(z.as_mut_slice(), d, |start, rows| {
            for (p, row) in (start..).zip(rows.chunks_exact_mut(d)) {
                if drawn.differences[p] && !pairs.is_ceased(p, idle, options) {
                    let pair = pairs.get(p);
                    let (from, to) = (x.row(pair.from as usize), x.row(pair.to as usize));
                    for (k, z) in row.iter_mut().enumerate() {
                        *z = (mu_hat.row(p)[k] + steps.rho * (from[k] - to[k]) + steps.eta * *z) / total;
                    }
                    let weight = half * problem.edge_weights()[pair.edge as usize] / total;
                    problem.penalty().prox(pair.edge as usize, weight, row, &mut scratch.lock());
                }
            }
        });
        for p in (0..pairs.len()).filter(|&p| drawn.differences[p]) {
            idle[p] = if norm2(z.row(p)) == 0.0 { idle[p].saturating_add(1) } else { 0 };
        }
    }

    /// `mu_ij <- mu_ij+` and `mu^_ij <- mu^_ij+` for the pairs drawn.
    fn update_multipliers(&mut self) {
        let Pdmm { problem, options, steps, pairs, drawn, x, z, mu, mu_hat, idle, .. } = self;
        let d = problem.dim();
        for_blocks2(ASLEEP, mu.as_mut_slice(), mu_hat.as_mut_slice(), d, d, |start, mu, mu_hat| {
            for (p, (mu, mu_hat)) in (start..).zip(mu.chunks_exact_mut(d).zip(mu_hat.chunks_exact_mut(d))) {
                if drawn.multipliers[p] && !pairs.is_ceased(p, idle, options) {
                    let pair = pairs.get(p);
                    let (from, to) = (x.row(pair.from as usize), x.row(pair.to as usize));
                    for k in 0..d {
                        let off = steps.rho * (from[k] - to[k] - z.row(p)[k]);
                        mu[k] += steps.tau * off;
                        mu_hat[k] = mu[k] - steps.nu * off;
                    }
                }
            }
        });
    }

    /// Users send what they updated; the server passes it on to whoever needs it. With the terms that the paper forgot, both
    /// users of a pair need its `z` and its `mu`.
    fn account(&mut self) {
        let (d, loss) = (self.problem.dim(), self.problem.loss());
        let readers = if self.options.as_printed { 1 } else { 2 };
        for node in (0..self.problem.nodes()).filter(|&i| self.drawn.models[i] && self.step[i] > 0.0) {
            self.traffic.send(node, 1, d);
            let listening =
                self.pairs.of(node).filter(|&p| !self.is_ceased(self.pairs.get(p).reverse as usize)).count();
            self.traffic.send_from_server(listening, d);
            self.traffic.compute(work::prox(loss, node) + (6 * readers * self.problem.graph().degree(node) * d) as f64);
        }
        for p in (0..self.pairs.len()).filter(|&p| self.step[self.pairs.get(p).from as usize] > 0.0) {
            if self.is_ceased(p) {
                continue;
            }
            if self.drawn.differences[p] {
                self.traffic.send(self.pairs.get(p).from as usize, 1, d);
                self.traffic.send_from_server(readers - 1, d);
                self.traffic.compute((9 * d) as f64);
            }
            if self.drawn.multipliers[p] {
                self.traffic.send_from_server(readers, d);
                self.traffic.compute((8 * d) as f64);
            }
        }
    }
}

/// `row <- row + rho (x_j + sign z) - sign mu^`.
fn pull(row: &mut [f64], rho: f64, sign: f64, x: &[f64], z: &[f64], mu_hat: &[f64]) {
    for (k, row) in row.iter_mut().enumerate() {
        *row += rho * (x[k] + sign * z[k]) - sign * mu_hat[k];
    }
}

impl Method for Pdmm<'_> {
    fn name(&self) -> &'static str {
        "pdmm"
    }

    fn round(&mut self) {
        self.drawn.draw(self.options.subset, &self.pairs, self.options.seed, self.traffic.rounds());
        if self.problem.lambda() > 0.0 {
            self.update_models();
            self.update_differences();
            self.account();
            std::mem::swap(&mut self.x, &mut self.next);
            self.update_multipliers();
        }
        self.traffic.end_round();
    }

    fn models(&self) -> &Matrix {
        &self.x
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    fn flows(&self) -> Option<Matrix> {
        Some(self.flow_matrix())
    }
}
