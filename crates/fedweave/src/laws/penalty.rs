//! The laws of a penalty.

use super::{Draw, Violation, at_most, check_firm, check_prox_point, difference};
use crate::matrix::{dot, norm2};
use crate::penalty::Penalty;

/// Checks one random case in dimension `dim`: differences, flows, weights and steps drawn from `seed`.
pub fn check_penalty(penalty: &dyn Penalty, dim: usize, seed: u64) -> Result<(), Violation> {
    let mut draw = Draw::new(seed);
    let scale = draw.log_uniform(0.05, 20.0);
    let (a, b) = (draw.normal(dim, scale), draw.normal(dim, scale));
    let (weight, sigma) = (draw.log_uniform(0.1, 10.0), draw.log_uniform(0.1, 10.0));
    let mut case = PenaltyCase { penalty, weight, sigma, work: vec![0.0; 8 * dim] };
    case.shape(&a, &b)?;
    case.prox(&a, &b, &mut draw)?;
    case.moreau(&a)?;
    case.fenchel(&a, &b)?;
    case.gradient(&a, &b)?;
    case.pull(&a)?;
    case.dual_norm(&a)?;
    case.jacobian(&a, &b)?;
    case.blocks(&a, &b)
}

struct PenaltyCase<'p> {
    penalty: &'p dyn Penalty,
    weight: f64,
    sigma: f64,
    work: Vec<f64>,
}

impl PenaltyCase<'_> {
    /// Zero at zero, positive, even, convex.
    fn shape(&self, a: &[f64], b: &[f64]) -> Result<(), Violation> {
        let phi = |t: &[f64]| self.penalty.value(0, t);
        let minus: Vec<f64> = a.iter().map(|a| -a).collect();
        let middle: Vec<f64> = a.iter().zip(b).map(|(a, b)| 0.5 * (a + b)).collect();
        let rounding = 1e-12 * (1.0 + phi(a) + phi(b));
        at_most("zero at zero", phi(&vec![0.0; a.len()]).abs(), 0.0)?;
        at_most("positivity", -phi(a), rounding)?;
        at_most("symmetry", (phi(a) - phi(&minus)).abs(), rounding)?;
        at_most("convexity", phi(&middle) - 0.5 * (phi(a) + phi(b)), rounding)
    }

    fn prox_of(&mut self, t: &[f64]) -> Vec<f64> {
        let mut z = t.to_vec();
        self.penalty.prox(0, self.weight, &mut z, &mut self.work);
        z
    }

    fn dual_of(&mut self, u: &[f64]) -> Vec<f64> {
        let mut z = u.to_vec();
        self.penalty.prox_conjugate(0, self.weight, self.sigma, &mut z, &mut self.work);
        z
    }

    fn prox(&mut self, a: &[f64], b: &[f64], draw: &mut Draw) -> Result<(), Violation> {
        let (pa, pb) = (self.prox_of(a), self.prox_of(b));
        check_firm(&pa, &pb, a, b)?;
        let h = |z: &[f64]| self.weight * self.penalty.value(0, z) + 0.5 * norm2(&difference(z, a)).powi(2);
        check_prox_point(h, &pa, a, 1.0, draw)?;
        let (da, db) = (self.dual_of(a), self.dual_of(b));
        check_firm(&da, &db, a, b)
    }

    /// The domain of the conjugate is the ball of the dual norm, where there is one.
    fn dual_norm(&self, u: &[f64]) -> Result<(), Violation> {
        let Some(norm) = self.penalty.dual_norm(0, u) else { return Ok(()) };
        let excess = (norm / self.weight - 1.0).max(0.0);
        let found = self.penalty.excess(0, self.weight, u);
        at_most("dual norm", (found - excess).abs(), 1e-12 * (1.0 + excess))
    }

    /// `prox*(u) = u - sigma prox_{weight / sigma}(u / sigma)`.
    fn moreau(&mut self, u: &[f64]) -> Result<(), Violation> {
        let mut t: Vec<f64> = u.iter().map(|u| u / self.sigma).collect();
        self.penalty.prox(0, self.weight / self.sigma, &mut t, &mut self.work);
        let wanted: Vec<f64> = u.iter().zip(&t).map(|(u, t)| u - self.sigma * t).collect();
        at_most("Moreau's identity", norm2(&difference(&self.dual_of(u), &wanted)), 1e-10 * (1.0 + norm2(u)))
    }

    /// `u't <= weight phi(t) + conjugate(u)`, with equality at `t = prox(x)`, `u = x - t`.
    fn fenchel(&mut self, a: &[f64], b: &[f64]) -> Result<(), Violation> {
        let total = |t: &[f64], u: &[f64]| {
            self.weight * self.penalty.value(0, t) + self.penalty.conjugate(0, self.weight, u) - dot(u, t)
        };
        let size = 1.0 + norm2(a).powi(2) + norm2(b).powi(2) * (1.0 + self.weight);
        let t = {
            let mut t = a.to_vec();
            self.penalty.prox(0, self.weight, &mut t, &mut vec![0.0; 8 * a.len()]);
            t
        };
        let u = difference(a, &t);
        at_most("Fenchel's equality", total(&t, &u).abs(), 1e-9 * size)?;
        at_most("Fenchel's inequality", -total(b, &u), 1e-9 * size)?;
        at_most("the dual point is in the domain", self.penalty.excess(0, self.weight, &u), 1e-9)?;
        // What `excess` reports is how much a flow must shrink to be in the domain of a norm's conjugate.
        let excess = self.penalty.excess(0, self.weight, b);
        let shrunk: Vec<f64> = b.iter().map(|b| b / (1.0 + excess)).collect();
        let outside = self.penalty.conjugate(0, self.weight, &shrunk).is_infinite();
        at_most(
            "excess measures the way into the domain",
            f64::from(u8::from(outside && excess.is_finite())),
            self.unbounded(),
        )
    }

    /// A gradient lies below: `phi(b) >= phi(a) + g'(b - a)`; with a smoothness constant it is not far below.
    fn gradient(&mut self, a: &[f64], b: &[f64]) -> Result<(), Violation> {
        let mut g = a.to_vec();
        self.penalty.gradient(0, self.weight, &mut g, &mut self.work);
        let phi = |t: &[f64]| self.weight * self.penalty.value(0, t);
        let (step, size) = (difference(b, a), 1.0 + phi(a) + phi(b));
        let above = phi(b) - phi(a) - dot(&g, &step);
        at_most("a gradient lies below", -above, 1e-10 * size)?;
        let smoothness = 0.5 * self.weight * self.penalty.smoothness(0) * dot(&step, &step);
        at_most("the smoothness of a penalty", above, smoothness + 1e-10 * size)
    }

    /// Nobody pulls harder than the largest pull, and far away nobody pulls much less in any direction than along the axes.
    fn pull(&mut self, a: &[f64]) -> Result<(), Violation> {
        let Some(most) = self.penalty.pull_max(a.len()) else { return Ok(()) };
        for far in [1.0, 1e6] {
            let mut g: Vec<f64> = a.iter().map(|a| far * a).collect();
            self.penalty.gradient(0, self.weight, &mut g, &mut self.work);
            at_most("the largest pull", norm2(&g), self.weight * most * (1.0 + 1e-12))?;
        }
        Ok(())
    }

    /// 1 for penalties whose conjugate has a domain that is a subspace: shrinking does not lead into it.
    fn unbounded(&self) -> f64 {
        f64::from(u8::from(matches!(self.penalty.name(), "quadratic" | "blocks")))
    }

    /// Symmetric, between 0 and 1, and the derivative of the dual step where that is smooth.
    fn jacobian(&mut self, y: &[f64], v: &[f64]) -> Result<(), Violation> {
        let apply = |case: &mut Self, x: &[f64]| {
            let mut x = x.to_vec();
            case.penalty.jacobian(0, case.weight, case.sigma, y, &mut x, &mut case.work);
            x
        };
        let (jy, jv) = (apply(self, y), apply(self, v));
        let size = norm2(v) * norm2(y);
        at_most("symmetry of the Jacobian", (dot(v, &jy) - dot(y, &jv)).abs(), 1e-9 * size)?;
        at_most("the Jacobian is positive", -dot(v, &jv), 1e-9 * norm2(v).powi(2))?;
        at_most("the Jacobian is a contraction", dot(v, &jv), (1.0 + 1e-9) * norm2(v).powi(2))?;
        let h = 1e-6;
        let moved = |t: f64| y.iter().zip(v).map(|(y, v)| y + t * v).collect::<Vec<f64>>();
        let (left, middle, right) = (self.dual_of(&moved(-h)), self.dual_of(y), self.dual_of(&moved(h)));
        let jump: f64 = (0..y.len()).map(|k| (right[k] - 2.0 * middle[k] + left[k]).abs()).sum::<f64>() / h;
        if jump > 1e-3 * norm2(v) {
            return Ok(());
        }
        let slope: Vec<f64> = right.iter().zip(&left).map(|(r, l)| (r - l) / (2.0 * h)).collect();
        at_most("Jacobian against differences", norm2(&difference(&slope, &jv)), 2e-3 * norm2(v))
    }

    fn blocks(&mut self, a: &[f64], b: &[f64]) -> Result<(), Violation> {
        let mut rows = [a, b].concat();
        let weights = [self.weight, 2.0 * self.weight];
        self.penalty.prox_conjugate_rows(&[0, 1], &weights, self.sigma, &mut rows, &mut self.work);
        let mut second = b.to_vec();
        self.penalty.prox_conjugate(1, weights[1], self.sigma, &mut second, &mut self.work);
        let alone = [self.dual_of(a), second].concat();
        at_most("a block equals its edges", norm2(&difference(&rows, &alone)), 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;
    use crate::penalty::{Block, Blocks, HuberNorm, Norm1, Norm2, NormInf, Quadratic, SquaredNorm};

    fn thousand_cases(make: impl Fn(usize, &mut Draw) -> Box<dyn Penalty>) {
        for seed in 0..1000 {
            let mut draw = Draw::new(seed);
            let dim = 1 + draw.below(5);
            let penalty = make(dim, &mut draw);
            check_penalty(&*penalty, dim, seed).unwrap_or_else(|v| panic!("{} seed {seed}: {v}", penalty.name()));
        }
    }

    #[test]
    fn norm2_laws() {
        thousand_cases(|_, _| Box::new(Norm2));
    }

    #[test]
    fn norm1_laws() {
        thousand_cases(|_, _| Box::new(Norm1));
    }

    #[test]
    fn norm_inf_laws() {
        thousand_cases(|_, _| Box::new(NormInf));
    }

    #[test]
    fn squared_laws() {
        thousand_cases(|_, _| Box::new(SquaredNorm));
    }

    #[test]
    fn huber_laws() {
        thousand_cases(|_, draw| Box::new(HuberNorm::new(draw.log_uniform(0.05, 20.0)).unwrap()));
    }

    /// `Q = B'B` with fewer rows than columns half of the time: singular matrices are included.
    #[test]
    fn quadratic_laws() {
        thousand_cases(|d, draw| Box::new(Quadratic::new(&[random_psd(d, draw), random_psd(d, draw)]).unwrap()));
    }

    #[test]
    fn blocks_laws() {
        thousand_cases(|d, draw| {
            let cut = draw.below(d + 1);
            let penalties: [Box<dyn Penalty>; 2] = [Box::new(Norm2), Box::new(SquaredNorm)];
            let ranges = [(0..cut).collect::<Vec<_>>(), (cut..d - usize::from(cut + 1 < d)).rev().collect()];
            let strengths = [2.0, [0.5, 0.0][draw.below(2)]];
            let blocks = penalties.into_iter().zip(ranges).zip(strengths);
            let make = |((penalty, coordinates), strength)| Block { coordinates, penalty, strength };
            Box::new(Blocks::new(d, blocks.map(make).collect()).unwrap())
        });
    }

    fn random_psd(d: usize, draw: &mut Draw) -> Matrix {
        let rank = 1 + draw.below(d);
        let b = Matrix::from_rows(d, draw.normal(rank * d, 1.0));
        let entry = |i: usize, j: usize| (0..rank).map(|r| b.row(r)[i] * b.row(r)[j]).sum::<f64>();
        Matrix::from_rows(d, (0..d * d).map(|k| entry(k / d, k % d)).collect())
    }
}
