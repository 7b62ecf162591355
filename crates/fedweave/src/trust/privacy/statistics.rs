//! Sufficient statistics of the squared loss, released once with noise: whatever is computed from them afterwards, in any
//! number of rounds and with any neighbours, costs no more privacy.
//!
//! Rows `v = (x, y)` are brought into a known box, clipped, and `mean v v'` is released with noise. What follows is plain
//! arithmetic on the release: nodes lend each other strength ([`shrink`]), negative eigenvalues are cut off, and a matrix
//! square root gives rows whose squared loss is the noisy one ([`stand_ins`]), so that every solver can use them.

mod ranges;
mod shrink;

pub use ranges::Ranges;
pub use shrink::shrink;

use rand::Rng;
use serde::{Deserialize, Serialize};

use super::mechanisms::Grid;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::linalg::jacobi::eigen;
use crate::matrix::Matrix;

/// The noisy `mean v v'` of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoisyMoments {
    /// Row after row.
    pub matrix: Vec<f64>,
    /// Deviation of the noise on the diagonal; `1 / sqrt(2)` of it elsewhere.
    pub deviation: f64,
    /// Number of rows.
    pub rows: usize,
}

/// Releases the moments of a node; `None` for one without rows. `multiplier` is the noise in multiples of the sensitivity.
///
/// Replacing a row of norm at most `V` moves `mean v v'` by at most `sqrt(2) V^2 / m` in the Frobenius norm, which is the 2-norm of the
/// diagonal and `sqrt(2)` times the rest of the lower triangle: these numbers get equal noise.
pub fn release(
    data: &Dataset,
    node: usize,
    ranges: &Ranges,
    multiplier: f64,
    rng: &mut impl Rng,
) -> Result<Option<NoisyMoments>> {
    let (m, n) = (data.rows(node).len(), ranges.width());
    if m == 0 {
        return Ok(None);
    }
    let root = std::f64::consts::SQRT_2;
    let sensitivity = root * ranges.norm_squared() / m as f64;
    let grid = Grid::new(multiplier, sensitivity, n * (n + 1) / 2);
    let no_grid =
        Error::Parameter { name: "noise", value: multiplier * sensitivity, needs: "a positive normal number" };
    let grid = grid.ok_or(no_grid)?;
    let unit = |i: usize, j: usize| if i == j { 1.0 } else { root };
    let (mut points, mut row) = (vec![0i128; n * n], vec![0.0; n]);
    for r in data.rows(node) {
        ranges.boxed(data.x(r), data.y()[r], &mut row);
        for i in 0..n {
            for j in 0..=i {
                points[i * n + j] += i128::from(grid.point(unit(i, j) * row[i] * row[j] / m as f64));
            }
        }
    }
    let mut matrix = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let noisy = grid.perturb_sum(points[i * n + j], rng) / unit(i, j);
            (matrix[i * n + j], matrix[j * n + i]) = (noisy, noisy);
        }
    }
    if let Some(one) = ranges.intercept() {
        // Known without a release.
        matrix[one * n + one] = 1.0;
    }
    Ok(Some(NoisyMoments { matrix, deviation: grid.deviation(), rows: m }))
}

/// The units of the features of stand-ins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Units {
    /// Those of the data.
    Data,
    /// Ranges are -1 to 1.
    Box,
}

/// Rows whose squared loss is that of the noisy moments, for all nodes; a node without moments has none. The last feature is what
/// multiplies the intercept; labels are in the units of the data.
pub fn stand_ins(moments: &[Option<NoisyMoments>], ranges: &Ranges, units: Units) -> Result<Dataset> {
    let n = ranges.width();
    let d = ranges.features();
    let (mut offsets, mut x, mut y, mut weight) = (vec![0], Vec::new(), Vec::new(), Vec::new());
    for moments in moments {
        if let Some(NoisyMoments { matrix, rows, .. }) = moments {
            let mut values = matrix.clone();
            let vectors = eigen(&mut values, n);
            for k in 0..n {
                // The mean over n rows is to be the sum over eigenvalues.
                let size = (n as f64 * values[k * n + k].max(0.0)).sqrt();
                let row: Vec<f64> = vectors[k * n..(k + 1) * n].iter().map(|v| size * v).collect();
                let (features, label) = ranges.unboxed(&row);
                match units {
                    Units::Data => x.extend(features),
                    Units::Box => x.extend_from_slice(&row[..d]),
                }
                y.push(label);
                weight.push(*rows as f64 / n as f64);
            }
        }
        offsets.push(y.len());
    }
    Dataset::new(offsets, Matrix::from_rows(d, x), y, weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};
    use rand::RngExt;

    fn data() -> Dataset {
        let mut rng = stream(2, Purpose::LocalData, 0);
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for _ in 0..60 {
            let a = 10.0 * rng.random::<f64>();
            x.extend([a, 1.0]);
            y.push(3.0 * a - 4.0 + rng.random::<f64>());
        }
        Dataset::new(vec![0, 40, 40, 60], Matrix::from_rows(2, x), y, vec![1.0; 60]).unwrap()
    }

    fn loss(data: &Dataset, node: usize, w: [f64; 2]) -> f64 {
        let rows = data.rows(node);
        let m = rows.len() as f64;
        rows.map(|r| (data.y()[r] - w[0] * data.x(r)[0] - w[1] * data.x(r)[1]).powi(2) / m).sum()
    }

    #[test]
    fn stand_ins_without_noise_have_the_same_loss() {
        let (data, ranges) = (data(), Ranges::new(vec![(0.0, 10.0)], (-4.0, 27.0), None, true).unwrap());
        let mut rng = stream(2, Purpose::Noise, 0);
        // Noise of a ten-millionth of the sensitivity.
        let moments: Vec<_> = (0..3).map(|i| release(&data, i, &ranges, 1e-7, &mut rng).unwrap()).collect();
        let stand_ins = stand_ins(&moments, &ranges, Units::Data).unwrap();
        assert!(moments[1].is_none() && stand_ins.rows(1).is_empty());
        for w in [[0.0, 0.0], [3.0, -3.5], [-1.0, 10.0]] {
            for node in [0, 2] {
                let (a, b) = (loss(&data, node, w), loss(&stand_ins, node, w));
                assert!((a / b - 1.0).abs() < 1e-3, "{w:?}: {a} {b}");
            }
        }
        assert!((stand_ins.weights(0).iter().sum::<f64>() - 40.0).abs() < 1e-9);
    }

    #[test]
    fn no_replaced_row_moves_the_moments_further_than_the_bound() {
        let ranges = Ranges::new(vec![(-1.0, 1.0), (0.0, 2.0)], (-1.0, 1.0), Some(1.2), true).unwrap();
        let mut rng = stream(4, Purpose::LocalData, 1);
        let mut largest = 0.0f64;
        for _ in 0..20_000 {
            let mut v = || {
                let mut row = [0.0; 4];
                let mut draw = || 6.0 * (rng.random::<f64>() - 0.5);
                ranges.boxed(&[draw(), draw(), 1.0], draw(), &mut row);
                row
            };
            let (a, b) = (v(), v());
            let moved = (0..16).map(|k| (a[k / 4] * a[k % 4] - b[k / 4] * b[k % 4]).powi(2)).sum::<f64>().sqrt();
            largest = largest.max(moved);
        }
        let bound = std::f64::consts::SQRT_2 * ranges.norm_squared();
        assert!(largest <= bound && largest > 0.5 * bound, "{largest} {bound}");
    }
}
