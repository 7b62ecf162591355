//! The coupling learnt by parts that keep their rows.
//!
//! Where no region of the graph crosses a part, the likelihood is a sum over parts, up to what `mu` and `s2` are at their
//! best. So every step of the search is a [`Question`] that each part answers with a few sums over its own nodes:
//!
//! ```text
//! rows, nodes, degrees, sums of features         -> the scale of the features
//! squares about the means
//! sum X'X, sum X'y, sum y'y                      -> one model for all, subtracted
//! squares of what it leaves over
//! then again and again, at one D and kappa:
//! log |I + kappa L|, trace of its inverse        -> R
//! log |K|, S, S mu, c' Lambda K^-1 Lambda' c     -> mu, s2, the deviance
//! derivatives by Lambda and kappa                -> the next D and kappa
//! ```
//!
//! A [`Learner`] walks the path: it says what is to be asked next, and takes the total of the answers, added up in the order
//! of the parts. Whoever has the same totals asks the same questions, so that all parts walk the same path without a centre
//! ([`learn_in_parts`] is that path on one machine). Edges between parts do not take part in learning, but they do in the
//! problem that is solved afterwards.

mod learner;
mod member;
mod question;
mod result;
mod search;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

use super::choose::UNSOLVED;
use super::regions::{restricted_graph, restricted_rows};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;

pub use learner::{Learner, Turn};
pub use member::Member;
pub use question::{Question, total};
pub use result::SharedCoupling;

/// Learns the coupling as parts would that hold the nodes with the same number in `part`.
pub fn learn_in_parts(graph: &Graph, data: &Dataset, part: &[usize], intercept: bool) -> Result<SharedCoupling> {
    for (what, found) in [("nodes of the dataset", data.nodes()), ("parts of nodes", part.len())] {
        if found != graph.nodes() {
            return Err(Error::Size { what, expected: graph.nodes(), found });
        }
    }
    let parts = part.iter().max().map_or(0, |last| last + 1);
    let mut nodes_of = vec![Vec::new(); parts];
    part.iter().enumerate().for_each(|(i, p)| nodes_of[*p].push(i));
    nodes_of.retain(|nodes| !nodes.is_empty());
    let member = |nodes: &Vec<usize>| Ok(Member::new(&restricted_graph(graph, nodes), restricted_rows(data, nodes)?));
    let mut members = nodes_of.iter().map(member).collect::<Result<Vec<_>>>()?;
    let mut learner = Learner::new(members.len(), data.dim(), intercept);
    loop {
        match learner.turn() {
            Turn::Ask(question) => {
                let answers: Vec<Vec<f64>> = members.par_iter_mut().map(|m| m.answer(&question)).collect();
                learner.answer(total(answers.iter().map(Vec::as_slice), &question));
            }
            Turn::Learnt(learnt) => return Ok(*learnt),
            Turn::Failed => return Err(UNSOLVED),
        }
    }
}
