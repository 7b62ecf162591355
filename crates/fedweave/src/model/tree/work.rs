//! Rows, weights and targets of a tree, ready for growing.

use super::grow::Pending;
use super::sort::sort_columns;
use crate::matrix::Rows;

/// Buffers for growing trees; they grow to the largest fit and are kept.
#[derive(Debug, Default)]
pub struct TreeWork {
    /// All rows in the order of every feature.
    pub sorted: Vec<u64>,
    /// Rows of this tree in the order of every feature, grouped by node.
    pub entries: Vec<u64>,
    pub temp: Vec<u64>,
    /// 1 for rows of the first child.
    pub first: Vec<u8>,
    /// Weight of every row, then weight times every target (centred and scaled), row after row.
    pub stats: Vec<f64>,
    /// Weight times the squared length of the targets.
    pub squares: Vec<f64>,
    /// Row weights of this tree.
    pub weight: Vec<f64>,
    pub centre: Vec<f64>,
    pub scale: f64,
    pub total: Vec<f64>,
    pub left: Vec<f64>,
    pub columns: Vec<u32>,
    pub stack: Vec<Pending>,
}

impl TreeWork {
    /// Sorts the rows by every feature; good for any number of trees on these rows.
    pub fn sort(&mut self, x: Rows) {
        sort_columns(x, &mut self.sorted, &mut self.temp);
    }

    /// The next tree is grown on all rows.
    pub fn all_rows(&mut self, weight: &[f64]) {
        self.entries.clone_from(&self.sorted);
        self.set_weight(weight.iter().copied());
    }

    /// The next tree is grown on rows that count `times` their weight.
    pub fn some_rows(&mut self, weight: &[f64], times: &[u32]) {
        self.entries.clear();
        self.entries.extend(self.sorted.iter().filter(|e| times[**e as u32 as usize] > 0));
        self.set_weight(weight.iter().zip(times).map(|(w, n)| w * f64::from(*n)));
    }

    /// Weights are scaled by a power of two, which is exact, to a total of about one.
    fn set_weight(&mut self, weight: impl Iterator<Item = f64>) {
        self.weight.clear();
        self.weight.extend(weight);
        let scale = power_of_two(self.weight.iter().sum());
        self.weight.iter_mut().for_each(|w| *w /= scale);
    }

    /// The targets of the next tree. Where they may be of any size they are centred and scaled by a power of two.
    pub fn targets(&mut self, y: Rows, any_size: bool) {
        let k = y.cols();
        self.set_centre(y, any_size);
        let largest = y.as_slice().iter().fold(0.0, |a: f64, v| a.max((v - self.centre[0]).abs()));
        self.scale = if any_size && largest > 0.0 { power_of_two(largest) } else { 1.0 };
        self.stats.clear();
        self.squares.clear();
        for (row, &w) in self.weight.iter().enumerate() {
            self.stats.push(w);
            let mut square = 0.0;
            for (v, c) in y.row(row).iter().zip(&self.centre) {
                let t = (v - c) / self.scale;
                self.stats.push(w * t);
                square += t * t;
            }
            self.squares.push(w * square);
        }
        self.total.resize(k + 1, 0.0);
        self.left.resize(k, 0.0);
        self.first.resize(y.rows(), 0);
    }

    fn set_centre(&mut self, y: Rows, any_size: bool) {
        self.centre.clear();
        self.centre.resize(y.cols(), 0.0);
        if any_size {
            let total: f64 = self.weight.iter().sum();
            for (row, w) in self.weight.iter().enumerate() {
                self.centre.iter_mut().zip(y.row(row)).for_each(|(c, v)| *c += w / total * v);
            }
        }
    }
}

/// The largest power of two that is at most a positive number.
fn power_of_two(value: f64) -> f64 {
    match value.is_normal() {
        true => f64::from_bits(value.to_bits() & 0x7ff0_0000_0000_0000),
        false => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_below() {
        for value in [1.0, 1.5, 2.0, 1e300, 3e-300] {
            let power = power_of_two(value);
            assert!(power <= value && value < 2.0 * power && power.log2().fract() == 0.0);
        }
    }
}
