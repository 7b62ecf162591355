//! Made-up paths over lambda: nodes join inside their cluster first, then clusters join, and two of them join too early
//! and split again before they join for good.

use crate::noise::Noise;
use fedweave_report::{Path, PathPoint, Report};

/// The clusters that split as lambda grows, and where they are together before.
const EARLY: ((usize, usize), std::ops::Range<f64>) = ((1, 2), 0.25..1.2);

/// Gives a report a path of `steps` points for every factor of ten between 0.001 and 100; 0.1 is chosen.
pub(crate) fn add_path(report: &mut Report, steps: i32) {
    let heights = heights(report);
    let lambda = |k: i32| 10f64.powf(f64::from(k) / f64::from(steps) - 3.0);
    let points = (0..=5 * steps).map(|k| point(report, &heights, lambda(k))).collect();
    report.path = Some(Path { points, chosen: 2 * steps as usize });
}

/// The lambda from which each edge joins its ends.
fn heights(report: &Report) -> Vec<f64> {
    let mut noise = Noise(17);
    let between: Vec<f64> = (0..40 * 40).map(|_| noise.next()).collect();
    let joins: Vec<f64> = report.nodes.iter().map(|_| -2.7 + 1.6 * noise.next()).collect();
    let cluster = |node: usize| report.nodes[node].cluster.unwrap_or(0);
    let height = |(i, j): (usize, usize)| {
        let (a, b) = (cluster(i).min(cluster(j)), cluster(i).max(cluster(j)));
        let apart = -0.5 + 2.0 * between[40 * a + b];
        let late = [a, b].contains(&EARLY.0.1);
        10f64.powf(if a == b { joins[i].max(joins[j]) } else { apart.max(if late { 0.8 } else { apart }) })
    };
    report.edges.iter().map(|edge| (edge.i, edge.j)).map(height).collect()
}

fn point(report: &Report, heights: &[f64], lambda: f64) -> PathPoint {
    let cluster = |node: usize| report.nodes[node].cluster.unwrap_or(0);
    let early = |i: usize, j: usize| {
        (cluster(i).min(cluster(j)), cluster(i).max(cluster(j))) == EARLY.0 && EARLY.1.contains(&lambda)
    };
    let joined = report.edges.iter().zip(heights);
    let joined = joined.filter(|(edge, height)| **height <= lambda || early(edge.i, edge.j));
    let (membership, clusters) = components(report.nodes.len(), joined.map(|(edge, _)| (edge.i, edge.j)));
    let share = lambda / (lambda + 0.08);
    PathPoint {
        lambda,
        objective: 60.0 + 140.0 * share + 30.0 * lambda.sqrt(),
        certified_gap: (lambda < 50.0).then_some(1.4e-4 * (1.0 + lambda)),
        clusters,
        train: 2.1 + 5.5 * share * share,
        validation: Some(5.4 + 4.8 * (1.0 - share).powi(2) + 3.9 * share.powi(4)),
        membership,
    }
}

/// The connected components, the largest first.
fn components(nodes: usize, edges: impl Iterator<Item = (usize, usize)>) -> (Vec<u32>, usize) {
    let mut parent: Vec<usize> = (0..nodes).collect();
    for (i, j) in edges {
        let (a, b) = (root(&mut parent, i), root(&mut parent, j));
        parent[a.max(b)] = a.min(b);
    }
    let roots: Vec<usize> = (0..nodes).map(|node| root(&mut parent, node)).collect();
    let mut sizes = vec![0usize; nodes];
    roots.iter().for_each(|&root| sizes[root] += 1);
    let mut order: Vec<usize> = (0..nodes).filter(|&node| sizes[node] > 0).collect();
    order.sort_by_key(|&root| (std::cmp::Reverse(sizes[root]), root));
    let mut rank = vec![0u32; nodes];
    order.iter().enumerate().for_each(|(k, &root)| rank[root] = k as u32);
    (roots.into_iter().map(|root| rank[root]).collect(), order.len())
}

fn root(parent: &mut [usize], mut node: usize) -> usize {
    while parent[node] != node {
        parent[node] = parent[parent[node]];
        node = parent[node];
    }
    node
}
