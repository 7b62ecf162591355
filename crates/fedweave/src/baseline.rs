//! What the network is compared with: every node alone, and one model for all.

use crate::dataset::Dataset;
use crate::error::Result;
use crate::graph::Graph;
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

/// One model for all: the minimiser of the mean (by [`NodeWeight`](crate::loss::NodeWeight)) of the local losses.
pub fn global(family: Family, data: &Dataset, options: &LossOptions) -> Result<Vec<f64>> {
    let everyone = vec![0; data.nodes()];
    let w = local(&LossSpec::Same(family), data.merged(&everyone, 1, options.node_weight), options)?;
    Ok(w.row(0).to_vec())
}
