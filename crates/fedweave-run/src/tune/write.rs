//! A race as a run directory.

use std::path::PathBuf;

use fedweave::learn::race::Entry;
use fedweave_io::{BLENDED, RunEncoding, RunWriter};

use super::report::report_of;
use super::{TuneResult, summary};
use crate::error::Result;
use crate::predictor::class_labels;
use crate::run_dir::{BLEND, CONFIG, ENCODING, ERROR_COLUMNS, ERRORS, RACE, cell, write_report, write_summary};

/// Writes the run directory; returns where it is.
pub fn write_run(tuned: &TuneResult, writer: RunWriter) -> Result<PathBuf> {
    write_predictors(tuned, &writer)?;
    writer.write_text(CONFIG, &tuned.request.naming.config())?;
    write_summary(&writer, &summary(tuned)?)?;
    write_report(&writer, &report_of(tuned)?)?;
    Ok(writer.finish()?)
}

/// Writes the predictors and how far they were off: what `fedweave predict` and `fedweave monitor` need.
pub fn write_predictors(tuned: &TuneResult, writer: &RunWriter) -> Result<()> {
    let input = &tuned.input;
    let labels = class_labels(input);
    writer.write_json(BLEND, &tuned.blend)?;
    writer.write_json(ENCODING, &RunEncoding { loss: BLENDED.into(), labels, encoding: input.encoding.clone() })?;
    let row = |e: &Entry| {
        let numbers = [Some(e.error()), e.errors.standard_error(), Some(e.member.share)].map(cell);
        [vec![e.member.name.clone()], numbers.to_vec(), vec![e.chosen.clone()]].concat()
    };
    writer.write_csv(RACE.0, &RACE.1, tuned.race.entries.iter().map(row))?;
    let node = |(i, name): (usize, &String)| {
        let local = tuned.local().and_then(|e| e.errors.by_node[i]);
        let errors = [tuned.race.errors.by_node[i], local].map(cell);
        [vec![name.clone(), input.data.rows(i).len().to_string()], errors.to_vec()].concat()
    };
    let header = ["node", ERROR_COLUMNS[0], ERROR_COLUMNS[2], ERROR_COLUMNS[3]];
    writer.write_csv(ERRORS, &header, input.names.iter().enumerate().map(node))?;
    if let Some(calibration) = &tuned.calibration {
        calibration.write(&input.names, writer)?;
    }
    Ok(())
}
