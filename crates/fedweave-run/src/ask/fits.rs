//! Algorithm 2: models of any class, answers by fits.

use fedweave::model::active_sampling::{Asking, Candidates, Retrain};
use fedweave::model::relax::{Discrepancy, PublicRows, seed_of};
use fedweave::model::{Local, LocalModel, SpecError, Task};
use fedweave::scaling::Scaling;
use fedweave::tune::Errors;
use fedweave::{Dataset, Error};
use fedweave_io::Input;

use super::{AskResult, Lesson, Taught, askers, lesson};
use crate::checks::hold_out;
use crate::error::Result;
use crate::held_out::HeldOutErrors;
use crate::model_file::model_file;
use crate::predictor::named;
use crate::relax::{Apart, ModelRows, measure, specs, task};
use crate::request::{AskRequest, RelaxRequest};
use crate::watch::Observer;

/// Makes the model of a node that is not fitted yet; what is random in it follows from the seed.
pub type Blank<'a, M> = &'a dyn Fn(usize, Task, u64) -> std::result::Result<M, SpecError>;

/// With models of our own.
pub(super) fn ask(
    request: &AskRequest,
    relax: &RelaxRequest,
    input: Input,
    observer: &dyn Observer,
) -> Result<AskResult> {
    let task = task(relax, &input)?;
    let spec = specs(relax, &input, task)?.swap_remove(0);
    let blank: Blank<Local> = &|_, task, seed| Local::new(spec.clone(), task, seed);
    let taught = ask_with(request, relax, &input, task, blank, observer)?;
    let fitted = taught.lessons.iter().zip(&taught.models);
    let fitted = fitted.map(|(lesson, model)| (lesson.node, spec.clone(), model.fitted()));
    let file = model_file(fitted, &input, task, taught.scaling);
    Ok(AskResult {
        request: request.clone(),
        rows_trained: taught.rows_trained,
        taught: Taught::Models(spec, task, Box::new(file)),
        train: taught.train,
        asking: taught.asking,
        eta: taught.eta,
        lessons: taught.lessons,
        held_out: taught.held_out,
        notices: taught.notices,
        input,
        seconds: 0.0,
    })
}

/// What nodes learnt, with models of any origin.
pub struct TaughtBy<M> {
    /// The models of those that asked.
    pub models: Vec<M>,
    /// From whom they learnt.
    pub lessons: Vec<Lesson>,
    /// How many were asked, how often.
    pub asking: Asking,
    /// What rows of others weigh.
    pub eta: f64,
    /// Of features, before a model sees them.
    pub scaling: Option<Scaling>,
    /// Number of rows trained with.
    pub rows_trained: usize,
    /// Errors on training rows.
    pub train: Errors,
    /// Errors on held-out rows.
    pub held_out: Option<HeldOutErrors>,
    /// What the reader must know; the last one says where public rows come from.
    pub notices: Vec<String>,
}

/// What models are fitted with.
struct Sites<'a, M> {
    input: &'a Input,
    training: &'a ModelRows,
    blank: Blank<'a, M>,
    task: Task,
    /// Any asker; its class of models is as good as any other to hold rows.
    first: usize,
    eta: f64,
    seed: u64,
}

impl<M: LocalModel + Clone + 'static> Sites<'_, M> {
    fn public(&self, node: usize) -> PublicRows {
        self.training.public[node % self.training.public.len()].clone()
    }

    /// The model of a node before its first fit.
    fn blank(&self, node: usize) -> Result<M> {
        (self.blank)(node, self.task, seed_of(self.seed, node))
            .map_err(|source| named(Error::Spec { node, source }, self.input))
    }

    fn on(&self, rows: &Dataset, by: Discrepancy) -> Result<Retrain<M>> {
        Retrain::new(rows, &self.blank(self.first)?, self.public(0), self.eta, by).map_err(|e| named(e, self.input))
    }

    /// Errors of those that asked.
    fn errors(&self, rows: &Dataset, askers: &[usize], models: &[M]) -> Result<Errors> {
        let judge = self.on(rows, measure(self.task))?;
        let mut by_node = vec![None; self.input.names.len()];
        for (&i, model) in askers.iter().zip(models).filter(|(i, _)| !rows.rows(**i).is_empty()) {
            by_node[i] = Some(judge.own_loss(i, model));
        }
        Ok(Errors { by_node })
    }
}

/// Every node starts from a fit to its own rows, and tells others what it predicts on its public rows.
pub fn ask_with<M: LocalModel + Clone + 'static>(
    request: &AskRequest,
    relax: &RelaxRequest,
    input: &Input,
    task: Task,
    blank: Blank<M>,
    observer: &dyn Observer,
) -> Result<TaughtBy<M>> {
    let mut notices = Vec::new();
    let (askers, asking) = askers(request, input, &mut notices)?;
    let split = relax
        .held_out
        .spec
        .as_ref()
        .map(|s| hold_out(input, &relax.held_out, s, "leave out --validation"))
        .transpose()?;
    let apart = split.as_ref().map(|split| Apart::new(input, split));
    let rows = apart.as_ref().map_or_else(|| input.data.clone(), |apart| apart.rows.clone());
    let training = ModelRows::new(relax, input, rows)?;
    notices.push(training.source.clone());
    let (eta, seed) = (request.eta.unwrap_or(1.0), relax.options.seed);
    let sites = Sites { input, training: &training, blank, task, first: askers[0], eta, seed };
    let mut retrain = sites.on(&training.scaled, Discrepancy::Squared)?;
    let (mut alone, mut models, mut lessons) = (Vec::new(), Vec::new(), Vec::new());
    for &own in &askers {
        retrain.ask_about(sites.public(own))?;
        let start = retrain.start(own, sites.blank(own)?).map_err(|e| named(e, input))?;
        alone.push(start.clone());
        let tell = request.tells(askers.len());
        let learnt = lesson(&retrain, own, start, &asking, tell, observer).map_err(|e| named(e, input))?;
        models.push(learnt.0);
        lessons.push(learnt.1);
        observer.advance("asking", lessons.len(), askers.len());
    }
    let held_out = match (split, &apart) {
        (Some(split), Some(apart)) => {
            let errors = |models: &[M]| sites.errors(&apart.validation(&training), &askers, models);
            Some(HeldOutErrors {
                split,
                validation: errors(&models)?,
                local: errors(&alone)?,
                local_ridge: None,
                global: None,
                classes: None,
            })
        }
        _ => None,
    };
    let train = sites.errors(&training.scaled, &askers, &models)?;
    let (rows_trained, scaling) = (training.scaled.len(), training.scaling.clone());
    Ok(TaughtBy { models, lessons, asking, eta, scaling, rows_trained, train, held_out, notices })
}
