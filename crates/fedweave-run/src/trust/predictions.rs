//! Predictions taken apart: what every feature adds to what a model says of a row.

use std::path::Path;

use fedweave::loss::LossSpec;
use fedweave::trust::explain::paths::{Parts, linear, of_model};
use fedweave_io::{ANY_CLASS, ModelFile, RunEncoding, csv_line, load_rows, read_json};
use serde_json::{Value, json};

use crate::error::{Error, Place, Result, refuse};
use crate::fit::FitResult;
use crate::run_dir::ENCODING;
use crate::wording::number;

/// Predictions, each as a sum.
pub struct PredictionParts {
    features: Vec<String>,
    rows: Vec<(String, Parts)>,
}

/// True if the run holds models without one vector of parameters per node.
pub(super) fn is_any_class(run: &Path) -> bool {
    read_json::<RunEncoding>(run, ENCODING).is_ok_and(|encoding| encoding.loss == ANY_CLASS)
}

/// Takes the predictions of rows apart: scores of linear models seen from the mean row of their node, trees along their paths.
pub(super) fn prediction_parts(run: &Path, fit: Option<&FitResult>, file: &Path) -> Result<PredictionParts> {
    let shown = run.display();
    let scores: RunEncoding = read_json(run, ENCODING).at(format!("{shown} is not a run directory"))?;
    let mut rows = load_rows(file, &scores.encoding)?;
    let unknown = |name: &str| Error::request(format!("{}: node `{name}` has no model in {shown}", file.display()));
    let Some(fit) = fit else {
        let models = ModelFile::read(run, &scores.encoding)?;
        if let Some(scaling) = &models.scaling {
            scaling.apply_rows(&mut rows.x);
        }
        let typical = vec![0.0; rows.x.cols()];
        let part = |r: usize| {
            let node = models.nodes.iter().find(|node| node.node == rows.node[r]);
            let fitted = node.ok_or_else(|| unknown(&rows.node[r]))?.fitted.as_ref();
            let parts = fitted.and_then(|fitted| of_model(fitted, rows.x.row(r), &typical, 0));
            let Some(parts) = parts else {
                refuse!(
                    "the predictions of `{}` do not fall apart into features: only those of linear models, trees and forests do",
                    rows.node[r]
                )
            };
            Ok((rows.node[r].clone(), parts))
        };
        let parts = (0..rows.node.len()).map(part).collect::<Result<Vec<_>>>()?;
        return Ok(PredictionParts { features: models.features.clone(), rows: parts });
    };
    if fit.parameters.cols() != fit.input.features.len() || matches!(fit.loss, LossSpec::Same(fedweave::Family::Point))
    {
        refuse!("--rows: models of several classes, and points, have no single score to take apart");
    }
    let (d, data) = (fit.input.features.len(), &fit.training.rows);
    let typical = |i: usize| -> Vec<f64> {
        let rows = data.rows(i);
        let count = rows.len().max(1) as f64;
        (0..d).map(|j| rows.clone().map(|r| data.x(r)[j]).sum::<f64>() / count).collect()
    };
    let part = |r: usize| {
        let i = fit.input.names.binary_search(&rows.node[r]).map_err(|_| unknown(&rows.node[r]))?;
        Ok((rows.node[r].clone(), linear(fit.parameters.row(i), rows.x.row(r), &typical(i))))
    };
    let parts = (0..rows.node.len()).map(part).collect::<Result<Vec<_>>>()?;
    Ok(PredictionParts { features: fit.input.features.clone(), rows: parts })
}

impl PredictionParts {
    /// A table: node, prediction, base, and a column for every feature.
    pub fn csv(&self) -> String {
        let head = ["node", "prediction", "base"].into_iter().map(String::from).chain(self.features.clone());
        let mut text = csv_line(head);
        for (node, parts) in &self.rows {
            let numbers = [parts.total(), parts.base].into_iter().chain(parts.features.iter().copied());
            text += &csv_line([node.clone()].into_iter().chain(numbers.map(|v| v.to_string())));
        }
        text
    }

    pub(super) fn summary(&self) -> Value {
        let one = |(node, parts): &(String, Parts)| json!({"node": node, "prediction": parts.total(), "base": parts.base, "features": parts.features});
        json!({"features": self.features, "rows": self.rows.iter().map(one).collect::<Vec<_>>()})
    }

    pub(super) fn text(&self) -> String {
        let mut lines = vec!["what every feature adds to a prediction:".to_string()];
        for (node, parts) in self.rows.iter().take(20) {
            let mut named: Vec<(&String, f64)> = self.features.iter().zip(parts.features.iter().copied()).collect();
            named.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
            let named = named.iter().filter(|(_, part)| *part != 0.0).take(5);
            let sum: Vec<String> = named.map(|(name, part)| format!("{} {name}", number(*part))).collect();
            lines.push(format!("  {node}: {} = {} + {}", number(parts.total()), number(parts.base), sum.join(" + ")));
        }
        lines.join("\n")
    }
}
