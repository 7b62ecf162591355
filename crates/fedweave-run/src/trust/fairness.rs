//! For whom the models of a run work: errors by group and by node on rows that models have not seen, what groups cost each other,
//! and what evening them out costs.

mod curve;
mod words;

use std::path::PathBuf;

use fedweave::trust::fairness::{Estimate, Judged, difference, mean_by_group, worst_decile};

use super::cross::{Row, judged_rows};
use super::refit::Refit;
use crate::error::Result;
use crate::fit::groups_of;
use crate::request::fair::FairRule;
use crate::watch::Observer;
use crate::wording::error_name;

pub use curve::CurvePoint;
pub(crate) use words::with_interval;

/// For whom do models work?
#[derive(Debug, Clone, PartialEq)]
pub struct FairnessRequest {
    /// The run directory.
    pub run: PathBuf,
    /// The column that tells groups apart.
    pub group: String,
    /// Folds in which rows are held out.
    pub folds: usize,
    /// Seed of the folds.
    pub seed: u64,
    /// Also fit with groups evened out, more and more strongly, in this way.
    pub curve: Option<FairRule>,
}

/// A group of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupFound {
    /// The value of the column.
    pub name: String,
    /// The mean loss; `None` if no row was judged.
    pub error: Option<Estimate>,
    /// The mean of prediction less label, where predictions are numbers or probabilities.
    pub bias: Option<Estimate>,
    /// The mean prediction.
    pub said: Option<Estimate>,
}

/// A node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeFound {
    /// Its name.
    pub name: String,
    /// The mean loss.
    pub error: f64,
    /// Its standard error over the rows of the node.
    pub standard_error: Option<f64>,
    /// Rows judged.
    pub rows: usize,
}

/// What was found.
pub struct FairnessResult {
    /// The column.
    pub column: String,
    /// What errors are called.
    pub error_name: &'static str,
    /// Groups, in the order of their names.
    pub groups: Vec<GroupFound>,
    /// Nodes with judged rows.
    pub nodes: Vec<NodeFound>,
    /// All rows together.
    pub all: Estimate,
    /// The group with the largest error, that with the smallest, and the difference.
    pub gap: Option<(usize, usize, Estimate)>,
    /// The mean of the worst tenth of the nodes, and how many these are.
    pub worst: (f64, usize),
    /// How much a prediction depends on the group of its row, all else equal; `None` where no feature tells the group.
    pub counterfactual: Option<Estimate>,
    /// Groups evened out, more and more strongly.
    pub curve: Vec<CurvePoint>,
    folds: usize,
}

/// Folds where nobody said how many.
pub const FOLDS: usize = 5;

impl FairnessRequest {
    /// Judges the models of the run, fitted anew without the rows that judge them.
    pub fn run(&self, observer: &dyn Observer) -> Result<FairnessResult> {
        let refit = Refit::of(&self.run, Some(&self.group))?;
        groups_of(&refit.input)?;
        let rows = judged_rows(&refit, self.folds, self.seed, observer)?;
        let mut found = fairness_of(&refit, &rows)?;
        found.folds = self.folds;
        if let Some(rule) = self.curve {
            found.curve = curve::curve(&refit, rule, self, observer)?;
        }
        Ok(found)
    }
}

/// What judged rows say.
pub(crate) fn fairness_of(refit: &Refit, rows: &[Row]) -> Result<FairnessResult> {
    let (input, n) = (&refit.input, refit.input.names.len());
    let (column, levels) = match &input.protected {
        Some(protected) => (protected.column.clone(), protected.levels.clone()),
        None => (String::new(), Vec::new()),
    };
    let errors = values(rows, |row| row.error);
    let (residuals, said) = (values(rows, |row| row.residual), values(rows, |row| row.said));
    let group = |(g, name): (usize, &String)| {
        let mean = |of: &[Judged]| mean_by_group(of, n, Some(g)).filter(|found| found.value.is_finite());
        GroupFound { name: name.clone(), error: mean(&errors), bias: mean(&residuals), said: mean(&said) }
    };
    let groups: Vec<GroupFound> = levels.iter().enumerate().map(group).collect();
    let counterfactual = mean_by_group(&values(rows, |row| row.counterfactual), n, None);
    let nodes = by_node(&errors, &input.names);
    Ok(FairnessResult {
        error_name: error_name(&refit.request.model.loss(input)?),
        gap: gap(&groups, &errors, n),
        worst: worst_decile(nodes.iter().map(|node| node.error)).unwrap_or((f64::NAN, 0)),
        all: mean_by_group(&errors, n, None).expect("some rows were judged"),
        counterfactual: counterfactual.filter(|found| found.value.is_finite()),
        curve: Vec::new(),
        folds: FOLDS,
        column,
        groups,
        nodes,
    })
}

fn values(rows: &[Row], of: impl Fn(&Row) -> f64) -> Vec<Judged> {
    rows.iter().map(|row| Judged { node: row.node, group: row.group, value: of(row) }).collect()
}

/// The groups with the largest and the smallest error.
fn gap(groups: &[GroupFound], errors: &[Judged], nodes: usize) -> Option<(usize, usize, Estimate)> {
    let of = |g: &usize| groups[*g].error.map_or(f64::NAN, |error| error.value);
    let known = || (0..groups.len()).filter(|g| of(g).is_finite());
    let worst = known().max_by(|a, b| of(a).total_cmp(&of(b)))?;
    let best = known().min_by(|a, b| of(a).total_cmp(&of(b))).filter(|best| *best != worst)?;
    Some((worst, best, difference(errors, nodes, worst, best)?))
}

fn by_node(errors: &[Judged], names: &[String]) -> Vec<NodeFound> {
    let mut of: Vec<Vec<f64>> = vec![Vec::new(); names.len()];
    errors.iter().for_each(|row| of[row.node].push(row.value));
    let there = of.iter().enumerate().filter(|(_, errors)| !errors.is_empty());
    let node = |(i, errors): (usize, &Vec<f64>)| {
        let found = fedweave::tune::mean_and_error(errors.iter().copied()).expect("there are rows");
        let standard_error = (errors.len() > 1).then_some(found.1);
        NodeFound { name: names[i].clone(), error: found.0, standard_error, rows: errors.len() }
    };
    there.map(node).collect()
}
