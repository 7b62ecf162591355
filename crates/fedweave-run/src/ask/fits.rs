//! Algorithm 2: models of any class, answers by fits.

use fedweave::model::active_sampling::{Candidates, Retrain};
use fedweave::model::relax::{Discrepancy, PublicRows, seed_of};
use fedweave::model::{Local, LocalModel, ModelSpec, Task};
use fedweave::tune::Errors;
use fedweave::{Dataset, Error};
use fedweave_io::Input;

use super::{AskResult, Taught, askers, lesson};
use crate::checks::hold_out;
use crate::error::Result;
use crate::held_out::HeldOutErrors;
use crate::model_file::model_file;
use crate::predictor::named;
use crate::relax::{Apart, ModelRows, measure, specs, task};
use crate::request::{AskRequest, RelaxRequest};
use crate::watch::Observer;

/// What models are fitted with.
struct Sites<'a> {
    input: &'a Input,
    training: &'a ModelRows,
    spec: &'a ModelSpec,
    task: Task,
    eta: f64,
    seed: u64,
}

impl Sites<'_> {
    fn public(&self, node: usize) -> PublicRows {
        self.training.public[node % self.training.public.len()].clone()
    }

    /// The model of a node before its first fit.
    fn blank(&self, node: usize) -> Result<Local> {
        Local::new(self.spec.clone(), self.task, seed_of(self.seed, node))
            .map_err(|source| named(Error::Spec { node, source }, self.input))
    }

    fn on(&self, rows: &Dataset, by: Discrepancy) -> Result<Retrain<Local>> {
        Retrain::new(rows, &self.blank(0)?, self.public(0), self.eta, by).map_err(|e| named(e, self.input))
    }

    /// Errors of those that asked.
    fn errors(&self, rows: &Dataset, askers: &[usize], models: &[Local]) -> Result<Errors> {
        let judge = self.on(rows, measure(self.task))?;
        let mut by_node = vec![None; self.input.names.len()];
        for (&i, model) in askers.iter().zip(models).filter(|(i, _)| !rows.rows(**i).is_empty()) {
            by_node[i] = Some(judge.own_loss(i, model));
        }
        Ok(Errors { by_node })
    }
}

/// Every node starts from a fit to its own rows, and tells others what it predicts on its public rows.
pub(super) fn ask(
    request: &AskRequest,
    relax: &RelaxRequest,
    input: Input,
    observer: &dyn Observer,
) -> Result<AskResult> {
    let mut notices = Vec::new();
    let (askers, asking) = askers(request, &input, &mut notices)?;
    let task = task(relax, &input)?;
    let spec = specs(relax, &input, task)?.swap_remove(0);
    let split = relax.held_out.spec.as_ref().map(|s| hold_out(&input, s, "leave out --validation")).transpose()?;
    let apart = split.as_ref().map(|split| Apart::new(&input, split));
    let rows = apart.as_ref().map_or_else(|| input.data.clone(), |apart| apart.rows.clone());
    let training = ModelRows::new(relax, &input, rows)?;
    notices.push(training.source.clone());
    let (eta, seed) = (request.eta.unwrap_or(1.0), relax.options.seed);
    let sites = Sites { input: &input, training: &training, spec: &spec, task, eta, seed };
    let mut retrain = sites.on(&training.scaled, Discrepancy::Squared)?;
    let (mut alone, mut models, mut lessons) = (Vec::new(), Vec::new(), Vec::new());
    for &own in &askers {
        retrain.ask_about(sites.public(own))?;
        let start = retrain.start(own, sites.blank(own)?).map_err(|e| named(e, &input))?;
        alone.push(start.clone());
        let learnt = lesson(&retrain, own, start, &asking, askers.len()).map_err(|e| named(e, &input))?;
        models.push(learnt.0);
        lessons.push(learnt.1);
        observer.advance("asking", lessons.len(), askers.len());
    }
    let held_out = match (split, &apart) {
        (Some(split), Some(apart)) => {
            let errors = |models: &[Local]| sites.errors(&apart.validation(&training), &askers, models);
            Some(HeldOutErrors { split, validation: errors(&models)?, local: errors(&alone)?, global: None })
        }
        _ => None,
    };
    let train = sites.errors(&training.scaled, &askers, &models)?;
    let fitted = askers.iter().zip(&models).map(|(&i, model)| (i, spec.clone(), model.fitted()));
    let file = model_file(fitted, &input, task, training.scaling.clone());
    Ok(AskResult {
        request: request.clone(),
        rows_trained: training.scaled.len(),
        taught: Taught::Models(spec, task, Box::new(file)),
        train,
        asking,
        eta,
        lessons,
        held_out,
        notices,
        input,
        seconds: 0.0,
    })
}
