//! Nodes that asked, as a run directory.

use std::path::PathBuf;

use fedweave_io::RunWriter;

use super::report::report_of;
use super::{AskResult, Lesson, Taught, Told, summary};
use crate::error::Result;
use crate::predictor::{encoding_of, encoding_of_models, parameter_names};
use crate::run_dir::{
    CHOICES, CONFIG, ENCODING, ERROR_COLUMNS, ERRORS, MODELS, TEACHERS, cell, write_report, write_summary,
};

/// Writes the run directory; returns where it is.
pub fn write_run(ask: &AskResult, writer: RunWriter) -> Result<PathBuf> {
    write_models(ask, &writer)?;
    writer.write_text(CONFIG, &ask.request.naming().config())?;
    write_lessons(ask, &writer)?;
    let held = ask.held_out.as_ref();
    let errors = ask.lessons.iter().map(|l| {
        let i = l.node;
        let [train, validation, local] =
            [ask.train.by_node[i], held.and_then(|h| h.validation.by_node[i]), held.and_then(|h| h.local.by_node[i])]
                .map(cell);
        [ask.input.names[i].clone(), ask.input.data.rows(i).len().to_string(), train, validation, local]
    });
    let header: Vec<&str> = std::iter::once("node").chain(ERROR_COLUMNS).collect();
    writer.write_csv(ERRORS, &header, errors)?;
    write_summary(&writer, &summary(ask))?;
    write_report(&writer, &report_of(ask)?)?;
    Ok(writer.finish()?)
}

fn write_models(ask: &AskResult, writer: &RunWriter) -> Result<()> {
    let scores = match &ask.taught {
        Taught::Parameters(loss, w) => {
            let askers: Vec<String> = ask.lessons.iter().map(|l| ask.input.names[l.node].clone()).collect();
            writer.write_parameters(&parameter_names(loss, &ask.input), &askers, w)?;
            encoding_of(loss, &ask.input)
        }
        Taught::Models(_, _, file) => {
            writer.write_json(MODELS, file)?;
            encoding_of_models(ask.input.encoding.clone())
        }
    };
    Ok(writer.write_json(ENCODING, &scores)?)
}

/// From whom the nodes learnt, and every answer where few nodes ask.
fn write_lessons(ask: &AskResult, writer: &RunWriter) -> Result<()> {
    let name = |i: usize| ask.input.names[i].clone();
    let teachers = ask
        .lessons
        .iter()
        .flat_map(|l| l.teachers.iter().map(|t| [name(l.node), name(t.0), t.1.to_string(), t.2.to_string()]));
    writer.write_csv(TEACHERS.0, &TEACHERS.1, teachers)?;
    if ask.lessons.iter().all(|l| l.told.is_empty()) {
        return Ok(());
    }
    let round = |l: &Lesson, k: usize| {
        let Told { candidate: chosen, asked, .. } = &l.told[k];
        let row = |(c, reward): &(usize, f64)| {
            let taken = if c == chosen { "1" } else { "0" };
            [name(l.node), (k + 1).to_string(), name(*c), reward.to_string(), taken.into()]
        };
        asked.iter().map(row).collect::<Vec<_>>()
    };
    let rows = ask.lessons.iter().flat_map(|l| (0..l.told.len()).flat_map(move |k| round(l, k)));
    Ok(writer.write_csv(CHOICES.0, &CHOICES.1, rows)?)
}
