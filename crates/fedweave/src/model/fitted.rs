//! Fitted models as plain data: what a file keeps, and all that is needed to predict.

use serde::{Deserialize, Serialize};

use super::boosting::BoostingFit;
use super::forest::ForestFit;
use super::kernel_ridge::KernelRidgeFit;
use super::linear::LinearFit;
use super::local::check_len;
use super::logistic::LogisticFit;
use super::mlp::MlpFit;
use super::nearest::NearestFit;
use super::sample::check_features;
use super::tree::TreeFit;
use super::{FitError, Task};
use crate::matrix::Rows;

/// Version of the fields of [`Fitted`] and [`ModelSpec`](super::ModelSpec); files keep it beside the models they hold.
pub const MODELS_VERSION: u32 = 1;

/// A fitted model of any class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fitted {
    /// Least squares.
    Linear(LinearFit),
    /// Logistic regression.
    Logistic(LogisticFit),
    /// A decision tree.
    Tree(TreeFit),
    /// A random forest.
    Forest(ForestFit),
    /// Gradient-boosted trees.
    Boosting(BoostingFit),
    /// Nearest neighbours.
    Nearest(NearestFit),
    /// Kernel ridge regression.
    KernelRidge(KernelRidgeFit),
    /// A multilayer perceptron.
    Mlp(MlpFit),
}

/// What every fitted state can do; `x` and `out` have the right sizes.
pub trait State {
    /// The model class, as on the command line.
    fn name(&self) -> &'static str;
    /// Number of features.
    fn features(&self) -> usize;
    /// What is predicted.
    fn task(&self) -> Task;
    /// Writes the predictions.
    fn predict(&self, x: Rows, out: &mut [f64]);
    /// What no fit can have written; after this check [`predict`](State::predict) cannot fail.
    fn check(&self) -> Result<(), &'static str>;
}

impl Fitted {
    fn state(&self) -> &dyn State {
        match self {
            Fitted::Linear(state) => state,
            Fitted::Logistic(state) => state,
            Fitted::Tree(state) => state,
            Fitted::Forest(state) => state,
            Fitted::Boosting(state) => state,
            Fitted::Nearest(state) => state,
            Fitted::KernelRidge(state) => state,
            Fitted::Mlp(state) => state,
        }
    }

    /// The model class.
    pub fn name(&self) -> &'static str {
        self.state().name()
    }

    /// Number of features of the rows it was fitted to.
    pub fn features(&self) -> usize {
        self.state().features()
    }

    /// What is predicted.
    pub fn task(&self) -> Task {
        self.state().task()
    }

    /// Writes [`Task::outputs`] numbers per row of `x`, row after row.
    pub fn predict(&self, x: Rows, out: &mut [f64]) -> Result<(), FitError> {
        if x.cols() != self.features() {
            return Err(FitError::Size { what: "features", expected: self.features(), found: x.cols() });
        }
        check_features(x)?;
        check_len(x, self.task(), out)?;
        self.state().predict(x, out);
        Ok(())
    }

    /// Checks a model that comes from a file.
    pub fn check(&self) -> Result<(), FitError> {
        let sound = match self.task() {
            Task::Classification { classes: 0 | 1 } => Err("it has fewer than two classes"),
            _ => self.state().check(),
        };
        sound.map_err(|what| FitError::Damaged { model: self.name(), what })
    }
}
