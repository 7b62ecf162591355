//! A fit whose coupling is learnt from the rows.

mod choosing;
mod solving;
mod words;

use fedweave::Dataset;
use fedweave::graph::{Graph, cut};
use fedweave::learn::coupling::shared::{SharedCoupling, learn_in_parts};
use fedweave::learn::coupling::{Blend, Coupling, Form, FormScore, Interval, Posterior, Whitening, has_likelihood};
use fedweave::loss::{Family, LossSpec};
use fedweave::matrix::Matrix;
use fedweave::robustness::pull_max;
use fedweave::scaling::Scaling;
use fedweave::solve::Settings;
use fedweave::split::Part;
use fedweave::tune::Errors;
use fedweave_io::Input;

use super::{FitResult, calibrate, finish, run_solver};
use crate::calibration::RunCalibration;
use crate::checks::{check, hold_out};
use crate::error::{Result, refuse, require};
use crate::held_out::{HeldOutErrors, HeldOutRows};
use crate::request::FitRequest;
use crate::training::TrainingRows;
use crate::watch::{Observer, Stage};

pub(crate) use choosing::choose;
use choosing::{Chosen, check_search};
use solving::solve_members;

/// Level of the interval of rho.
const LEVEL: f64 = 0.9;

/// What was learnt, in the units of the input.
pub struct LearntCoupling {
    /// The loss.
    pub family: Family,
    /// Structures, shares of the graph, noise, and their weights; numbers are those of scaled features.
    pub blend: Blend,
    /// The common mean of the models.
    pub mu: Vec<f64>,
    /// Covariance of the model of each node, `d x d` in a row; nothing without a posterior.
    pub covariance: Matrix,
    /// Variance of the noise of a row, for every node.
    pub noise: Vec<f64>,
    /// Probability of a likelihood ratio as large if the graph did not matter; `None` without edges.
    pub p_value: Option<f64>,
    /// What else the share of the graph might be.
    pub rho_interval: Option<Interval>,
    /// What a difference of models costs.
    pub form: Form,
    /// What competed with it, and the errors of the nodes on folds.
    pub forms: Vec<FormScore>,
    /// The most that one node pulls with at all its neighbours together, in the learnt metric; `None` if there is no limit.
    pub pull_max: Option<f64>,
    /// How structures were chosen or weighed.
    pub chosen_by: &'static str,
    features: Vec<String>,
}

/// Learns the coupling, then solves the problem that it makes.
pub(super) fn fit(request: FitRequest, input: Input, observer: &dyn Observer) -> Result<FitResult> {
    let loss = request.model.loss(&input)?;
    let family = match loss {
        LossSpec::Same(Family::Point) => refuse!("--coupling learnt needs rows that are predicted: not the point loss"),
        LossSpec::Same(family) => family,
        LossSpec::PerNode(_) => refuse!("--coupling learnt needs one loss for all nodes"),
    };
    check(&request.model, &input, &loss)?;
    check_search(family, &request)?;
    let (held_out, calibration) = held_out(&request, &input, &loss, observer)?.unzip();
    observer.begin(Stage::new("learning the coupling", 1e-8));
    let (mut learnt, training) = match request.parts {
        Some(parts) => in_parts(family, parts, &request, &input)?,
        None => at_once(&request, &input)?,
    };
    let (problem, solved, training) = match learnt.form {
        Form::Quadratic => {
            let (problem, solved) = solve_members(&request, &input.graph, &training.scaled, &learnt.blend, observer)?;
            (problem, solved, training)
        }
        form => {
            let coupling = learnt.blend.lead();
            let problem = coupling.bounded_problem(&input.graph, &training.scaled, form)?;
            let solved = run_solver(&request, &problem, None, observer)?;
            (problem, solved, training.whitened(Whitening::of(coupling)))
        }
    };
    learnt.pull_max = pull_max(&problem, input.names.len());
    let result = finish(request, input, loss, problem, training, solved);
    if !learnt.has_posterior() {
        // The common mean is that of the models found.
        learnt.mu = result.hub.clone().unwrap_or(learnt.mu);
    }
    Ok(FitResult { held_out, calibration, learnt: Some(learnt), ..result })
}

/// Learns from all rows at once.
fn at_once(request: &FitRequest, input: &Input) -> Result<(LearntCoupling, TrainingRows)> {
    let mut model = request.model.clone();
    // What is learnt does not depend on the units of the features; the solver is better off with units of one size.
    model.standardize = true;
    let training = TrainingRows::new(&model, input.data.clone());
    let groups = input.groups.as_deref();
    let Chosen { blend, p_value, chosen_by, form, forms } = choose(request, input, &training.scaled, groups)?;
    let learnt = LearntCoupling::new(blend, p_value, chosen_by, input, &training)?;
    Ok((LearntCoupling { form, forms, ..learnt }, training))
}

/// Learns as so many parts of a federation would.
fn in_parts(
    family: Family,
    parts: usize,
    request: &FitRequest,
    input: &Input,
) -> Result<(LearntCoupling, TrainingRows)> {
    require!(family == Family::Squared, "--parts: parts of a federation learn the coupling for the squared loss only");
    let part = cut(&input.graph, parts.min(input.names.len())).part;
    let learnt = learn_in_parts(&input.graph, &input.data, &part, request.model.intercept())?;
    let training = TrainingRows::scaled_by(input.data.clone(), learnt.scaling.clone());
    Ok((described(learnt, input, &training)?, training))
}

/// How the structure was chosen, in words.
const CHOSEN_BY_PARTS: &str = "the likelihood of all parts, without the edges between them";

/// What parts have learnt, for the summary.
pub(crate) fn described(learnt: SharedCoupling, input: &Input, training: &TrainingRows) -> Result<LearntCoupling> {
    let SharedCoupling { coupling, p_value, .. } = learnt;
    LearntCoupling::new(Blend::of(coupling), p_value, CHOSEN_BY_PARTS, input, training)
}

/// How models learnt without the held-out rows do on them.
fn held_out(
    request: &FitRequest,
    input: &Input,
    loss: &LossSpec,
    observer: &dyn Observer,
) -> Result<Option<(HeldOutErrors, RunCalibration)>> {
    let Some(spec) = &request.held_out.spec else { return Ok(None) };
    let split = hold_out(input, &request.held_out, spec, "leave out --validation")?;
    let rows = HeldOutRows::new(request, input, loss, &split);
    let mask = split.mask(Part::Train);
    let groups = input.groups.as_ref().map(|groups| {
        let kept = groups.iter().zip(&mask).filter(|(_, train)| **train);
        kept.map(|(group, _)| *group).collect::<Vec<u32>>()
    });
    observer.begin(Stage::new("learning without held-out rows", 1e-8));
    let Chosen { blend, form, .. } = choose(request, input, &rows.train, groups.as_deref())?;
    let (w, calibration) = if form == Form::Quadratic && has_likelihood(request.model.family) {
        let posterior = blend.posterior(&input.graph, &rows.train)?;
        let calibration = calibrate::of_posterior(request.model.family, &posterior, &rows.validation)?;
        (posterior.w, Some(calibration))
    } else {
        let w = models(blend.lead(), &input.graph, &rows.train, form, &request.solve)?;
        let calibration = calibrate::of_tuning(loss, &rows.validation, &w)?;
        (w, calibration)
    };
    let validation = Errors::of(&*rows.plain(&rows.validation)?, &w);
    let judged = rows.judge(request, split, validation, Some(&w))?;
    Ok(calibration.map(|calibration| (judged, calibration)))
}

/// The models of a coupling that has no posterior.
pub(crate) fn models(
    coupling: &Coupling,
    graph: &Graph,
    data: &Dataset,
    form: Form,
    settings: &Settings,
) -> Result<Matrix> {
    Ok(match form {
        Form::Quadratic => coupling.models(graph, data, settings)?,
        form => coupling.bounded_models(graph, data, form, settings)?,
    })
}

fn restored(scaling: Option<&Scaling>, w: &[f64]) -> Vec<f64> {
    let mut row = Matrix::from_rows(w.len(), w.to_vec());
    scaling.iter().for_each(|s| s.restore(&mut row));
    row.as_slice().to_vec()
}

/// `T C T'` with `T` the way back from scaled features: rows first, then columns.
fn restored_covariances(scaling: Option<&Scaling>, posterior: &Posterior) -> Matrix {
    let d = posterior.mu.len();
    let one = |i: usize| {
        let transposed = |m: &[f64]| (0..d * d).map(|k| m[(k % d) * d + k / d]).collect::<Vec<f64>>();
        let mut c = Matrix::from_rows(d, posterior.covariance.row(i).to_vec());
        scaling.iter().for_each(|s| s.restore(&mut c));
        let mut c = Matrix::from_rows(d, transposed(c.as_slice()));
        scaling.iter().for_each(|s| s.restore(&mut c));
        c.as_slice().to_vec()
    };
    Matrix::from_rows(d * d, (0..posterior.covariance.rows()).flat_map(one).collect())
}

impl LearntCoupling {
    /// True if the models are a posterior mean, with a covariance.
    pub(crate) fn has_posterior(&self) -> bool {
        self.form == Form::Quadratic && has_likelihood(self.family)
    }

    /// True if no machine saw all rows.
    pub(crate) fn by_parts(&self) -> bool {
        self.chosen_by == CHOSEN_BY_PARTS
    }

    /// Couplings of models in scaled features, and what follows from it with all rows in sight.
    pub(crate) fn new(
        blend: Blend,
        p_value: Option<f64>,
        chosen_by: &'static str,
        input: &Input,
        training: &TrainingRows,
    ) -> Result<Self> {
        let (graph, data) = (&input.graph, &training.scaled);
        let lead = blend.lead();
        let known = has_likelihood(lead.family);
        let posterior = if known { Some(blend.posterior(graph, data)?) } else { None };
        let interval = if known { blend.rho_interval(graph, data, LEVEL)? } else { None };
        let scaling = training.scaling.as_ref();
        Ok(LearntCoupling {
            family: lead.family,
            mu: posterior.as_ref().map_or_else(Vec::new, |p| restored(scaling, &p.mu)),
            covariance: posterior.as_ref().map_or_else(|| Matrix::zeros(0, 0), |p| restored_covariances(scaling, p)),
            noise: posterior.map_or_else(Vec::new, |p| p.noise),
            features: input.features.clone(),
            blend,
            p_value,
            rho_interval: interval,
            form: Form::Quadratic,
            forms: Vec::new(),
            pull_max: None,
            chosen_by,
        })
    }
}
