//! Sums over the rows of a leaf, bin by bin: all that growing a tree needs to know about rows.

use std::ops::{Add, AddAssign, Sub, SubAssign};

use serde::{Deserialize, Serialize};

use super::bins::Bins;
use super::fixed::Grids;

/// Sums over rows as integers on the [`Grids`]: exact in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cell {
    /// Of `w dl/ds`.
    pub gradient: i64,
    /// Of `w d2l/ds2`.
    pub hessian: i64,
    /// Of `w`.
    pub weight: i64,
}

impl Cell {
    /// The sums as numbers.
    #[inline]
    pub fn sums(self, grids: &Grids) -> Sums {
        Sums {
            gradient: grids.gradient.number(self.gradient),
            hessian: grids.hessian.number(self.hessian),
            weight: grids.weight.number(self.weight),
        }
    }
}

impl Add for Cell {
    type Output = Cell;

    fn add(mut self, other: Cell) -> Cell {
        self += other;
        self
    }
}

impl Sub for Cell {
    type Output = Cell;

    fn sub(mut self, other: Cell) -> Cell {
        self -= other;
        self
    }
}

impl AddAssign for Cell {
    #[inline]
    fn add_assign(&mut self, other: Cell) {
        self.gradient += other.gradient;
        self.hessian += other.hessian;
        self.weight += other.weight;
    }
}

impl SubAssign for Cell {
    #[inline]
    fn sub_assign(&mut self, other: Cell) {
        self.gradient -= other.gradient;
        self.hessian -= other.hessian;
        self.weight -= other.weight;
    }
}

/// Sums over rows as numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sums {
    /// Of `w dl/ds`.
    pub gradient: f64,
    /// Of `w d2l/ds2`.
    pub hessian: f64,
    /// Of `w`.
    pub weight: f64,
}

/// The cells of all bins of all columns, laid out by [`Bins::range`](super::Bins::range). Parts of a federation add theirs up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Histograms {
    /// Column after column.
    pub cells: Vec<Cell>,
    /// Sum of `w (dl/ds)^2` over the rows, on a grid of its own.
    pub squares: i64,
}

impl Histograms {
    /// Of no rows.
    pub fn zeros(cells: usize) -> Self {
        Histograms { cells: vec![Cell::default(); cells], squares: 0 }
    }

    /// Sums over all rows: every row is in one bin of the first column.
    pub fn total(&self, bins: &Bins) -> Cell {
        self.cells[bins.range(0)].iter().fold(Cell::default(), |sum, cell| sum + *cell)
    }

    /// Adds those of other rows.
    pub fn add(&mut self, other: &Histograms) {
        self.cells.iter_mut().zip(&other.cells).for_each(|(a, b)| *a += *b);
        self.squares += other.squares;
    }

    /// Takes away those of some of the rows.
    pub fn subtract(&mut self, other: &Histograms) {
        self.cells.iter_mut().zip(&other.cells).for_each(|(a, b)| *a -= *b);
        self.squares -= other.squares;
    }
}
