//! One node against quadratic forms: `argmin_w L_i(w) + sum_j (w - w_j)'M_ij (w - w_j)` with `M_ij = lambda A_ij Q_ij`.

use super::JudgedOn;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::linalg::cholesky::{self, packed_len};
use crate::loss::{Loss, SecondOrder, WithForm};
use crate::matrix::{Matrix, axpy, dot};
use crate::parallel::for_blocks;
use crate::problem::Problem;
use crate::scratch::Scratch;

/// The forms of all nodes, and factors where one serves for ever.
pub struct Forms<'p> {
    problem: &'p Problem,
    pulls: Pulls,
    /// `L_i(w) + w' (sum_j M_ij) w`.
    loss: WithForm<'p>,
    /// Factors of the Hessians of `loss`, if these are constant; empty otherwise.
    factors: Vec<f64>,
}

/// How `2 M_ij t` is computed.
enum Pulls {
    /// It is the gradient of the penalty.
    Penalty,
    /// `2 lambda A_ij` times the mean of `x x't` over the rows of `j`, or of `i` and of `j`.
    Public { data: Dataset, judged: JudgedOn },
}

impl<'p> Forms<'p> {
    /// The forms of a quadratic penalty.
    pub fn of_penalty(problem: &'p Problem) -> Result<Self> {
        Self::new(problem, Pulls::Penalty)
    }

    /// Discrepancies of predictions on the rows that nodes publish.
    pub fn of_public_data(problem: &'p Problem, public: &Dataset, judged: JudgedOn) -> Result<Self> {
        if public.nodes() != problem.nodes() {
            let (expected, found) = (problem.nodes(), public.nodes());
            return Err(Error::Size { what: "nodes of the public data", expected, found });
        }
        if public.dim() != problem.dim() {
            let (expected, found) = (problem.dim(), public.dim());
            return Err(Error::Size { what: "features of the public data", expected, found });
        }
        Self::new(problem, Pulls::Public { data: public.clone(), judged })
    }

    fn new(problem: &'p Problem, pulls: Pulls) -> Result<Self> {
        let loss = problem.loss();
        let Some(second) = loss.second_order().filter(|_| loss.has_hessian()) else {
            let needs = "losses without kinks, unless the penalty is squared";
            return Err(Error::Method { method: "fedrelax", needs });
        };
        let twice_form = twice_forms(problem, &pulls);
        let mut forms = Forms { problem, pulls, loss: WithForm::new(loss, second, twice_form), factors: Vec::new() };
        if loss.is_quadratic() {
            forms.factors = forms.factor_all();
        }
        Ok(forms)
    }

    /// Entries of scratch space of [`update`](Forms::update).
    pub fn work_len(&self) -> usize {
        self.loss.work_len() + 8 * self.problem.dim()
    }

    /// `row <-` the model of `node` that is best for the models `w` of its neighbours.
    pub fn update(&self, node: usize, w: &Matrix, row: &mut [f64], work: &mut [f64]) {
        let d = row.len();
        row.copy_from_slice(w.row(node));
        if !self.problem.is_coupled(node) {
            return;
        }
        let (pull, work) = work.split_at_mut(d);
        pull.fill(0.0);
        for end in self.problem.graph().ends(node) {
            let (t, work) = work.split_at_mut(d);
            t.copy_from_slice(w.row(end.neighbour as usize));
            self.pulls.apply(self.problem, node, end.neighbour as usize, end.edge as usize, t, work);
            axpy(1.0, t, pull);
        }
        if self.factors.is_empty() {
            return self.loss.minimise_tilted(node, pull, row, work);
        }
        // The first Newton step of a quadratic is its last; a second one takes away what rounding left.
        let factor = &self.factors[node * packed_len(d)..(node + 1) * packed_len(d)];
        for _ in 0..2 {
            let gradient = &mut work[..d];
            self.loss.gradient(node, row, gradient);
            axpy(-1.0, pull, gradient);
            cholesky::solve(factor, gradient);
            axpy(-1.0, gradient, row);
        }
    }

    fn factor_all(&self) -> Vec<f64> {
        let (n, d) = (self.problem.nodes(), self.problem.dim());
        let (len, zero, scratch) = (packed_len(d), vec![0.0; d], Scratch::new(self.loss.work_len() + packed_len(d)));
        let mut factors = vec![0.0; n * len];
        for_blocks(&mut factors, len, |start, pieces| {
            let mut work = scratch.lock();
            let (hessian, work) = work.split_at_mut(len);
            for (k, factor) in pieces.chunks_exact_mut(len).enumerate() {
                self.loss.hessian(start + k, &zero, hessian, work);
                let trace: f64 = (0..d).map(|j| cholesky::row(hessian, j)[j]).sum();
                // Directions that neither data nor neighbours determine: stay where you are.
                self.loss.factor(start + k, hessian, (1e-12 * trace).max(f64::MIN_POSITIVE), factor, work);
            }
        });
        factors
    }
}

/// Packed lower triangles of `2 sum_j M_ij`, column by column from the pulls of unit vectors.
fn twice_forms(problem: &Problem, pulls: &Pulls) -> Vec<f64> {
    let (d, len) = (problem.dim(), packed_len(problem.dim()));
    let scratch = Scratch::new(8 * d);
    let mut forms = vec![0.0; problem.nodes() * len];
    for_blocks(&mut forms, len, |start, pieces| {
        let mut work = scratch.lock();
        let (t, work) = work.split_at_mut(d);
        for (k, form) in pieces.chunks_exact_mut(len).enumerate().filter(|(k, _)| problem.is_coupled(start + k)) {
            for (end, j) in problem.graph().ends(start + k).iter().flat_map(|end| (0..d).map(move |j| (end, j))) {
                t.fill(0.0);
                t[j] = 1.0;
                pulls.apply(problem, start + k, end.neighbour as usize, end.edge as usize, t, work);
                (j..d).for_each(|i| form[packed_len(i) + j] += t[i]);
            }
        }
    });
    forms
}

impl Pulls {
    /// `t <- 2 M_ij t`.
    fn apply(&self, problem: &Problem, i: usize, j: usize, edge: usize, t: &mut [f64], work: &mut [f64]) {
        let weight = problem.edge_weights()[edge];
        match self {
            Pulls::Penalty => problem.penalty().gradient(edge, weight, t, work),
            Pulls::Public { data, judged } => {
                let (old, _) = work.split_at_mut(t.len());
                old.copy_from_slice(t);
                t.fill(0.0);
                add_mean_product(data, j, 2.0 * weight, old, t);
                if *judged == JudgedOn::Both {
                    add_mean_product(data, i, 2.0 * weight, old, t);
                }
            }
        }
    }
}

/// `out <- out + scale * mean of x x't` over the rows of a node.
fn add_mean_product(data: &Dataset, node: usize, scale: f64, t: &[f64], out: &mut [f64]) {
    let rows = data.rows(node);
    let share = scale / rows.len().max(1) as f64;
    for r in rows {
        axpy(share * dot(data.x(r), t), data.x(r), out);
    }
}
