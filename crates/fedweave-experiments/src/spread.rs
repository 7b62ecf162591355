//! Numbers that were measured once per seed, by name.

use crate::measure::mean_and_deviation;
use crate::{Cell, Table};

/// Several measurements of several quantities, in the order in which they first came.
#[derive(Debug, Clone, Default)]
pub struct Spread {
    measured: Vec<(String, Vec<f64>)>,
}

impl Spread {
    /// One more measurement.
    pub fn push(&mut self, name: &str, value: f64) {
        match self.measured.iter_mut().find(|m| m.0 == name) {
            Some(known) => known.1.push(value),
            None => self.measured.push((name.to_owned(), vec![value])),
        }
    }

    /// The quantities.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.measured.iter().map(|m| m.0.as_str())
    }

    /// All measurements of a quantity; none if it never was.
    pub fn values(&self, name: &str) -> &[f64] {
        self.measured.iter().find(|m| m.0 == name).map_or(&[], |m| &m.1)
    }

    /// Their mean; NaN if there are none.
    pub fn mean(&self, name: &str) -> f64 {
        mean_and_deviation(self.values(name)).0
    }

    /// Their standard deviation.
    pub fn deviation(&self, name: &str) -> f64 {
        mean_and_deviation(self.values(name)).1
    }

    /// A row per quantity: name, mean, deviation, smallest, largest.
    pub fn table(&self, name: &'static str, columns: &'static [&'static str]) -> Table {
        let mut table = Table::new(name, columns);
        for (name, values) in &self.measured {
            let (mean, deviation) = mean_and_deviation(values);
            let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
            let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let numbers = [mean, deviation, smallest, largest].map(Cell::from);
            let [a, b, c, d] = numbers;
            table.push([name.as_str().into(), a, b, c, d]);
        }
        table
    }
}
