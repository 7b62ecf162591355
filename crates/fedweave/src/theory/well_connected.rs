//! Theorem 2 of the GTV paper: clusters that are well connected have one model each.
//!
//! Condition (35), for all subsets `A` of a cluster without some node `i0`,
//!
//! ```text
//! sum_{i in A} [ sum_{j not in C} A_ij + beta_i |dC| / alpha_C + delta_i / lambda ]  <  sum_{i in A, j in C \ A} A_ij,
//! ```
//!
//! is a question about flows: can the root `i0` send every other node what the bracket says, through edges of capacity `A_ij`, with
//! something to spare? By how much it can is the least ratio of a cut to the demand behind it. `beta`, `delta` are taken in the dual
//! norm, `alpha` in the norm of the penalty.

use super::max_flow::least_ratio;
use super::pooled::{Cluster, distance};
use super::{Comparison, Finding, Question, tightest};
use crate::cluster::FUSED;
use crate::loss::Loss;

/// Edges that all searches for a root may look at.
const WORK_MAX: usize = 4_000_000;
const CLUSTER_MAX: usize = 5_000;
/// Relative gap at which models that are the same look the same.
const ACCURATE: f64 = 1e-5;

/// What a condition has to spare is told, not only whether it holds.
pub(super) fn findings(question: &Question, clusters: &Result<Vec<Cluster>, String>) -> Vec<Finding> {
    let margin = clusters.as_ref().map_err(String::clone).and_then(|clusters| margin(question, clusters));
    let (constant, near) = match &margin {
        Err(why) => (Err(why.clone()), Err(why.clone())),
        Ok(margin) if *margin <= 1.0 => {
            let why = format!("condition (35) is met to {:.2} % only", 100.0 * margin);
            (Err(why.clone()), Err(why))
        }
        Ok(_) => conclusions(question, clusters.as_ref().expect("there is a margin")),
    };
    vec![
        Finding::new("GTV Theorem 2 (36)", "spread of models within a cluster", constant),
        Finding::new("GTV Theorem 2 (37)", "distance of models from the pooled minimiser", near),
    ]
}

type Both = (Result<Comparison, String>, Result<Comparison, String>);

pub(super) fn conclusions(question: &Question, clusters: &[Cluster]) -> Both {
    let scale = question.w.max_row_norm();
    let accurate =
        question.gap().and_then(|gap| match gap <= ACCURATE * question.problem.objective(question.w).abs() {
            true => Ok(()),
            false => {
                Err("the solution is not accurate enough to tell which models are the same (--tolerance 1e-8)".into())
            }
        });
    if let Err(why) = accurate {
        return (Err(why.clone()), Err(why));
    }
    let spread = clusters.iter().map(|c| c.spread(question.w, &c.mean(question.w))).fold(0.0, f64::max);
    let constant = Comparison::at_most(spread, 0.0, FUSED * scale);
    let near = |c: &Cluster| {
        let (alpha, _) = norms(question, c.alpha, 0.0)?;
        let reached = c.nodes.iter().map(|&i| distance(question.w.row(i), &c.minimiser)).fold(0.0, f64::max);
        let bound = 2.0 * c.boundary * question.problem.lambda() / alpha;
        Ok::<_, String>(Comparison::at_most(
            reached,
            bound * to_euclid(question),
            FUSED * scale + c.remainder / c.alpha,
        ))
    };
    let near: Result<Vec<Comparison>, String> = clusters.iter().map(near).collect();
    (Ok(constant), near.and_then(|all| tightest(all, "there are no clusters")))
}

/// How much of the capacity that (35) needs is there, in the worst cluster.
pub(super) fn margin(question: &Question, clusters: &[Cluster]) -> Result<f64, String> {
    let problem = question.problem;
    if !problem.penalty().is_norm() || problem.lambda() == 0.0 {
        return Err("about norms with a positive lambda".into());
    }
    let work = WORK_MAX / clusters.len().max(1);
    let mut worst = f64::INFINITY;
    if clusters.iter().any(|c| c.alpha <= 0.0) {
        return Err(
            "the pooled loss of a cluster is not known to be strongly convex (a small --ridge makes it so)".into()
        );
    }
    for cluster in clusters.iter().filter(|c| c.nodes.len() > 1) {
        if cluster.nodes.len() > CLUSTER_MAX {
            return Err(format!("a cluster has more than {CLUSTER_MAX} nodes"));
        }
        worst = worst.min(cluster_margin(question, cluster, work)?);
        if worst <= 0.0 {
            break;
        }
    }
    Ok(worst)
}

fn cluster_margin(question: &Question, cluster: &Cluster, work: usize) -> Result<f64, String> {
    let (problem, nodes) = (question.problem, &cluster.nodes);
    let graph = problem.graph();
    let mut place = vec![usize::MAX; problem.nodes()];
    nodes.iter().enumerate().for_each(|(p, &i)| place[i] = p);
    let mut edges = Vec::new();
    let mut outside = vec![0.0; nodes.len()];
    for (p, &i) in nodes.iter().enumerate() {
        for end in graph.ends(i) {
            let (other, a) = (place[end.neighbour as usize], graph.weight(end.edge as usize));
            match other {
                usize::MAX => outside[p] += a,
                other if other > p => edges.push((p, other, a)),
                _ => {}
            }
        }
    }
    let demand: Vec<f64> = (0..nodes.len())
        .map(|p| {
            let beta = smoothness(problem.loss(), nodes[p])?;
            let (alpha, beta) = norms(question, cluster.alpha, beta)?;
            let pulled = if cluster.boundary > 0.0 { beta * cluster.boundary / alpha } else { 0.0 };
            Ok(outside[p] + pulled + delta(question, cluster, nodes[p])? / problem.lambda())
        })
        .collect::<Result<_, String>>()?;
    // The node that needs most is the best root.
    let mut roots: Vec<usize> = (0..nodes.len()).collect();
    roots.sort_by(|&a, &b| demand[b].total_cmp(&demand[a]));
    let affordable = (work / (edges.len() + nodes.len())).max(1);
    let tried = roots.into_iter().take(affordable);
    Ok(tried.map(|root| least_ratio(nodes.len(), &edges, &demand, root)).fold(0.0, f64::max))
}

fn smoothness(loss: &dyn Loss, node: usize) -> Result<f64, String> {
    if !loss.has_rows(node) {
        return Ok(0.0);
    }
    match loss.curvature(node).beta {
        beta if beta.is_finite() => Ok(beta),
        _ => Err("about losses whose gradients are Lipschitz continuous".into()),
    }
}

/// The dual norm of the gradient of a node at the pooled minimiser of its cluster.
fn delta(question: &Question, cluster: &Cluster, node: usize) -> Result<f64, String> {
    let mut g = vec![0.0; question.problem.dim()];
    question.problem.loss().gradient(node, &cluster.minimiser, &mut g);
    question.problem.penalty().dual_norm(0, &g).ok_or_else(|| "about norms".into())
}

/// Euclidean strong convexity and smoothness in the norm of the penalty, on the safe side.
fn norms(question: &Question, alpha: f64, beta: f64) -> Result<(f64, f64), String> {
    let d = question.problem.dim() as f64;
    match question.problem.penalty().name() {
        "norm2" => Ok((alpha, beta)),
        // |v|_1 <= sqrt(d) |v|_2 and |g|_inf <= |g|_2 <= |.|_1 on the other side.
        "norm1" => Ok((alpha / d, beta)),
        "norminf" => Ok((alpha, d * beta)),
        _ => Err("about the norms 1, 2 and infinity".into()),
    }
}

/// The largest Euclidean length of a vector of length one in the norm of the penalty.
fn to_euclid(question: &Question) -> f64 {
    match question.problem.penalty().name() {
        "norminf" => (question.problem.dim() as f64).sqrt(),
        _ => 1.0,
    }
}
