//! Which predictor suits the rows? Candidates race on folds; the winners share the prediction.
//!
//! | name | predicts by |
//! |---|---|
//! | `local`, `pooled`, `node-effects`, `mixed` | what one would use without a graph: the rivals |
//! | `learnt` | linear models whose coupling is learnt from the rows |
//! | `squared ...`, `norm2 ...` | linear models with one strength of the coupling; the best of many, by successive halving |
//! | `trunk` | boosted trees on the rows of all nodes, with the node as a category and its attributes as features |
//! | `trunk+leaves`, `trunk+features` | coupled linear models of the nodes on the score of the trunk |
//! | `leaves+trunk` | trees for what coupled linear models leave |
//! | `...+shocks` | any of them, and what nodes share at a time |
//!
//! Every candidate predicts every row once without having seen it. Shares are found on these predictions ([`blend`]); candidates
//! with a small share are dropped, and a single one is taken where a mixture is not clearly better. The result does not
//! depend on the number of threads.

pub mod blend;
pub mod cost;
mod entry;
mod halving;
mod layered;
mod linear;
mod member;
mod rows;

pub use cost::Cost;
pub use entry::Entry;
pub use layered::Shared;
pub use linear::{Given, GivenPenalty, Linear};
pub use member::{LeafInput, Leaves, Member, MemberShocks, described};
pub use rows::{Rows, Watcher};

use crate::error::{Error, Result};
use crate::folds::Folds;
use crate::learn::trunk::TrunkLoss;
use crate::tune::Errors;
use blend::{Judged, mixed};

/// Predictors with a smaller share are dropped.
const SHARE_MIN: f64 = 0.05;
/// A mixture has to be better than its best member by this share of the error.
const WORTH: f64 = 0.002;
/// How many of the best candidates without shocks are tried with them.
const SHOCKED: usize = 3;

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
}

/// A race that was run.
#[derive(Debug, Clone, PartialEq)]
pub struct Race {
    /// Everything that ran, best first; shares are in the members.
    pub entries: Vec<Entry>,
    /// What the winners together predicted for rows they had not seen.
    pub out_of_fold: Vec<f64>,
    /// Errors of that, by node.
    pub errors: Errors,
    /// Candidates that failed, and why.
    pub failed: Vec<(String, String)>,
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

/// Candidates in the order in which they run: what is most likely to win first, in case the race is stopped.
const STAGES: [&str; 10] = [
    "learnt",
    "trunk",
    "trunk+leaves",
    "trunk+features",
    "leaves+trunk",
    "local",
    "pooled",
    "node-effects",
    "mixed",
    "given",
];

/// Runs the race.
pub fn race(rows: &Rows, folds: &Folds, shared: Option<&Shared>, options: &RaceOptions) -> Result<Race> {
    let mut runner =
        Runner { rows, folds, options, entries: Vec::new(), failed: Vec::new(), learnt: None, grown: None };
    let stages: Vec<&str> = STAGES.into_iter().filter(|stage| runner.takes_part(stage)).collect();
    let total = stages.len() + usize::from(shared.is_some());
    let mut stopped = false;
    for (k, stage) in stages.into_iter().enumerate() {
        stopped = !(options.begin)(stage, k, total);
        if stopped {
            break;
        }
        runner.stage(stage);
    }
    if let (Some(shared), false) = (shared, stopped) {
        stopped = !(options.begin)("shocks", total - 1, total);
        runner.shocks(shared);
    }
    let Runner { entries, failed, .. } = runner;
    finish(rows, entries, failed, stopped, options.recipe.as_deref())
}

struct Runner<'a> {
    rows: &'a Rows<'a>,
    folds: &'a Folds,
    options: &'a RaceOptions<'a>,
    entries: Vec<Entry>,
    failed: Vec<(String, String)>,
    learnt: Option<linear::LinearFit>,
    grown: Option<layered::Grown>,
}

impl Runner<'_> {
    /// True if anything that was asked for is, or needs, this stage.
    fn takes_part(&self, stage: &str) -> bool {
        let possible = match stage {
            "learnt" | "mixed" | "node-effects" => self.rows.intercept && TrunkLoss::of(self.rows.family).is_some(),
            "trunk" | "trunk+leaves" => TrunkLoss::of(self.rows.family).is_some(),
            "trunk+features" => self.rows.intercept && TrunkLoss::of(self.rows.family).is_some(),
            "leaves+trunk" => self.rows.intercept && self.rows.cost == Cost::Squared,
            "given" => self.rows.graph.edges() > 0,
            _ => true,
        };
        let needed = |(name, _): &(String, f64)| {
            let base = name.strip_suffix("+shocks").unwrap_or(name);
            let given = base.starts_with("squared") || base.starts_with("norm2");
            base == stage
                || (stage == "given" && given)
                || (stage == "trunk" && base.starts_with("trunk+"))
                || (stage == "learnt" && base == "leaves+trunk")
        };
        possible && self.options.recipe.as_ref().is_none_or(|recipe| recipe.iter().any(needed))
    }

    /// Runs a candidate; one that fails is set aside with its reason.
    fn stage(&mut self, stage: &str) {
        match self.run(stage) {
            Ok(Some(entry)) => self.entries.push(entry),
            Ok(None) => {}
            Err(error) => self.failed.push((stage.to_owned(), error.to_string())),
        }
    }

    fn run(&mut self, stage: &str) -> Result<Option<Entry>> {
        let (rows, folds, watch, seed) = (self.rows, self.folds, self.options.watch, self.options.seed);
        let linear = |linear: Linear| linear.fit(rows, folds, watch);
        Ok(Some(match stage {
            "learnt" => linear_entry(rows, folds, "learnt", self.learnt.insert(linear(Linear::Learnt)?)),
            "trunk" => {
                let Some(loss) = TrunkLoss::of(rows.family) else { return Ok(None) };
                let grown = layered::grow(rows, folds, loss, rows.data.y(), seed)?;
                layered::trunk_entry(rows, self.grown.insert(grown))
            }
            "trunk+leaves" | "trunk+features" => {
                let Some(grown) = &self.grown else { return Ok(None) };
                let input = if stage == "trunk+leaves" { LeafInput::Trunk } else { LeafInput::Both };
                layered::trunk_leaves(rows, folds, grown, input, watch)?
            }
            "leaves+trunk" => {
                let Some(learnt) = &self.learnt else { return Ok(None) };
                layered::leaves_trunk(rows, folds, learnt, seed)?
            }
            "given" => {
                let (given, fit) = halving::best_given(rows, folds, &Given::all(rows.family), watch)?;
                linear_entry(rows, folds, &given.to_string(), &fit)
            }
            "local" => linear_entry(rows, folds, stage, &linear(Linear::Local)?),
            "pooled" => linear_entry(rows, folds, stage, &linear(Linear::Pooled)?),
            "node-effects" => linear_entry(rows, folds, stage, &linear(Linear::NodeEffects)?),
            _ => linear_entry(rows, folds, stage, &linear(Linear::Mixed)?),
        }))
    }

    /// The best candidates once more, with shocks.
    fn shocks(&mut self, shared: &Shared) {
        if self.rows.cost != Cost::Squared {
            return;
        }
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        order.sort_by(|a, b| self.entries[*a].error().total_cmp(&self.entries[*b].error()));
        let wanted = |place: usize, name: &str| match &self.options.recipe {
            Some(recipe) => recipe.iter().any(|(wanted, _)| wanted.strip_suffix("+shocks") == Some(name)),
            None => place < SHOCKED || name == "learnt",
        };
        let places = order.iter().enumerate();
        let tried = places.filter(|(place, k)| wanted(*place, &self.entries[**k].member.name));
        for k in tried.map(|(_, k)| *k).collect::<Vec<_>>() {
            let base = self.entries[k].clone();
            match layered::shocked(self.rows, self.folds, shared, &base) {
                Ok(entry) => self.entries.extend(entry),
                Err(error) => self.failed.push((format!("{}+shocks", base.member.name), error.to_string())),
            }
        }
    }
}

fn linear_entry(rows: &Rows, folds: &Folds, name: &str, fit: &linear::LinearFit) -> Entry {
    let out_of_fold = fit.out_of_fold(rows.data, folds, rows.cost);
    let leaves = Leaves::new(LeafInput::Features, &fit.w, rows.data.nodes());
    Entry::new(rows, Member { leaves: Some(leaves), ..Member::new(name) }, out_of_fold, fit.chosen.clone())
}

/// Shares of what ran, best first.
fn finish(
    rows: &Rows,
    mut entries: Vec<Entry>,
    failed: Vec<(String, String)>,
    stopped: bool,
    recipe: Option<&[(String, f64)]>,
) -> Result<Race> {
    entries.retain(|entry| entry.error().is_finite());
    entries.sort_by(|a, b| a.error().total_cmp(&b.error()));
    let Some(best) = entries.first() else {
        return Err(Error::Method { method: "race", needs: "at least one candidate that can be fitted" });
    };
    let weight = rows.node_weights(&best.out_of_fold);
    let shares = match recipe {
        Some(recipe) => given_shares(&entries, recipe)?,
        None => shares(rows, &entries, &weight),
    };
    entries.iter_mut().zip(&shares).for_each(|(entry, share)| entry.member.share = *share);
    let predictions: Vec<&[f64]> = entries.iter().map(|entry| entry.out_of_fold.as_slice()).collect();
    let out_of_fold = mixed(&predictions, &shares, rows.data.len());
    let errors = rows.cost.errors(rows.data, &out_of_fold);
    Ok(Race { out_of_fold, errors, entries, failed, stopped })
}

/// Shares that somebody named.
fn given_shares(entries: &[Entry], recipe: &[(String, f64)]) -> Result<Vec<f64>> {
    let total: f64 = recipe.iter().map(|(_, share)| share).sum();
    let ran = |(name, _): &&(String, f64)| !entries.iter().any(|entry| entry.member.name == *name);
    if let Some((name, _)) = recipe.iter().find(ran) {
        return Err(Error::UnknownName { name: name.clone() });
    }
    let share = |entry: &Entry| recipe.iter().find(|(name, _)| *name == entry.member.name).map_or(0.0, |part| part.1);
    Ok(entries.iter().map(|entry| share(entry) / total).collect())
}

/// The best shares without small ones; all to the first where that is nearly as good.
fn shares(rows: &Rows, entries: &[Entry], weight: &[f64]) -> Vec<f64> {
    let judged = Judged { cost: rows.cost, y: rows.data.y(), weight };
    let mut kept: Vec<usize> = (0..entries.len()).collect();
    let found = loop {
        let predictions: Vec<&[f64]> = kept.iter().map(|&k| entries[k].out_of_fold.as_slice()).collect();
        let found = judged.shares(&predictions);
        let smallest = (0..kept.len()).min_by(|a, b| found[*a].total_cmp(&found[*b])).unwrap_or(0);
        if kept.len() == 1 || found[smallest] >= SHARE_MIN {
            break found;
        }
        // One at a time: the shares of those that are alike depend on each other.
        kept.remove(smallest);
    };
    let mut shares = vec![0.0; entries.len()];
    kept.iter().zip(found).for_each(|(&k, share)| shares[k] = share);
    let predictions: Vec<&[f64]> = entries.iter().map(|entry| entry.out_of_fold.as_slice()).collect();
    let together = rows.error(&mixed(&predictions, &shares, rows.data.len()));
    if together > (1.0 - WORTH) * entries[0].error() {
        shares = (0..entries.len()).map(|k| if k == 0 { 1.0 } else { 0.0 }).collect();
    }
    shares
}
