//! A k-d tree with tight bounding boxes, for exact nearest neighbours in a dimension known only at run time.
//!
//! Neighbours are ordered by (distance, index), a total order, so the answer is unique. Box bounds are summed in the
//! same order as distances; rounding is monotone, so a box is never computed to be farther than a point inside it
//! and pruning is exact in floating point, not only in theory.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::matrix::Matrix;

/// Below this many points, comparing all of them is faster than descending further.
const LEAF: usize = 10;

/// The points, stored box by box.
pub(crate) struct KdTree {
    dim: usize,
    /// Coordinates in tree order: the points of every box are contiguous.
    points: Vec<f64>,
    /// Index of each point in the caller's matrix.
    index: Vec<u32>,
    cells: Vec<Cell>,
    /// Lower, then upper corner of each box.
    corners: Vec<f64>,
}

struct Cell {
    range: Range<usize>,
    /// Second child; the first one is stored right after its parent. `None` marks a leaf.
    second: Option<usize>,
    /// Smallest index inside, to decide ties without opening the box.
    smallest_index: u32,
}

/// A candidate; the order is by distance, then by index.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Neighbour {
    /// Squared Euclidean distance to the query.
    pub distance: f64,
    /// The point, as numbered by the caller.
    pub index: u32,
}

impl KdTree {
    /// Sorts the rows of `points`, which must be finite, into boxes.
    pub fn new(points: &Matrix) -> Self {
        let index = (0..points.rows() as u32).collect();
        let mut tree = KdTree { dim: points.cols(), points: Vec::new(), index, cells: Vec::new(), corners: Vec::new() };
        tree.build(points, 0..points.rows());
        tree.points = tree.index.iter().flat_map(|&i| points.row(i as usize)).copied().collect();
        tree
    }

    /// The caller's index of every point, neighbours in space mostly next to each other.
    pub fn order(&self) -> &[u32] {
        &self.index
    }

    /// Fills `nearest` with the `k` nearest points of `query`, leaving out the point `except`.
    pub fn nearest(&self, query: &[f64], except: u32, k: usize, nearest: &mut BinaryHeap<Neighbour>) {
        nearest.clear();
        self.search(0, &Query { at: query, except, k }, nearest);
    }

    fn build(&mut self, points: &Matrix, range: Range<usize>) {
        let here = self.cells.len();
        let smallest_index = self.index[range.clone()].iter().copied().min().unwrap_or(0);
        self.cells.push(Cell { range: range.clone(), second: None, smallest_index });
        let widest = self.push_corners(points, range.clone());
        if range.len() > LEAF {
            let middle = range.start + range.len() / 2;
            // Ordering equal coordinates by index halves also a heap of identical points.
            self.index[range.clone()].select_nth_unstable_by(range.len() / 2, |&a, &b| {
                let coordinate = |i: u32| points.row(i as usize)[widest];
                coordinate(a).total_cmp(&coordinate(b)).then(a.cmp(&b))
            });
            self.build(points, range.start..middle);
            self.cells[here].second = Some(self.cells.len());
            self.build(points, middle..range.end);
        }
    }

    /// Appends the bounding box of some points and returns its widest dimension.
    fn push_corners(&mut self, points: &Matrix, range: Range<usize>) -> usize {
        let (mut low, mut high) = (vec![f64::INFINITY; self.dim], vec![f64::NEG_INFINITY; self.dim]);
        for &i in &self.index[range] {
            for (c, &value) in points.row(i as usize).iter().enumerate() {
                low[c] = low[c].min(value);
                high[c] = high[c].max(value);
            }
        }
        let width = |c: &usize| high[*c] - low[*c];
        let widest = (0..self.dim).max_by(|a, b| width(a).total_cmp(&width(b))).unwrap_or(0);
        self.corners.extend(low);
        self.corners.extend(high);
        widest
    }

    fn search(&self, node: usize, query: &Query, nearest: &mut BinaryHeap<Neighbour>) {
        let Some(second) = self.cells[node].second else {
            return self.scan(self.cells[node].range.clone(), query, nearest);
        };
        let mut children = [(self.bound(node + 1, query), node + 1), (self.bound(second, query), second)];
        if children[1].0 < children[0].0 {
            children.swap(0, 1);
        }
        for (bound, child) in children {
            if query.accepts(bound, nearest) {
                self.search(child, query, nearest);
            }
        }
    }

    fn scan(&self, range: Range<usize>, query: &Query, nearest: &mut BinaryHeap<Neighbour>) {
        for place in range.filter(|&place| self.index[place] != query.except) {
            let point = &self.points[place * self.dim..(place + 1) * self.dim];
            let distance = point.iter().zip(query.at).map(|(p, q)| (p - q) * (p - q)).sum();
            let candidate = Neighbour { distance, index: self.index[place] };
            if query.accepts(candidate, nearest) {
                if nearest.len() == query.k {
                    nearest.pop();
                }
                nearest.push(candidate);
            }
        }
    }

    /// No point of the box comes before this one.
    fn bound(&self, node: usize, query: &Query) -> Neighbour {
        let (low, high) = self.corners[2 * node * self.dim..2 * (node + 1) * self.dim].split_at(self.dim);
        let outside = |c: usize| (low[c] - query.at[c]).max(query.at[c] - high[c]).max(0.0);
        let distance = (0..self.dim).map(|c| outside(c) * outside(c)).sum();
        Neighbour { distance, index: self.cells[node].smallest_index }
    }
}

struct Query<'a> {
    at: &'a [f64],
    except: u32,
    k: usize,
}

impl Query<'_> {
    /// Whether `candidate` would be among the `k` nearest of those seen so far.
    fn accepts(&self, candidate: Neighbour, nearest: &BinaryHeap<Neighbour>) -> bool {
        nearest.len() < self.k || nearest.peek().is_some_and(|&worst| candidate < worst)
    }
}

impl Eq for Neighbour {}

impl Ord for Neighbour {
    fn cmp(&self, other: &Self) -> Ordering {
        self.distance.total_cmp(&other.distance).then(self.index.cmp(&other.index))
    }
}

impl PartialOrd for Neighbour {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
