//! Models of any class, coupled by what they predict on public rows.

mod calibrate;
mod choose;
mod public;
mod report;
mod source;
mod specs;
mod summary;
mod votes;
mod write;

use std::sync::{Mutex, PoisonError};

use fedweave::Dataset;
use fedweave::compare::trial_rows;
use fedweave::model::relax::{Discrepancy, PublicRows, Relax, RelaxOptions, seed_of};
use fedweave::model::{ModelSpec, Task};
use fedweave::scaling::Scaling;
use fedweave::split::{Part, Split};
use fedweave::tune::Errors;
use fedweave_io::{Input, ModelFile};

use crate::calibration::RunCalibration;
use crate::checks::{hold_out, refuse_lonely_nodes};
use crate::error::{Result, require};
use crate::held_out::HeldOutErrors;
use crate::model_file::model_file;
use crate::predictor::named;
use crate::request::RelaxRequest;
use crate::watch::Observer;
use source::Specs;

pub use choose::Chosen;
pub use report::report_of;
pub use source::{ModelSource, When};
pub use specs::specs;
pub use summary::{error_name, summary, text};
pub use votes::VoteProtection;
pub use write::write_run;

/// Everything there is to say about a finished fit.
pub struct RelaxResult {
    /// What was asked for.
    pub request: RelaxRequest,
    /// The data.
    pub input: Input,
    /// Numbers or classes.
    pub task: Task,
    /// The model class of every node.
    pub specs: Vec<ModelSpec>,
    /// The models, at the end.
    pub models: ModelFile,
    /// Where public rows come from.
    pub public: String,
    /// The strength of the coupling.
    pub lambda: f64,
    /// Values of lambda that were tried.
    pub chosen: Option<Chosen>,
    /// Number of rows trained with.
    pub rows_trained: usize,
    /// Round by round; never empty.
    pub history: Vec<RelaxRound>,
    /// Errors on training rows.
    pub train: Errors,
    /// Errors on held-out rows.
    pub held_out: Option<HeldOutErrors>,
    /// How far predictions are off, seen on rows that models had not seen, if there are any.
    pub calibration: Option<RunCalibration>,
    /// How the rows are protected, if they are.
    pub protection: Option<VoteProtection>,
    /// How it ended.
    pub status: RelaxStatus,
    /// Seconds of all of it.
    pub seconds: f64,
}

/// A finished fit of models that somebody else keeps.
pub struct Relaxed {
    /// Where public rows come from.
    pub public: String,
    /// Of features, before a model sees them.
    pub scaling: Option<Scaling>,
    /// The strength of the coupling.
    pub lambda: f64,
    /// Values of lambda that were tried.
    pub chosen: Option<Chosen>,
    /// Number of rows trained with.
    pub rows_trained: usize,
    /// Round by round; never empty.
    pub history: Vec<RelaxRound>,
    /// Errors on training rows.
    pub train: Errors,
    /// Errors on held-out rows.
    pub held_out: Option<HeldOutErrors>,
    /// How far predictions are off, seen on rows that models had not seen, if there are any.
    pub calibration: Option<RunCalibration>,
    /// How it ended.
    pub status: RelaxStatus,
    /// Seconds of all of it.
    pub seconds: f64,
}

/// How a fit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelaxStatus {
    /// After all rounds.
    Done,
    /// The time was over.
    TimeLimit,
    /// Somebody wanted it to end. Some models are of the last round, some of the one before.
    Interrupted,
}

impl std::fmt::Display for RelaxStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            RelaxStatus::Done => "done",
            RelaxStatus::TimeLimit => "time-limit",
            RelaxStatus::Interrupted => "interrupted",
        })
    }
}

/// One round.
pub struct RelaxRound {
    /// Counted from 0, which is every node alone.
    pub number: usize,
    /// The objective.
    pub objective: f64,
    /// Mean error on training rows.
    pub train: Option<f64>,
    /// Mean error on held-out rows.
    pub validation: Option<f64>,
    /// Messages so far.
    pub messages: u64,
    /// Bytes so far.
    pub bytes: u64,
}

impl RelaxRound {
    /// A round of which nothing is measured but what was sent.
    fn unseen(relax: &Relax) -> Self {
        RelaxRound {
            number: relax.rounds(),
            objective: f64::NAN,
            train: None,
            validation: None,
            messages: relax.traffic().messages(),
            bytes: relax.traffic().bytes(),
        }
    }
}

impl RelaxResult {
    /// The state after the last round.
    pub fn last(&self) -> &RelaxRound {
        self.history.last().expect("a history is never empty")
    }
}

/// Chooses lambda if asked to, and fits.
pub fn relax(mut request: RelaxRequest, mut input: Input, observer: &dyn Observer) -> Result<RelaxResult> {
    let task = task(&request, &input)?;
    let source = Specs { specs: specs(&request, &input, task)?, fitted: Mutex::default() };
    let mut protection = None;
    if let Some(choice) = request.privacy.take() {
        let protected = votes::protect(&choice, &request, input, task, &source)?;
        (input, protection) = (protected.0, Some(protected.1));
    }
    let done = relax_with(&request, &input, task, &source, observer)?;
    let Relaxed { lambda, chosen, rows_trained, history, train, held_out, calibration, .. } = done;
    let Specs { specs, fitted } = source;
    let fitted = fitted.into_inner().unwrap_or_else(PoisonError::into_inner);
    let nodes = specs.iter().zip(fitted).enumerate().map(|(i, (spec, fitted))| (i, spec.clone(), fitted));
    Ok(RelaxResult {
        models: model_file(nodes, &input, task, done.scaling),
        status: done.status,
        public: done.public,
        seconds: done.seconds,
        task,
        specs,
        lambda,
        chosen,
        rows_trained,
        history,
        train,
        held_out,
        calibration,
        protection,
        request,
        input,
    })
}

/// The same with models of any origin, which `source` makes and keeps.
pub fn relax_with(
    request: &RelaxRequest,
    input: &Input,
    task: Task,
    source: &dyn ModelSource,
    observer: &dyn Observer,
) -> Result<Relaxed> {
    require!(
        request.privacy.is_none(),
        "--dp-epsilon: rows are protected with models of our own (--model), which know nothing of the rows beforehand"
    );
    if request.strict {
        refuse_lonely_nodes(input)?;
    }
    let spec = request.held_out.spec.as_ref();
    let split = spec.map(|spec| hold_out(input, &request.held_out, spec, "give --lambda")).transpose()?;
    let apart = split.as_ref().map(|split| Apart::new(input, split));
    let chosen = match (&apart, request.lambda) {
        (Some(apart), None) => Some(choose::choose(request, input, task, source, apart, observer)?),
        _ => None,
    };
    let lambda = request.lambda.or(chosen.as_ref().map(Chosen::lambda)).unwrap_or(0.0);
    // With a fixed lambda the held-out rows stay out; a chosen one is used on all rows.
    let rows = match (&apart, &chosen) {
        (Some(apart), None) => apart.rows.clone(),
        _ => input.data.clone(),
    };
    let training = ModelRows::new(request, input, rows)?;
    let judge = apart.as_ref().filter(|_| chosen.is_none()).map(|t| t.validation(&training));
    let mut relax = training.start(request, input, task, source, lambda)?;
    source.keep(When::Alone, &relax).map_err(|e| named(e, input))?;
    let local = judge.as_ref().map(|rows| errors(&relax, rows, task, input)).transpose()?;
    let (history, status) = training.rounds(request, &mut relax, judge.as_ref(), input, observer)?;
    // Models that somebody interrupted may no longer answer.
    let judged = !matches!(status, RelaxStatus::Interrupted);
    let held_out = match (split, &chosen, local) {
        (Some(split), Some(chosen), _) => {
            let (validation, local) = (chosen.networked().clone(), chosen.local().clone());
            Some(HeldOutErrors { split, validation, local, local_ridge: None, global: None, classes: None })
        }
        (Some(split), None, Some(local)) if judged => {
            let validation = errors(&relax, judge.as_ref().expect("rows were held out"), task, input)?;
            Some(HeldOutErrors { split, validation, local, local_ridge: None, global: None, classes: None })
        }
        _ => None,
    };
    source.keep(When::AtTheEnd, &relax).map_err(|e| named(e, input))?;
    let calibration = match (&chosen, &judge) {
        _ if !judged => None,
        _ if request.calibrate.is_some() => {
            let rows = (&training.rows, held_out.as_ref().map(|held| &held.split));
            calibrate::by_folds(request, input, task, source, lambda, rows, observer)?
        }
        (Some(chosen), _) => Some(calibrate::held_out(task, input, chosen.scores().to_vec(), false)?),
        (None, Some(rows)) => {
            Some(calibrate::held_out(task, input, calibrate::scores(&relax, rows, task, input)?, true)?)
        }
        (None, None) => None,
    };
    let train = match request.track && judged {
        true => errors(&relax, &training.scaled, task, input)?,
        false => Errors { by_node: vec![None; input.names.len()] },
    };
    Ok(Relaxed {
        rows_trained: training.scaled.len(),
        public: training.source,
        scaling: training.scaling,
        seconds: observer.seconds(),
        train,
        lambda,
        chosen,
        history,
        held_out,
        calibration,
        status,
    })
}

/// Numbers or classes.
pub fn task(request: &RelaxRequest, input: &Input) -> Result<Task> {
    let classes = input.classes.len();
    if !request.classify {
        return Ok(Task::Regression);
    }
    let target = request.naming.target();
    let table = input.table();
    require!(classes >= 2, "{table}: column `{target}` has a single class; classification needs two or more");
    Ok(Task::Classification { classes })
}

/// Training rows and held-out rows.
pub(crate) struct Apart {
    pub rows: Dataset,
    held: Dataset,
}

impl Apart {
    pub(crate) fn new(input: &Input, split: &Split) -> Self {
        let (rows, held) = trial_rows(&input.data, split, Part::Validation);
        Apart { rows, held }
    }

    /// The held-out rows in the features of the models.
    pub(crate) fn validation(&self, training: &ModelRows) -> Dataset {
        training.scaling.as_ref().map_or_else(|| self.held.clone(), |s| s.apply(&self.held))
    }
}

/// Rows to train with, and public rows, in the features of the models.
pub struct ModelRows {
    /// Rows to train with, as they came.
    rows: Dataset,
    /// The same in the features of the models.
    pub scaled: Dataset,
    /// From the units of the input.
    pub scaling: Option<Scaling>,
    /// One set for all nodes, or one for each.
    pub public: Vec<PublicRows>,
    /// Where they come from.
    pub source: String,
}

impl ModelRows {
    /// Scales the rows if that was asked for, and draws or reads public rows.
    pub fn new(request: &RelaxRequest, input: &Input, rows: Dataset) -> Result<Self> {
        let scaling = request.standardize.then(|| Scaling::centred(&rows));
        let scaled = scaling.as_ref().map_or_else(|| rows.clone(), |s| s.apply(&rows));
        let (public, source) = public::rows(request, input, &scaled, scaling.as_ref())?;
        Ok(ModelRows { rows, scaled, scaling, public, source })
    }

    fn start<'g>(
        &self,
        request: &RelaxRequest,
        input: &'g Input,
        task: Task,
        source: &dyn ModelSource,
        lambda: f64,
    ) -> Result<Relax<'g>> {
        let options = RelaxOptions { lambda, ..request.options };
        let build = |node: usize| {
            let model = source.build(node, task, seed_of(options.seed, node));
            model.map_err(|source| fedweave::Error::Spec { node, source })
        };
        let models = (0..input.names.len()).map(build).collect::<fedweave::Result<_>>();
        let relax = models.and_then(|models| {
            Relax::with_models(&input.graph, &self.scaled, task, models, self.public.clone(), options)
        });
        relax.map_err(|e| named(e, input))
    }

    /// All rounds, or as many as there is time for.
    fn rounds(
        &self,
        request: &RelaxRequest,
        relax: &mut Relax,
        judge: Option<&Dataset>,
        input: &Input,
        observer: &dyn Observer,
    ) -> Result<(Vec<RelaxRound>, RelaxStatus)> {
        let look = |relax: &Relax| match request.track {
            true => self.look(relax, judge, relax.task(), input),
            false => Ok(RelaxRound::unseen(relax)),
        };
        let mut history = vec![look(relax)?];
        for round in 0..request.rounds {
            observer.advance("rounds", round, request.rounds);
            if request.time_limit.is_some_and(|limit| observer.seconds() >= limit) {
                return Ok((history, RelaxStatus::TimeLimit));
            }
            match relax.round().map_err(|e| named(e, input)).and_then(|()| look(relax)) {
                _ if observer.interrupted() => return Ok((history, RelaxStatus::Interrupted)),
                seen => history.push(seen?),
            }
        }
        Ok((history, RelaxStatus::Done))
    }

    /// How it stands.
    pub fn look(&self, relax: &Relax, judge: Option<&Dataset>, task: Task, input: &Input) -> Result<RelaxRound> {
        let validation = judge.map(|rows| errors(relax, rows, task, input)).transpose()?;
        Ok(RelaxRound {
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
pub fn errors(relax: &Relax, rows: &Dataset, task: Task, input: &Input) -> Result<Errors> {
    Ok(Errors { by_node: relax.errors(rows, measure(task)).map_err(|e| named(e, input))? })
}

/// What an error is.
pub(crate) fn measure(task: Task) -> Discrepancy {
    match task {
        Task::Regression => Discrepancy::Squared,
        Task::Classification { .. } => Discrepancy::Misclassified,
    }
}
