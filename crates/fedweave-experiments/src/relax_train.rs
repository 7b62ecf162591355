//! Linear models whose predictions on public rows are coupled, as the FedRelax paper trains them: each iteration of its
//! Algorithm 2 is one step of RMSprop on (16); and as the update is written: exact minimisation.

use fedweave::baseline;
use fedweave::loss::{Family, Loss, LossOptions, LossSpec};
use fedweave::matrix::{axpy, dot};
use fedweave::penalty::SquaredNorm;
use fedweave::random::{Purpose, stream};
use fedweave::solve::{FedRelax, JudgedOn, Method, Order};
use fedweave::{Dataset, Graph, Matrix};
use rand::RngExt;
use rand_distr::StandardNormal;
use rayon::prelude::*;

use crate::Error;
use crate::measure::regression;

/// Iterations of Algorithm 2.
pub const ITERATIONS: usize = 500;
/// Exact updates have settled when no model moves by more than this part of the largest.
const SETTLED: f64 = 1e-7;
const LEARNING_RATE: f64 = 0.01;
/// Decay of the squared gradients and what keeps roots from zero: the defaults of PyTorch.
const DECAY: f64 = 0.99;
const EPSILON: f64 = 1e-8;
/// Public rows of a node.
const PUBLIC: usize = 100;

/// A network with local and public rows.
pub struct Network {
    /// Who is coupled with whom, by weight.
    pub graph: Graph,
    /// Local rows.
    pub data: Dataset,
    /// Public rows; their labels mean nothing.
    pub public: Dataset,
    /// For the start weights.
    pub seed: u64,
}

impl Network {
    /// Draws standard normal public rows for every node.
    pub fn new(graph: Graph, data: Dataset, seed: u64) -> Result<Self, Error> {
        let (n, d) = (data.nodes(), data.dim());
        let rows = |i: usize| {
            let mut rng = stream(seed, Purpose::PublicRows, i);
            (0..PUBLIC * d).map(move |_| rng.sample(StandardNormal)).collect::<Vec<f64>>()
        };
        let x = Matrix::from_rows(d, (0..n).flat_map(rows).collect());
        let offsets = (0..=n).map(|i| i * PUBLIC).collect();
        let public = Dataset::new(offsets, x, vec![0.0; n * PUBLIC], vec![1.0; n * PUBLIC])?;
        Ok(Network { graph, data, public, seed })
    }

    /// Exact updates, all nodes at once, until they settle; without coupling, local models of least norm.
    pub fn exact(&self, alpha: f64) -> Result<Matrix, Error> {
        if alpha == 0.0 {
            let options = LossOptions::default();
            return Ok(baseline::local(&LossSpec::Same(Family::Squared), self.data.clone(), &options)?);
        }
        let problem = regression(&self.graph, &self.data, Box::new(SquaredNorm), alpha)?;
        let mut method = FedRelax::on_public_data(&problem, &self.public, JudgedOn::Neighbours, Order::Together)?;
        for _ in 0..ITERATIONS {
            let before = method.models().clone();
            method.round();
            let now = method.models();
            let moved = before.as_slice().iter().zip(now.as_slice()).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
            if moved <= SETTLED * now.max_row_norm() {
                break;
            }
        }
        Ok(method.models().clone())
    }

    /// RMSprop from small random weights; `see` looks at the models before the first and after every iteration.
    pub fn rmsprop(&self, alpha: f64, iterations: usize, mut see: impl FnMut(usize, &Matrix)) -> Result<Matrix, Error> {
        let loss = Family::Squared.build(self.data.clone(), &LossOptions::default())?;
        let coupling = Coupling::new(self);
        let mut w = self.start();
        let mut squares = Matrix::zeros(w.rows(), w.cols());
        see(0, &w);
        for iteration in 1..=iterations {
            let gradient = coupling.gradient(&*loss, alpha, &w);
            let state = w.as_mut_slice().iter_mut().zip(squares.as_mut_slice());
            for ((w, s), g) in state.zip(gradient.as_slice()) {
                *s = DECAY * *s + (1.0 - DECAY) * g * g;
                *w -= LEARNING_RATE * g / (s.sqrt() + EPSILON);
            }
            see(iteration, &w);
        }
        Ok(w)
    }

    /// Uniform on `±1 / sqrt(d)`.
    fn start(&self) -> Matrix {
        let (n, d) = (self.data.nodes(), self.data.dim());
        let width = 1.0 / (d as f64).sqrt();
        let row = |i: usize| {
            let mut rng = stream(self.seed, Purpose::StartWeights, i);
            (0..d).map(move |_| width * (2.0 * rng.random::<f64>() - 1.0)).collect::<Vec<f64>>()
        };
        Matrix::from_rows(d, (0..n).flat_map(row).collect())
    }
}

/// `G_j = mean of x x'` over the public rows of `j`, and `S_i = sum_j A_ij G_j`.
struct Coupling<'n> {
    graph: &'n Graph,
    forms: Vec<Matrix>,
    sums: Vec<Matrix>,
}

impl<'n> Coupling<'n> {
    fn new(network: &'n Network) -> Self {
        let (graph, public, d) = (&network.graph, &network.public, network.data.dim());
        let form = |j: usize| {
            let mut g = Matrix::zeros(d, d);
            for row in public.rows(j) {
                let x = public.x(row);
                (0..d).for_each(|a| axpy(x[a] / PUBLIC as f64, x, g.row_mut(a)));
            }
            g
        };
        let forms: Vec<Matrix> = (0..graph.nodes()).into_par_iter().map(form).collect();
        let sum = |i: usize| {
            let mut s = Matrix::zeros(d, d);
            for end in graph.ends(i) {
                let weight = graph.weight(end.edge as usize);
                axpy(weight, forms[end.neighbour as usize].as_slice(), s.as_mut_slice());
            }
            s
        };
        let sums = (0..graph.nodes()).into_par_iter().map(sum).collect();
        Coupling { graph, forms, sums }
    }

    /// `grad L_i(w_i) + 2 alpha sum_j A_ij G_j (w_i - w_j)` for all nodes.
    fn gradient(&self, loss: &dyn Loss, alpha: f64, w: &Matrix) -> Matrix {
        let d = w.cols();
        let mut seen = Matrix::zeros(w.rows(), d);
        seen.as_mut_slice().par_chunks_mut(d).enumerate().for_each(|(j, out)| product(&self.forms[j], w.row(j), out));
        let mut gradient = Matrix::zeros(w.rows(), d);
        gradient.as_mut_slice().par_chunks_mut(d).enumerate().for_each(|(i, out)| {
            loss.gradient(i, w.row(i), out);
            if alpha > 0.0 {
                let mut pull = vec![0.0; d];
                product(&self.sums[i], w.row(i), &mut pull);
                for end in self.graph.ends(i) {
                    axpy(-self.graph.weight(end.edge as usize), seen.row(end.neighbour as usize), &mut pull);
                }
                axpy(2.0 * alpha, &pull, out);
            }
        });
        gradient
    }
}

/// `out <- m v`.
fn product(m: &Matrix, v: &[f64], out: &mut [f64]) {
    out.iter_mut().enumerate().for_each(|(a, o)| *o = dot(m.row(a), v));
}

#[cfg(test)]
mod tests {
    use super::*;
    use fedweave::synthetic::{Options, generate};

    fn network() -> Network {
        let made = generate(&Options { nodes: 8, dim: 3, rows: 4, noise: 0.5, ..Options::default() }).unwrap();
        Network::new(made.graph, made.data, 5).unwrap()
    }

    /// (16) by its definition, with the neighbours' models held.
    fn objective(network: &Network, loss: &dyn Loss, alpha: f64, held: &Matrix, i: usize, w: &[f64]) -> f64 {
        let mut sum = loss.value(i, w);
        for end in network.graph.ends(i) {
            let (j, weight) = (end.neighbour as usize, network.graph.weight(end.edge as usize));
            for row in network.public.rows(j) {
                let x = network.public.x(row);
                sum += alpha * weight / PUBLIC as f64 * (dot(w, x) - dot(held.row(j), x)).powi(2);
            }
        }
        sum
    }

    #[test]
    fn gradients_are_those_of_the_papers_update() {
        let network = network();
        let loss = Family::Squared.build(network.data.clone(), &LossOptions::default()).unwrap();
        let (w, alpha) = (network.start(), 0.3);
        let gradient = Coupling::new(&network).gradient(&*loss, alpha, &w);
        for i in 0..w.rows() {
            for a in 0..w.cols() {
                let at = |h: f64| {
                    let mut moved = w.row(i).to_vec();
                    moved[a] += h;
                    objective(&network, &*loss, alpha, &w, i, &moved)
                };
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((slope - gradient.row(i)[a]).abs() < 1e-6 * (1.0 + slope.abs()));
            }
        }
    }

    #[test]
    fn exact_updates_end_where_the_gradient_of_the_papers_update_is_zero() {
        let network = network();
        let loss = Family::Squared.build(network.data.clone(), &LossOptions::default()).unwrap();
        let w = network.exact(0.3).unwrap();
        let gradient = Coupling::new(&network).gradient(&*loss, 0.3, &w);
        assert!(gradient.max_row_norm() < 1e-5, "{}", gradient.max_row_norm());
    }
}
