//! The references inside a report point at something.

use crate::{Report, ReportError};

/// Checks that edges, clusters and models fit together.
pub(crate) fn check(report: &Report) -> Result<(), ReportError> {
    check_edges(report)?;
    check_clusters(report)?;
    check_models(report)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cluster, Edge, Node};

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
        report.edges.push(Edge { i: 0, j: 7, weight: 1.0, saturated: false });
        assert!(matches!(check(&report), Err(ReportError::EdgeEnd { edge: 0, node: 7, nodes: 1 })));
    }
}
