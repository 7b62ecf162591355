//! `fedweave check`: what theorems say about a run, beside what is there.

use std::path::PathBuf;

use fedweave::cluster::clusters;
use fedweave::graph::laplacian_extremes;
use fedweave::graph::partition::Partition;
use fedweave::theory::{Comparison, Finding, Outcome, Question, Side, check};
use fedweave_io::{csv_line, load};
use serde_json::{Value, json};

use crate::again::request;
use crate::error::{Result, require};
use crate::fit::{FitResult, fit};
use crate::path::partition_of;
use crate::request::path::PartitionChoice;
use crate::watch::Observer;
use crate::wording::{counted, number};

/// Solutions that theorems are held against are this accurate.
const TOLERANCE: f64 = 1e-10;

/// What do theorems say about a run?
#[derive(Debug, Clone, PartialEq)]
pub struct TheoryRequest {
    /// The run directory.
    pub run: PathBuf,
    /// Clusters that theorems are asked about: a file with `node,cluster`.
    pub partition: Option<PathBuf>,
}

/// Every theorem, and what it says.
pub struct TheoryResult {
    /// In the order of the book and the papers.
    pub findings: Vec<Finding>,
    /// Where the clusters come from.
    pub clusters: String,
    summary: Value,
}

impl TheoryRequest {
    /// Fits the run again, to a high accuracy, and asks.
    pub fn run(&self, observer: &dyn Observer) -> Result<TheoryResult> {
        let (mut request, spec) = request(&self.run)?;
        require!(request.privacy.is_none(), "theorems about protected rows would tell about them (--dp-epsilon)");
        request.solve.tolerance = request.solve.tolerance.min(TOLERANCE);
        let fit = fit(request, load(&spec)?, observer)?;
        let (partition, clusters) = self.partition(&fit)?;
        let data = &fit.training.scaled;
        let found = check(&Question::new(&fit.problem, &fit.solution, &partition).with_data(data));
        let summary = json!({
            "nodes": fit.problem.nodes(), "edges": fit.problem.graph().edges(), "parameters": fit.problem.dim(),
            "lambda": fit.problem.lambda(), "penalty": fit.problem.penalty().name(),
            "certified_gap": fit.solution.certified_gap, "standardized": fit.training.scaling.is_some(),
        });
        Ok(TheoryResult { findings: found, clusters, summary })
    }

    fn partition(&self, fit: &FitResult) -> Result<(Partition, String)> {
        if let Some(path) = &self.partition {
            require!(fit.hub.is_none(), "--partition does not go with a common mean (--hub, --coupling learnt)");
            let choice = PartitionChoice::File(path.clone(), "node".into());
            return Ok((partition_of(&choice, &fit.input)?, format!("those of {}", path.display())));
        }
        let (problem, solution) = (&fit.problem, &fit.solution);
        if !problem.penalty().is_smooth() {
            return Ok((clusters(problem, &solution.w, &solution.u).partition, "those that the fit found".into()));
        }
        let components = problem.components();
        if components.len() > 1 || problem.nodes() < 2 {
            return Ok((components.clone(), "the components of the graph".into()));
        }
        let halves: Vec<bool> = laplacian_extremes(problem.graph())?.fiedler.iter().map(|v| *v < 0.0).collect();
        Ok((Partition::of_labels(&halves), "two halves of the graph, by its second eigenvector".into()))
    }
}

fn sign(comparison: &Comparison) -> &'static str {
    match comparison.side {
        Side::AtMost => "<=",
        Side::AtLeast => ">=",
    }
}

impl TheoryResult {
    /// Bounds that do not hold: a mistake, in the program or in the theorem.
    pub fn violated(&self) -> usize {
        self.findings.iter().filter(|finding| finding.holds() == Some(false)).count()
    }

    fn compared(&self) -> impl Iterator<Item = (&Finding, &Comparison)> {
        self.findings.iter().filter_map(|finding| match &finding.outcome {
            Outcome::Compared(comparison) => Some((finding, comparison)),
            Outcome::Silent(_) => None,
        })
    }

    fn silent(&self) -> impl Iterator<Item = (&Finding, &str)> {
        self.findings.iter().filter_map(|finding| match &finding.outcome {
            Outcome::Compared(_) => None,
            Outcome::Silent(why) => Some((finding, why.as_str())),
        })
    }

    /// The one JSON object.
    pub fn summary(&self) -> Value {
        let bound = |(finding, c): (&Finding, &Comparison)| {
            json!({
                "source": finding.source, "claim": finding.claim, "actual": c.actual, "side": sign(c), "bound": c.bound,
                "slack": c.slack, "looseness": finite(c.looseness()), "holds": c.holds(),
            })
        };
        let silent = |(finding, why): (&Finding, &str)| json!({"source": finding.source, "claim": finding.claim, "because": why});
        let mut all = self.summary.clone();
        all["clusters"] = json!(self.clusters);
        all["violated"] = json!(self.violated());
        all["bounds"] = self.compared().map(bound).collect();
        all["silent"] = self.silent().map(silent).collect();
        all["version"] = json!(env!("CARGO_PKG_VERSION"));
        all
    }

    /// In words.
    pub fn text(&self) -> String {
        let mut lines = vec![format!("clusters: {}", self.clusters), String::new()];
        let width = self.compared().map(|(finding, _)| finding.source.len()).max().unwrap_or(0);
        lines.push(format!("{:width$} {:>13}    {:>13} {:>10}", "", "there is", "bound", "times"));
        for (finding, c) in self.compared() {
            let verdict = if c.holds() { "" } else { "  VIOLATED" };
            let times = if c.looseness().is_finite() { format!("{:.3}", c.looseness()) } else { "-".into() };
            let (actual, bound) = (number(c.actual), number(c.bound));
            let line = format!(
                "{:width$} {actual:>13} {} {bound:>13} {times:>10}  {}",
                finding.source,
                sign(c),
                finding.claim
            );
            lines.push(line + verdict);
        }
        lines.push(String::new());
        lines.extend(
            self.silent().map(|(finding, why)| format!("silent: {} ({}): {why}", finding.source, finding.claim)),
        );
        let (told, silent) = (self.compared().count(), self.silent().count());
        lines.push(match self.violated() {
            0 => format!("{} hold, {silent} are silent", counted(told, "bound")),
            broken => {
                format!("{broken} of {} DO NOT HOLD; this is a mistake, please report it", counted(told, "bound"))
            }
        });
        lines.join("\n")
    }

    /// As a table.
    pub fn csv(&self) -> String {
        let mut text = String::from("source,claim,actual,side,bound,looseness,holds,silent_because\n");
        for finding in &self.findings {
            let cells = match &finding.outcome {
                Outcome::Compared(c) => [
                    c.actual.to_string(),
                    sign(c).to_string(),
                    c.bound.to_string(),
                    finite(c.looseness()).map_or(String::new(), |times| times.to_string()),
                    c.holds().to_string(),
                    String::new(),
                ],
                Outcome::Silent(why) => {
                    [String::new(), String::new(), String::new(), String::new(), String::new(), why.clone()]
                }
            };
            text += &csv_line([finding.source.to_string(), finding.claim.clone()].into_iter().chain(cells));
        }
        text
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
