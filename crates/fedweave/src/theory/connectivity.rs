//! Eigenvalues of Laplacians, of a graph or of a cluster of it, on the safe side; Proposition 7.1 of the book.

use super::{Comparison, Finding};
use crate::graph::{Graph, laplacian_extremes};

/// Larger graphs are not looked at with all eigenvalues.
const DENSE_MAX: usize = 800;

/// The second smallest eigenvalue of a weighted Laplacian, not above the true one, and the largest, not below it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Connectivity {
    pub lambda_2: f64,
    pub lambda_n: f64,
}

impl Connectivity {
    /// Of the whole graph.
    pub fn of(graph: &Graph) -> Self {
        if graph.nodes() < 2 {
            return Connectivity { lambda_2: 0.0, lambda_n: 0.0 };
        }
        if graph.nodes() <= DENSE_MAX {
            return dense(graph);
        }
        match laplacian_extremes(graph) {
            // Some eigenvalue is as near as the residual, and these are extreme up to what iterations can see.
            Ok(s) => Connectivity {
                lambda_2: (s.lambda_2 - s.residual_2).max(0.0),
                lambda_n: (s.lambda_n + s.residual_n).min(2.0 * degree_max(graph)),
            },
            Err(_) => Connectivity { lambda_2: 0.0, lambda_n: 2.0 * degree_max(graph) },
        }
    }

    /// Of the graph that some nodes and the edges between them make.
    pub fn within(graph: &Graph, nodes: &[usize]) -> Self {
        let mut place = vec![usize::MAX; graph.nodes()];
        nodes.iter().enumerate().for_each(|(p, &i)| place[i] = p);
        let inside = |e: usize| {
            let (i, j) = graph.nodes_of(e);
            (place[i] != usize::MAX && place[j] != usize::MAX).then(|| (place[i], place[j], graph.weight(e)))
        };
        let edges: Vec<_> = (0..graph.edges()).filter_map(inside).collect();
        Graph::new(nodes.len(), &edges).map_or(Connectivity { lambda_2: 0.0, lambda_n: 0.0 }, |g| Connectivity::of(&g))
    }
}

fn dense(graph: &Graph) -> Connectivity {
    let n = graph.nodes();
    let mut laplacian = vec![0.0; n * n];
    for e in 0..graph.edges() {
        let ((i, j), a) = (graph.nodes_of(e), graph.weight(e));
        laplacian[i * n + i] += a;
        laplacian[j * n + j] += a;
        laplacian[i * n + j] -= a;
        laplacian[j * n + i] -= a;
    }
    let Some(values) = eigenvalues(&laplacian, n) else {
        return Connectivity { lambda_2: 0.0, lambda_n: 2.0 * degree_max(graph) };
    };
    let slack = 1e-13 * n as f64 * values[n - 1].abs();
    // What rounding cannot tell from zero is zero.
    let lambda_2 = (values[1] - slack).max(0.0);
    Connectivity { lambda_2, lambda_n: values[n - 1] + slack }
}

/// All eigenvalues of a symmetric matrix, in increasing order.
pub(super) fn eigenvalues(a: &[f64], n: usize) -> Option<Vec<f64>> {
    // One thread: results must not depend on their number.
    faer::set_global_parallelism(faer::Par::Seq);
    let mut values = faer::Mat::from_fn(n, n, |i, j| a[i * n + j]).self_adjoint_eigenvalues(faer::Side::Lower).ok()?;
    values.sort_by(f64::total_cmp);
    Some(values)
}

/// The largest weighted degree.
pub(super) fn degree_max(graph: &Graph) -> f64 {
    (0..graph.nodes()).map(|i| graph.weighted_degree(i)).fold(0.0, f64::max)
}

/// Proposition 7.1.
pub(super) fn finding(graph: &Graph) -> Finding {
    Finding::new("Prop. 7.1", "lambda_2 of the Laplacian", proposition_7_1(graph, Connectivity::of(graph)))
}

pub(super) fn proposition_7_1(graph: &Graph, connectivity: Connectivity) -> Result<Comparison, String> {
    let n = graph.nodes();
    if n < 2 {
        return Err("there is one node".into());
    }
    let smallest = (0..n).map(|i| graph.weighted_degree(i)).fold(f64::INFINITY, f64::min);
    Ok(Comparison::at_most(connectivity.lambda_2, n as f64 / (n as f64 - 1.0) * smallest, 0.0))
}
