//! `models.json`: all models of a run as plain data, and predictions from it. Nothing in it is ever executed.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use fedweave::matrix::Rows;
use fedweave::model::{Fitted, MODELS_VERSION, ModelSpec, Task};
use fedweave::scaling::Scaling;
use fedweave_io::{Encoding, Input, load_rows, read_json};
use serde::{Deserialize, Serialize};

use super::LOSS;
use crate::predict::{Model, csv_line};

const FORMAT: &str = "fedweave-models";

/// The file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    format: String,
    version: u32,
    task: Task,
    features: Vec<String>,
    scaling: Option<Scaling>,
    nodes: Vec<NodeModel>,
}

/// The model of one node; without `fitted` nothing was ever learnt, and it predicts 0, or all classes alike.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeModel {
    node: String,
    spec: ModelSpec,
    fitted: Option<Fitted>,
}

impl ModelFile {
    /// Models of some nodes.
    pub fn of(
        models: impl Iterator<Item = (usize, ModelSpec, Option<Fitted>)>,
        input: &Input,
        task: Task,
        scaling: Option<Scaling>,
    ) -> Self {
        let named = models.map(|(i, spec, fitted)| (input.names[i].clone(), spec, fitted));
        Self::new(task, input.features.clone(), scaling, named)
    }

    /// Nodes by name, with their classes and models.
    pub fn new(
        task: Task,
        features: Vec<String>,
        scaling: Option<Scaling>,
        nodes: impl Iterator<Item = (String, ModelSpec, Option<Fitted>)>,
    ) -> Self {
        let nodes = nodes.map(|(node, spec, fitted)| NodeModel { node, spec, fitted }).collect();
        ModelFile { format: FORMAT.into(), version: MODELS_VERSION, task, features, scaling, nodes }
    }

    /// How `fedweave predict` reads rows for these models; classes are called by their numbers.
    pub fn model(&self, encoding: Encoding) -> Model {
        let classes = match self.task {
            Task::Regression => Vec::new(),
            Task::Classification { classes } => (0..classes).map(|k| k.to_string()).collect(),
        };
        Model { loss: LOSS.into(), labels: Default::default(), encoding: Encoding { classes, ..encoding } }
    }

    /// Names and models.
    pub fn into_models(self) -> impl Iterator<Item = (String, Option<Fitted>)> {
        self.nodes.into_iter().map(|node| (node.node, node.fitted))
    }

    /// Whatever stands in the file, predicting from it afterwards cannot go wrong.
    fn check(&self, encoding: &Encoding) -> Result<()> {
        ensure!(self.format == FORMAT, "its format is {:?}, not {FORMAT:?}", self.format);
        ensure!(
            self.version == MODELS_VERSION,
            "it has version {}, this program reads version {MODELS_VERSION}: fit again",
            self.version
        );
        ensure!(self.features == encoding.names(), "its features are not those of encoding.json");
        if let Task::Classification { classes } = self.task {
            ensure!(classes == encoding.classes.len(), "its classes are not those of encoding.json");
        }
        if let Some(scaling) = &self.scaling {
            ensure!(scaling.dim() == self.features.len(), "its scaling has another number of features");
        }
        for model in &self.nodes {
            let Some(fitted) = &model.fitted else { continue };
            fitted.check().with_context(|| format!("node `{}`", model.node))?;
            ensure!(fitted.task() == self.task, "node `{}`: the model predicts something else", model.node);
            ensure!(
                fitted.features() == self.features.len(),
                "node `{}`: the model has {} features, the run {}",
                model.node,
                fitted.features(),
                self.features.len()
            );
        }
        Ok(())
    }
}

/// Predictions of the models of a run for the rows of a file, as CSV.
pub fn predict(run: &Path, path: &Path, encoding: &Encoding) -> Result<String> {
    let file: ModelFile = read_json(run, "models.json")?;
    let shown = run.join("models.json");
    file.check(encoding).with_context(|| format!("{}: not a file this program wrote", shown.display()))?;
    let of: HashMap<&str, usize> = file.nodes.iter().enumerate().map(|(i, n)| (n.node.as_str(), i)).collect();
    let mut rows = load_rows(path, &Encoding { target: None, ..encoding.clone() })?;
    if let Some(scaling) = &file.scaling {
        scaling.apply_rows(&mut rows.x);
    }
    let probabilities = encoding.classes.iter().map(|c| format!("probability:{c}"));
    let header = [encoding.node.clone(), "prediction".into()].into_iter().chain(probabilities);
    let mut text = csv_line(header);
    let mut out = vec![0.0; file.task.outputs()];
    for (r, name) in rows.node.iter().enumerate() {
        let line = rows.lines[r];
        let node = *of.get(name.as_str()).ok_or_else(|| {
            anyhow!("{}:{line}: node `{name}` is not in {}; fit it first", path.display(), run.display())
        })?;
        match &file.nodes[node].fitted {
            Some(fitted) => fitted.predict(Rows::new(rows.x.cols(), rows.x.row(r)), &mut out)?,
            None => out.fill(if encoding.classes.is_empty() { 0.0 } else { 1.0 / encoding.classes.len() as f64 }),
        }
        let label = file.task.labels(&out)[0];
        let cells = match file.task {
            Task::Regression => vec![label.to_string()],
            Task::Classification { .. } => std::iter::once(encoding.classes[label as usize].clone())
                .chain(out.iter().map(f64::to_string))
                .collect(),
        };
        text += &csv_line(std::iter::once(name.clone()).chain(cells));
    }
    Ok(text)
}
