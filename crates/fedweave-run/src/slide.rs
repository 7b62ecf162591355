//! Lambda moved by hand: the models of a fit follow, each solve warm-started from the one before, and are judged again on the rows
//! that were held out.

use fedweave::loss::{Confusion, Loss, LossSpec};
use fedweave::solve::{Record, Settings, Solution, Start, Watch, solve};
use fedweave::tune::{Errors, lambda_grid};
use fedweave::{Dataset, Problem};

use crate::error::{Result, require};
use crate::fit::{FitResult, Shape, build};
use crate::held_out::{HeldOutClasses, HeldOutRows, confusion};
use crate::request::coupling::CouplingChoice;

/// A fit whose lambda can be moved.
pub struct Slider {
    fit: FitResult,
    judge: Option<Judge>,
    settings: Settings,
    range: (f64, f64),
}

/// The problem on the rows that were not held out, and those that were.
struct Judge {
    problem: Problem,
    start: Option<Start>,
    held_out: Box<dyn Loss>,
    rows: Dataset,
}

/// Decades below the largest lambda that a slider goes, where no grid was tried.
const DECADES: f64 = 4.0;

impl Slider {
    /// Takes over a fit. Not every fit has one lambda that couples neighbours: see [`Slider::refuses`].
    pub fn new(mut fit: FitResult) -> Result<Slider> {
        if let Some(why) = Slider::refuses(&fit) {
            return Err(crate::Error::request(format!("lambda cannot be moved: {why}")));
        }
        let range = range(&mut fit)?;
        let judge = judge(&fit)?;
        // Which models are seen while lambda moves does not depend on the last digits.
        let settings = fit.request.solve.quick();
        Ok(Slider { fit, judge, settings, range })
    }

    /// Why the lambda of a fit cannot be moved, if it cannot.
    pub fn refuses(fit: &FitResult) -> Option<&'static str> {
        if fit.input.graph.edges() == 0 && fit.hub.is_none() {
            return Some("there are no edges");
        }
        if fit.protection.is_some() {
            return Some("every further look at the rows would spend more of the privacy budget");
        }
        if fit.request.coupling == CouplingChoice::Learnt {
            return Some("the coupling was learnt, with a strength for every coefficient");
        }
        fit.request.rounds.is_some().then_some("the solver exchanges messages; choose the default one")
    }

    /// The fit as it is now.
    pub fn fit(&self) -> &FitResult {
        &self.fit
    }

    /// The smallest and the largest lambda that make a difference.
    pub fn range(&self) -> (f64, f64) {
        self.range
    }

    /// Moves lambda; `watch` may stop the solver, whose models are then what it had.
    pub fn slide(&mut self, lambda: f64, watch: &mut dyn FnMut(&Record) -> Watch) -> Result<&FitResult> {
        require!(lambda >= 0.0 && lambda.is_finite(), "--lambda {lambda}: must be a finite number, at least 0");
        let fit = &mut self.fit;
        fit.problem.set_lambda(lambda)?;
        fit.solution = follow(&fit.problem, Some(Start::from(&fit.solution)), &self.settings, watch);
        let shape = Shape::of(&fit.input, &fit.loss, &fit.problem, &fit.training, &fit.solution);
        (fit.parameters, fit.hub, fit.clusters) = (shape.parameters, shape.hub, shape.clusters);
        fit.errors = Default::default();
        fit.request.lambda.fixed = Some(lambda);
        // Neither was made for this lambda.
        (fit.tuning, fit.calibration) = (None, None);
        if let Some(held) = &mut fit.held_out {
            (held.validation, held.classes) = match &mut self.judge {
                Some(judge) => {
                    let (errors, networked) = judge.errors(lambda, &fit.loss, &self.settings, watch)?;
                    (errors, held.classes.take().map(|classes| HeldOutClasses { networked, ..classes }))
                }
                None => (Errors { by_node: vec![None; fit.input.names.len()] }, None),
            };
        }
        Ok(&self.fit)
    }
}

impl Judge {
    fn errors(
        &mut self,
        lambda: f64,
        loss: &LossSpec,
        settings: &Settings,
        watch: &mut dyn FnMut(&Record) -> Watch,
    ) -> Result<(Errors, Option<Confusion>)> {
        self.problem.set_lambda(lambda)?;
        let solution = follow(&self.problem, self.start.take(), settings, watch);
        self.start = Some(Start::from(&solution));
        Ok((Errors::of(&*self.held_out, &solution.w), confusion(loss, &self.rows, &solution.w)))
    }
}

fn follow(
    problem: &Problem,
    start: Option<Start>,
    settings: &Settings,
    watch: &mut dyn FnMut(&Record) -> Watch,
) -> Solution {
    // Flows of another lambda may be larger than this one allows.
    let start = start.map(|mut start| {
        problem.project_flows(&mut start.u);
        start
    });
    solve(problem, settings, start, watch)
}

fn judge(fit: &FitResult) -> Result<Option<Judge>> {
    let (Some(held), None) = (&fit.held_out, &fit.request.folds) else { return Ok(None) };
    let rows = HeldOutRows::new(&fit.request, &fit.input, &fit.loss, &held.split);
    let problem = build(&fit.request, &fit.input, &fit.loss, rows.train.clone(), fit.problem.lambda())?;
    Ok(Some(Judge { problem, start: None, held_out: rows.plain(&rows.validation)?, rows: rows.validation }))
}

/// From the grid that was tried, or from where models agree down some decades; what was fitted lies inside.
fn range(fit: &mut FitResult) -> Result<(f64, f64)> {
    let now = fit.problem.lambda();
    let tried: Vec<f64> = fit.tuning.iter().flat_map(|tuning| tuning.tried.iter().map(|t| t.lambda)).collect();
    let grid = match tried.is_empty() {
        false => tried,
        true => {
            let mut problem = fit.problem.clone();
            lambda_grid(&mut problem, &mut |_| Watch::Continue)?
        }
    };
    let positive = || grid.iter().copied().chain([now]).filter(|lambda| *lambda > 0.0);
    let high = positive().fold(0.0, f64::max);
    let low = positive().fold(high, f64::min);
    Ok(match high > low {
        true => (low, high),
        false => (high * 10f64.powf(-DECADES), high),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fit::fit;
    use crate::request::{FitRequest, Settings, Value};
    use crate::watch::Unwatched;
    use fedweave::graph::Graph;
    use fedweave::matrix::Matrix;
    use fedweave_io::{Encoding, Feature, Input, TargetKind};

    /// Two groups of nodes on a ring, with slopes 1 and -2.
    fn input() -> Input {
        let (nodes, rows) = (12, 10);
        let x = |i: usize, r: usize| ((i * rows + r) as f64 * 0.7).sin();
        let noise = |i: usize, r: usize| 0.3 * ((i * 31 + r * 17) as f64).sin();
        let slope = |i: usize| if i < nodes / 2 { 1.0 } else { -2.0 };
        let pairs: Vec<(usize, usize)> = (0..nodes).flat_map(|i| (0..rows).map(move |r| (i, r))).collect();
        let features = Matrix::from_rows(1, pairs.iter().map(|&(i, r)| x(i, r)).collect());
        let labels = pairs.iter().map(|&(i, r)| slope(i) * x(i, r) + noise(i, r)).collect();
        let offsets = (0..=nodes).map(|i| i * rows).collect();
        let data = Dataset::new(offsets, features, labels, vec![1.0; nodes * rows]).unwrap();
        let edges: Vec<(usize, usize, f64)> = (0..nodes).map(|i| (i, (i + 1) % nodes, 1.0)).collect();
        let graph = Graph::new(nodes, &edges).unwrap();
        let names = (0..nodes).map(|i| i.to_string()).collect();
        let encoding = Encoding {
            node: "node".into(),
            target: None,
            target_kind: TargetKind::Number,
            features: vec![Feature::Number { column: "x".into(), mean: None }],
            intercept: false,
            classes: Vec::new(),
            binary: None,
            time: None,
        };
        Input::in_memory(names, graph, data, (1..=(nodes * rows) as u64).collect(), encoding, None)
    }

    /// A fit of these nodes.
    pub fn fitted(lambda: f64) -> FitResult {
        fit(FitRequest::of_memory(&settings(lambda), None).unwrap(), input(), &Unwatched).unwrap()
    }

    fn settings(lambda: f64) -> Settings {
        let none = Settings::default().with("no-intercept", Value::Flag(true)).with("validation", Value::Number(0.3));
        none.with("lambda", Value::Number(lambda)).with("tolerance", Value::Number(1e-9))
    }

    #[test]
    fn sliding_there_finds_what_a_fit_there_finds() {
        let mut slider = Slider::new(fitted(0.01)).unwrap();
        for lambda in [0.3, 0.02, 5.0, 0.1] {
            let (slid, there) = (slider.slide(lambda, &mut |_| Watch::Continue).unwrap(), fitted(lambda));
            let scale = there.parameters.max_row_norm();
            for i in 0..12 {
                let difference = (slid.parameters.row(i)[0] - there.parameters.row(i)[0]).abs();
                assert!(difference < 1e-2 * scale, "lambda {lambda}, node {i}: {difference}");
            }
            let (a, b) = (slid.held_out.as_ref().unwrap(), there.held_out.as_ref().unwrap());
            let (a, b) = (a.validation.mean().unwrap(), b.validation.mean().unwrap());
            assert!((a - b).abs() < 1e-2 * b, "lambda {lambda}: held-out error {a}, there {b}");
        }
    }
}
