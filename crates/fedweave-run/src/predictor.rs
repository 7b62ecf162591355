//! From the models of a run to predictions: how rows are read, and what scores mean.

use std::collections::HashMap;
use std::path::Path;

use fedweave::loss::{Family, Link, LossSpec, Prediction};
use fedweave::matrix::{Matrix, Rows, dot};
use fedweave::{Dataset, Error as MathError};
use fedweave_io::{
    ANY_CLASS, BLENDED, Encoding, Input, ModelFile, Parameters, RunEncoding, csv_line, load_rows, read_json, read_parameters,
};

use crate::blend_file::{BlendFile, BlendPredictor, Labelled};
use crate::error::{Error, Place, Result, refuse, require};
use crate::intervals::Intervals;
use crate::model_file::cells;
use crate::run_dir::{BLEND, ENCODING};
use crate::wording::loss_name;

/// What `encoding.json` says where nodes have different losses.
const MIXED: &str = "mixed";

/// How rows are read for models with parameters, and what their scores mean.
pub fn encoding_of(loss: &LossSpec, input: &Input) -> RunEncoding {
    RunEncoding { loss: loss_name(loss), labels: class_labels(&input.data), encoding: input.encoding.clone() }
}

/// How the two classes of a two-class loss were written.
pub(crate) fn class_labels(data: &Dataset) -> [String; 2] {
    let negative = if data.y().contains(&-1.0) { "-1" } else { "0" };
    [negative.into(), "1".into()]
}

/// The same for models of any class.
pub fn encoding_of_models(encoding: Encoding) -> RunEncoding {
    RunEncoding { loss: ANY_CLASS.into(), labels: Default::default(), encoding }
}

/// The loss that scores are of; `None` where they differ from node to node.
fn family(scores: &RunEncoding) -> Result<Option<Family>> {
    if scores.loss == MIXED {
        return Ok(None);
    }
    match Family::named(&scores.loss, 1.0, 0.5) {
        Some(Family::Multinomial { .. }) => Ok(Some(Family::Multinomial { classes: scores.encoding.classes.len() })),
        Some(family) => Ok(Some(family)),
        None => refuse!("{ENCODING}: the loss `{}` is unknown; fit again with this version", scores.loss),
    }
}

/// The models of a run.
pub struct Predictor {
    scores: RunEncoding,
    models: Models,
    interval: Option<Intervals>,
    shown: String,
}

enum Models {
    Parameters(Option<Family>, Parameters),
    AnyClass(ModelFile),
    Blend(Family, BlendFile),
}

/// What a row is predicted from besides its features.
struct Around<'a> {
    blend: Option<BlendPredictor<'a>>,
    times: Option<Vec<f64>>,
}

/// A table of predictions.
pub struct Predictions {
    /// Names of the columns; the first is the node's.
    pub header: Vec<String>,
    /// One line for each row that was read.
    pub rows: Vec<Vec<String>>,
}

impl Predictor {
    /// Reads the models of a run directory.
    pub fn open(run: &Path) -> Result<Predictor> {
        let shown = run.display().to_string();
        let scores: RunEncoding =
            read_json(run, ENCODING).at(format!("{shown} is not a run directory of `fedweave fit --out`"))?;
        if scores.loss == ANY_CLASS {
            let file = ModelFile::read(run, &scores.encoding)?;
            return Ok(Predictor { scores, models: Models::AnyClass(file), interval: None, shown });
        }
        if scores.loss == BLENDED {
            let file: BlendFile = read_json(run, BLEND).at(format!("{shown}: cannot be read; fit again"))?;
            file.check(scores.encoding.dim())?;
            let Some(family) = file.family() else { refuse!("{BLEND}: its loss is unknown; fit again") };
            return Ok(Predictor { scores, models: Models::Blend(family, file), interval: None, shown });
        }
        let family = family(&scores)?;
        require!(
            family != Some(Family::Point),
            "the point loss places nodes, it does not predict rows; see parameters.csv"
        );
        let parameters = read_parameters(run)?;
        let features = scores.encoding.names().len();
        let (wanted, found) = (family.map_or(features, |f| f.dim(features)), parameters.features.len());
        require!(
            found == wanted,
            "{}: expected {wanted} parameters a node, found {found}; the run directory was changed",
            run.join("parameters.csv").display()
        );
        Ok(Predictor { scores, models: Models::Parameters(family, parameters), interval: None, shown })
    }

    /// Adds intervals that hold the label of a new row with this probability, if the run knows how well its models are known.
    pub fn with_interval(mut self, run: &Path, level: f64) -> Result<Predictor> {
        let Models::Parameters(_, parameters) = &self.models else {
            refuse!("--interval: these models come without uncertainty; fit with --coupling learnt")
        };
        self.interval = Some(Intervals::read(run, parameters, level)?);
        Ok(self)
    }

    /// Predicts the rows of a file; `observed` holds rows with labels that were seen since the fit.
    pub fn predict_file(&self, path: &Path, observed: Option<&Path>) -> Result<Predictions> {
        // The target is not needed, whatever stands there.
        let encoding = Encoding { target: None, ..self.scores.encoding.clone() };
        let mut rows = load_rows(path, &encoding)?;
        if let Models::AnyClass(ModelFile { scaling: Some(scaling), .. }) = &self.models {
            scaling.apply_rows(&mut rows.x);
        }
        let of: HashMap<&str, usize> = self.names().enumerate().map(|(i, name)| (name, i)).collect();
        let observed = observed.map(|file| self.observed(file, &of)).transpose()?;
        let around = Around { blend: self.blend(observed.as_ref())?, times: rows.times.take() };
        let row = |(r, name): (usize, &String)| {
            let node = self.node(name, &of, path, rows.lines[r])?;
            let cells = self.cells(node, rows.x.row(r), &around, r)?;
            Ok([vec![name.clone()], cells].concat())
        };
        let lines = rows.node.iter().enumerate().map(row).collect::<Result<_>>()?;
        Ok(Predictions { header: [vec![encoding.node.clone()], self.columns()].concat(), rows: lines })
    }

    fn node(&self, name: &str, of: &HashMap<&str, usize>, path: &Path, line: u64) -> Result<usize> {
        let unknown = || {
            let place = path.display();
            Error::Request(format!("{place}:{line}: node `{name}` is not in {}; fit it first", self.shown))
        };
        of.get(name).copied().ok_or_else(unknown)
    }

    fn blend(&self, observed: Option<&Labelled>) -> Result<Option<BlendPredictor<'_>>> {
        match &self.models {
            Models::Blend(_, file) => file.predictor(observed).map(Some),
            _ => Ok(None),
        }
    }

    /// Rows with labels and times.
    fn observed(&self, path: &Path, of: &HashMap<&str, usize>) -> Result<Labelled> {
        let shown = path.display();
        let knows_shocks = matches!(&self.models, Models::Blend(_, file) if file.has_shocks());
        require!(knows_shocks, "--observed: the models of {} know nothing that nodes share at a time; fit with --tune --time", self.shown);
        let rows = load_rows(path, &self.scores.encoding)?;
        let (Some(y), Some(times)) = (rows.y, rows.times) else {
            refuse!("--observed {shown}: needs the target and the time of every row")
        };
        let node = rows.node.iter().zip(&rows.lines).map(|(name, line)| self.node(name, of, path, *line));
        Ok(Labelled { node: node.collect::<Result<_>>()?, x: rows.x, y, times })
    }

    /// Names of the nodes that have a model.
    pub fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match &self.models {
            Models::Parameters(_, parameters) => Box::new(parameters.names.iter().map(String::as_str)),
            Models::AnyClass(file) => Box::new(file.nodes.iter().map(|model| model.node.as_str())),
            Models::Blend(_, file) => Box::new(file.nodes.iter().map(String::as_str)),
        }
    }

    /// Names of the columns of a prediction.
    fn columns(&self) -> Vec<String> {
        let ends = self.interval.iter().flat_map(|_| ["lower".to_owned(), "upper".to_owned()]);
        self.point_columns().into_iter().chain(ends).collect()
    }

    fn point_columns(&self) -> Vec<String> {
        let plain = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let classes = || {
            let probability = self.scores.encoding.classes.iter().map(|c| format!("probability:{c}"));
            std::iter::once("prediction".into()).chain(probability).collect()
        };
        let family = match &self.models {
            Models::Parameters(family, _) => *family,
            Models::Blend(family, _) => Some(*family),
            Models::AnyClass(_) => return classes(),
        };
        match family.map(Family::link) {
            // What a score means differs from node to node.
            None => plain(&["score"]),
            Some(Some(Link::Logit)) => plain(&["prediction", "probability"]),
            Some(Some(Link::Margin)) => plain(&["prediction", "score"]),
            Some(Some(Link::Softmax)) => classes(),
            Some(Some(Link::Identity | Link::Log) | None) => plain(&["prediction"]),
        }
    }

    fn cells(&self, node: usize, x: &[f64], around: &Around, row: usize) -> Result<Vec<String>> {
        if let (Models::Blend(family, _), Some(blend)) = (&self.models, &around.blend) {
            let p = blend.predict(node, x, around.times.as_ref().map(|times| times[row]));
            return Ok(match family.link() {
                Some(Link::Logit) => vec![self.scores.labels[usize::from(p > 0.5)].clone(), p.to_string()],
                _ => vec![p.to_string()],
            });
        }
        let (family, w) = match &self.models {
            Models::Blend(..) => return Ok(Vec::new()),
            Models::AnyClass(file) => return cells(file, node, Rows::new(x.len(), x), &self.scores.encoding.classes),
            Models::Parameters(family, parameters) => (*family, parameters.w.row(node)),
        };
        if let Some(interval) = &self.interval {
            let (value, half) = (dot(x, w), interval.half_width(node, x));
            return Ok([value, value - half, value + half].map(|v| v.to_string()).to_vec());
        }
        // Without one loss for all nodes there is a score and nothing more.
        Ok(match family.unwrap_or(Family::Squared).predict(x, w) {
            Some(Prediction::Number(value)) => vec![value.to_string()],
            Some(Prediction::Margin { class, score }) => vec![self.scores.labels[class].clone(), score.to_string()],
            Some(Prediction::Class { class, probabilities }) => self.class_cells(family, class, &probabilities),
            None => Vec::new(),
        })
    }

    fn class_cells(&self, family: Option<Family>, class: usize, probabilities: &[f64]) -> Vec<String> {
        match family.and_then(Family::link) {
            Some(Link::Logit) => vec![self.scores.labels[class].clone(), probabilities[1].to_string()],
            _ => {
                let label = self.scores.encoding.classes[class].clone();
                std::iter::once(label).chain(probabilities.iter().map(f64::to_string)).collect()
            }
        }
    }
}

impl Predictions {
    /// The table as CSV.
    pub fn to_csv(&self) -> String {
        let lines = std::iter::once(&self.header).chain(&self.rows);
        lines.map(csv_line).collect()
    }
}

/// Names of the parameters of a node; several classes have one set each.
pub fn parameter_names(loss: &LossSpec, input: &Input) -> Vec<String> {
    match loss {
        LossSpec::Same(Family::Multinomial { .. }) => {
            let of_class =
                |class: &String| input.features.iter().map(move |f| format!("{class}:{f}")).collect::<Vec<_>>();
            input.classes.iter().flat_map(of_class).collect()
        }
        _ => input.features.clone(),
    }
}

/// Share of the rows of `data` that a classifier gets right; `None` for other losses.
pub fn accuracy(loss: &LossSpec, data: &Dataset, w: &Matrix) -> Option<f64> {
    match loss {
        LossSpec::Same(family) => family.accuracy(data, w),
        LossSpec::PerNode(_) => None,
    }
}

/// Errors of a node with its name.
pub(crate) fn named(error: MathError, input: &Input) -> Error {
    let of = |node: usize, message: String| Error::Node { name: input.names[node].clone(), message };
    match &error {
        MathError::Fit { node, source } => of(*node, source.to_string()),
        MathError::Spec { node, source } => of(*node, source.to_string()),
        _ => Error::Mathematics(error),
    }
}
