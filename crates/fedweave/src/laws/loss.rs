//! The laws of a loss.

use super::{Draw, Violation, at_most, check_firm, check_prox_point, difference};
use crate::linalg::cholesky;
use crate::loss::{Loss, SecondOrder};
use crate::matrix::{axpy, dot, norm2};

/// Checks one random case: a node, parameters, a step, all drawn from `seed`.
pub fn check_loss(loss: &dyn Loss, seed: u64) -> Result<(), Violation> {
    let mut draw = Draw::new(seed);
    let node = draw.below(loss.nodes());
    let case = LossCase { loss, node, work: vec![0.0; loss.work_len() + 8 * loss.dim()] };
    let scale = draw.log_uniform(0.05, 2.0);
    let (a, b) = (draw.normal(loss.dim(), scale), draw.normal(loss.dim(), scale));
    let tau = draw.log_uniform(0.01, 1e3);
    let mut case = case;
    case.convexity(&a, &b)?;
    case.gradient(&a, &b)?;
    case.batches(&a)?;
    case.curvature(&a, &b)?;
    if let Some(second) = loss.second_order() {
        case.hessian(second, &a, &b)?;
        case.factor(second, &a, &b, 1.0 / tau)?;
    }
    case.prox(&a, &b, tau, &mut draw)?;
    case.blocks(&a, tau, &mut draw)?;
    case.fenchel(&a, &b)
}

struct LossCase<'l> {
    loss: &'l dyn Loss,
    node: usize,
    work: Vec<f64>,
}

impl LossCase<'_> {
    fn value(&self, w: &[f64]) -> f64 {
        self.loss.value(self.node, w)
    }

    fn gradient_at(&self, w: &[f64]) -> Vec<f64> {
        let mut g = vec![0.0; w.len()];
        self.loss.gradient(self.node, w, &mut g);
        g
    }

    /// The line through `a` and `b` is straight or bent upwards, and lies above its tangents.
    fn convexity(&self, a: &[f64], b: &[f64]) -> Result<(), Violation> {
        let middle: Vec<f64> = a.iter().zip(b).map(|(a, b)| 0.5 * (a + b)).collect();
        let (fa, fb) = (self.value(a), self.value(b));
        let rounding = 1e-12 * (1.0 + fa.abs() + fb.abs());
        at_most("convexity", self.value(&middle) - 0.5 * (fa + fb), rounding)?;
        let tangent = fa + dot(&self.gradient_at(a), &difference(b, a));
        at_most("subgradient inequality", tangent - fb, rounding)
    }

    /// Along `b`, the gradient at `a` is the slope of the value, unless a kink is within the differences.
    fn gradient(&self, a: &[f64], b: &[f64]) -> Result<(), Violation> {
        let h = 1e-5;
        let at = |t: f64| {
            let mut w = a.to_vec();
            axpy(t, b, &mut w);
            self.value(&w)
        };
        let (left, middle, right) = (at(-h), at(0.0), at(h));
        let bend = (left - 2.0 * middle + right) / h;
        let size = norm2(b) * (1.0 + norm2(&self.gradient_at(a))) + middle.abs();
        if bend > 1e-2 * size {
            return Ok(());
        }
        let slope = (right - left) / (2.0 * h);
        at_most("gradient against differences", (slope - dot(&self.gradient_at(a), b)).abs(), 1e-5 * size + bend)
    }

    /// The mean over batches of one row, and the batch of all rows, are the gradient.
    fn batches(&self, w: &[f64]) -> Result<(), Violation> {
        let (gradient, rows) = (self.gradient_at(w), self.loss.row_count(self.node) as u32);
        if rows == 0 {
            return Ok(());
        }
        let (mut mean, mut part, mut size) = (vec![0.0; w.len()], vec![0.0; w.len()], norm2(&gradient));
        for r in 0..rows {
            self.loss.batch_gradient(self.node, &[r], w, &mut part);
            size += norm2(&part);
            axpy(1.0 / f64::from(rows), &part, &mut mean);
        }
        at_most("the mean of batches of one row", norm2(&difference(&mean, &gradient)), 1e-11 * (1.0 + size))?;
        self.loss.batch_gradient(self.node, &(0..rows).collect::<Vec<u32>>(), w, &mut part);
        at_most("the batch of all rows", norm2(&difference(&part, &gradient)), 1e-11 * (1.0 + size))
    }

    /// `mu |a - b|^2 <= (grad(a) - grad(b))'(a - b) <= beta |a - b|^2`.
    fn curvature(&self, a: &[f64], b: &[f64]) -> Result<(), Violation> {
        let declared = self.loss.curvature(self.node);
        let (v, g) = (difference(a, b), difference(&self.gradient_at(a), &self.gradient_at(b)));
        let (measured, size) = (dot(&g, &v), dot(&v, &v));
        let rounding = 1e-10 * (size + measured.abs());
        at_most("declared strong convexity", declared.mu * size - measured, rounding)?;
        if declared.beta.is_finite() {
            at_most("declared smoothness", measured - declared.beta * size, rounding)
        } else {
            Ok(())
        }
    }

    /// The Hessian is symmetric, positive, and the derivative of the gradient where that is smooth.
    fn hessian(&mut self, second: &dyn SecondOrder, a: &[f64], b: &[f64]) -> Result<(), Violation> {
        let hessian = self.hessian_at(second, a);
        let product = |v: &[f64]| {
            let mut out = vec![0.0; v.len()];
            second.hessian_product(self.node, &hessian, v, &mut out);
            out
        };
        let mut sum = vec![0.0; cholesky::packed_len(a.len())];
        second.add_hessian(self.node, &hessian, &mut sum);
        let mut summed = vec![0.0; a.len()];
        cholesky::symmetric_product(&sum, b, &mut summed);
        let size = norm2(&summed) + norm2(&product(b));
        at_most("the Hessian as a triangle", norm2(&difference(&summed, &product(b))), 1e-10 * size)?;
        let (ha, hb) = (product(a), product(b));
        let size = norm2(&hb) * norm2(a) + norm2(&ha) * norm2(b);
        at_most("symmetry of the Hessian", (dot(a, &hb) - dot(b, &ha)).abs(), 1e-9 * size)?;
        at_most("positivity of the Hessian", -dot(b, &hb), 1e-12 * size)?;
        let h = 1e-6;
        let shifted = |t: f64| {
            let mut w = a.to_vec();
            axpy(t, b, &mut w);
            self.gradient_at(&w)
        };
        let (left, middle, right) = (shifted(-h), shifted(0.0), shifted(h));
        let jump: f64 = (0..a.len()).map(|k| (right[k] - 2.0 * middle[k] + left[k]).abs()).sum::<f64>() / h;
        let slope: Vec<f64> = right.iter().zip(&left).map(|(r, l)| (r - l) / (2.0 * h)).collect();
        let size = norm2(b) * (1.0 + norm2(&middle)) + norm2(&hb);
        // A kink of the gradient within the differences shows as a jump; there the derivative is a choice. With kinks of the loss a
        // Hessian is a scale: rows next to their kink count as curved, where the gradient does not change.
        if jump > 1e-3 * size || second.has_kinks() {
            return Ok(());
        }
        at_most("Hessian against differences", norm2(&difference(&slope, &hb)), 1e-3 * size)
    }

    fn hessian_at(&mut self, second: &dyn SecondOrder, w: &[f64]) -> Vec<f64> {
        let mut hessian = vec![0.0; second.hessian_len(self.node)];
        second.hessian(self.node, w, &mut hessian, &mut self.work);
        hessian
    }

    /// The factor inverts `H + shift I`.
    fn factor(&mut self, second: &dyn SecondOrder, a: &[f64], b: &[f64], shift: f64) -> Result<(), Violation> {
        let hessian = self.hessian_at(second, a);
        let mut factor = vec![0.0; second.factor_len(self.node)];
        second.factor(self.node, &hessian, shift, &mut factor, &mut self.work);
        let mut x = b.to_vec();
        second.factor_solve(self.node, shift, &factor, &mut x, &mut self.work);
        let mut back = vec![0.0; a.len()];
        second.hessian_product(self.node, &hessian, &x, &mut back);
        let size = norm2(b) + norm2(&back);
        axpy(shift, &x, &mut back);
        at_most("solution with the factored Hessian", norm2(&difference(&back, b)), 1e-8 * size)
    }

    fn prox_of(&mut self, w: &[f64], tau: f64) -> Vec<f64> {
        let mut z = w.to_vec();
        self.loss.prox(self.node, tau, &mut z, &mut self.work);
        z
    }

    fn prox(&mut self, a: &[f64], b: &[f64], tau: f64, draw: &mut Draw) -> Result<(), Violation> {
        let (pa, pb) = (self.prox_of(a, tau), self.prox_of(b, tau));
        check_firm(&pa, &pb, a, b)?;
        let h = |z: &[f64]| self.value(z) + norm2(&difference(z, a)).powi(2) / (2.0 * tau);
        check_prox_point(h, &pa, a, tau, draw)
    }

    /// The prepared step on a block of nodes is the step on each node.
    fn blocks(&mut self, a: &[f64], tau: f64, draw: &mut Draw) -> Result<(), Violation> {
        let (n, d) = (self.loss.nodes(), self.loss.dim());
        let taus: Vec<f64> = (0..n).map(|_| tau * draw.log_uniform(0.5, 2.0)).collect();
        let nodes: Vec<u32> = (0..n as u32).collect();
        let prepared = self.loss.prepare(&nodes, &taus);
        let mut rows: Vec<f64> = a.iter().cycle().take(n * d).copied().collect();
        self.loss.prox_rows(0, &nodes, &taus, &prepared, &mut rows, &mut self.work);
        for node in 0..n {
            let mut alone = a.to_vec();
            self.loss.prox(node, taus[node], &mut alone, &mut self.work);
            let off = norm2(&difference(&alone, &rows[node * d..(node + 1) * d]));
            at_most("a block equals its nodes", off, 1e-8 * (1.0 + norm2(&alone)))?;
        }
        Ok(())
    }

    /// `L(w) + v'z - L(z) - v'w` never exceeds the declared bound, which is tight where `v` is the gradient.
    fn fenchel(&mut self, a: &[f64], b: &[f64]) -> Result<(), Violation> {
        let (loss, node) = (self.loss, self.node);
        let gradient = self.gradient_at(a);
        let tight = loss.fenchel_gap(node, a, &gradient, &mut self.work);
        let size = 1.0 + self.value(a).abs() + norm2(&gradient) * (1.0 + norm2(a));
        at_most("Fenchel's equality at the gradient", tight.gap + tight.residue, 1e-6 * size)?;
        let v = self.gradient_at(b);
        let bound = loss.fenchel_gap(node, a, &v, &mut self.work);
        let mut z = b.to_vec();
        for t in [0.0, 0.5, 2.0] {
            z.iter_mut().zip(a).zip(b).for_each(|((z, a), b)| *z = b + t * (b - a));
            let reached = self.value(a) + dot(&v, &z) - self.value(&z) - dot(&v, a);
            let allowed = bound.bound(loss.curvature(node).mu, norm2(&difference(&z, a)));
            at_most(
                "Fenchel's inequality",
                reached,
                allowed + 1e-9 * (size + self.value(&z).abs() + norm2(&v) * norm2(&z)),
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use crate::loss::{Family, LossOptions, Mixed, NodeWeight};
    use crate::matrix::Matrix;

    /// Three nodes: one with fewer rows than columns, one with more, one with none.
    fn dataset(draw: &mut Draw, features: usize, label: impl Fn(&mut Draw) -> f64) -> Dataset {
        let sizes = [1 + draw.below(features), features + draw.below(6), 0];
        let rows: usize = sizes.iter().sum();
        let x = Matrix::from_rows(features, draw.normal(rows * features, 1.0));
        let y = (0..rows).map(|_| label(draw)).collect();
        let weight = (0..rows).map(|_| draw.log_uniform(0.2, 3.0)).collect();
        Dataset::new(vec![0, sizes[0], rows, rows], x, y, weight).unwrap()
    }

    fn thousand_cases(family: Family, label: impl Fn(&mut Draw) -> f64) {
        for seed in 0..1000 {
            let mut draw = Draw::new(1_000_000 + seed);
            let features = 1 + draw.below(4);
            let ridge = [0.0, 0.0, 1e-3, 1.0][draw.below(4)];
            let node_weight = [NodeWeight::Equal, NodeWeight::Rows][draw.below(2)];
            let options = LossOptions { ridge, lasso: 0.0, spare_last: draw.below(2) == 0, node_weight };
            let data = dataset(&mut draw, features, &label);
            let loss = family.build(data.clone(), &options).unwrap();
            check_loss(&*loss, seed).unwrap_or_else(|v| panic!("{family} seed {seed}: {v}"));
            if seed % 4 == 0 {
                let options = LossOptions { lasso: draw.log_uniform(1e-3, 3.0), ..options };
                let loss = family.build(data, &options).unwrap();
                check_loss(&*loss, seed).unwrap_or_else(|v| panic!("{family} with lasso, seed {seed}: {v}"));
            }
        }
    }

    #[test]
    fn squared() {
        thousand_cases(Family::Squared, |d| d.normal(1, 2.0)[0]);
    }

    #[test]
    fn absolute() {
        thousand_cases(Family::Absolute, |d| d.normal(1, 2.0)[0]);
    }

    #[test]
    fn huber() {
        thousand_cases(Family::Huber { delta: 0.7 }, |d| d.normal(1, 2.0)[0]);
    }

    #[test]
    fn logistic() {
        thousand_cases(Family::Logistic, |d| d.below(2) as f64);
    }

    #[test]
    fn multinomial() {
        thousand_cases(Family::Multinomial { classes: 3 }, |d| d.below(3) as f64);
    }

    #[test]
    fn squared_hinge() {
        thousand_cases(Family::SquaredHinge, |d| 2.0 * d.below(2) as f64 - 1.0);
    }

    #[test]
    fn poisson() {
        thousand_cases(Family::Poisson, |d| d.below(5) as f64);
    }

    #[test]
    fn quantile() {
        thousand_cases(Family::Quantile { q: 0.2 }, |d| d.normal(1, 2.0)[0]);
    }

    #[test]
    fn point() {
        thousand_cases(Family::Point, |_| 0.0);
    }

    #[test]
    fn mixed() {
        for seed in 0..1000 {
            let mut draw = Draw::new(seed);
            let data = dataset(&mut draw, 3, |d| d.below(2) as f64);
            let of = |node: usize, family: Family| {
                let keep: Vec<bool> = (0..data.len()).map(|r| data.rows(node).contains(&r)).collect();
                family.build(data.select(&keep), &LossOptions { ridge: 0.1, ..Default::default() }).unwrap()
            };
            let families = vec![of(0, Family::Logistic), of(1, Family::Squared)];
            let loss = Mixed::new(families, vec![0, 1, 1]).unwrap();
            check_loss(&loss, seed).unwrap_or_else(|v| panic!("mixed seed {seed}: {v}"));
        }
    }

    /// A loss with a wrong gradient is caught: the kit can fail.
    #[test]
    fn a_wrong_label_sign_is_caught() {
        let mut draw = Draw::new(7);
        let data = dataset(&mut draw, 2, |d| d.normal(1, 2.0)[0]);
        let right = Family::Squared.build(data.clone(), &LossOptions::default()).unwrap();
        let wrong = Family::Squared.build(data.map_labels(|y| -y), &LossOptions::default()).unwrap();
        struct Broken(Box<dyn Loss>, Box<dyn Loss>);
        impl Loss for Broken {
            fn nodes(&self) -> usize {
                self.0.nodes()
            }
            fn dim(&self) -> usize {
                self.0.dim()
            }
            fn has_rows(&self, node: usize) -> bool {
                self.0.has_rows(node)
            }
            fn row_count(&self, node: usize) -> usize {
                self.0.row_count(node)
            }
            fn work_len(&self) -> usize {
                self.0.work_len()
            }
            fn curvature(&self, node: usize) -> crate::loss::Curvature {
                self.0.curvature(node)
            }
            fn value(&self, node: usize, w: &[f64]) -> f64 {
                self.0.value(node, w)
            }
            fn gradient(&self, node: usize, w: &[f64], out: &mut [f64]) {
                self.1.gradient(node, w, out);
            }
            fn batch_gradient(&self, node: usize, batch: &[u32], w: &[f64], out: &mut [f64]) {
                self.0.batch_gradient(node, batch, w, out);
            }
            fn prox(&self, node: usize, tau: f64, w: &mut [f64], work: &mut [f64]) {
                self.0.prox(node, tau, w, work);
            }
        }
        let broken = Broken(right, wrong);
        assert!((0..20).any(|seed| check_loss(&broken, seed).is_err()));
    }

    /// `|w - c_i|^2` with nothing but what every loss must say.
    struct Bare(Vec<f64>);

    impl Loss for Bare {
        fn nodes(&self) -> usize {
            self.0.len()
        }
        fn dim(&self) -> usize {
            2
        }
        fn row_count(&self, _node: usize) -> usize {
            1
        }
        fn curvature(&self, _node: usize) -> crate::loss::Curvature {
            crate::loss::Curvature { mu: 2.0, beta: 2.0 }
        }
        fn value(&self, node: usize, w: &[f64]) -> f64 {
            w.iter().map(|w| (w - self.0[node]).powi(2)).sum()
        }
        fn gradient(&self, node: usize, w: &[f64], out: &mut [f64]) {
            out.iter_mut().zip(w).for_each(|(o, w)| *o = 2.0 * (w - self.0[node]));
        }
        fn batch_gradient(&self, node: usize, batch: &[u32], w: &[f64], out: &mut [f64]) {
            match batch.is_empty() {
                true => out.fill(0.0),
                false => self.gradient(node, w, out),
            }
        }
        fn prox(&self, node: usize, tau: f64, w: &mut [f64], _work: &mut [f64]) {
            w.iter_mut().for_each(|w| *w = (*w + 2.0 * tau * self.0[node]) / (1.0 + 2.0 * tau));
        }
    }

    /// Eight methods make a loss that is solved and certified.
    #[test]
    fn a_bare_loss_is_a_loss() {
        for seed in 0..200 {
            check_loss(&Bare(vec![1.0, -2.0, 0.5]), seed).unwrap_or_else(|v| panic!("seed {seed}: {v}"));
        }
        let graph = crate::graph::generate::chain(3).unwrap();
        let bare = Box::new(Bare(vec![0.0, 1.0, 9.0]));
        let problem = crate::Problem::build(graph, bare, Box::new(crate::penalty::Norm2), 0.5).unwrap();
        let solution = problem.solve();
        assert_eq!(solution.status, crate::solve::Status::Converged);
        assert!(solution.certified_gap.is_some_and(|gap| gap <= 1e-5), "{:?}", solution.certified_gap);
    }
}
