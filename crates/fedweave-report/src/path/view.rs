//! A path ready for the page: the slider, the curves, the merge tree, and the clusters of every node at every lambda in
//! few bytes. With the nodes in the order of the leaves, clusters are runs of nodes, and runs are written.

use super::branches::{Branch, branches};
use super::charts::{LambdaAxis, clusters, errors};
use super::colours::stable_colours;
use super::order::leaf_order;
use super::tree::Tree;
use super::{Path, PathPoint};
use crate::Report;
use crate::axis::Tick;
use crate::chart::Chart;
use crate::network::COLOURS;
use crate::number::{count, number, plural, short};
use serde::Serialize;
use std::collections::BTreeSet;

/// Labels closer than this, in percent of the height, would touch.
const LABEL_ROOM: f64 = 4.0;

/// The path ready for the template.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PathView {
    pub(crate) ticks: Vec<Tick>,
    /// The place of the chosen point in percent.
    pub(crate) at: f64,
    pub(crate) readouts: Vec<(&'static str, &'static str, String)>,
    pub(crate) clusters: Chart,
    pub(crate) errors: Chart,
    pub(crate) branches: Vec<Branch>,
    /// The names or sizes of the branches at the smallest and at the largest lambda; `at` is from the top.
    pub(crate) first: Vec<Tick>,
    pub(crate) last: Vec<Tick>,
    /// What the tree leaves out and whether clusters split.
    pub(crate) note: String,
    #[serde(skip)]
    pub(crate) data: PathData,
}

/// What the script of the page works on.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PathData {
    chosen: usize,
    points: Vec<PointData>,
    /// The nodes in the order of the leaves.
    order: Vec<usize>,
    /// First point, last point, whether it stands for small clusters, runs of leaves.
    branches: Vec<(usize, usize, bool, Vec<usize>)>,
    threshold: usize,
}

#[derive(Debug, Clone, Serialize)]
struct PointData {
    at: f64,
    lambda: f64,
    /// The readouts as texts.
    texts: Vec<String>,
    clusters: usize,
    /// Cluster, length, cluster, length, ... along the leaves.
    runs: Vec<usize>,
    /// Cluster, colour, cluster, colour, ... of those that have one.
    colours: Vec<usize>,
    /// Clusters drawn together.
    small: usize,
}

/// The view of a report's path; `seed` is the colour of every node in the drawing of the network.
pub(crate) fn view(report: &Report, seed: &[usize]) -> Option<PathView> {
    let path = report.path.as_ref()?;
    let axis = LambdaAxis::new(path);
    let places: Vec<f64> = path.points.iter().map(|point| rounded(axis.at(point.lambda))).collect();
    let (colours, order) = (stable_colours(path, seed), leaf_order(path));
    let tree = Tree::grow(path, &order, &colours);
    let branches = branches(&tree, &places);
    let point = |(k, point): (usize, &PathPoint)| PointData {
        at: places[k],
        lambda: point.lambda,
        texts: readouts(point).into_iter().map(|(_, _, text)| text).collect(),
        clusters: point.clusters,
        runs: runs(point, &order),
        colours: (0..colours[k].len()).filter(|&c| colours[k][c] < COLOURS).flat_map(|c| [c, colours[k][c]]).collect(),
        small: small(point, tree.threshold),
    };
    let data = PathData {
        chosen: path.chosen,
        points: path.points.iter().enumerate().map(point).collect(),
        branches: branches.iter().map(|b| (b.first, b.last, b.rest, b.runs.clone())).collect(),
        threshold: tree.threshold,
        order,
    };
    Some(PathView {
        ticks: axis.ticks(),
        at: places[path.chosen],
        readouts: readouts(&path.points[path.chosen]),
        clusters: clusters(path, &axis),
        errors: errors(path, &axis, &report.outcome.error_name),
        branches,
        first: labels(report, &tree, 0, &data.order),
        last: labels(report, &tree, path.points.len() - 1, &data.order),
        note: note(path, tree.threshold),
        data,
    })
}

/// Key, name and value of everything said about a point; the script shows the same.
fn readouts(point: &PathPoint) -> Vec<(&'static str, &'static str, String)> {
    let known = |value: Option<f64>, none: &str| value.map_or(none.into(), short);
    vec![
        ("lambda", "λ", short(point.lambda)),
        ("clusters", "Clusters", count(point.clusters)),
        ("objective", "Objective", number(point.objective, 5)),
        ("gap", "Certified gap", known(point.certified_gap, "none")),
        ("train", "Training error", short(point.train)),
        ("validation", "Held-out error", known(point.validation, "–")),
    ]
}

fn runs(point: &PathPoint, order: &[usize]) -> Vec<usize> {
    let same = |a: &usize, b: &usize| point.membership[*a] == point.membership[*b];
    order.chunk_by(same).flat_map(|run| [point.membership[run[0]] as usize, run.len()]).collect()
}

fn small(point: &PathPoint, threshold: usize) -> usize {
    point.sizes().into_iter().filter(|&size| size > 0 && size < threshold).count()
}

/// A label for every block that has room for one: the name of a single node, else the number of nodes.
fn labels(report: &Report, tree: &Tree, column: usize, order: &[usize]) -> Vec<Tick> {
    let threshold = tree.threshold;
    let mut labels: Vec<Tick> = Vec::new();
    for block in &tree.columns[column] {
        let free = labels.last().is_none_or(|last| block.middle - last.at >= LABEL_ROOM);
        let label = match block.leaves.as_slice() {
            [leaf] => report.nodes[order[*leaf]].name.clone(),
            leaves if block.cluster.is_none() && threshold == 2 => format!("{} alone", count(leaves.len())),
            leaves => plural(leaves.len(), "node"),
        };
        if free {
            labels.push(Tick { at: rounded(block.middle), label });
        }
    }
    labels
}

fn note(path: &Path, threshold: usize) -> String {
    let splits: usize = path.points.windows(2).map(|pair| splits(&pair[0], &pair[1])).sum();
    let split = match splits {
        0 => "No cluster splits as λ grows.".into(),
        1 => "Once a cluster splits as λ grows.".into(),
        n => format!("{} times a cluster splits as λ grows.", count(n)),
    };
    if threshold <= 1 {
        return split;
    }
    let most = path.points.iter().map(|point| small(point, threshold)).max().unwrap_or(0);
    let who = if threshold == 2 {
        "Nodes on their own".into()
    } else {
        format!("Clusters of fewer than {} nodes", count(threshold))
    };
    format!("{split} {who} are drawn together in pale grey, up to {} at one λ.", count(most))
}

/// How many clusters of the first point have nodes in more than one cluster of the second.
fn splits(a: &PathPoint, b: &PathPoint) -> usize {
    let pairs: BTreeSet<(u32, u32)> = a.membership.iter().copied().zip(b.membership.iter().copied()).collect();
    let mut parts = vec![0usize; a.clusters];
    pairs.into_iter().for_each(|(cluster, _)| parts[cluster as usize] += 1);
    parts.into_iter().filter(|&parts| parts > 1).count()
}

fn rounded(percent: f64) -> f64 {
    (percent * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Node;

    fn report() -> Report {
        let point = |lambda, membership: [u32; 4]| PathPoint {
            lambda,
            clusters: 1 + membership.into_iter().max().unwrap_or(0) as usize,
            membership: membership.to_vec(),
            ..PathPoint::default()
        };
        let points = vec![point(0.1, [0, 1, 0, 2]), point(1.0, [0, 1, 0, 0]), point(2.0, [0, 1, 1, 1])];
        let nodes = ["a", "b", "c", "d"].map(|name| Node { name: name.into(), ..Node::default() });
        Report { nodes: nodes.into(), path: Some(Path { points, chosen: 1 }), ..Report::default() }
    }

    #[test]
    fn memberships_survive_the_runs() {
        let report = report();
        let data = view(&report, &[COLOURS; 4]).unwrap().data;
        for (point, facts) in data.points.iter().zip(&report.path.unwrap().points) {
            let clusters = point.runs.chunks(2).flat_map(|run| vec![run[0] as u32; run[1]]);
            let mut membership = vec![0; 4];
            clusters.zip(&data.order).for_each(|(cluster, &node)| membership[node] = cluster);
            assert_eq!(membership, facts.membership);
        }
    }

    #[test]
    fn splits_are_counted_and_said() {
        let report = report();
        let view = view(&report, &[COLOURS; 4]).unwrap();
        assert_eq!(view.note, "Once a cluster splits as λ grows.");
        assert_eq!(view.readouts[1].2, "2");
        assert!(view.first.iter().any(|label| label.label == "d"));
        assert!(super::view(&Report::default(), &[]).is_none());
    }
}
