//! `models.json`: all models of a run as plain data, and `encoding.json`: how rows are read for them. Nothing in them is ever
//! executed.

use std::path::Path;

use fedweave::model::{Fitted, MODELS_VERSION, ModelSpec, Task};
use fedweave::scaling::Scaling;
use serde::{Deserialize, Serialize};

use super::read_json;
use crate::error::{IoError, Place};
use crate::fault::Fault;
use crate::input::Encoding;

const FORMAT: &str = "fedweave-models";
const FILE: &str = "models.json";

/// What `encoding.json` says of a run with models of any class instead of a loss.
pub const ANY_CLASS: &str = "models";

/// What `encoding.json` says of a run whose predictors won a race.
pub const BLENDED: &str = "blend";

/// `encoding.json` of a run: how to read rows and what the scores mean.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunEncoding {
    /// Name of the loss, or [`ANY_CLASS`].
    pub loss: String,
    /// How the two classes of a two-class loss were written.
    pub labels: [String; 2],
    /// How rows are read.
    pub encoding: Encoding,
}

/// `models.json` of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    format: String,
    version: u32,
    /// What is predicted.
    pub task: Task,
    /// Names of the features.
    pub features: Vec<String>,
    /// How features were scaled before the fit.
    pub scaling: Option<Scaling>,
    /// The models.
    pub nodes: Vec<NodeModel>,
}

/// The model of one node; without `fitted` nothing was ever learnt, and it predicts 0, or all classes alike.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeModel {
    /// The node.
    pub node: String,
    /// Its model class.
    pub spec: ModelSpec,
    /// What it learnt.
    pub fitted: Option<Fitted>,
}

impl ModelFile {
    /// Nodes with their classes and models.
    pub fn new(task: Task, features: Vec<String>, scaling: Option<Scaling>, nodes: Vec<NodeModel>) -> Self {
        ModelFile { format: FORMAT.into(), version: MODELS_VERSION, task, features, scaling, nodes }
    }

    /// The models of the run directory `run`, whose rows are read by `encoding`. Predicting from them cannot go wrong, whatever
    /// stood in the file.
    pub fn read(run: &Path, encoding: &Encoding) -> Result<Self, IoError> {
        let file: ModelFile = read_json(run, FILE)?;
        let refused = |message| Place::file(&run.join(FILE)).fault(Fault::Models { message });
        file.check(encoding).map_err(refused)?;
        Ok(file)
    }

    /// The encoding of rows for these models; classes are called by their numbers.
    pub fn numbered(&self, encoding: Encoding) -> RunEncoding {
        let classes = match self.task {
            Task::Regression => Vec::new(),
            Task::Classification { classes } => (0..classes).map(|k| k.to_string()).collect(),
        };
        RunEncoding { loss: ANY_CLASS.into(), labels: Default::default(), encoding: Encoding { classes, ..encoding } }
    }

    fn check(&self, encoding: &Encoding) -> Result<(), String> {
        let ensure = |holds: bool, otherwise: &dyn Fn() -> String| if holds { Ok(()) } else { Err(otherwise()) };
        ensure(self.format == FORMAT, &|| format!("its format is {:?}, not {FORMAT:?}", self.format))?;
        ensure(self.version == MODELS_VERSION, &|| {
            format!("it has version {}, this program reads version {MODELS_VERSION}: fit again", self.version)
        })?;
        ensure(self.features == encoding.names(), &|| "its features are not those of encoding.json".into())?;
        if let Task::Classification { classes } = self.task {
            let same = classes == encoding.classes.len();
            ensure(same, &|| "its classes are not those of encoding.json".into())?;
        }
        if let Some(scaling) = &self.scaling {
            let same = scaling.dim() == self.features.len();
            ensure(same, &|| "its scaling has another number of features".into())?;
        }
        for NodeModel { node, fitted, .. } in &self.nodes {
            let Some(fitted) = fitted else { continue };
            fitted.check().map_err(|error| format!("node `{node}`: {error}"))?;
            ensure(fitted.task() == self.task, &|| format!("node `{node}`: the model predicts something else"))?;
            let (found, expected) = (fitted.features(), self.features.len());
            ensure(found == expected, &|| {
                format!("node `{node}`: the model has {found} features, the run {expected}")
            })?;
        }
        Ok(())
    }
}
