//! The rows of one part while trees grow: their scores, slopes and curvatures, and the leaf in which each lies.

use rayon::prelude::*;

use super::bins::Bins;
use super::fixed::{Extent, Grids};
use super::growth::Order;
use super::histogram::{Cell, Histograms};
use super::loss::TrunkLoss;
use super::rows::TrunkRows;
use super::split::Cut;
use crate::parallel::ASLEEP;

/// Binned rows with labels and weights, shared by all folds.
#[derive(Debug, Clone)]
pub struct BinnedRows<'a> {
    /// Bins of every column, row after row.
    pub columns: Vec<Vec<u16>>,
    /// Labels.
    pub labels: &'a [f64],
    /// Row weights.
    pub weights: &'a [f64],
}

impl<'a> BinnedRows<'a> {
    /// The bins of all rows.
    pub fn new(rows: &TrunkRows<'a>, bins: &Bins) -> Self {
        BinnedRows { columns: bins.columns_of(rows.x, rows.category), labels: rows.y, weights: rows.weight }
    }

    /// Smallest and largest values of the listed rows.
    pub fn extent(&self, listed: &[u32]) -> Extent {
        let of_row = |row: &u32| {
            let (label, weight_max) = (self.labels[*row as usize], self.weights[*row as usize]);
            Extent { rows: 1, weight_max, label_min: label, label_max: label }
        };
        listed.iter().map(of_row).fold(Extent::NONE, Extent::join)
    }

    /// Sums over the listed rows: of weights, and as the gradient, of labels less the smallest one.
    pub fn labels(&self, listed: &[u32], label_min: f64, grids: &Grids) -> Cell {
        let of_row = |row: &u32| {
            let (label, weight) = (self.labels[*row as usize], self.weights[*row as usize]);
            let gradient = grids.gradient.of(weight * (label - label_min));
            Cell { gradient, hessian: 0, weight: grids.weight.of(weight) }
        };
        listed.iter().map(of_row).fold(Cell::default(), |a, b| a + b)
    }
}

/// Rows that trees are grown on, and rows that are only scored.
#[derive(Debug, Clone)]
pub struct Share<'a> {
    rows: &'a BinnedRows<'a>,
    bins: &'a Bins,
    loss: TrunkLoss,
    grids: Grids,
    /// One per row, also of rows in neither list.
    scores: Vec<f64>,
    cells: Vec<Cell>,
    squares: Vec<i64>,
    grown_on: Leaves,
    scored: Leaves,
    /// Scratch: cells of a leaf in the order of its rows.
    gathered: Vec<Cell>,
}

impl<'a> Share<'a> {
    /// A share whose scores all are `start`.
    pub fn new(
        rows: &'a BinnedRows<'a>,
        bins: &'a Bins,
        loss: TrunkLoss,
        grids: Grids,
        start: f64,
        grown_on: Vec<u32>,
        scored: Vec<u32>,
    ) -> Self {
        let count = rows.labels.len();
        Share {
            rows,
            bins,
            loss,
            grids,
            scores: vec![start; count],
            cells: vec![Cell::default(); count],
            squares: vec![0; count],
            grown_on: Leaves::new(grown_on),
            scored: Leaves::new(scored),
            gathered: Vec::new(),
        }
    }

    /// The scores of all rows; those in neither list have the first one.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// Rows that are only scored.
    pub fn scored(&self) -> &[u32] {
        &self.scored.all
    }

    /// All rows in leaf 0 again, with slopes and curvatures at their scores; its histograms.
    pub fn begin(&mut self) -> Histograms {
        self.grown_on.reset();
        self.scored.reset();
        for &row in &self.grown_on.rows {
            let (row, weight) = (row as usize, self.rows.weights[row as usize]);
            let (slope, curvature) = self.loss.slope_and_curvature(self.scores[row], self.rows.labels[row]);
            self.cells[row] = Cell {
                gradient: self.grids.gradient.of(weight * slope),
                hessian: self.grids.hessian.of(weight * curvature),
                weight: self.grids.weight.of(weight),
            };
            self.squares[row] = self.grids.square.of(weight * slope * slope);
        }
        self.histograms(0)
    }

    /// Divides a leaf, and returns the histograms that are asked for.
    pub fn obey(&mut self, order: &Order) -> Option<Histograms> {
        match &order.cut {
            Cut::Bin { feature, bin } => {
                let column = &self.rows.columns[*feature];
                self.divide(order, |row| column[row as usize] <= *bin);
            }
            Cut::Categories(categories) => {
                let mut listed = vec![false; self.bins.categories()];
                categories.iter().for_each(|c| listed[*c as usize] = true);
                let column = &self.rows.columns[self.bins.features()];
                self.divide(order, |row| listed[column[row as usize] as usize]);
            }
        }
        order.wanted.map(|leaf| self.histograms(leaf))
    }

    /// Adds the values of the leaves to the scores of their rows.
    pub fn finish(&mut self, values: &[f64]) {
        for leaves in [&self.grown_on, &self.scored] {
            for (leaf, value) in values.iter().enumerate() {
                leaves.of(leaf).iter().for_each(|&row| self.scores[row as usize] += value);
            }
        }
    }

    fn divide(&mut self, order: &Order, left: impl Fn(u32) -> bool) {
        self.grown_on.divide(order, &left);
        self.scored.divide(order, &left);
    }

    fn histograms(&mut self, leaf: usize) -> Histograms {
        let (rows, mut histograms) = (self.grown_on.of(leaf), Histograms::zeros(self.bins.cells()));
        histograms.squares = rows.iter().map(|&row| self.squares[row as usize]).sum();
        self.gathered.clear();
        self.gathered.extend(rows.iter().map(|&row| self.cells[row as usize]));
        let columns = self.rows.columns.iter().zip(pieces(&mut histograms.cells, self.bins));
        let fill = |(column, cells): (&Vec<u16>, &mut [Cell])| {
            for (&row, cell) in rows.iter().zip(&self.gathered) {
                cells[column[row as usize] as usize] += *cell;
            }
        };
        if rows.len() * self.bins.columns() < ASLEEP {
            columns.for_each(fill);
        } else {
            columns.collect::<Vec<_>>().into_par_iter().for_each(fill);
        }
        histograms
    }
}

/// The cells of every column.
fn pieces<'c>(cells: &'c mut [Cell], bins: &Bins) -> Vec<&'c mut [Cell]> {
    let mut rest = cells;
    let mut pieces = Vec::with_capacity(bins.columns());
    for column in 0..bins.columns() {
        let (piece, tail) = rest.split_at_mut(bins.range(column).len());
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

/// Rows in the order of their leaves.
#[derive(Debug, Clone)]
struct Leaves {
    all: Vec<u32>,
    rows: Vec<u32>,
    /// Where the rows of a leaf are.
    ranges: Vec<std::ops::Range<usize>>,
    moved: Vec<u32>,
}

impl Leaves {
    fn new(all: Vec<u32>) -> Self {
        let mut leaves = Leaves { rows: all.clone(), all, ranges: Vec::new(), moved: Vec::new() };
        leaves.reset();
        leaves
    }

    /// All rows in leaf 0, in their first order, in which memory is read forwards.
    fn reset(&mut self) {
        self.rows.copy_from_slice(&self.all);
        self.ranges.clear();
        self.ranges.push(0..self.rows.len());
    }

    fn of(&self, leaf: usize) -> &[u32] {
        &self.rows[self.ranges[leaf].clone()]
    }

    /// Rows keep their order on both sides.
    fn divide(&mut self, order: &Order, left: impl Fn(u32) -> bool) {
        let range = self.ranges[order.leaf].clone();
        let rows = &mut self.rows[range.clone()];
        self.moved.clear();
        let mut kept = 0;
        for at in 0..rows.len() {
            let row = rows[at];
            if left(row) {
                rows[kept] = row;
                kept += 1;
            } else {
                self.moved.push(row);
            }
        }
        rows[kept..].copy_from_slice(&self.moved);
        let middle = range.start + kept;
        debug_assert_eq!(order.right, self.ranges.len());
        self.ranges[order.leaf] = range.start..middle;
        self.ranges.push(middle..range.end);
    }
}
