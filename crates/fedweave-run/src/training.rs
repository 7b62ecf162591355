//! The rows trained with, in the units of the input and in those of the solver.

use fedweave::Dataset;
use fedweave::learn::coupling::Whitening;
use fedweave::loss::{Family, Loss, LossOptions, LossSpec};
use fedweave::matrix::Matrix;
use fedweave::scaling::Scaling;
use fedweave::tune::Errors;

use crate::error::Result;
use crate::request::model::ModelChoice;
use crate::wording::digits;

/// The rows trained with.
pub struct TrainingRows {
    /// As they came.
    pub rows: Dataset,
    /// The same in the units of the solver.
    pub scaled: Dataset,
    /// Between the two.
    pub scaling: Option<Scaling>,
    /// After scaling: parameters in which a learnt metric is the Euclidean one.
    pub whitening: Option<Whitening>,
}

impl TrainingRows {
    /// Scales the rows if that was asked for.
    pub fn new(model: &ModelChoice, rows: Dataset) -> Self {
        let scaling = model.standardize.then(|| Scaling::of(&rows, model.intercept()));
        let scaled = scaling.as_ref().map_or_else(|| rows.clone(), |s| s.apply(&rows));
        TrainingRows { rows, scaled, scaling, whitening: None }
    }

    /// Other rows in the units of the solver.
    pub fn scale(&self, rows: &Dataset) -> Dataset {
        let scaled = self.scaling.as_ref().map_or_else(|| rows.clone(), |s| s.apply(rows));
        match &self.whitening {
            Some(whitening) => whitening.apply(&scaled),
            None => scaled,
        }
    }

    /// Scales the rows as told.
    pub fn scaled_by(rows: Dataset, scaling: Scaling) -> Self {
        TrainingRows { scaled: scaling.apply(&rows), rows, scaling: Some(scaling), whitening: None }
    }

    /// The rows in parameters in which a learnt metric is the Euclidean one.
    pub fn whitened(self, whitening: Whitening) -> Self {
        TrainingRows { scaled: whitening.apply(&self.scaled), whitening: Some(whitening), ..self }
    }

    /// What to do about columns of which one is more than so many times another, where they are not scaled.
    pub fn uneven(&self, most: f64) -> Option<String> {
        let mut squares = vec![0.0; self.rows.dim()];
        for row in 0..self.rows.len() {
            squares.iter_mut().zip(self.rows.x(row)).for_each(|(sum, x)| *sum += x * x);
        }
        let sizes = squares.into_iter().filter(|sum| *sum > 0.0).map(f64::sqrt);
        let (small, large) = sizes.fold((f64::INFINITY, 0.0), |(a, b), size| (size.min(a), size.max(b)));
        (self.scaling.is_none() && large > most * small).then(|| {
            let factor = digits(Some(large / small));
            format!("columns differ in size by a factor of {factor}: that is hard on solvers; give --standardize")
        })
    }

    /// The solver's models in the units of the input.
    pub fn restore(&self, loss: &LossSpec, w: &Matrix) -> Matrix {
        let mut parameters = w.clone();
        self.whitening.iter().for_each(|whitening| whitening.restore(&mut parameters));
        match (&self.scaling, loss) {
            (Some(s), LossSpec::Same(Family::Point)) => s.restore_points(&mut parameters),
            (Some(s), _) => s.restore(&mut parameters),
            (None, _) => {}
        }
        parameters
    }

    /// Errors of the solver's models `w`, restored: `parameters`. Scores are the same in scaled features; positions are not.
    pub fn errors(&self, loss: &LossSpec, w: &Matrix, parameters: &Matrix) -> Result<Errors> {
        Ok(Errors::of(&*self.error_loss(loss)?, if measures_positions(loss) { parameters } else { w }))
    }

    /// The loss without regularisation, whose values are errors.
    pub fn error_loss(&self, loss: &LossSpec) -> Result<Box<dyn Loss>> {
        let data = if measures_positions(loss) { &self.rows } else { &self.scaled };
        Ok(loss.build(data.clone(), &LossOptions::default())?)
    }
}

/// True if errors are distances, which change with the scale of features.
pub fn measures_positions(loss: &LossSpec) -> bool {
    matches!(loss, LossSpec::Same(Family::Point))
}
