//! The posterior of the models in units of their own spread: `w_i = mu + Lambda u_i`, `u ~ N(0, s2 (R (x) I)^-1)`, where
//! `s2 Lambda Lambda'` is the covariance. Given the rows, `u` has the precision `K / s2`,
//!
//! ```text
//! K = R (x) I + blockdiag(Lambda' A_i Lambda),
//! ```
//!
//! which is well conditioned also where a coefficient does not vary at all (a zero row of `Lambda`).

use super::dense::{add_product, transposed};
use super::network::{BUDGET, Network, Precision};
use crate::linalg::selected::Selected;
use crate::linalg::sparse::Elimination;
use crate::matrix::dot;

/// A square root of the covariance: `d x p`, row after row.
#[derive(Debug, Clone, PartialEq)]
pub struct Root {
    /// Rows: parameters of a node.
    pub d: usize,
    /// Columns: directions in which nodes differ.
    pub p: usize,
    /// The entries.
    pub entries: Vec<f64>,
}

/// Eliminations of `K` with and without edges, for blocks of one size.
pub struct Plan {
    p: usize,
    coupled: Option<Elimination>,
    free: Option<Elimination>,
}

impl Plan {
    /// Plans for blocks of size `p`.
    pub fn new(network: &Network, p: usize) -> Self {
        let plan = |kappa| Elimination::plan_panels(network.graph(kappa), p, BUDGET);
        Plan { p, coupled: if network.is_coupled() { plan(1.0) } else { None }, free: plan(0.0) }
    }

    /// Plans for a part of a network, which may be coupled although this part of it has no edges.
    pub fn of_part(network: &Network, p: usize) -> Self {
        let plan = |kappa| Elimination::plan_panels(network.graph(kappa), p, BUDGET);
        Plan { p, coupled: plan(1.0), free: plan(0.0) }
    }

    /// True if `K` with edges has a factor that fits.
    pub fn is_coupled(&self) -> bool {
        self.coupled.is_some()
    }

    fn elimination(&self, kappa: f64) -> Option<&Elimination> {
        if kappa > 0.0 { self.coupled.as_ref() } else { self.free.as_ref() }
    }
}

/// A factor of `K` and what it was made of.
pub struct System<'a> {
    network: &'a Network,
    elimination: &'a Elimination,
    /// `R`.
    pub precision: Precision,
    /// `Lambda`.
    pub root: Root,
    /// `A_i Lambda`, `d x p`, node after node.
    pub spread: Vec<f64>,
    factor: Vec<f64>,
    inverse: Selected,
}

impl<'a> System<'a> {
    /// Factors `K` for forms `A_i` (`d x d`, node after node); `None` if it is not numerically positive definite.
    pub fn new(network: &'a Network, plan: &'a Plan, forms: &[f64], root: Root, precision: Precision) -> Option<Self> {
        let elimination = plan.elimination(precision.kappa)?;
        let (d, p, n) = (root.d, root.p, network.graph(precision.kappa).nodes());
        assert_eq!((plan.p, forms.len()), (p, n * d * d), "a plan and forms of this size");
        let mut spread = vec![0.0; n * d * p];
        for (form, out) in forms.chunks_exact(d * d).zip(spread.chunks_exact_mut(d * p)) {
            add_product(form, &root.entries, d, d, p, out);
        }
        let mut system =
            System { network, elimination, precision, root, spread, factor: Vec::new(), inverse: Selected::default() };
        let entries = system.entries();
        let fine = entries.iter().all(|v| v.is_finite()) && elimination.factor(&entries, &mut system.factor);
        fine.then_some(system)
    }

    fn entries(&self) -> Vec<f64> {
        let (graph, Root { d, p, entries: root }) = (self.network.graph(self.precision.kappa), &self.root);
        let (d, p, across) = (*d, *p, transposed(root, *d, *p));
        let mut entries = Vec::with_capacity(self.elimination.entries());
        let mut own = vec![0.0; p * p];
        for j in 0..graph.nodes() {
            own.fill(0.0);
            add_product(&across, &self.spread[j * d * p..(j + 1) * d * p], p, d, p, &mut own);
            let diagonal = self.precision.own(graph.weighted_degree(j));
            (0..p).for_each(|a| own[a * p + a] += diagonal);
            for b in 0..p {
                for end in graph.ends(j).iter().filter(|end| (end.neighbour as usize) < j) {
                    let value = self.precision.edge(graph.weight(end.edge as usize));
                    entries.extend((0..p).map(|a| if a == b { value } else { 0.0 }));
                }
                entries.extend_from_slice(&own[b * p..=b * p + b]);
            }
        }
        entries
    }

    /// `log |K|`.
    pub fn log_determinant(&self) -> f64 {
        self.elimination.log_determinant(&self.factor)
    }

    /// `x <- K^-1 x` for so many columns one after another, each with `p` entries per node.
    pub fn solve(&self, x: &mut [f64], columns: usize) {
        self.elimination.solve(&self.factor, x, columns);
    }

    /// Computes the blocks of `K^-1` on the pattern of `R`.
    pub fn invert(&mut self) {
        self.elimination.selected_inverse(&self.factor, &mut self.inverse);
    }

    /// `out <- (K^-1)_ij`, after [`invert`](System::invert), for neighbours or `i = j`.
    pub fn block(&self, i: usize, j: usize, out: &mut [f64]) {
        self.elimination.inverse_block(&self.inverse, self.root.p, i, j, out);
    }

    /// Calls `f(i, j, R_ij, dR_ij / dlog kappa)` for all entries of the lower triangle.
    pub fn for_entries(&self, mut f: impl FnMut(usize, usize, f64, f64)) {
        let graph = self.network.graph(self.precision.kappa);
        for i in 0..graph.nodes() {
            let degree = graph.weighted_degree(i);
            f(i, i, self.precision.own(degree), self.precision.own_slope(degree));
            for end in graph.ends(i).iter().filter(|end| (end.neighbour as usize) < i) {
                let weight = graph.weight(end.edge as usize);
                f(i, end.neighbour as usize, self.precision.edge(weight), self.precision.edge_slope(weight));
            }
        }
    }
}

/// `u' (R (x) I) u` for `u` with `p` entries per node.
pub fn energy(network: &Network, precision: &Precision, u: &[f64], p: usize) -> f64 {
    let graph = network.graph(precision.kappa);
    let row = |i: usize| &u[i * p..(i + 1) * p];
    let own = |i: usize| precision.own(graph.weighted_degree(i)) * dot(row(i), row(i));
    let edge = |e: usize| {
        let (i, j) = graph.nodes_of(e);
        2.0 * precision.edge(graph.weight(e)) * dot(row(i), row(j))
    };
    (0..graph.nodes()).map(own).sum::<f64>() + (0..graph.edges()).map(edge).sum::<f64>()
}
