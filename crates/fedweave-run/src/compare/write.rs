//! A comparison as a run directory.

use std::path::PathBuf;

use fedweave_io::RunWriter;

use super::{CompareResult, summary};
use crate::error::Result;
use crate::run_dir::{COMPARE, CONFIG, cell, write_report, write_summary};
use crate::split_file;

/// Writes the errors of every node, the summary, the settings and the report.
pub fn write_run(compared: &CompareResult, writer: RunWriter) -> Result<PathBuf> {
    let names = &compared.input.names;
    let methods = compared.methods();
    let row = |i: usize| {
        let errors = methods.iter().map(|method| cell(compared.node_error(*method, i)));
        std::iter::once(names[i].clone()).chain(errors).collect::<Vec<_>>()
    };
    let header: Vec<&str> = std::iter::once("node").chain(methods.iter().map(|method| method.name)).collect();
    writer.write_csv(COMPARE, &header, (0..names.len()).map(row))?;
    split_file::write(&writer, &compared.input, &compared.first_split)?;
    write_summary(&writer, &summary(compared))?;
    writer.write_text(CONFIG, &compared.request.naming.config())?;
    write_report(&writer, &compared.report())?;
    Ok(writer.finish()?)
}
