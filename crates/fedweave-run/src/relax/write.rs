//! Models of any class as a run directory.

use std::path::PathBuf;

use fedweave_io::RunWriter;

use super::report::report_of;
use super::summary::gains;
use super::{RelaxResult, summary};
use crate::error::Result;
use crate::predictor::encoding_of_models;
use crate::run_dir::{
    CONFIG, ENCODING, ERROR_COLUMNS, ERRORS, GAINS, HISTORY, LAMBDA, MODELS, ROUND_COLUMNS, cell, write_report,
    write_summary,
};

/// Writes the run directory; returns where it is.
pub fn write_run(fit: &RelaxResult, writer: RunWriter) -> Result<PathBuf> {
    writer.write_json(MODELS, &fit.models)?;
    writer.write_json(ENCODING, &encoding_of_models(fit.input.encoding.clone()))?;
    writer.write_text(CONFIG, &fit.request.naming.config())?;
    let rounds = fit.history.iter().map(|r| {
        let numbers = [r.objective.to_string(), cell(r.train), cell(r.validation)];
        [vec![r.number.to_string()], numbers.to_vec(), vec![r.messages.to_string(), r.bytes.to_string()]].concat()
    });
    writer.write_csv(HISTORY, &ROUND_COLUMNS, rounds)?;
    write_errors(fit, &writer)?;
    if let Some(chosen) = &fit.chosen {
        let rows = chosen.tried.iter().map(|(lambda, e)| [Some(*lambda), e.mean(), e.standard_error()].map(cell));
        writer.write_csv(LAMBDA.0, &[LAMBDA.1[0], LAMBDA.1[2], LAMBDA.1[3]], rows)?;
    }
    if let Some(calibration) = &fit.calibration {
        calibration.write(&fit.input.names, &writer)?;
    }
    write_summary(&writer, &summary(fit)?)?;
    write_report(&writer, &report_of(fit)?)?;
    Ok(writer.finish()?)
}

/// Errors of every node, and of every model class.
fn write_errors(fit: &RelaxResult, writer: &RunWriter) -> Result<()> {
    let held = fit.held_out.as_ref();
    let nodes = fit.input.names.iter().enumerate().map(|(i, name)| {
        let errors =
            [fit.train.by_node[i], held.and_then(|h| h.validation.by_node[i]), held.and_then(|h| h.local.by_node[i])];
        let start = [name.clone(), fit.specs[i].to_string(), fit.input.data.rows(i).len().to_string()];
        [start.to_vec(), errors.map(cell).to_vec()].concat()
    });
    let header: Vec<&str> = ["node", "model"].into_iter().chain(ERROR_COLUMNS).collect();
    writer.write_csv(ERRORS, &header, nodes)?;
    let rows = gains(fit).into_iter().map(|g| {
        let means = [g.networked, g.local].map(|e| cell(e.map(|e| e.0)));
        [vec![g.class.to_owned(), g.nodes.to_string()], means.to_vec()].concat()
    });
    writer.write_csv(GAINS.0, &GAINS.1, rows)?;
    Ok(())
}
