//! Nearest neighbours: the weighted mean of the targets of the rows nearest to a query, in Euclidean distance.
//!
//! Either a number of rows (`neighbours`) or the nearest rows that carry a share of the total weight (`share`), the last of
//! them only in part. Only in the second way does a row of weight 2 count like two rows. Of equally distant rows the
//! one that came first is nearer.

use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use super::fitted::State;
use super::options::{ModelOptions, count, share};
use super::sample::Sample;
use super::{FitError, Task};
use crate::graph::kd_tree::{KdTree, Neighbour};
use crate::matrix::{Matrix, Rows, axpy};

/// Options of `nearest`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NearestOptions {
    /// Number of rows that are averaged, all if there are fewer.
    pub neighbours: usize,
    /// Share of the total weight that is averaged instead, if positive.
    pub share: f64,
    /// How the rows count beside their weights.
    pub weights: NearestWeights,
}

/// How neighbours count beside their weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NearestWeights {
    /// All the same.
    Uniform,
    /// By the inverse of their distance; rows at distance 0 outweigh all others.
    Distance,
}

impl Default for NearestOptions {
    fn default() -> Self {
        NearestOptions { neighbours: 5, share: 0.0, weights: NearestWeights::Uniform }
    }
}

impl ModelOptions for NearestOptions {
    fn values(&self) -> Vec<(&'static str, String)> {
        let weights = match self.weights {
            NearestWeights::Uniform => "uniform",
            NearestWeights::Distance => "distance",
        };
        let (neighbours, share) = (self.neighbours.to_string(), self.share.to_string());
        vec![("neighbours", neighbours), ("share", share), ("weights", weights.into())]
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        match (name, value) {
            ("neighbours", _) => self.neighbours = count(value, 1)?,
            ("share", _) => self.share = share(value, 1.0)?,
            (_, "uniform") => self.weights = NearestWeights::Uniform,
            (_, "distance") => self.weights = NearestWeights::Distance,
            _ => return Err("uniform or distance"),
        }
        Ok(())
    }
}

/// The rows of a fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NearestFit {
    /// What is predicted.
    pub task: Task,
    /// Number of features.
    pub features: usize,
    /// How neighbours are chosen and weighted.
    pub options: NearestOptions,
    /// Features, row after row.
    pub x: Vec<f64>,
    /// Targets, row after row.
    pub y: Vec<f64>,
    /// Row weights.
    pub weight: Vec<f64>,
}

pub(super) fn fit(options: &NearestOptions, sample: &Sample) -> Result<NearestFit, FitError> {
    Ok(NearestFit {
        task: sample.task,
        features: sample.features(),
        options: *options,
        x: sample.x.as_slice().to_vec(),
        y: sample.y.as_slice().to_vec(),
        weight: sample.weight.to_vec(),
    })
}

impl NearestFit {
    /// The nearest rows that count for a query, nearest first, each with the weight it counts with.
    fn chosen(&self, tree: &KdTree, query: &[f64], heap: &mut BinaryHeap<Neighbour>, near: &mut Vec<(Neighbour, f64)>) {
        let rows = self.weight.len();
        let total: f64 = self.weight.iter().sum();
        let mut wanted = self.options.neighbours.min(rows);
        loop {
            tree.nearest(query, u32::MAX, wanted, heap);
            near.clear();
            near.extend(heap.drain().map(|n| (n, self.weight[n.index as usize])));
            near.sort_unstable_by_key(|near| near.0);
            if self.options.share == 0.0 || cut_at(near, self.options.share * total) || wanted == rows {
                return;
            }
            wanted = (2 * wanted).min(rows);
        }
    }

    /// How much a neighbour counts.
    fn influence(&self, neighbour: &Neighbour, weight: f64, nearest: f64) -> f64 {
        match self.options.weights {
            NearestWeights::Uniform => weight,
            NearestWeights::Distance if nearest == 0.0 => {
                if neighbour.distance == 0.0 {
                    weight
                } else {
                    0.0
                }
            }
            // The ratio to the nearest distance stays in range.
            NearestWeights::Distance => weight * (nearest / neighbour.distance).sqrt(),
        }
    }
}

/// Keeps the first rows that carry `mass`, the last of them only in part; false if all together carry less.
fn cut_at(near: &mut Vec<(Neighbour, f64)>, mass: f64) -> bool {
    let mut missing = mass;
    for i in 0..near.len() {
        if near[i].1 >= missing {
            near[i].1 = missing;
            near.truncate(i + 1);
            return true;
        }
        missing -= near[i].1;
    }
    false
}

impl State for NearestFit {
    fn name(&self) -> &'static str {
        "nearest"
    }

    fn features(&self) -> usize {
        self.features
    }

    fn task(&self) -> Task {
        self.task
    }

    fn predict(&self, x: Rows, out: &mut [f64]) {
        let outputs = self.task.outputs();
        let tree = KdTree::new(&Matrix::from_rows(self.features, self.x.clone()));
        let (mut heap, mut near) = (BinaryHeap::new(), Vec::new());
        for (r, out) in out.chunks_exact_mut(outputs).enumerate() {
            self.chosen(&tree, x.row(r), &mut heap, &mut near);
            let nearest = near[0].0.distance;
            let influence = |(n, w): &(Neighbour, f64)| self.influence(n, *w, nearest);
            let total: f64 = near.iter().map(influence).sum();
            out.fill(0.0);
            for pair in &near {
                let row = pair.0.index as usize;
                axpy(influence(pair) / total, &self.y[row * outputs..(row + 1) * outputs], out);
            }
        }
    }

    fn check(&self) -> Result<(), &'static str> {
        let rows = self.weight.len();
        if rows == 0 || self.features == 0 || self.options.neighbours == 0 {
            return Err("it has no rows, no features or no neighbours");
        }
        let sizes = (rows.checked_mul(self.features), rows.checked_mul(self.task.outputs()));
        if sizes != (Some(self.x.len()), Some(self.y.len())) {
            return Err("its numbers of rows do not agree");
        }
        let finite = self.x.iter().chain(&self.y).all(|v| v.is_finite());
        let positive = self.weight.iter().all(|w| *w > 0.0 && w.is_finite());
        if finite && positive { Ok(()) } else { Err("a number is not finite or a weight not positive") }
    }
}
