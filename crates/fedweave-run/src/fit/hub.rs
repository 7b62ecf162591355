//! A common mean of all models: a node without rows, joined to all others, that is solved for and then set apart.

use fedweave::cluster::Clusters;
use fedweave::graph::Graph;
use fedweave::graph::partition::Partition;
use fedweave::loss::{Family, LossSpec};
use fedweave::matrix::{Matrix, axpy};

/// The losses with one for the hub, which has no rows.
pub(super) fn loss(loss: &LossSpec, hub: Option<f64>) -> LossSpec {
    match (loss, hub) {
        (LossSpec::PerNode(families), Some(_)) => {
            LossSpec::PerNode(families.iter().copied().chain([Family::Squared]).collect())
        }
        _ => loss.clone(),
    }
}

/// Sets the last node apart: models of the others, its own, and clusters on the graph without it.
pub(super) fn set_apart(
    clusters: &Clusters,
    with_hub: &Graph,
    graph: &Graph,
    all: &Matrix,
) -> (Matrix, Vec<f64>, Clusters) {
    let (n, dim) = (graph.nodes(), all.cols());
    let parameters = Matrix::from_rows(dim, all.as_slice()[..n * dim].to_vec());
    let labels: Vec<usize> = (0..n).map(|i| clusters.partition.part(i)).collect();
    let partition = Partition::of_labels(&labels).by_size();
    let sizes = partition.sizes();
    let mut models = Matrix::zeros(partition.len(), dim);
    for i in 0..n {
        let part = partition.part(i);
        axpy(1.0 / sizes[part] as f64, parameters.row(i), models.row_mut(part));
    }
    let ends = |e: usize| graph.nodes_of(e);
    let fused = (0..graph.edges()).map(|e| labels[ends(e).0] == labels[ends(e).1]).collect();
    let kept = |i: usize, j: usize| with_hub.ends(i).iter().find(|end| end.neighbour as usize == j);
    let saturated = |e: usize| kept(ends(e).0, ends(e).1).is_some_and(|end| clusters.saturated[end.edge as usize]);
    let saturated = (0..graph.edges()).map(saturated).collect();
    (parameters, all.row(n).to_vec(), Clusters { partition, models, fused, saturated })
}
