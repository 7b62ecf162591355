//! Which rows are held out.

use std::path::PathBuf;

use fedweave::split::{Share, SplitRule, SplitSpec};

use super::folds::FoldChoice;
use super::settings::Reader;
use crate::error::{Result, refuse, require};

/// Rows to hold out, and how to say so.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeldOutChoice {
    /// `None`: train with all rows.
    pub spec: Option<SplitSpec>,
    /// The column whose values are held out together.
    pub by: Option<String>,
    /// Seed of what is drawn.
    pub seed: u64,
    /// Somebody asked for it; otherwise rows are held out only to choose lambda.
    pub asked: bool,
    /// All rows are held out in turn, as this says.
    pub in_turn: Option<String>,
    /// A table says which rows.
    pub file: Option<PathBuf>,
}

/// Why rows are held out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// To validate and to test.
    Compare,
    /// To choose lambda.
    Choose,
    /// Only if somebody asks.
    Asked,
    /// The same; but which rows would be held out together matters in any case.
    Learnt,
}

impl HeldOutChoice {
    pub(super) fn read(reader: &Reader, why: Why) -> Result<Self> {
        if let Some(file) = reader.path("split-file") {
            return HeldOutChoice::of_file(reader, file);
        }
        let by = reader.string("split-by");
        let named = reader.has("split");
        let rule = reader.choice("split", &[("random", SplitRule::Random), ("last", SplitRule::Last)])?;
        require!(by.is_none() || !named, "give --split or --split-by, not both");
        let rule = if by.is_some() { SplitRule::Groups } else { rule };
        require!(!reader.has("time") || rule == SplitRule::Last, "--time needs --split last");
        let validation = reader.number("validation");
        let (seed, asked) = (reader.count("seed").unwrap_or(0) as u64, validation.is_some());
        if matches!(why, Why::Asked | Why::Learnt) && validation.is_none_or(|v| v == 0.0) {
            let alone = !named && (by.is_none() || why == Why::Learnt || reader.has("calibrate"));
            require!(alone, "--split needs --validation: how many rows are to be held out?");
            return Ok(HeldOutChoice { spec: None, by, seed, asked, in_turn: None, file: None });
        }
        let validation = share("--validation", validation.unwrap_or(0.2))?;
        let train = reader.number("train").map(|v| share("--train", v)).transpose()?;
        let test = reader.number("test").map(|v| share("--test", v)).transpose()?;
        require!(train.is_none() || test.is_none(), "give --train or --test, not both: the rest follows");
        let default = (why == Why::Compare && train.is_none()).then_some(Share::Fraction(0.2));
        let spec = SplitSpec { rule, train, validation, test: test.or(default), seed, ..SplitSpec::default() };
        Ok(HeldOutChoice { spec: Some(spec), by, seed, asked, in_turn: None, file: None })
    }

    /// The rows that a table names.
    fn of_file(reader: &Reader, file: PathBuf) -> Result<Self> {
        for key in ["validation", "train", "test", "split", "split-by", "time", "folds"] {
            require!(!reader.has(key), "--split-file says which rows are held out: leave out --{key}");
        }
        let seed = reader.count("seed").unwrap_or(0) as u64;
        Ok(HeldOutChoice {
            spec: Some(SplitSpec { seed, ..SplitSpec::default() }),
            seed,
            asked: true,
            file: Some(file),
            ..Self::default()
        })
    }

    /// All rows, in turn.
    pub(super) fn in_turn(folds: &FoldChoice) -> Self {
        let (by, seed, in_turn) = (folds.by.clone(), folds.spec.seed, Some(folds.describe()));
        HeldOutChoice { spec: None, by, seed, asked: true, in_turn, file: None }
    }

    /// Which rows were held out: always said, because gains depend on it.
    pub fn describe(&self) -> String {
        if let Some(in_turn) = &self.in_turn {
            return in_turn.clone();
        }
        if let Some(file) = &self.file {
            return format!("the rows that {} names", file.display());
        }
        let Some(spec) = &self.spec else { return "no rows were held out".into() };
        let share = |s: Share| match s {
            Share::Rows(rows) => format!("{rows}"),
            Share::Fraction(f) => format!("{:.0} % of the", f * 100.0),
        };
        let unit = if spec.rule == SplitRule::Groups { "groups" } else { "rows" };
        let mut parts = vec![format!("{} {unit} validate", share(spec.validation))];
        parts.extend(spec.train.map(|s| format!("{} {unit} train", share(s))));
        parts.extend(spec.test.map(|s| format!("{} {unit} test", share(s))));
        parts.push("the others ".to_owned() + if spec.train.is_some() { "test" } else { "train" });
        let how = match spec.rule {
            SplitRule::Random => {
                "drawn at random, separately for every node: neighbours may train with rows much like those held out here"
                    .into()
            }
            SplitRule::Last => "the last rows of every node".into(),
            SplitRule::Groups => {
                format!("the same values of `{}` for all nodes", self.by.as_deref().unwrap_or("the group column"))
            }
        };
        format!("{} ({how})", parts.join(", "))
    }
}

/// The number of folds that intervals are calibrated by.
pub(super) fn calibration_folds(reader: &Reader) -> Result<Option<usize>> {
    let folds = reader.count("calibrate");
    let told = folds.unwrap_or_default();
    require!(folds.is_none_or(|k| (2..=1000).contains(&k)), "--calibrate {told}: give 2 to 1000 folds, e.g. 10");
    Ok(folds)
}

/// The share of nodes that may be hurt by the network, if nodes may keep their local models.
pub(super) fn fallback(reader: &Reader) -> Result<Option<f64>> {
    let share = reader.number("fallback");
    let told = share.unwrap_or_default();
    require!((0.0..=1.0).contains(&told), "--fallback {told}: give the share of nodes that may be hurt, e.g. 0.05");
    Ok(share)
}

/// Below 1 a share of the rows, from 1 on a number of rows.
fn share(flag: &str, value: f64) -> Result<Share> {
    match value {
        v if v > 0.0 && v < 1.0 => Ok(Share::Fraction(v)),
        v if v >= 1.0 && v.fract() == 0.0 && v < 1e9 => Ok(Share::Rows(v as usize)),
        v => refuse!("{flag} {v}: give a share between 0 and 1 or a whole number of rows"),
    }
}
