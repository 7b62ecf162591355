//! Active sampling: a node asks a few others, drawn at random in every round, how they would improve its model, and takes
//! the answer that helps most on its own rows (active-sampling, Algorithms 1 and 2). No graph is needed.
//!
//! ```text
//! draw C, |C| = B;   h_c = answer of candidate c to h;   reward_c = L_own(h) - L_own(h_c);   h <- h_c with the largest reward
//! ```
//!
//! What an answer is depends on the models: a gradient step (Algorithm 1, [`GradientStep`]) or one fit to the candidate's
//! rows that stays close to the predictions of `h` (Algorithm 2, [`Retrain`]). A candidate is a
//! [`Candidates`]: it has no way to show its rows.

mod gradient_step;
mod retrain;

use rand::seq::index;
use rayon::prelude::*;

use crate::accounting::Traffic;
use crate::error::{Error, Result};
use crate::random::{Purpose, stream};

pub use gradient_step::GradientStep;
pub use retrain::Retrain;

/// Nodes that can be asked. All that is ever learnt of their data is in the answers.
pub trait Candidates: Sync {
    /// What is learnt.
    type Model: Clone + Send + Sync;
    /// Number of nodes, the one that asks included.
    fn nodes(&self) -> usize;
    /// `out <-` what `candidate` would make of `model`.
    fn answer(&self, candidate: usize, model: &Self::Model, out: &mut Self::Model) -> Result<()>;
    /// `L_own`, on the rows of the node that asks.
    fn own_loss(&self, own: usize, model: &Self::Model) -> f64;
    /// Numbers in a question and in its answer.
    fn message(&self, model: &Self::Model) -> (usize, usize);
}

/// How to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asking {
    /// `B`, candidates of a round.
    pub candidates: usize,
    /// `R`, number of rounds.
    pub rounds: usize,
    /// Who is drawn follows from it.
    pub seed: u64,
}

/// One round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chosen {
    /// Whose answer was taken.
    pub candidate: usize,
    /// By how much it lowered the loss of the node that asks; negative if no answer helped.
    pub reward: f64,
    /// That loss afterwards.
    pub loss: f64,
}

/// What a node learnt, and from whom.
#[derive(Debug, Clone, PartialEq)]
pub struct Learnt<M> {
    /// The model.
    pub model: M,
    /// Every round.
    pub choices: Vec<Chosen>,
    /// Rewards of all candidates that were asked, round by round: who, and how much.
    pub rewards: Vec<Vec<(usize, f64)>>,
    /// What was sent.
    pub traffic: Traffic,
}

impl<M> Learnt<M> {
    /// Whom the node learnt from: the rounds won and the sum of their rewards, most rounds first.
    pub fn teachers(&self) -> Vec<(usize, usize, f64)> {
        let mut sorted: Vec<(usize, f64)> = self.choices.iter().map(|c| (c.candidate, c.reward)).collect();
        sorted.sort_by_key(|c| c.0);
        let mut teachers: Vec<(usize, usize, f64)> = Vec::new();
        for (candidate, reward) in sorted {
            match teachers.last_mut().filter(|last| last.0 == candidate) {
                Some(last) => (last.1, last.2) = (last.1 + 1, last.2 + reward),
                None => teachers.push((candidate, 1, reward)),
            }
        }
        teachers.sort_by_key(|t| (std::cmp::Reverse(t.1), t.0));
        teachers
    }
}

/// Improves `start` for node `own`; `see` looks at the model after every round, and at the start.
pub fn learn<C: Candidates>(
    candidates: &C,
    own: usize,
    start: C::Model,
    asking: &Asking,
    mut see: impl FnMut(usize, &C::Model),
) -> Result<Learnt<C::Model>> {
    let n = candidates.nodes();
    if asking.candidates == 0 || asking.candidates >= n {
        let needs = "at least 1 and below the number of nodes";
        return Err(Error::Parameter { name: "candidates", value: asking.candidates as f64, needs });
    }
    if own >= n {
        return Err(Error::Size { what: "node that asks, counted from 0: below", expected: n, found: own });
    }
    let mut rng = stream(asking.seed, Purpose::Candidates, own);
    let mut asked: Vec<(usize, f64, C::Model)> = vec![(0, 0.0, start.clone()); asking.candidates];
    let mut learnt = Learnt { model: start, choices: Vec::new(), rewards: Vec::new(), traffic: Traffic::new(n) };
    let mut loss = candidates.own_loss(own, &learnt.model);
    see(0, &learnt.model);
    for round in 1..=asking.rounds {
        let drawn = index::sample(&mut rng, n - 1, asking.candidates);
        // Everybody but the node itself.
        asked.iter_mut().zip(drawn).for_each(|(a, k)| a.0 = if k < own { k } else { k + 1 });
        let model = &learnt.model;
        asked.par_iter_mut().try_for_each(|(candidate, value, answer)| -> Result<()> {
            candidates.answer(*candidate, model, answer)?;
            *value = candidates.own_loss(own, answer);
            Ok(())
        })?;
        // The first of equals; a loss that is not a number never wins against one that is.
        let better = |a: f64, b: f64| a < b || (b.is_nan() && !a.is_nan());
        let best = (1..asked.len()).fold(0, |best, k| if better(asked[k].1, asked[best].1) { k } else { best });
        account(candidates, own, &asked, &learnt.model, &mut learnt.traffic);
        learnt.rewards.push(asked.iter().map(|a| (a.0, loss - a.1)).collect());
        learnt.choices.push(Chosen { candidate: asked[best].0, reward: loss - asked[best].1, loss: asked[best].1 });
        loss = asked[best].1;
        std::mem::swap(&mut learnt.model, &mut asked[best].2);
        see(round, &learnt.model);
    }
    Ok(learnt)
}

/// The model goes to every candidate, and an answer comes back.
fn account<C: Candidates>(
    candidates: &C,
    own: usize,
    asked: &[(usize, f64, C::Model)],
    model: &C::Model,
    traffic: &mut Traffic,
) {
    let question = candidates.message(model).0;
    traffic.send(own, asked.len(), question);
    asked.iter().for_each(|a| traffic.send(a.0, 1, candidates.message(&a.2).1));
    traffic.end_round();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Candidate `c` proposes its own number.
    struct Numbers(Vec<f64>);

    impl Candidates for Numbers {
        type Model = f64;
        fn nodes(&self) -> usize {
            self.0.len()
        }
        fn answer(&self, candidate: usize, _: &f64, out: &mut f64) -> Result<()> {
            *out = self.0[candidate];
            Ok(())
        }
        fn own_loss(&self, own: usize, model: &f64) -> f64 {
            (model - self.0[own]).abs()
        }
        fn message(&self, _: &f64) -> (usize, usize) {
            (2, 1)
        }
    }

    #[test]
    fn the_best_answer_wins_and_nobody_asks_itself() {
        let numbers = Numbers(vec![5.0, f64::NAN, 4.0, 9.0]);
        let asking = Asking { candidates: 3, rounds: 4, seed: 1 };
        let learnt = learn(&numbers, 0, 20.0, &asking, |_, _| ()).unwrap();
        assert_eq!(learnt.model, 4.0);
        assert_eq!((learnt.choices[0].candidate, learnt.choices[0].reward), (2, 14.0));
        assert_eq!(learnt.teachers(), [(2, 4, 14.0)]);
        assert!(learnt.rewards.iter().all(|round| round.iter().all(|r| r.0 != 0) && round.len() == 3));
        // Three questions of two numbers and three answers of one, four times.
        assert_eq!((learnt.traffic.messages(), learnt.traffic.bytes()), (24, 4 * 8 * 9));
        for candidates in [0, 4] {
            assert!(learn(&numbers, 0, 0.0, &Asking { candidates, ..asking }, |_, _| ()).is_err());
        }
    }
}
