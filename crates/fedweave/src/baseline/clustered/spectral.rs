//! Nodes as points: the first eigenvectors of the normalised Laplacian.

use rand::RngExt;

use crate::graph::Graph;
use crate::linalg::jacobi;
use crate::matrix::{Matrix, axpy, dot};
use crate::random::{Purpose, stream};

/// Up to so many nodes all eigenvectors are found, beyond only some, by orthogonal iterations.
const DENSE_MAX: usize = 400;
const ITERATIONS: usize = 600;

/// The `count` eigenvectors of the normalised Laplacian that vary least over edges, as columns; each row has length 1.
pub fn embedding(graph: &Graph, count: usize) -> Matrix {
    let n = graph.nodes();
    let count = count.min(n);
    let mut degree = vec![0.0; n];
    for e in 0..graph.edges() {
        let (i, j) = graph.nodes_of(e);
        degree[i] += graph.weight(e);
        degree[j] += graph.weight(e);
    }
    let root: Vec<f64> = degree.iter().map(|d: &f64| if *d > 0.0 { 1.0 / d.sqrt() } else { 0.0 }).collect();
    let columns = if n <= DENSE_MAX { all(graph, &root, count) } else { some(graph, &root, count) };
    let mut points = Matrix::zeros(n, count);
    for i in 0..n {
        let row: Vec<f64> = columns.iter().map(|v| v[i]).collect();
        let size = dot(&row, &row).sqrt();
        let unit = row.iter().map(|x| if size > 0.0 { x / size } else { 0.0 });
        points.row_mut(i).iter_mut().zip(unit).for_each(|(p, x)| *p = x);
    }
    points
}

fn all(graph: &Graph, root: &[f64], count: usize) -> Vec<Vec<f64>> {
    let n = graph.nodes();
    let mut a = vec![0.0; n * n];
    (0..n).for_each(|i| a[i * n + i] = 1.0);
    for e in 0..graph.edges() {
        let (i, j) = graph.nodes_of(e);
        let entry = graph.weight(e) * root[i] * root[j];
        a[i * n + j] -= entry;
        a[j * n + i] -= entry;
    }
    let vectors = jacobi::eigen(&mut a, n);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&p, &q| a[p * n + p].total_cmp(&a[q * n + q]));
    order[..count].iter().map(|&k| vectors[k * n..(k + 1) * n].to_vec()).collect()
}

/// Powers of `(2 I - L) / 2`, kept orthogonal.
fn some(graph: &Graph, root: &[f64], count: usize) -> Vec<Vec<f64>> {
    let n = graph.nodes();
    let start = |k: usize| {
        let mut random = stream(0, Purpose::StartVector, k);
        (0..n).map(|_| random.random::<f64>() - 0.5).collect::<Vec<f64>>()
    };
    let mut vectors: Vec<Vec<f64>> = (0..count).map(start).collect();
    for _ in 0..ITERATIONS {
        for v in &mut vectors {
            let mut next: Vec<f64> = v.iter().map(|x| 0.5 * x).collect();
            for e in 0..graph.edges() {
                let (i, j) = graph.nodes_of(e);
                let entry = 0.5 * graph.weight(e) * root[i] * root[j];
                next[i] += entry * v[j];
                next[j] += entry * v[i];
            }
            *v = next;
        }
        orthogonal(&mut vectors);
    }
    vectors
}

fn orthogonal(vectors: &mut [Vec<f64>]) {
    for k in 0..vectors.len() {
        let (before, rest) = vectors.split_at_mut(k);
        let v = &mut rest[0];
        before.iter().for_each(|b| axpy(-dot(b, v), b, v));
        let size = dot(v, v).sqrt().max(f64::MIN_POSITIVE);
        v.iter_mut().for_each(|x| *x /= size);
    }
}
