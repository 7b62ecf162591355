//! Features on a common scale: mean 0, standard deviation 1 over the pooled training rows.
//!
//! Models are found in scaled features and handed out in the original ones, where `x'w` is the same number.

use serde::{Deserialize, Serialize};

use crate::dataset::Dataset;
use crate::matrix::Matrix;

/// `x -> (x - mean) / scale`, column by column. An intercept (the last column of ones) absorbs the means; without
/// one there is no centring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    mean: Vec<f64>,
    scale: Vec<f64>,
    intercept: bool,
}

impl Scaling {
    /// The scaling of the rows of `data`. Constant columns keep their scale.
    pub fn of(data: &Dataset, intercept: bool) -> Self {
        Self::new(data, intercept, intercept)
    }

    /// Centred and scaled, for models that find their own intercept: there is no column of ones.
    pub fn centred(data: &Dataset) -> Self {
        Self::new(data, false, true)
    }

    /// The scaling of rows whose features have these means and deviations, known from elsewhere; as for rows, constant columns
    /// keep their scale, and an intercept is the last column.
    pub fn of_moments(mean: &[f64], deviation: &[f64], intercept: bool) -> Self {
        let d = mean.len();
        let mut scaling = Scaling { mean: vec![0.0; d], scale: vec![1.0; d], intercept };
        for j in 0..d - usize::from(intercept) {
            scaling.set(j, mean[j], deviation[j], intercept);
        }
        scaling
    }

    fn set(&mut self, j: usize, mean: f64, deviation: f64, centre: bool) {
        if centre {
            self.mean[j] = mean;
        }
        if deviation > 1e-12 * mean.abs() {
            self.scale[j] = deviation;
        }
    }

    fn new(data: &Dataset, intercept: bool, centre: bool) -> Self {
        let (n, d) = (data.len().max(1) as f64, data.dim());
        let mut scaling = Scaling { mean: vec![0.0; d], scale: vec![1.0; d], intercept };
        for j in 0..d - usize::from(intercept) {
            let column = || (0..data.len()).map(|r| data.row(r).at(j));
            // In units of the largest entry no square leaves the range of f64.
            let unit = column().fold(0.0f64, |m, x| m.max(x.abs())).max(f64::MIN_POSITIVE);
            let mean = column().map(|x| x / unit / n).sum::<f64>() * unit;
            let deviation = (column().map(|x| ((x - mean) / unit).powi(2)).sum::<f64>() / n).sqrt() * unit;
            scaling.set(j, mean, deviation, centre);
        }
        scaling
    }

    /// The rows in scaled features.
    pub fn apply(&self, data: &Dataset) -> Dataset {
        data.map_features(|j, x| (x - self.mean[j]) / self.scale[j])
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        self.scale.len()
    }

    /// What is subtracted from every feature.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// What every feature is divided by.
    pub fn scale(&self) -> &[f64] {
        &self.scale
    }

    /// Rows of features, one after another, in scaled features.
    pub fn apply_rows(&self, rows: &mut Matrix) {
        for row in rows.as_mut_slice().chunks_exact_mut(self.scale.len()) {
            row.iter_mut().zip(self.mean.iter().zip(&self.scale)).for_each(|(x, (m, s))| *x = (*x - m) / s);
        }
    }

    /// Models for scaled features as models for the original ones; `w` may hold several blocks (classes) of parameters.
    pub fn restore(&self, w: &mut Matrix) {
        let d = self.scale.len();
        for block in w.as_mut_slice().chunks_exact_mut(d) {
            block.iter_mut().zip(&self.scale).for_each(|(w, s)| *w /= s);
            if self.intercept {
                let shift: f64 = block.iter().zip(&self.mean).map(|(w, m)| w * m).sum();
                block[d - 1] -= shift;
            }
        }
    }

    /// Models for the original features as models for scaled ones: [`restore`](Scaling::restore) backwards.
    pub fn convert(&self, w: &mut Matrix) {
        let d = self.scale.len();
        for block in w.as_mut_slice().chunks_exact_mut(d) {
            if self.intercept {
                let shift: f64 = block.iter().zip(&self.mean).map(|(w, m)| w * m).sum();
                block[d - 1] += shift;
            }
            block.iter_mut().zip(&self.scale).for_each(|(w, s)| *w *= s);
        }
    }

    /// Points (models that are positions) in the original features.
    pub fn restore_points(&self, w: &mut Matrix) {
        for row in w.as_mut_slice().chunks_exact_mut(self.scale.len()) {
            row.iter_mut().zip(self.scale.iter().zip(&self.mean)).for_each(|(w, (s, m))| *w = *w * s + m);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::dot;

    #[test]
    fn restored_models_predict_the_same() {
        let x = Matrix::from_rows(3, vec![1.0, 10.0, 1.0, 3.0, 30.0, 1.0, 8.0, -5.0, 1.0]);
        let data = Dataset::new(vec![0, 3], x, vec![0.0; 3], vec![1.0; 3]).unwrap();
        let scaling = Scaling::of(&data, true);
        let scaled = scaling.apply(&data);
        let mean: f64 = (0..3).map(|r| scaled.x(r)[1]).sum();
        let square: f64 = (0..3).map(|r| scaled.x(r)[1].powi(2)).sum();
        assert!(mean.abs() < 1e-12 && (square - 3.0).abs() < 1e-12 && scaled.x(0)[2] == 1.0);
        let mut w = Matrix::from_rows(3, vec![0.5, -2.0, 0.25]);
        let before: Vec<f64> = (0..3).map(|r| dot(scaled.x(r), w.row(0))).collect();
        scaling.restore(&mut w);
        for r in 0..3 {
            assert!((dot(data.x(r), w.row(0)) - before[r]).abs() < 1e-12);
        }
        scaling.convert(&mut w);
        assert!(w.as_slice().iter().zip([0.5, -2.0, 0.25]).all(|(w, v)| (w - v).abs() < 1e-12));
    }
}
