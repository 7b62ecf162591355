//! Where nodes are: how near two of them are, and which are the nearest of one.

use std::collections::BinaryHeap;

use super::kernel::FAR;
use super::{Geometry, Metric};
use crate::error::{Error, Result};
use crate::graph::kd_tree::KdTree;
use crate::graph::{Graph, great_circle_points, laplacian};
use crate::matrix::Matrix;
use crate::parallel::ordered_map;

/// Neighbours of a node that are looked at.
const AROUND: usize = 255;
/// Up to this many nodes all distances are computed once.
const TABLE_MAX: usize = 1024;
/// Nodes of a graph at most: the covariance of all pairs is held.
const GRAPH_MAX: usize = 6000;
/// Mean radius of the earth.
const EARTH_KM: f64 = 6371.0088;

/// The nodes in space.
pub struct Space {
    near: Near,
    /// The nearest other nodes of every node, nearest first.
    around: Vec<Vec<u32>>,
    /// True for a graph, where `near` is a covariance.
    linked: bool,
}

enum Near {
    /// All pairs: distances, or covariances of a graph.
    Table {
        nodes: usize,
        entries: Vec<f64>,
    },
    Places(Places),
    Nowhere,
}

/// Nodes with coordinates, and nodes without.
struct Places {
    points: Matrix,
    metric: Metric,
    placed: Vec<bool>,
}

impl Space {
    /// Reads a geometry. `kappa` is the share of its mean degree that a graph has on the diagonal.
    pub fn new(geometry: &Geometry, kappa: f64) -> Result<Self> {
        match geometry {
            Geometry::None => Ok(Space { near: Near::Nowhere, around: Vec::new(), linked: false }),
            Geometry::Positions(positions, metric) => Self::of_places(Places::new(positions, *metric)?),
            Geometry::Graph(graph) => Self::of_graph(graph, kappa),
        }
    }

    /// Distance of two nodes, or their covariance on a graph. A node that is not known is near itself only.
    pub fn near(&self, i: u32, j: u32) -> f64 {
        match &self.near {
            Near::Table { nodes, entries } if (i.max(j) as usize) < *nodes => entries[i as usize * nodes + j as usize],
            Near::Places(places) => places.distance(i, j),
            _ if self.linked => f64::from(u8::from(i == j)),
            _ if i == j => 0.0,
            _ => FAR,
        }
    }

    /// The nearest other nodes of a node, nearest first.
    pub fn around(&self, node: u32) -> &[u32] {
        self.around.get(node as usize).map_or(&[], |a| a)
    }

    fn of_places(places: Places) -> Result<Self> {
        let nodes = places.placed.len();
        let around = places.nearest();
        if nodes > TABLE_MAX {
            return Ok(Space { near: Near::Places(places), around, linked: false });
        }
        let entries = (0..nodes * nodes).map(|k| places.distance((k / nodes) as u32, (k % nodes) as u32)).collect();
        Ok(Space { near: Near::Table { nodes, entries }, around, linked: false })
    }

    /// `(kappa I + L)^-1` in units of its mean diagonal.
    fn of_graph(graph: &Graph, kappa: f64) -> Result<Self> {
        let nodes = graph.nodes();
        let too_large =
            Error::Method { method: "shared shocks", needs: "positions where the graph has over 6000 nodes" };
        if nodes > GRAPH_MAX {
            return Err(too_large);
        }
        let plan = laplacian::plan(graph).ok_or(too_large.clone())?;
        let shift = kappa * mean_degree(graph);
        let factor = laplacian::factor(&plan, graph, 1.0, |_| shift).ok_or(too_large)?;
        let columns = ordered_map(nodes, |i| {
            let (mut unit, mut column) = (vec![0.0; nodes], vec![0.0; nodes]);
            unit[i] = 1.0;
            factor.solve(&unit, &mut column);
            column
        });
        let mut entries = columns.concat();
        let level = (0..nodes).map(|i| entries[i * nodes + i]).sum::<f64>() / nodes as f64;
        entries.iter_mut().for_each(|v| *v /= level);
        let around = ordered_map(nodes, |i| {
            let row = &entries[i * nodes..][..nodes];
            let mut others: Vec<u32> =
                (0..nodes as u32).filter(|&j| j as usize != i && row[j as usize] > 0.0).collect();
            others.sort_by(|&a, &b| row[b as usize].total_cmp(&row[a as usize]).then(a.cmp(&b)));
            others.truncate(AROUND);
            others
        });
        Ok(Space { near: Near::Table { nodes, entries }, around, linked: true })
    }
}

/// Mean weighted degree; 1 without edges.
pub fn mean_degree(graph: &Graph) -> f64 {
    let sum: f64 = (0..graph.nodes()).map(|i| graph.weighted_degree(i)).sum();
    if sum > 0.0 { sum / graph.nodes() as f64 } else { 1.0 }
}

impl Places {
    /// A row that is not finite belongs to a node without a place.
    fn new(positions: &Matrix, metric: Metric) -> Result<Self> {
        let placed: Vec<bool> = (0..positions.rows()).map(|i| positions.row(i).iter().all(|v| v.is_finite())).collect();
        let mut known = positions.clone();
        (0..known.rows()).filter(|i| !placed[*i]).for_each(|i| known.row_mut(i).fill(0.0));
        let points = match metric {
            Metric::Euclidean => known,
            Metric::GreatCircle => great_circle_points(&known)?,
        };
        Ok(Places { points, metric, placed })
    }

    fn distance(&self, i: u32, j: u32) -> f64 {
        let placed = |i: u32| self.placed.get(i as usize).is_some_and(|p| *p);
        match i == j {
            true => 0.0,
            false if !(placed(i) && placed(j)) => FAR,
            false => {
                let (a, b) = (self.points.row(i as usize), self.points.row(j as usize));
                let chord = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
                match self.metric {
                    Metric::Euclidean => chord,
                    Metric::GreatCircle => 2.0 * EARTH_KM * (0.5 * chord).min(1.0).asin(),
                }
            }
        }
    }

    fn nearest(&self) -> Vec<Vec<u32>> {
        let known: Vec<u32> = (0..self.placed.len() as u32).filter(|i| self.placed[*i as usize]).collect();
        let coordinates = known.iter().flat_map(|&i| self.points.row(i as usize)).copied().collect();
        let tree = KdTree::new(&Matrix::from_rows(self.points.cols().max(1), coordinates));
        let found = ordered_map(known.len(), |k| {
            let mut heap = BinaryHeap::new();
            tree.nearest(self.points.row(known[k] as usize), k as u32, AROUND.min(known.len() - 1), &mut heap);
            heap.into_sorted_vec().iter().map(|n| known[n.index as usize]).collect::<Vec<u32>>()
        });
        let mut around = vec![Vec::new(); self.placed.len()];
        known.iter().zip(found).for_each(|(&i, near)| around[i as usize] = near);
        around
    }
}
