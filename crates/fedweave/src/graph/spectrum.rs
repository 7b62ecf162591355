//! The extreme eigenvalues of the weighted Laplacian `L = D' A D`, each edge once: `lambda_2` says how well the
//! network is connected, `lambda_n` how long a gradient step may be.
//!
//! Plain Lanczos finds an eigenvalue that stands apart, as on expanders and clustered graphs, in a hundred or so
//! products. Where eigenvalues crowd (chains, grids, geometric graphs: `lambda_2` of a chain of 10^5 nodes is 10^-9)
//! it would need 10^5; but such graphs have small separators, their Cholesky factor stays sparse, and Lanczos on an
//! inverse converges in ten steps. So: try the first, then the second, and if the factor would fill up be patient.

use std::cell::OnceCell;

use rand::RngExt;

use super::Graph;
use super::lanczos::{LanczosEffort, Ritz, Side, center_and_normalize, extreme_ritz, ritz_vector};
use super::laplacian::{self, Factor, apply, energy};
use super::partition::Partition;
use crate::error::{Error, Result};
use crate::linalg::sparse::Elimination;
use crate::matrix::{axpy, norm2};
use crate::random::{Purpose, stream};

// An eigenvalue errs by the square of its relative residual over the relative gap, so these tolerances are modest.
const QUICK: LanczosEffort = LanczosEffort { tolerance: 1e-6, steps: 160 };
const INVERSE: LanczosEffort = LanczosEffort { tolerance: 1e-8, steps: 64 };
const PATIENT: LanczosEffort = LanczosEffort { tolerance: 1e-6, steps: 5_000 };

/// The second smallest and the largest eigenvalue of a Laplacian. Residuals make them trustworthy: some eigenvalue
/// lies within `residual_2` of `lambda_2`, and within `residual_n` of `lambda_n`.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    /// Second smallest eigenvalue, counted with multiplicity: exactly 0 if the graph is not connected.
    pub lambda_2: f64,
    /// Largest eigenvalue.
    pub lambda_n: f64,
    /// `|L v - lambda_2 v|` for the unit vector `fiedler`.
    pub residual_2: f64,
    /// `|L v - lambda_n v|` for the unit vector that gave `lambda_n`.
    pub residual_n: f64,
    /// Unit eigenvector of `lambda_2`, orthogonal to the constants.
    pub fiedler: Vec<f64>,
}

/// Computes [`Spectrum`]; needs at least two nodes. The work is that of a few hundred products with `L`, or of one
/// sparse factorisation. The same graph gives the same bits on any number of threads.
pub fn laplacian_extremes(graph: &Graph) -> Result<Spectrum> {
    let n = graph.nodes();
    if n < 2 {
        return Err(Error::Parameter {
            name: "nodes",
            value: n as f64,
            needs: "at least 2 to have a second eigenvalue",
        });
    }
    let search = SpectrumSearch::new(graph);
    let components = Partition::components(graph);
    let bottom = match components.len() {
        1 => search.smallest(),
        _ => between_components(&components, n),
    };
    let top = match graph.edges() {
        0 => bottom.clone(),
        _ => search.largest(),
    };
    Ok(Spectrum {
        lambda_2: bottom.value,
        lambda_n: top.value,
        residual_2: bottom.residual,
        residual_n: top.residual,
        fiedler: bottom.vector,
    })
}

#[derive(Clone)]
struct Eigenpair {
    value: f64,
    residual: f64,
    vector: Vec<f64>,
}

/// A vector that is constant on each component and not constant: an exact eigenvector of the eigenvalue 0.
fn between_components(components: &Partition, n: usize) -> Eigenpair {
    let mut vector: Vec<f64> = (0..n).map(|i| f64::from(components.part(i) == 0)).collect();
    center_and_normalize(&mut vector);
    Eigenpair { value: 0.0, residual: 0.0, vector }
}

struct SpectrumSearch<'a> {
    graph: &'a Graph,
    start: Vec<f64>,
    elimination: OnceCell<Option<Elimination>>,
}

impl<'a> SpectrumSearch<'a> {
    fn new(graph: &'a Graph) -> Self {
        // A random vector has a component along every eigenvector; a fixed seed makes the result reproducible.
        let mut rng = stream(0, Purpose::StartVector, 0);
        let start = (0..graph.nodes()).map(|_| rng.random::<f64>() - 0.5).collect();
        SpectrumSearch { graph, start, elimination: OnceCell::new() }
    }

    fn smallest(&self) -> Eigenpair {
        let quick = self.ritz(Side::Smallest, QUICK);
        if quick.converged {
            return self.eigenpair(self.product(), &quick);
        }
        match self.grounded_factor() {
            Some(factor) => self.by_inverse(&factor),
            None => self.patiently(Side::Smallest),
        }
    }

    fn largest(&self) -> Eigenpair {
        let quick = self.ritz(Side::Largest, QUICK);
        if quick.converged {
            return self.eigenpair(self.product(), &quick);
        }
        match self.factor_above(&quick) {
            Some(factor) => self.by_inverse(&factor),
            None => self.patiently(Side::Largest),
        }
    }

    /// Whatever many steps give; the residual tells how good it is.
    fn patiently(&self, side: Side) -> Eigenpair {
        self.eigenpair(self.product(), &self.ritz(side, PATIENT))
    }

    /// The wanted eigenvector belongs to the largest eigenvalue of the inverse.
    fn by_inverse(&self, factor: &Factor) -> Eigenpair {
        let inverse = |v: &[f64], out: &mut [f64]| factor.solve(v, out);
        let ritz = extreme_ritz(inverse, &self.start, Side::Largest, INVERSE);
        self.eigenpair(inverse, &ritz)
    }

    fn ritz(&self, side: Side, effort: LanczosEffort) -> Ritz {
        extreme_ritz(self.product(), &self.start, side, effort)
    }

    fn product(&self) -> impl Fn(&[f64], &mut [f64]) {
        |v, out| apply(self.graph, v, out)
    }

    /// Rayleigh quotient and residual of a Ritz vector, measured on `L` itself.
    fn eigenpair(&self, operator: impl Fn(&[f64], &mut [f64]), ritz: &Ritz) -> Eigenpair {
        let vector = ritz_vector(operator, &self.start, ritz);
        let value = energy(self.graph, &vector);
        let mut residual = vec![0.0; vector.len()];
        apply(self.graph, &vector, &mut residual);
        axpy(-value, &vector, &mut residual);
        Eigenpair { value, residual: norm2(&residual), vector }
    }

    /// Factor of `M = L + s e_0 e_0'`. If `M x = b` and `b` sums to 0 then `s x_0 = 1'Mx = 0`, hence `L x = b`: on the
    /// complement of the constants, `M^-1` is the pseudo-inverse of `L` up to a constant.
    fn grounded_factor(&self) -> Option<Factor<'_>> {
        let ground = |i: usize| if i == 0 { self.graph.weighted_degree(0) } else { 0.0 };
        laplacian::factor(self.elimination()?, self.graph, 1.0, ground)
    }

    /// Factor of `c I - L` with `c` a little above `lambda_n`; that it is positive definite proves `c > lambda_n`.
    fn factor_above(&self, quick: &Ritz) -> Option<Factor<'_>> {
        let elimination = self.elimination()?;
        let margins = std::iter::successors(Some(quick.residual), |margin| Some(4.0 * margin));
        // A Ritz value of a random start is no worse than a factor of a few; the bound only excludes endless loops.
        let mut shifts = margins.map(|margin| quick.value + margin).take_while(|c| *c <= 1e3 * quick.value);
        shifts.find_map(|c| laplacian::factor(elimination, self.graph, -1.0, |_| c))
    }

    fn elimination(&self) -> Option<&Elimination> {
        self.elimination.get_or_init(|| laplacian::plan(self.graph)).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use faer::Mat;

    use super::*;
    use crate::graph::generate::{chain, complete, erdos_renyi, grid, ring, star, stochastic_block_model};

    /// Eigenvalue `j` of the chain of `n` nodes.
    fn chain_value(j: usize, n: usize) -> f64 {
        4.0 * (PI * j as f64 / (2 * n) as f64).sin().powi(2)
    }

    fn assert_spectrum(graph: &Graph, lambda_2: f64, lambda_n: f64) {
        let spectrum = laplacian_extremes(graph).unwrap();
        let what = format!("{} nodes, {} edges: {:?}", graph.nodes(), graph.edges(), spectrum.lambda_2);
        assert!((spectrum.lambda_2 - lambda_2).abs() <= 1e-8 * lambda_2, "{what}, not {lambda_2}");
        assert!((spectrum.lambda_n - lambda_n).abs() <= 1e-7 * lambda_n, "{what}, {}", spectrum.lambda_n);
    }

    fn dense(graph: &Graph) -> Mat<f64> {
        let mut laplacian = Mat::zeros(graph.nodes(), graph.nodes());
        for e in 0..graph.edges() {
            let ((i, j), weight) = (graph.nodes_of(e), graph.weight(e));
            laplacian[(i, i)] += weight;
            laplacian[(j, j)] += weight;
            laplacian[(i, j)] -= weight;
            laplacian[(j, i)] -= weight;
        }
        laplacian
    }

    fn with_random_weights(graph: &Graph, seed: u64) -> Graph {
        let mut rng = stream(seed, Purpose::Edges, 1);
        let edges: Vec<_> = (0..graph.edges())
            .map(|e| (graph.nodes_of(e).0, graph.nodes_of(e).1, 10f64.powf(4.0 * rng.random::<f64>() - 2.0)))
            .collect();
        Graph::new(graph.nodes(), &edges).unwrap()
    }

    #[test]
    fn closed_forms() {
        for n in [2, 3, 4, 5, 10, 97, 1_000, 5_000] {
            assert_spectrum(&chain(n).unwrap(), chain_value(1, n), chain_value(n - 1, n));
            assert_spectrum(&star(n).unwrap(), if n == 2 { 2.0 } else { 1.0 }, n as f64);
        }
        for n in [3, 4, 5, 10, 97, 1_000, 5_001] {
            // The ring's eigenvalues are those of even index of a chain of n nodes, up to index 2 (n / 2).
            assert_spectrum(&ring(n).unwrap(), chain_value(2, n), chain_value(n / 2 * 2, n));
        }
        for n in [2, 3, 50, 400] {
            assert_spectrum(&complete(n).unwrap(), n as f64, n as f64);
        }
        for (rows, cols) in [(2, 2), (7, 11), (40, 40), (3, 500)] {
            let lambda_n = chain_value(rows - 1, rows) + chain_value(cols - 1, cols);
            assert_spectrum(&grid(rows, cols).unwrap(), chain_value(1, rows.max(cols)), lambda_n);
        }
    }

    #[test]
    fn a_long_chain_is_resolved() {
        let n = 100_000;
        assert_spectrum(&chain(n).unwrap(), chain_value(1, n), chain_value(n - 1, n));
    }

    #[test]
    fn agrees_with_a_dense_solver_on_random_weighted_graphs() {
        for seed in 0..10 {
            for graph in [
                erdos_renyi(60, 0.15, seed).unwrap(),
                stochastic_block_model(&[40, 50], 0.3, 0.01, seed).unwrap().0,
                with_random_weights(&grid(9, 13).unwrap(), seed),
                with_random_weights(&erdos_renyi(150, 0.08, seed).unwrap(), seed),
            ] {
                let values = dense(&graph).self_adjoint_eigenvalues(faer::Side::Lower).unwrap();
                let (expected, found) = ((values[1], values[values.len() - 1]), laplacian_extremes(&graph).unwrap());
                assert!((found.lambda_2 - expected.0).abs() < 1e-9 * expected.1, "{expected:?} {}", found.lambda_2);
                assert!((found.lambda_n - expected.1).abs() < 1e-8 * expected.1, "{expected:?} {}", found.lambda_n);
            }
        }
    }

    #[test]
    fn the_three_ways_agree() {
        let graph = with_random_weights(&grid(12, 15).unwrap(), 3);
        let search = SpectrumSearch::new(&graph);
        let inverse = search.by_inverse(&search.grounded_factor().unwrap()).value;
        assert!((search.patiently(Side::Smallest).value - inverse).abs() < 1e-8 * inverse);
        let guess = search.ritz(Side::Largest, LanczosEffort { tolerance: 0.0, steps: 5 });
        let inverse = search.by_inverse(&search.factor_above(&guess).unwrap()).value;
        assert!((search.patiently(Side::Largest).value - inverse).abs() < 1e-8 * inverse);
    }

    #[test]
    fn residual_and_vector_belong_to_lambda_2() {
        let graph = with_random_weights(&grid(20, 20).unwrap(), 1);
        let spectrum = laplacian_extremes(&graph).unwrap();
        let laplacian = dense(&graph);
        let v = Mat::from_fn(400, 1, |i, _| spectrum.fiedler[i]);
        let residual = &laplacian * &v - faer::Scale(spectrum.lambda_2) * &v;
        assert!((v.norm_l2() - 1.0).abs() < 1e-12 && v.sum().abs() < 1e-10);
        assert!((residual.norm_l2() - spectrum.residual_2).abs() < 1e-10);
        assert!(spectrum.residual_2 < 1e-6 * spectrum.lambda_2);
    }

    #[test]
    fn several_components_have_lambda_2_zero() {
        let graph = Graph::new(7, &[(0, 1, 1.0), (1, 2, 1.0), (3, 4, 5.0), (5, 4, 5.0)]).unwrap();
        let spectrum = laplacian_extremes(&graph).unwrap();
        assert_eq!((spectrum.lambda_2, spectrum.residual_2), (0.0, 0.0));
        assert!((spectrum.lambda_n - 15.0).abs() < 1e-9);
        assert_eq!(energy(&graph, &spectrum.fiedler), 0.0);
        assert!((norm2(&spectrum.fiedler) - 1.0).abs() < 1e-14);
        let empty = laplacian_extremes(&Graph::new(3, &[]).unwrap()).unwrap();
        assert_eq!((empty.lambda_2, empty.lambda_n, empty.residual_n), (0.0, 0.0, 0.0));
    }

    #[test]
    fn one_node_has_no_second_eigenvalue() {
        for n in 0..2 {
            assert!(matches!(laplacian_extremes(&chain(n).unwrap()), Err(Error::Parameter { name: "nodes", .. })));
        }
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let graph = erdos_renyi(5_000, 0.004, 9).unwrap();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| laplacian_extremes(&graph).unwrap())
        };
        assert_eq!(on(1), on(3));
    }
}
