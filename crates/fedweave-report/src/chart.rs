//! Line charts as the page draws them: paths in a square of 100 by 100 that the browser stretches (strokes and text are
//! not stretched), ticks in percent, and a text for each point that the pointer can rest on.

use crate::axis::{Axis, Tick};
use serde::Serialize;
use std::fmt::Write;

/// A chart ready for the template.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Chart {
    pub(crate) id: &'static str,
    pub(crate) description: String,
    pub(crate) x_title: String,
    pub(crate) y_title: String,
    pub(crate) x_ticks: Vec<Tick>,
    pub(crate) y_ticks: Vec<Tick>,
    pub(crate) series: Vec<Series>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) hover: Vec<Hover>,
}

/// One line of a chart.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) class: &'static str,
    pub(crate) line: String,
    pub(crate) dots: String,
    pub(crate) band: String,
}

/// A straight line across the plot with a label.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Rule {
    pub(crate) vertical: bool,
    pub(crate) at: f64,
    pub(crate) label: String,
}

/// What the pointer shows near `x` percent.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Hover {
    pub(crate) x: f64,
    pub(crate) lines: Vec<String>,
}

/// The two axes of a chart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axes {
    pub(crate) x: Axis,
    pub(crate) y: Axis,
}

impl Axes {
    /// A line through the points that have a place; a point without one breaks nothing, it is left out.
    pub(crate) fn line(&self, points: impl Iterator<Item = (f64, f64)>) -> String {
        let mut path = String::new();
        for (x, y) in points.filter_map(|point| self.place(point)) {
            let letter = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{x:.2} {y:.2}");
        }
        path
    }

    /// Dots, as strokes of no length with round ends: the only shape that keeps its form in a stretched drawing.
    pub(crate) fn dots(&self, points: impl Iterator<Item = (f64, f64)>) -> String {
        points.filter_map(|point| self.place(point)).fold(String::new(), |mut path, (x, y)| {
            let _ = write!(path, "M{x:.2} {y:.2}h0");
            path
        })
    }

    /// The area between two lines.
    pub(crate) fn band(&self, points: &[(f64, f64, f64)]) -> String {
        let upper = points.iter().filter_map(|&(x, _, high)| self.place((x, high)));
        let lower = points.iter().rev().filter_map(|&(x, low, _)| self.place((x, low)));
        let outline: Vec<String> = upper.chain(lower).map(|(x, y)| format!("{x:.2} {y:.2}")).collect();
        if outline.len() < 4 { String::new() } else { format!("M{}Z", outline.join("L")) }
    }

    fn place(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        Some((self.x.at(x)?, 100.0 - self.y.at(y)?))
    }
}
