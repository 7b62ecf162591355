//! `fedweave fit --model`: models of any class, coupled by what they predict on public rows.

mod ask;
mod choose;
mod federated;
mod file;
mod plan;
mod public;
mod story;

use std::time::Instant;

use anyhow::{Result, anyhow, bail, ensure};
use fedweave::compare::trial_rows;
use fedweave::model::relax::{Discrepancy, PublicRows, Relax, RelaxOptions};
use fedweave::model::{ModelSpec, Task};
use fedweave::scaling::Scaling;
use fedweave::split::{Part, Split};
use fedweave::tune::Errors;
use fedweave::{Dataset, Error};
use fedweave_io::{Input, RunWriter, load};

use crate::config::RawConfig;
use crate::fit::{hold_out, refuse_lonely_nodes};
use crate::progress::use_threads;
use crate::{Exit, say};
use choose::Chosen;
use plan::ModelPlan;

pub use ask::by_fits;
pub use federated::{Federated, Found, Pieces};
pub use fedweave_io::ModelFile;
pub use file::predict;
pub use plan::refuse_model_flags;
pub use story::error_name;

/// What `encoding.json` says of such a run instead of a loss.
pub const LOSS: &str = "models";

/// Everything there is to say about a finished fit.
pub struct ModelFit {
    plan: ModelPlan,
    input: Input,
    task: Task,
    specs: Vec<ModelSpec>,
    /// The models, at the end.
    models: ModelFile,
    /// Where public rows come from.
    public: String,
    lambda: f64,
    chosen: Option<Chosen>,
    rows_trained: usize,
    history: Vec<Round>,
    train: Errors,
    held_out: Option<HeldOut>,
    seconds: f64,
}

/// Errors on held-out rows, of coupled models and of each alone.
struct HeldOut {
    split: Split,
    networked: Errors,
    local: Errors,
}

/// One round.
struct Round {
    number: usize,
    objective: f64,
    train: Option<f64>,
    validation: Option<f64>,
    messages: u64,
    bytes: u64,
}

/// Runs the command.
pub fn run(raw: RawConfig) -> Result<Exit> {
    let plan = ModelPlan::new(raw)?;
    use_threads(plan.raw.threads);
    let writer = plan.raw.out.as_deref().map(|out| RunWriter::create(out, plan.raw.overwrite)).transpose()?;
    tell(&fit(plan)?, writer, None)?;
    Ok(Exit::Done)
}

/// Writes the run directory and says what there is to say, after the words of whoever ran it.
fn tell(fit: &ModelFit, writer: Option<RunWriter>, before: Option<&str>) -> Result<()> {
    let written = writer.map(|writer| story::write_run(fit, writer)).transpose()?;
    match (fit.plan.raw.json, before) {
        (true, _) => say(&story::summary(fit).to_string()),
        (false, None) => say(&story::words(fit, written.as_deref())),
        (false, Some(before)) => say(&format!("{before}\n{}", story::words(fit, written.as_deref()))),
    }
}

fn fit(plan: ModelPlan) -> Result<ModelFit> {
    let started = Instant::now();
    let input = load(&plan.input)?;
    if plan.raw.strict {
        refuse_lonely_nodes(&input)?;
    }
    let task = task(&plan, &input)?;
    let specs = plan.specs(&input, task)?;
    let split = plan.split.as_ref().map(|spec| hold_out(&input, spec, "give --lambda")).transpose()?;
    let trial = split.as_ref().map(|split| Trial::new(&input, split));
    let chosen = match (&trial, plan.lambda) {
        (Some(trial), None) => Some(choose::choose(&plan, &input, task, &specs, trial)?),
        _ => None,
    };
    let lambda = plan.lambda.or(chosen.as_ref().map(Chosen::lambda)).unwrap_or(0.0);
    // With a fixed lambda the held-out rows stay out; a chosen one is used on all rows.
    let rows = match (&trial, &chosen) {
        (Some(trial), None) => trial.rows.clone(),
        _ => input.data.clone(),
    };
    let training = Training::new(&plan, &input, rows)?;
    let judge = trial.as_ref().filter(|_| chosen.is_none()).map(|t| t.validation(&training));
    let mut relax = training.start(&plan, &input, task, &specs, lambda)?;
    let local = judge.as_ref().map(|rows| errors(&relax, rows, task, &input)).transpose()?;
    let mut history = vec![training.look(&relax, judge.as_ref(), task, &input)?];
    for _ in 0..plan.rounds {
        relax.round().map_err(|e| named(e, &input))?;
        history.push(training.look(&relax, judge.as_ref(), task, &input)?);
    }
    let held_out = match (split, &chosen, local) {
        (Some(split), Some(chosen), _) => {
            Some(HeldOut { split, networked: chosen.networked().clone(), local: chosen.local().clone() })
        }
        (Some(split), None, Some(local)) => {
            let networked = errors(&relax, judge.as_ref().expect("rows were held out"), task, &input)?;
            Some(HeldOut { split, networked, local })
        }
        _ => None,
    };
    Ok(ModelFit {
        train: errors(&relax, &training.scaled, task, &input)?,
        rows_trained: training.scaled.len(),
        models: {
            let models = specs.iter().enumerate().map(|(i, spec)| (i, spec.clone(), relax.model(i).fitted()));
            file::model_file(models, &input, task, training.scaling)
        },
        public: training.source,
        seconds: started.elapsed().as_secs_f64(),
        plan,
        input,
        task,
        specs,
        lambda,
        chosen,
        history,
        held_out,
    })
}

fn task(plan: &ModelPlan, input: &Input) -> Result<Task> {
    let classes = input.classes.len();
    match plan.classify {
        false => Ok(Task::Regression),
        true => {
            let target = plan.raw.target.as_deref().unwrap_or_default();
            ensure!(
                classes >= 2,
                "{}: column `{target}` has a single class; classification needs two or more",
                plan.input.nodes.display()
            );
            Ok(Task::Classification { classes })
        }
    }
}

/// The rows to train with while rows are held out.
struct Trial {
    rows: Dataset,
    held: Dataset,
}

impl Trial {
    fn new(input: &Input, split: &Split) -> Self {
        let (rows, held) = trial_rows(&input.data, split, Part::Validation);
        Trial { rows, held }
    }

    /// The held-out rows in the features of the models.
    fn validation(&self, training: &Training) -> Dataset {
        training.scaling.as_ref().map_or_else(|| self.held.clone(), |s| s.apply(&self.held))
    }
}

/// Rows to train with, and public rows, in the features of the models.
struct Training {
    scaled: Dataset,
    scaling: Option<Scaling>,
    public: Vec<PublicRows>,
    source: String,
}

impl Training {
    fn new(plan: &ModelPlan, input: &Input, rows: Dataset) -> Result<Self> {
        let scaling = plan.raw.standardize.then(|| Scaling::centred(&rows));
        let scaled = scaling.as_ref().map_or_else(|| rows.clone(), |s| s.apply(&rows));
        let (public, source) = public::rows(plan, input, &scaled, scaling.as_ref())?;
        Ok(Training { scaled, scaling, public, source })
    }

    fn start<'g>(
        &self,
        plan: &ModelPlan,
        input: &'g Input,
        task: Task,
        specs: &[ModelSpec],
        lambda: f64,
    ) -> Result<Relax<'g>> {
        let options = RelaxOptions { lambda, ..plan.options };
        Relax::new(&input.graph, &self.scaled, task, specs, self.public.clone(), options).map_err(|e| named(e, input))
    }

    fn look(&self, relax: &Relax, judge: Option<&Dataset>, task: Task, input: &Input) -> Result<Round> {
        let validation = judge.map(|rows| errors(relax, rows, task, input)).transpose()?;
        Ok(Round {
            number: relax.rounds(),
            objective: relax.objective(Discrepancy::Squared).map_err(|e| named(e, input))?,
            train: errors(relax, &self.scaled, task, input)?.mean(),
            validation: validation.and_then(|v| v.mean()),
            messages: relax.traffic().messages(),
            bytes: relax.traffic().bytes(),
        })
    }
}

/// Mean squared errors, or shares of wrong classes.
fn errors(relax: &Relax, rows: &Dataset, task: Task, input: &Input) -> Result<Errors> {
    Ok(Errors { by_node: relax.errors(rows, measure(task)).map_err(|e| named(e, input))? })
}

/// What an error is.
fn measure(task: Task) -> Discrepancy {
    match task {
        Task::Regression => Discrepancy::Squared,
        Task::Classification { .. } => Discrepancy::Misclassified,
    }
}

/// Errors of a node with its name.
fn named(error: Error, input: &Input) -> anyhow::Error {
    match error {
        Error::Fit { node, source } => anyhow!("node `{}`: {source}", input.names[node]),
        Error::Spec { node, source } => anyhow!("node `{}`: {source}", input.names[node]),
        other => anyhow::Error::new(other),
    }
}

/// Flags of the solvers of coupled parameters, and whether they were given.
pub fn solver_flags(raw: &RawConfig) -> [(&'static str, bool); 10] {
    [
        ("--penalty", raw.penalty.is_some()),
        ("--lambda-rule", raw.lambda_rule.is_some()),
        ("--solver", raw.solver.is_some()),
        ("--tolerance", raw.tolerance.is_some()),
        ("--max-iterations", raw.max_iterations.is_some()),
        ("--time-limit", raw.time_limit.is_some()),
        ("--objective-decrease", raw.objective_decrease.is_some()),
        ("--step-ratio", raw.step_ratio.is_some()),
        ("--relaxation", raw.relaxation.is_some()),
        ("--resume", raw.resume.is_some()),
    ]
}

/// What a command line must not say, and why.
pub fn refuse(flags: &[(&str, bool)], why: &str) -> Result<()> {
    match flags.iter().find(|(_, given)| *given) {
        Some((flag, _)) => bail!("{flag} {why}"),
        None => Ok(()),
    }
}
