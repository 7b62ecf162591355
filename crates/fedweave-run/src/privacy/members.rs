//! Were these rows among those that the models of a run were trained with?

use std::path::{Path, PathBuf};

use fedweave::trust::privacy::membership::{Estimate, Membership, NodeScores, membership};
use serde_json::{Value, json};

use crate::error::{Error, Result, require};
use crate::predictor::{NewRow, Predictor};
use crate::wording::number;

/// Models of so many other nodes stand for a model that cannot know a row.
const REFERENCES: usize = 8;

/// Surprises are compared down to this.
const SMALL: f64 = 1e-12;

/// Can rows that a run was trained with be told from others?
#[derive(Debug, Clone, PartialEq)]
pub struct MembersRequest {
    /// The run directory.
    pub run: PathBuf,
    /// Rows that it was trained with.
    pub members: PathBuf,
    /// Rows of the same nodes that it was not trained with.
    pub others: PathBuf,
    /// Seed of the intervals.
    pub seed: u64,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MembersResult {
    found: Membership,
}

impl MembersRequest {
    /// Tests every row by the ratio of its likelihoods under the model of its node and under models of other nodes.
    pub fn run(&self) -> Result<MembersResult> {
        let predictor = Predictor::open(&self.run)?;
        let nodes = predictor.names().count();
        require!(nodes > 1, "a single node has no other models to compare with");
        let (members, others) = (scores(&predictor, &self.members, nodes)?, scores(&predictor, &self.others, nodes)?);
        let both = members.into_iter().zip(others).map(|(members, others)| NodeScores { members, others });
        let found = membership(&both.collect::<Vec<_>>(), self.seed);
        Ok(MembersResult {
            found: found.ok_or_else(|| Error::request("--members, --others: both need rows with labels"))?,
        })
    }
}

/// The scores of the rows of a file, node by node.
fn scores(predictor: &Predictor, path: &Path, nodes: usize) -> Result<Vec<Vec<f64>>> {
    let rows = predictor.read_rows(path, true)?;
    let without =
        || Error::request(format!("{}: no column `{}`", path.display(), predictor.target().unwrap_or("target")));
    let labels = rows.y.as_ref().ok_or_else(without)?;
    let places = predictor.places(&rows, path)?;
    let mut found = vec![Vec::new(); nodes];
    let references = REFERENCES.min(nodes - 1);
    for (r, label) in labels.iter().enumerate().filter(|(_, label)| !label.is_nan()) {
        let row = NewRow::of(&rows, &places, r);
        let own = predictor.surprise(row, *label)?;
        // Others, evenly spread.
        let other = |k: usize| (row.node + 1 + k * (nodes - 1) / references) % nodes;
        let theirs = (0..references).map(|k| predictor.surprise(NewRow { node: other(k), ..row }, *label));
        let reference = theirs.sum::<Result<f64>>()? / references as f64;
        // The likelihood ratio with deviations that fit best: what counts is how many times worse others are.
        found[row.node].push(((reference + SMALL) / (own + SMALL)).ln());
    }
    Ok(found)
}

impl MembersResult {
    /// The one JSON object.
    pub fn summary(&self) -> Value {
        let estimate = |e: &Estimate| json!({"value": e.value, "low": e.low, "high": e.high});
        let Membership { auc, found, information, members, others } = &self.found;
        json!({
            "members": members, "others": others, "auc": estimate(auc), "found_at_1_percent": estimate(found),
            "information": estimate(information),
        })
    }

    /// In words.
    pub fn text(&self) -> String {
        let Membership { auc, found, information, members, others } = &self.found;
        let estimate = |e: &Estimate| format!("{} ({} to {})", number(e.value), number(e.low), number(e.high));
        format!(
            "what somebody who sees the models and a row could learn about whether it was trained with ({members} rows that were, {others} that \
             were not; by likelihood ratio, 90 % intervals):\n  \
             a row that was scores higher than one that was not with probability {} (0.5: nothing is learnt)\n  \
             if one in a hundred others is taken for such a row, a share of {} of them is found\n  \
             {} nats about one row",
            estimate(auc),
            estimate(found),
            estimate(information)
        )
    }
}
