//! A calibration in words, as JSON, and as a panel of the report.

use fedweave::learn::conformal::{Coverage, Score};
use fedweave::learn::coupling::chi_squared_quantile;
use fedweave_report as report;
use serde_json::{Value, json};

use super::RunCalibration;
use crate::error::Result;

/// The level that is told in one number.
const TOLD: f64 = 0.9;
/// Levels of the picture.
const LEVELS: [f64; 10] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];

impl RunCalibration {
    /// How often calibrated intervals of a level hold rows that neither models nor thresholds have seen.
    pub fn coverage(&self, level: f64) -> Result<Coverage> {
        Ok(self.scores.coverage(level, self.score.tails())?)
    }

    /// The same for the intervals of the model alone, where it has some.
    fn model_coverage(&self, level: f64) -> Option<Coverage> {
        let alone = self.scaled && self.score == Score::Difference;
        let z = chi_squared_quantile(level).sqrt();
        alone.then(|| Coverage::of(level, &self.scores, |_, score| score.abs() <= z))
    }
}

/// As JSON.
pub(crate) fn summary(calibration: &RunCalibration) -> Result<Value> {
    Ok(json!({
        "rows": calibration.scores.rows(),
        "how": calibration.how,
        "exact": calibration.unseen,
        "level": TOLD,
        "coverage": calibration.coverage(TOLD)?.share(),
        "model_coverage": calibration.model_coverage(TOLD).and_then(|c| c.share()),
    }))
}

/// A line for people.
pub(crate) fn coverage_words(calibration: &RunCalibration) -> Result<String> {
    let percent = |share: Option<f64>| share.map_or("-".into(), |s| format!("{:.1} %", 100.0 * s));
    let held = percent(calibration.coverage(TOLD)?.share());
    let alone = calibration.model_coverage(TOLD).map_or(String::new(), |coverage| {
        format!(" ({} before calibration, by the model alone)", percent(coverage.share()))
    });
    let (what, level) = (if calibration.score == Score::Class { "sets" } else { "intervals" }, 100.0 * TOLD);
    let how = &calibration.how;
    Ok(format!("{what} calibrated on {how}; those of {level:.0} % hold {held} of unseen rows{alone}"))
}

/// What was asked for against what was seen.
pub(crate) fn panel(calibration: &RunCalibration) -> Result<report::Calibration> {
    let point = |level: f64| -> Result<report::CoveragePoint> {
        Ok(report::CoveragePoint {
            level,
            calibrated: calibration.coverage(level)?.share(),
            model: calibration.model_coverage(level).and_then(|c| c.share()),
        })
    };
    Ok(report::Calibration {
        rows: calibration.scores.rows(),
        how: calibration.how.clone(),
        exact: calibration.unseen,
        sets: calibration.score == Score::Class,
        points: LEVELS.into_iter().map(point).collect::<Result<_>>()?,
    })
}
