//! A server between nodes that keep their losses to themselves. In a round it asks every node for the same thing, a proximal step,
//!
//! ```text
//! w_i = argmin_w L_i(w) + |w - v_i|^2 / (2 tau_i)
//! ```
//!
//! and methods differ in the points `v_i` from which they ask and in what they do with the answers.

use super::round::{Round, distance, or_infinite};
use crate::error::{Error, Result};
use crate::matrix::{Matrix, norm2};
use crate::problem::Problem;

use super::{BalancedPrimalDual, Pdmm, PdmmOptions, RelaxRound};

/// `tau` of a node without neighbours: a step this long ends, after two or three, where its own loss is smallest.
pub const ALONE_STEP: f64 = 1e6;

/// What a server does between the proximal steps of nodes.
pub trait ProximalMethod: Send + Sync {
    /// The lengths `tau_i` of the steps; 0 for a node without neighbours.
    fn steps(&self) -> &[f64];
    /// `out <- v`, a row per node; the model itself for a node without neighbours.
    fn arguments(&self, out: &mut Matrix);
    /// Goes on with the answers; those of nodes that were not `heard` are their models.
    fn take(&mut self, answers: &Matrix, heard: &[bool]);
    /// The models, a row per node.
    fn current(&self) -> &Matrix;
    /// The same, writable: where to start.
    fn current_mut(&mut self) -> &mut Matrix;
    /// Flows in the domain of the conjugates that fit these models.
    fn flows_at(&self, w: &Matrix) -> Matrix;
}

/// A round at a server: points go out, answers come in. A node that does not answer keeps its model.
///
/// ```
/// use fedweave::graph::generate::chain;
/// use fedweave::loss::{Family, LossOptions};
/// use fedweave::penalty::SquaredNorm;
/// use fedweave::solve::{Round, ServerRound};
/// use fedweave::{Dataset, Matrix, Problem};
/// // The server knows the edges and no rows.
/// let data = Dataset::new(vec![0, 0, 0], Matrix::zeros(0, 1), vec![], vec![])?;
/// let loss = Family::Squared.build(data, &LossOptions::default())?;
/// let problem = Problem::build(chain(2)?, loss, Box::new(SquaredNorm), 1.0)?;
/// let mut server = ServerRound::fedrelax(problem)?;
/// for _ in 0..60 {
///     server.begin();
///     for (i, point) in [0.0, 3.0].into_iter().enumerate() {
///         // The node minimises (w - point)^2 + |w - v|^2 / (2 tau).
///         let (v, tau) = (server.outgoing(i)[0], server.steps()[i]);
///         server.incoming(i)[0] = (2.0 * point + v / tau) / (2.0 + 1.0 / tau);
///     }
///     server.complete();
/// }
/// // w = (1, 2) minimises w_1^2 + (w_2 - 3)^2 + (w_1 - w_2)^2.
/// assert!((server.models().row(0)[0] - 1.0).abs() < 1e-9);
/// # Ok::<(), fedweave::Error>(())
/// ```
pub struct ServerRound {
    method: Box<dyn ProximalMethod>,
    steps: Vec<f64>,
    arguments: Matrix,
    answers: Matrix,
    heard: Vec<bool>,
    residual: f64,
}

impl ServerRound {
    /// The primal-dual method; `step_ratio` is adapted if there is none.
    pub fn primal_dual(problem: Problem, step_ratio: Option<f64>, relaxation: f64) -> Result<Self> {
        Ok(Self::new(Box::new(BalancedPrimalDual::in_order(Box::new(problem), step_ratio, relaxation)?)))
    }

    /// PDMM; who answers decides which variables are updated, so the share of the options is only that of their steps.
    pub fn pdmm(problem: Problem, options: PdmmOptions) -> Result<Self> {
        Ok(Self::new(Box::new(Pdmm::new(Box::new(problem), options)?)))
    }

    /// FedRelax, all nodes at once; for the squared penalty.
    pub fn fedrelax(problem: Problem) -> Result<Self> {
        if problem.penalty().name() != "squared" {
            return Err(Error::Method { method: "fedrelax", needs: "the squared penalty" });
        }
        let (own, w) = (super::round::all(problem.nodes()), Matrix::zeros(problem.nodes(), problem.dim()));
        Ok(Self::new(Box::new(RelaxRound::new(Box::new(problem), own, w))))
    }

    /// Any method, all nodes silent so far.
    pub fn new(method: Box<dyn ProximalMethod>) -> Self {
        let (n, d) = (method.current().rows(), method.current().cols());
        let zeros = || Matrix::zeros(n, d);
        let (arguments, answers, heard) = (zeros(), zeros(), vec![false; n]);
        let mut round = ServerRound { method, steps: Vec::new(), arguments, answers, heard, residual: f64::INFINITY };
        round.read_steps();
        round
    }

    /// The lengths of the proximal steps that nodes are asked for in this round.
    pub fn steps(&self) -> &[f64] {
        &self.steps
    }

    /// The models, writable: where to start.
    pub fn models_mut(&mut self) -> &mut Matrix {
        self.method.current_mut()
    }

    /// Flows in the domain of the conjugates that fit these models, which need not be those of the last round.
    pub fn flows_at(&self, w: &Matrix) -> Matrix {
        self.method.flows_at(w)
    }

    fn read_steps(&mut self) {
        let alone = |tau: &f64| if *tau > 0.0 { *tau } else { ALONE_STEP };
        self.steps = self.method.steps().iter().map(alone).collect();
    }
}

impl Round for ServerRound {
    fn begin(&mut self) {
        self.method.arguments(&mut self.arguments);
        self.answers.copy_from(self.method.current());
        self.heard.fill(false);
    }

    fn outgoing(&self, node: usize) -> &[f64] {
        self.arguments.row(node)
    }

    fn incoming(&mut self, node: usize) -> &mut [f64] {
        self.heard[node] = true;
        self.answers.row_mut(node)
    }

    fn complete(&mut self) {
        let w = self.method.current();
        let moved = |i: usize| {
            let answer = self.answers.row(i);
            distance(w.row(i), answer) / (self.steps[i] * (1.0 + norm2(answer)))
        };
        self.residual = (0..w.rows()).map(moved).fold(0.0, f64::max);
        self.method.take(&self.answers, &self.heard);
        self.read_steps();
    }

    /// The largest `|w+ - w| / (tau_i (1 + |w+|))` of the answers of the last round.
    fn residual(&self) -> f64 {
        or_infinite(self.residual)
    }

    fn models(&self) -> &Matrix {
        self.method.current()
    }

    fn flows(&self) -> Matrix {
        self.method.flows_at(self.method.current())
    }
}
