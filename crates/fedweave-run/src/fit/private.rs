//! Fits that protect every row: noise on the statistics of every node, or on the models.
//!
//! Datasets are neighbours if one row of one node is replaced; numbers of rows, the graph and all settings are public. Nothing that
//! was computed without noise leaves this file.

use fedweave::Dataset;
use fedweave::certificate::Kkt;
use fedweave::loss::{Family, LossOptions, LossSpec};
use fedweave::matrix::Matrix;
use fedweave::problem::Problem;
use fedweave::scaling::Scaling;
use fedweave::solve::{Settings, Solution, Status, solve};
use fedweave::trust::privacy::accountant::noise;
use fedweave::trust::privacy::mechanisms::Grid;
use fedweave::trust::privacy::sensitivity::{Movement, gradient_bound, largest_share};
use fedweave::trust::privacy::statistics::{Ranges, Units, release, shrink, stand_ins};
use fedweave_io::{Input, Noise};
use serde_json::{Value, json};

use super::{FitResult, Solved, finish, run_solver};
use crate::checks::check;
use crate::error::{Error, Result, refuse, require};
use crate::request::FitRequest;
use crate::request::privacy::{PrivacyChoice, PrivacyMethod};
use crate::training::TrainingRows;
use crate::watch::{Observer, Stage};
use crate::wording::number;

/// Attempts to certify the gap, each with a tenth of the tolerance.
const ATTEMPTS: usize = 6;

/// How the rows of a fit were protected.
#[derive(Debug, Clone, PartialEq)]
pub struct Protection {
    choice: PrivacyChoice,
    method: PrivacyMethod,
    /// How far one row can move what is released, at the node where that is most.
    sensitivity: f64,
    /// Deviation of the noise, at that node.
    deviation: f64,
    rows: usize,
    /// The column of the target.
    target: String,
}

impl Protection {
    /// As JSON.
    pub fn summary(&self) -> Value {
        json!({
            "epsilon": self.choice.epsilon, "delta": self.choice.delta, "method": self.method.name(),
            "adjacency": "one row of one node replaced", "sensitivity": self.sensitivity, "noise": self.deviation,
            "noise_source": Noise::name(self.choice.seed), "rows": self.rows,
            "lambda": "given by the user", "scaling": "ranges given by the user",
        })
    }

    /// In words.
    pub fn text(&self) -> Vec<String> {
        let PrivacyChoice { epsilon, delta, seed, .. } = self.choice;
        let where_to = match self.method {
            PrivacyMethod::Statistics => "the moments of every node",
            PrivacyMethod::Output => "the models",
        };
        let mut lines = vec![format!(
            "private: epsilon {epsilon}, delta {delta:e} for every row of every node; noise of {} on {where_to}, which one row can \
             move by {}",
            number(self.deviation),
            number(self.sensitivity)
        )];
        lines.push(
            "lambda and ranges are yours; errors and certificates would tell about rows and are not shown".into(),
        );
        lines.extend(seed.map(|seed| format!("warning: the noise comes from seed {seed}: it protects nothing")));
        lines
    }
}

impl Protection {
    /// Noise on the statistics of every node.
    pub(crate) fn of_statistics(request: &FitRequest, input: &Input) -> Result<(Protection, Ranges, f64)> {
        let choice = chosen(request)?;
        let target = request.naming.target.clone().unwrap_or_default();
        let ranges = ranges(request, &choice, input, choice.range(&target)?)?;
        let multiplier = noise((choice.epsilon, choice.delta), 1.0, 1)?;
        let least = (0..input.data.nodes()).map(|i| input.data.rows(i).len()).filter(|m| *m > 0).min();
        let sensitivity = std::f64::consts::SQRT_2 * ranges.norm_squared() / least.unwrap_or(1) as f64;
        let protection = Protection {
            method: PrivacyMethod::Statistics,
            deviation: multiplier * sensitivity,
            rows: input.data.len(),
            sensitivity,
            target,
            choice,
        };
        Ok((protection, ranges, multiplier))
    }
}

#[cfg(feature = "federation")]
impl Protection {
    /// The same in the file of a part.
    pub(crate) fn section(&self, input: &Input) -> fedweave_node::config::PrivacySection {
        let range = |column: &str| self.choice.range(column).map_or([-1.0, 1.0], |(low, high)| [low, high]);
        let columns = input.features.iter().filter(|name| self.choice.range(name).is_ok());
        fedweave_node::config::PrivacySection {
            epsilon: self.choice.epsilon,
            delta: self.choice.delta,
            releases: None,
            ranges: columns.map(|name| range(name)).collect(),
            target: range(&self.target),
            clip: self.choice.clip,
            seed: self.choice.seed,
        }
    }
}

fn chosen(request: &FitRequest) -> Result<PrivacyChoice> {
    request.privacy.clone().ok_or_else(|| Error::request("--dp-epsilon is missing"))
}

/// Rows that may be seen by everybody, in place of the private ones.
pub struct PrivateRows {
    /// In both units.
    pub training: TrainingRows,
    /// How the rows behind them are protected.
    pub protection: Protection,
}

impl PrivateRows {
    /// Noisy statistics of every node as rows. Nodes lend each other strength if they are `coupled` on one machine.
    pub fn new(request: &FitRequest, input: &Input, coupled: bool) -> Result<PrivateRows> {
        let (protection, ranges, multiplier) = Protection::of_statistics(request, input)?;
        let mut source = Noise::new(protection.choice.seed);
        let data = &input.data;
        let released = (0..data.nodes()).map(|node| release(data, node, &ranges, multiplier, &mut source));
        let mut moments = released.collect::<fedweave::Result<Vec<_>>>()?;
        if coupled {
            shrink(&mut moments);
        }
        let training = TrainingRows {
            whitening: None,
            rows: stand_ins(&moments, &ranges, Units::Data)?,
            scaled: stand_ins(&moments, &ranges, Units::Box)?,
            scaling: Some(scaling(&ranges, request.model.intercept())),
        };
        Ok(PrivateRows { training, protection })
    }
}

/// What is known about the columns; the target is the last.
fn ranges(request: &FitRequest, choice: &PrivacyChoice, input: &Input, target: (f64, f64)) -> Result<Ranges> {
    let features = &input.features[..input.features.len() - usize::from(request.model.intercept())];
    let known = features.iter().map(|name| choice.range(name)).collect::<Result<Vec<_>>>()?;
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
    require!(
        request.rounds.is_none(),
        "--dp-epsilon goes with solvers that see all rows: leave out --solver and --rounds"
    );
    let loss = request.model.loss(&input)?;
    check(&request.model, &input, &loss)?;
    let LossSpec::Same(family) = loss else { refuse!("--dp-epsilon: all nodes must have the same loss") };
    let choice = chosen(&request)?;
    let lambda = request.lambda.fixed.unwrap_or(0.0);
    if choice.method_for(family)? == PrivacyMethod::Output {
        return output(request, input, family, lambda, observer);
    }
    let PrivateRows { training, protection } = PrivateRows::new(&request, &input, lambda > 0.0)?;
    input.data = training.rows.clone();
    let built = loss.build(training.scaled.clone(), &request.model.options)?;
    let problem = super::build_on(&request, &input, &loss, &training, built, lambda)?;
    let solved = run_solver(&request, &problem, None, observer)?;
    let result = finish(request, input, loss, problem, training, solved);
    Ok(FitResult { protection: Some(protection), ..result })
}

/// The certified minimiser with noise on all models.
fn output(
    request: FitRequest,
    mut input: Input,
    family: Family,
    lambda: f64,
    observer: &dyn Observer,
) -> Result<FitResult> {
    let choice = chosen(&request)?;
    // Labels need no range: no label makes a gradient larger than the bound.
    let ranges = ranges(&request, &choice, &input, (-1.0, 1.0))?;
    let data = boxed(&input.data, &ranges);
    // The ridge holds every parameter of every node, the intercept too.
    let node_weight = request.model.options.node_weight.resolved(&data);
    let options = LossOptions { spare_last: false, node_weight, ..request.model.options };
    let gradient = gradient_bound(family, ranges.feature_norm()).expect("the method was allowed for this loss");
    let share = largest_share(&input.data, options.node_weight);
    require!(share > 0.0, "--dp-epsilon: no node has rows");
    let ridge = options.ridge;
    require!(ridge > 0.0, "--dp-method output needs --ridge: without it one row could move the models without limit");
    let movement = Movement::new(gradient, share, ridge)?;
    let loss = LossSpec::Same(family);
    let problem = Problem::build(
        input.graph.clone(),
        loss.build(data.clone(), &options)?,
        request.model.penalty(&input)?,
        lambda,
    )?;
    let mut solution = certified(&request, &problem, movement.gap, observer)?;
    let multiplier = noise((choice.epsilon, choice.delta), 1.0, 1)?;
    let numbers = solution.w.as_slice().len();
    let Some(grid) = Grid::new(multiplier, movement.bound, numbers) else {
        refuse!("--dp-epsilon: noise of {} cannot be drawn", multiplier * movement.bound);
    };
    grid.perturb_all(solution.w.as_mut_slice(), &mut Noise::new(choice.seed));
    let protection = Protection {
        method: PrivacyMethod::Output,
        sensitivity: movement.bound,
        deviation: grid.deviation(),
        rows: input.data.len(),
        target: request.naming.target.clone().unwrap_or_default(),
        choice,
    };
    // What is left knows no rows.
    let nothing = input.data.select(&vec![false; input.data.len()]);
    input.data = nothing.clone();
    let scaling = Some(scaling(&ranges, request.model.intercept()));
    let training = TrainingRows { rows: nothing.clone(), scaled: nothing.clone(), scaling, whitening: None };
    let blank =
        Problem::build(input.graph.clone(), loss.build(nothing, &options)?, request.model.penalty(&input)?, lambda)?;
    let solved = Solved { solution: silent(solution), traffic: None, seconds: 0.0 };
    let result = finish(request, input, loss, blank, training, solved);
    Ok(FitResult { protection: Some(protection), ..result })
}

/// Rows in the box. A node without rows gets one of zeros, at which every loss is constant: the ridge holds it too.
fn boxed(data: &Dataset, ranges: &Ranges) -> Dataset {
    let d = ranges.features();
    let (mut offsets, mut x, mut y) = (vec![0], Vec::new(), Vec::new());
    let mut row = vec![0.0; ranges.width()];
    for node in 0..data.nodes() {
        for r in data.rows(node) {
            ranges.boxed(data.x(r), 0.0, &mut row);
            x.extend_from_slice(&row[..d]);
            y.push(data.y()[r]);
        }
        if data.rows(node).is_empty() {
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
