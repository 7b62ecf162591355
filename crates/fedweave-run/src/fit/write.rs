//! A fit as a run directory.

use std::path::PathBuf;

use fedweave::solve::{Record, Status};
use fedweave_io::RunWriter;

use super::{FitResult, report_of, summary};
use crate::error::Result;
use crate::intervals::Uncertainty;
use crate::learnt_graph::EDGE_COLUMNS;
use crate::network_file::NetworkFile;
use crate::predictor::{encoding_of, parameter_names};
use crate::run_dir::{
    CHECKPOINT, CONFIG, EDGES, ENCODING, HISTORY, HISTORY_COLUMNS, LAMBDA, NETWORK, TRAFFIC_COLUMNS, cell,
    write_report, write_summary,
};
use crate::split_file;

/// Writes the run directory; returns where it is.
pub fn write_run(fit: &FitResult, writer: RunWriter) -> Result<PathBuf> {
    write_models(fit, &writer)?;
    write_summary(&writer, &summary(fit)?)?;
    if fit.solution.status != Status::Converged && fit.traffic.is_none() && fit.hub.is_none() {
        writer.write_bytes(CHECKPOINT, &fit.checkpoint().to_bytes())?;
    }
    write_report(&writer, &report_of(fit)?)?;
    Ok(writer.finish()?)
}

/// Writes models, clusters, history and how to do it again.
pub fn write_models(fit: &FitResult, writer: &RunWriter) -> Result<()> {
    let names = &fit.input.names;
    writer.write_parameters(&parameter_names(&fit.loss, &fit.input), names, &fit.parameters)?;
    let cluster: Vec<usize> = (0..names.len()).map(|i| fit.clusters.partition.part(i) + 1).collect();
    writer.write_clusters(names, &cluster)?;
    write_history(fit, writer)?;
    if let Some(held) = fit.held_out.as_ref().filter(|_| fit.request.folds.is_none()) {
        split_file::write(writer, &fit.input, &held.split)?;
    }
    if let Some(tuning) = &fit.tuning {
        let rows = tuning
            .tried
            .iter()
            .map(|t| [Some(t.lambda), t.train.mean(), t.validation.mean(), t.validation.standard_error()].map(cell));
        writer.write_csv(LAMBDA.0, &LAMBDA.1, rows)?;
    }
    if let Some(evidence) = &fit.evidence {
        writer.write_csv(EDGES, &EDGE_COLUMNS, evidence.edge_rows(names))?;
    }
    if let Some(calibration) = &fit.calibration {
        calibration.write(names, writer)?;
    }
    if let Some(learnt) = fit.learnt.as_ref().filter(|learnt| learnt.has_posterior()) {
        Uncertainty::of(learnt, names).write(writer)?;
    }
    if let Some(network) = NetworkFile::of(fit)? {
        writer.write_json(NETWORK, &network)?;
    }
    writer.write_json(ENCODING, &encoding_of(&fit.loss, &fit.input))?;
    writer.write_text(CONFIG, &fit.request.naming.config())?;
    Ok(())
}

fn write_history(fit: &FitResult, writer: &RunWriter) -> Result<()> {
    let sent = fit.traffic.iter().flat_map(|_| TRAFFIC_COLUMNS);
    let header: Vec<&str> = HISTORY_COLUMNS.into_iter().chain(sent).collect();
    let traffic = |k: usize| match &fit.traffic {
        Some(t) => {
            let t = &t.records[k];
            vec![t.round.to_string(), t.messages.to_string(), t.bytes.to_string(), t.flops.to_string()]
        }
        None => Vec::new(),
    };
    let row = |(place, r): (usize, &Record)| {
        let k = &r.kkt;
        let numbers =
            [k.residual(), k.stationarity, k.feasibility, k.complementarity, r.step_ratio].map(|v| v.to_string());
        let start = vec![r.iteration.to_string(), r.objective.to_string(), cell(r.certified_gap)];
        [start, numbers.to_vec(), traffic(place)].concat()
    };
    writer.write_csv(HISTORY, &header, fit.solution.history.iter().enumerate().map(row))?;
    Ok(())
}
