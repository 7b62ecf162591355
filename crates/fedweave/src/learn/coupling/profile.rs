//! The likelihood with the models eliminated: what is left is about the common mean and the noise.

use super::dense::add_product;
use super::likelihood::Model;
use super::network::Precision;
use super::system::{Root, System};
use crate::matrix::dot;

/// What is left when the models are eliminated.
pub struct Profile<'a> {
    /// The factor.
    pub system: System<'a>,
    /// `K^-1` times the columns of `B` and `Lambda'c`, one after another.
    pub solved: Vec<f64>,
    /// `Lambda'c`.
    pub targets: Vec<f64>,
    /// `K^-1 Lambda'c`.
    pub target_means: Vec<f64>,
    /// `S`.
    pub s: Vec<f64>,
    /// `S mu` at the best common mean.
    pub v: Vec<f64>,
}

impl<'a> Model<'a, '_> {
    /// Factors `K` and eliminates the models; `None` where it cannot be factored.
    pub(super) fn profile(&self, root: &Root, precision: Precision) -> Option<Profile<'a>> {
        let (moments, d, p) = (self.moments, root.d, root.p);
        let system = System::new(self.network, self.plan, &moments.a, root.clone(), precision)?;
        let n = moments.nodes();
        // B and Lambda'c, column after column.
        let mut right = vec![0.0; n * p * (d + 1)];
        for i in 0..n {
            for (j, row) in system.spread[i * d * p..(i + 1) * d * p].chunks_exact(p).enumerate() {
                right[(j * n + i) * p..][..p].copy_from_slice(row);
            }
            let own = &mut right[(d * n + i) * p..][..p];
            add_product(moments.right(i), &root.entries, 1, d, p, own);
        }
        let mut solved = right.clone();
        system.solve(&mut solved, d + 1);
        let column = |v: &[f64], j: usize| v[j * n * p..(j + 1) * n * p].to_vec();
        let (targets, target_means) = (column(&right, d), column(&solved, d));
        let mut s = moments.total_form();
        for (j, k) in (0..d * d).map(|e| (e / d, e % d)) {
            s[j * d + k] -= dot(&right[j * n * p..(j + 1) * n * p], &solved[k * n * p..(k + 1) * n * p]);
        }
        let mut v = moments.total_right();
        (0..d).for_each(|j| v[j] -= dot(&right[j * n * p..(j + 1) * n * p], &target_means));
        Some(Profile { system, solved, targets, target_means, s, v })
    }
}
