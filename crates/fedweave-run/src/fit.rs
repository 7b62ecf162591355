//! Files in, personal models out.

mod calibrate;
mod fair;
mod fallback;
mod hub;
mod in_turn;
mod learnt;
mod private;
mod report;
mod screen;
mod summary;
mod text;
mod warm;
mod write;

use std::sync::OnceLock;

use fedweave::Dataset;
use fedweave::cluster::{Clusters, clusters};
use fedweave::loss::{Loss, LossOptions, LossSpec};
use fedweave::matrix::Matrix;
use fedweave::problem::Problem;
use fedweave::robustness::{Unbounded, worst_liar};
use fedweave::solve::{History, Solution, Start, solve, solve_in_rounds};
use fedweave::split::{Part, Split};
use fedweave::tune::{Errors, Tuning};
use fedweave_io::{Checkpoint, Input, fingerprint};

use crate::calibration::RunCalibration;
use crate::checks::{Checked, check, hold_out, tame_runaway};
use crate::error::{Place, Result, require};
use crate::held_out::{HeldOutErrors, HeldOutRows, confusion};
use crate::learnt_graph::Evidence;
use crate::predictor::accuracy;
use crate::request::FitRequest;
use crate::request::coupling::CouplingChoice;
use crate::training::TrainingRows;
use crate::watch::{Observer, Stage, time_left};

pub(crate) use calibrate::held_out_calibration;
pub(crate) use fair::groups_of;
pub use fair::{GROUPS_MAX, GroupTreatment};
pub use fallback::Fallback;
pub use learnt::LearntCoupling;
#[cfg(feature = "federation")]
pub(crate) use learnt::described;
pub(crate) use learnt::{choose as learnt_choice, models as learnt_models};
#[cfg(feature = "federation")]
pub(crate) use private::{Descent, silent};
pub use private::{PrivateRows, Protection};
pub use report::report_of;
pub use screen::Screened;
pub use summary::summary;
pub use text::text;
pub use write::{write_models, write_run};

/// Everything there is to say about a finished fit.
pub struct FitResult {
    /// What was asked for.
    pub request: FitRequest,
    /// The data.
    pub input: Input,
    /// The losses.
    pub loss: LossSpec,
    /// The problem that was solved.
    pub problem: Problem,
    /// What was found, in the units of the solver.
    pub solution: Solution,
    /// What was sent, a record for each of the solution's, if the solver exchanges messages.
    pub traffic: Option<History>,
    /// Nodes that share a model.
    pub clusters: Clusters,
    /// Seconds of the solver alone.
    pub seconds: f64,
    /// Models in the units of the input.
    pub parameters: Matrix,
    /// The rows trained with.
    pub training: TrainingRows,
    /// Errors on held-out rows, if there are any.
    pub held_out: Option<HeldOutErrors>,
    /// Values of lambda that were tried.
    pub tuning: Option<Tuning>,
    /// The common mean of all models, in the units of the input, if there is one.
    pub hub: Option<Vec<f64>>,
    /// The reasons for the edges, if the graph was learnt.
    pub evidence: Option<Evidence>,
    /// Nodes that keep their local models, if that was asked for.
    pub fallback: Option<Fallback>,
    /// Edges that were left out, if neighbours were judged.
    pub screened: Option<Screened>,
    /// The coupling, if it was learnt.
    pub learnt: Option<LearntCoupling>,
    /// How the rows are protected, if they are.
    pub protection: Option<Protection>,
    /// How far predictions are off, seen on rows that models had not seen, if there are any.
    pub calibration: Option<RunCalibration>,
    /// Errors on the rows trained with, once somebody asked.
    pub(crate) errors: OnceLock<Errors>,
}

impl FitResult {
    /// Errors on the rows trained with.
    pub fn train(&self) -> Result<&Errors> {
        if let Some(errors) = self.errors.get() {
            return Ok(errors);
        }
        let errors = match self.fallback {
            // Some models are not those of the solver.
            Some(_) => {
                let plain = self.loss.build(self.training.rows.clone(), &LossOptions::default())?;
                Errors::of(&*plain, &self.parameters)
            }
            None => self.training.errors(&self.loss, &self.solution.w, &self.parameters)?,
        };
        Ok(self.errors.get_or_init(|| errors))
    }

    /// How far models are from what their users guessed (book, 8.11), if anybody guessed.
    pub fn guess_errors(&self) -> Result<Option<Errors>> {
        let Some(guesses) = self.request.guesses.as_ref().and_then(|guesses| guesses.rows()) else { return Ok(None) };
        let loss = self.loss.build(guesses.clone(), &LossOptions::default())?;
        Ok(Some(Errors::of(&*loss, &self.parameters)))
    }

    /// What was done about groups of rows, if anything.
    pub fn fairness(&self) -> Result<Option<GroupTreatment>> {
        fair::treatment(self)
    }

    /// Share of training rows a classifier gets right.
    pub fn accuracy(&self) -> Option<f64> {
        accuracy(&self.loss, &self.training.rows, &self.parameters)
    }

    /// The node that could do most harm by lying, and how far it could move all other models together. It needs the
    /// eigenvalues of every loss; where these are much work it is left out.
    pub fn worst_liar(&self) -> Option<std::result::Result<(usize, f64), Unbounded>> {
        if self.protection.is_some() {
            // It would tell about the rows.
            return None;
        }
        let work = self.problem.nodes() as f64 * (self.problem.dim() as f64).powi(3);
        let found = (work <= 2e8).then(|| worst_liar(&self.problem));
        // The common mean is nobody's to lie about.
        found.filter(|worst| !matches!(worst, Ok((node, _)) if *node >= self.input.names.len()))
    }

    /// What a later run needs to go on from here.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            problem: fingerprint(&self.input.names, &self.input.graph),
            iteration: self.solution.iterations as u64,
            step_ratio: self.solution.step_ratio,
            w: self.solution.w.clone(),
            u: self.solution.u.clone(),
        }
    }
}

/// Lambda, and what is known about it from held-out rows.
struct Strength {
    lambda: f64,
    tuning: Option<Tuning>,
    held_out: Option<HeldOutErrors>,
    /// Held-out rows that wait for the models of a solver that exchanges messages.
    to_judge: Option<(Box<dyn Loss>, Dataset)>,
    /// Scores of held-out rows by the models of this lambda.
    calibration: Option<RunCalibration>,
}

/// Chooses lambda if asked to, and fits.
pub fn fit(request: FitRequest, input: Input, observer: &dyn Observer) -> Result<FitResult> {
    if request.privacy.is_some() {
        return private::fit(request, input, observer);
    }
    let result = match request.coupling {
        CouplingChoice::Learnt => learnt::fit(request, input, observer)?,
        CouplingChoice::Given => fit_given(request, input, observer)?,
    };
    let result = calibrate::calibrate(result, observer)?;
    if result.request.fallback.is_some() { fallback::fall_back(result) } else { Ok(result) }
}

fn fit_given(mut request: FitRequest, mut input: Input, observer: &dyn Observer) -> Result<FitResult> {
    let loss = request.model.loss(&input)?;
    let mut evidence = learn_graph(&request, &input, None)?;
    if let Some(found) = &evidence {
        input = input.with_graph(found.learnt.graph.clone());
    }
    let mut checked = check(&request.model, &input, &loss)?;
    if let Some(guesses) = &mut request.guesses {
        guesses.load(&input)?;
    }
    // Before lambda is known: any positive one couples the same nodes.
    let first = request.lambda.fixed.unwrap_or(1.0);
    let data = input.data.clone();
    if tame_runaway(&mut request.model, &mut input, &loss, &data, first)? {
        checked = check(&request.model, &input, &loss)?;
    }
    let options = request.model.options;
    if let Some(rounds) = &request.rounds {
        // A method that does not fit is refused before the work, not after it.
        rounds.method(&build(&request, &input, &loss, input.data.clone(), first)?)?;
    }
    let mut strength = strength(&request, &input, &loss, observer)?;
    let lambda = strength.lambda;
    // With a fixed lambda the held-out rows stay out; a chosen one is used on all rows.
    let Checked { rows: training, loss: built } = match (&strength.held_out, &strength.tuning) {
        (Some(held), None) => {
            // Rows that stay out have no say in the graph either.
            if let Some(found) = learn_graph(&request, &input, Some(&held.split))? {
                input = input.with_graph(found.learnt.graph.clone());
                evidence = Some(found);
            }
            let rows = TrainingRows::new(&request.model, input.data.select(&held.split.mask(Part::Train)));
            Checked { loss: loss.build(rows.scaled.clone(), &options)?, rows }
        }
        _ => checked,
    };
    let built = match tame_runaway(&mut request.model, &mut input, &loss, &training.scaled, lambda)? {
        true => loss.build(training.scaled.clone(), &request.model.options)?,
        false => built,
    };
    fair::balance_groups(&mut request, &input, &loss, &training, lambda, observer)?;
    let problem = build_on(&request, &input, &loss, &training, built, lambda)?;
    let start = match &request.warm {
        Some(dir) if !observer.interrupted() => Some(warm::start(dir, &input, &loss, &training)?),
        _ => start(&request, &input, &problem, strength.tuning.as_ref(), observer)?,
    };
    let mut solved = run_solver(&request, &problem, start, observer)?;
    let mut problem = problem;
    let screened = request.screen.map(|factor| Screened::find(&problem, &solved.solution, factor)).transpose()?;
    if let Some(screened) = screened.as_ref().filter(|screened| !screened.edges.is_empty()) {
        input = input.with_graph(screened.graph.clone());
        problem = build(&request, &input, &loss, training.scaled.clone(), lambda)?;
        solved = run_solver(&request, &problem, None, observer)?;
    }
    if let (Some(held), Some((rows, data))) = (&mut strength.held_out, strength.to_judge.take()) {
        held.validation = Errors::of(&*rows, &solved.solution.w);
        held.classes.iter_mut().for_each(|classes| classes.networked = confusion(&loss, &data, &solved.solution.w));
    }
    let Strength { tuning, held_out, calibration, .. } = strength;
    let mut result = finish(request, input, loss, problem, training, solved);
    (result.tuning, result.held_out, result.calibration) = (tuning, held_out, calibration);
    (result.evidence, result.screened) = (evidence, screened);
    Ok(result)
}

/// The graph of the rows, or of those that a split trains with, if it is to be learnt.
fn learn_graph(request: &FitRequest, input: &Input, split: Option<&Split>) -> Result<Option<Evidence>> {
    let mask = split.map(|split| split.mask(Part::Train));
    request.graph.map(|choice| Evidence::find(choice, &request.model, input, mask.as_deref())).transpose()
}

fn strength(request: &FitRequest, input: &Input, loss: &LossSpec, observer: &dyn Observer) -> Result<Strength> {
    // Without edges there is nothing to choose.
    let apart = input.graph.edges() == 0 || request.rounds.as_ref().is_some_and(|r| !r.is_coupled());
    let fixed = request.lambda.fixed.or(apart.then_some(0.0));
    if let Some(folds) = &request.folds {
        return in_turn::strength(request, input, loss, fixed, &folds.deal(input)?, observer);
    }
    let spec = request.held_out.spec.as_ref().filter(|_| fixed.is_none() || request.held_out.asked);
    let Some(spec) = spec else {
        return Ok(Strength {
            lambda: fixed.expect("rows are held out where lambda is to be chosen"),
            tuning: None,
            held_out: None,
            to_judge: None,
            calibration: None,
        });
    };
    let split = hold_out(input, &request.held_out, spec, "give --lambda")?;
    let rows = HeldOutRows::new(request, input, loss, &split);
    if let (Some(_), Some(lambda)) = (&request.rounds, fixed) {
        // The models to be judged are those of the solver asked for.
        let later = Errors { by_node: vec![None; input.names.len()] };
        let to_judge = Some((rows.plain(&rows.validation)?, rows.validation.clone()));
        let held_out = Some(rows.judge(request, split, later, None)?);
        return Ok(Strength { lambda, tuning: None, held_out, to_judge, calibration: None });
    }
    // The graph that lambda is chosen for has not seen the rows that choose.
    let without = learn_graph(request, input, Some(&split))?.map(|found| input.clone().with_graph(found.learnt.graph));
    let found = rows.tune(request, without.as_ref().unwrap_or(input), observer)?;
    let held_out = Some(rows.judge(request, split, found.best().validation.clone(), Some(&found.best().w))?);
    let lambda = fixed.unwrap_or(found.best().lambda);
    let calibration = match fixed {
        None => calibrate::of_tuning(loss, &rows.validation, &found.best().w)?,
        Some(_) => None,
    };
    Ok(Strength { lambda, tuning: fixed.is_none().then_some(found), held_out, to_judge: None, calibration })
}

/// Where the solver starts: a checkpoint, the best of an interrupted search, or nowhere.
fn start(
    request: &FitRequest,
    input: &Input,
    problem: &Problem,
    tuning: Option<&Tuning>,
    observer: &dyn Observer,
) -> Result<Option<Start>> {
    if let Some(tuning) = tuning.filter(|_| observer.interrupted()) {
        // The best so far is worth more than nothing.
        let best = tuning.best();
        require!(best.converged, "interrupted before any lambda was tried to the end; nothing is written");
        let u = Matrix::zeros(input.graph.edges(), problem.dim());
        return Ok(Some(Start { w: best.w.clone(), u, step_ratio: 1.0, clusters: None }));
    }
    let Some(dir) = &request.resume else { return Ok(None) };
    let checkpoint = Checkpoint::read(&dir.join(crate::run_dir::CHECKPOINT), &input.names, &input.graph, problem.dim())
        .at(format!("--resume {}: no usable checkpoint", dir.display()))?;
    let (w, u, step_ratio) = (checkpoint.w, checkpoint.u, checkpoint.step_ratio);
    Ok(Some(Start { w, u, step_ratio, clusters: None }))
}

/// What a solver found.
pub struct Solved {
    /// Models, flows and what is known about them.
    pub solution: Solution,
    /// What was sent.
    pub traffic: Option<History>,
    /// Seconds it took.
    pub seconds: f64,
}

fn run_solver(
    request: &FitRequest,
    problem: &Problem,
    start: Option<Start>,
    observer: &dyn Observer,
) -> Result<Solved> {
    let settings = &request.solve;
    observer.begin(Stage {
        iterations_max: settings.iterations_max,
        seconds_max: time_left(request.time_limit, observer),
        ..Stage::new("fitting", settings.tolerance)
    });
    let (began, watch) = (observer.seconds(), &mut |record: &_| observer.see(record));
    let (solution, traffic) = match &request.rounds {
        None => (solve(problem, settings, start, watch), None),
        Some(rounds) => {
            let mut method = rounds.method(problem)?;
            let (solution, traffic) = solve_in_rounds(problem, &mut *method, settings, rounds.count, watch);
            (solution, Some(traffic))
        }
    };
    Ok(Solved { solution, traffic, seconds: observer.seconds() - began })
}

/// Adds what follows from a solution.
pub fn finish(
    request: FitRequest,
    input: Input,
    loss: LossSpec,
    problem: Problem,
    training: TrainingRows,
    solved: Solved,
) -> FitResult {
    let Solved { solution, traffic, seconds } = solved;
    let Shape { parameters, hub, clusters } = Shape::of(&input, &loss, &problem, &training, &solution);
    FitResult {
        request,
        input,
        loss,
        problem,
        solution,
        traffic,
        clusters,
        seconds,
        parameters,
        training,
        held_out: None,
        tuning: None,
        hub,
        evidence: None,
        fallback: None,
        screened: None,
        learnt: None,
        protection: None,
        calibration: None,
        errors: OnceLock::new(),
    }
}

/// What a solution looks like in the units of the input.
pub(crate) struct Shape {
    pub parameters: Matrix,
    pub hub: Option<Vec<f64>>,
    pub clusters: Clusters,
}

impl Shape {
    pub fn of(
        input: &Input,
        loss: &LossSpec,
        problem: &Problem,
        training: &TrainingRows,
        solution: &Solution,
    ) -> Shape {
        let parameters = training.restore(loss, &solution.w);
        let clusters = clusters(problem, &parameters, &solution.u);
        if problem.nodes() == input.names.len() {
            return Shape { parameters, hub: None, clusters };
        }
        let (parameters, hub, clusters) = hub::set_apart(&clusters, problem.graph(), &input.graph, &parameters);
        Shape { parameters, hub: Some(hub), clusters }
    }
}

/// The problem of a request on rows whose loss was built already.
pub(crate) fn build_on(
    request: &FitRequest,
    input: &Input,
    loss: &LossSpec,
    rows: &TrainingRows,
    built: Box<dyn Loss>,
    lambda: f64,
) -> Result<Problem> {
    match request.hub.is_some() || request.guesses.is_some() || request.fair.is_some() {
        true => build(request, input, loss, rows.scaled.clone(), lambda),
        false => Ok(Problem::build(input.graph.clone(), built, request.model.penalty(input)?, lambda)?),
    }
}

/// The problem of a request on some rows.
pub fn build(request: &FitRequest, input: &Input, loss: &LossSpec, data: Dataset, lambda: f64) -> Result<Problem> {
    let model = &request.model;
    let (data, options) = match (&request.guesses, &request.fair) {
        (Some(guesses), _) => guesses.join(data, &model.options)?,
        (None, Some(fair)) => fair.join(data, &model.options, &input.features)?,
        (None, None) => (data, model.options),
    };
    let (graph, data) = match request.hub {
        Some(share) => (input.graph.with_hub(share)?, data.with_hub()),
        None => (input.graph.clone(), data),
    };
    Ok(Problem::build(graph, hub::loss(loss, request.hub).build(data, &options)?, model.penalty(input)?, lambda)?)
}
