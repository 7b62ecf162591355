//! Where the models of the nodes come from: specifications of our own, or whatever a face of the program has.

use std::sync::{Mutex, PoisonError};

use fedweave::model::relax::Relax;
use fedweave::model::{Fitted, LocalModel, ModelSpec, SpecError, Task};

/// Makes the models of the nodes, and keeps them.
pub trait ModelSource: Sync {
    /// A model of a node that is not fitted yet; what is random in it follows from the seed.
    fn build(&self, node: usize, task: Task, seed: u64) -> Result<Box<dyn LocalModel>, SpecError>;

    /// Looks at the models of the training that counts.
    fn keep(&self, _when: When, _relax: &Relax) -> fedweave::Result<()> {
        Ok(())
    }
}

/// When models are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Every node was fitted alone.
    Alone,
    /// After the last round.
    AtTheEnd,
}

/// Models of our own.
pub(super) struct Specs {
    /// Of each node.
    pub specs: Vec<ModelSpec>,
    /// What they were at the end.
    pub fitted: Mutex<Vec<Option<Fitted>>>,
}

impl ModelSource for Specs {
    fn build(&self, node: usize, task: Task, seed: u64) -> Result<Box<dyn LocalModel>, SpecError> {
        self.specs[node].build(task, seed)
    }

    fn keep(&self, when: When, relax: &Relax) -> fedweave::Result<()> {
        if when == When::AtTheEnd {
            let fitted = (0..self.specs.len()).map(|node| relax.model(node).fitted()).collect();
            *self.fitted.lock().unwrap_or_else(PoisonError::into_inner) = fitted;
        }
        Ok(())
    }
}
