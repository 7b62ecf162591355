//! Which predictor suits the rows? Candidates race on folds; the winners share the prediction.
//!
//! | name | predicts by |
//! |---|---|
//! | `local`, `pooled`, `node-effects`, `mixed` | what one would use without a graph: the rivals |
//! | `learnt` | linear models whose coupling is learnt from the rows |
//! | `squared ...`, `norm2 ...` | linear models with one strength of the coupling; the best of many, by successive halving |
//! | `trunk` | boosted trees on the rows of all nodes, with the node as a category and its attributes as features |
//! | `forest` | the mean of trees grown on rows drawn with replacement, which see the same as `trunk`; squared loss |
//! | `common` | the same without the node: what all have in common |
//! | `common+leaves`, `common+features` | coupled linear models of the nodes on the score of the common trees |
//! | `leaves+trunk`, `leaves+common` | trees for what coupled linear models leave |
//! | `...+shocks` | any of them, and what nodes share at a time |
//!
//! Every candidate predicts every row once without having seen it. Shares are found on these predictions; candidates
//! with a small share are dropped, and a single one is taken where a mixture is not clearly better. The result does not
//! depend on the number of threads.

pub mod cost;
mod entry;
mod halving;
mod layered;
mod linear;
mod member;
mod rows;
mod runner;
mod shares;
mod shocked;
#[cfg(test)]
mod tests;

pub use cost::Cost;
pub use entry::Entry;
pub use layered::{Growing, Grown, Sees, grow_trunk, predict_trunk};
pub use linear::{Given, GivenPenalty, Linear, LinearFit, predict_linear};
pub use member::{LeafInput, Leaves, Member, MemberShocks, described};
pub use rows::{Rows, Watcher};
pub use shocked::Shared;

use crate::error::Result;
use crate::folds::Folds;
use crate::learn::trunk::GoOn;
use crate::tune::Errors;

/// What takes part, and who is told.
pub struct RaceOptions<'a> {
    /// Names of the winners and their shares, if they are known already; `None`: all candidates run.
    pub recipe: Option<Vec<(String, f64)>>,
    /// Seed of everything random.
    pub seed: u64,
    /// Is told which candidate of how many begins; returns false to stop the race there.
    pub begin: &'a (dyn Fn(&str, usize, usize) -> bool + Sync),
    /// Sees what solvers do.
    pub watch: &'a Watcher<'a>,
    /// Is asked before every tree; false leaves the candidate that is at it without a result.
    pub go_on: &'a GoOn<'a>,
}

/// The name of a candidate that could not be fitted, and why.
pub type Failure = (String, String);

/// A race that was run.
#[derive(Debug, Clone, PartialEq)]
pub struct Race {
    /// Everything that ran, best first; shares are in the members.
    pub entries: Vec<Entry>,
    /// What the winners together predicted for rows they had not seen.
    pub out_of_fold: Vec<f64>,
    /// Errors of that, by node.
    pub errors: Errors,
    /// Candidates that failed.
    pub failed: Vec<Failure>,
    /// True if the race was stopped before all candidates had run.
    pub stopped: bool,
}

impl Race {
    /// The predictors that have a share.
    pub fn winners(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.member.share > 0.0)
    }

    /// The entry of this name.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.member.name == name)
    }
}

/// Runs the race.
pub fn race(rows: &Rows, folds: &Folds, shared: Option<&Shared>, options: &RaceOptions) -> Result<Race> {
    let (entries, failed, stopped) = runner::run(rows, folds, shared, options);
    shares::finish(rows, entries, failed, stopped, options.recipe.as_deref())
}
