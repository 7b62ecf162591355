//! Quadratics above the loss, whose proximal steps cost one gradient.

use super::Multinomial;
use crate::linalg::normal;
use crate::loss::{Loss, Prepared};
use crate::matrix::axpy;
use crate::parallel::{arena, for_pieces};

impl Multinomial {
    /// A factor of `X'AX / 2 + 2 ridge + 1 / tau` for every place; through a kernel where rows are fewer than features.
    pub(super) fn majorisers(&self, nodes: &[u32], tau: &[f64]) -> Prepared {
        let coupled = |place: usize| tau[place] > 0.0 && self.has_rows(nodes[place] as usize);
        let rows = |place: usize| self.rows.data.rows(nodes[place] as usize);
        let len =
            |place: usize| if coupled(place) { normal::factor_len(rows(place).len(), self.features()) } else { 0 };
        let (offsets, mut factors) = arena(nodes.len(), len);
        for_pieces(&offsets, &mut factors, |place, piece| {
            if piece.is_empty() {
                return;
            }
            let curvature: Vec<f64> = self.rows.share[rows(place)].iter().map(|a| 0.5 * a).collect();
            self.rows.normal(nodes[place] as usize, 1.0 / tau[place]).factor_rows(&curvature, piece);
        });
        Prepared { offsets, factors }
    }

    /// `g <- (M + shift)^-1 g` with `M` above all Hessians: `(I - 11'/K) (x) X'AX / 2 + 2 ridge` (Boehning 1992), which is the ridge
    /// on the mean of the classes, and has one factor on what they differ by from it.
    pub(super) fn solve_majorised(&self, node: usize, shift: f64, factor: &[f64], g: &mut [f64], work: &mut [f64]) {
        let (p, normal) = (self.features(), self.rows.normal(node, shift));
        let (mean, work) = work.split_at_mut(p);
        mean.fill(0.0);
        g.chunks_exact(p).for_each(|block| axpy(1.0 / self.classes as f64, block, mean));
        for block in g.chunks_exact_mut(p) {
            axpy(-1.0, mean, block);
            normal.solve(factor, block, work);
            let rest = mean.iter().zip(&self.rows.twice_ridge).map(|(m, q)| m / (q + shift));
            block.iter_mut().zip(rest).for_each(|(b, m)| *b += m);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use crate::laws::Draw;
    use crate::loss::LossOptions;
    use crate::matrix::{Matrix, norm2};

    /// Steps on quadratics above the loss end at the proximal point, and every one of them lowers the value.
    #[test]
    fn majorised_steps_lead_to_the_proximal_point() {
        for seed in 0..50 {
            let mut draw = Draw::new(seed);
            let (features, classes, rows) = (1 + draw.below(4), 2 + draw.below(4), 1 + draw.below(9));
            let x = Matrix::from_rows(features, draw.normal(rows * features, 1.5));
            let y = (0..rows).map(|_| draw.below(classes) as f64).collect();
            let data = Dataset::new(vec![0, rows], x, y, vec![1.0; rows]).unwrap();
            let options = LossOptions { ridge: [0.0, 0.1][draw.below(2)], spare_last: true, ..Default::default() };
            let loss = Multinomial::new(classes, data, &options).unwrap();
            let (v, tau) = (draw.normal(loss.dim(), 1.0), [draw.log_uniform(0.1, 2.0)]);
            let (prepared, mut work) = (loss.prepare_majorised(&[0], &tau), vec![0.0; loss.work_len() + loss.dim()]);
            let mut wanted = v.clone();
            loss.prox(0, tau[0], &mut wanted, &mut work);
            let value = |z: &[f64]| {
                let away: f64 = z.iter().zip(&v).map(|(z, v)| (z - v) * (z - v)).sum();
                loss.value(0, z) + away / (2.0 * tau[0])
            };
            let mut at = v.clone();
            for _ in 0..400 {
                let (old, before) = (at.clone(), value(&at));
                at.copy_from_slice(&v);
                loss.majorised_rows(0, &[0], &tau, &prepared, &old, &mut at, &mut work);
                assert!(value(&at) <= before + 1e-12 * before.abs(), "seed {seed}");
            }
            let off: Vec<f64> = at.iter().zip(&wanted).map(|(a, b)| a - b).collect();
            assert!(norm2(&off) <= 1e-6 * (1.0 + norm2(&wanted)), "seed {seed}: {:e}", norm2(&off));
        }
    }
}
