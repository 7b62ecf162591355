//! Narrower ranges, told by noisy means and squares of all rows: ranges that are known beforehand are often wide, and noise grows with them.

use rand::Rng;

use super::mechanisms::Grid;
use super::statistics::Ranges;
use crate::dataset::Dataset;
use crate::error::{Error, Result};

/// Deviations to each side of the mean that stay in.
const DEVIATIONS: f64 = 3.0;
/// No range becomes narrower than this share of what it was.
const SHARE_MIN: f64 = 0.01;

/// The ranges of features and target that rows seem to fill, within those that are known; released with `multiplier` times as much noise as
/// one row can do.
///
/// A row in the box has entries `v` with `|v| <= 1`: replacing it moves the mean of all `(v, v^2)` by at most `2 sqrt(columns) / rows`.
pub fn narrower(data: &Dataset, ranges: &Ranges, multiplier: f64, rng: &mut impl Rng) -> Result<Vec<(f64, f64)>> {
    let known = ranges.columns();
    let (n, columns) = (data.len(), known.len());
    let sensitivity = 2.0 * (columns as f64).sqrt() / n.max(1) as f64;
    let value = multiplier * sensitivity;
    let grid = Grid::new(multiplier, sensitivity, 2 * columns);
    let grid = grid.ok_or(Error::Parameter { name: "noise", value, needs: "a positive normal number" })?;
    let mut sums = vec![0i128; 2 * columns];
    for r in 0..n {
        let row = data.x(r)[..columns - 1].iter().chain([&data.y()[r]]);
        for (j, (x, (middle, half))) in row.zip(known).enumerate() {
            let v = ((x - middle) / half).clamp(-1.0, 1.0);
            sums[2 * j] += i128::from(grid.point(v / n as f64));
            sums[2 * j + 1] += i128::from(grid.point(v * v / n as f64));
        }
    }
    let noisy: Vec<f64> = sums.into_iter().map(|sum| grid.perturb_sum(sum, rng)).collect();
    let ends = |j: usize| {
        let (mean, square) = (noisy[2 * j].clamp(-1.0, 1.0), noisy[2 * j + 1]);
        // Noise must not make a range too narrow.
        let deviation = (square - mean * mean + 2.0 * grid.deviation()).clamp(0.0, 1.0).sqrt();
        let reach = (DEVIATIONS * deviation).max(SHARE_MIN);
        let (low, high) = ((mean - reach).max(-1.0), (mean + reach).min(1.0));
        let (middle, half) = known[j];
        (middle + half * low, middle + half * high)
    };
    Ok((0..columns).map(ends).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;
    use crate::random::{Purpose, stream};
    use rand::RngExt;

    #[test]
    fn ranges_follow_the_rows_and_stay_inside_what_is_known() {
        let mut rng = stream(6, Purpose::LocalData, 0);
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for _ in 0..4000 {
            x.extend([40.0 + 2.0 * rng.random::<f64>(), rng.random::<f64>(), 1.0]);
            y.push(rng.random::<f64>() - 0.5);
        }
        let data = Dataset::new(vec![0, 4000], Matrix::from_rows(3, x), y, vec![1.0; 4000]).unwrap();
        let known = Ranges::new(vec![(0.0, 1000.0), (0.0, 1.0)], (-100.0, 100.0), None, true).unwrap();
        let found = narrower(&data, &known, 1.0, &mut stream(1, Purpose::Noise, 0)).unwrap();
        // Deviation 0.58 around 41, as far as noise and the smallest share allow.
        assert!(found[0].0 < 40.0 && found[0].1 > 42.0 && found[0].1 - found[0].0 < 200.0, "{found:?}");
        // Uniform numbers fill their range.
        assert!(found[1].0 < 0.01 && found[1].1 > 0.99, "{found:?}");
        assert!(found[2].1 - found[2].0 < 40.0 && found[2].0 < -0.5 && found[2].1 > 0.5, "{found:?}");
    }

    #[test]
    fn no_replaced_row_moves_the_sums_further_than_the_bound() {
        let mut largest = 0.0f64;
        for a in -50..=50 {
            for b in -50..=50 {
                let (a, b) = (f64::from(a) / 50.0, f64::from(b) / 50.0);
                largest = largest.max((a - b).hypot(a * a - b * b));
            }
        }
        assert_eq!(largest, 2.0);
    }
}
