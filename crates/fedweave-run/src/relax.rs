//! Models of any class, coupled by what they predict on public rows.

mod choose;
mod public;
mod report;
mod specs;
mod summary;
mod write;

use fedweave::Dataset;
use fedweave::compare::trial_rows;
use fedweave::model::relax::{Discrepancy, PublicRows, Relax, RelaxOptions};
use fedweave::model::{ModelSpec, Task};
use fedweave::scaling::Scaling;
use fedweave::split::{Part, Split};
use fedweave::tune::Errors;
use fedweave_io::{Input, ModelFile};

use crate::checks::{hold_out, refuse_lonely_nodes};
use crate::error::{Result, require};
use crate::held_out::HeldOutErrors;
use crate::model_file::model_file;
use crate::predictor::named;
use crate::request::RelaxRequest;
use crate::watch::Observer;
use choose::Chosen;

pub use specs::specs;
pub use summary::{error_name, summary, text};
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
    /// Seconds of all of it.
    pub seconds: f64,
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

impl RelaxResult {
    /// The state after the last round.
    pub fn last(&self) -> &RelaxRound {
        self.history.last().expect("a history is never empty")
    }
}

/// Chooses lambda if asked to, and fits.
pub fn relax(request: RelaxRequest, input: Input, observer: &dyn Observer) -> Result<RelaxResult> {
    if request.strict {
        refuse_lonely_nodes(&input)?;
    }
    let task = task(&request, &input)?;
    let specs = specs(&request, &input, task)?;
    let spec = request.held_out.spec.as_ref();
    let split = spec.map(|spec| hold_out(&input, spec, "give --lambda")).transpose()?;
    let apart = split.as_ref().map(|split| Apart::new(&input, split));
    let chosen = match (&apart, request.lambda) {
        (Some(apart), None) => Some(choose::choose(&request, &input, task, &specs, apart, observer)?),
        _ => None,
    };
    let lambda = request.lambda.or(chosen.as_ref().map(Chosen::lambda)).unwrap_or(0.0);
    // With a fixed lambda the held-out rows stay out; a chosen one is used on all rows.
    let rows = match (&apart, &chosen) {
        (Some(apart), None) => apart.rows.clone(),
        _ => input.data.clone(),
    };
    let training = ModelRows::new(&request, &input, rows)?;
    let judge = apart.as_ref().filter(|_| chosen.is_none()).map(|t| t.validation(&training));
    let mut relax = training.start(&request, &input, task, &specs, lambda)?;
    let local = judge.as_ref().map(|rows| errors(&relax, rows, task, &input)).transpose()?;
    let mut history = vec![training.look(&relax, judge.as_ref(), task, &input)?];
    for round in 0..request.rounds {
        observer.advance("rounds", round, request.rounds);
        relax.round().map_err(|e| named(e, &input))?;
        history.push(training.look(&relax, judge.as_ref(), task, &input)?);
    }
    let held_out = match (split, &chosen, local) {
        (Some(split), Some(chosen), _) => {
            let (validation, local) = (chosen.networked().clone(), chosen.local().clone());
            Some(HeldOutErrors { split, validation, local, global: None })
        }
        (Some(split), None, Some(local)) => {
            let validation = errors(&relax, judge.as_ref().expect("rows were held out"), task, &input)?;
            Some(HeldOutErrors { split, validation, local, global: None })
        }
        _ => None,
    };
    let fitted = specs.iter().enumerate().map(|(i, spec)| (i, spec.clone(), relax.model(i).fitted()));
    Ok(RelaxResult {
        train: errors(&relax, &training.scaled, task, &input)?,
        rows_trained: training.scaled.len(),
        models: model_file(fitted, &input, task, training.scaling.clone()),
        public: training.source.clone(),
        seconds: observer.seconds(),
        task,
        lambda,
        chosen,
        history,
        held_out,
        specs,
        request,
        input,
    })
}

/// Numbers or classes.
pub fn task(request: &RelaxRequest, input: &Input) -> Result<Task> {
    let classes = input.classes.len();
    if !request.classify {
        return Ok(Task::Regression);
    }
    let target = request.naming.target.as_deref().unwrap_or_default();
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
    /// Rows to train with.
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
        Ok(ModelRows { scaled, scaling, public, source })
    }

    fn start<'g>(
        &self,
        request: &RelaxRequest,
        input: &'g Input,
        task: Task,
        specs: &[ModelSpec],
        lambda: f64,
    ) -> Result<Relax<'g>> {
        let options = RelaxOptions { lambda, ..request.options };
        Relax::new(&input.graph, &self.scaled, task, specs, self.public.clone(), options).map_err(|e| named(e, input))
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
