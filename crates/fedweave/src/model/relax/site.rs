//! A node of the network: private rows and a model. It says what it predicts on public rows, and learns from what others say.

use rand::RngExt;
use rand_distr::StandardNormal;

use super::Discrepancy;
use crate::error::{Error, Result as CrateResult};
use crate::matrix::{Matrix, Rows};
use crate::model::{FitError, LocalModel, Task, Workspace};
use crate::random::{Purpose, stream};

/// Rows without labels that everybody may see.
#[derive(Debug, Clone, PartialEq)]
pub struct PublicRows {
    x: Matrix,
}

impl PublicRows {
    /// These rows; at least one, all finite.
    pub fn new(x: Matrix) -> CrateResult<Self> {
        if x.rows() == 0 {
            return Err(Error::Size { what: "public rows, at least", expected: 1, found: 0 });
        }
        match x.as_slice().iter().position(|v| !v.is_finite()) {
            None => Ok(PublicRows { x }),
            Some(at) => Err(Error::NotFinite { row: at / x.cols(), what: format!("feature {}", at % x.cols()) }),
        }
    }

    /// The rows.
    pub fn x(&self) -> Rows<'_> {
        self.x.view()
    }

    /// Number of rows, at least one.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.x.rows()
    }

    /// Standard normal rows; `draw` tells those of different rounds apart.
    pub(super) fn standard_normal(
        rows: usize,
        dim: usize,
        seed: u64,
        purpose: Purpose,
        node: usize,
        draw: usize,
    ) -> Self {
        let mut rng = stream(seed, purpose, draw << 32 | node);
        PublicRows { x: Matrix::from_rows(dim, (0..rows * dim).map(|_| rng.sample(StandardNormal)).collect()) }
    }
}

/// What a model says about public rows: the only message between nodes. Made from a model and public
/// rows, or from what a neighbour on another machine made so and sent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Predictions {
    y: Matrix,
}

impl Predictions {
    /// What `model` says about `rows`.
    pub fn of(model: &dyn LocalModel, rows: &PublicRows) -> Result<Self, FitError> {
        Ok(Predictions { y: predict(model, rows.x())? })
    }

    /// What a neighbour on another machine says, one row of [`Task::outputs`] numbers after another. `None` if the numbers are
    /// not whole rows or not all finite; rows that are no probabilities become some.
    pub fn received(task: Task, numbers: &[f64]) -> Option<Self> {
        let whole = numbers.len().is_multiple_of(task.outputs()) && numbers.iter().all(|v| v.is_finite());
        let mut y = Matrix::from_rows(task.outputs(), if whole { numbers.to_vec() } else { Vec::new() });
        task.mend(y.as_mut_slice());
        whole.then_some(Predictions { y })
    }

    /// The predictions, a row each.
    pub fn y(&self) -> Rows<'_> {
        self.y.view()
    }

    /// How many numbers are sent.
    pub fn numbers(&self) -> usize {
        self.y.as_slice().len()
    }
}

/// A neighbour's predictions on public rows, and what each of these rows weighs.
#[derive(Debug, Clone, Copy)]
pub struct Pull<'a> {
    /// The rows.
    pub rows: &'a PublicRows,
    /// What the neighbour says about them.
    pub says: &'a Predictions,
    /// Weight of every row.
    pub weight: f64,
}

/// Room for the rows of one fit, used again by the next.
#[derive(Debug, Default)]
pub struct Buffers {
    x: Vec<f64>,
    y: Vec<f64>,
    weight: Vec<f64>,
    work: Workspace,
}

/// A node: its rows, which nobody else can read, and its model.
pub struct Site {
    task: Task,
    x: Matrix,
    y: Matrix,
    /// Row weights with sum 1.
    share: Vec<f64>,
    features: usize,
    model: Box<dyn LocalModel>,
}

impl Site {
    /// A node with these rows and a model; labels of classes are `0, 1, ..`.
    pub fn new(
        task: Task,
        x: Rows,
        labels: &[f64],
        weight: &[f64],
        model: Box<dyn LocalModel>,
    ) -> Result<Self, FitError> {
        let y = task.targets(labels)?;
        let total: f64 = weight.iter().sum();
        let share = weight.iter().map(|w| if total > 0.0 { w / total } else { 0.0 }).collect();
        Ok(Site { task, features: x.cols(), x: Matrix::from_rows(x.cols(), x.as_slice().to_vec()), y, share, model })
    }

    /// Number of own rows.
    pub fn rows(&self) -> usize {
        self.share.len()
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.features
    }

    /// The model.
    pub fn model(&self) -> &dyn LocalModel {
        &*self.model
    }

    /// What the model says about public rows.
    pub fn publish(&self, rows: &PublicRows) -> Result<Predictions, FitError> {
        Predictions::of(self.model(), rows)
    }

    /// Predictions of the model.
    pub fn predict(&self, x: Rows) -> Result<Matrix, FitError> {
        predict(self.model(), x)
    }

    /// Fits the model again: to the own rows, `own` in all, and to what neighbours say. With nothing to fit to the model
    /// stays as it is.
    pub fn update(&mut self, own: f64, pulls: &[Pull], buffers: &mut Buffers) -> Result<(), FitError> {
        match self.gather(own, pulls, buffers) {
            true => buffers.fit(self.features, &mut *self.model),
            false => Ok(()),
        }
    }

    /// [`update`](Site::update) of somebody else's model.
    pub fn teach(
        &self,
        model: &mut dyn LocalModel,
        own: f64,
        pulls: &[Pull],
        buffers: &mut Buffers,
    ) -> Result<(), FitError> {
        match self.gather(own, pulls, buffers) {
            true => buffers.fit(self.features, model),
            false => Ok(()),
        }
    }

    /// Own and labelled public rows, one after another; false if none has weight.
    fn gather(&self, own: f64, pulls: &[Pull], buffers: &mut Buffers) -> bool {
        let Buffers { x, y, weight, .. } = buffers;
        x.clear();
        y.clear();
        weight.clear();
        x.extend_from_slice(self.x.as_slice());
        y.extend_from_slice(self.y.as_slice());
        weight.extend(self.share.iter().map(|s| own * s));
        for pull in pulls {
            x.extend_from_slice(pull.rows.x().as_slice());
            y.extend_from_slice(pull.says.y().as_slice());
            weight.resize(weight.len() + pull.rows.len(), pull.weight);
        }
        weight.iter().any(|w| *w > 0.0)
    }

    /// `L_i`: mean error on the own rows; `None` without rows.
    pub fn loss(&self, discrepancy: Discrepancy) -> Result<Option<f64>, FitError> {
        self.loss_of(self.model(), discrepancy)
    }

    /// Mean error of any model on the own rows; `None` without rows.
    pub fn loss_of(&self, model: &dyn LocalModel, discrepancy: Discrepancy) -> Result<Option<f64>, FitError> {
        error_of(model, self.x.view(), self.y.view(), &self.share, discrepancy)
    }

    /// Mean error on other rows; `None` without rows.
    pub fn error(
        &self,
        x: Rows,
        labels: &[f64],
        weight: &[f64],
        discrepancy: Discrepancy,
    ) -> Result<Option<f64>, FitError> {
        error_of(self.model(), x, self.task.targets(labels)?.view(), weight, discrepancy)
    }
}

fn error_of(
    model: &dyn LocalModel,
    x: Rows,
    y: Rows,
    weight: &[f64],
    discrepancy: Discrepancy,
) -> Result<Option<f64>, FitError> {
    let total: f64 = weight.iter().sum();
    if total <= 0.0 {
        return Ok(None);
    }
    let predicted = predict(model, x)?;
    let sum: f64 = (0..x.rows()).map(|r| weight[r] * discrepancy.of(predicted.row(r), y.row(r))).sum();
    Ok(Some(sum / total))
}

fn predict(model: &dyn LocalModel, x: Rows) -> Result<Matrix, FitError> {
    let mut y = Matrix::zeros(x.rows(), model.task().outputs());
    model.predict(x, y.as_mut_slice())?;
    Ok(y)
}

impl Buffers {
    fn fit(&mut self, features: usize, model: &mut dyn LocalModel) -> Result<(), FitError> {
        let Buffers { x, y, weight, work } = self;
        model.fit(Rows::new(features, x), Rows::new(model.task().outputs(), y), weight, work)
    }
}
