//! Axes: from a value to a percentage of the plot, and the ticks people expect.

use crate::number::{number, power_of_ten};
use serde::Serialize;

/// A linear or logarithmic axis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis {
    log: bool,
    low: f64,
    high: f64,
}

/// A tick: where, in percent, and what it says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Tick {
    pub(crate) at: f64,
    pub(crate) label: String,
}

impl Axis {
    /// A logarithmic axis around the positive values; `None` if there are none.
    pub(crate) fn log(values: impl Iterator<Item = f64>, pad: f64) -> Option<Self> {
        let logs = values.filter(|v| *v > 0.0 && v.is_finite()).map(f64::log10);
        Self::around(true, logs, pad)
    }

    /// A linear axis around the finite values; `None` if there are none.
    pub(crate) fn linear(values: impl Iterator<Item = f64>, pad: f64) -> Option<Self> {
        Self::around(false, values.filter(|v| v.is_finite()), pad)
    }

    fn around(log: bool, values: impl Iterator<Item = f64>, pad: f64) -> Option<Self> {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            return None;
        }
        let span = if high - low > 1e-9 * high.abs().max(1e-300) { high - low } else { (0.5 * high.abs()).max(0.5) };
        Some(Axis { log, low: low - pad * span, high: low + (1.0 + pad) * span.max(high - low) })
    }

    /// The place of a value in percent from the low end; `None` if it has none.
    pub(crate) fn at(&self, value: f64) -> Option<f64> {
        let v = if self.log { value.log10() } else { value };
        Some(100.0 * (v - self.low) / (self.high - self.low)).filter(|at| at.is_finite())
    }

    /// At most about `most` ticks.
    pub(crate) fn ticks(&self, most: usize) -> Vec<Tick> {
        if !self.log {
            return self.labelled(nice_multiples(self.low, self.high, most), |v| number(v, 6));
        }
        let (first, last) = (self.low.ceil() as i32, self.high.floor() as i32);
        if last - first >= 1 {
            let stride = (last - first) / most as i32 + 1;
            let exponents: Vec<i32> = (first..=last).filter(|e| e.rem_euclid(stride) == 0).collect();
            let plain = exponents.iter().all(|e| (-3..=4).contains(e));
            let label = |e: i32| {
                if plain || e == 0 { number(10f64.powi(e), 1) } else { power_of_ten(e) }
            };
            return exponents.iter().filter_map(|&e| self.tick(10f64.powi(e), label(e))).collect();
        }
        let (low, high) = (10f64.powf(self.low), 10f64.powf(self.high));
        let fine = if self.high - self.low > 0.7 { one_two_five(low, high) } else { nice_multiples(low, high, most) };
        self.labelled(fine, |v| number(v, 4))
    }

    fn labelled(&self, values: Vec<f64>, label: impl Fn(f64) -> String) -> Vec<Tick> {
        values.into_iter().filter_map(|v| self.tick(v, label(v))).collect()
    }

    fn tick(&self, value: f64, label: String) -> Option<Tick> {
        let at = self.at(value).filter(|at| (-0.01..=100.01).contains(at))?;
        Some(Tick { at: (at * 100.0).round() / 100.0, label })
    }
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn nice_multiples(low: f64, high: f64, most: usize) -> Vec<f64> {
    let rough = (high - low) / most as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= rough).unwrap_or(rough);
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    // Rounded to the step, or 3 * 0.1 would be labelled 0.30000000000000004.
    (first..=last).map(|k| (k as f64 * step / power).round() * power).collect()
}

fn one_two_five(low: f64, high: f64) -> Vec<f64> {
    let exponents = low.log10().floor() as i32..=high.log10().floor() as i32;
    exponents.flat_map(|e| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(e))).filter(|v| (low..=high).contains(v)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis, most: usize) -> Vec<String> {
        axis.ticks(most).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        assert_eq!(
            labels(Axis::linear([0.0, 1.0].into_iter(), 0.0).unwrap(), 5),
            ["0", "0.2", "0.4", "0.6", "0.8", "1"]
        );
        assert_eq!(labels(Axis::linear([0.0, 1000.0].into_iter(), 0.0).unwrap(), 4), ["0", "500", "1,000"]);
    }

    #[test]
    fn log_ticks_are_decades() {
        let axis = Axis::log([1e-8, 1.0, 0.0, -1.0, f64::NAN].into_iter(), 0.0).unwrap();
        assert_eq!(labels(axis, 5), ["10⁻⁸", "10⁻⁶", "10⁻⁴", "10⁻²", "1"]);
        assert_eq!(axis.at(1e-4), Some(50.0));
        assert_eq!(axis.at(0.0), None);
    }

    #[test]
    fn narrow_log_axes_have_ticks_too() {
        assert!(Axis::log([2.0, 9.0].into_iter(), 0.0).unwrap().ticks(5).len() >= 2);
        assert!(Axis::log([2.0, 2.1].into_iter(), 0.0).unwrap().ticks(5).len() >= 2);
    }

    #[test]
    fn one_value_is_enough_and_none_is_none() {
        assert!(Axis::linear([3.0].into_iter(), 0.05).unwrap().at(3.0).is_some());
        assert!(Axis::log([-3.0].into_iter(), 0.05).is_none());
    }
}
