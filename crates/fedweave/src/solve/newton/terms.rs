//! `sum_i L_i(w_i)` as Newton's method sees it: a value, a gradient and a Hessian at every place.

use rayon::prelude::*;

use crate::graph::partition::Partition;
use crate::linalg::cholesky::{self, packed_len};
use crate::loss::{Loss, SecondOrder};
use crate::matrix::{Matrix, axpy, dot};
use crate::scratch::Scratch;

/// Smooth functions, one at every place. The functions are those of [`Loss`] and [`SecondOrder`].
pub trait Terms: Sync {
    fn dim(&self) -> usize;
    fn work_len(&self) -> usize;
    fn cost(&self) -> usize;
    fn is_quadratic(&self) -> bool;
    /// The value; `out` gets the gradient.
    fn value_and_gradient(&self, place: usize, w: &[f64], out: &mut [f64]) -> f64;
    fn hessian_len(&self, place: usize) -> usize;
    fn hessian(&self, place: usize, w: &[f64], out: &mut [f64], work: &mut [f64]);
    fn hessian_product(&self, place: usize, hessian: &[f64], v: &[f64], out: &mut [f64]);
    fn add_hessian(&self, place: usize, hessian: &[f64], sum: &mut [f64]);
    /// `sum <- sum +` the diagonal of the Hessian.
    fn add_hessian_diagonal(&self, place: usize, hessian: &[f64], sum: &mut [f64]);
    /// False if factors are those of something near the Hessian.
    fn factors_are_exact(&self) -> bool {
        true
    }
    fn factor_len(&self, place: usize) -> usize;
    fn factor(&self, place: usize, hessian: &[f64], shift: f64, out: &mut [f64], work: &mut [f64]);
    fn factor_solve(&self, place: usize, shift: f64, factor: &[f64], b: &mut [f64], work: &mut [f64]);
}

/// Places whose curvature stands for all.
const SAMPLE: usize = 256;

/// The mean of the diagonals of the Hessians at `w(place)`, from a sample of the places; 1 if there is no curvature.
pub fn mean_curvature<'w>(terms: &dyn Terms, places: usize, w: impl Fn(usize) -> &'w [f64]) -> f64 {
    let d = terms.dim();
    let (mut sum, mut work) = (vec![0.0; d], vec![0.0; terms.work_len()]);
    let sample = (0..places).step_by(places.div_ceil(SAMPLE).max(1));
    for place in sample.clone() {
        let mut hessian = vec![0.0; terms.hessian_len(place)];
        terms.hessian(place, w(place), &mut hessian, &mut work);
        terms.add_hessian_diagonal(place, &hessian, &mut sum);
    }
    let trace: f64 = sum.iter().sum();
    let mean = trace / (sample.count() * d) as f64;
    if mean > 0.0 && mean.is_finite() { mean } else { 1.0 }
}

/// The losses of the nodes.
pub struct Losses<'a> {
    loss: &'a dyn Loss,
    second: &'a dyn SecondOrder,
}

impl<'a> Losses<'a> {
    /// Panics if no Hessians are known: whoever chooses a second-order method asks first.
    pub fn of(loss: &'a dyn Loss) -> Self {
        Losses { loss, second: hessians(loss) }
    }
}

fn hessians(loss: &dyn Loss) -> &dyn SecondOrder {
    loss.second_order().expect("second-order methods are chosen for losses with Hessians")
}

impl Terms for Losses<'_> {
    fn dim(&self) -> usize {
        self.loss.dim()
    }

    fn work_len(&self) -> usize {
        self.loss.work_len()
    }

    fn cost(&self) -> usize {
        self.loss.cost()
    }

    fn is_quadratic(&self) -> bool {
        self.second.is_constant()
    }

    fn value_and_gradient(&self, place: usize, w: &[f64], out: &mut [f64]) -> f64 {
        self.loss.value_and_gradient(place, w, out)
    }

    fn hessian_len(&self, place: usize) -> usize {
        self.second.hessian_len(place)
    }

    fn hessian(&self, place: usize, w: &[f64], out: &mut [f64], work: &mut [f64]) {
        self.second.hessian(place, w, out, work);
    }

    fn hessian_product(&self, place: usize, hessian: &[f64], v: &[f64], out: &mut [f64]) {
        self.second.hessian_product(place, hessian, v, out);
    }

    fn add_hessian(&self, place: usize, hessian: &[f64], sum: &mut [f64]) {
        self.second.add_hessian(place, hessian, sum);
    }

    fn add_hessian_diagonal(&self, place: usize, hessian: &[f64], sum: &mut [f64]) {
        self.second.add_hessian_diagonal(place, hessian, sum);
    }

    fn factor_len(&self, place: usize) -> usize {
        self.second.factor_len(place)
    }

    fn factor(&self, place: usize, hessian: &[f64], shift: f64, out: &mut [f64], work: &mut [f64]) {
        self.second.factor(place, hessian, shift, out, work);
    }

    fn factor_solve(&self, place: usize, shift: f64, factor: &[f64], b: &mut [f64], work: &mut [f64]) {
        self.second.factor_solve(place, shift, factor, b, work);
    }
}

/// Members of the parts of a partition, part after part.
pub struct Members {
    offsets: Vec<usize>,
    nodes: Vec<u32>,
}

impl Members {
    pub fn of(partition: &Partition, nodes: usize) -> Self {
        let mut offsets = vec![0];
        partition.sizes().iter().for_each(|size| offsets.push(offsets[offsets.len() - 1] + size));
        let mut next = offsets.clone();
        let mut members = vec![0; nodes];
        for i in 0..nodes {
            let part = partition.part(i);
            members[next[part]] = i as u32;
            next[part] += 1;
        }
        Members { offsets, nodes: members }
    }

    pub fn of_part(&self, part: usize) -> &[u32] {
        &self.nodes[self.offsets[part]..self.offsets[part + 1]]
    }

    pub fn parts(&self) -> usize {
        self.offsets.len() - 1
    }
}

/// Losses of fused nodes, added up: `w -> sum_{i in part} L_i(w)`.
pub struct Fused<'a> {
    loss: &'a dyn Loss,
    second: &'a dyn SecondOrder,
    members: &'a Members,
    /// For quadratic losses: value, gradient and Hessian at `center`, so that nobody has to visit the members again.
    expansion: Option<Expansion>,
}

struct Expansion {
    center: Matrix,
    value: Vec<f64>,
    gradient: Matrix,
    hessian: Vec<f64>,
}

/// Members whose terms one task adds up.
const CHUNK: usize = 256;

impl<'a> Fused<'a> {
    pub fn new(loss: &'a dyn Loss, members: &'a Members, center: &Matrix) -> Self {
        let expansion = loss.is_quadratic().then(|| Expansion::new(loss, members, center));
        Fused { loss, second: hessians(loss), members, expansion }
    }
}

impl Expansion {
    fn new(loss: &dyn Loss, members: &Members, center: &Matrix) -> Self {
        let (d, parts, second) = (loss.dim(), members.parts(), hessians(loss));
        let packed = packed_len(d);
        let tasks: Vec<(usize, &[u32])> =
            (0..parts).flat_map(|p| members.of_part(p).chunks(CHUNK).map(move |chunk| (p, chunk))).collect();
        let len_max = |nodes: &[u32]| nodes.iter().map(|&i| second.hessian_len(i as usize)).max().unwrap_or(0);
        let scratch = Scratch::new(loss.work_len() + d + len_max(&members.nodes));
        let sum = |&(part, nodes): &(usize, &[u32])| {
            let (mut value, mut sum, mut work) = (0.0, vec![0.0; d + packed], scratch.lock());
            let (g, work) = work.split_at_mut(d);
            let (gradient, hessian) = sum.split_at_mut(d);
            for &i in nodes {
                let i = i as usize;
                value += loss.value_and_gradient(i, center.row(part), g);
                axpy(1.0, g, gradient);
                let (own, work) = work.split_at_mut(second.hessian_len(i));
                second.hessian(i, center.row(part), own, work);
                second.add_hessian(i, own, hessian);
            }
            (value, sum)
        };
        let sums: Vec<(f64, Vec<f64>)> = tasks.par_iter().map(sum).collect();
        let mut all = Expansion {
            center: center.clone(),
            value: vec![0.0; parts],
            gradient: Matrix::zeros(parts, d),
            hessian: vec![0.0; parts * packed],
        };
        for ((part, _), (value, sum)) in tasks.iter().zip(&sums) {
            all.value[*part] += value;
            axpy(1.0, &sum[..d], all.gradient.row_mut(*part));
            axpy(1.0, &sum[d..], &mut all.hessian[part * packed..(part + 1) * packed]);
        }
        all
    }

    fn hessian(&self, place: usize) -> &[f64] {
        let packed = packed_len(self.center.cols());
        &self.hessian[place * packed..(place + 1) * packed]
    }

    /// `value + gradient'(w - center) + (w - center)' H (w - center) / 2`.
    fn value_and_gradient(&self, place: usize, w: &[f64], out: &mut [f64]) -> f64 {
        let step: Vec<f64> = w.iter().zip(self.center.row(place)).map(|(w, c)| w - c).collect();
        cholesky::symmetric_product(self.hessian(place), &step, out);
        let value = self.value[place] + dot(self.gradient.row(place), &step) + 0.5 * dot(out, &step);
        axpy(1.0, self.gradient.row(place), out);
        value
    }
}

impl Terms for Fused<'_> {
    fn dim(&self) -> usize {
        self.loss.dim()
    }

    fn work_len(&self) -> usize {
        let len = |i: &u32| self.second.hessian_len(*i as usize);
        self.loss.work_len() + self.members.nodes.iter().map(len).max().unwrap_or(0)
    }

    fn cost(&self) -> usize {
        match self.expansion {
            Some(_) => packed_len(self.dim()),
            None => self.loss.cost() * self.members.nodes.len() / self.members.parts().max(1),
        }
    }

    fn is_quadratic(&self) -> bool {
        self.expansion.is_some()
    }

    fn value_and_gradient(&self, place: usize, w: &[f64], out: &mut [f64]) -> f64 {
        if let Some(expansion) = &self.expansion {
            return expansion.value_and_gradient(place, w, out);
        }
        let (mut value, mut own) = (0.0, vec![0.0; w.len()]);
        out.fill(0.0);
        for &i in self.members.of_part(place) {
            value += self.loss.value_and_gradient(i as usize, w, &mut own);
            axpy(1.0, &own, out);
        }
        value
    }

    fn hessian_len(&self, _place: usize) -> usize {
        packed_len(self.dim())
    }

    fn hessian(&self, place: usize, w: &[f64], out: &mut [f64], work: &mut [f64]) {
        if let Some(expansion) = &self.expansion {
            return out.copy_from_slice(expansion.hessian(place));
        }
        out.fill(0.0);
        for &i in self.members.of_part(place) {
            let (own, work) = work.split_at_mut(self.second.hessian_len(i as usize));
            self.second.hessian(i as usize, w, own, work);
            self.second.add_hessian(i as usize, own, out);
        }
    }

    fn hessian_product(&self, _place: usize, hessian: &[f64], v: &[f64], out: &mut [f64]) {
        cholesky::symmetric_product(hessian, v, out);
    }

    fn add_hessian(&self, _place: usize, hessian: &[f64], sum: &mut [f64]) {
        axpy(1.0, hessian, sum);
    }

    fn add_hessian_diagonal(&self, _place: usize, hessian: &[f64], sum: &mut [f64]) {
        sum.iter_mut().enumerate().for_each(|(j, s)| *s += hessian[packed_len(j) + j]);
    }

    fn factor_len(&self, _place: usize) -> usize {
        packed_len(self.dim())
    }

    fn factor(&self, _place: usize, hessian: &[f64], shift: f64, out: &mut [f64], _work: &mut [f64]) {
        out.copy_from_slice(hessian);
        (0..self.dim()).for_each(|i| out[packed_len(i) + i] += shift);
        cholesky::factor(out, self.dim());
    }

    fn factor_solve(&self, _place: usize, _shift: f64, factor: &[f64], b: &mut [f64], _work: &mut [f64]) {
        cholesky::solve(factor, b);
    }
}
