//! A comparison as a run directory.

use std::path::PathBuf;

use fedweave_io::RunWriter;

use super::{CompareResult, METHODS, summary};
use crate::error::Result;
use crate::run_dir::{COMPARE, CONFIG, cell, write_report, write_summary};

/// Writes the errors of every node, the summary, the settings and the report.
pub fn write_run(compared: &CompareResult, writer: RunWriter) -> Result<PathBuf> {
    let names = &compared.input.names;
    let row = |i: usize| {
        let errors = METHODS.map(|method| cell(compared.node_error(method, i)));
        [vec![names[i].clone()], errors.to_vec()].concat()
    };
    let header: Vec<&str> = std::iter::once("node").chain(METHODS.map(|method| method.name)).collect();
    writer.write_csv(COMPARE, &header, (0..names.len()).map(row))?;
    write_summary(&writer, &summary(compared))?;
    writer.write_text(CONFIG, &compared.request.naming.config())?;
    write_report(&writer, &compared.report())?;
    Ok(writer.finish()?)
}
