//! Models of any class of a run, by node.

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

/// The cells of a prediction.
pub(crate) fn cells(file: &ModelFile, node: usize, x: Rows, classes: &[String]) -> Result<Vec<String>> {
    let mut out = vec![0.0; file.task.outputs()];
    match &file.nodes[node].fitted {
        Some(fitted) => fitted.predict(x, &mut out).map_err(|e| Error::request(e.to_string()))?,
        None => out.fill(if classes.is_empty() { 0.0 } else { 1.0 / classes.len() as f64 }),
    }
    let label = file.task.labels(&out)[0];
    Ok(match file.task {
        Task::Regression => vec![label.to_string()],
        Task::Classification { .. } => {
            std::iter::once(classes[label as usize].clone()).chain(out.iter().map(f64::to_string)).collect()
        }
    })
}
