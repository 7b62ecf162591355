//! Who shaped the models of a run, and what shapes single predictions.

use std::path::{Path, PathBuf};

use fedweave::loss::LossOptions;
use fedweave::robustness::liars_bound;
use fedweave::trust::explain::{Influence, Shaped};
use serde_json::{Value, json};

use super::predictions::{PredictionParts, is_any_class, prediction_parts};
use crate::again::again;
use crate::error::{Error, Result, refuse};
use crate::fit::FitResult;
use crate::predictor::parameter_names;
use crate::watch::Observer;
use crate::wording::number;

/// Shares that a page, or a few lines, show.
const SHOWN: usize = 6;
/// Numbers of the inverse that a report may cost.
const REPORT_WORK: usize = 4_000_000;

/// Who shaped the models?
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainRequest {
    /// The run directory.
    pub run: PathBuf,
    /// One node; `None`: all.
    pub node: Option<String>,
    /// Rows whose predictions are to be taken apart.
    pub rows: Option<PathBuf>,
}

/// What was found.
pub struct ExplainResult {
    names: Vec<String>,
    parameters: Vec<String>,
    shaped: Vec<(usize, Shaped)>,
    exact: bool,
    /// How far all other models together may be from what they would be without a node, whatever its rows: proven, for pulls that
    /// have a limit. In the order of `shaped`.
    bounds: Vec<Option<f64>>,
    /// Predictions taken apart, if any were asked for.
    pub predictions: Option<PredictionParts>,
}

impl ExplainRequest {
    /// Fits the run again and asks its optimality conditions.
    pub fn run(&self, observer: &dyn Observer) -> Result<ExplainResult> {
        if let Some(rows) = self.rows.as_ref().filter(|_| is_any_class(&self.run)) {
            let predictions = Some(prediction_parts(&self.run, None, rows)?);
            return Ok(ExplainResult {
                names: Vec::new(),
                parameters: Vec::new(),
                shaped: Vec::new(),
                exact: true,
                bounds: Vec::new(),
                predictions,
            });
        }
        let fit = again(&self.run, observer)?;
        let influence = influence(&fit)?;
        let nodes: Vec<usize> = match &self.node {
            None => (0..fit.input.names.len()).collect(),
            Some(name) => match fit.input.names.binary_search(name) {
                Ok(i) => vec![i],
                Err(_) => refuse!("--node {name}: there is no such node in {}", self.run.display()),
            },
        };
        let restored = |i: usize| {
            let mut shaped = influence.of(i, fit.solution.w.row(i));
            shaped.contributions = fit.training.restore(&fit.loss, &shaped.contributions);
            let held = fedweave::Matrix::from_rows(shaped.held.len(), shaped.held);
            shaped.held = fit.training.restore(&fit.loss, &held).row(0).to_vec();
            (i, shaped)
        };
        let rows = self.rows.as_deref().map(|rows: &Path| prediction_parts(&self.run, Some(&fit), rows)).transpose()?;
        let bound = |j: &usize| liars_bound(&fit.problem, |i| i == *j).ok().filter(|_| fit.protection.is_none());
        Ok(ExplainResult {
            bounds: nodes.iter().map(bound).collect(),
            shaped: nodes.into_iter().map(restored).collect(),
            parameters: parameter_names(&fit.loss, &fit.input),
            exact: influence.is_exact(),
            predictions: rows,
            names: fit.input.names,
        })
    }
}

pub(crate) fn influence(fit: &FitResult) -> Result<Influence> {
    if fit.fallback.as_ref().is_some_and(|fallback| fallback.count() > 0) {
        refuse!("who shaped the models cannot be told: some nodes keep their local models (--fallback)");
    }
    let options = match fit.learnt {
        Some(_) => LossOptions::default(),
        None => fit.request.model.options,
    };
    let s = &fit.solution;
    Influence::new(&fit.problem, &s.w, &s.u, &options, fit.input.features.len())
        .map_err(|why| Error::request(format!("who shaped the models cannot be told: {why}")))
}

/// The names and shares of those who shaped each model most; `None` where that cannot be told, would tell about protected rows,
/// or is much work.
pub(crate) fn shaped_by(fit: &FitResult) -> Option<Vec<Vec<(String, f64)>>> {
    let (n, d) = (fit.problem.nodes(), fit.problem.dim());
    if fit.protection.is_some() || n * n * d * d > REPORT_WORK || fit.input.graph.edges() == 0 {
        return None;
    }
    let influence = influence(fit).ok()?;
    let of = |i: usize| largest(&influence.of(i, fit.solution.w.row(i)), &fit.input.names);
    Some((0..fit.input.names.len()).map(of).collect())
}

/// The largest shares, by name.
fn largest(shaped: &Shaped, names: &[String]) -> Vec<(String, f64)> {
    let mut all: Vec<(usize, f64)> = shaped.shares.iter().copied().enumerate().take(names.len()).collect();
    all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let shown = all.into_iter().take(SHOWN).filter(|(_, share)| share.abs() >= 0.005);
    shown.map(|(j, share)| (names[j].clone(), share)).collect()
}

impl ExplainResult {
    /// The one JSON object.
    pub fn summary(&self) -> Value {
        let one = |((i, shaped), bound): (&(usize, Shaped), &Option<f64>)| {
            let rows = |j: usize| json!({"node": self.names[j], "share": shaped.shares[j], "contribution": shaped.contributions.row(j)});
            let by = (0..self.names.len()).filter(|&j| shaped.shares[j] != 0.0).map(rows).collect::<Vec<_>>();
            json!({
                "node": self.names[*i], "shaped_by": by, "ridge": shaped.ridge,
                "held_back": shaped.held, "others_move_at_most": bound,
            })
        };
        json!({
            "exact": self.exact, "parameters": self.parameters,
            "nodes": self.shaped.iter().zip(&self.bounds).map(one).collect::<Vec<_>>(),
            "predictions": self.predictions.as_ref().map(PredictionParts::summary),
        })
    }

    /// In words.
    pub fn text(&self) -> String {
        let mut lines = Vec::new();
        if !self.shaped.is_empty() {
            lines.push(match self.exact {
                true => "whose rows shaped each model (exact: squared loss and a quadratic coupling):".into(),
                false => "whose rows shaped each model (for changes small enough that no two models fuse or part):"
                    .to_string(),
            });
        }
        for ((i, shaped), bound) in self.shaped.iter().zip(&self.bounds) {
            let percent = |share: f64| format!("{:.0} %", 100.0 * share);
            let by = largest(shaped, &self.names).into_iter().map(|(name, share)| {
                let whose = if name == self.names[*i] { "its own rows".into() } else { name };
                format!("{} {whose}", percent(share))
            });
            let ridge = (shaped.ridge.abs() >= 0.005).then(|| format!("{} the ridge", percent(shaped.ridge)));
            let most = bound.map_or(String::new(), |b| format!("; moves all others by at most {} together", number(b)));
            lines.push(format!("  {}: {}{most}", self.names[*i], by.chain(ridge).collect::<Vec<_>>().join(", ")));
        }
        lines.extend(self.predictions.as_ref().map(PredictionParts::text));
        lines.join("\n")
    }

    /// All shares as a table: `node,by,share`.
    pub fn csv(&self) -> String {
        let mut text = String::from("node,by,share\n");
        for (i, shaped) in &self.shaped {
            for (j, share) in shaped.shares.iter().enumerate().take(self.names.len()).filter(|(_, s)| **s != 0.0) {
                text += &fedweave_io::csv_line([self.names[*i].clone(), self.names[j].clone(), share.to_string()]);
            }
        }
        text
    }
}
