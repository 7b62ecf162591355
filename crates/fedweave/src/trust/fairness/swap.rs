//! Every row again as if it were of another group: the augmentation of Figure 8.1 of the book.
//!
//! Where the group is among the features, a model can tell groups apart although their labels should not differ for that. A row of
//! one of `k` groups is joined by its copies with the features of the other groups and the same label; with strength `s` a copy
//! weighs `s / k` and the row itself `1 - s (k - 1) / k`. With `s = 1` all groups are equally frequent at every label and every value
//! of the other features, so that a squared loss by itself has nothing to gain by looking at the group.

use crate::dataset::Dataset;
use crate::error::Result;
use crate::loss::{LossOptions, NodeWeight};
use crate::matrix::Matrix;
use crate::trust::explain::guesses::node_units;

/// What the features `columns` are in the different groups, in order of first appearance.
pub fn patterns(rows: &Dataset, columns: &[usize]) -> Vec<Vec<f64>> {
    let mut known: Vec<Vec<f64>> = Vec::new();
    for r in 0..rows.len() {
        let x = rows.x(r);
        if !known.iter().any(|pattern| columns.iter().zip(pattern).all(|(&j, p)| x[j] == *p)) {
            known.push(columns.iter().map(|&j| x[j]).collect());
        }
    }
    known
}

/// A row with the features of another group.
pub fn swapped(x: &[f64], columns: &[usize], pattern: &[f64]) -> Vec<f64> {
    let mut copy = x.to_vec();
    columns.iter().zip(pattern).for_each(|(&j, p)| copy[j] = *p);
    copy
}

/// Rows and their copies, and the options of their loss. The groups of copies are those of their rows.
pub fn with_swapped(
    rows: &Dataset,
    columns: &[usize],
    strength: f64,
    options: &LossOptions,
) -> Result<(Dataset, LossOptions)> {
    let (known, units) = (patterns(rows, columns), node_units(rows, options));
    let groups = known.len().max(1) as f64;
    let (own, copy) = (1.0 - strength * (groups - 1.0) / groups, strength / groups);
    let (mut offsets, mut x, mut y, mut weight, mut of) = (vec![0], Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for i in 0..rows.nodes() {
        for (r, w) in rows.rows(i).zip(rows.weights(i)) {
            for pattern in &known {
                let row = swapped(rows.x(r), columns, pattern);
                let is_own = row == rows.x(r);
                x.extend(row);
                y.push(rows.y()[r]);
                weight.push(w * units[i] * if is_own { own } else { copy });
                of.extend(rows.groups().map(|groups| groups[r]));
            }
        }
        offsets.push(y.len());
    }
    let data = Dataset::new(offsets, Matrix::from_rows(rows.dim(), x), y, weight)?;
    let data = if rows.groups().is_some() { data.grouped(of)? } else { data };
    Ok((data, LossOptions { node_weight: NodeWeight::Unit(1.0), ..*options }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Family;

    fn rows() -> Dataset {
        // A feature, the group as -1 or 1, an intercept; group 1 earns 3 more for nothing.
        let x = vec![1.0, -1.0, 1.0, 2.0, 1.0, 1.0, 3.0, -1.0, 1.0, 5.0, 1.0, 1.0];
        let y = vec![1.0, 5.0, 3.1, 8.2];
        Dataset::new(vec![0, 4], Matrix::from_rows(3, x), y, vec![1.0; 4]).unwrap()
    }

    #[test]
    fn without_strength_nothing_changes_and_with_all_of_it_groups_are_forgotten() {
        let options = LossOptions::default();
        let plain = Family::Squared.build(rows(), &options).unwrap();
        for strength in [0.0, 0.4, 1.0] {
            let (data, with) = with_swapped(&rows(), &[1], strength, &options).unwrap();
            assert_eq!(data.len(), 8);
            let loss = Family::Squared.build(data, &with).unwrap();
            let w = [1.0, 0.5, 0.2];
            let other = [1.0, -0.5, 0.2];
            // Swapping the groups of rows is changing the sign of the coefficient.
            let wanted = (1.0 - strength / 2.0) * plain.value(0, &w) + strength / 2.0 * plain.value(0, &other);
            assert!((loss.value(0, &w) - wanted).abs() < 1e-12, "{strength}");
        }
        let (data, with) = with_swapped(&rows(), &[1], 1.0, &options).unwrap();
        let loss = Family::Squared.build(data, &with).unwrap();
        let (mut w, mut work) = (vec![0.0; 3], vec![0.0; 64]);
        loss.prox(0, 1e12, &mut w, &mut work);
        assert!(w[1].abs() < 1e-8 && w[0] > 1.0, "{w:?}");
    }

    #[test]
    fn three_groups_weigh_the_same() {
        let x = vec![0.0, 0.0, 1.0, 0.0, 0.0, 1.0];
        let data = Dataset::new(vec![0, 3], Matrix::from_rows(2, x), vec![1.0, 2.0, 3.0], vec![1.0; 3]).unwrap();
        assert_eq!(patterns(&data, &[0, 1]).len(), 3);
        let (all, _) = with_swapped(&data, &[0, 1], 1.0, &LossOptions::default()).unwrap();
        assert!(all.len() == 9 && all.weights(0).iter().all(|w| (w - 1.0 / 9.0).abs() < 1e-15));
    }
}
