//! The two charts of a report: how the solver converged, and the errors along a grid of lambda.

use crate::axis::Axis;
use crate::chart::{Axes, Chart, Hover, Rule, Series};
use crate::number::{count, number, short};
use crate::report::{LambdaCurve, LambdaPoint, Report, Step};

/// More points than this cannot be told apart on a screen.
const POINTS_MAX: usize = 400;

/// Objective above its best value, certified gap and KKT residual against the iteration, on a logarithmic axis.
pub(crate) fn convergence(report: &Report) -> Option<Chart> {
    let rounds = report.history.iter().any(|step| step.bytes.is_some());
    against(report, "convergence", if rounds { "round" } else { "iteration" }, |step| Some(step.iteration as f64))
}

/// The same against the bytes sent, where the solver exchanged messages.
pub(crate) fn traffic(report: &Report) -> Option<Chart> {
    report.history.iter().find(|step| step.bytes.is_some_and(|bytes| bytes > 0))?;
    against(report, "traffic", "bytes sent", |step| step.bytes.map(|bytes| bytes as f64))
}

fn against(report: &Report, id: &'static str, x_title: &str, x: impl Fn(&Step) -> Option<f64> + Copy) -> Option<Chart> {
    let steps = thin(&report.history);
    if steps.len() < 2 {
        return None;
    }
    let best = report.history.iter().map(|step| step.objective).fold(f64::INFINITY, f64::min);
    let above = |step: &Step| Some(step.objective - best);
    let curves: [(&str, &'static str, Curve); 3] = [
        ("objective above its best", "first", &above),
        ("certified gap", "second", &|step| step.gap),
        ("KKT residual", "third", &|step| step.kkt),
    ];
    let axes = Axes {
        x: Axis::linear(steps.iter().filter_map(x), 0.0)?,
        y: Axis::log(curves.iter().flat_map(|(_, _, value)| steps.iter().filter_map(value)), 0.05)?,
    };
    let series = curves.iter().filter_map(|(name, class, value)| {
        let points = steps.iter().filter_map(|step| Some((x(step)?, value(step)?)));
        let line = axes.line(points);
        (!line.is_empty()).then(|| Series {
            name: (*name).into(),
            class,
            line,
            dots: String::new(),
            band: String::new(),
        })
    });
    Some(Chart {
        id,
        description: format!(
            "Objective above its best value, certified gap and KKT residual against the {x_title}, logarithmic"
        ),
        x_title: x_title.into(),
        y_title: "value, logarithmic".into(),
        x_ticks: axes.x.ticks(5),
        y_ticks: axes.y.ticks(6),
        series: series.collect(),
        rules: tolerance_rule(report, &axes).into_iter().collect(),
        hover: steps.iter().filter_map(|step| hover_step(step, x(step)?, &axes)).collect(),
    })
}

type Curve<'a> = &'a dyn Fn(&Step) -> Option<f64>;

/// Evenly spaced entries, the first and the last among them.
fn thin(history: &[Step]) -> Vec<Step> {
    let n = history.len();
    if n <= POINTS_MAX {
        return history.to_vec();
    }
    (0..POINTS_MAX).map(|k| history[k * (n - 1) / (POINTS_MAX - 1)]).collect()
}

/// Where the certified gap was asked to go, if that is inside the picture.
fn tolerance_rule(report: &Report, axes: &Axes) -> Option<Rule> {
    report.history.iter().find(|step| step.gap.is_some())?;
    let target = report.outcome.tolerance * report.outcome.objective.abs().max(1.0);
    let at = axes.y.at(target).filter(|at| (0.0..=100.0).contains(at))?;
    Some(Rule { vertical: false, at, label: "gap asked for".into() })
}

fn hover_step(step: &Step, x: f64, axes: &Axes) -> Option<Hover> {
    let mut lines =
        vec![format!("iteration {}", count(step.iteration)), format!("objective {}", number(step.objective, 7))];
    lines.extend(step.gap.map(|gap| format!("certified gap {}", short(gap))));
    lines.extend(step.kkt.map(|kkt| format!("KKT residual {}", short(kkt))));
    lines.extend(step.bytes.map(|bytes| format!("{} bytes sent", count(bytes as usize))));
    Some(Hover { x: axes.x.at(x)?, lines })
}

/// Training and validation error against lambda, the chosen one marked.
pub(crate) fn lambda_chart(curve: &LambdaCurve, error_name: &str) -> Option<Chart> {
    let mut points: Vec<LambdaPoint> = curve.points.iter().copied().filter(|point| point.lambda > 0.0).collect();
    points.sort_by(|a, b| a.lambda.total_cmp(&b.lambda));
    if points.len() < 2 {
        return None;
    }
    let axes = lambda_axes(&points)?;
    let series = [("training", "second", train as Error), ("held out", "first", validation as Error)];
    let chosen =
        axes.x.at(curve.chosen).map(|at| Rule { vertical: true, at, label: format!("λ = {}", short(curve.chosen)) });
    Some(Chart {
        id: "lambda",
        description: format!("{error_name} against lambda, logarithmic; lambda = {} was chosen", short(curve.chosen)),
        x_title: "λ, strength of the coupling".into(),
        y_title: error_name.into(),
        x_ticks: axes.x.ticks(6),
        y_ticks: axes.y.ticks(5),
        series: series
            .into_iter()
            .filter_map(|(name, class, error)| lambda_series(&points, &axes, name, class, error))
            .collect(),
        rules: chosen.into_iter().collect(),
        hover: points.iter().filter_map(|point| hover_lambda(point, &axes)).collect(),
    })
}

type Error = fn(&LambdaPoint) -> Option<f64>;

fn train(point: &LambdaPoint) -> Option<f64> {
    point.train
}

fn validation(point: &LambdaPoint) -> Option<f64> {
    point.validation
}

/// Errors spread over more than a factor of 20 are drawn on a logarithmic axis.
fn lambda_axes(points: &[LambdaPoint]) -> Option<Axes> {
    let band = points.iter().filter_map(|point| Some((point.validation?, point.standard_error?)));
    let mut values: Vec<f64> = points.iter().flat_map(|point| [point.train, point.validation]).flatten().collect();
    let (low, high) = values.iter().fold((f64::INFINITY, 0.0f64), |(l, h), &v| (l.min(v), h.max(v)));
    values.extend(band.flat_map(|(error, se)| [error - se, error + se]));
    let wide = low > 0.0 && high > 20.0 * low;
    let y = if wide { Axis::log(values.into_iter(), 0.05) } else { Axis::linear(values.into_iter(), 0.07) };
    Some(Axes { x: Axis::log(points.iter().map(|point| point.lambda), 0.03)?, y: y? })
}

fn lambda_series(points: &[LambdaPoint], axes: &Axes, name: &str, class: &'static str, error: Error) -> Option<Series> {
    let places: Vec<(f64, f64)> = points.iter().filter_map(|point| Some((point.lambda, error(point)?))).collect();
    let spread = |point: &LambdaPoint| {
        let (error, se) = (error(point)?, point.standard_error?);
        Some((point.lambda, error - se, error + se))
    };
    let band: Vec<_> = if name == "training" { Vec::new() } else { points.iter().filter_map(spread).collect() };
    (!places.is_empty()).then(|| Series {
        name: name.into(),
        class,
        line: axes.line(places.iter().copied()),
        dots: axes.dots(places.iter().copied()),
        band: axes.band(&band),
    })
}

fn hover_lambda(point: &LambdaPoint, axes: &Axes) -> Option<Hover> {
    let mut lines = vec![format!("λ = {}", short(point.lambda))];
    let spread = point.standard_error.map(|se| format!(" ± {}", short(se))).unwrap_or_default();
    lines.extend(point.validation.map(|error| format!("held out {}{spread}", short(error))));
    lines.extend(point.train.map(|error| format!("training {}", short(error))));
    Some(Hover { x: axes.x.at(point.lambda)?, lines })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_histories_are_thinned_and_keep_their_ends() {
        let history: Vec<Step> = (0..10_001).map(|k| Step { iteration: k, ..Step::default() }).collect();
        let steps = thin(&history);
        assert_eq!((steps.len(), steps[0].iteration, steps[POINTS_MAX - 1].iteration), (POINTS_MAX, 0, 10_000));
    }

    #[test]
    fn curves_without_numbers_are_absent() {
        let step = |iteration, objective| Step { iteration, objective, ..Step::default() };
        let report = Report { history: vec![step(0, 5.0), step(1, 2.0), step(2, 1.0)], ..Report::default() };
        let chart = convergence(&report).unwrap();
        assert_eq!(chart.series.len(), 1);
        assert!(convergence(&Report::default()).is_none());
        let flat = Report { history: vec![step(0, 1.0), step(1, 1.0)], ..Report::default() };
        assert!(convergence(&flat).is_none(), "nothing positive to draw");
    }

    #[test]
    fn bytes_are_drawn_where_there_are_any() {
        let step = |k: usize, bytes| Step { iteration: k, objective: 4.0 - k as f64, bytes, ..Step::default() };
        let silent = Report { history: (0..4).map(|k| step(k, None)).collect(), ..Report::default() };
        assert!(traffic(&silent).is_none() && convergence(&silent).unwrap().x_title == "iteration");
        let sent = |k: usize| step(k, Some(1000 * k as u64));
        let chart = traffic(&Report { history: (0..4).map(sent).collect(), ..Report::default() }).unwrap();
        assert_eq!(
            (chart.x_title.as_str(), chart.hover[2].lines.last().unwrap().as_str()),
            ("bytes sent", "2,000 bytes sent")
        );
    }

    #[test]
    fn lambda_zero_has_no_place_on_a_log_axis() {
        let point = |lambda| LambdaPoint { lambda, validation: Some(1.0 + lambda), ..LambdaPoint::default() };
        let curve = LambdaCurve { points: vec![point(0.0), point(1.0), point(0.1)], chosen: 0.1, rule: String::new() };
        let chart = lambda_chart(&curve, "error").unwrap();
        assert_eq!(chart.hover.len(), 2);
        assert_eq!(chart.series[0].name, "held out");
    }
}
