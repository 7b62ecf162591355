//! Fits that protect every row: noise on the statistics of every node, on the models, in the objective, or on gradients.
//!
//! Datasets are neighbours if one row of one node is replaced (with sampled gradients: if the gradients of one row are left out or not); numbers of
//! rows, the graph and all settings are public. Nothing that was computed without noise leaves this folder.

mod budget;
mod choose;
mod gradients;
mod models;
mod protection;
mod statistics;

use fedweave::Dataset;
use fedweave::certificate::Kkt;
use fedweave::loss::{LossOptions, LossSpec};
use fedweave::matrix::Matrix;
use fedweave::problem::Problem;
use fedweave::scaling::Scaling;
use fedweave::solve::{Choice, Settings, Solution, Status, solve};
use fedweave::trust::privacy::statistics::Ranges;
use fedweave_io::Input;

use super::{FitResult, Solved, finish};
use crate::checks::check;
use crate::error::{Error, Result, refuse, require};
use crate::request::FitRequest;
use crate::request::privacy::{PrivacyChoice, PrivacyMethod};
use crate::training::TrainingRows;
use crate::watch::{Observer, Stage};

#[cfg(feature = "federation")]
pub(crate) use gradients::Descent;
pub use protection::Protection;
pub use statistics::PrivateRows;

/// Attempts to certify the gap, each with a tenth of the tolerance.
const ATTEMPTS: usize = 6;

fn chosen(request: &FitRequest) -> Result<PrivacyChoice> {
    request.privacy.clone().ok_or_else(|| Error::request("--dp-epsilon is missing"))
}

fn target_of(request: &FitRequest) -> String {
    request.naming.target().to_owned()
}

/// What is known about the columns; the target is the last.
fn ranges(request: &FitRequest, choice: &PrivacyChoice, input: &Input, target: (f64, f64)) -> Result<Ranges> {
    let features = &input.features[..input.features.len() - usize::from(request.model.intercept())];
    let known = features.iter().map(|name| choice.range(name)).collect::<Result<Vec<_>>>()?;
    // Which columns are features follows from settings, not from what is in the rows.
    for (k, (name, _)) in choice.ranges.iter().enumerate() {
        require!(
            features.contains(name) || *name == target_of(request),
            "--dp-range {name}: no such feature; there are {}",
            features.join(", ")
        );
        require!(!choice.ranges[..k].iter().any(|(other, _)| other == name), "--dp-range {name}: given twice");
    }
    Ok(Ranges::new(known, target, choice.clip, request.model.intercept())?)
}

/// Features in ranges from -1 to 1.
fn scaling(ranges: &Ranges, intercept: bool) -> Scaling {
    let (middle, half): (Vec<f64>, Vec<f64>) =
        ranges.scales().iter().copied().chain(intercept.then_some((0.0, 1.0))).unzip();
    Scaling::of_moments(&middle, &half, intercept)
}

/// Fits with noise.
pub(super) fn fit(request: FitRequest, mut input: Input, observer: &dyn Observer) -> Result<FitResult> {
    // What is odd about rows (columns that are the same everywhere, say) would tell about them.
    input.notices.reading.clear();
    require!(
        request.rounds.is_none(),
        "--dp-epsilon goes with solvers that see all rows: leave out --solver and --rounds (--dp-method gradients has --dp-rounds)"
    );
    let weighted = |node: usize| input.data.weights(node).iter().any(|weight| *weight != 1.0);
    require!(
        !(0..input.data.nodes()).any(weighted),
        "--dp-epsilon: the noise is made for rows that count the same; leave out the weights of rows"
    );
    let loss = request.model.loss(&input)?;
    check(&request.model, &input, &loss)?;
    let LossSpec::Same(family) = loss else { refuse!("--dp-epsilon: all nodes must have the same loss") };
    let choice = chosen(&request)?;
    let method = choice.method_for(family)?;
    let lambda = request.lambda.fixed.unwrap_or(0.0);
    match method {
        PrivacyMethod::Statistics => statistics::fit(request, input, observer),
        PrivacyMethod::Output | PrivacyMethod::Objective => {
            models::fit(request, input, family, lambda, method, observer)
        }
        PrivacyMethod::Gradients => gradients::fit(request, input, family, lambda, observer),
    }
}

/// A result of models that were released, with nothing else that was computed from rows.
fn released(
    request: FitRequest,
    mut input: Input,
    options: &LossOptions,
    (lambda, ranges): (f64, &Ranges),
    (solution, protection): (Solution, Protection),
) -> Result<FitResult> {
    let nothing = input.data.select(&vec![false; input.data.len()]);
    input.data = nothing.clone();
    let loss = request.model.loss(&input)?;
    let scaling = Some(scaling(ranges, request.model.intercept()));
    let training = TrainingRows { rows: nothing.clone(), scaled: nothing.clone(), scaling, whitening: None };
    let blank =
        Problem::build(input.graph.clone(), loss.build(nothing, options)?, request.model.penalty(&input)?, lambda)?;
    let solved = Solved { solution: silent(solution), traffic: None, seconds: 0.0 };
    let result = finish(request, input, loss, blank, training, solved);
    Ok(FitResult { protection: Some(protection), ..result })
}

/// Rows in the box. A node without rows gets one of zeros, at which every loss is constant: the ridge holds it too.
fn boxed(data: &Dataset, ranges: &Ranges) -> Dataset {
    in_box(data, ranges, false, true)
}

/// Rows in the box, and their labels if asked for.
fn boxed_rows(data: &Dataset, ranges: &Ranges, labels: bool) -> Dataset {
    in_box(data, ranges, labels, false)
}

fn in_box(data: &Dataset, ranges: &Ranges, labels: bool, fill: bool) -> Dataset {
    let d = ranges.features();
    let (mut offsets, mut x, mut y) = (vec![0], Vec::new(), Vec::new());
    let mut row = vec![0.0; ranges.width()];
    for node in 0..data.nodes() {
        for r in data.rows(node) {
            ranges.boxed(data.x(r), data.y()[r], &mut row);
            x.extend_from_slice(&row[..d]);
            y.push(if labels { row[d] } else { data.y()[r] });
        }
        if fill && data.rows(node).is_empty() {
            x.extend(std::iter::repeat_n(0.0, d));
            y.push(1.0);
        }
        offsets.push(y.len());
    }
    let weight = vec![1.0; y.len()];
    Dataset::new(offsets, Matrix::from_rows(d, x), y, weight).expect("rows that were valid stay valid")
}

/// A point whose certified gap is at most `gap`, or nothing.
fn certified(request: &FitRequest, problem: &Problem, gap: f64, observer: &dyn Observer) -> Result<Solution> {
    let mut tolerance = gap.min(1e-3);
    for _ in 0..ATTEMPTS {
        let settings = Settings { tolerance, ..request.solve.clone() };
        observer.begin(Stage { iterations_max: settings.iterations_max, ..Stage::new("fitting", tolerance) });
        let solution = solve(problem, &settings, None, &mut |record| observer.see(record));
        require!(solution.status != Status::Interrupted, "interrupted: nothing is released");
        if solution.certified_gap.is_some_and(|found| found <= gap) {
            return Ok(solution);
        }
        tolerance *= 0.1;
    }
    refuse!(
        "--dp-epsilon: the certified gap did not reach {gap:.1e}, which the noise is made for: nothing is released; \
         a larger --ridge makes it easier"
    )
}

/// Models that come from elsewhere.
fn found(w: Matrix, edges: usize, method: &str, reason: &str) -> Solution {
    Solution {
        u: Matrix::zeros(edges, w.cols()),
        status: Status::Converged,
        objective: f64::NAN,
        certified_gap: None,
        kkt: Kkt { stationarity: 0.0, feasibility: 0.0, complementarity: 0.0 },
        iterations: 0,
        choice: Choice { method: method.into(), reason: reason.into() },
        step_ratio: 1.0,
        history: Vec::new(),
        w,
    }
}

/// The solution without what was computed from rows.
pub(crate) fn silent(solution: Solution) -> Solution {
    Solution {
        u: Matrix::zeros(solution.u.rows(), solution.u.cols()),
        status: Status::Converged,
        objective: f64::NAN,
        certified_gap: None,
        kkt: Kkt { stationarity: 0.0, feasibility: 0.0, complementarity: 0.0 },
        iterations: 0,
        step_ratio: 1.0,
        history: Vec::new(),
        ..solution
    }
}
