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
    /// Noisy gradients that were bought, and how many of them were released.
    gradients: Option<(u64, u64)>,
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
    let bought: Vec<_> = ledger.entries.iter().filter_map(|entry| Some((entry, entry.rounds.as_ref()?))).collect();
    let made = |what: &str| fedweave_node::ledger::RoundLog::count(&folder.join("ledger.json"), what);
    let gradients = (!bought.is_empty()).then(|| {
        let sum = |all: &mut dyn Iterator<Item = u64>| all.sum::<u64>();
        (
            sum(&mut bought.iter().map(|(_, rounds)| rounds.releases)),
            sum(&mut bought.iter().map(|(e, _)| made(&e.what))),
        )
    });
    Ok(PartSpent { part, releases, gradients, spent, budget: privacy.epsilon, delta: privacy.delta })
}

/// The one JSON object.
pub fn summary(parts: &[PartSpent]) -> Value {
    let part = |p: &PartSpent| json!({"part": p.part, "releases": p.releases, "gradients_bought": p.gradients.map(|g| g.0), "gradients_released": p.gradients.map(|g| g.1), "spent": p.spent, "budget": p.budget, "delta": p.delta});
    json!({"parts": parts.iter().map(part).collect::<Vec<_>>()})
}

/// A line for each part.
pub fn text(parts: &[PartSpent]) -> String {
    let line = |p: &PartSpent| {
        let PartSpent { part, releases, gradients, spent, budget, delta } = p;
        let gradients = gradients.map_or(String::new(), |(bought, made)| {
            format!("; {made} of {bought} noisy gradients that were paid for were released")
        });
        format!(
            "{part}: epsilon {} of {} spent at delta {delta:e}, in {}{gradients}",
            number(*spent),
            number(*budget),
            counted(*releases, "release")
        )
    };
    parts.iter().map(line).collect::<Vec<_>>().join("\n")
}
