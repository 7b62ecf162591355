//! Intervals of predictions: from how well the models of a run are known, from rows they have not seen, or from both.

use std::path::Path;

use fedweave::learn::conformal::{Score, Source, Threshold};
use fedweave::learn::coupling::chi_squared_quantile;
use fedweave::loss::{Family, Prediction};
use fedweave_io::{Parameters, read_node_numbers};

use crate::calibration::{RunCalibration, expected_deviation};
use crate::error::{Error, Result, require};
use crate::run_dir::COVARIANCE;

/// What to do about a run that knows nothing about its errors.
const REMEDY: &str = "fit with --calibrate 10 (any loss and model), with --validation 0.2, or with --coupling learnt";

/// How far labels may be from predictions.
pub(crate) struct Intervals {
    /// What is measured.
    pub score: Score,
    /// One per node.
    pub thresholds: Vec<Threshold>,
}

impl Intervals {
    /// Thresholds from the calibration of a run; where there is none, those of the normal distribution, if its models say how well
    /// they are known.
    pub(crate) fn new(
        level: f64,
        nodes: usize,
        calibration: Option<&RunCalibration>,
        family: Option<Family>,
        known: Option<&Uncertainty>,
        shown: &str,
    ) -> Result<Intervals> {
        require!(level > 0.0 && level < 1.0, "--interval {level}: must be between 0 and 1, e.g. 0.9");
        if let Some(RunCalibration { score, scores, .. }) = calibration {
            return Ok(Intervals { score: *score, thresholds: scores.thresholds(level, score.tails())? });
        }
        let nothing =
            || Error::request(format!("--interval: {shown} does not say how far predictions are off; {REMEDY}"));
        known.filter(|_| family == Some(Family::Squared)).ok_or_else(nothing)?;
        let z = chi_squared_quantile(level).sqrt();
        let threshold = Threshold { below: z, above: z, source: Source::Model };
        Ok(Intervals { score: Score::Difference, thresholds: vec![threshold; nodes] })
    }
}

/// How well every model of a run is known: the variance of the noise of a row, and the lower triangle of the covariance of a model.
pub(crate) struct Uncertainty {
    known: Parameters,
}

impl Uncertainty {
    /// Reads the covariance of every model of a run; `None` if it has none.
    pub(crate) fn read(run: &Path, parameters: &Parameters) -> Result<Option<Uncertainty>> {
        let file = run.join(COVARIANCE);
        if !file.is_file() {
            return Ok(None);
        }
        let known = read_node_numbers(run, COVARIANCE)?;
        let d = parameters.w.cols();
        let same = known.names == parameters.names && known.w.cols() == 1 + d * (d + 1) / 2;
        require!(same, "{}: not the covariances of parameters.csv; the run directory was changed", file.display());
        Ok(Some(Uncertainty { known }))
    }

    /// The deviation that the model expects of the score of a row.
    pub(crate) fn deviation(&self, family: Family, node: usize, x: &[f64], prediction: &Prediction) -> f64 {
        expected_deviation(family, prediction, self.spread(node, x), self.known.w.row(node)[0])
    }

    /// `x' C x`.
    fn spread(&self, node: usize, x: &[f64]) -> f64 {
        let row = self.known.w.row(node);
        let entry = |j: usize, k: usize| row[1 + j * (j + 1) / 2 + k];
        let twice = |j: usize| (0..j).map(|k| 2.0 * x[j] * x[k] * entry(j, k)).sum::<f64>();
        (0..x.len()).map(|j| x[j] * x[j] * entry(j, j) + twice(j)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fedweave::Matrix;

    fn known() -> Uncertainty {
        // C = [[4, 1], [1, 9]], s2 = 2.
        let w = Matrix::from_rows(4, vec![2.0, 4.0, 1.0, 9.0]);
        Uncertainty { known: Parameters { features: Vec::new(), names: vec!["a".into()], w } }
    }

    #[test]
    fn the_width_is_that_of_the_normal_distribution() {
        // x = (1, -2): x'Cx = 4 - 4 + 36.
        let (known, prediction) = (known(), Prediction::Number(5.0));
        let intervals = Intervals::new(0.9, 1, None, Some(Family::Squared), Some(&known), "run").unwrap();
        let scale = known.deviation(Family::Squared, 0, &[1.0, -2.0], &prediction);
        let (low, high) = intervals.score.interval(5.0, scale, intervals.thresholds[0]);
        assert!((high - 5.0 - 1.6448536 * 38f64.sqrt()).abs() < 1e-5 && (high + low - 10.0).abs() < 1e-12);
    }

    #[test]
    fn without_any_knowledge_there_is_no_interval() {
        let known = known();
        for (family, known) in [(Family::Squared, None), (Family::Poisson, Some(&known)), (Family::Absolute, None)] {
            let refused = Intervals::new(0.9, 1, None, Some(family), known, "run").err().map(|e| e.to_string());
            assert!(refused.is_some_and(|e| e.contains("--calibrate")));
        }
    }
}
