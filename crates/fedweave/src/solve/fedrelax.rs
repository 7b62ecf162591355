//! FedRelax: every node minimises the objective over its own model while its neighbours hold still (Algorithm 5.4 of the
//! book, Algorithm 2 of fedrelax-model-agnostic).
//!
//! ```text
//! w_i+ = argmin_w  L_i(w) + lambda sum_j A_ij |w - w_j|^2          squared penalty: one proximal step, 1 / tau_i = 2 lambda d_i
//! w_i+ = argmin_w  L_i(w) + lambda sum_j A_ij (w - w_j)'Q_ij (w - w_j)          predictions on public data
//! ```
//!
//! In turn, each node with the newest models of its neighbours, the objective never increases. All at once, no model moves
//! farther from its optimum than the farthest of its neighbours' models. Neither needs a step size.

use std::ops::Range;

use super::minimise_local;
use super::rounds::Method;
use crate::accounting::{Traffic, work};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::loss::Prepared;
use crate::matrix::Matrix;
use crate::parallel::for_blocks;
use crate::problem::Problem;
use crate::scratch::Scratch;
use forms::Forms;

mod forms;

/// When nodes update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// All at once, from the models of the round before.
    Together,
    /// One after another, in the order of the nodes, each from the newest models.
    #[default]
    InTurn,
}

/// On whose public rows a node is compared with a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JudgedOn {
    /// The neighbour's, as in (16) of fedrelax-model-agnostic.
    #[default]
    Neighbours,
    /// Both: minimises the paper's objective (15) over one model exactly.
    Both,
}

/// Block minimisation over the edges of the graph.
pub struct FedRelax<'p> {
    problem: &'p Problem,
    order: Order,
    how: How<'p>,
    w: Matrix,
    next: Matrix,
    traffic: Traffic,
    scratch: Scratch,
    /// Numbers sent by each node in a round, in so many messages.
    sends: Vec<(usize, usize)>,
    flops: f64,
}

enum How<'p> {
    /// One proximal step from the mean of the neighbours.
    Prox { nodes: Vec<u32>, tau: Vec<f64>, prepared: Prepared },
    /// Newton's method with a quadratic form per pair.
    Forms(Forms<'p>),
}

impl<'p> FedRelax<'p> {
    /// Starts at zero; for the squared penalty and any loss, or for a quadratic penalty and losses without kinks.
    pub fn new(problem: &'p Problem, order: Order) -> Result<Self> {
        let how = match problem.penalty().name() {
            "squared" => prox(problem),
            _ if !problem.penalty().is_smooth() => {
                return Err(Error::Method { method: "fedrelax", needs: "the squared or a quadratic penalty" });
            }
            _ => How::Forms(Forms::of_penalty(problem)?),
        };
        Ok(Self::with(problem, order, how, |_, _| problem.dim()))
    }

    /// Couples predictions on public data: `public` holds the rows that each node publishes (labels do not matter). The
    /// penalty of `problem` is not used. A node sends its predictions, never its model.
    pub fn on_public_data(problem: &'p Problem, public: &Dataset, judged: JudgedOn, order: Order) -> Result<Self> {
        let how = How::Forms(Forms::of_public_data(problem, public, judged)?);
        let rows = |i: usize| public.rows(i).len();
        let numbers = |from: usize, to: usize| match judged {
            JudgedOn::Neighbours => rows(from),
            JudgedOn::Both => rows(from) + rows(to),
        };
        Ok(Self::with(problem, order, how, numbers))
    }

    fn with(problem: &'p Problem, order: Order, how: How<'p>, numbers: impl Fn(usize, usize) -> usize) -> Self {
        let (n, d, loss) = (problem.nodes(), problem.dim(), problem.loss());
        let mut w = Matrix::zeros(n, d);
        minimise_local(problem, &mut w, |i| !problem.is_coupled(i));
        let sent = |i: usize| {
            let ends = problem.graph().ends(i).iter().filter(|_| problem.is_coupled(i));
            ends.fold((0, 0), |(messages, sum), end| (messages + 1, sum + numbers(i, end.neighbour as usize)))
        };
        let work_len = match &how {
            How::Prox { .. } => loss.work_len(),
            How::Forms(forms) => forms.work_len(),
        };
        FedRelax {
            problem,
            order,
            flops: work::of_all(loss, work::prox) + work::coupling(problem),
            how,
            next: w.clone(),
            w,
            traffic: Traffic::new(n),
            scratch: Scratch::new(work_len + 8 * d),
            sends: (0..n).map(sent).collect(),
        }
    }
}

/// Steps and factors of the proximal form.
fn prox<'p>(problem: &'p Problem) -> How<'p> {
    let n = problem.nodes();
    let nodes: Vec<u32> = (0..n as u32).collect();
    let tau = |i: usize| match problem.is_coupled(i) {
        true => 0.5 / (problem.lambda() * problem.graph().weighted_degree(i)),
        false => 0.0,
    };
    let tau: Vec<f64> = (0..n).map(tau).collect();
    let prepared = problem.loss().prepare(&nodes, &tau);
    How::Prox { nodes, tau, prepared }
}

impl How<'_> {
    /// Updates the nodes of `range` (one row each in `rows`) from the models `w`.
    fn update(&self, problem: &Problem, range: Range<usize>, w: &Matrix, rows: &mut [f64], work: &mut [f64]) {
        let d = problem.dim();
        match self {
            How::Prox { nodes, tau, prepared } => {
                for (node, row) in range.clone().zip(rows.chunks_exact_mut(d)) {
                    mean_of_neighbours(problem, node, w, row);
                }
                let (start, nodes) = (range.start, &nodes[range]);
                problem.loss().prox_rows(start, nodes, tau, prepared, rows, work);
            }
            How::Forms(forms) => {
                for (node, row) in range.zip(rows.chunks_exact_mut(d)) {
                    forms.update(node, w, row, work);
                }
            }
        }
    }
}

/// `row <- sum_j A_ij w_j / sum_j A_ij`; a node that is not coupled keeps its own.
pub fn mean_of_neighbours(problem: &Problem, node: usize, w: &Matrix, row: &mut [f64]) {
    if !problem.is_coupled(node) {
        return row.copy_from_slice(w.row(node));
    }
    let (graph, total) = (problem.graph(), problem.graph().weighted_degree(node));
    row.fill(0.0);
    for end in graph.ends(node) {
        let share = graph.weight(end.edge as usize) / total;
        row.iter_mut().zip(w.row(end.neighbour as usize)).for_each(|(r, w)| *r += share * w);
    }
}

impl Method for FedRelax<'_> {
    fn name(&self) -> &'static str {
        "fedrelax"
    }

    fn round(&mut self) {
        let (problem, how, scratch, d) = (self.problem, &self.how, &self.scratch, self.problem.dim());
        match self.order {
            Order::Together => {
                let w = &self.w;
                for_blocks(self.next.as_mut_slice(), d, |start, rows| {
                    how.update(problem, start..start + rows.len() / d, w, rows, &mut scratch.lock());
                });
                std::mem::swap(&mut self.w, &mut self.next);
            }
            Order::InTurn => {
                let mut work = scratch.lock();
                for node in 0..problem.nodes() {
                    how.update(problem, node..node + 1, &self.w, self.next.row_mut(node), &mut work);
                    self.w.row_mut(node).copy_from_slice(self.next.row(node));
                }
            }
        }
        for (node, &(messages, numbers)) in self.sends.iter().enumerate() {
            self.traffic.send_numbers(node, messages, numbers);
        }
        self.traffic.compute(self.flops);
        self.traffic.end_round();
    }

    fn models(&self) -> &Matrix {
        &self.w
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }
}
