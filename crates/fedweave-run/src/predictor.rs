//! From the models of a run to predictions: how rows are read, and what scores mean.

mod cells;
mod new_nodes;
mod scores;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use fedweave::learn::conformal::Score;
use fedweave::loss::{Family, Link, LossSpec, Prediction};
use fedweave::matrix::{Matrix, Rows};
use fedweave::model::Task;
use fedweave::{Dataset, Error as MathError};
use fedweave_io::{
    ANY_CLASS, BLENDED, Encoding, Input, ModelFile, Parameters, Rows as LoadedRows, RunEncoding, csv_line,
    load_known_rows, load_rows, read_json, read_parameters,
};
use rayon::prelude::*;

use crate::blend_file::{BlendFile, BlendPredictor, Labelled};
use crate::calibration::{RunCalibration, label_of};
use crate::error::{Error, Place, Result, refuse, require};
use crate::intervals::{Doubts, Intervals};
use crate::model_file::predict;
use crate::run_dir::{BLEND, ENCODING};
use crate::wording::loss_name;

pub use new_nodes::NewNodes;
use new_nodes::Newcomers;

/// What `encoding.json` says where nodes have different losses.
const MIXED: &str = "mixed";

/// How rows are read for models with parameters, and what their scores mean.
pub fn encoding_of(loss: &LossSpec, input: &Input) -> RunEncoding {
    RunEncoding { loss: loss_name(loss), labels: class_labels(input), encoding: input.encoding.clone() }
}

/// How the two classes of a two-class loss were written.
pub(crate) fn class_labels(input: &Input) -> [String; 2] {
    if let Some(words) = &input.encoding.binary {
        return words.clone();
    }
    let negative = if input.data.y().contains(&-1.0) { "-1" } else { "0" };
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
    doubts: Doubts,
    interval: Option<Intervals>,
    skips: bool,
    newcomers: Option<Newcomers>,
    shown: String,
}

enum Models {
    Parameters(Option<Family>, Parameters),
    AnyClass(ModelFile),
    Blend(Family, Box<BlendPredictor>),
}

/// A row to predict.
#[derive(Clone, Copy)]
pub(crate) struct NewRow<'a> {
    /// Its node.
    pub node: usize,
    /// Its features.
    pub x: &'a [f64],
    /// When it was observed, if that is known.
    pub time: Option<f64>,
}

impl<'a> NewRow<'a> {
    /// Row `r` of a file.
    pub(crate) fn of(rows: &'a LoadedRows, places: &[usize], r: usize) -> NewRow<'a> {
        NewRow { node: places[r], x: rows.x.row(r), time: rows.times.as_ref().map(|times| times[r]) }
    }
}

/// A table of predictions.
pub struct Predictions {
    /// Names of the columns; the first is the node's.
    pub header: Vec<String>,
    /// One line for each row that was read.
    pub rows: Vec<Vec<String>>,
    /// Rows that were left out, and how good the predictions are where labels are known, in words.
    pub notes: Vec<String>,
}

impl Predictor {
    /// Reads the models of a run directory.
    pub fn open(run: &Path) -> Result<Predictor> {
        let shown = run.display().to_string();
        let scores: RunEncoding =
            read_json(run, ENCODING).at(format!("{shown} is not a run directory of `fedweave fit --out`"))?;
        let models = match scores.loss.as_str() {
            ANY_CLASS => Models::AnyClass(ModelFile::read(run, &scores.encoding)?),
            BLENDED => read_blend(run, &scores)?,
            _ => {
                let (family, parameters) = read_linear(run, &scores)?;
                Models::Parameters(family, parameters)
            }
        };
        let linear = match &models {
            Models::Parameters(family, parameters) => Some((*family, parameters)),
            Models::AnyClass(_) | Models::Blend(..) => None,
        };
        let doubts = Doubts::read(run, &models.names().collect::<Vec<_>>(), linear)?;
        Ok(Predictor { scores, models, doubts, interval: None, skips: false, newcomers: None, shown })
    }

    /// Adds intervals (of classes: sets) that hold the label of a new row with this probability, if the run knows how far its
    /// predictions are off.
    pub fn with_interval(mut self, level: f64) -> Result<Predictor> {
        self.interval = Some(self.doubts.intervals(level, &self.shown)?);
        Ok(self)
    }

    /// Leaves out rows of nodes, and with categories, that the models do not know.
    pub fn skipping_unknown(mut self) -> Predictor {
        self.skips = true;
        self
    }

    /// Takes the ids of nodes from another column than the one that the models were fitted with.
    pub fn with_node_column(mut self, column: &str) -> Predictor {
        self.scores.encoding.node = column.to_owned();
        self
    }

    /// Also looks at rows with labels that were seen since the fit, for what nodes share at a time.
    pub fn with_observed(mut self, path: &Path) -> Result<Predictor> {
        let rows = self.read_rows(path, true)?;
        let places = self.places(&rows, path)?;
        let Models::Blend(_, blend) = &mut self.models else {
            refuse!(
                "--observed: the models of {} do not know what nodes share at a time; fit with --tune --time COLUMN",
                self.shown
            )
        };
        let (Some(y), Some(times)) = (rows.y, rows.times) else {
            refuse!("--observed {}: the target and the time of its rows are needed", path.display())
        };
        blend.observe(&Labelled { node: places, x: rows.x, y, times })?;
        Ok(self)
    }

    /// Predicts the rows of a file.
    pub fn predict_file(&mut self, path: &Path) -> Result<Predictions> {
        let (rows, mut notes) = self.rows_to_predict(path)?;
        notes.extend(self.welcome(&rows, path)?);
        self.predict_rows(path, rows, notes)
    }

    fn predict_rows(&self, path: &Path, rows: LoadedRows, mut notes: Vec<String>) -> Result<Predictions> {
        let places = self.places(&rows, path)?;
        let line = |r: usize| {
            let row = NewRow::of(&rows, &places, r);
            let prediction = self.predict(row)?;
            let interval = self.interval_cells(row, &prediction);
            let cells = [vec![rows.node[r].clone()], self.point_cells(&prediction), interval].concat();
            Ok((cells, prediction))
        };
        let all = (0..places.len()).into_par_iter().map(line).collect::<Result<Vec<_>>>()?;
        let (lines, predictions): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        notes.extend(rows.y.as_deref().and_then(|y| self.quality(&places, y, &predictions)));
        let node = match self.scores.encoding.node.as_str() {
            "" => "node",
            node => node,
        };
        let header = [vec![node.to_owned()], self.columns()].concat();
        Ok(Predictions { header, rows: lines, notes })
    }

    /// Rows of a file in the features of the models, with their labels if they are wanted.
    pub(crate) fn read_rows(&self, path: &Path, labelled: bool) -> Result<LoadedRows> {
        let known = &self.scores.encoding;
        let encoding = Encoding { target: known.target.clone().filter(|_| labelled), ..known.clone() };
        let mut rows = match self.skips {
            true => {
                let (names, joins): (HashSet<&str>, bool) = (self.names().collect(), self.newcomers.is_some());
                load_known_rows(path, &encoding, &|node| joins || names.contains(node))?
            }
            false => load_rows(path, &encoding)?,
        };
        if let Models::AnyClass(ModelFile { scaling: Some(scaling), .. }) = &self.models {
            scaling.apply_rows(&mut rows.x);
        }
        Ok(rows)
    }

    /// The position of the node of every row.
    pub(crate) fn places(&self, rows: &LoadedRows, path: &Path) -> Result<Vec<usize>> {
        let of: HashMap<&str, usize> = self.names().enumerate().map(|(i, name)| (name, i)).collect();
        let place = |(r, name): (usize, &String)| {
            of.get(name.as_str()).copied().ok_or_else(|| {
                let (place, line) = (path.display(), rows.lines[r]);
                Error::Request(format!("{place}:{line}: node `{name}` is not in {}; fit it first, join it with --new-nodes, or leave out such rows with --skip-unknown", self.shown))
            })
        };
        rows.node.iter().enumerate().map(place).collect()
    }

    /// Names of the nodes that have a model.
    pub fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        self.models.names()
    }

    /// The column that is predicted.
    pub(crate) fn target(&self) -> Option<&str> {
        self.scores.encoding.target.as_deref()
    }

    /// What rows that the models have not seen say about them.
    pub(crate) fn calibration(&self) -> Option<&RunCalibration> {
        self.doubts.calibration()
    }

    /// The score of a row with a label, in the units of the calibration.
    pub(crate) fn score(&self, score: Score, row: NewRow, label: f64) -> Result<f64> {
        let prediction = self.predict(row)?;
        let label = match &self.models {
            Models::Parameters(Some(family), _) | Models::Blend(family, _) => label_of(*family, label),
            _ => label,
        };
        Ok(score.of(&prediction, label, self.doubts.deviation(row.node, row.x, &prediction)))
    }

    /// How badly a model says a label: half a squared error in units of its deviation, or minus the logarithm of a probability.
    pub(crate) fn surprise(&self, row: NewRow, label: f64) -> Result<f64> {
        let score = match &self.models {
            Models::Parameters(family, _) => Score::of_loss(family.unwrap_or(Family::Squared)),
            Models::Blend(family, _) => Score::of_loss(*family),
            Models::AnyClass(file) if file.task != Task::Regression => Some(Score::Class),
            Models::AnyClass(_) => Some(Score::Difference),
        };
        let score = score.ok_or_else(|| Error::request("the point loss places nodes, it does not predict rows"))?;
        let found = self.score(score, row, label)?;
        Ok(if score == Score::Class { found } else { 0.5 * found * found })
    }

    fn predict(&self, row: NewRow) -> Result<Prediction> {
        let NewRow { node, x, time } = row;
        match &self.models {
            Models::Blend(family, blend) => Ok(blended(*family, blend.predict(node, x, time))),
            Models::AnyClass(file) => predict(file, node, Rows::new(x.len(), x)),
            Models::Parameters(family, parameters) => {
                // Without one loss for all nodes there is a score and nothing more.
                let said = family.unwrap_or(Family::Squared).predict(x, parameters.w.row(node));
                said.ok_or_else(|| Error::request("the point loss places nodes, it does not predict rows"))
            }
        }
    }
}

impl Models {
    fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Models::Parameters(_, parameters) => Box::new(parameters.names.iter().map(String::as_str)),
            Models::AnyClass(file) => Box::new(file.nodes.iter().map(|model| model.node.as_str())),
            Models::Blend(_, blend) => Box::new(blend.nodes().iter().map(String::as_str)),
        }
    }
}

/// What a mean stands for.
pub(crate) fn blended(family: Family, mean: f64) -> Prediction {
    match family.link() {
        Some(Link::Logit) => {
            Prediction::Class { class: usize::from(mean > 0.5), probabilities: vec![1.0 - mean, mean] }
        }
        _ => Prediction::Number(mean),
    }
}

fn read_blend(run: &Path, scores: &RunEncoding) -> Result<Models> {
    let file: BlendFile = read_json(run, BLEND).at(format!("{}: fit again", run.display()))?;
    let family = file.check(scores.encoding.dim())?;
    Ok(Models::Blend(family, Box::new(file.predictor()?)))
}

/// Models with parameters, and the loss that they are of.
fn read_linear(run: &Path, scores: &RunEncoding) -> Result<(Option<Family>, Parameters)> {
    let family = family(scores)?;
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
    Ok((family, parameters))
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
