//! Who shaped a model: the optimality conditions, solved for the rows of every node.
//!
//! At the optimum `w` the loss of node `j` looks like `w' H_j w / 2 - b_j' w` with `b_j = H_j w_j - grad L_j(w_j)`: for the
//! squared loss exactly, for other smooth losses to second order. With `K = H + (second derivative of the coupling)` and
//! `G = K^-1`,
//!
//! ```text
//! w_i = sum_j G_ij b_j  (- what edges that pull with all they have hold back, for norms)
//! I   = sum_j G_ij H_j                                because a coupling does not mind if all models move together
//! ```
//!
//! so `G_ij b_j` is what the rows of `j` contribute to the model of `i`, and `trace(G_ij H_j) / d` is its share: shares add up to 1,
//! do not depend on the units of features, and `G_ij b_j` is the derivative of `w_i` when the labels of `j` (squared loss) are
//! multiplied by `1 + t`. For quadratic losses and penalties this is exact for any `t`; for norms it holds as long as no edge fuses
//! or comes apart.

use super::system::{System, hessians};
use crate::cluster::clusters;
use crate::loss::LossOptions;
use crate::matrix::{Matrix, axpy, dot};
use crate::problem::Problem;

/// Why nobody can say who shaped the models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unexplained {
    /// The loss has kinks.
    Kinks,
    /// Rows and coupling do not determine the models.
    Singular,
    /// The system is too large to be factored.
    Large,
}

impl std::fmt::Display for Unexplained {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Unexplained::Kinks => {
                "the loss has kinks, where a model does not follow its rows smoothly; --loss huber is the smooth relative of absolute"
            }
            Unexplained::Singular => "rows and coupling do not determine the models; a small --ridge does",
            Unexplained::Large => "the network is too large for its optimality conditions to be factored",
        })
    }
}

/// The optimality conditions of a solution, factored.
pub struct Influence {
    system: System,
    /// `H_j` without the ridge, `d x d` each.
    curvature: Vec<f64>,
    /// `b_j`.
    pull: Matrix,
    has_rows: Vec<bool>,
    exact: bool,
}

/// Who shaped the model of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct Shaped {
    /// The share of each node's rows; with `ridge`, they add up to 1.
    pub shares: Vec<f64>,
    /// The share of the ridge, which draws towards zero.
    pub ridge: f64,
    /// What the rows of each node contribute to the model, one row each.
    pub contributions: Matrix,
    /// What is left: the model less all contributions. Zero unless edges pull with all they have.
    pub held: Vec<f64>,
}

impl Influence {
    /// Linearises at the models `w` with flows `u`; `options` are those of the loss on rows with so many features.
    pub fn new(
        problem: &Problem,
        w: &Matrix,
        u: &Matrix,
        options: &LossOptions,
        features: usize,
    ) -> Result<Influence, Unexplained> {
        let (d, loss) = (problem.dim(), problem.loss());
        let mut curvature = hessians(problem, w).ok_or(Unexplained::Kinks)?;
        let fused = clusters(problem, w, u).fused;
        let system = System::new(problem, w, u, &curvature, &fused);
        let system = system.ok_or(Unexplained::Large)?.ok_or(Unexplained::Singular)?;
        let (mut pull, mut gradient) = (Matrix::zeros(problem.nodes(), d), vec![0.0; d]);
        let has_rows: Vec<bool> = (0..problem.nodes()).map(|i| loss.has_rows(i)).collect();
        for i in (0..problem.nodes()).filter(|&i| has_rows[i]) {
            let block = &mut curvature[i * d * d..][..d * d];
            loss.gradient(i, w.row(i), &mut gradient);
            for (a, row) in block.chunks_exact(d).enumerate() {
                pull.row_mut(i)[a] = dot(row, w.row(i)) - gradient[a];
            }
            for a in (0..d).filter(|&a| !(options.spare_last && (a + 1) % features == 0)) {
                block[a * (d + 1)] -= 2.0 * options.ridge;
            }
        }
        let exact = problem.loss().is_quadratic() && problem.penalty().is_quadratic();
        Ok(Influence { system, curvature, pull, has_rows, exact })
    }

    /// True if contributions hold for changes of any size.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// Who shaped the model `w` of a node.
    pub fn of(&self, node: usize, w: &[f64]) -> Shaped {
        let (d, nodes) = (w.len(), self.has_rows.len());
        let inverse = self.system.inverse_rows(node);
        let size = inverse.len() / d;
        let (mut shares, mut contributions) = (vec![0.0; nodes], Matrix::zeros(nodes, d));
        for j in (0..nodes).filter(|&j| self.has_rows[j]) {
            let at = self.system.parts.part(j) * d;
            let block = &self.curvature[j * d * d..][..d * d];
            for a in 0..d {
                let row = &inverse[a * size + at..][..d];
                contributions.row_mut(j)[a] = dot(row, self.pull.row(j));
                shares[j] += row.iter().enumerate().map(|(b, g)| g * block[b * d + a]).sum::<f64>() / d as f64;
            }
        }
        let mut held = w.to_vec();
        (0..nodes).for_each(|j| axpy(-1.0, contributions.row(j), &mut held));
        let ridge = 1.0 - shares.iter().sum::<f64>();
        // What is smaller than rounding is nothing.
        let ridge = if ridge.abs() < 1e-9 { 0.0 } else { ridge };
        Shaped { shares, ridge, contributions, held }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dataset;
    use crate::graph::Graph;
    use crate::loss::Family;
    use crate::penalty::{HuberNorm, Norm1, Norm2, Penalty, SquaredNorm};
    use crate::random::{Purpose, stream};
    use crate::solve::{Settings, Watch, solve};
    use rand::RngExt;

    const NODES: usize = 6;

    /// Two groups of three nodes with five rows each, whose labels are multiplied by `factor`.
    fn rows(factor: [f64; NODES], classes: bool) -> Dataset {
        let mut random = stream(3, Purpose::Trees, 0);
        let mut draw = || random.random::<f64>() * 2.0 - 1.0;
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for (i, factor) in factor.into_iter().enumerate() {
            for _ in 0..5 {
                let a = draw();
                x.extend([a, 1.0]);
                let label = if i < 3 { a + 1.0 } else { -2.0 * a - 1.5 } + 0.5 * draw();
                y.push(if classes { (label + 0.8 * draw()).signum() } else { factor * label });
            }
        }
        let offsets = (0..=NODES).map(|i| 5 * i).collect();
        Dataset::new(offsets, Matrix::from_rows(2, x), y, vec![1.0; 5 * NODES]).unwrap()
    }

    fn penalties() -> [(Box<dyn Penalty>, f64); 4] {
        let huber = HuberNorm::new(0.3).unwrap();
        [(Box::new(SquaredNorm), 0.3), (Box::new(Norm2), 0.2), (Box::new(Norm1), 0.15), (Box::new(huber), 0.2)]
    }

    fn solved(family: Family, data: Dataset, penalty: Box<dyn Penalty>, lambda: f64, options: LossOptions) -> Shape {
        let edges = [(0, 1, 1.0), (1, 2, 0.7), (0, 2, 1.2), (3, 4, 1.0), (4, 5, 1.3), (2, 3, 0.4)];
        let loss = family.build(data, &options).unwrap();
        let problem = Problem::build(Graph::new(NODES, &edges).unwrap(), loss, penalty, lambda).unwrap();
        let settings = Settings { tolerance: 1e-15, iterations_max: 20_000, ..Default::default() };
        let solution = solve(&problem, &settings, None, &mut |_| Watch::Continue);
        (problem, solution.w, solution.u)
    }

    type Shape = (Problem, Matrix, Matrix);

    #[test]
    fn contributions_are_derivatives_and_add_up() {
        let options = LossOptions { ridge: 0.05, spare_last: true, ..Default::default() };
        for (case, step) in [(0, 1e-2), (1, 1e-5), (2, 1e-5), (3, 1e-5)] {
            let fit = |factor: [f64; NODES]| {
                let (penalty, lambda) = penalties().into_iter().nth(case).unwrap();
                solved(Family::Squared, rows(factor, false), penalty, lambda, options)
            };
            let (problem, w, u) = fit([1.0; NODES]);
            let influence = Influence::new(&problem, &w, &u, &options, 2).unwrap();
            assert_eq!(influence.is_exact(), case == 0);
            for j in 0..NODES {
                let moved = |by: f64| fit(std::array::from_fn(|k| if k == j { 1.0 + by } else { 1.0 })).1;
                let (up, down) = (moved(step), moved(-step));
                for i in 0..NODES {
                    let shaped = influence.of(i, w.row(i));
                    for a in 0..2 {
                        let slope = (up.row(i)[a] - down.row(i)[a]) / (2.0 * step);
                        let found = shaped.contributions.row(j)[a];
                        assert!((slope - found).abs() < 1e-6, "{case}: {i} {j} {a}: {slope} {found}");
                    }
                    assert!((shaped.shares.iter().sum::<f64>() + shaped.ridge - 1.0).abs() < 1e-9);
                    let held = crate::matrix::norm2(&shaped.held);
                    assert!(case != 0 || held < 1e-9, "{case}: {held}");
                    assert!(shaped.ridge > 0.0 && shaped.shares[i] > 0.05, "{:?}", shaped.shares);
                }
            }
        }
    }

    /// Tilting the loss of a node by `-t'w` moves models by `G_ij t`, also where Hessians change.
    #[test]
    fn other_smooth_losses_add_up_and_kinks_are_refused() {
        let options = LossOptions { ridge: 0.1, ..Default::default() };
        let (problem, w, u) = solved(Family::Logistic, rows([1.0; NODES], true), Box::new(SquaredNorm), 0.3, options);
        let influence = Influence::new(&problem, &w, &u, &options, 2).unwrap();
        for i in 0..NODES {
            let shaped = influence.of(i, w.row(i));
            assert!(crate::matrix::norm2(&shaped.held) < 1e-8, "{:?}", shaped.held);
            assert!((shaped.shares.iter().sum::<f64>() + shaped.ridge - 1.0).abs() < 1e-9);
        }
        let (problem, w, u) =
            solved(Family::Absolute, rows([1.0; NODES], false), Box::new(Norm2), 0.3, LossOptions::default());
        let refused = Influence::new(&problem, &w, &u, &LossOptions::default(), 2);
        assert_eq!(refused.err(), Some(Unexplained::Kinks));
    }

    /// Without ridge, rows have all of the shares; without a coupling, a node has all of its own model.
    #[test]
    fn shares_of_known_problems() {
        let plain = LossOptions::default();
        let (problem, w, u) = solved(Family::Squared, rows([1.0; NODES], false), Box::new(SquaredNorm), 0.0, plain);
        let shaped = Influence::new(&problem, &w, &u, &plain, 2).unwrap().of(4, w.row(4));
        assert!((shaped.shares[4] - 1.0).abs() < 1e-12 && shaped.ridge == 0.0);
        let (problem, w, u) = solved(Family::Squared, rows([1.0; NODES], false), Box::new(SquaredNorm), 1e6, plain);
        let shaped = Influence::new(&problem, &w, &u, &plain, 2).unwrap().of(4, w.row(4));
        // All models are one: every node has about a sixth of it.
        assert!(shaped.shares.iter().all(|s| (s - 1.0 / 6.0).abs() < 0.1), "{:?}", shaped.shares);
    }
}
