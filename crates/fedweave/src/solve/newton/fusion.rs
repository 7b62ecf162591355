//! Fusion: nodes joined by edges whose flows are strictly inside their balls have the same model. Merged, they leave a much
//! smaller problem, whose answer is a better point than the iterate that suggested the merge.
//!
//! The merge is decided on the flows, not on a threshold for differences of models, and it is a suggestion: the answer
//! is judged by objective and certificate like any other point, so a wrong merge costs time, never correctness, and the next
//! suggestion may split what this one merged.

use super::Newton;
use super::terms::{Fused, Members, Terms};
use super::wide::{Wide, is_wide};
use crate::graph::Graph;
use crate::graph::partition::Partition;
use crate::matrix::{Matrix, axpy};
use crate::problem::Problem;
use crate::solve::tuning::FUSION_FACTOR_WORTH;

/// The augmented Lagrangian replaces a norm by a parabola nearer to zero than `weight / sigma`: so much nearer than the
/// differences it meets.
const SHARP: f64 = 1e3;

/// Parts that meet are merged so often.
const MERGES_MAX: usize = 3;

/// How much work a fused problem is worth.
#[derive(Debug, Clone, Copy)]
pub struct FusionEffort {
    /// In iterations of the whole problem.
    pub iterations: f64,
    /// Newton steps for the same flows.
    pub steps: usize,
}

impl FusionEffort {
    /// So many iterations of the whole problem.
    pub fn iterations(iterations: f64) -> Self {
        FusionEffort { iterations, steps: 30 }
    }
}

/// Minimises `F` over models that are equal inside the parts, from the means of `w`, until a Newton step promises less
/// than `decrease_min` or the work exceeds `effort`. Parts that meet on the way are merged.
pub fn minimise_fused(
    problem: &Problem,
    w: &Matrix,
    partition: &Partition,
    decrease_min: f64,
    effort: FusionEffort,
) -> Matrix {
    let (mut w, mut partition) = (means(w, partition), partition.clone());
    for _ in 0..=MERGES_MAX {
        let (models, merged) = minimise_parts(problem, w, &partition, decrease_min, effort);
        if merged.len() == partition.len() {
            return spread(&models, &partition);
        }
        let parts: Vec<usize> = (0..problem.nodes()).map(|i| merged.part(partition.part(i))).collect();
        let coarser = Partition::of_labels(&parts);
        w = means(&spread(&models, &partition), &coarser);
        partition = coarser;
    }
    spread(&w, &partition)
}

/// The models of the parts, from `start`, and which parts have met.
fn minimise_parts(
    problem: &Problem,
    start: Matrix,
    partition: &Partition,
    decrease_min: f64,
    effort: FusionEffort,
) -> (Matrix, Partition) {
    let reduced = quotient(problem, partition);
    let members = Members::of(partition, problem.nodes());
    let terms: Box<dyn Terms> = match is_wide(problem.loss(), &members) {
        true => Box::new(Wide::new(problem.loss(), &members)),
        false => Box::new(Fused::new(problem.loss(), &members, &start)),
    };
    let sigma = SHARP * steepness(&reduced, &start);
    let u = Matrix::zeros(reduced.edges(), problem.dim());
    let mut newton =
        Newton::new(&*terms, problem.penalty(), &reduced, reduced.weights(), FUSION_FACTOR_WORTH, start, u, sigma, 0.0);
    let work_max = (effort.iterations * problem.nodes() as f64 / partition.len() as f64) as usize;
    // The flows that belong to the differences at the start, then those at what these lead to.
    for _ in 0..2 {
        newton.update(sigma);
        newton.minimise_to(decrease_min, effort.steps, work_max);
    }
    let fused = newton.fused();
    (newton.w().clone(), Partition::of_edges(&reduced, |e| fused[e]))
}

/// `w` with the models of every part replaced by their mean.
pub fn averaged(w: &Matrix, partition: &Partition) -> Matrix {
    spread(&means(w, partition), partition)
}

/// Every node gets the model of its part.
fn spread(models: &Matrix, partition: &Partition) -> Matrix {
    let mut out = Matrix::zeros(partition.nodes(), models.cols());
    (0..partition.nodes()).for_each(|i| out.row_mut(i).copy_from_slice(models.row(partition.part(i))));
    out
}

/// The mean model of every part.
fn means(w: &Matrix, partition: &Partition) -> Matrix {
    let (sizes, mut means) = (partition.sizes(), Matrix::zeros(partition.len(), w.cols()));
    for i in 0..w.rows() {
        let part = partition.part(i);
        axpy(1.0 / sizes[part] as f64, w.row(i), means.row_mut(part));
    }
    means
}

/// The graph of the parts; weights (with `lambda` in them) of parallel edges are added up.
fn quotient(problem: &Problem, partition: &Partition) -> Graph {
    let graph = problem.graph();
    let parts_of = |e: usize| {
        let (i, j) = graph.nodes_of(e);
        (partition.part(i), partition.part(j))
    };
    let cut = (0..graph.edges()).map(|e| (parts_of(e), e)).filter(|((a, b), _)| a != b);
    let mut cut: Vec<(usize, usize, f64)> =
        cut.map(|((a, b), e)| (a.min(b), a.max(b), problem.edge_weights()[e])).collect();
    // Stable: parallel edges are added in the order of the graph.
    cut.sort_by_key(|edge| (edge.0, edge.1));
    cut.dedup_by(|next, kept| {
        let parallel = (next.0, next.1) == (kept.0, kept.1);
        if parallel {
            kept.2 += next.2;
        }
        parallel
    });
    Graph::new(partition.len(), &cut).expect("the parts of a graph make a graph")
}

/// The median of `weight / |difference|` over the edges.
fn steepness(graph: &Graph, w: &Matrix) -> f64 {
    let of = |e: usize| {
        let (i, j) = graph.nodes_of(e);
        let distance2: f64 = w.row(i).iter().zip(w.row(j)).map(|(a, b)| (a - b) * (a - b)).sum();
        graph.weight(e) / distance2.sqrt().max(f64::MIN_POSITIVE)
    };
    let mut all: Vec<f64> = (0..graph.edges()).map(of).collect();
    if all.is_empty() {
        return 1.0;
    }
    let middle = all.len() / 2;
    *all.select_nth_unstable_by(middle, f64::total_cmp).1
}
