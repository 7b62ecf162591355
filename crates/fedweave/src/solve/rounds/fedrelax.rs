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

use super::method::Method;
use super::round::{Round, all};
use crate::accounting::{Traffic, work};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::parallel::for_blocks;
use crate::problem::Problem;
use crate::scratch::Scratch;
use crate::solve::minimise_local;
use forms::Forms;
pub use relax_round::{RelaxRound, mean_of_neighbours};

mod forms;
mod relax_round;

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
    order: Order,
    how: How<'p>,
    traffic: Traffic,
    /// Numbers sent by each node in a round, in so many messages.
    sends: Vec<(usize, usize)>,
    flops: f64,
}

enum How<'p> {
    /// One proximal step from the mean of the neighbours.
    Prox(RelaxRound<&'p Problem>),
    /// Newton's method with a quadratic form per pair.
    Forms { forms: Forms<'p>, w: Matrix, next: Matrix, scratch: Scratch },
}

impl<'p> FedRelax<'p> {
    /// Starts at zero; for the squared penalty and any loss, or for a quadratic penalty and losses without kinks.
    pub fn new(problem: &'p Problem, order: Order) -> Result<Self> {
        let how = match problem.penalty().name() {
            "squared" => How::Prox(RelaxRound::new(problem, all(problem.nodes()), alone(problem))),
            _ if !problem.penalty().is_quadratic() => {
                return Err(Error::Method { method: "fedrelax", needs: "the squared or a quadratic penalty" });
            }
            _ => How::forms(Forms::of_penalty(problem)?, alone(problem)),
        };
        Ok(Self::with(problem, order, how, |_, _| problem.dim()))
    }

    /// Couples predictions on public data: `public` holds the rows that each node publishes (labels do not matter). The
    /// penalty of `problem` is not used. A node sends its predictions, never its model.
    pub fn on_public_data(problem: &'p Problem, public: &Dataset, judged: JudgedOn, order: Order) -> Result<Self> {
        let how = How::forms(Forms::of_public_data(problem, public, judged)?, alone(problem));
        let rows = |i: usize| public.rows(i).len();
        let numbers = |from: usize, to: usize| match judged {
            JudgedOn::Neighbours => rows(from),
            JudgedOn::Both => rows(from) + rows(to),
        };
        Ok(Self::with(problem, order, how, numbers))
    }

    fn with(problem: &'p Problem, order: Order, how: How<'p>, numbers: impl Fn(usize, usize) -> usize) -> Self {
        let sent = |i: usize| {
            let ends = problem.graph().ends(i).iter().filter(|_| problem.is_coupled(i));
            ends.fold((0, 0), |(messages, sum), end| (messages + 1, sum + numbers(i, end.neighbour as usize)))
        };
        FedRelax {
            order,
            how,
            traffic: Traffic::new(problem.nodes()),
            sends: (0..problem.nodes()).map(sent).collect(),
            flops: work::of_all(problem.loss(), work::prox) + work::coupling(problem),
        }
    }
}

/// Zero, and the best of their own where nobody is near.
fn alone(problem: &Problem) -> Matrix {
    let mut w = Matrix::zeros(problem.nodes(), problem.dim());
    minimise_local(problem, &mut w, |i| !problem.is_coupled(i));
    w
}

impl<'p> How<'p> {
    fn forms(forms: Forms<'p>, w: Matrix) -> Self {
        let scratch = Scratch::new(forms.work_len() + 8 * w.cols());
        How::Forms { forms, next: w.clone(), w, scratch }
    }

    fn together(&mut self) {
        match self {
            How::Prox(round) => {
                round.begin();
                round.complete();
            }
            How::Forms { forms, w, next, scratch } => {
                let d = w.cols();
                for_blocks(next.as_mut_slice(), d, |start, rows| {
                    let mut work = scratch.lock();
                    let rows = (start..).zip(rows.chunks_exact_mut(d));
                    rows.for_each(|(node, row)| forms.update(node, w, row, &mut work));
                });
                std::mem::swap(w, next);
            }
        }
    }

    /// Node by node, each from the newest models.
    fn in_turn(&mut self) {
        match self {
            How::Prox(round) => round.in_turn(),
            How::Forms { forms, w, next, scratch } => {
                let mut work = scratch.lock();
                for node in 0..w.rows() {
                    forms.update(node, w, next.row_mut(node), &mut work);
                    w.row_mut(node).copy_from_slice(next.row(node));
                }
            }
        }
    }
}

impl Method for FedRelax<'_> {
    fn name(&self) -> &'static str {
        "fedrelax"
    }

    fn round(&mut self) {
        match self.order {
            Order::Together => self.how.together(),
            Order::InTurn => self.how.in_turn(),
        }
        for (node, &(messages, numbers)) in self.sends.iter().enumerate() {
            self.traffic.send_numbers(node, messages, numbers);
        }
        self.traffic.compute(self.flops);
        self.traffic.end_round();
    }

    fn models(&self) -> &Matrix {
        match &self.how {
            How::Prox(round) => round.models(),
            How::Forms { w, .. } => w,
        }
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }
}
