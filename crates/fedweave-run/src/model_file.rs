//! `models.json`: all models of a run as plain data. Nothing in it is ever executed.

use fedweave::matrix::Rows;
use fedweave::model::{Fitted, MODELS_VERSION, ModelSpec, Task};
use fedweave::scaling::Scaling;
use fedweave_io::{Encoding, Input};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, require};

const FORMAT: &str = "fedweave-models";

/// The file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    format: String,
    version: u32,
    task: Task,
    features: Vec<String>,
    /// Of features, before a model sees them.
    pub scaling: Option<Scaling>,
    nodes: Vec<NodeModel>,
}

/// The model of one node; without `fitted` nothing was ever learnt, and it predicts 0, or all classes alike.
#[derive(Debug, Clone, Serialize, Deserialize)]
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

    /// The encoding of rows for these models where classes are called by their numbers.
    pub fn numbered(&self, encoding: Encoding) -> Encoding {
        let classes = match self.task {
            Task::Regression => Vec::new(),
            Task::Classification { classes } => (0..classes).map(|k| k.to_string()).collect(),
        };
        Encoding { classes, ..encoding }
    }

    /// Names of the nodes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|node| node.node.as_str())
    }

    /// Names and models.
    pub fn into_models(self) -> impl Iterator<Item = (String, Option<Fitted>)> {
        self.nodes.into_iter().map(|node| (node.node, node.fitted))
    }

    /// Whatever stands in the file, predicting from it afterwards cannot go wrong.
    pub fn check(&self, encoding: &Encoding) -> Result<()> {
        require!(self.format == FORMAT, "its format is {:?}, not {FORMAT:?}", self.format);
        require!(
            self.version == MODELS_VERSION,
            "it has version {}, this program reads version {MODELS_VERSION}: fit again",
            self.version
        );
        require!(self.features == encoding.names(), "its features are not those of encoding.json");
        if let Task::Classification { classes } = self.task {
            require!(classes == encoding.classes.len(), "its classes are not those of encoding.json");
        }
        if let Some(scaling) = &self.scaling {
            require!(scaling.dim() == self.features.len(), "its scaling has another number of features");
        }
        self.nodes.iter().try_for_each(|model| self.check_node(model))
    }

    fn check_node(&self, model: &NodeModel) -> Result<()> {
        let Some(fitted) = &model.fitted else { return Ok(()) };
        let (name, wanted) = (&model.node, self.features.len());
        fitted.check().map_err(|e| Error::Node { name: name.clone(), message: e.to_string() })?;
        require!(fitted.task() == self.task, "node `{name}`: the model predicts something else");
        let found = fitted.features();
        require!(found == wanted, "node `{name}`: the model has {found} features, the run {wanted}");
        Ok(())
    }

    /// The cells of a prediction.
    pub(crate) fn cells(&self, node: usize, x: Rows, classes: &[String]) -> Result<Vec<String>> {
        let mut out = vec![0.0; self.task.outputs()];
        match &self.nodes[node].fitted {
            Some(fitted) => fitted.predict(x, &mut out).map_err(|e| Error::request(e.to_string()))?,
            None => out.fill(if classes.is_empty() { 0.0 } else { 1.0 / classes.len() as f64 }),
        }
        let label = self.task.labels(&out)[0];
        Ok(match self.task {
            Task::Regression => vec![label.to_string()],
            Task::Classification { .. } => {
                std::iter::once(classes[label as usize].clone()).chain(out.iter().map(f64::to_string)).collect()
            }
        })
    }
}
