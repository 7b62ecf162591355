//! What the parts of a federation have spent.

use std::path::{Path, PathBuf};

use fedweave::trust::privacy::accountant::gaussian;
use fedweave_node::PartFile;
use fedweave_node::ledger::Ledger;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::wording::{counted, number};

/// What one part has spent.
#[derive(Debug, Clone, PartialEq)]
pub struct PartSpent {
    part: String,
    releases: usize,
    spent: f64,
    budget: f64,
    delta: f64,
}

/// The ledgers beside these files of parts.
pub fn ledgers(files: &[PathBuf]) -> Result<Vec<PartSpent>> {
    files.iter().map(|path| ledger(path)).collect()
}

fn ledger(path: &Path) -> Result<PartSpent> {
    let refused = |words: String| Error::Request(format!("{}: {words}", path.display()));
    let file = PartFile::read(path).map_err(|error| Error::Request(error.to_string()))?;
    let privacy =
        file.privacy.ok_or_else(|| refused("no [privacy]: nothing is spent, and nothing is protected".into()))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let ledger = Ledger::read(&folder.join("ledger.json")).map_err(|error| refused(error.to_string()))?;
    let spent = if ledger.entries.is_empty() { 0.0 } else { gaussian::epsilon(ledger.mu(), privacy.delta) };
    let (part, releases) = (file.name, ledger.entries.len());
    Ok(PartSpent { part, releases, spent, budget: privacy.epsilon, delta: privacy.delta })
}

/// The one JSON object.
pub fn summary(parts: &[PartSpent]) -> Value {
    let part = |p: &PartSpent| json!({"part": p.part, "releases": p.releases, "spent": p.spent, "budget": p.budget, "delta": p.delta});
    json!({"parts": parts.iter().map(part).collect::<Vec<_>>()})
}

/// A line for each part.
pub fn text(parts: &[PartSpent]) -> String {
    let line = |p: &PartSpent| {
        let PartSpent { part, releases, spent, budget, delta } = p;
        format!(
            "{part}: epsilon {} of {} spent at delta {delta:e}, in {}",
            number(*spent),
            number(*budget),
            counted(*releases, "release")
        )
    };
    parts.iter().map(line).collect::<Vec<_>>().join("\n")
}
