//! Everything that was measured about a run, for each of the seven key requirements of trustworthy AI: a page and JSON.
//!
//! The items are those of the Assessment List for Trustworthy AI (2020), in our own words. Every number comes with the command that
//! measures it again; what was not measured is said, and what no program can answer is asked.

mod evidence;
mod list;
mod subject;

use std::path::{Path, PathBuf};

use fedweave_io::Used;
use fedweave_report::trust::{Item, Measure, Missing, Requirement, TrustPage, render_trust};
use serde_json::Value;

use crate::error::{Result, require};
use crate::request::again::quoted;
use crate::watch::Observer;
use crate::wording::version;
use subject::Subject;

/// Watts of a busy core where nobody said how many.
pub const WATTS: f64 = 15.0;
/// Fits of each kind of stress.
pub const FITS: usize = 5;

/// What can be said about a run?
#[derive(Debug, Clone, PartialEq)]
pub struct TrustRequest {
    /// The run directory.
    pub run: PathBuf,
    /// The column that tells groups apart.
    pub group: Option<String>,
    /// Event logs of parts, beside those in the folder of `fedweave up --work`.
    pub logs: Vec<PathBuf>,
    /// Folds in which rows are held out.
    pub folds: usize,
    /// Fits of each kind of stress.
    pub fits: usize,
    /// Seed of folds and stress.
    pub seed: u64,
    /// Watts of a busy core.
    pub watts: f64,
}

/// What was found.
pub struct TrustResult {
    /// The page as facts.
    pub page: TrustPage,
}

impl TrustRequest {
    /// With the defaults.
    pub fn new(run: impl Into<PathBuf>) -> TrustRequest {
        let (logs, folds) = (Vec::new(), super::fairness::FOLDS);
        TrustRequest { run: run.into(), group: None, logs, folds, fits: FITS, seed: 0, watts: WATTS }
    }

    /// Measures all that can be measured.
    pub fn run(&self, observer: &dyn Observer) -> Result<TrustResult> {
        require!(self.watts > 0.0 && self.watts.is_finite(), "--watts {}: must be positive, e.g. 15", self.watts);
        let subject = Subject::of(self, observer)?;
        let found = evidence::all(self, &subject);
        let mut page = TrustPage {
            title: subject.title(),
            version: version(),
            run: self.run.display().to_string(),
            command: self.command(""),
            about: subject.about(),
            requirements: requirements(found),
            annex: list::annex(),
        };
        count_commands(&mut page);
        Ok(TrustResult { page })
    }

    /// The command that makes the page, with more words.
    fn command(&self, more: &str) -> String {
        let group = self.group.iter().map(|group| format!(" --group {}", quoted(group)));
        let logs = self.logs.iter().map(|log| format!(" --log {}", shell(log)));
        let plain = TrustRequest::new(&self.run);
        let number = |flag: &str, value: String, otherwise: String| match value == otherwise {
            true => String::new(),
            false => format!(" --{flag} {value}"),
        };
        let numbers = [
            number("folds", self.folds.to_string(), plain.folds.to_string()),
            number("fits", self.fits.to_string(), plain.fits.to_string()),
            number("seed", self.seed.to_string(), plain.seed.to_string()),
            number("watts", self.watts.to_string(), plain.watts.to_string()),
        ];
        let words: String = group.chain(logs).chain(numbers).collect();
        format!("fedweave trust {}{words}{more}", shell(&self.run))
    }
}

/// A file or folder as a shell wants it.
fn shell(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// Evidence for one item.
#[derive(Default)]
struct Found {
    measures: Vec<Measure>,
    missing: Vec<Missing>,
}

impl Found {
    fn add(&mut self, measure: Measure) {
        // A number that is none was not measured.
        match measure.value.is_finite() {
            true => self.measures.push(Measure { words: sentence(&measure.words), ..measure }),
            false => self.lacks(&measure.name, "the data allow no number", &measure.command),
        }
    }

    fn lacks(&mut self, what: &str, why: &str, command: &str) {
        self.missing.push(Missing { what: what.into(), why: sentence(why), command: command.into() });
    }
}

/// Words that begin with a capital and end with a full stop.
fn sentence(words: &str) -> String {
    let mut rest = words.chars();
    let first = rest.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let end = if words.is_empty() || words.ends_with(['.', ':', '…']) { "" } else { "." };
    format!("{first}{}{end}", rest.as_str())
}

/// The list, with the evidence that was found.
fn requirements(mut found: Vec<(&'static str, Found)>) -> Vec<Requirement> {
    let mut item = |(id, name, questions): &(&str, &str, &[&str])| {
        let place = found.iter().position(|(of, _)| of == id);
        let Found { measures, missing } = place.map(|k| found.swap_remove(k).1).unwrap_or_default();
        let questions = questions.iter().map(ToString::to_string).collect();
        Item { id: (*id).into(), name: (*name).into(), measures, missing, questions }
    };
    let all = list::LIST.iter().map(|(code, name, items)| Requirement {
        code: (*code).into(),
        name: (*name).into(),
        items: items.iter().map(&mut item).collect(),
    });
    let all: Vec<Requirement> = all.collect();
    debug_assert!(found.is_empty(), "evidence for an item that is not in the list");
    all
}

/// How many numbers of the page can be measured again: itself one of them.
fn count_commands(page: &mut TrustPage) {
    let measures = || page.requirements.iter().flat_map(|r| &r.items).flat_map(|item| &item.measures);
    let (with, all) = (measures().filter(|m| !m.command.is_empty()).count(), measures().count());
    let command = page.command.clone();
    let item = page.requirements.iter_mut().flat_map(|r| &mut r.items).find(|item| item.id == "7.1");
    if let Some(item) = item {
        item.measures.push(Measure {
            name: "numbers on this page that come with a command".into(),
            value: with as f64,
            shown: format!("{with} of {all}"),
            words: "Whoever has the data can measure them again; the same seed gives the same numbers.".into(),
            command,
            parts: Vec::new(),
        });
    }
}

/// Joules of some work, and how they were found.
fn energy(used: &Used, watts: f64) -> Option<(f64, String)> {
    if let Some(joules) = used.joules {
        let words = "as the processor counted it (RAPL), other programs of this machine included".to_owned();
        return Some((joules, words));
    }
    let seconds = used.cpu_seconds?;
    let words = format!(
        "estimated: {seconds:.1e} s of processor time at {watts} watts a core (--watts); the machine measures none"
    );
    Some((seconds * watts, words))
}

impl TrustResult {
    /// The one JSON object.
    pub fn summary(&self) -> Value {
        let (measured, items) = self.page.coverage();
        let mut object = serde_json::to_value(&self.page).unwrap_or_default();
        object["items"] = items.into();
        object["items_measured"] = measured.into();
        object
    }

    /// The page.
    pub fn html(&self) -> Result<String> {
        Ok(render_trust(&self.page)?)
    }

    /// In words.
    pub fn text(&self) -> String {
        let (measured, items) = self.page.coverage();
        let mut lines = vec![format!("{measured} of {items} items of the Assessment List have a measured number")];
        for requirement in &self.page.requirements {
            lines.push(format!("{} {}", requirement.code, requirement.name));
            for item in &requirement.items {
                lines.push(format!("  {} {}", item.id, item.name));
                lines.extend(item.measures.iter().map(|m| format!("      {} {}", m.shown, m.name)));
                lines.extend(item.missing.iter().map(|m| format!("      not measured: {}. {}", m.what, m.why)));
            }
        }
        lines.join("\n")
    }
}
