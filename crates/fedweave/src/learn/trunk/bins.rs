//! Features cut into bins. Trees see bins only: what is learnt about rows are sums over bins.

use serde::{Deserialize, Serialize};

use crate::matrix::Rows;
use crate::model::tree::midpoint;

/// Where the values of every feature are cut, and how many categories there are. The category, if there is one, is the column
/// after the features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bins {
    /// Upper edges of the bins of every feature but the last bin, increasing: `x` is in the first bin whose edge it does not exceed.
    edges: Vec<Vec<f64>>,
    categories: usize,
    /// First cell of every column, and the number of all cells.
    offsets: Vec<usize>,
}

impl Bins {
    /// Bins of about equal weight, at most `bins_max` per feature; a bin per value where there are no more values than that.
    pub fn new(x: Rows, weight: &[f64], categories: usize, bins_max: usize) -> Self {
        let edges = (0..x.cols()).map(|column| edges(x, weight, column, bins_max.clamp(2, BINS_MOST))).collect();
        Bins::from_edges(edges, categories)
    }

    /// Bins with these upper edges, increasing in every feature.
    pub fn from_edges(edges: Vec<Vec<f64>>, categories: usize) -> Self {
        let mut offsets = vec![0];
        edges.iter().for_each(|edges| offsets.push(offsets[offsets.len() - 1] + edges.len() + 1));
        if categories > 0 {
            offsets.push(offsets[offsets.len() - 1] + categories);
        }
        Bins { edges, categories, offsets }
    }

    /// Number of columns: features and, where there are categories, one more.
    pub fn columns(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of numeric features.
    pub fn features(&self) -> usize {
        self.edges.len()
    }

    /// Number of categories.
    pub fn categories(&self) -> usize {
        self.categories
    }

    /// Number of cells of a histogram over all columns.
    pub fn cells(&self) -> usize {
        self.offsets[self.columns()]
    }

    /// Cells of a column.
    pub fn range(&self, column: usize) -> std::ops::Range<usize> {
        self.offsets[column]..self.offsets[column + 1]
    }

    /// The bin of a value.
    pub fn bin(&self, feature: usize, value: f64) -> u16 {
        self.edges[feature].partition_point(|edge| *edge < value) as u16
    }

    /// Upper edge of a bin.
    pub fn edge(&self, feature: usize, bin: u16) -> f64 {
        self.edges[feature][bin as usize]
    }

    /// The bins of all rows, column after column.
    pub fn columns_of(&self, x: Rows, category: Option<&[u32]>) -> Vec<Vec<u16>> {
        let features = (0..self.features()).map(|j| (0..x.rows()).map(|r| self.bin(j, x.row(r)[j])).collect());
        let categories = category.map(|category| category.iter().map(|c| *c as u16).collect());
        features.chain(categories).collect()
    }
}

/// Bins and categories are counted in 16 bits.
pub const BINS_MOST: usize = 1 << 16;

/// Upper edges of the bins of one feature.
fn edges(x: Rows, weight: &[f64], column: usize, bins_max: usize) -> Vec<f64> {
    let values = distinct(x, weight, column);
    let own_bins = values.len() <= bins_max;
    let (mut edges, mut inside) = (Vec::new(), 0.0);
    let mut rest: f64 = values.iter().map(|(_, weight)| weight).sum();
    for pair in values.windows(2) {
        let ((value, weight), (next, next_weight)) = (pair[0], pair[1]);
        inside += weight;
        let share = (rest / (bins_max - edges.len()) as f64).max(f64::MIN_POSITIVE);
        // Half of a heavy value is better in a bin of its own than in one with what lies below.
        if own_bins || inside + next_weight / 2.0 >= share {
            edges.push(midpoint(value, next));
            rest -= inside;
            inside = 0.0;
        }
        if edges.len() + 1 == bins_max {
            break;
        }
    }
    edges
}

/// Values in order with their total weights; values of rows without weight are no reason for a bin.
fn distinct(x: Rows, weight: &[f64], column: usize) -> Vec<(f64, f64)> {
    let mut order: Vec<usize> = (0..x.rows()).filter(|&r| weight[r] > 0.0).collect();
    order.sort_by(|&a, &b| x.row(a)[column].total_cmp(&x.row(b)[column]));
    let mut values: Vec<(f64, f64)> = Vec::new();
    for row in order {
        let value = x.row(row)[column];
        match values.last_mut() {
            Some((last, total)) if *last == value => *total += weight[row],
            _ => values.push((value, weight[row])),
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(values: &[f64], bins_max: usize) -> Bins {
        Bins::new(Rows::new(1, values), &vec![1.0; values.len()], 0, bins_max)
    }

    #[test]
    fn few_values_have_bins_of_their_own() {
        let bins = bins(&[3.0, 1.0, 2.0, 1.0], 255);
        assert_eq!([1.0, 1.5, 1.6, 2.0, 3.0, 9.0, -9.0].map(|v| bins.bin(0, v)), [0, 0, 1, 1, 2, 2, 0]);
        assert_eq!((bins.columns(), bins.cells(), bins.edge(0, 1)), (1, 3, 2.5));
    }

    #[test]
    fn many_values_share_bins_of_about_equal_weight() {
        let values: Vec<f64> = (0..1000).map(|i| (i as f64).sqrt()).collect();
        let bins = bins(&values, 10);
        let mut counts = [0; 10];
        values.iter().for_each(|v| counts[bins.bin(0, *v) as usize] += 1);
        assert!(counts.iter().all(|c| (98..=102).contains(c)), "{counts:?}");
    }

    #[test]
    fn a_heavy_value_does_not_use_up_the_bins() {
        let values: Vec<f64> = (0..1000).map(|i| if i < 900 { 0.0 } else { i as f64 }).collect();
        let bins = bins(&values, 11);
        assert_eq!((bins.cells(), bins.bin(0, 0.0)), (11, 0));
        assert!(bins.bin(0, 900.0) == 1 && bins.bin(0, 950.0) == 6, "{bins:?}");
    }
}
