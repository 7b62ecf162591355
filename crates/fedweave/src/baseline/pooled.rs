//! Models found at one place from all the data: every node alone, one model for all, one model per true cluster.

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::graph::partition::Partition;
use crate::loss::{Family, LossOptions, LossSpec};
use crate::matrix::Matrix;
use crate::penalty::Norm2;
use crate::problem::Problem;
use crate::solve::minimise_local;

/// `argmin L_i` at every node; zero at nodes without rows.
pub fn local(loss: &LossSpec, data: Dataset, options: &LossOptions) -> Result<Matrix> {
    let graph = Graph::new(data.nodes(), &[])?;
    let problem = Problem::build(graph, loss.build(data, options)?, Box::new(Norm2), 0.0)?;
    let mut w = Matrix::zeros(problem.nodes(), problem.dim());
    minimise_local(&problem, &mut w, |_| true);
    Ok(w)
}

/// Ridges that a model of a node alone, and one for all, may choose from: on few rows they are hopeless without one.
pub const RIDGES: [f64; 5] = [1e-6, 1e-3, 1e-2, 1e-1, 1.0];

/// One model for all: the minimiser of the mean (by [`NodeWeight`](crate::loss::NodeWeight)) of the local losses.
pub fn global(family: Family, data: &Dataset, options: &LossOptions) -> Result<Vec<f64>> {
    let everyone = vec![0; data.nodes()];
    let w = local(&LossSpec::Same(family), data.merged(&everyone, 1, options.node_weight), options)?;
    Ok(w.row(0).to_vec())
}

/// One model per cluster, from the data of its nodes: what somebody would do who knows the clusters. `clusters[i]` is the
/// cluster of node `i`, counted from 0.
pub fn oracle(family: Family, data: &Dataset, clusters: &[usize], options: &LossOptions) -> Result<Matrix> {
    if clusters.len() != data.nodes() {
        return Err(Error::Size { what: "clusters of nodes", expected: data.nodes(), found: clusters.len() });
    }
    let parts = Partition::of_labels(clusters);
    let part: Vec<usize> = (0..data.nodes()).map(|i| parts.part(i)).collect();
    let merged = data.merged(&part, parts.len(), options.node_weight);
    let centres = local(&LossSpec::Same(family), merged, options)?;
    let rows = part.iter().flat_map(|&p| centres.row(p).iter().copied()).collect();
    Ok(Matrix::from_rows(centres.cols(), rows))
}
