//! The iterate of the interior-point method.

use super::boxes::Boxes;
use super::edges::Edges;
use crate::linalg::block_system::BlockSystem;
use crate::linalg::cholesky::{packed_len, unpack};
use crate::loss::{Kink, Kinks};
use crate::matrix::{Matrix, axpy};
use crate::parallel::for_blocks;
use crate::problem::Problem;
use crate::scratch::Scratch;

/// Models, slopes of kinks and flows of edges, and the direction of the next step.
pub struct State<'a> {
    problem: &'a Problem,
    parts: &'a dyn Kinks,
    kinks: Vec<Kink<'a>>,
    /// Where the kinks of each node begin.
    kink_at: Vec<usize>,
    node_of: Vec<u32>,
    rows: Boxes,
    edges: Edges,
    system: BlockSystem<'a>,
    scratch: Scratch,
    w: Matrix,
    /// `D w`.
    t: Matrix,
    /// `grad S + X'g + D'u`.
    residual: Matrix,
    /// What `residual` is made of, its size at most.
    scale: f64,
    dw: Matrix,
    dt: Matrix,
    flow: Matrix,
}

/// Share of the way to the boundary that a step goes at most.
const SHARE: f64 = 0.995;
/// Corrected steps shorter than this are replaced by steps to the centre.
const SHORT: f64 = 0.1;
/// Added to the diagonal, relative to its mean: nodes without rows may leave directions open.
const SHIFT: f64 = 1e-14;
const SHIFTS_MAX: usize = 4;

impl<'a> State<'a> {
    pub fn new(problem: &'a Problem, parts: &'a dyn Kinks, system: BlockSystem<'a>, w: Matrix) -> Self {
        let (n, d, edge_count) = (problem.nodes(), problem.dim(), problem.graph().edges());
        let (mut kinks, mut kink_at, mut node_of) = (Vec::new(), vec![0], Vec::new());
        for i in 0..n {
            parts.kinks(i, &mut kinks);
            node_of.resize(kinks.len(), i as u32);
            kink_at.push(kinks.len());
        }
        let mut t = Matrix::zeros(edge_count, d);
        differences(problem, &w, &mut t);
        let r: Vec<f64> = kinks.iter().zip(&node_of).map(|(k, &i)| k.along(w.row(i as usize)) - k.y).collect();
        let widths: f64 = kinks.iter().map(|k| 0.5 * (k.high - k.low)).sum();
        let sizes: f64 = r.iter().map(|r| r.abs()).sum();
        let count = r.len().max(1) as f64;
        let mu = match widths * sizes > 0.0 {
            true => widths * sizes / (count * count),
            false => problem.edge_weights().iter().sum::<f64>() / edge_count.max(1) as f64,
        };
        let rows = Boxes::new(kinks.iter().map(|k| (k.low, k.high)), &r, mu);
        let domain = problem.penalty().dual_domain().expect("planned for a simple domain");
        let edges = Edges::new(domain, problem.edge_weights(), &t, mu);
        let zero = |rows: usize| Matrix::zeros(rows, d);
        let scratch = Scratch::new(parts.work_len() + packed_len(d) + 2 * d);
        let mut state = State {
            problem,
            parts,
            kinks,
            kink_at,
            node_of,
            rows,
            edges,
            system,
            scratch,
            w,
            t,
            residual: zero(n),
            scale: 0.0,
            dw: zero(n),
            dt: zero(edge_count),
            flow: zero(edge_count),
        };
        state.evaluate();
        state
    }

    pub fn w(&self) -> &Matrix {
        &self.w
    }

    /// Slopes of the kinks of a node.
    pub fn slopes(&self, node: usize) -> &[f64] {
        &self.rows.g[self.kink_at[node]..self.kink_at[node + 1]]
    }

    /// Flows of all edges.
    pub fn flow(&self) -> Matrix {
        self.flow.clone()
    }

    /// The sum of the products of slacks and multipliers: the gap, once the other conditions hold.
    pub fn complementarity(&self) -> f64 {
        self.rows.complementarity(0.0) + self.edges.complementarity(0.0).1
    }

    /// The residual of the first condition of optimality, relative to what it is made of.
    pub fn stationarity(&self) -> f64 {
        self.residual.max_row_norm() / (1.0 + self.scale)
    }

    fn mu(&self, length: f64) -> f64 {
        let (count, sum) = self.edges.complementarity(length);
        (self.rows.complementarity(length) + sum) / (2 * self.rows.len() + count).max(1) as f64
    }

    /// Differences, flows and the residual of the models.
    fn evaluate(&mut self) {
        let d = self.problem.dim();
        differences(self.problem, &self.w, &mut self.t);
        for e in 0..self.t.rows() {
            self.edges.flow(e, self.t.row(e), self.flow.row_mut(e));
        }
        let (parts, w, rows, flow) = (self.parts, &self.w, &self.rows, &self.flow);
        let (kinks, kink_at, problem, scratch) = (&self.kinks, &self.kink_at, self.problem, &self.scratch);
        for_blocks(self.residual.as_mut_slice(), d, |start, block| {
            let mut work = scratch.lock();
            for (k, out) in block.chunks_exact_mut(d).enumerate() {
                let (i, own) = (start + k, &mut work[..d]);
                problem.divergence(flow, i, out);
                parts.smooth_gradient(i, w.row(i), own);
                (kink_at[i]..kink_at[i + 1]).for_each(|k| kinks[k].add_to(rows.g[k], own));
                axpy(1.0, own, out);
            }
        });
        self.scale = self.flow.max_row_norm();
    }

    /// One step; false if rounding or a singular matrix leaves none.
    pub fn step(&mut self) -> bool {
        let mu = self.mu(0.0);
        self.aim(0.0, false);
        if !self.factor() {
            return false;
        }
        self.direct(false);
        let reached = self.mu(self.longest().min(1.0)).max(0.0);
        let sigma = (reached / mu).powi(3).clamp(1e-6, 1.0);
        self.aim(sigma * mu, true);
        self.direct(true);
        if self.longest() < SHORT {
            self.aim(0.5 * mu, false);
            self.direct(true);
        }
        let length = (SHARE * self.longest()).min(1.0);
        if !(length > 1e-8 && self.dw.as_slice().iter().all(|x| x.is_finite())) {
            return false;
        }
        self.rows.step(length);
        self.edges.step(length);
        axpy(length, self.dw.as_slice(), self.w.as_mut_slice());
        self.evaluate();
        true
    }

    fn longest(&self) -> f64 {
        self.rows.longest().min(self.edges.longest())
    }

    fn aim(&mut self, mu: f64, corrected: bool) {
        let (kinks, node_of, w) = (&self.kinks, &self.node_of, &self.w);
        self.rows.aim(mu, corrected, |k| kinks[k].along(w.row(node_of[k] as usize)) - kinks[k].y);
        self.edges.aim(mu, corrected, &self.t);
    }

    fn factor(&mut self) -> bool {
        let (d, edges, rows) = (self.problem.dim(), &self.edges, &self.rows);
        let (parts, w, scratch) = (self.parts, &self.w, &self.scratch);
        let (kinks, kink_at) = (&self.kinks, &self.kink_at);
        let node = |i: usize, block: &mut [f64]| {
            let mut work = scratch.lock();
            let (packed, work) = work.split_at_mut(packed_len(d));
            packed.fill(0.0);
            parts.add_smooth_hessian(i, w.row(i), packed, work);
            (kink_at[i]..kink_at[i + 1]).for_each(|k| kinks[k].add_outer(rows.c[k], packed));
            unpack(packed, d, block);
        };
        self.system.set(|e, block| edges.fill(e, block), node);
        let mut shift = SHIFT * self.system.mean_diagonal();
        for _ in 0..SHIFTS_MAX {
            self.system.shift(shift);
            if self.system.factor() {
                return true;
            }
            shift *= 100.0;
        }
        false
    }

    /// Solves for the direction of everything.
    fn direct(&mut self, refined: bool) {
        let d = self.problem.dim();
        let mut pulled = Matrix::zeros(self.t.rows(), d);
        (0..pulled.rows()).for_each(|e| self.edges.pulled(e, pulled.row_mut(e)));
        let (problem, rows, residual) = (self.problem, &self.rows, &self.residual);
        let (kinks, kink_at) = (&self.kinks, &self.kink_at);
        for_blocks(self.dw.as_mut_slice(), d, |start, block| {
            for (k, out) in block.chunks_exact_mut(d).enumerate() {
                let i = start + k;
                problem.divergence(&pulled, i, out);
                axpy(1.0, residual.row(i), out);
                (kink_at[i]..kink_at[i + 1]).for_each(|k| kinks[k].add_to(rows.c[k] * rows.pull[k], out));
                out.iter_mut().for_each(|x| *x = -*x);
            }
        });
        self.system.solve(self.dw.as_mut_slice());
        self.follow();
        if refined && self.parts.smooth_is_quadratic() {
            self.refine();
            self.follow();
        }
    }

    /// The directions of slopes and flows that belong to `dw`.
    fn follow(&mut self) {
        differences(self.problem, &self.dw, &mut self.dt);
        let (kinks, node_of, dw) = (&self.kinks, &self.node_of, &self.dw);
        self.rows.direct(|k| kinks[k].along(dw.row(node_of[k] as usize)));
        self.edges.direct(&self.dt);
    }
}

impl State<'_> {
    /// One step of iterative refinement. What is left of the system is computed from its parts: sums of blocks of very
    /// different sizes, as in the matrix, have lost the digits that matter.
    fn refine(&mut self) {
        let d = self.problem.dim();
        let mut change = Matrix::zeros(self.t.rows(), d);
        (0..change.rows()).for_each(|e| self.edges.change(e, self.dt.row(e), change.row_mut(e)));
        let (problem, rows, residual, scratch) = (self.problem, &self.rows, &self.residual, &self.scratch);
        let (kinks, kink_at, parts, dw) = (&self.kinks, &self.kink_at, self.parts, &self.dw);
        let mut left = Matrix::zeros(dw.rows(), d);
        for_blocks(left.as_mut_slice(), d, |start, block| {
            let mut work = scratch.lock();
            let (there, work) = work.split_at_mut(d);
            let own = &mut work[..d];
            for (k, out) in block.chunks_exact_mut(d).enumerate() {
                let i = start + k;
                problem.divergence(&change, i, out);
                // The smooth part is quadratic: S'' dw = grad S(dw) - grad S(0).
                parts.smooth_gradient(i, dw.row(i), own);
                axpy(1.0, own, out);
                there.fill(0.0);
                parts.smooth_gradient(i, there, own);
                axpy(-1.0, own, out);
                (kink_at[i]..kink_at[i + 1]).for_each(|k| kinks[k].add_to(rows.dg[k], out));
                axpy(1.0, residual.row(i), out);
                out.iter_mut().for_each(|x| *x = -*x);
            }
        });
        self.system.solve(left.as_mut_slice());
        axpy(1.0, left.as_slice(), self.dw.as_mut_slice());
    }
}

/// `t <- D w`.
fn differences(problem: &Problem, w: &Matrix, t: &mut Matrix) {
    for e in 0..t.rows() {
        let (i, j) = problem.graph().nodes_of(e);
        let pairs = t.row_mut(e).iter_mut().zip(w.row(i).iter().zip(w.row(j)));
        pairs.for_each(|(t, (a, b))| *t = a - b);
    }
}
