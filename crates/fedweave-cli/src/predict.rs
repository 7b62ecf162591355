//! `fedweave predict`: rows of another file through the models of a run.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use fedweave::loss::{Family, LossSpec};
use fedweave::matrix::dot;
use fedweave_io::{Encoding, Input, load_rows, read_json, read_parameters};
use serde::{Deserialize, Serialize};

use crate::Exit;
use crate::models;
use crate::story::loss_name;

/// Predict rows of another file
#[derive(Args)]
pub struct PredictArgs {
    /// Run directory of `fedweave fit --out`
    run: PathBuf,
    /// Table with the columns the models were fitted with (the target may be absent)
    rows: PathBuf,
    /// File to write [default: standard output]
    #[arg(long, short)]
    out: Option<PathBuf>,
}

/// How to read rows and what the scores mean: `encoding.json` of a run.
#[derive(Serialize, Deserialize)]
pub struct Model {
    pub loss: String,
    /// How the two classes of a two-class loss were written.
    pub labels: [String; 2],
    pub encoding: Encoding,
}

impl Model {
    pub fn of(loss: &LossSpec, input: &Input) -> Self {
        let loss = match loss {
            LossSpec::Same(Family::Multinomial { .. }) => "multinomial".into(),
            other => loss_name(other),
        };
        let negative = if input.data.y().contains(&-1.0) { "-1" } else { "0" };
        Model { loss, labels: [negative.into(), "1".into()], encoding: input.encoding.clone() }
    }

    /// Header and values of the prediction for scores `s`.
    fn columns(&self) -> Vec<String> {
        match self.loss.as_str() {
            "logistic" => vec!["prediction".into(), "probability".into()],
            "multinomial" => {
                let probability = self.encoding.classes.iter().map(|c| format!("probability:{c}"));
                std::iter::once("prediction".into()).chain(probability).collect()
            }
            "squared-hinge" => vec!["prediction".into(), "score".into()],
            // What a score means differs from node to node.
            "mixed" => vec!["score".into()],
            _ => vec!["prediction".into()],
        }
    }

    fn predict(&self, x: &[f64], w: &[f64]) -> Vec<String> {
        let s = dot(x, w.get(..x.len()).unwrap_or(w));
        match self.loss.as_str() {
            "logistic" => vec![self.labels[usize::from(s > 0.0)].clone(), (1.0 / (1.0 + (-s).exp())).to_string()],
            "squared-hinge" => vec![self.labels[usize::from(s > 0.0)].clone(), s.to_string()],
            "poisson" => vec![s.exp().to_string()],
            "multinomial" => {
                let scores: Vec<f64> = w.chunks_exact(x.len()).map(|block| dot(x, block)).collect();
                let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let total: f64 = scores.iter().map(|s| (s - top).exp()).sum();
                let best = scores.iter().position(|s| *s == top).unwrap_or(0);
                let probability = scores.iter().map(|s| ((s - top).exp() / total).to_string());
                std::iter::once(self.encoding.classes[best].clone()).chain(probability).collect()
            }
            _ => vec![s.to_string()],
        }
    }
}

pub fn run(args: &PredictArgs) -> Result<Exit> {
    let model: Model = read_json(&args.run, "encoding.json")
        .with_context(|| format!("{} is not a run directory of `fedweave fit --out`", args.run.display()))?;
    if model.loss == "point" {
        bail!("the point loss places nodes, it does not predict rows; see parameters.csv");
    }
    if model.loss == models::LOSS {
        let text = models::predict(&args.run, &args.rows, &model.encoding)?;
        return write(args.out.as_deref(), &text);
    }
    let parameters = read_parameters(&args.run)?;
    let of: HashMap<&str, usize> = parameters.names.iter().enumerate().map(|(i, n)| (n.as_str(), i)).collect();
    let classes = if model.loss == "multinomial" { model.encoding.classes.len() } else { 1 };
    let wanted = classes * model.encoding.names().len();
    ensure!(
        parameters.features.len() == wanted,
        "{}: expected {wanted} parameters a node, found {}; the run directory was changed",
        args.run.join("parameters.csv").display(),
        parameters.features.len()
    );
    // The target is not needed, whatever stands there.
    let rows = load_rows(&args.rows, &Encoding { target: None, ..model.encoding.clone() })?;
    let mut text = csv_line(std::iter::once(model.encoding.node.clone()).chain(model.columns()));
    for (r, name) in rows.node.iter().enumerate() {
        let node = *of.get(name.as_str()).ok_or_else(|| {
            anyhow!(
                "{}:{}: node `{name}` is not in {}; fit it first",
                args.rows.display(),
                rows.lines[r],
                args.run.display()
            )
        })?;
        let cells = model.predict(rows.x.row(r), parameters.w.row(node));
        text += &csv_line(std::iter::once(name.clone()).chain(cells));
    }
    write(args.out.as_deref(), &text)
}

fn write(out: Option<&Path>, text: &str) -> Result<Exit> {
    match out {
        Some(path) => std::fs::write(path, text).with_context(|| format!("{}: cannot be written", path.display()))?,
        None => std::io::stdout().write_all(text.as_bytes())?,
    }
    Ok(Exit::Done)
}

/// One line of CSV, quoted where needed.
pub fn csv_line(cells: impl Iterator<Item = String>) -> String {
    let quote = |cell: String| match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    };
    cells.map(quote).collect::<Vec<_>>().join(",") + "\n"
}
