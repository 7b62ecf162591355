//! The bound without assumptions, for penalties whose pull is limited (norms): where the optimum is constant on a cluster `C`,
//! flows over its boundary add up to at most `lambda |dC|`, so with the pooled minimiser `w-_C`
//!
//! ```text
//! |w_C - w-_C| <= lambda |dC| / alpha_C
//! ```
//!
//! with `|dC|` the weight of the boundary (times the largest Euclidean length of a unit flow) and `alpha_C` the strong convexity of
//! the pooled loss. What flows and gradients at the mean model of the cluster lack to balance each other is slack.

use super::pooled::{Cluster, distance};
use super::{Comparison, Finding, Question, tightest};
use crate::cluster::FUSED;
use crate::matrix::{axpy, norm2};

pub(super) fn finding(question: &Question, clusters: &Result<Vec<Cluster>, String>) -> Finding {
    let found = clusters.as_ref().map_err(String::clone).and_then(|clusters| {
        let found: Vec<Comparison> = clusters.iter().filter_map(|c| from_pooled(question, c).ok()).collect();
        let why = clusters.iter().find_map(|c| from_pooled(question, c).err());
        tightest(found, &why.unwrap_or_else(|| "there are no clusters".into()))
    });
    Finding::new("without assumptions", "distance of a cluster's model from its pooled minimiser", found)
}

/// The bound for one cluster.
pub(super) fn from_pooled(question: &Question, cluster: &Cluster) -> Result<Comparison, String> {
    let (problem, d) = (question.problem, question.problem.dim());
    let pull = problem.penalty().pull_max(d).ok_or("about penalties that pull with limited strength: norms")?;
    if cluster.boundary == 0.0 {
        return Err("no edges leave the cluster".into());
    }
    if cluster.alpha <= 0.0 {
        return Err(
            "the pooled loss of a cluster is not known to be strongly convex (a small --ridge makes it so)".into()
        );
    }
    let mean = cluster.mean(question.w);
    if cluster.spread(question.w, &mean) > FUSED * question.w.max_row_norm() {
        return Err("models of the clusters asked about are not the same".into());
    }
    let lacking = imbalance(question, cluster, &mean);
    let bound = problem.lambda() * cluster.boundary * pull / cluster.alpha;
    let slack = (lacking + cluster.remainder) / cluster.alpha;
    Ok(Comparison::at_most(distance(&mean, &cluster.minimiser), bound, slack))
}

/// `| sum over the cluster of grad L_i(w) + (D'u)_i |` and what boundary flows are too long.
fn imbalance(question: &Question, cluster: &Cluster, w: &[f64]) -> f64 {
    let (problem, d) = (question.problem, question.problem.dim());
    let (mut sum, mut one) = (vec![0.0; d], vec![0.0; d]);
    for &i in &cluster.nodes {
        problem.loss().gradient(i, w, &mut one);
        axpy(1.0, &one, &mut sum);
        problem.divergence(question.u, i, &mut one);
        axpy(1.0, &one, &mut sum);
    }
    let excess = |e: usize| problem.penalty().excess(e, problem.edge_weights()[e], question.u.row(e));
    let ends = |&i: &usize| problem.graph().ends(i).iter().map(|end| end.edge as usize);
    let worst = cluster.nodes.iter().flat_map(ends).map(excess).fold(0.0, f64::max);
    norm2(&sum) + worst * problem.lambda() * cluster.boundary
}
