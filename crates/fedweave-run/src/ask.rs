//! Without a graph, nodes ask others drawn at random and learn from those whose answers help.

mod fits;
mod gradients;
mod report;
mod summary;
mod write;

use fedweave::loss::LossSpec;
use fedweave::matrix::Matrix;
use fedweave::model::active_sampling::{Asking, Candidates, learn};
use fedweave::model::{ModelSpec, Task};
use fedweave::tune::Errors;
use fedweave_io::{Input, ModelFile};

use crate::error::{Error, Result, refuse, require};
use crate::held_out::HeldOutErrors;
use crate::request::AskRequest;
use crate::request::ask::{Learner, ROUNDS};
use crate::watch::Observer;

pub use fits::{Blank, TaughtBy, ask_with};
pub use report::report_of;
pub use summary::{summary, text};
pub use write::write_run;

/// Others asked in each round, if nobody says how many.
const CANDIDATES: usize = 10;
/// More nodes do not ask unless they are named.
const ASKERS_MAX: usize = 500;
/// Every answer is kept if at most so many nodes ask.
const TOLD_MAX: usize = 20;

/// Everything there is to say afterwards.
pub struct AskResult {
    /// What was asked for.
    pub request: AskRequest,
    /// The data.
    pub input: Input,
    /// How many were asked, how often.
    pub asking: Asking,
    /// The step of an answer, or what rows of others weigh.
    pub eta: f64,
    /// From whom the nodes learnt.
    pub lessons: Vec<Lesson>,
    /// The models.
    pub taught: Taught,
    /// Number of rows trained with.
    pub rows_trained: usize,
    /// Errors on training rows.
    pub train: Errors,
    /// Errors on held-out rows.
    pub held_out: Option<HeldOutErrors>,
    /// What the reader must know.
    pub notices: Vec<String>,
    /// Seconds of all of it.
    pub seconds: f64,
}

/// The models of those that asked.
pub enum Taught {
    /// A row for each of them.
    Parameters(LossSpec, Matrix),
    /// Models of any class.
    Models(ModelSpec, Task, Box<ModelFile>),
}

impl AskRequest {
    /// True if every answer is kept where so many nodes ask.
    fn tells(&self, askers: usize) -> bool {
        self.tell_all || askers <= TOLD_MAX
    }
}

/// From whom a node learnt.
pub struct Lesson {
    /// The node.
    pub node: usize,
    /// Loss on its own rows before.
    pub first: f64,
    /// Loss on its own rows after.
    pub last: f64,
    /// Others, rounds won, sums of rewards; most rounds first.
    pub teachers: Vec<(usize, usize, f64)>,
    /// Round by round; empty where many nodes ask.
    pub told: Vec<Told>,
    /// Messages sent.
    pub messages: u64,
    /// Bytes sent.
    pub bytes: u64,
}

/// One round of asking.
pub struct Told {
    /// Whose answer was taken.
    pub candidate: usize,
    /// What it was worth.
    pub reward: f64,
    /// Loss on the own rows afterwards.
    pub loss: f64,
    /// All that were asked, with their rewards.
    pub asked: Vec<(usize, f64)>,
}

/// Lets the nodes ask.
pub fn ask(request: AskRequest, input: Input, observer: &dyn Observer) -> Result<AskResult> {
    let result = match &request.learner {
        Learner::Gradients(fit) => gradients::ask(&request, fit, input, observer)?,
        Learner::Fits(relax) => fits::ask(&request, relax, input, observer)?,
    };
    Ok(AskResult { seconds: observer.seconds(), ..result })
}

/// Candidates that stop answering after an interrupt.
struct Interruptible<'a, C> {
    candidates: &'a C,
    observer: &'a dyn Observer,
}

impl<C: Candidates> Candidates for Interruptible<'_, C> {
    type Model = C::Model;

    fn nodes(&self) -> usize {
        self.candidates.nodes()
    }

    fn answer(&self, candidate: usize, model: &C::Model, out: &mut C::Model) -> fedweave::Result<()> {
        match self.observer.interrupted() {
            true => Err(fedweave::Error::Method { method: "asking", needs: "to be left alone; it was interrupted" }),
            false => self.candidates.answer(candidate, model, out),
        }
    }

    fn own_loss(&self, own: usize, model: &C::Model) -> f64 {
        self.candidates.own_loss(own, model)
    }

    fn message(&self, model: &C::Model) -> (usize, usize) {
        self.candidates.message(model)
    }
}

/// Who asks, and how many others; `notices` gets what the reader must know.
fn askers(request: &AskRequest, input: &Input, notices: &mut Vec<String>) -> Result<(Vec<usize>, Asking)> {
    let n = input.names.len();
    require!(n > 1, "there is one node, `{}`: nobody to ask", input.names[0]);
    if let Some(empty) = (0..n).find(|&i| input.data.rows(i).is_empty()) {
        refuse!("node `{}` has no rows: it cannot judge answers, nor give any; leave it out", input.names[empty]);
    }
    let (candidates, others) = (request.candidates.unwrap_or(CANDIDATES.min(n - 1)), n - 1);
    require!(
        (1..n).contains(&candidates),
        "--candidates {candidates}: a node can ask at least 1 and at most {others} others"
    );
    let rounds = request.rounds.unwrap_or(ROUNDS);
    let asking = Asking { candidates, rounds, seed: request.seed };
    let find = |name: &String| {
        let first = &input.names[0];
        let unknown = || Error::Request(format!("--asker {name}: no such node; there are {n}, the first is `{first}`"));
        input.names.binary_search(name).map_err(|_| unknown())
    };
    let step = n.div_ceil(ASKERS_MAX);
    let mut askers: Vec<usize> = match &request.askers {
        Some(names) => names.iter().map(find).collect::<Result<_>>()?,
        None => (0..n).step_by(step).collect(),
    };
    if request.askers.is_none() && askers.len() < n {
        notices.push(format!("every {step}th of the {n} nodes asks, {} in all; --asker names others", askers.len()));
    }
    askers.sort_unstable();
    askers.dedup();
    Ok((askers, asking))
}

/// Lets node `own` ask; `tell` keeps every answer.
fn lesson<C: Candidates>(
    candidates: &C,
    own: usize,
    start: C::Model,
    asking: &Asking,
    tell: bool,
    observer: &dyn Observer,
) -> fedweave::Result<(C::Model, Lesson)> {
    let first = candidates.own_loss(own, &start);
    let learnt = learn(&Interruptible { candidates, observer }, own, start, asking, |_, _| ())?;
    let told = learnt.choices.iter().zip(&learnt.rewards);
    let told =
        told.map(|(c, asked)| Told { candidate: c.candidate, reward: c.reward, loss: c.loss, asked: asked.clone() });
    let lesson = Lesson {
        node: own,
        first,
        last: learnt.choices.last().map_or(first, |c| c.loss),
        teachers: learnt.teachers(),
        told: if tell { told.collect() } else { Vec::new() },
        messages: learnt.traffic.messages(),
        bytes: learnt.traffic.bytes(),
    };
    Ok((learnt.model, lesson))
}
