//! How good predictions are, where labels are known, and which rows were left out.

use std::path::Path;

use fedweave::learn::race::Cost;
use fedweave::loss::Prediction;
use fedweave::tune::Errors;
use fedweave_io::{Rows as LoadedRows, Skipped};

use super::{Models, Predictor};
use crate::calibration::label_of;
use crate::error::Result;
use crate::wording::{counted, digits};

/// Names quoted in a message.
const NAMED: usize = 5;

impl Predictor {
    /// The rows of a file, with their labels if these can be read; what stands in the target must not keep anybody from predicting.
    pub(super) fn rows_to_predict(&self, path: &Path) -> Result<(LoadedRows, Vec<String>)> {
        let (rows, unscored) = match self.read_rows(path, true) {
            Ok(rows) => (rows, None),
            Err(error) => {
                let rows = self.read_rows(path, false)?;
                (rows, Some(format!("predictions are not judged: {error}")))
            }
        };
        let notes = skipped_words(&rows.skipped).into_iter().chain(unscored).collect();
        Ok((rows, notes))
    }

    /// The mean error over nodes, in words; `None` where scores mean something else at every node.
    pub(super) fn quality(&self, places: &[usize], y: &[f64], predictions: &[Prediction]) -> Option<String> {
        let family = match &self.models {
            Models::Parameters(family, _) => Some((*family)?),
            Models::Blend(family, _) => Some(*family),
            Models::AnyClass(_) => None,
        };
        let cost = family.map_or(Some(Cost::Squared), Cost::of);
        let label = |y: f64| family.map_or(y, |family| label_of(family, y));
        let judged: Vec<(usize, f64, &Prediction)> = places
            .iter()
            .zip(y)
            .zip(predictions)
            .filter(|((_, y), _)| !y.is_nan())
            .map(|((node, y), prediction)| (*node, *y, prediction))
            .collect();
        let error = |y: f64, prediction: &Prediction| match prediction {
            Prediction::Number(p) => cost.map(|cost| cost.value(y, *p)),
            Prediction::Class { probabilities, .. } => Some(-probabilities[label(y) as usize].max(1e-9).ln()),
            Prediction::Margin { .. } => None,
        };
        let right = |y: f64, prediction: &Prediction| match prediction {
            Prediction::Number(_) => None,
            Prediction::Class { class, .. } | Prediction::Margin { class, .. } => Some(*class == label(y) as usize),
        };
        let errors = node_means(self.names().count(), judged.iter().map(|(i, y, p)| Some((*i, error(*y, p)?))));
        let (nodes, rows) = (errors.by_node.iter().flatten().count(), judged.len());
        let name =
            if right(1.0, judged.first()?.2).is_some() { "mean log-loss" } else { cost.map_or("error", Cost::name) };
        let mean = errors.mean().map(|mean| {
            format!("{name} {} (mean over {}, {})", digits(Some(mean)), counted(nodes, "node"), counted(rows, "row"))
        });
        let hits: Option<Vec<bool>> = judged.iter().map(|(_, y, p)| right(*y, p)).collect();
        let share = hits.map(|hits| {
            let hit = hits.iter().filter(|hit| **hit).count();
            format!("{hit} of {rows} classes right ({:.1} %)", 100.0 * hit as f64 / rows as f64)
        });
        let parts: Vec<String> = mean.into_iter().chain(share).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

fn node_means(nodes: usize, errors: impl Iterator<Item = Option<(usize, f64)>>) -> Errors {
    let mut sums = vec![(0.0, 0usize); nodes];
    for (node, error) in errors.flatten() {
        sums[node] = (sums[node].0 + error, sums[node].1 + 1);
    }
    Errors { by_node: sums.into_iter().map(|(sum, rows)| (rows > 0).then(|| sum / rows as f64)).collect() }
}

fn skipped_words(skipped: &Skipped) -> Option<String> {
    let list = |what: &str, names: &[String]| {
        let some: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
        let more = if names.len() > NAMED { format!(" and {} more", names.len() - NAMED) } else { String::new() };
        (!names.is_empty()).then(|| format!("{what} {}{more}", some.join(", ")))
    };
    let why = [list("unknown nodes", &skipped.nodes), list("unknown categories", &skipped.levels)];
    let why: Vec<String> = why.into_iter().flatten().collect();
    (skipped.rows > 0).then(|| format!("{} left out: {}", counted(skipped.rows, "row"), why.join("; ")))
}
