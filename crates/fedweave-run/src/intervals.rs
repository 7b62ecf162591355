//! Intervals of predictions: from how well the models of a run are known, from rows they have not seen, or from both.

use std::path::Path;

use fedweave::learn::conformal::{Score, Source, Threshold};
use fedweave::learn::coupling::chi_squared_quantile;
use fedweave::loss::{Family, Prediction};
use fedweave::matrix::Matrix;
use fedweave_io::{Parameters, RunWriter, read_node_numbers};
use serde::{Deserialize, Serialize};

use crate::calibration::{RunCalibration, expected_deviation, score_of};
use crate::error::{Error, Result, require};
use crate::fit::{FitResult, LearntCoupling};
use crate::run_dir::COVARIANCE;

/// What to do about a run that knows nothing about its errors.
const REMEDY: &str = "fit with --calibrate 10 (any loss and model), with --validation 0.2, or with --coupling learnt";

/// The first column of `covariance.csv`.
const NOISE: &str = "noise_variance";

/// How far labels may be from predictions.
pub struct Intervals {
    /// What is measured.
    pub score: Score,
    /// One per node.
    pub thresholds: Vec<Threshold>,
}

/// What is known about how far the predictions of some models are off.
pub struct Doubts {
    nodes: usize,
    family: Option<Family>,
    known: Option<Uncertainty>,
    calibration: Option<RunCalibration>,
}

impl Doubts {
    /// Of models in memory.
    pub fn of_fit(fit: &FitResult) -> Doubts {
        let family = score_of(&fit.loss).map(|(family, _)| family);
        let known = fit.learnt.as_ref().filter(|learnt| learnt.is_quadratic());
        let known = known.map(|learnt| Uncertainty::of(learnt, &fit.input.names));
        Doubts { nodes: fit.input.names.len(), family, known, calibration: fit.calibration.clone() }
    }

    /// Of models of any class in memory.
    pub fn of_models(nodes: usize, calibration: Option<RunCalibration>) -> Doubts {
        Doubts { nodes, family: None, known: None, calibration }
    }

    /// Of the models of a run directory.
    pub(crate) fn read(run: &Path, names: &[&str], linear: Option<(Option<Family>, &Parameters)>) -> Result<Doubts> {
        let known = linear.map(|(_, parameters)| Uncertainty::read(run, parameters)).transpose()?.flatten();
        let calibration = RunCalibration::read(run, names)?;
        Ok(Doubts { nodes: names.len(), family: linear.and_then(|(family, _)| family), known, calibration })
    }

    /// As text, to be kept with models in memory.
    pub fn to_json(&self) -> String {
        let known = self.known.as_ref().map(|Uncertainty { known }| (known.w.cols(), known.w.as_slice().to_vec()));
        let packed = Packed {
            nodes: self.nodes,
            loss: self.family.map(|family| family.name().to_owned()),
            known,
            calibration: self.calibration.clone(),
        };
        // Plain data without keys other than texts: there is nothing that cannot be written.
        serde_json::to_string(&packed).unwrap_or_default()
    }

    /// From that text.
    pub fn of_json(text: &str) -> Result<Doubts> {
        let packed: Packed = serde_json::from_str(text).map_err(|error| Error::request(error.to_string()))?;
        let Packed { nodes, loss, known, calibration } = packed;
        let fits = known.as_ref().is_none_or(|(cols, numbers)| numbers.len() == cols * nodes);
        let fits = fits && calibration.as_ref().is_none_or(|calibration| calibration.scores.nodes() == nodes);
        require!(fits, "intervals of another number of nodes");
        let table = |(cols, numbers)| Parameters {
            features: Vec::new(),
            names: Vec::new(),
            w: Matrix::from_rows(cols, numbers),
        };
        let known = known.map(|known| Uncertainty { known: table(known) });
        let family = loss.and_then(|name| Family::named(&name, 1.0, 0.5));
        Ok(Doubts { nodes, family, known, calibration })
    }

    /// Number of models.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// What rows that the models have not seen say about them.
    pub(crate) fn calibration(&self) -> Option<&RunCalibration> {
        self.calibration.as_ref()
    }

    /// Thresholds from the calibration; where there is none, those of the normal distribution, if models say how well they are
    /// known. `shown` is what the models are called.
    pub fn intervals(&self, level: f64, shown: &str) -> Result<Intervals> {
        require!(level > 0.0 && level < 1.0, "--interval {level}: must be between 0 and 1, e.g. 0.9");
        if let Some(RunCalibration { score, scores, .. }) = &self.calibration {
            return Ok(Intervals { score: *score, thresholds: scores.thresholds(level, score.tails())? });
        }
        require!(
            self.known.is_some() && self.family == Some(Family::Squared),
            "--interval: {shown} does not say how far predictions are off; {REMEDY}"
        );
        let z = chi_squared_quantile(level).sqrt();
        let threshold = Threshold { below: z, above: z, source: Source::Model };
        Ok(Intervals { score: Score::Difference, thresholds: vec![threshold; self.nodes] })
    }

    /// What a model expects of the score of a row; 1 if it has no opinion.
    pub fn deviation(&self, node: usize, x: &[f64], prediction: &Prediction) -> f64 {
        match (self.family, &self.known) {
            (Some(family), Some(known)) => known.deviation(family, node, x, prediction),
            _ => 1.0,
        }
    }
}

/// [`Doubts`] as text.
#[derive(Serialize, Deserialize)]
struct Packed {
    nodes: usize,
    loss: Option<String>,
    known: Option<(usize, Vec<f64>)>,
    calibration: Option<RunCalibration>,
}

/// How well every model of a run is known: the variance of the noise of a row, and the lower triangle of the covariance of a model.
pub(crate) struct Uncertainty {
    known: Parameters,
}

impl Uncertainty {
    /// Of a coupling that was learnt, in the units of the input.
    pub(crate) fn of(learnt: &LearntCoupling, names: &[String]) -> Uncertainty {
        let d = learnt.mu.len();
        let pairs: Vec<(usize, usize)> = (0..d).flat_map(|j| (0..=j).map(move |k| (j, k))).collect();
        let named = pairs.iter().map(|(j, k)| format!("c{}_{}", j + 1, k + 1));
        let node = |i: usize| {
            let covariance = learnt.covariance.row(i);
            std::iter::once(learnt.noise[i]).chain(pairs.iter().map(move |(j, k)| covariance[j * d + k]))
        };
        let numbers = (0..names.len()).flat_map(node).collect();
        let features = std::iter::once(NOISE.to_owned()).chain(named).collect();
        Uncertainty {
            known: Parameters { features, names: names.to_vec(), w: Matrix::from_rows(1 + pairs.len(), numbers) },
        }
    }

    /// Reads the covariance of every model of a run; `None` if it has none.
    fn read(run: &Path, parameters: &Parameters) -> Result<Option<Uncertainty>> {
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

    /// Writes it.
    pub(crate) fn write(&self, writer: &RunWriter) -> Result<()> {
        let Parameters { features, names, w } = &self.known;
        let header: Vec<&str> = std::iter::once("node").chain(features.iter().map(String::as_str)).collect();
        let row = |(i, name): (usize, &String)| {
            std::iter::once(name.clone()).chain(w.row(i).iter().map(f64::to_string)).collect::<Vec<_>>()
        };
        Ok(writer.write_csv(COVARIANCE, &header, names.iter().enumerate().map(row))?)
    }

    /// The deviation that the model expects of the score of a row.
    fn deviation(&self, family: Family, node: usize, x: &[f64], prediction: &Prediction) -> f64 {
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

    fn doubts(family: Family) -> Doubts {
        // C = [[4, 1], [1, 9]], s2 = 2.
        let w = Matrix::from_rows(4, vec![2.0, 4.0, 1.0, 9.0]);
        let known = Uncertainty { known: Parameters { features: Vec::new(), names: vec!["a".into()], w } };
        Doubts { nodes: 1, family: Some(family), known: Some(known), calibration: None }
    }

    #[test]
    fn the_width_is_that_of_the_normal_distribution() {
        // x = (1, -2): x'Cx = 4 - 4 + 36.
        let (doubts, prediction) = (doubts(Family::Squared), Prediction::Number(5.0));
        let intervals = doubts.intervals(0.9, "run").unwrap();
        let scale = doubts.deviation(0, &[1.0, -2.0], &prediction);
        let (low, high) = intervals.score.interval(5.0, scale, intervals.thresholds[0]);
        assert!((high - 5.0 - 1.6448536 * 38f64.sqrt()).abs() < 1e-5 && (high + low - 10.0).abs() < 1e-12);
        // A count of mean 5 varies by 1 on its scale, and by 5 x'Cx because the mean is not known.
        let count = self::doubts(Family::Poisson).deviation(0, &[1.0, -2.0], &prediction);
        assert!((count - 181f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn without_any_knowledge_there_is_no_interval() {
        let bare = Doubts { known: None, ..doubts(Family::Squared) };
        for doubts in [bare, doubts(Family::Poisson), Doubts::of_models(3, None)] {
            let refused = doubts.intervals(0.9, "run").err().map(|e| e.to_string());
            assert!(refused.is_some_and(|e| e.contains("--calibrate")));
        }
        assert!(doubts(Family::Squared).intervals(1.0, "run").is_err());
        let back = Doubts::of_json(&doubts(Family::Squared).to_json()).unwrap();
        let number = Prediction::Number(0.0);
        assert_eq!(back.deviation(0, &[1.0, 2.0], &number), doubts(Family::Squared).deviation(0, &[1.0, 2.0], &number));
    }
}
