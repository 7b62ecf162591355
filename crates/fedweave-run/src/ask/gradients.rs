//! Algorithm 1: models with parameters, answers by gradient steps, from zero.

use std::sync::atomic::{AtomicUsize, Ordering};

use fedweave::loss::Loss;
use fedweave::matrix::Matrix;
use fedweave::model::active_sampling::{Asking, GradientStep};
use fedweave::split::Part;
use fedweave::tune::Errors;
use fedweave_io::Input;
use rayon::prelude::*;

use super::{AskResult, Lesson, Taught, askers, lesson};
use crate::checks::{check, hold_out, tame_runaway};
use crate::error::{Result, refuse, require};
use crate::held_out::{HeldOutErrors, HeldOutRows};
use crate::request::{AskRequest, FitRequest};
use crate::training::TrainingRows;
use crate::watch::Observer;

pub(super) fn ask(
    request: &AskRequest,
    fit: &FitRequest,
    mut input: Input,
    observer: &dyn Observer,
) -> Result<AskResult> {
    let (mut fit, mut notices) = (fit.clone(), Vec::new());
    let (askers, asking) = askers(request, &input, &mut notices)?;
    let loss = fit.model.loss(&input)?;
    let checked = check(&fit.model, &input, &loss)?;
    let spec = fit.held_out.spec.as_ref();
    let split = spec.map(|spec| hold_out(&input, &fit.held_out, spec, "leave out --validation")).transpose()?;
    let training = match &split {
        Some(split) => TrainingRows::new(&fit.model, input.data.select(&split.mask(Part::Train))),
        None => checked.rows,
    };
    if split.is_some() {
        // Local-only models, to compare with, must exist.
        tame_runaway(&mut fit.model, &mut input, &loss, &training.scaled, 0.0)?;
    }
    let losses = loss.build(training.scaled.clone(), &fit.model.options)?;
    let eta = request.eta.map_or_else(|| safe_step(&*losses), Ok)?;
    let tell = request.tells(askers.len());
    let learn = |asking: &Asking| learn_all(&*losses, eta, asking, &askers, tell, &input, observer);
    let (asking, (w, lessons)) = until_settled(asking, request.rounds.is_none(), learn, &mut notices)?;
    notices.extend(training.uneven(UNEVEN));
    let parameters = training.restore(&loss, &w);
    let only = |errors: Errors| only(errors, &askers);
    let held_out = match split {
        None => None,
        Some(split) => {
            let rows = HeldOutRows::new(&fit, &input, &loss, &split);
            let validation = only(Errors::of(&*rows.plain(&rows.validation)?, &w));
            let held = rows.judge(&fit, split, validation, Some(&w))?;
            Some(HeldOutErrors { local: only(held.local), global: held.global.map(only), ..held })
        }
    };
    let mut of_askers = Vec::new();
    askers.iter().for_each(|&i| of_askers.extend_from_slice(parameters.row(i)));
    Ok(AskResult {
        request: request.clone(),
        train: only(training.errors(&loss, &w, &parameters)?),
        rows_trained: training.rows.len(),
        taught: Taught::Parameters(loss, Matrix::from_rows(parameters.cols(), of_askers)),
        asking,
        eta,
        lessons,
        held_out,
        notices,
        input,
        seconds: 0.0,
    })
}

/// What rounds give: models, and from whom they were learnt.
type Learnt = (Matrix, Vec<Lesson>);

/// The last half of the rounds gains at most this share of all that is gained ...
const SETTLED: f64 = 0.01;
/// ... or there are so many.
const ROUNDS_MAX: usize = 1600;

/// Doubles the rounds, where nobody said how many, until more of them change little. Who is drawn first does not depend on how many
/// rounds follow.
fn until_settled(
    mut asking: Asking,
    open: bool,
    learn: impl Fn(&Asking) -> Result<Learnt>,
    notices: &mut Vec<String>,
) -> Result<(Asking, Learnt)> {
    let mut learnt = learn(&asking)?;
    if !open {
        return Ok((asking, learnt));
    }
    loop {
        let more = Asking { rounds: 2 * asking.rounds, ..asking };
        let next = learn(&more)?;
        let sum = |lessons: &[Lesson], of: fn(&Lesson) -> f64| lessons.iter().map(of).sum::<f64>();
        let (before, after) = (sum(&learnt.1, |lesson| lesson.last), sum(&next.1, |lesson| lesson.last));
        let gained = sum(&next.1, |lesson| lesson.first) - after;
        (asking, learnt) = (more, next);
        if before - after <= SETTLED * gained {
            return Ok((asking, learnt));
        }
        if asking.rounds >= ROUNDS_MAX {
            notices.push(format!(
                "models still improve after {} rounds: give more --rounds, or --standardize",
                asking.rounds
            ));
            return Ok((asking, learnt));
        }
    }
}

/// Gradient steps are slow where the largest column is so many times the smallest: those that it allows hardly move the other's coefficient.
const UNEVEN: f64 = 10.0;

/// Lets all askers learn, side by side: the models of all nodes, those of others zero, and from whom they learnt.
fn learn_all(
    losses: &dyn Loss,
    eta: f64,
    asking: &Asking,
    askers: &[usize],
    tell: bool,
    input: &Input,
    observer: &dyn Observer,
) -> Result<(Matrix, Vec<Lesson>)> {
    let (candidates, done) = (GradientStep::new(losses, eta)?, AtomicUsize::new(0));
    let learn = |&own: &usize| {
        let learnt = lesson(&candidates, own, vec![0.0; losses.dim()], asking, tell, observer);
        observer.advance("asking", done.fetch_add(1, Ordering::Relaxed) + 1, askers.len());
        learnt
    };
    let learnt = askers.par_iter().map(learn).collect::<fedweave::Result<Vec<_>>>()?;
    let mut w = Matrix::zeros(losses.nodes(), losses.dim());
    let mut lessons = Vec::with_capacity(askers.len());
    for (model, lesson) in learnt {
        if !lesson.last.is_finite() {
            let name = &input.names[lesson.node];
            refuse!("--eta {eta}: the model of node `{name}` left the range of numbers; give a smaller one");
        }
        w.row_mut(lesson.node).copy_from_slice(&model);
        lessons.push(lesson);
    }
    Ok((w, lessons))
}

/// A step with which no candidate makes its own loss larger.
fn safe_step(losses: &dyn Loss) -> Result<f64> {
    let beta = (0..losses.nodes()).map(|i| losses.curvature(i).beta).fold(0.0, f64::max);
    let no_step = "--eta: a loss without a smoothness constant has no step that never diverges; give one";
    require!(beta.is_finite(), "{no_step}");
    Ok(if beta > 0.0 { 1.0 / beta } else { 1.0 })
}

/// Errors of those that asked.
fn only(errors: Errors, askers: &[usize]) -> Errors {
    let mut by_node = vec![None; errors.by_node.len()];
    askers.iter().for_each(|&i| by_node[i] = errors.by_node[i]);
    Errors { by_node }
}
