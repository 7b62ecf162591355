//! The precision of the models over the nodes, up to the scale that the covariance carries: `R = (I + kappa L) / g`, with `g`
//! the geometric mean of the eigenvalues of `I + kappa L`.
//!
//! `L` is the Laplacian in units of the mean degree, so that `kappa` does not depend on the scale of the weights, and
//! `|R| = 1`, so that the covariance hardly changes while `kappa` is sought. The user's `rho` follows from
//! `(1 - rho) I + rho L_given = (1 - rho) (I + kappa L)`, `kappa = mean degree * rho / (1 - rho)`.

use std::sync::{Arc, Mutex};

use super::system::Plan;
use crate::graph::Graph;
use crate::linalg::selected::Selected;
use crate::linalg::sparse::{Budget, Elimination};

/// What one factorisation of the likelihood may cost.
pub const BUDGET: Budget = Budget { flops: 1e11, fill: 2e8 };

/// The graph in units of its mean degree.
pub struct Network {
    graph: Graph,
    empty: Graph,
    unit: f64,
    plan: Option<Elimination>,
    /// Plans for blocks of some sizes, made when they are first asked for.
    plans: Mutex<Vec<(usize, Arc<Plan>)>>,
}

/// `R` at one `kappa`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision {
    /// `kappa`; 0 where nodes are independent.
    pub kappa: f64,
    /// `log g`.
    level: f64,
    /// Derivative of `log g` by `log kappa`.
    slope: f64,
}

impl Network {
    /// Plans the determinant of `I + kappa L`.
    pub fn new(graph: &Graph) -> Self {
        let degrees: f64 = (0..graph.nodes()).map(|i| graph.weighted_degree(i)).sum();
        Self::in_units(graph, if degrees > 0.0 { degrees / graph.nodes() as f64 } else { 1.0 })
    }

    /// The same for a piece of a graph with this mean degree.
    pub fn in_units(graph: &Graph, unit: f64) -> Self {
        let n = graph.nodes();
        let scaled = |e: usize| {
            let (i, j) = graph.nodes_of(e);
            (i, j, (graph.weight(e) / unit).max(f64::MIN_POSITIVE))
        };
        let edges: Vec<_> = (0..graph.edges()).map(scaled).collect();
        let build = |edges: &[_]| Graph::new(n, edges).expect("the edges of a graph make a graph");
        let (graph, empty) = (build(&edges), build(&[]));
        let plan = if edges.is_empty() { None } else { Elimination::plan_panels(&graph, 1, BUDGET) };
        Network { graph, empty, unit, plan, plans: Mutex::default() }
    }

    /// True if there is something to learn from neighbours, and a factor that fits.
    pub fn is_coupled(&self) -> bool {
        self.plan.is_some()
    }

    /// The plan for blocks of size `p`: the same for all rows of this graph.
    pub fn plan(&self, p: usize) -> Arc<Plan> {
        let mut plans = self.plans.lock().unwrap_or_else(|broken| broken.into_inner());
        if let Some((_, plan)) = plans.iter().find(|(size, _)| *size == p) {
            return plan.clone();
        }
        let plan = Arc::new(Plan::new(self, p));
        plans.push((p, plan.clone()));
        plan
    }

    /// The graph on which `R` lives.
    pub fn graph(&self, kappa: f64) -> &Graph {
        if kappa > 0.0 { &self.graph } else { &self.empty }
    }

    /// `rho` that belongs to `kappa`.
    pub fn rho(&self, kappa: f64) -> f64 {
        kappa / (self.unit + kappa)
    }

    /// `kappa` that belongs to `rho`.
    pub fn kappa(&self, rho: f64) -> f64 {
        if self.is_coupled() { self.unit * rho / (1.0 - rho) } else { 0.0 }
    }

    /// Covariances of this module times this are those of the formula with `rho`.
    pub fn covariance_factor(&self, precision: &Precision) -> f64 {
        (1.0 - self.rho(precision.kappa)) * precision.scale()
    }

    /// `R`; `None` if `kappa` is so large that it is singular.
    pub fn precision(&self, kappa: f64) -> Option<Precision> {
        if kappa <= 0.0 || self.plan.is_none() {
            return Some(Precision::FREE);
        }
        let (log_determinant, trace) = self.log_determinant_and_trace(kappa)?;
        Some(Precision::new(kappa, log_determinant, trace, self.graph.nodes() as f64))
    }

    /// `log |I + kappa L|` and the trace of `(I + kappa L)^-1`; `None` if it is numerically singular.
    pub fn log_determinant_and_trace(&self, kappa: f64) -> Option<(f64, f64)> {
        let Some(plan) = &self.plan else { return Some((0.0, self.graph.nodes() as f64)) };
        let (graph, n) = (&self.graph, self.graph.nodes());
        let mut entries = Vec::with_capacity(graph.edges() + n);
        for j in 0..n {
            let above = graph.ends(j).iter().filter(|end| (end.neighbour as usize) < j);
            entries.extend(above.map(|end| -kappa * graph.weight(end.edge as usize)));
            entries.push(1.0 + kappa * graph.weighted_degree(j));
        }
        let (mut factor, mut inverse) = (Vec::new(), Selected::default());
        if !plan.factor(&entries, &mut factor) {
            return None;
        }
        plan.selected_inverse(&factor, &mut inverse);
        let mut own = [0.0];
        let trace: f64 = (0..n)
            .map(|i| {
                plan.inverse_block(&inverse, 1, i, i, &mut own);
                own[0]
            })
            .sum();
        Some((plan.log_determinant(&factor), trace))
    }
}

impl Precision {
    /// Nodes are independent.
    pub const FREE: Precision = Precision { kappa: 0.0, level: 0.0, slope: 0.0 };

    /// `R` from the log-determinant of `I + kappa L` and the trace of its inverse, over so many nodes.
    pub fn new(kappa: f64, log_determinant: f64, trace: f64, nodes: f64) -> Self {
        // tr((I + kappa L)^-1 kappa L) = n - tr((I + kappa L)^-1).
        Precision { kappa, level: log_determinant / nodes, slope: (nodes - trace) / nodes }
    }

    /// `g`.
    pub fn scale(&self) -> f64 {
        self.level.exp()
    }

    /// `R_ii` of a node with this degree.
    pub fn own(&self, degree: f64) -> f64 {
        (1.0 + self.kappa * degree) * (-self.level).exp()
    }

    /// `R_ij` of an edge with this weight.
    pub fn edge(&self, weight: f64) -> f64 {
        -self.kappa * weight * (-self.level).exp()
    }

    /// Derivative of `R_ii` by `log kappa`.
    pub fn own_slope(&self, degree: f64) -> f64 {
        self.kappa * degree * (-self.level).exp() - self.slope * self.own(degree)
    }

    /// Derivative of `R_ij` by `log kappa`.
    pub fn edge_slope(&self, weight: f64) -> f64 {
        (1.0 - self.slope) * self.edge(weight)
    }
}
