//! `fedweave ask --model`: Algorithm 2 of active sampling, answers by fits of any model class.

use anyhow::Result;
use fedweave::model::active_sampling::{Candidates, Retrain};
use fedweave::model::relax::{Discrepancy, seed_of};
use fedweave::model::{Local, LocalModel};
use fedweave::tune::Errors;
use fedweave::{Dataset, Error};
use fedweave_io::load;

use super::file::model_file;
use super::plan::ModelPlan;
use super::{Training, Trial, measure, named, task};
use crate::ask::{Ask, How, Taught, lesson};
use crate::config::{Lambda, RawConfig};
use crate::fit::{HeldOut, hold_out};
use crate::progress::Counter;

/// Every node starts from a fit to its own rows, and tells others what it predicts on its public rows.
pub fn by_fits(how: &How, rest: RawConfig) -> Result<Ask> {
    // Nothing is coupled, so there is no lambda to choose.
    let plan = ModelPlan::new(RawConfig { lambda: Some(Lambda::Fixed(0.0)), ..rest })?;
    let input = load(&plan.input)?;
    let mut notices = Vec::new();
    let (askers, asking) = how.settle(&input, &mut notices)?;
    let task = task(&plan, &input)?;
    let spec = plan.specs(&input, task)?.swap_remove(0);
    let split = plan.split.as_ref().map(|s| hold_out(&input, s, "leave out --validation")).transpose()?;
    let trial = split.as_ref().map(|split| Trial::new(&input, split));
    let rows = trial.as_ref().map_or_else(|| input.data.clone(), |trial| trial.rows.clone());
    let training = Training::new(&plan, &input, rows)?;
    notices.push(training.source.clone());
    let (eta, seed) = (how.eta.unwrap_or(1.0), plan.options.seed);
    let public = |node: usize| training.public[node % training.public.len()].clone();
    let blank = |node: usize| {
        Local::new(spec.clone(), task, seed_of(seed, node))
            .map_err(|source| named(Error::Spec { node, source }, &input))
    };
    let sites = |rows: &Dataset, by: Discrepancy| {
        Retrain::new(rows, &blank(0)?, public(0), eta, by).map_err(|e| named(e, &input))
    };
    let mut retrain = sites(&training.scaled, Discrepancy::Squared)?;
    let counter = Counter::over("asking", askers.len());
    let (mut alone, mut models, mut lessons) = (Vec::new(), Vec::new(), Vec::new());
    for &own in &askers {
        retrain.ask_about(public(own))?;
        let start = retrain.start(own, blank(own)?).map_err(|e| named(e, &input))?;
        alone.push(start.clone());
        let learnt = lesson(&retrain, own, start, &asking, askers.len()).map_err(|e| named(e, &input))?;
        models.push(learnt.0);
        lessons.push(learnt.1);
        counter.next();
    }
    counter.finish();
    let errors = |rows: &Dataset, models: &[Local]| -> Result<Errors> {
        let judge = sites(rows, measure(task))?;
        let mut by_node = vec![None; input.names.len()];
        for (&i, model) in askers.iter().zip(models).filter(|(i, _)| !rows.rows(**i).is_empty()) {
            by_node[i] = Some(judge.own_loss(i, model));
        }
        Ok(Errors { by_node })
    };
    let held_out = match (split, &trial) {
        (Some(split), Some(trial)) => {
            let rows = trial.validation(&training);
            let (validation, local) = (errors(&rows, &models)?, errors(&rows, &alone)?);
            Some(HeldOut { split, validation, local, global: None })
        }
        _ => None,
    };
    let train = errors(&training.scaled, &models)?;
    let fitted = askers.iter().zip(&models).map(|(&i, model)| (i, spec.clone(), model.fitted()));
    let file = model_file(fitted, &input, task, training.scaling);
    Ok(Ask {
        rows_trained: training.scaled.len(),
        taught: Taught::Models(spec, task, Box::new(file)),
        split: plan.split,
        train,
        asking,
        eta,
        lessons,
        held_out,
        notices,
        input,
    })
}
