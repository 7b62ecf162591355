//! Rows held out in turn.

use fedweave::folds::{FoldRule, FoldSpec, Folds};
use fedweave_io::Input;

use super::settings::Reader;
use crate::error::{Error, Result, require};

/// How rows are held out in turn, and how to say so.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldChoice {
    /// What is held out together, in how many folds.
    pub spec: FoldSpec,
    /// How often all rows are dealt out anew.
    pub repeats: usize,
    /// The column whose values are held out together.
    pub by: Option<String>,
}

/// What `--split` can say where rows are held out in turn.
const RULES: [(&str, FoldRule); 3] =
    [("random", FoldRule::Random), ("last", FoldRule::Forward), ("nodes", FoldRule::Nodes)];

impl FoldChoice {
    /// What was said about folds; `default` of them if nothing was.
    pub(super) fn read(reader: &Reader, default: usize) -> Result<FoldChoice> {
        let by = reader.string("split-by");
        require!(by.is_none() || !reader.has("split"), "give --split or --split-by, not both");
        let rule = if by.is_some() { FoldRule::Groups } else { reader.choice("split", &RULES)? };
        let count = reader.count("folds").unwrap_or(default);
        require!(count >= 2, "--folds {count}: at least 2 are needed to hold out every row once");
        let repeats = reader.count("repeats").unwrap_or(1);
        require!((1..=100).contains(&repeats), "--repeats {repeats}: must be from 1 to 100");
        let seed = reader.count("seed").unwrap_or(0) as u64;
        Ok(FoldChoice { spec: FoldSpec { rule, count, seed }, repeats, by })
    }

    /// The folds of some rows, one for every repetition.
    pub fn deal(&self, input: &Input) -> Result<Vec<Folds>> {
        let deal = |k: usize| {
            let spec = FoldSpec { seed: self.spec.seed.wrapping_add(k as u64), ..self.spec };
            Folds::new(&input.data, input.groups.as_deref(), spec).map_err(|error| self.too_few(error))
        };
        (0..self.repeats).map(deal).collect()
    }

    /// Why nothing can be held out, and what to do about it.
    fn too_few(&self, error: fedweave::Error) -> Error {
        if !matches!(error, fedweave::Error::Size { found: 1, .. }) {
            return error.into();
        }
        let why = match self.spec.rule {
            FoldRule::Random => "every node has a single row; --split nodes holds out whole nodes".to_owned(),
            FoldRule::Forward => "every node has a single row, and nothing comes after it".into(),
            FoldRule::Nodes => "there is a single node; leave out --split nodes".into(),
            FoldRule::Groups => {
                format!("all rows have the same `{}`; leave out --split-by", self.by.as_deref().unwrap_or("group"))
            }
        };
        Error::Request(format!("no rows can be held out in turn: {why}"))
    }

    /// Which rows were held out: always said, because gains depend on it.
    pub fn describe(&self) -> String {
        let what = match self.spec.rule {
            FoldRule::Random => "drawn separately for every node".to_owned(),
            FoldRule::Groups => {
                format!("the same values of `{}` at all nodes", self.by.as_deref().unwrap_or("the group column"))
            }
            FoldRule::Nodes => "whole nodes, which then learn from their neighbours alone".into(),
            FoldRule::Forward => "the next rows of every node, by models of the rows before them".into(),
        };
        let times = if self.repeats > 1 { format!(", {} times", self.repeats) } else { String::new() };
        format!("rows held out in turn in {} folds{times}: {what}; then all rows train", self.spec.count)
    }
}
