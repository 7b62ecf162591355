//! An outcome as files: a csv per table, an svg per figure, `checks.csv`, `summary.json`.

use std::path::Path;

use fedweave_io::{IoError, RunWriter};
use serde_json::json;

use crate::{Experiment, Outcome, Setting};

/// Writes the folder; files of an earlier run in it are replaced.
pub fn write(folder: &Path, experiment: &Experiment, setting: &Setting, outcome: &Outcome) -> Result<(), IoError> {
    let writer = RunWriter::create(folder, true, &[])?;
    for table in &outcome.tables {
        writer.write_csv(&format!("{}.csv", table.name), table.columns, &table.rows)?;
    }
    for named in &outcome.figures {
        writer.write_text(&format!("{}.svg", named.name), &named.figure.svg())?;
    }
    let holds = |yes: bool| if yes { "yes" } else { "no" };
    let rows = outcome.checks.iter().map(|c| [c.what.as_str(), &c.printed, &c.ours, holds(c.holds), &c.cause]);
    writer.write_csv("checks.csv", &["what", "printed", "ours", "holds", "cause"], rows)?;
    let summary = json!({
        "experiment": experiment.name,
        "source": experiment.source,
        "claim": experiment.claim,
        "seed": setting.seed,
        "quick": setting.quick,
        "passes": outcome.passes(),
        "checks": outcome.checks.len(),
        "deviations": outcome.checks.iter().filter(|check| !check.holds).count(),
        "notes": outcome.notes,
    });
    writer.write_json("summary.json", &summary)?;
    writer.finish().map(|_| ())
}
