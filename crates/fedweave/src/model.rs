//! Models of any class at any node: whatever can be fitted to weighted rows and predict.
//!
//! A [`LocalModel`] maps a row of features to [`Task::outputs`] numbers: one for regression, a probability per class
//! for classification. Targets have the same columns, so that the predictions of one model can be the targets of
//! another: a row of probabilities is a soft label, a class is a row with a single 1 ([`Task::targets`]).
//!
//! ```
//! use fedweave::Matrix;
//! use fedweave::model::{LocalModel, ModelSpec, Task, Workspace};
//!
//! let spec: ModelSpec = "ridge alpha=0.5".parse()?;
//! let mut model = spec.build(Task::Regression, 0)?;
//! let x = Matrix::from_rows(1, vec![0.0, 1.0, 2.0]);
//! let y = Matrix::from_rows(1, vec![0.0, 1.0, 2.0]);
//! model.fit(x.view(), y.view(), &[1.0; 3], &mut Workspace::default())?;
//! let mut out = [0.0];
//! model.predict(Matrix::from_rows(1, vec![1.0]).view(), &mut out)?;
//! assert!((out[0] - 1.0).abs() < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod active_sampling;
pub mod boosting;
pub mod coupled;
mod error;
mod fitted;
pub mod forest;
pub mod kernel_ridge;
pub mod linear;
mod local;
pub mod logistic;
pub mod mlp;
pub mod nearest;
mod options;
pub mod relax;
mod sample;
pub mod spec;
mod task;
pub mod tree;

pub use boosting::BoostingOptions;
pub use error::{FitError, SpecError};
pub use fitted::{Fitted, MODELS_VERSION};
pub use forest::ForestOptions;
pub use kernel_ridge::KernelRidgeOptions;
pub use linear::LinearOptions;
pub use local::Local;
pub use logistic::LogisticOptions;
pub use mlp::{Mlp, MlpOptions, Prox};
pub use nearest::NearestOptions;
pub use options::{Limit, MaxFeatures};
pub use spec::ModelSpec;
pub use task::Task;
pub use tree::TreeOptions;

use crate::matrix::Rows;

/// Anything with fit and predict. Fitting again starts afresh unless the model says otherwise, and depends on nothing but
/// the arguments, the options and the seed the model was made with.
pub trait LocalModel: Send + Sync {
    /// The model class, as on the command line.
    fn name(&self) -> &'static str;

    /// What is predicted.
    fn task(&self) -> Task;

    /// Fits to rows of features `x`, targets `y` of [`Task::outputs`] columns, and row weights, zero or positive. A row of
    /// weight 0 is as good as absent. After an error the model is as it was before.
    fn fit(&mut self, x: Rows, y: Rows, weight: &[f64], work: &mut Workspace) -> Result<(), FitError>;

    /// Writes [`Task::outputs`] numbers per row of `x`, row after row. A model that was never fitted predicts 0, or all
    /// classes alike.
    fn predict(&self, x: Rows, out: &mut [f64]) -> Result<(), FitError>;

    /// The fitted model as plain data, to be kept in a file; `None` before the first fit and for models that cannot be
    /// kept.
    fn fitted(&self) -> Option<Fitted> {
        None
    }
}

/// Buffers that fits reuse, so that many small fits do not allocate: one per thread, for models of any class.
#[derive(Debug, Default)]
pub struct Workspace {
    /// Rows without those of weight 0.
    kept: sample::Kept,
    tree: tree::TreeWork,
    mlp: mlp::MlpWork,
}
