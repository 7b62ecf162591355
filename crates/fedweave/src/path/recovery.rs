//! Where a partition is provably recovered: Theorems 1 and 2 of A. Armacki, D. Bajovic, D. Jakovetic and S. Kar,
//! *Personalized Federated Learning via Convex Clustering*, for the complete graph with unit weights and the Euclidean norm.
//!
//! For clusters `C_1, ..., C_K` of `n_k` nodes let `g_k` be the mean loss of `C_k`, and let the clustered minimiser `w_k` minimise
//! `sum_k n_k g_k(w_k) + lambda sum_{k<l} n_k n_l |w_k - w_l|`. Then
//!
//! ```text
//! lambda >= lower = max_k max_{i,j in C_k} |grad L_i(w_k) - grad L_j(w_k)| / n_k              some solution has these clusters
//! lambda <  upper = min_{k,l} |grad g_k(w_k) - grad g_l(w_k)| / (2 max_k sum_{l != k} n_l)      and no two have the same model
//! ```
//!
//! The clustered minimiser is found as a solution of the problem itself with heavier edges inside clusters: heavy enough that the
//! first condition holds for them. Both bounds depend on `lambda` through `w_k`, so they are evaluated where they are used.

use crate::error::Result;
use crate::graph::partition::Partition;
use crate::matrix::{Matrix, axpy, norm2};
use crate::problem::Problem;
use crate::solve::{Record, Settings, Start, Status, Watch, solve};

/// The two conditions at one `lambda`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conditions {
    /// `lambda`.
    pub lambda: f64,
    /// From here on the clustered minimiser is a solution.
    pub lower: f64,
    /// Below this its clusters are apart.
    pub upper: f64,
    /// How accurately the clustered minimiser was found: the certified gap of its problem.
    pub certified_gap: Option<f64>,
}

impl Conditions {
    /// Both theorems apply.
    pub fn hold(&self) -> bool {
        self.lower <= self.lambda && self.lambda < self.upper
    }
}

/// What the theorems say about a partition.
#[derive(Debug, Clone, PartialEq)]
pub enum Recovery {
    /// They do not apply, and why.
    Silent(&'static str),
    /// At none of the values tried both conditions hold; this is the one that came closest.
    Nowhere(Conditions),
    /// Both hold at these two and at all values tried between them, and fail a little outside.
    Between(Conditions, Conditions),
}

const TOLERANCE: f64 = 1e-9;
const ITERATIONS_MAX: usize = 20_000;
/// Guesses from the bounds themselves, before a grid is searched.
const GUESSES: usize = 6;
const GRID_MAX: usize = 12;
const HALVINGS_MAX: usize = 40;
/// Heavier edges are beyond what the solver can do.
const HEAVY_MAX: f64 = 1e9;

/// Looks for the interval of `lambda` in which `partition` is provably recovered, near `guess` and on `grid`; its ends
/// are bracketed to the relative width `width`. Leaves `problem` as it was.
pub fn recovery(
    problem: &mut Problem,
    partition: &Partition,
    grid: &[f64],
    guess: f64,
    width: f64,
    watch: &mut dyn FnMut(&Record) -> Watch,
) -> Result<Recovery> {
    if let Some(why) = silent(problem, partition) {
        return Ok(Recovery::Silent(why));
    }
    let (lambda, mut weights) = (problem.lambda(), problem.graph().weights().to_vec());
    let mut search = RecoverySearch { problem, partition, watch, start: None, heavy: 2.0, stopped: false };
    let found = search.run(grid, guess, width);
    problem.swap_weights(&mut weights);
    problem.set_lambda(lambda)?;
    found
}

/// Why the theorems say nothing.
fn silent(problem: &Problem, partition: &Partition) -> Option<&'static str> {
    let (n, graph) = (problem.nodes(), problem.graph());
    if problem.penalty().name() != "norm2" {
        return Some("the recovery theorems are about the penalty norm2");
    }
    if 2 * graph.edges() != n * (n - 1) || graph.weights().iter().any(|a| *a != 1.0) {
        return Some("the recovery theorems are about the complete graph with unit weights");
    }
    if !(2..n).contains(&partition.len()) {
        return Some("the recovery theorems are about at least two clusters, not all of single nodes");
    }
    if (0..n).any(|i| problem.loss().curvature(i).beta == f64::INFINITY) {
        return Some("the recovery theorems need losses with Lipschitz continuous gradients");
    }
    None
}

struct RecoverySearch<'a> {
    problem: &'a mut Problem,
    partition: &'a Partition,
    watch: &'a mut dyn FnMut(&Record) -> Watch,
    start: Option<Start>,
    /// Weight of the edges inside clusters.
    heavy: f64,
    stopped: bool,
}

impl RecoverySearch<'_> {
    fn run(&mut self, grid: &[f64], guess: f64, width: f64) -> Result<Recovery> {
        let mut best = self.at(guess)?;
        let mut next = (best.lower * best.upper).sqrt();
        for _ in 0..GUESSES {
            if best.hold() || self.stopped || next.is_nan() || next <= 0.0 {
                break;
            }
            let tried = self.at(next)?;
            next = (tried.lower * tried.upper).sqrt();
            best = closer(best, tried);
        }
        for &lambda in grid.iter().step_by(grid.len().div_ceil(GRID_MAX).max(1)) {
            if best.hold() || self.stopped {
                break;
            }
            let tried = self.at(lambda)?;
            best = closer(best, tried);
        }
        match best.hold() {
            true => Ok(Recovery::Between(self.end(best, 0.5, width)?, self.end(best, 2.0, width)?)),
            false => Ok(Recovery::Nowhere(best)),
        }
    }

    /// The last value at which both hold, going from `inside` by the factor `step`.
    fn end(&mut self, mut inside: Conditions, step: f64, width: f64) -> Result<Conditions> {
        let mut outside = step * inside.lambda;
        for _ in 0..HALVINGS_MAX {
            let tried = self.at(outside)?;
            if !tried.hold() || self.stopped {
                break;
            }
            inside = tried;
            outside *= step;
        }
        while (outside / inside.lambda).max(inside.lambda / outside) > 1.0 + width && !self.stopped {
            let tried = self.at((outside * inside.lambda).sqrt())?;
            match tried.hold() {
                true => inside = tried,
                false => outside = tried.lambda,
            }
        }
        Ok(inside)
    }

    /// The conditions at `lambda`.
    fn at(&mut self, lambda: f64) -> Result<Conditions> {
        loop {
            self.raise(lambda)?;
            let settings = Settings { tolerance: TOLERANCE, iterations_max: ITERATIONS_MAX, ..Settings::default() };
            let solution = solve(self.problem, &settings, self.start.take(), self.watch);
            self.start = Some(Start::from(&solution));
            self.stopped |= matches!(solution.status, Status::Interrupted | Status::TimeLimit);
            let models = means(&solution.w, self.partition);
            let (lower, upper) = bounds(self.problem, &models, self.partition);
            let apart = spread(&solution.w, &models, self.partition) > 1e-3 * solution.w.max_row_norm();
            // What was not found proves nothing.
            if solution.status != Status::Converged || self.heavy > HEAVY_MAX {
                return Ok(Conditions { lambda, lower: f64::INFINITY, upper: 0.0, certified_gap: None });
            }
            // Heavy enough, with something to spare: then the solution found is the clustered minimiser.
            if !apart && lambda * self.heavy >= 1.5 * lower {
                return Ok(Conditions { lambda, lower, upper, certified_gap: solution.certified_gap });
            }
            self.heavy = (4.0 * self.heavy).max(3.0 * lower / lambda);
        }
    }

    fn raise(&mut self, lambda: f64) -> Result<()> {
        let graph = self.problem.graph();
        let inside = |e: usize| {
            let (i, j) = graph.nodes_of(e);
            self.partition.part(i) == self.partition.part(j)
        };
        let mut weights = (0..graph.edges()).map(|e| if inside(e) { self.heavy } else { 1.0 }).collect();
        self.problem.swap_weights(&mut weights);
        self.problem.set_lambda(lambda)
    }
}

/// The one that lacks less.
fn closer(a: Conditions, b: Conditions) -> Conditions {
    let lacks = |c: &Conditions| (c.lower / c.lambda).max(c.lambda / c.upper);
    if b.hold() || lacks(&b) < lacks(&a) { b } else { a }
}

/// The mean model of each cluster.
fn means(w: &Matrix, partition: &Partition) -> Matrix {
    let (sizes, mut models) = (partition.sizes(), Matrix::zeros(partition.len(), w.cols()));
    for i in 0..w.rows() {
        let k = partition.part(i);
        axpy(1.0 / sizes[k] as f64, w.row(i), models.row_mut(k));
    }
    models
}

/// The largest distance of a node's model from its cluster's.
fn spread(w: &Matrix, models: &Matrix, partition: &Partition) -> f64 {
    (0..w.rows()).map(|i| distance(w.row(i), models.row(partition.part(i)))).fold(0.0, f64::max)
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    norm2(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())
}

/// `lower` and `upper` at the models of the clusters.
fn bounds(problem: &Problem, models: &Matrix, partition: &Partition) -> (f64, f64) {
    let (n, d, loss, sizes) = (problem.nodes(), problem.dim(), problem.loss(), partition.sizes());
    let gradients = |k: usize| -> Matrix {
        let mut all = Matrix::zeros(n, d);
        (0..n).for_each(|i| loss.gradient(i, models.row(k), all.row_mut(i)));
        all
    };
    let (mut lower, mut least) = (0.0f64, f64::INFINITY);
    for k in 0..partition.len() {
        let all = gradients(k);
        let mine: Vec<usize> = (0..n).filter(|&i| partition.part(i) == k).collect();
        for (p, &i) in mine.iter().enumerate() {
            let farthest = mine[..p].iter().map(|&j| distance(all.row(i), all.row(j))).fold(0.0, f64::max);
            lower = lower.max(farthest / sizes[k] as f64);
        }
        let mean = means(&all, partition);
        let others = (0..partition.len()).filter(|&l| l != k);
        least = others.map(|l| distance(mean.row(k), mean.row(l))).fold(least, f64::min);
    }
    // The sizes of the others are largest for the smallest cluster.
    let most = n - sizes.iter().min().copied().unwrap_or(0);
    (lower, least / (2.0 * most as f64))
}
