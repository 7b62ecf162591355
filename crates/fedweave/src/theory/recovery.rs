//! Theorems 1 to 4 of *Personalized Federated Learning via Convex Clustering*, the first two for any graph.
//!
//! For clusters `C_k` of `n_k` nodes let `w_k` minimise the problem in which every cluster has one model. Boundary edges then pull
//! node `i` of `C_k` with `b_i = lambda sum_{j not in C_k} A_ij r_kl`, `r_kl` the direction of `w_k - w_l`.
//!
//! * Theorem 1: if flows inside clusters meet the demands `-grad L_i(w_k) - b_i` with `|u_e| <= lambda A_e`, the clustered point is
//!   optimal. The flows tried are the shortest in `sum |u_e|^2 / A_e^2`; on the complete graph with unit weights these are
//!   `(grad L_j - grad L_i) / n_k`, which is the condition of the paper.
//! * Theorem 2: with `g_k` the mean loss of `C_k` and `L` a smoothness constant of it,
//!   `L |w_k - w_l| >= |grad g_k(w_k) - grad g_l(w_k)| - lambda (|dC_k| / n_k + |dC_l| / n_l)`. On the complete graph
//!   `|dC_k| / n_k` is the number of nodes outside.
//! * Theorems 3 and 4 are about losses whose gradients differ by constants: quadratic ones with the same Hessian everywhere.

use super::pooled::{distance, members, minimise};
use super::{Comparison, Finding, Question, tightest};
use crate::graph::Graph;
use crate::graph::partition::Partition;
use crate::matrix::{Matrix, axpy, norm2};
use crate::path::balance;
use crate::problem::Problem;
use crate::solve::newton::{FusionEffort, minimise_fused};
use crate::trust::explain::hessians;

/// Objectives that are equal up to this share are equal: what the minimiser of the clustered problem, and rounding, leave.
const EQUAL: f64 = 1e-8;
/// Clusters are apart if their models are, relative to the largest.
const APART: f64 = 1e-6;
/// Pairs of nodes of which all are looked at.
const PAIRS_MAX: usize = 4_000_000;

pub(super) fn findings(question: &Question) -> Vec<Finding> {
    let clustered = Clustered::new(question);
    let with = |f: fn(&Question, &Clustered) -> Result<Comparison, String>| {
        f(question, clustered.as_ref().map_err(String::clone)?)
    };
    let constant = Constant::new(question);
    let from = |f: fn(&Question, &Constant) -> Result<Comparison, String>| {
        f(question, constant.as_ref().map_err(String::clone)?)
    };
    vec![
        Finding::new("clustering Theorem 1", "objective of the clustered point, which is optimal", with(theorem_1)),
        Finding::new("clustering Theorem 2", "distance of two clusters' models", with(theorem_2)),
        Finding::new("clustering Theorem 3", "lambda within its interval: objective of the clustered point", {
            clustered.as_ref().map_err(String::clone).and_then(|c| theorem_3(question, c, &constant))
        }),
        Finding::new("clustering Theorem 4", "distance of two nodes' own models in a cluster", from(theorem_4_inside)),
        Finding::new(
            "clustering Theorem 4",
            "distance of two nodes' own models between clusters",
            from(theorem_4_between),
        ),
    ]
}

/// The clustered minimiser and the two conditions.
pub(super) struct Clustered {
    /// Of every node.
    pub w: Matrix,
    /// The flows inside clusters need a `lambda` as large as this.
    pub needed: f64,
    /// What `|sum of a cluster's gradients and boundary flows|` is at most: not zero by what the minimiser is off.
    pub off: f64,
}

impl Clustered {
    pub fn new(question: &Question) -> Result<Self, String> {
        let Question { problem, partition, .. } = *question;
        if problem.penalty().name() != "norm2" || problem.lambda() == 0.0 {
            return Err("about the penalty norm2 with a positive lambda".into());
        }
        if !problem.loss().has_hessian() {
            return Err("about losses without kinks".into());
        }
        if !(2..problem.nodes()).contains(&partition.len()) {
            return Err("about at least two clusters, not all of single nodes".into());
        }
        let w = minimise_fused(problem, question.w, partition, 0.0, FusionEffort::iterations(f64::INFINITY));
        let models = distinct(&w, partition)?;
        let demand = demands(problem, &models, partition);
        let (needed, off) = flows_needed(problem, &demand, partition);
        Ok(Clustered { w, needed, off })
    }
}

/// The models of the clusters, which must not have met.
fn distinct(w: &Matrix, partition: &Partition) -> Result<Matrix, String> {
    let mut models = Matrix::zeros(partition.len(), w.cols());
    (0..w.rows()).for_each(|i| models.row_mut(partition.part(i)).copy_from_slice(w.row(i)));
    let apart = APART * w.max_row_norm();
    let near = |k: usize| (0..k).any(|l| distance(models.row(k), models.row(l)) <= apart);
    match (0..partition.len()).any(near) {
        true => Err("two of the clusters asked about have the same model".into()),
        false => Ok(models),
    }
}

/// `-grad L_i(w_k) - b_i`.
fn demands(problem: &Problem, models: &Matrix, partition: &Partition) -> Matrix {
    let (n, d, graph) = (problem.nodes(), problem.dim(), problem.graph());
    let mut demand = Matrix::zeros(n, d);
    let mut one = vec![0.0; d];
    for i in 0..n {
        let k = partition.part(i);
        problem.loss().gradient(i, models.row(k), &mut one);
        axpy(-1.0, &one, demand.row_mut(i));
        for end in graph.ends(i) {
            let l = partition.part(end.neighbour as usize);
            if l != k {
                let pull = problem.edge_weights()[end.edge as usize] / distance(models.row(k), models.row(l));
                axpy(-pull, models.row(k), demand.row_mut(i));
                axpy(pull, models.row(l), demand.row_mut(i));
            }
        }
    }
    demand
}

/// The least `lambda` that the flows found need, and the largest sum of the demands of a cluster, which should be zero.
fn flows_needed(problem: &Problem, demand: &Matrix, partition: &Partition) -> (f64, f64) {
    let (graph, d) = (problem.graph(), problem.dim());
    let (mut needed, mut off) = (0.0f64, 0.0f64);
    for nodes in members(partition) {
        let mut place = vec![usize::MAX; graph.nodes()];
        nodes.iter().enumerate().for_each(|(p, &i)| place[i] = p);
        let inside = |e: usize| {
            let (i, j) = graph.nodes_of(e);
            (place[i] != usize::MAX && place[j] != usize::MAX).then(|| (place[i], place[j], graph.weight(e)))
        };
        let edges: Vec<_> = (0..graph.edges()).filter_map(inside).collect();
        let own = Graph::new(nodes.len(), &edges).expect("a part of a graph is a graph");
        if Partition::components(&own).len() > 1 {
            return (f64::INFINITY, off);
        }
        let (mut wanted, mut mean) = (Matrix::zeros(nodes.len(), d), vec![0.0; d]);
        nodes.iter().for_each(|&i| axpy(1.0 / nodes.len() as f64, demand.row(i), &mut mean));
        off = off.max(norm2(&mean) * nodes.len() as f64);
        for (p, &i) in nodes.iter().enumerate() {
            wanted.row_mut(p).copy_from_slice(demand.row(i));
            axpy(-1.0, &mean, wanted.row_mut(p));
        }
        let mut u = Matrix::zeros(own.edges(), d);
        balance(&own, &mut u, &wanted);
        needed = (0..own.edges()).map(|e| norm2(u.row(e)) / own.weight(e)).fold(needed, f64::max);
    }
    (needed, off)
}

/// No other models, not those that the solver found, are better.
pub(super) fn theorem_1(question: &Question, clustered: &Clustered) -> Result<Comparison, String> {
    let (problem, lambda) = (question.problem, question.problem.lambda());
    if clustered.needed > lambda {
        return Err(format!("its condition asks for lambda of at least {:.4e}", clustered.needed));
    }
    let (ours, found) = (problem.objective(&clustered.w), problem.objective(question.w));
    // The clustered minimiser is off by little; what that costs is at most this.
    let apart: f64 = (0..problem.nodes()).map(|i| distance(clustered.w.row(i), question.w.row(i))).sum();
    Ok(Comparison::at_most(ours, found, EQUAL * found.abs().max(1e-12) + clustered.off * apart))
}

/// Clusters stay apart.
pub(super) fn theorem_2(question: &Question, clustered: &Clustered) -> Result<Comparison, String> {
    let (problem, partition, d) = (question.problem, question.partition, question.problem.dim());
    let groups = members(partition);
    if problem.nodes() * groups.len() > PAIRS_MAX {
        return Err("there are too many pairs of clusters".into());
    }
    let mut boundary = vec![0.0; groups.len()];
    for e in 0..problem.graph().edges() {
        let (i, j) = problem.graph().nodes_of(e);
        if partition.part(i) != partition.part(j) {
            boundary[partition.part(i)] += problem.graph().weight(e);
            boundary[partition.part(j)] += problem.graph().weight(e);
        }
    }
    let beta = |nodes: &[usize]| {
        let known = nodes.iter().filter(|&&i| problem.loss().has_rows(i)).map(|&i| problem.loss().curvature(i).beta);
        known.sum::<f64>() / nodes.len() as f64
    };
    let betas: Vec<f64> = groups.iter().map(|nodes| beta(nodes)).collect();
    let mean_gradient = |nodes: &[usize], at: &[f64]| {
        let (mut sum, mut one) = (vec![0.0; d], vec![0.0; d]);
        for &i in nodes {
            problem.loss().gradient(i, at, &mut one);
            axpy(1.0 / nodes.len() as f64, &one, &mut sum);
        }
        sum
    };
    let mut found = Vec::new();
    for (k, nodes) in groups.iter().enumerate() {
        let at = clustered.w.row(nodes[0]);
        let own = mean_gradient(nodes, at);
        for (l, others) in groups.iter().enumerate().filter(|(l, _)| *l != k && betas[*l].is_finite()) {
            let differ = distance(&own, &mean_gradient(others, at));
            let pulled = boundary[k] / nodes.len() as f64 + boundary[l] / others.len() as f64;
            let least = differ - problem.lambda() * pulled;
            if least > 0.0 && betas[l] > 0.0 {
                let apart = distance(at, clustered.w.row(others[0]));
                found.push(Comparison::at_least(apart, least / betas[l], 2.0 * clustered.off / betas[l]));
            }
        }
    }
    tightest(
        found,
        "its condition fails: lambda is too large for these clusters, or gradients are not Lipschitz continuous",
    )
}

/// Losses whose gradients differ by constants.
pub(super) struct Constant {
    /// `grad L_i(0)`.
    pub gradients: Matrix,
    /// The minimiser of every `L_i`.
    pub own: Matrix,
    /// Smallest and largest eigenvalue of the common Hessian.
    pub mu: f64,
    pub beta: f64,
    /// Of every cluster: the largest difference of two gradients.
    pub inside: Vec<f64>,
}

impl Constant {
    pub fn new(question: &Question) -> Result<Self, String> {
        let (problem, partition) = (question.problem, question.partition);
        let (n, d, loss) = (problem.nodes(), problem.dim(), problem.loss());
        if n * n > PAIRS_MAX || !loss.is_quadratic() {
            return Err("about gradients that differ by constants: quadratic losses, not too many".into());
        }
        let all = hessians(problem, question.w).ok_or("about losses with Hessians")?;
        let first = &all[..d * d];
        let size = norm2(first);
        let same = all.chunks_exact(d * d).all(|h| distance(h, first) <= 1e-12 * size);
        let values = super::connectivity::eigenvalues(first, d).ok_or("eigenvalues did not converge")?;
        if !same || values[0] <= 1e-12 * values[d - 1] {
            return Err("about gradients that differ by constants: the same Hessian everywhere".into());
        }
        let (mut gradients, mut own, mut inside) =
            (Matrix::zeros(n, d), Matrix::zeros(n, d), vec![0.0f64; partition.len()]);
        for i in 0..n {
            loss.gradient(i, &vec![0.0; d], gradients.row_mut(i));
            own.row_mut(i).copy_from_slice(&minimise(problem, &[i], question.w.row(i).to_vec())?.0);
        }
        for (i, j) in (0..n).flat_map(|i| (0..i).map(move |j| (i, j))) {
            let k = partition.part(i);
            if k == partition.part(j) {
                inside[k] = inside[k].max(distance(gradients.row(i), gradients.row(j)));
            }
        }
        Ok(Constant { gradients, own, mu: values[0], beta: values[d - 1], inside })
    }
}

/// The interval (27), on the complete graph with unit weights: inside of it Theorems 1 and 2 apply.
pub(super) fn theorem_3(
    question: &Question,
    clustered: &Clustered,
    constant: &Result<Constant, String>,
) -> Result<Comparison, String> {
    let (problem, partition) = (question.problem, question.partition);
    let constant = constant.as_ref().map_err(String::clone)?;
    let (n, graph) = (problem.nodes(), problem.graph());
    if 2 * graph.edges() != n * (n - 1) || graph.weights().iter().any(|a| *a != 1.0) {
        return Err("about the complete graph with unit weights".into());
    }
    let sizes = partition.sizes();
    let low = (0..sizes.len()).map(|k| constant.inside[k] / sizes[k] as f64).fold(0.0, f64::max);
    let mut high = f64::INFINITY;
    for (i, j) in (0..n).flat_map(|i| (0..i).map(move |j| (i, j))) {
        let (k, l) = (partition.part(i), partition.part(j));
        if k != l {
            let differ = distance(constant.gradients.row(i), constant.gradients.row(j));
            high = high.min(differ - constant.inside[k] - constant.inside[l]);
        }
    }
    let most = n - sizes.iter().min().copied().unwrap_or(0);
    let high = high / (2.0 * most as f64);
    if !(low..high).contains(&problem.lambda()) {
        return Err(format!("its interval for lambda is from {low:.4e} to below {high:.4e}"));
    }
    theorem_1(question, &Clustered { w: clustered.w.clone(), needed: low, off: clustered.off })
}

/// (28).
pub(super) fn theorem_4_inside(question: &Question, constant: &Constant) -> Result<Comparison, String> {
    let partition = question.partition;
    let n = question.problem.nodes();
    let pairs =
        (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).filter(|&(i, j)| partition.part(i) == partition.part(j));
    let compare = |(i, j): (usize, usize)| {
        let bound = constant.inside[partition.part(i)] / constant.mu;
        Comparison::at_most(distance(constant.own.row(i), constant.own.row(j)), bound, EQUAL * bound)
    };
    tightest(pairs.map(compare), "all clusters are single nodes")
}

/// (29), for every pair of clusters with the smallest difference of their gradients.
pub(super) fn theorem_4_between(question: &Question, constant: &Constant) -> Result<Comparison, String> {
    let (n, partition) = (question.problem.nodes(), question.partition);
    let pairs =
        || (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).filter(|&(i, j)| partition.part(i) != partition.part(j));
    let mut least = std::collections::BTreeMap::new();
    for (i, j) in pairs() {
        let (a, b) = (partition.part(i).min(partition.part(j)), partition.part(i).max(partition.part(j)));
        let delta = least.entry((a, b)).or_insert(f64::INFINITY);
        *delta = f64::min(*delta, distance(constant.gradients.row(i), constant.gradients.row(j)));
    }
    let compare = |(i, j): (usize, usize)| {
        let (a, b) = (partition.part(i).min(partition.part(j)), partition.part(i).max(partition.part(j)));
        let bound = least[&(a, b)] / constant.beta;
        Comparison::at_least(distance(constant.own.row(i), constant.own.row(j)), bound, EQUAL * bound)
    };
    tightest(pairs().map(compare), "there is one cluster")
}
