//! Models of any class of a run, by node.

use fedweave::loss::Prediction;
use fedweave::matrix::Rows;
use fedweave::model::{Fitted, ModelSpec, Task};
use fedweave::scaling::Scaling;
use fedweave_io::{Input, ModelFile, NodeModel};

use crate::error::{Error, Result};

/// `models.json` of some nodes.
pub(crate) fn model_file(
    models: impl Iterator<Item = (usize, ModelSpec, Option<Fitted>)>,
    input: &Input,
    task: Task,
    scaling: Option<Scaling>,
) -> ModelFile {
    let named = models.map(|(i, spec, fitted)| NodeModel { node: input.names[i].clone(), spec, fitted });
    ModelFile::new(task, input.features.clone(), scaling, named.collect())
}

/// What the model of a node says about a row.
pub(crate) fn predict(file: &ModelFile, node: usize, x: Rows) -> Result<Prediction> {
    let mut out = vec![0.0; file.task.outputs()];
    match &file.nodes[node].fitted {
        Some(fitted) => fitted.predict(x, &mut out).map_err(|e| Error::request(e.to_string()))?,
        None if out.len() > 1 => out.fill(1.0 / file.task.outputs() as f64),
        None => {}
    }
    Ok(prediction(file.task, out))
}

/// The outputs of a model as a prediction.
pub(crate) fn prediction(task: Task, outputs: Vec<f64>) -> Prediction {
    match task {
        Task::Regression => Prediction::Number(outputs[0]),
        Task::Classification { .. } => {
            Prediction::Class { class: task.labels(&outputs)[0] as usize, probabilities: outputs }
        }
    }
}
