//! The model at one place: a regression on the rows of the nodes around it.

use super::{Gist, Kernel, distance};
use crate::linalg::cholesky::{factor, packed_len, solve};
use crate::matrix::{Matrix, axpy, dot};

/// The rows around a place, and what does not depend on the kernel.
pub struct Around<'a> {
    members: Vec<Member<'a>>,
    directions: usize,
    /// `x_a'x_b` of all pairs of rows, a lower triangle in packed rows.
    products: Vec<f64>,
    y: Vec<f64>,
}

/// A node with rows.
struct Member<'a> {
    rows: &'a Gist,
    /// How far it is from the place, and whether it is the node whose model is asked for.
    away: f64,
    own: bool,
    /// How far it is from the members before it.
    apart: Vec<f64>,
}

impl<'a> Around<'a> {
    /// Neighbours, and the rows of the node itself.
    pub fn new(near: &[&'a Gist], at: &Matrix, place: &[f64], own: &'a Gist, directions: usize) -> Self {
        let mut members: Vec<Member> = Vec::with_capacity(near.len() + 1);
        for rows in near {
            let here = at.row(rows.node);
            let apart = members.iter().map(|other| distance(here, at.row(other.rows.node))).collect();
            members.push(Member { rows, away: distance(here, place), own: false, apart });
        }
        let apart = members.iter().map(|other| other.away).collect();
        members.push(Member { rows: own, away: 0.0, own: true, apart });
        let x: Vec<&[f64]> = members.iter().flat_map(|m| m.rows.x.chunks_exact(directions)).collect();
        let mut products = Vec::with_capacity(packed_len(x.len()));
        x.iter().enumerate().for_each(|(a, row)| products.extend(x[..=a].iter().map(|other| dot(row, other))));
        let y = members.iter().flat_map(|m| m.rows.y.iter().copied()).collect();
        Around { members, directions, products, y }
    }

    /// `sum_j cov(place, j) x_j' (I + X (K (x) I) X')^-1 y`: the deviation of the model from the common mean.
    pub fn solve(&self, kernel: &Kernel) -> Vec<f64> {
        let mut weights = self.y.clone();
        let mut system = self.products.clone();
        let mut entries = system.iter_mut();
        let mut rows = 0;
        for member in &self.members {
            let before = member.apart.iter().zip(&self.members);
            let shared: Vec<(f64, usize)> =
                before.map(|(apart, other)| (kernel.covariance(*apart, false), other.rows.count)).collect();
            for k in 0..member.rows.count {
                for (covariance, count) in &shared {
                    entries.by_ref().take(*count).for_each(|entry| *entry *= covariance);
                }
                let variance = kernel.covariance(0.0, true);
                entries.by_ref().take(k + 1).for_each(|entry| *entry *= variance);
                rows += 1;
            }
        }
        (0..rows).for_each(|a| system[packed_len(a) + a] += 1.0);
        factor(&mut system, rows);
        solve(&system, &mut weights);
        let mut v = vec![0.0; self.directions];
        let mut weights = weights.iter();
        for member in &self.members {
            let covariance = kernel.covariance(member.away, member.own);
            for (x, weight) in member.rows.x.chunks_exact(self.directions).zip(weights.by_ref()) {
                axpy(covariance * weight, x, &mut v);
            }
        }
        v
    }
}
