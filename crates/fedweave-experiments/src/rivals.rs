//! The methods the papers compare with, in plain settings and tuned on validation rows.

use fedweave::baseline::{
    Averaging, FedAvg, FedAvgOptions, Ifca, IfcaOptions, IfcaStart, LocalUpdate, pick, step_grid,
};
use fedweave::loss::{Family, Loss, LossOptions};
use fedweave::solve::Method;
use fedweave::{Dataset, Matrix};

use crate::Error;

/// Rounds and restarts of the rivals.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Rounds in plain settings.
    pub rounds: usize,
    /// Rounds of each setting tried while tuning.
    pub tuning_rounds: usize,
    /// Starts of tuned IFCA.
    pub restarts: usize,
}

/// Local training and validation losses.
pub struct Rivals {
    train: Box<dyn Loss>,
    validation: Option<Box<dyn Loss>>,
    effort: Effort,
    seed: u64,
}

impl Rivals {
    /// Squared loss on training rows, and on validation rows if there are any to tune with.
    pub fn new(train: &Dataset, validation: Option<&Dataset>, effort: Effort, seed: u64) -> Result<Self, Error> {
        let build = |data: &Dataset| Family::Squared.build(data.clone(), &LossOptions::default());
        Ok(Rivals { train: build(train)?, validation: validation.map(build).transpose()?, effort, seed })
    }

    /// FedAvg with one gradient step a round and the longest step that is safe.
    pub fn fedavg(&self) -> Result<Matrix, Error> {
        let options = FedAvgOptions { local: LocalUpdate::Gradient { steps: 1 }, step: None };
        Ok(run(&mut FedAvg::new(&*self.train, options)?, self.effort.rounds))
    }

    /// FedAvg inside each true cluster.
    pub fn clustered_fedavg(&self, clusters: &[usize]) -> Result<Matrix, Error> {
        let options = FedAvgOptions { local: LocalUpdate::Gradient { steps: 1 }, step: None };
        Ok(run(&mut FedAvg::clustered(&*self.train, clusters, options)?, self.effort.rounds))
    }

    /// FedAvg with five local steps, their size chosen on validation rows.
    pub fn tuned_fedavg(&self) -> Result<Matrix, Error> {
        let Some(validation) = &self.validation else { return self.fedavg() };
        let local = LocalUpdate::Gradient { steps: 5 };
        let picked = pick(&step_grid(&*self.train), self.effort.tuning_rounds, &**validation, |&step| {
            Ok(Box::new(FedAvg::new(&*self.train, FedAvgOptions { local, step: Some(step) })?))
        })?;
        Ok(picked.models)
    }

    /// IFCA with `k` models, gradient averaging and one random start.
    pub fn ifca(&self, k: usize) -> Result<Matrix, Error> {
        let options = IfcaOptions {
            k,
            averaging: Averaging::Gradients,
            step: None,
            start: IfcaStart::Normal(1.0),
            restarts: 1,
            seed: self.seed,
        };
        Ok(run(&mut Ifca::new(&*self.train, options)?, self.effort.rounds))
    }

    /// IFCA with `k` models, model averaging, several starts from clients' own models, and the step chosen on validation rows.
    pub fn tuned_ifca(&self, k: usize) -> Result<Matrix, Error> {
        let Some(validation) = &self.validation else { return self.ifca(k) };
        let steps = step_grid(&*self.train);
        let picked = pick(&steps[3..], self.effort.tuning_rounds, &**validation, |&step| {
            let options = IfcaOptions {
                k,
                averaging: Averaging::Models { steps: 5 },
                step: Some(step),
                start: IfcaStart::Clients { steps: 20 },
                restarts: self.effort.restarts,
                seed: self.seed,
            };
            Ok(Box::new(Ifca::new(&*self.train, options)?))
        })?;
        Ok(picked.models)
    }
}

fn run(method: &mut dyn Method, rounds: usize) -> Matrix {
    (0..rounds).for_each(|_| method.round());
    method.models().clone()
}

/// The first `train` rows of every node, and the others.
pub fn first_rows(data: &Dataset, train: usize) -> (Dataset, Dataset) {
    let first: Vec<bool> = (0..data.nodes()).flat_map(|i| (0..data.rows(i).len()).map(|r| r < train)).collect();
    let others: Vec<bool> = first.iter().map(|f| !f).collect();
    (data.select(&first), data.select(&others))
}
