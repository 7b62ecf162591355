//! Defences against neighbours that lie: what a node makes of what it hears, and whom it suspects.
//!
//! | defence | what is bounded, by what |
//! |---|---|
//! | a norm or the Huber norm as penalty | the pull of a neighbour, `lambda A_e` (times `2 delta`): [`robustness`](crate::robustness) |
//! | [`Rule::Median`], [`Rule::TrimmedMean`] | every coordinate of the pull, by what honest neighbours say |
//! | [`Rule::ClippedGossip`], [`Rule::ClippedSum`] | the pull of all liars together, by the distance of an honest neighbour times what is allowed for |
//! | Huber losses | the pull of a row |
//! | [`screen`] | nothing: it finds the guilty edges, and says how sure it is |

mod rule;
pub mod screen;

pub use rule::{Rule, RuleWork};
