//! The curves of a path: the number of clusters and the errors against lambda, on the axis the merge tree has too.

use super::{Path, PathPoint};
use crate::axis::{Axis, Tick};
use crate::chart::{Axes, Chart, Hover, Rule, Series};
use crate::number::{count, short};

/// Values spread over more than this factor are drawn on a logarithmic axis.
const WIDE: f64 = 20.0;

/// Where lambda is on the axis. It is logarithmic; a lambda of 0 goes one step below the smallest other.
pub(crate) struct LambdaAxis {
    axis: Axis,
    /// What stands for 0, and the smallest lambda above it.
    zero: Option<f64>,
    least: f64,
}

impl LambdaAxis {
    pub(crate) fn new(path: &Path) -> Self {
        let above: Vec<f64> = path.points.iter().map(|point| point.lambda).filter(|&lambda| lambda > 0.0).collect();
        let least = above.first().copied().unwrap_or(1.0);
        let step = above.get(1).map_or(10.0, |second| second / least).max(1.5);
        let zero = (path.points[0].lambda == 0.0).then(|| least / step);
        let axis = Axis::log(above.into_iter().chain(zero).chain([least]), 0.03);
        LambdaAxis { axis: axis.expect("the least lambda is positive"), zero, least }
    }

    /// The place in percent.
    pub(crate) fn at(&self, lambda: f64) -> f64 {
        self.axis.at(self.drawn(lambda)).unwrap_or(0.0)
    }

    pub(crate) fn ticks(&self) -> Vec<Tick> {
        let zero = self.zero.map(|_| Tick { at: self.at(0.0), label: "0".into() });
        let least = self.zero.map_or(0.0, |_| self.at(self.least) - 1e-9);
        zero.into_iter().chain(self.axis.ticks(6).into_iter().filter(|tick| tick.at >= least)).collect()
    }

    fn drawn(&self, lambda: f64) -> f64 {
        if lambda > 0.0 { lambda } else { self.zero.unwrap_or(self.least) }
    }
}

/// The number of clusters.
pub(crate) fn clusters(path: &Path, axis: &LambdaAxis) -> Chart {
    let value = |point: &PathPoint| Some(point.clusters as f64);
    let mut chart = chart(path, axis, &[("clusters", "third", &value)]);
    chart.id = "path-clusters";
    chart.description = format!("The number of clusters against lambda, {}", marked(path));
    chart.y_title = "number of clusters".into();
    chart.y_ticks.retain(|tick| !tick.label.contains('.'));
    chart
}

/// The errors on the rows fitted to and on those held out.
pub(crate) fn errors(path: &Path, axis: &LambdaAxis, error_name: &str) -> Chart {
    let train = |point: &PathPoint| Some(point.train);
    let validation = |point: &PathPoint| point.validation;
    let mut chart = chart(path, axis, &[("training", "second", &train), ("held out", "first", &validation)]);
    chart.id = "path-errors";
    chart.description = format!("{error_name} against lambda, {}", marked(path));
    chart.y_title = error_name.into();
    chart
}

fn marked(path: &Path) -> String {
    format!("logarithmic; lambda = {} is marked", short(path.points[path.chosen].lambda))
}

type Curve<'a> = (&'static str, &'static str, &'a dyn Fn(&PathPoint) -> Option<f64>);

fn chart(path: &Path, axis: &LambdaAxis, curves: &[Curve]) -> Chart {
    let values: Vec<f64> = curves.iter().flat_map(|curve| path.points.iter().filter_map(curve.2)).collect();
    let axes = Axes { x: axis.axis, y: value_axis(&values) };
    let series = curves.iter().filter_map(|(name, class, value)| {
        let points = || path.points.iter().filter_map(|point| Some((axis.drawn(point.lambda), value(point)?)));
        let line = axes.line(points());
        let (name, dots) = ((*name).into(), axes.dots(points()));
        (!line.is_empty()).then(|| Series { name, class, line, dots, band: String::new() })
    });
    let chosen = path.points[path.chosen].lambda;
    Chart {
        id: "",
        description: String::new(),
        x_title: "λ, strength of the coupling".into(),
        y_title: String::new(),
        x_ticks: axis.ticks(),
        y_ticks: axes.y.ticks(5),
        series: series.collect(),
        rules: vec![Rule { vertical: true, at: axis.at(chosen), label: format!("λ = {}", short(chosen)) }],
        hover: path.points.iter().map(|point| Hover { x: axis.at(point.lambda), lines: lines(point) }).collect(),
    }
}

fn value_axis(values: &[f64]) -> Axis {
    let (low, high) = values.iter().fold((f64::INFINITY, 0.0f64), |(l, h), &v| (l.min(v), h.max(v)));
    let wide = low > 0.0 && high > WIDE * low;
    let values = values.iter().copied();
    let axis = if wide { Axis::log(values, 0.05) } else { Axis::linear(values, 0.07) };
    axis.expect("every point has a finite training error and a number of clusters")
}

fn lines(point: &PathPoint) -> Vec<String> {
    let mut lines = vec![format!("λ = {}", short(point.lambda)), format!("clusters {}", count(point.clusters))];
    lines.push(format!("training {}", short(point.train)));
    lines.extend(point.validation.map(|error| format!("held out {}", short(error))));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(lambdas: &[f64]) -> Path {
        let point = |&lambda: &f64| PathPoint { lambda, clusters: 2, train: 1.0, ..PathPoint::default() };
        Path { points: lambdas.iter().map(point).collect(), chosen: 0 }
    }

    #[test]
    fn zero_is_left_of_the_smallest_lambda() {
        let axis = LambdaAxis::new(&path(&[0.0, 0.1, 1.0, 10.0]));
        assert!(axis.at(0.0) > 0.0 && axis.at(0.0) < axis.at(0.1));
        let labels: Vec<String> = axis.ticks().into_iter().map(|tick| tick.label).collect();
        assert_eq!(labels, ["0", "0.1", "1", "10"]);
    }

    #[test]
    fn a_single_point_can_be_drawn() {
        for lambda in [0.0, 3.0] {
            let path = path(&[lambda]);
            let axis = LambdaAxis::new(&path);
            assert!((0.0..=100.0).contains(&axis.at(lambda)));
            assert_eq!(errors(&path, &axis, "error").series.len(), 1, "nothing was held out");
            assert_eq!(clusters(&path, &axis).hover.len(), 1);
        }
    }
}
