//! What neighbours may disagree about: a norm, a square, a matrix, or blocks of features.

use std::path::Path;

use fedweave::matrix::Matrix;
use fedweave::penalty::{Block, Blocks, HuberNorm, Penalty, Quadratic, named};
use serde::{Deserialize, Serialize};

use super::settings::Reader;
use crate::error::{Error, Place, Result, refuse, require};

const NAMES: [&str; 7] = ["norm2", "norm1", "norminf", "squared", "huber", "quadratic", "blocks"];

/// A penalty, before the features are known.
#[derive(Debug, Clone, PartialEq)]
pub enum PenaltyChoice {
    /// One that needs nothing but its name.
    Named(&'static str),
    /// The same, on the intercept with this strength and apart from it on all other coefficients.
    Split(&'static str, f64),
    /// The square up to this distance, a line beyond.
    Huber(f64),
    /// `t'Qt`, and where the matrix comes from.
    Quadratic(Matrix, String),
    /// One penalty for each block of features.
    Blocks(Vec<BlockChoice>),
}

/// One block.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockChoice {
    /// As it was said.
    text: String,
    penalty: String,
    strength: f64,
    features: Vec<String>,
}

impl Default for PenaltyChoice {
    fn default() -> Self {
        PenaltyChoice::Named(NAMES[0])
    }
}

impl PenaltyChoice {
    /// The penalty that was asked for. A matrix that is at hand already (`given`) is used instead of a file.
    pub fn read(reader: &Reader, given: Option<Matrix>) -> Result<Self> {
        let name = reader.text("penalty").unwrap_or(NAMES[0]);
        let Some(name) = NAMES.into_iter().find(|known| *known == name) else {
            refuse!("--penalty {name}: unknown; use one of {}", NAMES.join(", "));
        };
        match name {
            "quadratic" => match (given, reader.path("penalty-matrix")) {
                (Some(matrix), _) => square(matrix, "penalty_matrix".into()),
                (None, Some(path)) => square(read_matrix(&path)?, path.display().to_string()),
                (None, None) => refuse!("--penalty quadratic needs --penalty-matrix FILE"),
            },
            "huber" => {
                require!(!reader.has("intercept-weight"), "--intercept-weight does not go with --penalty huber");
                Ok(PenaltyChoice::Huber(reader.positive("reach")?.unwrap_or(1.0)))
            }
            "blocks" => {
                let texts = reader.texts("block").unwrap_or_default();
                require!(!texts.is_empty(), "--penalty blocks needs at least one --block, e.g. --block norm2:1:x1,x2");
                Ok(PenaltyChoice::Blocks(texts.into_iter().map(BlockChoice::parse).collect::<Result<_>>()?))
            }
            name => match reader.number("intercept-weight") {
                Some(weight) => {
                    require!(weight > 0.0 && weight.is_finite(), "--intercept-weight {weight}: must be positive");
                    Ok(PenaltyChoice::Split(name, weight))
                }
                None => Ok(PenaltyChoice::Named(name)),
            },
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            PenaltyChoice::Named(name) => name,
            PenaltyChoice::Huber(_) => "huber",
            PenaltyChoice::Quadratic(..) => "quadratic",
            PenaltyChoice::Blocks(_) | PenaltyChoice::Split(..) => "blocks",
        }
    }

    /// True if it is a norm of all parameters.
    pub fn is_norm(&self) -> bool {
        self.name().starts_with("norm")
    }

    /// The penalty on models of `dim` parameters: the features, once for each class.
    pub fn build(&self, features: &[String], dim: usize) -> Result<Box<dyn Penalty>> {
        self.form(features, dim)?.build(dim)
    }

    /// The same as plain data.
    pub fn form(&self, features: &[String], dim: usize) -> Result<PenaltyForm> {
        match self {
            PenaltyChoice::Named(name) => Ok(PenaltyForm::Named((*name).to_owned())),
            PenaltyChoice::Huber(reach) => Ok(PenaltyForm::Huber(*reach)),
            PenaltyChoice::Quadratic(matrix, whence) => {
                require!(
                    matrix.cols() == dim,
                    "{whence}: the matrix has {} columns, a model has {dim} parameters",
                    matrix.cols()
                );
                Quadratic::new(std::slice::from_ref(matrix)).at(whence)?;
                Ok(PenaltyForm::quadratic(matrix))
            }
            PenaltyChoice::Split(name, weight) => {
                let Some((intercept, others)) = features.split_last().filter(|(last, _)| *last == "intercept") else {
                    refuse!("--intercept-weight: the models have no intercept");
                };
                let choice = |strength: f64, features: &[String]| BlockChoice {
                    text: format!("{name}:{strength}:{}", features.join(",")),
                    penalty: (*name).to_owned(),
                    strength,
                    features: features.to_vec(),
                };
                let mut choices = vec![choice(*weight, std::slice::from_ref(intercept))];
                choices.extend((!others.is_empty()).then(|| choice(1.0, others)));
                Ok(PenaltyForm::Blocks(choices.iter().map(|block| block.form(features, dim)).collect::<Result<_>>()?))
            }
            PenaltyChoice::Blocks(choices) => {
                let blocks = choices.iter().map(|block| block.form(features, dim)).collect::<Result<Vec<_>>>()?;
                refuse_overlaps(&blocks, features, dim)?;
                Ok(PenaltyForm::Blocks(blocks))
            }
        }
    }
}

/// A penalty whose features are known, as plain data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PenaltyForm {
    /// One that needs nothing but its name.
    Named(String),
    /// The square up to this distance, a line beyond.
    Huber(f64),
    /// The rows of `Q`.
    Quadratic(Vec<Vec<f64>>),
    /// One penalty for each block of parameters.
    Blocks(Vec<BlockForm>),
}

/// One block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockForm {
    penalty: String,
    strength: f64,
    coordinates: Vec<usize>,
}

impl PenaltyForm {
    /// `t'Qt`.
    pub fn quadratic(matrix: &Matrix) -> Self {
        PenaltyForm::Quadratic((0..matrix.rows()).map(|i| matrix.row(i).to_vec()).collect())
    }

    /// The penalty on models of `dim` parameters.
    pub fn build(&self, dim: usize) -> Result<Box<dyn Penalty>> {
        match self {
            PenaltyForm::Named(name) => plain(name),
            PenaltyForm::Huber(reach) => Ok(Box::new(HuberNorm::new(*reach)?)),
            PenaltyForm::Quadratic(rows) => {
                require!(
                    rows.len() == dim && rows.iter().all(|row| row.len() == dim),
                    "a {dim} x {dim} matrix is needed"
                );
                Ok(Box::new(Quadratic::new(&[Matrix::from_rows(dim, rows.concat())])?))
            }
            PenaltyForm::Blocks(blocks) => {
                let block = |b: &BlockForm| {
                    let (coordinates, strength) = (b.coordinates.clone(), b.strength);
                    Ok(Block { coordinates, penalty: plain(&b.penalty)?, strength })
                };
                Ok(Box::new(Blocks::new(dim, blocks.iter().map(block).collect::<Result<_>>()?)?))
            }
        }
    }
}

fn square(matrix: Matrix, whence: String) -> Result<PenaltyChoice> {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    require!(rows == cols, "{whence}: the matrix has {rows} rows and {cols} columns; it must be square");
    Ok(PenaltyChoice::Quadratic(matrix, whence))
}

impl BlockChoice {
    fn parse(text: String) -> Result<Self> {
        let parts: Vec<&str> = text.splitn(3, ':').collect();
        let [penalty, strength, features] = parts[..] else {
            refuse!("--block {text}: expected penalty:strength:features, e.g. norm2:1:x1,x2");
        };
        let Ok(number) = strength.parse() else { refuse!("--block {text}: `{strength}` is not a number") };
        let features = features.split(',').map(str::to_owned).collect();
        Ok(BlockChoice { penalty: penalty.to_owned(), strength: number, features, text })
    }

    fn form(&self, features: &[String], dim: usize) -> Result<BlockForm> {
        let find = |feature: &String| {
            features.iter().position(|f| f == feature).ok_or_else(|| {
                let (text, known) = (&self.text, features.join(", "));
                Error::Request(format!("--block {text}: no feature `{feature}`; there are {known}"))
            })
        };
        let coordinates = self.features.iter().map(find).collect::<Result<Vec<_>>>()?;
        // Several classes: the same features of each of them.
        let of_class = |k: usize| coordinates.iter().map(move |j| k * features.len() + j);
        let coordinates = (0..dim / features.len()).flat_map(of_class).collect();
        plain(&self.penalty)?;
        Ok(BlockForm { coordinates, penalty: self.penalty.clone(), strength: self.strength })
    }
}

fn refuse_overlaps(blocks: &[BlockForm], features: &[String], dim: usize) -> Result<()> {
    let mut used = vec![false; dim];
    for &j in blocks.iter().flat_map(|block| &block.coordinates) {
        let feature = &features[j % features.len()];
        let twice = std::mem::replace(&mut used[j], true);
        require!(!twice, "--block: feature `{feature}` is in two blocks; it may be in one");
    }
    Ok(())
}

fn plain(name: &str) -> Result<Box<dyn Penalty>> {
    let unknown =
        || Error::Request(format!("unknown penalty `{name}` in a block; use norm2, norm1, norminf or squared"));
    named(name).ok_or_else(unknown)
}

/// A matrix without a header, one row a line.
fn read_matrix(path: &Path) -> Result<Matrix> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| Error::Request(format!("{}: {error}", path.display())))?;
    let (mut data, mut cols) = (Vec::new(), 0);
    for (k, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let place = format!("{}:{}", path.display(), k + 1);
        let number = |cell: &str| {
            let cell = cell.trim();
            cell.parse::<f64>().map_err(|_| Error::Request(format!("{place}: `{cell}` is not a number")))
        };
        let row = line.split(',').map(number).collect::<Result<Vec<f64>>>()?;
        require!(cols == 0 || row.len() == cols, "{place}: expected {cols} numbers, found {}", row.len());
        require!(row.iter().all(|v| v.is_finite()), "{place}: every entry must be a finite number");
        cols = row.len();
        data.extend(row);
    }
    require!(cols > 0, "{}: the file is empty; it must hold a square matrix", path.display());
    Ok(Matrix::from_rows(cols, data))
}
