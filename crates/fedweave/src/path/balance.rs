//! Flows with a given divergence: small ones by the Laplacian, exact ones by a spanning tree.

use crate::graph::Graph;
use crate::matrix::{Matrix, axpy, dot};

/// Steps of conjugate gradients before the tree has the last word.
const STEPS_MAX: usize = 500;

/// Changes the flows `u` so that `(D'u)_i = demand_i` at all nodes, exactly but for rounding. The demands of a component must
/// add up to zero. The change is nearly the smallest in `sum_e |c_e|^2 / A_e^2`.
pub(crate) fn balance(graph: &Graph, u: &mut Matrix, demand: &Matrix) {
    let potential = potentials(graph, &defect(graph, u, demand), demand);
    for e in 0..graph.edges() {
        let ((i, j), a) = (graph.nodes_of(e), graph.weight(e));
        axpy(a * a, potential.row(i), u.row_mut(e));
        axpy(-a * a, potential.row(j), u.row_mut(e));
    }
    let mut left = defect(graph, u, demand);
    along_tree(graph, u, &mut left);
}

/// `demand - D'u`.
fn defect(graph: &Graph, u: &Matrix, demand: &Matrix) -> Matrix {
    let mut left = demand.clone();
    for e in 0..graph.edges() {
        let (i, j) = graph.nodes_of(e);
        axpy(-1.0, u.row(e), left.row_mut(i));
        axpy(1.0, u.row(e), left.row_mut(j));
    }
    left
}

/// `p` with `D' A^2 D p = b`, by conjugate gradients, up to rounding of numbers like those in `scale`.
fn potentials(graph: &Graph, b: &Matrix, scale: &Matrix) -> Matrix {
    let (mut x, mut r) = (Matrix::zeros(b.rows(), b.cols()), b.clone());
    let diagonal: Vec<f64> = (0..graph.nodes())
        .map(|i| graph.ends(i).iter().map(|end| graph.weight(end.edge as usize).powi(2)).sum::<f64>())
        .collect();
    let precondition = |r: &Matrix| {
        let mut z = r.clone();
        for (i, d) in diagonal.iter().enumerate().filter(|(_, d)| **d > 0.0) {
            z.row_mut(i).iter_mut().for_each(|z| *z /= d);
        }
        z
    };
    let mut z = precondition(&r);
    let mut p = z.clone();
    let mut rz = dot(r.as_slice(), z.as_slice());
    // Beyond, what is left need not add up to zero any more, and the system has no solution.
    let stop = 1e-24 * dot(scale.as_slice(), precondition(scale).as_slice());
    for _ in 0..STEPS_MAX {
        let lp = laplacian(graph, &p);
        let curvature = dot(p.as_slice(), lp.as_slice());
        if rz <= stop || curvature <= 0.0 {
            break;
        }
        let length = rz / curvature;
        axpy(length, p.as_slice(), x.as_mut_slice());
        axpy(-length, lp.as_slice(), r.as_mut_slice());
        z = precondition(&r);
        let next = dot(r.as_slice(), z.as_slice());
        p.as_mut_slice().iter_mut().zip(z.as_slice()).for_each(|(p, z)| *p = z + next / rz * *p);
        rz = next;
    }
    x
}

/// `D' A^2 D p`.
fn laplacian(graph: &Graph, p: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(p.rows(), p.cols());
    for i in 0..graph.nodes() {
        for end in graph.ends(i) {
            let a2 = graph.weight(end.edge as usize).powi(2);
            axpy(a2, p.row(i), out.row_mut(i));
            axpy(-a2, p.row(end.neighbour as usize), out.row_mut(i));
        }
    }
    out
}

/// Sends what is left at each node to its parent in a breadth-first tree, from the leaves to the root.
fn along_tree(graph: &Graph, u: &mut Matrix, left: &mut Matrix) {
    let mut parent: Vec<Option<(usize, usize, f64)>> = vec![None; graph.nodes()];
    let mut seen = vec![false; graph.nodes()];
    let mut order = Vec::with_capacity(graph.nodes());
    for root in 0..graph.nodes() {
        let mut next = order.len();
        if !std::mem::replace(&mut seen[root], true) {
            order.push(root);
        }
        while next < order.len() {
            let i = order[next];
            next += 1;
            for end in graph.ends(i) {
                let j = end.neighbour as usize;
                if !std::mem::replace(&mut seen[j], true) {
                    // The edge as seen from the child has the other sign.
                    parent[j] = Some((i, end.edge as usize, -end.sign));
                    order.push(j);
                }
            }
        }
    }
    for &child in order.iter().rev() {
        let Some((up, edge, sign)) = parent[child] else { continue };
        let row = left.row(child).to_vec();
        axpy(sign, &row, u.row_mut(edge));
        axpy(1.0, &row, left.row_mut(up));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::generate::{erdos_renyi, grid};
    use crate::graph::partition::Partition;

    #[test]
    fn flows_meet_their_demands() {
        for graph in [grid(5, 7).unwrap(), erdos_renyi(40, 0.05, 3).unwrap()] {
            let (n, components) = (graph.nodes(), Partition::components(&graph));
            let mut demand = Matrix::from_rows(2, (0..2 * n).map(|k| ((k * k) % 17) as f64 - 8.0).collect());
            let sizes = components.sizes();
            for part in 0..components.len() {
                let nodes: Vec<usize> = (0..n).filter(|&i| components.part(i) == part).collect();
                let mut mean = [0.0; 2];
                nodes.iter().for_each(|&i| axpy(1.0 / sizes[part] as f64, demand.row(i), &mut mean));
                nodes.iter().for_each(|&i| axpy(-1.0, &mean, demand.row_mut(i)));
            }
            let mut u = Matrix::zeros(graph.edges(), 2);
            balance(&graph, &mut u, &demand);
            assert!(defect(&graph, &u, &demand).max_row_norm() < 1e-12);
        }
    }
}
