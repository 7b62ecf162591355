//! Noise on a grid, by integer arithmetic alone: noise in floating point gives its secrets away by its last bits (Mironov 2012).
//!
//! [`discrete`] samples exactly; [`Grid`] and [`LaplaceGrid`] put numbers on a grid and add noise there; [`choose`] picks one of several
//! with a preference for small scores; [`clip`] bounds what one row can do. Running
//! times depend on what is drawn: constant time is not claimed.

mod choice;
pub mod discrete;
mod grid;
mod laplace;

pub use choice::choose;
pub use grid::Grid;
pub use laplace::LaplaceGrid;

use crate::matrix::norm2;

/// Scales `row` down to a norm of at most `bound`; returns true if it was longer.
pub fn clip(row: &mut [f64], bound: f64) -> bool {
    let norm = norm2(row);
    if norm <= bound {
        return false;
    }
    // Rounding must not leave a hair above the bound.
    let factor = bound / norm * (1.0 - 4.0 * f64::EPSILON);
    row.iter_mut().for_each(|x| *x *= factor);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clipped_rows_are_short_and_keep_their_direction() {
        let mut row = [3.0, 4.0];
        assert!(!clip(&mut row, 5.0) && row == [3.0, 4.0]);
        assert!(clip(&mut row, 1.0) && norm2(&row) <= 1.0);
        assert!((row[0] / row[1] - 0.75).abs() < 1e-15);
    }
}
