//! One candidate after the other.

use super::cost::Cost;
use super::entry::Entry;
use super::halving::best_given;
use super::layered::{Growing, Grown, Sees, grow_forest, grow_trunk, leaves_trunk, trunk_entry, trunk_leaves};
use super::linear::{Given, Linear, LinearFit};
use super::member::{LeafInput, Leaves, Member};
use super::rows::Rows;
use super::shocked::{Shared, shocked};
use super::{Failure, RaceOptions};
use crate::error::{Error, Result};
use crate::folds::Folds;
use crate::learn::trunk::TrunkLoss;
use crate::matrix::Matrix;

/// Candidates in the order in which they run: what is most likely to win first, in case the race is stopped.
const STAGES: [&str; 13] = [
    "learnt",
    "node-effects",
    "mixed",
    "trunk",
    "common",
    "common+leaves",
    "common+features",
    "leaves+trunk",
    "leaves+common",
    "forest",
    "local",
    "pooled",
    "given",
];
/// Coupled linear models: what trees may stand on.
const COUPLED: [&str; 3] = ["learnt", "node-effects", "mixed"];
/// How many of the best candidates without shocks are tried with them.
const SHOCKED: usize = 3;

/// Runs everything that takes part; also says what failed, and whether the race was stopped.
pub fn run(
    rows: &Rows,
    folds: &Folds,
    shared: Option<&Shared>,
    options: &RaceOptions,
) -> (Vec<Entry>, Vec<Failure>, bool) {
    let mut runner =
        Runner { rows, folds, options, entries: Vec::new(), failed: Vec::new(), below: None, common: None };
    let stages: Vec<&str> = STAGES.into_iter().filter(|stage| runner.takes_part(stage)).collect();
    let shared = shared.filter(|_| rows.cost == Cost::Squared);
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
        if !stopped {
            runner.shocks(shared);
        }
    }
    (runner.entries, runner.failed, stopped)
}

struct Runner<'a> {
    rows: &'a Rows<'a>,
    folds: &'a Folds,
    options: &'a RaceOptions<'a>,
    entries: Vec<Entry>,
    failed: Vec<Failure>,
    /// The best coupled linear models so far, and their error.
    below: Option<(f64, LinearFit)>,
    common: Option<Grown>,
}

impl Runner<'_> {
    /// True if anything that was asked for is, or needs, this stage.
    fn takes_part(&self, stage: &str) -> bool {
        let Rows { family, cost, intercept, .. } = *self.rows;
        let grows = TrunkLoss::of(family).is_some();
        let possible = match stage {
            "trunk" | "common" | "common+leaves" => grows,
            "leaves+trunk" | "leaves+common" => intercept && matches!(cost, Cost::Squared | Cost::Deviance),
            "forest" => TrunkLoss::of(family) == Some(TrunkLoss::Squared),
            "given" => self.rows.graph.edges() > 0,
            "local" | "pooled" => true,
            _ => grows && intercept,
        };
        let needed = |(name, _): &(String, f64)| {
            let base = name.strip_suffix("+shocks").unwrap_or(name);
            let given = base.starts_with("squared") || base.starts_with("norm2");
            base == stage
                || (stage == "given" && given)
                || (stage == "common" && base.starts_with("common+"))
                || (COUPLED.contains(&stage) && base.starts_with("leaves+"))
        };
        possible && self.options.recipe.as_ref().is_none_or(|recipe| recipe.iter().any(needed))
    }

    /// Runs a candidate; one that fails is set aside with its reason.
    fn stage(&mut self, stage: &str) {
        match self.run(stage) {
            Ok(Some(entry)) => self.entries.push(entry),
            // What was stopped has not failed.
            Ok(None) | Err(Error::Stopped) => {}
            Err(error) => self.failed.push((stage.to_owned(), error.to_string())),
        }
    }

    fn run(&mut self, stage: &str) -> Result<Option<Entry>> {
        let (rows, folds, watch) = (self.rows, self.folds, self.options.watch);
        let linear = |linear: Linear| linear.fit(rows, folds, watch);
        let entry = match stage {
            "learnt" => self.coupled(stage, linear(Linear::Learnt)?),
            "node-effects" => self.coupled(stage, linear(Linear::NodeEffects)?),
            "mixed" => self.coupled(stage, linear(Linear::Mixed)?),
            "local" => linear_entry(rows, folds, stage, &linear(Linear::Local)?),
            "pooled" => linear_entry(rows, folds, stage, &linear(Linear::Pooled)?),
            "given" => {
                let (given, fit) = best_given(rows, folds, &Given::all(rows.family), watch)?;
                linear_entry(rows, folds, &given.to_string(), &fit)
            }
            _ => return self.trees(stage),
        };
        Ok(Some(entry))
    }

    fn trees(&mut self, stage: &str) -> Result<Option<Entry>> {
        let growing = &Growing { seed: self.options.seed, go_on: self.options.go_on };
        let (rows, folds, watch) = (self.rows, self.folds, self.options.watch);
        Ok(match (stage, &self.common, &self.below) {
            ("trunk", ..) => {
                let grown = grow_trunk(rows, folds, Sees::Node, growing).transpose()?;
                grown.map(|grown| trunk_entry(rows, folds, stage, &grown))
            }
            ("forest", ..) => {
                let grown = grow_forest(rows, folds, growing).transpose()?;
                grown.map(|grown| trunk_entry(rows, folds, stage, &grown))
            }
            ("common", ..) => {
                self.common = grow_trunk(rows, folds, Sees::Attributes, growing).transpose()?;
                self.common.as_ref().map(|grown| trunk_entry(rows, folds, stage, grown))
            }
            ("common+leaves", Some(grown), _) => Some(trunk_leaves(rows, folds, grown, LeafInput::Trunk, watch)?),
            ("common+features", Some(grown), _) => Some(trunk_leaves(rows, folds, grown, LeafInput::Both, watch)?),
            ("leaves+trunk", _, Some((_, below))) => leaves_trunk(rows, folds, below, Sees::Node, growing)?,
            ("leaves+common", _, Some((_, below))) => leaves_trunk(rows, folds, below, Sees::Attributes, growing)?,
            _ => None,
        })
    }

    /// Coupled linear models; trees stand on the best of them.
    fn coupled(&mut self, name: &str, fit: LinearFit) -> Entry {
        let entry = linear_entry(self.rows, self.folds, name, &fit);
        if self.below.as_ref().is_none_or(|(error, _)| entry.error() < *error) {
            self.below = Some((entry.error(), fit));
        }
        entry
    }

    /// The best candidates once more, with shocks.
    fn shocks(&mut self, shared: &Shared) {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        order.sort_by(|a, b| self.entries[*a].error().total_cmp(&self.entries[*b].error()));
        let wanted = |place: usize, name: &str| match &self.options.recipe {
            Some(recipe) => recipe.iter().any(|(wanted, _)| wanted.strip_suffix("+shocks") == Some(name)),
            None => place < SHOCKED || name == "learnt",
        };
        let tried = order.iter().enumerate().filter(|(place, k)| wanted(*place, &self.entries[**k].member.name));
        for k in tried.map(|(_, k)| *k).collect::<Vec<_>>() {
            let base = self.entries[k].clone();
            match shocked(self.rows, self.folds, shared, &base) {
                Ok(entry) => self.entries.extend(entry),
                Err(error) => self.failed.push((format!("{}+shocks", base.member.name), error.to_string())),
            }
        }
    }
}

fn linear_entry(rows: &Rows, folds: &Folds, name: &str, fit: &LinearFit) -> Entry {
    let member = |w: &Matrix| {
        let leaves = Leaves::new(LeafInput::Features, w, rows.data.nodes());
        Member { leaves: Some(leaves), ..Member::new(name) }
    };
    let by_fold = fit.by_fold.iter().map(member).collect();
    Entry::new(rows, folds, member(&fit.w), by_fold, fit.chosen.clone())
}
