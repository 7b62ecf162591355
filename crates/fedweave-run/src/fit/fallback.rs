//! Nobody hurt: a node keeps its local model unless its held-out rows speak for the network clearly enough.
//!
//! On these rows no node is worse off than alone, by construction. On other rows a small share of the nodes may be; errors on the
//! rows that chose are a little too good.

use fedweave::baseline;
use fedweave::cluster::Clusters;
use fedweave::compare::keeps_local;
use fedweave::graph::Graph;
use fedweave::graph::partition::Partition;
use fedweave::loss::LossOptions;
use fedweave::matrix::{Matrix, axpy};
use fedweave::tune::Errors;
use serde_json::{Value, json};

use super::FitResult;
use crate::error::{Result, refuse};
use crate::training::TrainingRows;
use crate::wording::{counted, shown};

/// Nodes that keep their local models.
pub struct Fallback {
    /// True for these.
    pub local: Vec<bool>,
    /// The ridge of the local models, chosen on the held-out rows.
    pub ridge: f64,
    /// Errors on the held-out rows after the choice they made.
    pub errors: Errors,
}

/// Puts local models where they did better.
pub(super) fn fall_back(mut fit: FitResult) -> Result<FitResult> {
    let Some((held, ridge)) = fit.held_out.as_ref().and_then(|held| Some((held, held.local_ridge?))) else {
        refuse!("--fallback judges every node on held-out rows: give --validation 0.2");
    };
    let share = fit.request.fallback.unwrap_or(1.0);
    let local = keeps_local(&held.local, &held.validation, share);
    let choose = |i: usize| if local[i] { held.local.by_node[i] } else { held.validation.by_node[i] };
    let errors = Errors { by_node: (0..local.len()).map(choose).collect() };
    // In the units in which the ridge was chosen.
    let rows = TrainingRows::new(&fit.request.model, fit.training.rows.clone());
    let options = LossOptions { ridge, ..fit.request.model.options };
    let alone = rows.restore(&fit.loss, &baseline::local(&fit.loss, rows.scaled.clone(), &options)?);
    for i in (0..local.len()).filter(|&i| local[i]) {
        fit.parameters.row_mut(i).copy_from_slice(alone.row(i));
    }
    fit.clusters = set_apart(&fit.clusters, &fit.input.graph, &fit.parameters, &local);
    // Scores of the models that were replaced say nothing about those that are there now.
    fit.calibration = None;
    fit.fallback = Some(Fallback { local, ridge, errors });
    Ok(fit)
}

/// Clusters in which every node that keeps its local model is alone.
fn set_apart(clusters: &Clusters, graph: &Graph, parameters: &Matrix, local: &[bool]) -> Clusters {
    let n = local.len();
    let label = |i: usize| if local[i] { clusters.partition.len() + i } else { clusters.partition.part(i) };
    let partition = Partition::of_labels(&(0..n).map(label).collect::<Vec<_>>()).by_size();
    let sizes = partition.sizes();
    let mut models = Matrix::zeros(partition.len(), parameters.cols());
    for i in 0..n {
        let part = partition.part(i);
        axpy(1.0 / sizes[part] as f64, parameters.row(i), models.row_mut(part));
    }
    let stays = |e: usize| {
        let (i, j) = graph.nodes_of(e);
        !local[i] && !local[j]
    };
    let fused = (0..graph.edges()).map(|e| clusters.fused[e] && stays(e)).collect();
    Clusters { partition, models, fused, saturated: clusters.saturated.clone() }
}

impl Fallback {
    /// How many nodes keep their local models.
    pub fn count(&self) -> usize {
        self.local.iter().filter(|local| **local).count()
    }

    /// As JSON.
    pub fn summary(&self, names: &[String]) -> Value {
        let nodes: Vec<&String> =
            names.iter().zip(&self.local).filter(|(_, local)| **local).map(|(name, _)| name).collect();
        json!({"nodes": nodes, "ridge": self.ridge, "validation_error": self.errors.mean()})
    }

    /// In words.
    pub fn text(&self) -> String {
        let (kept, all, error) = (self.count(), counted(self.local.len(), "node"), shown(self.errors.mean()));
        format!("  fallback: {kept} of {all} keep the local model; error on held-out rows then {error}")
    }
}
