//! Where rows lie in memory: neighbours near each other, so that an iteration streams instead of jumping.
//!
//! Nodes are laid out breadth-first from the smallest node of each component, edges by their first end. Every row is
//! computed from the same rows in the same order as without a layout, so results are the same, bit for bit.

use crate::graph::Graph;
use crate::matrix::{Matrix, axpy};
use crate::unroll::{by_dim, known};

/// One edge as seen from the place of one of its nodes.
#[derive(Clone, Copy)]
pub struct PlacedEnd {
    /// Place of the edge.
    pub edge: u32,
    /// `D_{e,i}`, +1 or -1.
    pub sign: f32,
}

/// Places of nodes and edges.
pub struct Layout {
    /// The node at each place.
    pub node: Vec<u32>,
    /// The edge at each place.
    pub edge: Vec<u32>,
    /// Places of the two nodes of the edge at each place, `(e+, e-)`.
    pub ends: Vec<(u32, u32)>,
    offsets: Vec<u32>,
    at_node: Vec<PlacedEnd>,
}

impl Layout {
    /// The layout of a graph.
    pub fn new(graph: &Graph) -> Self {
        Self::with_order(graph, breadth_first(graph))
    }

    /// The layout that leaves nodes and edges where they are.
    pub fn in_order(graph: &Graph) -> Self {
        Self::with_order(graph, (0..graph.nodes() as u32).collect())
    }

    fn with_order(graph: &Graph, node: Vec<u32>) -> Self {
        let mut place = vec![0u32; node.len()];
        node.iter().enumerate().for_each(|(p, &i)| place[i as usize] = p as u32);
        let of = |e: u32| {
            let (i, j) = graph.nodes_of(e as usize);
            (place[i], place[j])
        };
        let mut edge: Vec<u32> = (0..graph.edges() as u32).collect();
        edge.sort_unstable_by_key(|&e| {
            let (p, q) = of(e);
            (p.min(q), p.max(q))
        });
        let mut edge_place = vec![0u32; edge.len()];
        edge.iter().enumerate().for_each(|(p, &e)| edge_place[e as usize] = p as u32);
        let (mut offsets, mut at_node) = (vec![0u32], Vec::with_capacity(2 * edge.len()));
        for &i in &node {
            // In the order of the graph, so that sums round in the same way.
            let placed =
                |end: &crate::graph::End| PlacedEnd { edge: edge_place[end.edge as usize], sign: end.sign as f32 };
            at_node.extend(graph.ends(i as usize).iter().map(placed));
            offsets.push(at_node.len() as u32);
        }
        Layout { ends: edge.iter().map(|&e| of(e)).collect(), node, edge, offsets, at_node }
    }

    /// The edges at the node of a place.
    pub fn at_node(&self, place: usize) -> &[PlacedEnd] {
        &self.at_node[self.offsets[place] as usize..self.offsets[place + 1] as usize]
    }

    /// `rows_e <- rows_e + c (v_i - v_j)` for the edges at `start` and after.
    pub fn add_differences(&self, start: usize, c: f64, v: &Matrix, rows: &mut [f64]) {
        let (d, v) = (v.cols(), v.as_slice());
        let ends = &self.ends[start..start + rows.len() / d];
        by_dim!(d, add_differences(ends, c, v, d, rows));
    }

    /// `rows_i <- rows_i + c_i (D' u)_i` for the nodes at `start` and after.
    pub fn add_divergence(&self, start: usize, c: impl Fn(usize) -> f64, u: &Matrix, rows: &mut [f64]) {
        let c = &c;
        by_dim!(u.cols(), add_divergence(self, start, c, u, rows));
    }

    /// Rows of nodes or edges in their places.
    pub fn place(rows: &Matrix, of: &[u32]) -> Matrix {
        let mut placed = Matrix::zeros(rows.rows(), rows.cols());
        of.iter().enumerate().for_each(|(p, &i)| placed.row_mut(p).copy_from_slice(rows.row(i as usize)));
        placed
    }

    /// The reverse of [`place`](Layout::place).
    pub fn restore(placed: &Matrix, of: &[u32]) -> Matrix {
        let mut rows = Matrix::zeros(placed.rows(), placed.cols());
        of.iter().enumerate().for_each(|(p, &i)| rows.row_mut(i as usize).copy_from_slice(placed.row(p)));
        rows
    }
}

#[inline(always)]
fn add_differences<const D: usize>(ends: &[(u32, u32)], c: f64, v: &[f64], d: usize, rows: &mut [f64]) {
    let d = known::<D>(d);
    for (&(i, j), row) in ends.iter().zip(rows.chunks_exact_mut(d)) {
        let (a, b) = (&v[i as usize * d..][..d], &v[j as usize * d..][..d]);
        for k in 0..d {
            row[k] += c * (a[k] - b[k]);
        }
    }
}

#[inline(always)]
fn add_divergence<const D: usize>(
    layout: &Layout,
    start: usize,
    c: &impl Fn(usize) -> f64,
    u: &Matrix,
    rows: &mut [f64],
) {
    let d = known::<D>(u.cols());
    for (k, row) in rows.chunks_exact_mut(d).enumerate() {
        add_flows::<D>(layout.at_node(start + k), c(start + k), u.as_slice(), row);
    }
}

#[inline(always)]
fn add_flows<const D: usize>(ends: &[PlacedEnd], c: f64, u: &[f64], row: &mut [f64]) {
    if D == 0 {
        let d = row.len();
        for end in ends {
            axpy(c * f64::from(end.sign), &u[end.edge as usize * d..][..d], row);
        }
        return;
    }
    let mut sum = [0.0; D];
    sum.copy_from_slice(row);
    for end in ends {
        let (c, u) = (c * f64::from(end.sign), &u[end.edge as usize * D..][..D]);
        for k in 0..D {
            sum[k] += c * u[k];
        }
    }
    row.copy_from_slice(&sum);
}

fn breadth_first(graph: &Graph) -> Vec<u32> {
    let mut order = Vec::with_capacity(graph.nodes());
    let mut seen = vec![false; graph.nodes()];
    for root in 0..graph.nodes() {
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        let mut next = order.len();
        order.push(root as u32);
        while let Some(&i) = order.get(next) {
            next += 1;
            for end in graph.ends(i as usize) {
                if !std::mem::replace(&mut seen[end.neighbour as usize], true) {
                    order.push(end.neighbour);
                }
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::generate::erdos_renyi;

    #[test]
    fn every_node_and_edge_has_one_place() {
        let graph = erdos_renyi(60, 0.05, 3).unwrap();
        let layout = Layout::new(&graph);
        let sorted = |v: &[u32]| {
            let mut v = v.to_vec();
            v.sort_unstable();
            v
        };
        assert_eq!(sorted(&layout.node), (0..60).collect::<Vec<u32>>());
        assert_eq!(sorted(&layout.edge), (0..graph.edges() as u32).collect::<Vec<u32>>());
        for p in 0..60 {
            let i = layout.node[p] as usize;
            for (placed, end) in layout.at_node(p).iter().zip(graph.ends(i)) {
                assert_eq!((layout.edge[placed.edge as usize], f64::from(placed.sign)), (end.edge, end.sign));
                let (a, b) = layout.ends[placed.edge as usize];
                assert!([a, b].contains(&(p as u32)));
            }
        }
        let rows = Matrix::from_rows(2, (0..120).map(f64::from).collect());
        assert_eq!(Layout::restore(&Layout::place(&rows, &layout.node), &layout.node), rows);
    }

    /// Also beyond the lengths with code of their own.
    #[test]
    fn differences_and_divergences_are_those_of_the_incidence_map() {
        let graph = erdos_renyi(40, 0.1, 5).unwrap();
        let layout = Layout::new(&graph);
        for d in 1..16 {
            let numbers = |rows: usize, shift: f64| (0..rows * d).map(|k| (k as f64 + shift).sin()).collect();
            let (w, u) = (Matrix::from_rows(d, numbers(40, 0.0)), Matrix::from_rows(d, numbers(graph.edges(), 0.5)));
            let (mut differences, mut divergences) = (u.clone(), w.clone());
            layout.add_differences(0, 0.3, &w, differences.as_mut_slice());
            layout.add_divergence(0, |place| place as f64, &u, divergences.as_mut_slice());
            let (mut t, mut out) = (u.clone(), w.clone());
            for (e, &(i, j)) in layout.ends.iter().enumerate() {
                for k in 0..d {
                    let (i, j) = (i as usize, j as usize);
                    t.row_mut(e)[k] += 0.3 * (w.row(i)[k] - w.row(j)[k]);
                    out.row_mut(i)[k] += i as f64 * u.row(e)[k];
                    out.row_mut(j)[k] -= j as f64 * u.row(e)[k];
                }
            }
            let close = |a: &Matrix, b: &Matrix| {
                a.as_slice().iter().zip(b.as_slice()).all(|(a, b)| (a - b).abs() <= 1e-12 * (1.0 + b.abs()))
            };
            assert!(close(&differences, &t) && close(&divergences, &out), "{d}");
        }
    }
}
