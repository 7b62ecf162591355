//! Derivatives of the deviance: the formulas stand in [`likelihood`](super::likelihood).

use super::dense::{add_product, product};
use super::likelihood::{Evaluation, Model};
use super::system::Root;
use crate::matrix::{axpy, dot};

/// Derivatives of the deviance, and the step of expectation-maximisation.
pub struct Slopes {
    /// By `Lambda`, `d x p`.
    pub root: Vec<f64>,
    /// By `log kappa`.
    pub log_kappa: f64,
    /// `Lambda E Lambda'` is the covariance that expectation-maximisation would go to.
    pub expected: Vec<f64>,
}

impl Model<'_, '_> {
    /// The derivatives at an evaluation, whose blocks are computed on the way.
    pub fn slopes(&self, at: &mut Evaluation) -> Slopes {
        let mut slopes = self.slope_sums(at, self.is_restricted());
        let count = self.moments.nodes() as f64;
        slopes.expected.iter_mut().for_each(|e| *e /= count);
        slopes
    }

    /// The same, with `expected` a sum over these nodes; `restricted` if the common mean is integrated out.
    pub(super) fn slope_sums(&self, at: &mut Evaluation, restricted: bool) -> Slopes {
        at.system.invert();
        let means = restricted.then(|| Means::of(at));
        Slopes { root: self.root_slope(at, means.as_ref()), ..self.precision_slopes(at, means.as_ref()) }
    }

    fn root_slope(&self, at: &Evaluation, means: Option<&Means>) -> Vec<f64> {
        let (moments, Root { d, p, entries: root }) = (self.moments, &at.system.root);
        let (d, p) = (*d, *p);
        let (mut slope, mut block) = (vec![0.0; d * p], vec![0.0; p * p]);
        let (mut inner, mut left) = (vec![0.0; d * p], vec![0.0; d * d]);
        for i in (0..moments.nodes()).filter(|i| moments.rows[*i] > 0.0) {
            at.system.block(i, i, &mut block);
            inner.fill(0.0);
            add_product(root, &block, d, p, p, &mut inner);
            if let Some(means) = means {
                // G_i S^-1 = S^-1 - Lambda U_i S^-1.
                left.copy_from_slice(&at.mean_covariance);
                for (root, left) in root.chunks_exact(p).zip(left.chunks_exact_mut(d)) {
                    root.iter().zip(means.scaled(i)).for_each(|(l, row)| axpy(-l, row, left));
                }
                for (left, inner) in left.chunks_exact(d).zip(inner.chunks_exact_mut(p)) {
                    inner.iter_mut().zip(means.own(i)).for_each(|(e, row)| *e -= dot(left, row));
                }
            }
            add_product(moments.form(i), &inner, d, d, p, &mut slope);
            let gradient = self.misfit(at, i);
            let u = &at.u[i * p..(i + 1) * p];
            for (g, row) in gradient.iter().zip(slope.chunks_exact_mut(p)) {
                axpy(-g / at.s2, u, row);
            }
        }
        slope.iter_mut().for_each(|s| *s *= 2.0);
        slope
    }

    fn precision_slopes(&self, at: &Evaluation, means: Option<&Means>) -> Slopes {
        let p = at.system.root.p;
        let (mut log_kappa, mut expected, mut block) = (0.0, vec![0.0; p * p], vec![0.0; p * p]);
        at.system.for_entries(|i, j, value, slope| {
            at.system.block(i, j, &mut block);
            let (u_i, u_j) = (&at.u[i * p..(i + 1) * p], &at.u[j * p..(j + 1) * p]);
            for (a, row) in block.chunks_exact_mut(p).enumerate() {
                axpy(u_i[a] / at.s2, u_j, row);
            }
            if let Some(means) = means {
                for (left, row) in means.scaled(i).zip(block.chunks_exact_mut(p)) {
                    row.iter_mut().zip(means.own(j)).for_each(|(b, right)| *b += dot(left, right));
                }
            }
            let twice = if i == j { 1.0 } else { 2.0 };
            log_kappa += twice * slope * (0..p).map(|a| block[a * p + a]).sum::<f64>();
            for (a, b) in (0..p * p).map(|k| (k / p, k % p)) {
                expected[a * p + b] += 0.5 * twice * value * (block[a * p + b] + block[b * p + a]);
            }
        });
        Slopes { root: Vec::new(), log_kappa, expected }
    }
}

/// `U_i` and `U_i S^-1` of all nodes, row after row.
struct Means {
    d: usize,
    p: usize,
    own: Vec<f64>,
    scaled: Vec<f64>,
}

impl Means {
    fn of(at: &Evaluation) -> Self {
        let (d, p) = (at.system.root.d, at.system.root.p);
        let rows = at.u.len();
        let own: Vec<f64> = (0..rows * d).map(|k| at.means[(k % d) * rows + k / d]).collect();
        let scaled = product(&own, &at.mean_covariance, rows, d, d);
        Means { d, p, own, scaled }
    }

    fn own(&self, node: usize) -> impl Iterator<Item = &[f64]> {
        self.own[node * self.p * self.d..(node + 1) * self.p * self.d].chunks_exact(self.d)
    }

    fn scaled(&self, node: usize) -> impl Iterator<Item = &[f64]> {
        self.scaled[node * self.p * self.d..(node + 1) * self.p * self.d].chunks_exact(self.d)
    }
}
