//! `fedweave ask`: without a graph, nodes ask others drawn at random and learn from those whose answers help.

mod story;

use std::time::Instant;

use anyhow::{Result, anyhow, bail, ensure};
use fedweave::loss::{Loss, LossSpec};
use fedweave::matrix::Matrix;
use fedweave::model::active_sampling::{Asking, Candidates, GradientStep, learn};
use fedweave::model::{ModelSpec, Task};
use fedweave::split::{Part, SplitSpec};
use fedweave::tune::Errors;
use fedweave_io::{Input, RunWriter, load};
use rayon::prelude::*;

use crate::config::RawConfig;
use crate::fit::{HeldOut, Training, check, hold_out, refuse_runaway};
use crate::models::{self, ModelFile, refuse, solver_flags};
use crate::plan::{Plan, check_threads};
use crate::progress::{Counter, use_threads};
use crate::trial::Trial;
use crate::{Exit, say};

pub const EXAMPLES: &str = "\
Examples:
  fedweave ask nodes.csv --target y --candidates 10 --rounds 200 --out run
  fedweave ask nodes.csv --target y --asker north --asker south --validation 0.3 --out run
  fedweave ask nodes.csv --target y --model 'tree max-depth=4' --rounds 20 --out run
  fedweave predict run new.csv

No graph is needed. In every round a node sends its model to B others, judges their answers on its own rows and takes the
best: a gradient step (--loss), or a fit to their rows that stays close (--model). teachers.csv says from whom it learnt.";

/// Rounds, and others asked in each, if nobody says how many.
const ROUNDS: usize = 100;
const CANDIDATES: usize = 10;
/// More nodes do not ask unless they are named.
const ASKERS_MAX: usize = 500;
/// Every answer is kept if at most so many nodes ask.
const TOLD_MAX: usize = 20;

/// Everything there is to say afterwards.
pub struct Ask {
    pub input: Input,
    pub asking: Asking,
    pub eta: f64,
    pub lessons: Vec<Lesson>,
    pub taught: Taught,
    pub rows_trained: usize,
    pub train: Errors,
    pub held_out: Option<HeldOut>,
    pub split: Option<SplitSpec>,
    /// Things the reader must know.
    pub notices: Vec<String>,
}

/// The models of those that asked.
pub enum Taught {
    /// A row for each of them.
    Parameters(LossSpec, Matrix),
    Models(ModelSpec, Task, Box<ModelFile>),
}

/// From whom a node learnt.
pub struct Lesson {
    pub node: usize,
    /// Losses on its own rows, before and after.
    pub first: f64,
    pub last: f64,
    /// Others, rounds won, sums of rewards; most rounds first.
    pub teachers: Vec<(usize, usize, f64)>,
    /// Whose answer was taken, and the rewards of all that were asked, round by round; empty where many nodes ask.
    pub told: Vec<(usize, Vec<(usize, f64)>)>,
    pub messages: u64,
    pub bytes: u64,
}

/// How to ask: what is not a setting of a fit.
pub struct How {
    askers: Option<Vec<String>>,
    candidates: Option<usize>,
    rounds: usize,
    pub eta: Option<f64>,
    seed: u64,
}

/// Runs the command.
pub fn run(raw: RawConfig) -> Result<Exit> {
    let raw = raw.resolve()?;
    let (how, rest) = How::take(raw.clone())?;
    use_threads(raw.threads);
    let writer = raw.out.as_deref().map(|out| RunWriter::create(out, raw.overwrite)).transpose()?;
    let started = Instant::now();
    let ask = if raw.model.is_some() { models::by_fits(&how, rest)? } else { by_gradients(&how, rest)? };
    let seconds = started.elapsed().as_secs_f64();
    let written = writer.map(|writer| story::write_run(&ask, &raw, seconds, writer)).transpose()?;
    match raw.json {
        true => say(&story::summary(&ask, &raw, seconds).to_string())?,
        false => say(&story::words(&ask, &raw, seconds, written.as_deref()))?,
    }
    Ok(Exit::Done)
}

impl How {
    /// How to ask, and the settings of a fit that are left.
    fn take(raw: RawConfig) -> Result<(How, RawConfig)> {
        refuse_graph_flags(&raw)?;
        check_threads(&raw)?;
        let rounds = raw.rounds.unwrap_or(ROUNDS);
        ensure!(rounds > 0, "--rounds 0: a node that never asks learns nothing; give at least 1");
        if let Some(eta) = raw.eta {
            ensure!(eta > 0.0 && eta.is_finite(), "--eta {eta}: must be positive and finite");
        }
        let (askers, candidates, eta) = (raw.asker.clone(), raw.candidates, raw.eta);
        let how = How { askers, candidates, rounds, eta, seed: raw.seed.unwrap_or(0) };
        Ok((how, RawConfig { asker: None, candidates: None, rounds: None, eta: None, ..raw }))
    }

    /// Who asks, and how many others; `notices` gets what the reader must know.
    pub fn settle(&self, input: &Input, notices: &mut Vec<String>) -> Result<(Vec<usize>, Asking)> {
        let n = input.names.len();
        ensure!(n > 1, "there is one node, `{}`: nobody to ask", input.names[0]);
        if let Some(empty) = (0..n).find(|&i| input.data.rows(i).is_empty()) {
            bail!("node `{}` has no rows: it cannot judge answers, nor give any; leave it out", input.names[empty]);
        }
        let candidates = self.candidates.unwrap_or(CANDIDATES.min(n - 1));
        let others = n - 1;
        ensure!(
            (1..n).contains(&candidates),
            "--candidates {candidates}: a node can ask at least 1 and at most {others} others"
        );
        let asking = Asking { candidates, rounds: self.rounds, seed: self.seed };
        let find = |name: &String| {
            let unknown = || anyhow!("--asker {name}: no such node; there are {n}, the first is `{}`", input.names[0]);
            input.names.binary_search(name).map_err(|_| unknown())
        };
        let mut askers: Vec<usize> = match &self.askers {
            Some(names) => names.iter().map(find).collect::<Result<_>>()?,
            None => (0..n).step_by(n.div_ceil(ASKERS_MAX)).collect(),
        };
        if self.askers.is_none() && askers.len() < n {
            let step = n.div_ceil(ASKERS_MAX);
            notices
                .push(format!("every {step}th of the {n} nodes asks, {} in all; --asker names others", askers.len()));
        }
        askers.sort_unstable();
        askers.dedup();
        Ok((askers, asking))
    }
}

fn refuse_graph_flags(raw: &RawConfig) -> Result<()> {
    let why = "does not go with `fedweave ask`, which needs no graph and has no coupling to solve for: leave it out";
    refuse(&solver_flags(raw), why)?;
    refuse(
        &[
            ("--edges", raw.edges.is_some()),
            ("--knn", raw.knn.is_some()),
            ("--lambda", raw.lambda.is_some()),
            ("--lambda-grid", raw.lambda_grid.is_some()),
            ("--strict", raw.strict),
            ("--order", raw.order.is_some()),
            ("--judged-on", raw.judged_on.is_some()),
            ("--row-weights", raw.row_weights.is_some()),
            ("--distil", raw.distil.is_some()),
        ],
        why,
    )?;
    refuse(
        &[("--models", raw.models.is_some()), ("--loss-column", raw.loss_column.is_some())],
        "does not go with `fedweave ask`: those who ask and those who answer need models of one kind",
    )
}

/// Lets node `own` ask.
pub fn lesson<C: Candidates>(
    candidates: &C,
    own: usize,
    start: C::Model,
    asking: &Asking,
    askers: usize,
) -> fedweave::Result<(C::Model, Lesson)> {
    let first = candidates.own_loss(own, &start);
    let learnt = learn(candidates, own, start, asking, |_, _| ())?;
    let lesson = Lesson {
        node: own,
        first,
        last: learnt.choices.last().map_or(first, |c| c.loss),
        teachers: learnt.teachers(),
        told: match askers <= TOLD_MAX {
            true => learnt.choices.iter().map(|c| c.candidate).zip(learnt.rewards).collect(),
            false => Vec::new(),
        },
        messages: learnt.traffic.messages(),
        bytes: learnt.traffic.bytes(),
    };
    Ok((learnt.model, lesson))
}

/// Algorithm 1: models with parameters, answers by gradient steps, from zero.
fn by_gradients(how: &How, rest: RawConfig) -> Result<Ask> {
    let plan = Plan::ask(rest)?;
    let input = load(&plan.input)?;
    let mut notices = Vec::new();
    let (askers, asking) = how.settle(&input, &mut notices)?;
    let loss = plan.loss(&input)?;
    check(&plan, &input, &loss)?;
    let split = plan.split.as_ref().map(|spec| hold_out(&input, spec, "leave out --validation")).transpose()?;
    let rows = split.as_ref().map_or_else(|| input.data.clone(), |s| input.data.select(&s.mask(Part::Train)));
    let training = Training::new(&plan, rows);
    if split.is_some() {
        // Local-only models, to compare with, must exist.
        refuse_runaway(&plan, &input, &loss, &training.scaled, 0.0, &plan.options)?;
    }
    let losses = loss.build(training.scaled.clone(), &plan.options)?;
    let eta = how.eta.map_or_else(|| safe_step(&*losses), Ok)?;
    let candidates = GradientStep::new(&*losses, eta)?;
    let counter = Counter::over("asking", askers.len());
    let learn = |&own: &usize| {
        let learnt = lesson(&candidates, own, vec![0.0; losses.dim()], &asking, askers.len());
        counter.next();
        learnt
    };
    let learnt = askers.par_iter().map(learn).collect::<fedweave::Result<Vec<_>>>()?;
    counter.finish();
    let mut w = Matrix::zeros(losses.nodes(), losses.dim());
    let mut lessons = Vec::with_capacity(askers.len());
    for (model, lesson) in learnt {
        if !lesson.last.is_finite() {
            let name = &input.names[lesson.node];
            bail!("--eta {eta}: the model of node `{name}` left the range of numbers; give a smaller one");
        }
        w.row_mut(lesson.node).copy_from_slice(&model);
        lessons.push(lesson);
    }
    let parameters = training.restore(&loss, &w);
    let only = |errors: Errors| only(errors, &askers);
    let held_out = match split {
        None => None,
        Some(split) => {
            let trial = Trial::new(&plan, &input, &loss, &split);
            let validation = only(Errors::of(&*trial.plain(&trial.validation)?, &w));
            let held = trial.judge(&plan, split, validation)?;
            Some(HeldOut { local: only(held.local), global: held.global.map(only), ..held })
        }
    };
    let mut of_askers = Vec::new();
    askers.iter().for_each(|&i| of_askers.extend_from_slice(parameters.row(i)));
    Ok(Ask {
        train: only(training.errors(&loss, &w, &parameters)?),
        rows_trained: training.rows.len(),
        taught: Taught::Parameters(loss, Matrix::from_rows(parameters.cols(), of_askers)),
        split: plan.split,
        asking,
        eta,
        lessons,
        held_out,
        notices,
        input,
    })
}

/// A step with which no candidate makes its own loss larger.
fn safe_step(losses: &dyn Loss) -> Result<f64> {
    let beta = (0..losses.nodes()).map(|i| losses.curvature(i).beta).fold(0.0, f64::max);
    let no_step = "--eta: a loss without a smoothness constant has no step that never diverges; give one";
    ensure!(beta.is_finite(), no_step);
    Ok(if beta > 0.0 { 1.0 / beta } else { 1.0 })
}

/// Errors of those that asked.
pub fn only(errors: Errors, askers: &[usize]) -> Errors {
    let mut by_node = vec![None; errors.by_node.len()];
    askers.iter().for_each(|&i| by_node[i] = errors.by_node[i]);
    Errors { by_node }
}
