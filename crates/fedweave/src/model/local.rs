//! A model of any of our classes, with its options, its seed and, once fitted, its state.

use super::sample::{Sample, check_features};
use super::{FitError, Fitted, LocalModel, ModelSpec, SpecError, Task, Workspace, linear};
use crate::matrix::Rows;

/// A model described by a [`ModelSpec`].
#[derive(Debug, Clone)]
pub struct Local {
    spec: ModelSpec,
    task: Task,
    fitted: Option<Fitted>,
}

impl Local {
    /// A model that is not fitted yet.
    pub fn new(spec: ModelSpec, task: Task, _seed: u64) -> Result<Self, SpecError> {
        spec.check(task)?;
        Ok(Local { spec, task, fitted: None })
    }

    /// A model that was fitted earlier; checks what may come from a damaged file.
    pub fn load(spec: ModelSpec, seed: u64, fitted: Fitted) -> Result<Self, FitError> {
        fitted.check()?;
        let task = fitted.task();
        let damaged = |_| FitError::Damaged { model: fitted.name(), what: "its options are out of range" };
        let mut model = Local::new(spec, task, seed).map_err(damaged)?;
        model.fitted = Some(fitted);
        Ok(model)
    }

    /// The class and its options.
    pub fn spec(&self) -> &ModelSpec {
        &self.spec
    }
}

impl LocalModel for Local {
    fn name(&self) -> &'static str {
        self.spec.name()
    }

    fn task(&self) -> Task {
        self.task
    }

    fn fit(&mut self, x: Rows, y: Rows, weight: &[f64], work: &mut Workspace) -> Result<(), FitError> {
        let sample = Sample::new(self.name(), self.task, x, y, weight, &mut work.kept)?;
        self.fitted = Some(match &self.spec {
            ModelSpec::Linear(options) => Fitted::Linear(linear::fit(options, &sample)?),
        });
        Ok(())
    }

    fn predict(&self, x: Rows, out: &mut [f64]) -> Result<(), FitError> {
        match &self.fitted {
            Some(fitted) => fitted.predict(x, out),
            None => {
                check_features(x)?;
                check_len(x, self.task, out)?;
                self.task.blank(out);
                Ok(())
            }
        }
    }

    fn fitted(&self) -> Option<Fitted> {
        self.fitted.clone()
    }
}

/// `out` has room for the predictions of the rows of `x`.
pub fn check_len(x: Rows, task: Task, out: &[f64]) -> Result<(), FitError> {
    let expected = x.rows() * task.outputs();
    match out.len() == expected {
        true => Ok(()),
        false => Err(FitError::Size { what: "predictions", expected, found: out.len() }),
    }
}
