//! How the columns of a table become the columns of the feature matrix; kept with a model, so that new files are read
//! exactly as the first one was.

mod cells;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::levels;
use super::roles::Roles;
use super::spec::{InputSpec, MissingPolicy, TargetKind};
use super::times::TimeColumn;
use crate::error::IoError;
use crate::fault::Fault;
use crate::table::{Table, Text, is_missing};

/// Name of the column of ones.
const INTERCEPT: &str = "intercept";

/// From table to matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Encoding {
    /// The column with the node ids; empty where one model is for all rows.
    pub node: String,
    /// The column to predict.
    pub target: Option<String>,
    /// What the target is.
    pub target_kind: TargetKind,
    /// The columns that become features, in order.
    pub features: Vec<Feature>,
    /// A column of ones comes last.
    pub intercept: bool,
    /// The class labels, in order.
    pub classes: Vec<String>,
    /// What counts as 0 and as 1, where a target of two classes is written in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary: Option<[String; 2]>,
    /// The column that says when a row was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeColumn>,
}

/// One column of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// A number, used as it is.
    Number {
        /// The column.
        column: String,
        /// What stands in for a missing cell, if anything may.
        mean: Option<f64>,
    },
    /// Text that becomes a 0/1 column per level.
    OneHot {
        /// The column.
        column: String,
        /// Its levels, sorted.
        levels: Vec<String>,
        /// The first level has no column of its own, because the intercept already speaks for it.
        baseline: bool,
    },
}

impl Encoding {
    /// The node of all rows where they have none.
    pub const EVERYBODY: &str = "all";

    /// Takes levels, classes and means from the rows that are used.
    pub(super) fn learn(spec: &InputSpec, table: &Table, roles: &Roles, rows: &[usize]) -> Result<Self, IoError> {
        let feature = |f: &super::roles::FeatureColumn| match f.one_hot {
            true => Ok(Feature::one_hot(table, f.column, rows, spec.intercept)),
            false => Feature::number(table, f.column, rows, spec.missing == MissingPolicy::Mean),
        };
        let classes = match (spec.target_kind, roles.target) {
            (TargetKind::Class, Some(target)) => used_levels(table.text(target), rows),
            _ => Vec::new(),
        };
        let binary = match (spec.target_kind, roles.target) {
            (TargetKind::Binary, Some(target)) => two_words(table, target, rows)?,
            _ => None,
        };
        Ok(Encoding {
            binary,
            node: spec.node.clone(),
            target: roles.target.map(|target| table.names()[target].clone()),
            target_kind: spec.target_kind,
            features: roles.features.iter().map(feature).collect::<Result<_, IoError>>()?,
            intercept: spec.intercept,
            classes,
            time: roles.time.map(|time| TimeColumn::learn(&table.names()[time], table.text(time))),
        })
    }

    /// Names of the columns of the feature matrix.
    pub fn names(&self) -> Vec<String> {
        let features = self.features.iter().flat_map(Feature::names);
        features.chain(self.intercept.then(|| INTERCEPT.to_owned())).collect()
    }

    /// Number of columns of the feature matrix.
    pub fn dim(&self) -> usize {
        self.features.iter().map(Feature::width).sum::<usize>() + usize::from(self.intercept)
    }

    /// The labels of some rows: numbers, or positions among the classes; NaN where missing.
    pub(super) fn labels(&self, table: &Table, target: usize, rows: &[usize]) -> Result<Vec<f64>, IoError> {
        if self.target_kind == TargetKind::Class {
            return class_labels(table, target, &self.classes, rows);
        }
        if let Some(words) = &self.binary {
            return class_labels(table, target, words, rows);
        }
        let values = table.finite(target)?;
        Ok(rows.iter().map(|&row| values.values[row]).collect())
    }

    /// Rows of a table whose texts all occurred when the encoding was learnt; `strange` is told the others.
    pub(super) fn known(
        &self,
        table: &Table,
        rows: Vec<usize>,
        strange: &mut impl FnMut(String),
    ) -> Result<Vec<usize>, IoError> {
        let mut keep = vec![true; table.rows()];
        for feature in &self.features {
            let Feature::OneHot { column, levels, .. } = feature else { continue };
            let text = table.text(table.find(column)?);
            let known = |level: &String| levels.contains(level) || is_missing(level);
            let strangers: Vec<bool> = text.levels.iter().map(|level| !known(level)).collect();
            for &row in rows.iter().filter(|&&row| strangers[text.codes[row] as usize]) {
                keep[row] = false;
                strange(format!("{column}={}", text.get(row)));
            }
        }
        Ok(rows.into_iter().filter(|&row| keep[row]).collect())
    }
}

impl Feature {
    fn number(table: &Table, column: usize, rows: &[usize], fill: bool) -> Result<Self, IoError> {
        let name = table.names()[column].clone();
        if !fill {
            return Ok(Feature::Number { column: name, mean: None });
        }
        let values = table.finite(column)?;
        let mean = mean(rows.iter().map(|&row| values.values[row]));
        let no_values = || table.file().fault(Fault::NoValues { column: name.clone() });
        Ok(Feature::Number { mean: Some(mean.ok_or_else(no_values)?), column: name })
    }

    fn one_hot(table: &Table, column: usize, rows: &[usize], baseline: bool) -> Self {
        let levels = used_levels(table.text(column), rows);
        Feature::OneHot { column: table.names()[column].clone(), levels, baseline }
    }

    /// The column of the table.
    pub fn column(&self) -> &str {
        match self {
            Feature::Number { column, .. } | Feature::OneHot { column, .. } => column,
        }
    }

    fn names(&self) -> Vec<String> {
        match self {
            Feature::Number { column, .. } => vec![column.clone()],
            Feature::OneHot { column, levels, baseline } => {
                levels.iter().skip(usize::from(*baseline)).map(|level| format!("{column}={level}")).collect()
            }
        }
    }

    fn width(&self) -> usize {
        match self {
            Feature::Number { .. } => 1,
            Feature::OneHot { levels, baseline, .. } => levels.len().saturating_sub(usize::from(*baseline)),
        }
    }
}

/// The mean of all that is not NaN. A running one: it leaves a constant as it is, and no sum overflows.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let present = values.filter(|v| !v.is_nan()).zip(1..);
    present.fold(None, |mean, (v, n)| Some(mean.map_or(v, |mean: f64| mean + (v - mean) / f64::from(n))))
}

/// Pairs of words, the one that counts as 0 first.
const PAIRS: [[&str; 2]; 8] = [
    ["false", "true"],
    ["no", "yes"],
    ["fail", "pass"],
    ["failed", "passed"],
    ["f", "t"],
    ["n", "y"],
    ["off", "on"],
    ["negative", "positive"],
];

/// The two words of a target that is not written in numbers; those of no known pair count in the order of letters.
fn two_words(table: &Table, target: usize, rows: &[usize]) -> Result<Option<[String; 2]>, IoError> {
    if table.numbers(target).stray.is_none() {
        return Ok(None);
    }
    let found: Vec<String> = used_levels(table.text(target), rows).into_iter().filter(|w| !is_missing(w)).collect();
    let [first, second] = found.as_slice() else {
        return Err(table.file().fault(Fault::NotTwoClasses { column: table.names()[target].clone(), found }));
    };
    let reversed = [second.to_lowercase(), first.to_lowercase()];
    Ok(Some(match PAIRS.iter().any(|pair| reversed == *pair) {
        true => [second.clone(), first.clone()],
        false => [first.clone(), second.clone()],
    }))
}

fn class_labels(table: &Table, target: usize, classes: &[String], rows: &[usize]) -> Result<Vec<f64>, IoError> {
    let classes = positions(table, target, classes, rows)?;
    Ok(classes.into_iter().map(|class| class.map_or(f64::NAN, |k| k as f64)).collect())
}

/// The position of each row's text among the known levels; `None` where it is missing.
fn positions(table: &Table, column: usize, known: &[String], rows: &[usize]) -> Result<Vec<Option<usize>>, IoError> {
    let text = table.text(column);
    let index: HashMap<&str, usize> = known.iter().enumerate().map(|(k, level)| (level.as_str(), k)).collect();
    let of_level: Vec<Option<usize>> = text.levels.iter().map(|level| index.get(level.as_str()).copied()).collect();
    let position = |&row: &usize| match of_level[text.codes[row] as usize] {
        None if !is_missing(text.get(row)) => Err(table.place(row).fault(Fault::UnknownLevel {
            column: table.names()[column].clone(),
            value: text.get(row).into(),
            known: known.to_vec(),
        })),
        position => Ok(position),
    };
    rows.iter().map(position).collect()
}

fn missing(table: &Table, column: usize, row: usize, remedy: &'static str) -> IoError {
    table.place(row).fault(Fault::MissingCell { column: table.names()[column].clone(), remedy })
}

fn used_levels(text: &Text, rows: &[usize]) -> Vec<String> {
    let mut used = vec![false; text.levels.len()];
    rows.iter().for_each(|&row| used[text.codes[row] as usize] = true);
    let mut levels: Vec<String> = (0..used.len()).filter(|&k| used[k]).map(|k| text.levels[k].clone()).collect();
    levels::sort(&mut levels);
    levels
}
