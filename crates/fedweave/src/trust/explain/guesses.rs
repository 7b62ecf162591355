//! Subjective explainability: a user who guesses what a model will say finds it explainable if the guesses are right.
//!
//! With guesses `g_r` of node `i` for rows `x_r`, the measure is the mean of `loss(g_r, h_i(x_r))` (book, 8.11), and adding it to
//! the loss with a weight (8.12) trades accuracy for explainability. Guesses are rows like any other, so the sum is the loss of a
//! dataset in which own rows weigh `1 / m_i` and guesses `strength / m'_i`.

use crate::dataset::Dataset;
use crate::error::Result;
use crate::loss::{LossOptions, NodeWeight};
use crate::matrix::Matrix;

/// The factors that make the row weights of every node those of its loss.
pub(crate) fn node_units(rows: &Dataset, options: &LossOptions) -> Vec<f64> {
    let rule = options.node_weight.resolved(rows);
    let unit = |i| match rule {
        NodeWeight::Unit(unit) => unit,
        _ => 1.0 / rows.weights(i).iter().sum::<f64>().max(f64::MIN_POSITIVE),
    };
    (0..rows.nodes()).map(unit).collect()
}

/// Rows and guesses together, and the options under which their loss is `L_i(w) + strength * mean_r loss(g_r, x_r'w)`.
pub fn with_guesses(
    rows: &Dataset,
    guesses: &Dataset,
    strength: f64,
    options: &LossOptions,
) -> Result<(Dataset, LossOptions)> {
    let (mut offsets, mut x, mut y, mut weight) = (vec![0], Vec::new(), Vec::new(), Vec::new());
    let units = node_units(rows, options);
    for i in 0..rows.nodes() {
        let unit = units[i];
        let guessed = guesses.weights(i).iter().sum::<f64>().max(f64::MIN_POSITIVE);
        for (part, unit) in [(rows, unit), (guesses, strength / guessed)] {
            x.extend_from_slice(part.features(i));
            y.extend_from_slice(part.labels(i));
            weight.extend(part.weights(i).iter().map(|w| w * unit));
        }
        offsets.push(y.len());
    }
    let together = Dataset::new(offsets, Matrix::from_rows(rows.dim(), x), y, weight)?;
    Ok((together, LossOptions { node_weight: NodeWeight::Unit(1.0), ..*options }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Family;

    #[test]
    fn the_loss_of_rows_and_guesses_is_the_sum_of_both() {
        let data = |offsets: Vec<usize>, x: Vec<f64>, y: Vec<f64>, weight: Vec<f64>| {
            Dataset::new(offsets, Matrix::from_rows(1, x), y, weight).unwrap()
        };
        // Node 1 has guesses only, node 2 rows only.
        let rows = data(vec![0, 2, 2, 3], vec![1.0, 2.0, 3.0], vec![1.0, 5.0, 2.0], vec![1.0, 3.0, 2.0]);
        let guesses = data(vec![0, 1, 2, 2], vec![0.5, 4.0], vec![2.0, -1.0], vec![1.0, 1.0]);
        for node_weight in [NodeWeight::Equal, NodeWeight::Rows] {
            let options = LossOptions { ridge: 0.3, node_weight, ..Default::default() };
            let (together, with) = with_guesses(&rows, &guesses, 0.7, &options).unwrap();
            let sum = Family::Squared.build(together, &with).unwrap();
            let own = Family::Squared.build(rows.clone(), &LossOptions { ridge: 0.0, ..options }).unwrap();
            let guessed = Family::Squared.build(guesses.clone(), &LossOptions::default()).unwrap();
            for (i, w) in [(0, 0.4), (1, -2.0), (2, 1.5)] {
                let wanted = own.value(i, &[w]) + 0.7 * guessed.value(i, &[w]) + 0.3 * w * w;
                assert!((sum.value(i, &[w]) - wanted).abs() < 1e-12, "{node_weight:?} {i}");
            }
        }
    }
}
