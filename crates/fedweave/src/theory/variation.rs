//! How far models may be apart with the penalty `squared`: Propositions 3.1 and 6.1 of the book, (25) of the FedRelax paper, and the
//! error of the mean model (8.9).
//!
//! All are proved by comparing the optimum with one model `w-` for all nodes, so they hold for any `w-`, with `L_i(w-)` as the noise
//! of node `i`, and for any loss that is not negative; models with a certified gap are covered by adding the gap to the noise.

use super::connectivity::Connectivity;
use super::descent::gradient;
use super::pooled::{Cluster, distance};
use super::quadratic::Quadratic;
use super::{Comparison, Finding, Question, tightest};
use crate::matrix::{Matrix, dot, norm2};

pub(super) fn findings(
    question: &Question,
    facts: &Result<Quadratic, String>,
    clusters: &Result<Vec<Cluster>, String>,
) -> Vec<Finding> {
    let whole = super::pooled::clusters(&Question { partition: question.problem.components(), ..*question });
    let with = |f: fn(&Question, &Quadratic, &[Cluster]) -> Result<Comparison, String>| {
        let facts = facts.as_ref().map_err(String::clone)?;
        f(question, facts, whole.as_ref().map_err(String::clone)?)
    };
    let within = |all: &Result<Vec<Cluster>, String>, f: fn(&Question, &Cluster) -> Result<Comparison, String>| {
        let all = all.as_ref().map_err(String::clone)?;
        let why = all.iter().find_map(|c| f(question, c).err()).unwrap_or_else(|| "there are no clusters".into());
        tightest(all.iter().filter_map(|c| f(question, c).ok()), &why)
    };
    vec![
        Finding::new("Prop. 3.1", "variation of the models around their mean", with(proposition_3_1)),
        Finding::new("FedRelax (25)", "variation within a component, any loss", within(&whole, relax_25)),
        Finding::new("Prop. 6.1", "variation within a cluster", within(clusters, proposition_6_1)),
        Finding::new("Prop. 6.1, sharper", "variation within a cluster, real neighbours", within(clusters, sharper)),
        Finding::new("(8.9)", "squared distance of the mean model from the pooled one", with(equation_8_9)),
    ]
}

fn squared(question: &Question) -> Result<f64, String> {
    match question.problem.penalty().name() == "squared" && question.problem.lambda() > 0.0 {
        true => Ok(question.problem.lambda()),
        false => Err("about the penalty squared with a positive lambda".into()),
    }
}

/// The noise of a cluster: what its pooled model loses. Losses must not be negative where they are compared with zero.
fn noise(question: &Question, cluster: &Cluster) -> Result<f64, String> {
    let loss = question.problem.loss();
    if cluster.nodes.iter().any(|&i| loss.value(i, question.w.row(i)) < 0.0) {
        return Err("about losses that are never negative".into());
    }
    Ok(cluster.loss(loss, &cluster.minimiser) + question.gap()?)
}

fn one(clusters: &[Cluster]) -> Result<&Cluster, String> {
    match clusters {
        [all] if all.nodes.len() > 1 => Ok(all),
        _ => Err("the graph is not connected".into()),
    }
}

pub(super) fn proposition_3_1(question: &Question, q: &Quadratic, whole: &[Cluster]) -> Result<Comparison, String> {
    let all = one(whole)?;
    q.least().map(|_| ()).or_else(|why| if q.connectivity.lambda_2 > 0.0 { Ok(()) } else { Err(why) })?;
    let bound = noise(question, all)? / (q.connectivity.lambda_2 * q.alpha);
    Ok(Comparison::at_most(all.variation(question.w), bound, 0.0))
}

pub(super) fn relax_25(question: &Question, component: &Cluster) -> Result<Comparison, String> {
    let (alpha, lambda_2) = (squared(question)?, connected(question, component)?);
    let bound = noise(question, component)? / (alpha * lambda_2);
    Ok(Comparison::at_most(component.variation(question.w), bound, 0.0))
}

fn connected(question: &Question, cluster: &Cluster) -> Result<f64, String> {
    if cluster.nodes.len() < 2 {
        return Err("a cluster of one node has no variation".into());
    }
    let lambda_2 = Connectivity::within(question.problem.graph(), &cluster.nodes).lambda_2;
    match lambda_2 > 0.0 {
        true => Ok(lambda_2),
        false => Err("a cluster is not connected".into()),
    }
}

/// (6.4).
pub(super) fn proposition_6_1(question: &Question, cluster: &Cluster) -> Result<Comparison, String> {
    let (alpha, lambda_2) = (squared(question)?, connected(question, cluster)?);
    let mut inside = vec![false; question.problem.nodes()];
    cluster.nodes.iter().for_each(|&i| inside[i] = true);
    let outside = (0..inside.len()).filter(|&i| !inside[i]);
    let radius = outside.map(|i| norm2(question.w.row(i))).fold(0.0, f64::max);
    let towards = alpha * cluster.boundary * 2.0 * (dot(&cluster.minimiser, &cluster.minimiser) + radius * radius);
    let bound = (noise(question, cluster)? + towards) / (alpha * lambda_2);
    Ok(Comparison::at_most(cluster.variation(question.w), bound, 0.0))
}

/// The same with the differences over the boundary as they are.
pub(super) fn sharper(question: &Question, cluster: &Cluster) -> Result<Comparison, String> {
    let (alpha, lambda_2) = (squared(question)?, connected(question, cluster)?);
    let graph = question.problem.graph();
    let mut inside = vec![false; question.problem.nodes()];
    cluster.nodes.iter().for_each(|&i| inside[i] = true);
    let mut towards = 0.0;
    for end in cluster.nodes.iter().flat_map(|&i| graph.ends(i)).filter(|end| !inside[end.neighbour as usize]) {
        let apart = distance(question.w.row(end.neighbour as usize), &cluster.minimiser);
        towards += alpha * graph.weight(end.edge as usize) * apart * apart;
    }
    let bound = (noise(question, cluster)? + towards) / (alpha * lambda_2);
    Ok(Comparison::at_most(cluster.variation(question.w), bound, 0.0))
}

/// (8.9).
pub(super) fn equation_8_9(question: &Question, q: &Quadratic, whole: &[Cluster]) -> Result<Comparison, String> {
    let all = one(whole)?;
    q.least()?;
    let n = all.nodes.len() as f64;
    let loss = all.loss(question.problem.loss(), &all.minimiser);
    let bound = 2.0 * (q.lambda_max + q.lambda_max.powi(2) / (q.connectivity.lambda_2 * q.alpha)) * loss
        / (n * q.lambda_bar_min.powi(2));
    let mut g = Matrix::zeros(question.w.rows(), question.w.cols());
    gradient(question.problem, question.w, &mut g);
    // The mean of the optimum is this near.
    let off = q.distance(norm2(g.as_slice()))? / n.sqrt();
    let slack = (bound.sqrt() + off).powi(2) - bound;
    Ok(Comparison::at_most(distance(&all.mean(question.w), &all.minimiser).powi(2), bound, slack))
}
