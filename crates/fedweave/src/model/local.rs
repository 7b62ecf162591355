//! A model of any of our classes, with its options, its seed and, once fitted, its state.

use super::sample::{Sample, check_features};
use super::{
    FitError, Fitted, LocalModel, ModelSpec, SpecError, Task, Workspace, boosting, forest, kernel_ridge, linear,
    logistic, mlp, nearest, tree,
};
use crate::matrix::Rows;

/// A model described by a [`ModelSpec`].
#[derive(Debug, Clone)]
pub struct Local {
    spec: ModelSpec,
    task: Task,
    seed: u64,
    fitted: Option<Fitted>,
}

impl Local {
    /// A model that is not fitted yet.
    pub fn new(spec: ModelSpec, task: Task, seed: u64) -> Result<Self, SpecError> {
        spec.check(task)?;
        Ok(Local { spec, task, seed, fitted: None })
    }

    /// A model that was fitted earlier; checks what may come from a damaged file.
    pub fn load(spec: ModelSpec, seed: u64, fitted: Fitted) -> Result<Self, FitError> {
        fitted.check()?;
        let task = fitted.task();
        let damaged = |what| FitError::Damaged { model: fitted.name(), what };
        let mut model = Local::new(spec, task, seed).map_err(|_| damaged("its options are out of range"))?;
        if !model.spec.describes(&fitted) {
            return Err(damaged("its options are those of another class of models"));
        }
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
        let Workspace { kept, tree: trees, mlp: networks } = work;
        let sample = Sample::new(self.name(), self.task, x, y, weight, kept)?;
        let seed = self.seed;
        self.fitted = Some(match &self.spec {
            ModelSpec::Linear(options) => Fitted::Linear(linear::fit(options, &sample)?),
            ModelSpec::Logistic(options) => Fitted::Logistic(logistic::fit(options, &sample)?),
            ModelSpec::Tree(options) => Fitted::Tree(tree::fit(options, &sample, seed, trees)?),
            ModelSpec::Forest(options) => Fitted::Forest(forest::fit(options, &sample, seed, trees)?),
            ModelSpec::Boosting(options) => Fitted::Boosting(boosting::fit(options, &sample, seed, trees)?),
            ModelSpec::Nearest(options) => Fitted::Nearest(nearest::fit(options, &sample)?),
            ModelSpec::KernelRidge(options) => Fitted::KernelRidge(kernel_ridge::fit(options, &sample)?),
            ModelSpec::Mlp(options) => {
                let before = match &self.fitted {
                    Some(Fitted::Mlp(before)) => Some(before),
                    _ => None,
                };
                Fitted::Mlp(mlp::fit(options, &sample, seed, before, networks)?)
            }
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
