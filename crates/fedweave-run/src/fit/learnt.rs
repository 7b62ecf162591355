//! A fit whose coupling is learnt from the rows.

use fedweave::Dataset;
use fedweave::graph::{Graph, cut};
use fedweave::learn::coupling::shared::learn_in_parts;
use fedweave::learn::coupling::{
    Coupling, CouplingOptions, Fold, Interval, Posterior, learn, rho_interval, score_on_folds,
};
use fedweave::loss::{Family, LossSpec};
use fedweave::matrix::Matrix;
use fedweave::random::{Purpose, stream};
use fedweave::scaling::Scaling;
use fedweave::split::Part;
use fedweave::tune::Errors;
use fedweave_io::Input;
use rand::seq::SliceRandom;
use serde_json::{Value, json};

use super::{FitResult, calibrate, finish, run_solver};
use crate::calibration::RunCalibration;
use crate::checks::{check, hold_out};
use crate::error::{Result, refuse, require};
use crate::held_out::{HeldOutErrors, HeldOutRows};
use crate::request::FitRequest;
use crate::training::TrainingRows;
use crate::up::coupling::described;
use crate::watch::{Observer, Stage};
use crate::wording::number;

/// Folds that a structure is chosen by, where rows of different nodes are held out together.
const FOLDS: usize = 5;
/// Level of the interval of rho.
const LEVEL: f64 = 0.9;

/// What was learnt, in the units of the input.
pub struct LearntCoupling {
    /// The loss.
    pub family: Family,
    /// Structure, share of the graph, noise; its numbers are those of scaled features.
    pub coupling: Coupling,
    /// The common mean of the models.
    pub mu: Vec<f64>,
    /// Covariance of the model of each node, `d x d` in a row.
    pub covariance: Matrix,
    /// Probability of a likelihood ratio as large if the graph did not matter; `None` without edges.
    pub p_value: Option<f64>,
    /// What else the share of the graph might be.
    pub rho_interval: Option<Interval>,
    /// How the structure was chosen.
    pub chosen_by: &'static str,
    features: Vec<String>,
}

/// Learns the coupling, then solves the problem that it makes.
pub(super) fn fit(request: FitRequest, input: Input, observer: &dyn Observer) -> Result<FitResult> {
    let loss = request.model.loss(&input)?;
    let family = match loss {
        LossSpec::Same(family @ (Family::Squared | Family::Logistic | Family::Poisson)) => family,
        _ => refuse!("--coupling learnt knows the losses squared, logistic and poisson"),
    };
    check(&request.model, &input, &loss)?;
    let (held_out, calibration) = held_out(&request, &input, &loss, observer)?.unzip();
    observer.begin(Stage::new("learning the coupling", 1e-8));
    let (learnt, training) = match request.parts {
        Some(parts) => in_parts(family, parts, &request, &input)?,
        None => at_once(&request, &input)?,
    };
    let problem = learnt.coupling.problem(&input.graph, &training.scaled)?;
    let solved = run_solver(&request, &problem, None, observer)?;
    let result = finish(request, input, loss, problem, training, solved);
    Ok(FitResult { held_out, calibration, learnt: Some(learnt), ..result })
}

/// Learns from all rows at once.
fn at_once(request: &FitRequest, input: &Input) -> Result<(LearntCoupling, TrainingRows)> {
    let mut model = request.model.clone();
    // What is learnt does not depend on the units of the features; the solver is better off with units of one size.
    model.standardize = true;
    let training = TrainingRows::new(&model, input.data.clone());
    let groups = input.groups.as_deref();
    let (coupling, p_value, chosen_by) = choose(request, &input.graph, &training.scaled, groups)?;
    Ok((LearntCoupling::new(coupling, p_value, chosen_by, input, &training)?, training))
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

/// How models learnt without the held-out rows do on them.
fn held_out(
    request: &FitRequest,
    input: &Input,
    loss: &LossSpec,
    observer: &dyn Observer,
) -> Result<Option<(HeldOutErrors, RunCalibration)>> {
    let Some(spec) = &request.held_out.spec else { return Ok(None) };
    let split = hold_out(input, spec, "leave out --validation")?;
    let rows = HeldOutRows::new(request, input, loss, &split);
    let mask = split.mask(Part::Train);
    let groups = input.groups.as_ref().map(|groups| {
        let kept = groups.iter().zip(&mask).filter(|(_, train)| **train);
        kept.map(|(group, _)| *group).collect::<Vec<u32>>()
    });
    observer.begin(Stage::new("learning without held-out rows", 1e-8));
    let (coupling, ..) = choose(request, &input.graph, &rows.train, groups.as_deref())?;
    let posterior = coupling.posterior(&input.graph, &rows.train)?;
    let calibration = calibrate::of_posterior(request.model.family, &posterior, &rows.validation)?;
    let validation = Errors::of(&*rows.plain(&rows.validation)?, &posterior.w);
    Ok(Some((rows.judge(request, split, validation)?, calibration)))
}

/// The coupling by the likelihood of all rows; where rows are held out together (the same hours at all nodes), the structure by
/// folds that do the same: errors that nodes share would mislead the likelihood.
fn choose(
    request: &FitRequest,
    graph: &Graph,
    data: &Dataset,
    groups: Option<&[u32]>,
) -> Result<(Coupling, Option<f64>, &'static str)> {
    let (family, intercept) = (request.model.family, request.model.intercept());
    let options = CouplingOptions { family, intercept, ..CouplingOptions::default() };
    let folds = groups.map(|groups| group_folds(groups, request.held_out.seed)).unwrap_or_default();
    if folds.len() > 1 {
        let best = score_on_folds(graph, data, &options, &folds)?.swap_remove(0);
        return Ok((best.coupling, None, "folds that hold out the same groups at all nodes"));
    }
    let learnt = learn(graph, data, &options)?;
    let p_value = (graph.edges() > 0).then_some(learnt.graph.p_value);
    Ok((learnt.coupling, p_value, "the likelihood of all rows"))
}

/// Deals groups out to folds at random.
fn group_folds(groups: &[u32], seed: u64) -> Vec<Fold> {
    let mut distinct: Vec<u32> = groups.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    distinct.shuffle(&mut stream(seed, Purpose::HeldOutRows, 0));
    let count = FOLDS.min(distinct.len());
    let fold = |k: usize| {
        let held: Vec<u32> = distinct.iter().copied().skip(k).step_by(count).collect();
        let validation: Vec<bool> = groups.iter().map(|group| held.contains(group)).collect();
        Fold { train: validation.iter().map(|v| !v).collect(), validation }
    };
    (0..count).map(fold).collect()
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
    /// A coupling of models in scaled features, and what follows from it with all rows in sight.
    pub(crate) fn new(
        coupling: Coupling,
        p_value: Option<f64>,
        chosen_by: &'static str,
        input: &Input,
        training: &TrainingRows,
    ) -> Result<Self> {
        let (graph, data) = (&input.graph, &training.scaled);
        let interval = (coupling.rho > 0.0).then(|| rho_interval(graph, data, &coupling, LEVEL)).transpose()?;
        let posterior = coupling.posterior(graph, data)?;
        Ok(LearntCoupling {
            family: coupling.family,
            mu: restored(training.scaling.as_ref(), &posterior.mu),
            covariance: restored_covariances(training.scaling.as_ref(), &posterior),
            features: input.features.clone(),
            coupling,
            p_value,
            rho_interval: interval,
            chosen_by,
        })
    }

    /// As JSON.
    pub(super) fn summary(&self) -> Value {
        let c = &self.coupling;
        let varies = self.features.iter().zip(&c.varies).filter(|(_, varies)| **varies);
        json!({
            "structure": c.structure.name(),
            "chosen_by": self.chosen_by,
            "rho": c.rho,
            "rho_interval": self.rho_interval.map(|i| [i.low, i.high]),
            "graph_p_value": self.p_value,
            "noise": (self.family == Family::Squared).then(|| c.s2.sqrt()),
            "varies": varies.map(|(name, _)| name).collect::<Vec<_>>(),
            "mean": self.mu,
            "log_likelihood": c.log_likelihood,
        })
    }

    /// What was learnt, in words.
    pub(super) fn text(&self) -> Vec<String> {
        let c = &self.coupling;
        let named = |varies: bool| {
            let names = self.features.iter().zip(&c.varies).filter(|(_, v)| **v == varies);
            names.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let shared = match c.varies.iter().all(|v| *v) {
            true => String::new(),
            false => format!("; shared by all nodes: {}", named(false)),
        };
        let varying = if c.varies.iter().any(|v| *v) { named(true) } else { "nothing".into() };
        let noise = match self.family {
            Family::Squared => format!("; noise {}", number(c.s2.sqrt())),
            _ => String::new(),
        };
        let mut lines = vec![format!(
            "coupling learnt ({}, by {}); varies between nodes: {varying}{shared}{noise}",
            c.structure.name(),
            self.chosen_by
        )];
        lines.push(match (self.rho_interval, self.p_value) {
            (Some(i), p) => format!(
                "  of what varies, the graph explains the share rho {:.2} ({:.0} % interval {:.2} to {:.2}){}",
                c.rho,
                100.0 * i.level,
                i.low,
                i.high,
                p.map_or(String::new(), |p| format!("; that the graph matters: p = {p:.1e}"))
            ),
            (None, _) => "  the graph explains nothing beyond the common mean".into(),
        });
        lines
    }
}
