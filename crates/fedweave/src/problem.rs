//! The plus sign: `F(w) = sum_i L_i(w_i) + lambda * sum_e A_e * phi(w_{e+} - w_{e-})`.

use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::graph::layout::Layout;
use crate::graph::partition::Partition;
use crate::linalg::sparse::{Elimination, laplacian_elimination};
use crate::loss::Loss;
use crate::matrix::{Matrix, norm2};
use crate::parallel::ordered_sum;
use crate::penalty::Penalty;

/// Products of larger strengths leave the range of f64.
pub const STRENGTH_MAX: f64 = 1e100;

/// A problem whose parts fit together; after [`build`](Problem::build) no iteration can meet a wrong size. Copies share their
/// parts.
#[derive(Clone)]
pub struct Problem {
    graph: Arc<Graph>,
    loss: Arc<dyn Loss>,
    penalty: Arc<dyn Penalty>,
    lambda: f64,
    weights: Vec<f64>,
    components: OnceLock<Partition>,
    layout: OnceLock<Arc<Layout>>,
    elimination: OnceLock<Option<Arc<Elimination>>>,
}

impl Problem {
    /// Puts graph, loss and penalty together.
    pub fn build(graph: Graph, loss: Box<dyn Loss>, penalty: Box<dyn Penalty>, lambda: f64) -> Result<Self> {
        if graph.nodes() != loss.nodes() {
            return Err(Error::Size { what: "nodes of the loss", expected: graph.nodes(), found: loss.nodes() });
        }
        if loss.dim() == 0 {
            return Err(Error::Size { what: "parameters of a node", expected: 1, found: 0 });
        }
        penalty.check(graph.edges(), loss.dim())?;
        let (weights, components) = (Vec::new(), OnceLock::new());
        let (layout, elimination) = (OnceLock::new(), OnceLock::new());
        let (graph, loss, penalty) = (Arc::new(graph), Arc::from(loss), Arc::from(penalty));
        let mut problem = Problem { graph, loss, penalty, lambda: 0.0, weights, components, layout, elimination };
        problem.set_lambda(lambda)?;
        Ok(problem)
    }

    /// Changes `lambda`, for a path or a search.
    pub fn set_lambda(&mut self, lambda: f64) -> Result<()> {
        let largest = self.graph.weights().iter().copied().fold(1.0, f64::max);
        if !(lambda >= 0.0 && lambda * largest <= STRENGTH_MAX) {
            let needs = "zero or positive, and at most 1e100 (also times an edge weight)";
            return Err(Error::Parameter { name: "lambda", value: lambda, needs });
        }
        self.lambda = lambda;
        self.weights = self.graph.weights().iter().map(|a| lambda * a).collect();
        Ok(())
    }

    /// Exchanges the losses with others of the same size.
    pub(crate) fn swap_loss(&mut self, loss: &mut Arc<dyn Loss>) {
        assert_eq!((self.loss.nodes(), self.loss.dim()), (loss.nodes(), loss.dim()), "losses of the same size");
        std::mem::swap(&mut self.loss, loss);
    }

    /// Exchanges the edge weights `A_e` with others.
    pub(crate) fn swap_weights(&mut self, weights: &mut Vec<f64>) {
        Arc::make_mut(&mut self.graph).swap_weights(weights);
        self.weights = self.graph.weights().iter().map(|a| self.lambda * a).collect();
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The local losses.
    pub fn loss(&self) -> &dyn Loss {
        &*self.loss
    }

    /// The edge penalty.
    pub fn penalty(&self) -> &dyn Penalty {
        &*self.penalty
    }

    /// The connected components of the graph, computed when first asked for.
    pub fn components(&self) -> &Partition {
        self.components.get_or_init(|| Partition::components(&self.graph))
    }

    /// How rows lie in memory while they are iterated, the same for every `lambda`.
    pub(crate) fn layout(&self) -> Arc<Layout> {
        self.layout.get_or_init(|| Arc::new(Layout::new(&self.graph))).clone()
    }

    /// The elimination of a Laplacian of the graph, planned once; `None` if its factor would fill up.
    pub(crate) fn elimination(&self) -> Option<Arc<Elimination>> {
        self.elimination.get_or_init(|| laplacian_elimination(&self.graph, self.dim()).map(Arc::new)).clone()
    }

    /// `lambda`.
    pub fn lambda(&self) -> f64 {
        self.lambda
    }

    /// `lambda A_e` of all edges.
    pub fn edge_weights(&self) -> &[f64] {
        &self.weights
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.graph.nodes()
    }

    /// Number of parameters of a node.
    pub fn dim(&self) -> usize {
        self.loss.dim()
    }

    /// True if the node takes part in the exchange: it has a neighbour, and `lambda` is not zero.
    pub fn is_coupled(&self, node: usize) -> bool {
        self.lambda > 0.0 && self.graph.degree(node) > 0
    }

    /// `F(w)`.
    pub fn objective(&self, w: &Matrix) -> f64 {
        self.total_loss(w) + self.total_variation(w)
    }

    /// `sum_i L_i(w_i)`.
    pub fn total_loss(&self, w: &Matrix) -> f64 {
        ordered_sum(self.nodes(), self.loss.cost(), |i| self.loss.value(i, w.row(i)))
    }

    /// `lambda * sum_e A_e phi(w_i - w_j)`.
    pub fn total_variation(&self, w: &Matrix) -> f64 {
        ordered_sum(self.graph.edges(), 4 * self.dim(), |e| {
            self.with_difference(w, e, |t| self.weights[e] * self.penalty.value(e, t))
        })
    }

    /// Calls `f` with `(D w)_e = w_{e+} - w_{e-}`.
    pub fn with_difference<R>(&self, w: &Matrix, edge: usize, f: impl FnOnce(&[f64]) -> R) -> R {
        let ((i, j), d) = (self.graph.nodes_of(edge), self.dim());
        let (mut few, mut many) = ([0.0; 32], Vec::new());
        let t = match d <= few.len() {
            true => &mut few[..d],
            false => {
                many.resize(d, 0.0);
                &mut many[..]
            }
        };
        t.iter_mut().zip(w.row(i)).zip(w.row(j)).for_each(|((t, a), b)| *t = a - b);
        f(t)
    }

    /// `out <- (D' u)_i`, the flow out of a node.
    pub fn divergence(&self, u: &Matrix, node: usize, out: &mut [f64]) {
        out.fill(0.0);
        for end in self.graph.ends(node) {
            let row = u.row(end.edge as usize);
            if end.sign > 0.0 {
                out.iter_mut().zip(row).for_each(|(o, u)| *o += u);
            } else {
                out.iter_mut().zip(row).for_each(|(o, u)| *o -= u);
            }
        }
    }

    /// Flows outside the domain of the conjugate are of no use: they are projected onto it.
    pub fn project_flows(&self, u: &mut Matrix) {
        let mut work = vec![0.0; 8 * self.dim()];
        for e in 0..u.rows() {
            if self.penalty.excess(e, self.weights[e], u.row(e)) > 0.0 {
                self.penalty.prox_conjugate(e, self.weights[e], 1.0, u.row_mut(e), &mut work);
            }
        }
    }

    /// Edges whose ends have equal models: `|w_i - w_j| <= tolerance * max_i |w_i|`.
    pub fn is_fused(&self, w: &Matrix, edge: usize, tolerance: f64, scale: f64) -> bool {
        self.with_difference(w, edge, norm2) <= tolerance * scale
    }
}
