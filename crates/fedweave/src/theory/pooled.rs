//! The clusters of a partition: boundary, pooled minimiser, strong convexity.

use super::Question;
use super::connectivity::eigenvalues;
use crate::graph::partition::Partition;
use crate::linalg::cholesky;
use crate::loss::Loss;
use crate::matrix::{Matrix, axpy, dot, norm2};
use crate::problem::Problem;
use crate::trust::explain::hessians;

/// Newton steps towards a pooled minimiser.
const STEPS_MAX: usize = 60;
const HALVINGS_MAX: usize = 40;

/// A cluster.
#[derive(Debug, Clone)]
pub(super) struct Cluster {
    pub nodes: Vec<usize>,
    /// The weight of the edges that leave it.
    pub boundary: f64,
    /// Minimises the sum of the losses, nearly.
    pub minimiser: Vec<f64>,
    /// The gradient of that sum there.
    pub remainder: f64,
    /// Strong convexity of that sum, in the Euclidean norm; 0 if none is known.
    pub alpha: f64,
}

impl Cluster {
    /// The mean of its rows of `w`.
    pub fn mean(&self, w: &Matrix) -> Vec<f64> {
        let mut mean = vec![0.0; w.cols()];
        self.nodes.iter().for_each(|&i| axpy(1.0 / self.nodes.len() as f64, w.row(i), &mut mean));
        mean
    }

    /// The largest distance of its models from `centre`.
    pub fn spread(&self, w: &Matrix, centre: &[f64]) -> f64 {
        self.nodes.iter().map(|&i| distance(w.row(i), centre)).fold(0.0, f64::max)
    }

    /// `sum |w_i - mean|^2`.
    pub fn variation(&self, w: &Matrix) -> f64 {
        let mean = self.mean(w);
        self.nodes.iter().map(|&i| distance(w.row(i), &mean).powi(2)).sum()
    }

    /// `sum_i L_i(w)`.
    pub fn loss(&self, loss: &dyn Loss, w: &[f64]) -> f64 {
        self.nodes.iter().map(|&i| loss.value(i, w)).sum()
    }
}

pub(super) fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// The nodes of every part.
pub(super) fn members(partition: &Partition) -> Vec<Vec<usize>> {
    let mut nodes = vec![Vec::new(); partition.len()];
    (0..partition.nodes()).for_each(|i| nodes[partition.part(i)].push(i));
    nodes
}

/// The clusters of the partition asked about; says why pooled minimisers cannot be found.
pub(super) fn clusters(question: &Question) -> Result<Vec<Cluster>, String> {
    let Question { problem, w, partition, .. } = *question;
    let mut boundary = vec![0.0; partition.len()];
    for e in 0..problem.graph().edges() {
        let (i, j) = problem.graph().nodes_of(e);
        let (a, b) = (partition.part(i), partition.part(j));
        if a != b {
            boundary[a] += problem.graph().weight(e);
            boundary[b] += problem.graph().weight(e);
        }
    }
    let of = |(nodes, boundary): (Vec<usize>, f64)| cluster(problem, w, nodes, boundary);
    members(partition).into_iter().zip(boundary).map(of).collect()
}

fn cluster(problem: &Problem, w: &Matrix, nodes: Vec<usize>, boundary: f64) -> Result<Cluster, String> {
    let start = Cluster { nodes, boundary, minimiser: Vec::new(), remainder: 0.0, alpha: 0.0 };
    let (minimiser, remainder) = minimise(problem, &start.nodes, start.mean(w))?;
    let alpha = convexity(problem, &start.nodes, w)?;
    Ok(Cluster { minimiser, remainder, alpha, ..start })
}

/// Minimises the sum of the losses of some nodes by damped Newton steps; also returns the length of the gradient.
pub(super) fn minimise(problem: &Problem, nodes: &[usize], mut at: Vec<f64>) -> Result<(Vec<f64>, f64), String> {
    let (loss, d) = (problem.loss(), problem.dim());
    let second = loss.second_order().filter(|s| !s.has_kinks()).ok_or("about losses without kinks")?;
    let value = |w: &[f64]| nodes.iter().map(|&i| loss.value(i, w)).sum::<f64>();
    let (mut packed, mut work, mut one) =
        (vec![0.0; cholesky::packed_len(d)], vec![0.0; loss.work_len()], vec![0.0; d]);
    let (mut g, mut best) = (vec![0.0; d], (at.clone(), f64::INFINITY));
    for _ in 0..STEPS_MAX {
        g.fill(0.0);
        packed.fill(0.0);
        for &i in nodes.iter().filter(|&&i| loss.has_rows(i)) {
            loss.gradient(i, &at, &mut one);
            axpy(1.0, &one, &mut g);
            let mut own = vec![0.0; second.hessian_len(i)];
            second.hessian(i, &at, &mut own, &mut work);
            second.add_hessian(i, &own, &mut packed);
        }
        let size = norm2(&g);
        let settled = size >= best.1 && size <= 1e-9 * (1.0 + value(&at).abs());
        if size < best.1 {
            best = (at.clone(), size);
        }
        if settled || size == 0.0 {
            break;
        }
        let trace: f64 = (0..d).map(|j| cholesky::row(&packed, j)[j]).sum();
        (0..d).for_each(|j| packed[cholesky::packed_len(j) + j] += 1e-14 * trace + f64::MIN_POSITIVE);
        cholesky::factor(&mut packed, d);
        let mut step = g.clone();
        cholesky::solve(&packed, &mut step);
        let (before, slope, mut length) = (value(&at), dot(&step, &g), 1.0);
        let ahead = |length: f64| at.iter().zip(&step).map(|(w, s)| w - length * s).collect::<Vec<f64>>();
        for _ in 0..HALVINGS_MAX {
            if value(&ahead(length)) <= before - 1e-4 * length * slope + 1e-14 * before.abs() {
                break;
            }
            length *= 0.5;
        }
        at = ahead(length);
    }
    match best.1.is_finite() {
        true => Ok(best),
        false => Err("a pooled minimiser was not found".into()),
    }
}

/// Strong convexity of the sum of the losses of some nodes: by the sum of the Hessians where these are constant, else by the sum
/// of what is known of every node.
fn convexity(problem: &Problem, nodes: &[usize], w: &Matrix) -> Result<f64, String> {
    let (loss, d) = (problem.loss(), problem.dim());
    if !loss.is_quadratic() {
        return Ok(nodes.iter().filter(|&&i| loss.has_rows(i)).map(|&i| loss.curvature(i).mu).sum());
    }
    let all = hessians(problem, w).ok_or("about losses with Hessians")?;
    let mut sum = vec![0.0; d * d];
    nodes.iter().for_each(|&i| axpy(1.0, &all[i * d * d..][..d * d], &mut sum));
    let values = eigenvalues(&sum, d).ok_or("eigenvalues did not converge")?;
    // Not above the true one.
    Ok((values[0] - 1e-13 * d as f64 * values[d - 1]).max(0.0))
}
