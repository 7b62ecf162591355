//! The references inside a report point at something.

use crate::{Path, PathPoint, Report, ReportError};

/// Checks that edges, clusters, models and the path fit together.
pub(crate) fn check(report: &Report) -> Result<(), ReportError> {
    check_edges(report)?;
    check_clusters(report)?;
    check_models(report)?;
    if let Some(confusion) = &report.confusion {
        let classes = confusion.classes.len();
        if confusion.counts.len() != classes || confusion.counts.iter().any(|row| row.len() != classes) {
            return Err(ReportError::Confusion { classes });
        }
    }
    report.path.as_ref().map_or(Ok(()), |path| check_path(path, report.nodes.len()))
}

fn check_edges(report: &Report) -> Result<(), ReportError> {
    let nodes = report.nodes.len();
    for (edge, ends) in report.edges.iter().enumerate() {
        let node = ends.i.max(ends.j);
        if node >= nodes {
            return Err(ReportError::EdgeEnd { edge, node, nodes });
        }
    }
    Ok(())
}

fn check_clusters(report: &Report) -> Result<(), ReportError> {
    let clusters = report.clusters.len();
    for (node, facts) in report.nodes.iter().enumerate() {
        if let Some(cluster) = facts.cluster.filter(|&cluster| cluster >= clusters) {
            return Err(ReportError::NodeCluster { node, cluster, clusters });
        }
    }
    Ok(())
}

fn check_models(report: &Report) -> Result<(), ReportError> {
    let nodes = report.nodes.iter().map(|node| ("node", &node.parameters)).enumerate();
    let clusters = report.clusters.iter().map(|cluster| ("cluster", &cluster.model)).enumerate();
    let expected = report.what.dim;
    for (index, (owner, model)) in nodes.chain(clusters) {
        if !model.is_empty() && model.len() != expected {
            return Err(ReportError::ModelLength { owner, index, found: model.len(), expected });
        }
    }
    Ok(())
}

fn check_path(path: &Path, nodes: usize) -> Result<(), ReportError> {
    let (points, chosen) = (path.points.len(), path.chosen);
    if chosen >= points {
        return Err(ReportError::PathChosen { chosen, points });
    }
    for (point, facts) in path.points.iter().enumerate() {
        let before = point.checked_sub(1).map(|before| path.points[before].lambda);
        if let Some(what) = wrong_point(facts, before, nodes) {
            return Err(ReportError::PathPoint { point, what });
        }
    }
    Ok(())
}

/// What is wrong with a point, `before` being the lambda of the point before it.
fn wrong_point(point: &PathPoint, before: Option<f64>, nodes: usize) -> Option<String> {
    let (lambda, found) = (point.lambda, point.membership.len());
    if !(lambda.is_finite() && lambda >= 0.0) {
        return Some(format!("lambda is {lambda}"));
    }
    if let Some(before) = before.filter(|&before| before >= lambda) {
        return Some(format!("lambda is {lambda} and the one before is {before}, which is not smaller"));
    }
    let errors = [Some(point.objective), point.certified_gap, Some(point.train), point.validation];
    if errors.into_iter().flatten().any(|number| !number.is_finite()) {
        return Some("its objective, gap and errors must be finite".into());
    }
    if found != nodes {
        return Some(format!("{found} nodes have a cluster, but there are {nodes}"));
    }
    let wrong = point.membership.iter().find(|&&cluster| cluster as usize >= point.clusters)?;
    Some(format!("a node is in cluster {wrong}, but there are {} clusters", point.clusters))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cluster, Edge, Node};

    fn two_points() -> Path {
        let point = |lambda, membership: [u32; 2], clusters| PathPoint {
            lambda,
            clusters,
            membership: membership.to_vec(),
            ..PathPoint::default()
        };
        Path { points: vec![point(0.5, [0, 1], 2), point(1.0, [0, 0], 1)], chosen: 1 }
    }

    #[test]
    fn a_wrong_path_is_an_error_that_says_what() {
        let wrong = |change: fn(&mut Path)| {
            let mut path = two_points();
            change(&mut path);
            check_path(&path, 2).err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(wrong(|_| ()), "");
        assert!(wrong(|path| path.chosen = 2).contains("there are 2 points"));
        assert!(wrong(|path| path.points[1].lambda = 0.5).contains("not smaller"));
        assert!(wrong(|path| path.points[0].lambda = f64::NAN).contains("lambda is NaN"));
        assert!(wrong(|path| path.points[0].validation = Some(f64::INFINITY)).contains("finite"));
        assert!(wrong(|path| path.points[0].membership.push(0)).contains("3 nodes"));
        assert!(wrong(|path| path.points[1].membership[1] = 1).contains("cluster 1"));
    }

    #[test]
    fn dangling_references_are_errors() {
        let mut report = Report { nodes: vec![Node::default()], ..Report::default() };
        assert!(check(&report).is_ok());
        report.nodes[0].cluster = Some(0);
        assert!(matches!(check(&report), Err(ReportError::NodeCluster { node: 0, cluster: 0, clusters: 0 })));
        report.clusters.push(Cluster { size: 1, model: vec![1.0] });
        assert!(matches!(
            check(&report),
            Err(ReportError::ModelLength { owner: "cluster", found: 1, expected: 0, .. })
        ));
        report.what.dim = 1;
        assert!(check(&report).is_ok());
        report.edges.push(Edge { i: 0, j: 7, weight: 1.0, differs: false });
        assert!(matches!(check(&report), Err(ReportError::EdgeEnd { edge: 0, node: 7, nodes: 1 })));
    }
}
