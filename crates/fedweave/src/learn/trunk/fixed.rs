//! Fixed point: numbers as integers, whose sums do not depend on their order.
//!
//! A federation adds up the histograms of its parts, one machine those of its threads. Sums of floats would differ in their
//! last bits with the order, and with them sooner or later a split. Every number is rounded once, to a grid that all parts share,
//! and from there on all sums are exact.

use serde::{Deserialize, Serialize};

use super::loss::TrunkLoss;

/// What is known of all rows before the first tree: smallest and largest values, which parts can combine in any order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Extent {
    /// Number of rows.
    pub rows: u64,
    /// Largest row weight.
    pub weight_max: f64,
    /// Smallest label.
    pub label_min: f64,
    /// Largest label.
    pub label_max: f64,
}

impl Extent {
    /// Of no rows.
    pub const NONE: Extent =
        Extent { rows: 0, weight_max: 0.0, label_min: f64::INFINITY, label_max: f64::NEG_INFINITY };

    /// Of the rows of both.
    pub fn join(self, other: Extent) -> Extent {
        Extent {
            rows: self.rows + other.rows,
            weight_max: self.weight_max.max(other.weight_max),
            label_min: self.label_min.min(other.label_min),
            label_max: self.label_max.max(other.label_max),
        }
    }
}

/// The grids of gradients, curvatures and weights: steps between neighbouring numbers, powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Grids {
    /// Of `w dl/ds`, and of labels less the smallest label.
    pub gradient: Grid,
    /// Of `w d2l/ds2`.
    pub hessian: Grid,
    /// Of row weights.
    pub weight: Grid,
    /// Of `w (dl/ds)^2`.
    pub square: Grid,
}

impl Grids {
    /// The finest grids on which the sums over all rows cannot overflow.
    pub fn new(loss: TrunkLoss, extent: &Extent) -> Self {
        let labels = extent.label_max - extent.label_min;
        let (gradient, hessian) = match loss {
            TrunkLoss::Squared => (labels, 1.0),
            TrunkLoss::Logistic => (2.0, 0.25),
            TrunkLoss::Poisson => (extent.label_max.max(1.0), extent.label_max.max(1.0)),
        };
        let grid = |largest: f64| Grid::new(largest * extent.weight_max, extent.rows);
        Grids { gradient: grid(gradient), hessian: grid(hessian), weight: grid(1.0), square: grid(gradient * gradient) }
    }
}

/// Multiples of a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// From numbers to integers, a power of two.
    factor: f64,
    /// From integers to numbers, its inverse.
    step: f64,
    /// Numbers beyond are cut: sums of so many stay below `2^62`.
    limit: i64,
}

/// Numbers may grow by `2^HEADROOM` over the largest that was expected, before they are cut.
const HEADROOM: u32 = 4;

impl Grid {
    /// A grid for so many numbers of at most this size.
    pub fn new(largest: f64, count: u64) -> Self {
        let bits = 62 - count.max(1).next_power_of_two().trailing_zeros();
        let exponent = (bits as i32 - HEADROOM as i32 - exponent_above(largest)).min(1000);
        Grid { factor: 2f64.powi(exponent), step: 2f64.powi(-exponent), limit: 1 << bits }
    }

    /// The nearest point of the grid, as an integer.
    #[inline]
    pub fn of(self, number: f64) -> i64 {
        // Conversion to an integer saturates, so that the product may be anything but NaN.
        ((number * self.factor).round_ties_even() as i64).clamp(-self.limit, self.limit)
    }

    /// The number that an integer stands for.
    #[inline]
    pub fn number(self, integer: i64) -> f64 {
        integer as f64 * self.step
    }

    /// Factor from integers to numbers.
    pub fn step(self) -> f64 {
        self.step
    }
}

/// The smallest `e` with `size < 2^e`, from the bits of the number; 0 for 0.
fn exponent_above(size: f64) -> i32 {
    match size > 0.0 {
        true => ((size.to_bits() >> 52) as i32 - 1022).max(-900),
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_from_the_grid() {
        for largest in [1e-9, 0.3, 1.0, 1e12] {
            let grid = Grid::new(largest, 100_000);
            for share in [-1.0, -0.123456789, 0.0, 1e-9, 0.5, 1.0] {
                let x = share * largest;
                assert!((grid.number(grid.of(x)) - x).abs() <= grid.step() / 2.0, "{x} of {largest}");
            }
            assert!(grid.step() < 1e-10 * largest);
        }
    }

    #[test]
    fn sums_never_overflow() {
        let count = 1000;
        let grid = Grid::new(1.0, count);
        let sum: i64 = (0..count).map(|_| grid.of(f64::MAX)).sum();
        assert!(sum > 0 && sum <= 1 << 62);
        assert_eq!(grid.of(-1e300), -grid.of(1e300));
    }

    #[test]
    fn powers_of_two_bound_sizes() {
        for size in [0.75, 1.0, 1.5, 1e-20, 3e20] {
            let e = exponent_above(size);
            assert!(size < 2f64.powi(e) && size >= 2f64.powi(e - 1), "{size}");
        }
    }
}
