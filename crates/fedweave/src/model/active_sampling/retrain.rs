//! Answers of Algorithm 2, for models of any class: the candidate fits the model to its own rows and, so that it stays close,
//! to what the model said on test rows of the node that asks:
//!
//! ```text
//! h_c = argmin_h  eta L_c(h) + mean_{x in test} (h(x) - h_now(x))^2
//! ```

use super::Candidates;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::matrix::Rows;
use crate::model::relax::{Buffers, Discrepancy, Predictions, PublicRows, Pull, Site, seed_of};
use crate::model::{Local, LocalModel, ModelSpec, Task};

/// Candidates that answer with a fitted model; their rows are private to their [`Site`]s.
pub struct Retrain {
    sites: Vec<Site>,
    test: PublicRows,
    eta: f64,
    discrepancy: Discrepancy,
}

impl Retrain {
    /// The nodes of `data`; `test` are rows without labels, `eta` weighs the candidate's rows against them.
    pub fn new(
        data: &Dataset,
        task: Task,
        spec: &ModelSpec,
        test: PublicRows,
        eta: f64,
        discrepancy: Discrepancy,
        seed: u64,
    ) -> Result<Self> {
        if !(eta > 0.0 && eta.is_finite()) {
            return Err(Error::Parameter { name: "learning rate", value: eta, needs: "positive and finite" });
        }
        if test.x().cols() != data.dim() {
            let (expected, found) = (data.dim(), test.x().cols());
            return Err(Error::Size { what: "features of the test rows", expected, found });
        }
        let site = |node: usize| {
            let model =
                Local::new(spec.clone(), task, seed_of(seed, node)).map_err(|e| Error::Spec { node, source: e })?;
            let x = Rows::new(data.dim(), data.features(node));
            Site::new(task, x, data.labels(node), data.weights(node), Box::new(model))
                .map_err(|e| Error::Fit { node, source: e })
        };
        let sites = (0..data.nodes()).map(site).collect::<Result<Vec<_>>>()?;
        Ok(Retrain { sites, test, eta, discrepancy })
    }

    /// What node `own` can do alone: a fit to its own rows, to start from.
    pub fn start(&self, own: usize, spec: &ModelSpec, task: Task, seed: u64) -> Result<Local> {
        let mut model =
            Local::new(spec.clone(), task, seed_of(seed, own)).map_err(|e| Error::Spec { node: own, source: e })?;
        self.sites[own]
            .teach(&mut model, 1.0, &[], &mut Buffers::default())
            .map_err(|e| Error::Fit { node: own, source: e })?;
        Ok(model)
    }
}

impl Candidates for Retrain {
    type Model = Local;

    fn nodes(&self) -> usize {
        self.sites.len()
    }

    fn answer(&self, candidate: usize, model: &Local, out: &mut Local) -> Result<()> {
        let locate = |e| Error::Fit { node: candidate, source: e };
        let says = Predictions::of(model, &self.test).map_err(locate)?;
        let pull = Pull { rows: &self.test, says: &says, weight: 1.0 / self.test.len() as f64 };
        self.sites[candidate].teach(out, self.eta, &[pull], &mut Buffers::default()).map_err(locate)
    }

    fn own_loss(&self, own: usize, model: &Local) -> f64 {
        self.sites[own].loss_of(model, self.discrepancy).ok().flatten().unwrap_or(f64::NAN)
    }

    fn message(&self, model: &Local) -> (usize, usize) {
        // Predictions there; a model back, counted as what it says about the test rows.
        let numbers = self.test.len() * model.task().outputs();
        (numbers, numbers)
    }
}
