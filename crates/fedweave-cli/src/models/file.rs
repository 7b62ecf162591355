//! `models.json` of a run, and predictions from it.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Result, anyhow};
use fedweave::matrix::Rows;
use fedweave::model::{Fitted, ModelSpec, Task};
use fedweave::scaling::Scaling;
use fedweave_io::{Encoding, Input, ModelFile, NodeModel, csv_line, load_rows};

/// Models of some nodes, each with its position in the input.
pub fn model_file(
    models: impl Iterator<Item = (usize, ModelSpec, Option<Fitted>)>,
    input: &Input,
    task: Task,
    scaling: Option<Scaling>,
) -> ModelFile {
    let named = models.map(|(i, spec, fitted)| NodeModel { node: input.names[i].clone(), spec, fitted });
    ModelFile::new(task, input.features.clone(), scaling, named.collect())
}

/// Predictions of the models of a run for the rows of a file, as CSV.
pub fn predict(run: &Path, path: &Path, encoding: &Encoding) -> Result<String> {
    let file = ModelFile::read(run, encoding)?;
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
