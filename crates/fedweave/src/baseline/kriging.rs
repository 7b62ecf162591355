//! Parameters of places without rows, from those of places with rows: ordinary kriging, the usual way to interpolate.
//!
//! Every parameter is a field with an unknown constant mean and covariance `exp(-distance / length)`, plus a nugget for what
//! neighbours do not share. Length and nugget are those that predict every place best from all the others.

use crate::error::Result;
use crate::matrix::{Matrix, dot};

/// Lengths, in units of the median distance, and nuggets, in units of the variance of the field.
const LENGTHS: [f64; 5] = [0.03, 0.1, 0.3, 1.0, 3.0];
const NUGGETS: [f64; 4] = [0.03, 0.1, 0.3, 1.0];

/// What was chosen, and how well every known place is predicted from the others.
pub struct Kriging {
    length: f64,
    nugget: f64,
}

/// The inverse of the covariance of known places, bordered by the condition that weights add up to 1.
fn system(at: &Matrix, length: f64, nugget: f64) -> Vec<f64> {
    let n = at.rows();
    let m = n + 1;
    let mut a = vec![0.0; m * m];
    for i in 0..n {
        for j in 0..n {
            a[i * m + j] = (-distance(at.row(i), at.row(j)) / length).exp() + if i == j { nugget } else { 0.0 };
        }
        a[i * m + n] = 1.0;
        a[n * m + i] = 1.0;
    }
    invert(a, m)
}

impl Kriging {
    /// Chooses length and nugget; `judge` says how bad models of the known places are, each predicted from all the others.
    pub fn choose(at: &Matrix, w: &Matrix, judge: impl Fn(&Matrix) -> Result<f64>) -> Result<(Kriging, f64)> {
        let unit = median_distance(at).max(f64::MIN_POSITIVE);
        let mut best: Option<(Kriging, f64)> = None;
        for length in LENGTHS.map(|share| share * unit) {
            for nugget in NUGGETS {
                let error = judge(&left_out(&system(at, length, nugget), w))?;
                if best.as_ref().is_none_or(|best| error < best.1) {
                    best = Some((Kriging { length, nugget }, error));
                }
            }
        }
        Ok(best.expect("there are lengths"))
    }

    /// Models at new places.
    pub fn at(&self, known: &Matrix, w: &Matrix, new: &Matrix) -> Matrix {
        let n = known.rows();
        let inverse = system(known, self.length, self.nugget);
        let mut models = Matrix::zeros(new.rows(), w.cols());
        for i in 0..new.rows() {
            let near = (0..n).map(|j| (-distance(new.row(i), known.row(j)) / self.length).exp()).chain([1.0]);
            let near: Vec<f64> = near.collect();
            for j in 0..n {
                let weight = dot(&inverse[j * (n + 1)..(j + 1) * (n + 1)], &near);
                models.row_mut(i).iter_mut().zip(w.row(j)).for_each(|(m, w)| *m += weight * w);
            }
        }
        models
    }
}

/// Every place predicted from all the others, by one inverse for all: `z_i - (B z)_i / B_ii`.
fn left_out(inverse: &[f64], w: &Matrix) -> Matrix {
    let m = w.rows() + 1;
    let mut models = w.clone();
    for i in 0..w.rows() {
        let row = &inverse[i * m..(i + 1) * m];
        for c in 0..w.cols() {
            let product: f64 = (0..w.rows()).map(|j| row[j] * w.row(j)[c]).sum();
            models.row_mut(i)[c] -= product / row[i];
        }
    }
    models
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

fn median_distance(at: &Matrix) -> f64 {
    let pairs = (0..at.rows()).flat_map(|i| (0..i).map(move |j| (i, j)));
    let mut all: Vec<f64> = pairs.map(|(i, j)| distance(at.row(i), at.row(j))).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(1.0)
}

/// Gauss and Jordan, with the largest pivot of every column: the border makes the matrix indefinite.
fn invert(mut a: Vec<f64>, m: usize) -> Vec<f64> {
    let mut inverse = vec![0.0; m * m];
    (0..m).for_each(|i| inverse[i * m + i] = 1.0);
    for k in 0..m {
        let pivot = (k..m).max_by(|&i, &j| a[i * m + k].abs().total_cmp(&a[j * m + k].abs())).unwrap_or(k);
        for j in 0..m {
            a.swap(k * m + j, pivot * m + j);
            inverse.swap(k * m + j, pivot * m + j);
        }
        let scale = 1.0 / a[k * m + k];
        for matrix in [&mut a, &mut inverse] {
            matrix[k * m..(k + 1) * m].iter_mut().for_each(|v| *v *= scale);
        }
        for i in (0..m).filter(|&i| i != k) {
            let factor = a[i * m + k];
            for matrix in [&mut a, &mut inverse] {
                for j in 0..m {
                    let below = matrix[k * m + j];
                    matrix[i * m + j] -= factor * below;
                }
            }
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn left_out_places_are_those_of_a_fit_without_them() {
        let at = Matrix::from_rows(1, vec![0.0, 1.0, 2.5, 3.0, 4.5]);
        let w = Matrix::from_rows(1, vec![1.0, 2.0, 0.5, 0.0, -1.0]);
        let all = left_out(&system(&at, 1.3, 0.2), &w);
        for i in 0..5 {
            let others: Vec<usize> = (0..5).filter(|j| *j != i).collect();
            let pick = |m: &Matrix| Matrix::from_rows(1, others.iter().map(|&j| m.row(j)[0]).collect());
            let one = Matrix::from_rows(1, vec![at.row(i)[0]]);
            let alone = Kriging { length: 1.3, nugget: 0.2 }.at(&pick(&at), &pick(&w), &one);
            assert!((all.row(i)[0] - alone.row(0)[0]).abs() < 1e-10, "{i}");
        }
    }

    /// A constant is interpolated as itself: weights add up to 1.
    #[test]
    fn a_constant_stays_a_constant() {
        let at = Matrix::from_rows(2, vec![0.0, 0.0, 1.0, 0.0, 0.0, 2.0]);
        let w = Matrix::from_rows(1, vec![7.0; 3]);
        let (kriging, _) = Kriging::choose(&at, &w, |left| Ok((left.row(0)[0] - 7.0).abs())).unwrap();
        let new = Matrix::from_rows(2, vec![0.3, 0.4]);
        assert!((kriging.at(&at, &w, &new).row(0)[0] - 7.0).abs() < 1e-10);
    }
}
