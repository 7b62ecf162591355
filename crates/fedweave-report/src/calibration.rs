//! How often intervals hold: what was asked for against what was seen.

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::chart::{Axes, Chart, Hover, Series};
use crate::number::{count, percent};

/// Intervals (or sets of classes), judged by rows that models had not seen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Calibration {
    /// Number of rows.
    pub rows: usize,
    /// Where they are from, in words.
    pub how: String,
    /// The models have never seen these rows: coverage is guaranteed for rows exchangeable with them.
    pub exact: bool,
    /// Labels are classes, and sets take the place of intervals.
    pub sets: bool,
    /// In order of their levels.
    pub points: Vec<CoveragePoint>,
}

/// How often intervals of one level hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CoveragePoint {
    /// The probability asked for.
    pub level: f64,
    /// Share of rows inside, with thresholds from other rows.
    pub calibrated: Option<f64>,
    /// The same for the intervals of the model alone, where it has some.
    pub model: Option<f64>,
}

/// Coverage against its level.
pub(crate) fn chart(calibration: &Calibration) -> Option<Chart> {
    let points = &calibration.points;
    if points.len() < 2 || points.iter().all(|p| p.calibrated.is_none()) {
        return None;
    }
    let unit = || [0.0, 1.0].into_iter();
    let axes = Axes { x: Axis::linear(unit(), 0.0)?, y: Axis::linear(unit(), 0.0)? };
    let series = |name: &str, class: &'static str, values: Vec<(f64, f64)>| {
        let (line, dots) = (axes.line(values.iter().copied()), axes.dots(values.iter().copied()));
        (!line.is_empty()).then(|| Series { name: name.into(), class, line, dots, band: String::new() })
    };
    let seen = |of: fn(&CoveragePoint) -> Option<f64>| points.iter().filter_map(|p| Some((p.level, of(p)?))).collect();
    let ideal = series("as asked for", "third", vec![(0.0, 0.0), (1.0, 1.0)]);
    let ideal = ideal.map(|line| Series { dots: String::new(), ..line });
    let all = [
        ideal,
        series("by the model alone", "second", seen(|p| p.model)),
        series("calibrated", "first", seen(|p| p.calibrated)),
    ];
    Some(Chart {
        id: "calibration",
        description: "Share of rows inside their intervals against the probability asked for".into(),
        x_title: "probability asked for".into(),
        y_title: "share of rows inside".into(),
        x_ticks: axes.x.ticks(6),
        y_ticks: axes.y.ticks(6),
        series: all.into_iter().flatten().collect(),
        rules: Vec::new(),
        hover: points.iter().filter_map(|point| hover(point, &axes)).collect(),
    })
}

fn hover(point: &CoveragePoint, axes: &Axes) -> Option<Hover> {
    let mut lines = vec![format!("asked for {}", percent(point.level))];
    lines.extend(point.calibrated.map(|share| format!("calibrated {}", percent(share))));
    lines.extend(point.model.map(|share| format!("by the model alone {}", percent(share))));
    Some(Hover { x: axes.x.at(point.level)?, lines })
}

/// What the picture says, and what it does not.
pub(crate) fn words(calibration: &Calibration) -> String {
    let what = if calibration.sets { "Sets of classes" } else { "Intervals" };
    let mut text = format!("{what} of predictions are calibrated on {}.", calibration.how);
    let ninety = calibration.points.iter().find(|p| (p.level - 0.9).abs() < 1e-9);
    if let Some(share) = ninety.and_then(|p| p.calibrated) {
        text += &format!(" Those of 90 % hold {} of rows that their thresholds have not seen", percent(share));
        let alone = ninety.and_then(|p| p.model);
        text += &alone.map_or(".".into(), |share| format!("; by the model alone it would be {}.", percent(share)));
    }
    text + match calibration.exact {
        true => " The models have never seen these rows: coverage is guaranteed, on average, for new rows like them.",
        false => " The models were fitted to all rows afterwards: coverage for new rows is expected, not guaranteed.",
    } + &match calibration.rows {
        rows if rows < 100 => format!(" {} rows say little about rare errors.", count(rows)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Calibration {
        let points = [0.5, 0.9].map(|level| CoveragePoint { level, calibrated: Some(level), model: Some(0.8 * level) });
        Calibration { rows: 50, how: "50 rows held out".into(), exact: true, sets: false, points: points.to_vec() }
    }

    #[test]
    fn the_words_tell_what_was_seen_and_what_is_promised() {
        let text = words(&sample());
        for part in
            ["50 rows held out", "90 % hold 90", "by the model alone it would be 72", "guaranteed", "50 rows say"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(words(&Calibration { exact: false, ..sample() }).contains("not guaranteed"));
    }

    #[test]
    fn the_chart_has_a_line_for_each_kind_and_needs_points() {
        assert_eq!(chart(&sample()).unwrap().series.len(), 3);
        let mut alone = sample();
        alone.points.iter_mut().for_each(|p| p.model = None);
        assert_eq!(chart(&alone).unwrap().series.len(), 2);
        assert!(chart(&Calibration::default()).is_none());
    }
}
