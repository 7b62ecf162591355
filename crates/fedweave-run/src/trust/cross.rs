//! What models say of rows that they have not seen: every row is held out once.

use fedweave::Dataset;
use fedweave::baseline::{RIDGES, local};
use fedweave::folds::{FoldRule, FoldSpec, Folds};
use fedweave::loss::{Family, LossOptions, LossSpec, Prediction};
use fedweave::matrix::Matrix;
use fedweave::trust::fairness::balance::row_errors;
use fedweave::trust::fairness::swap::{patterns, swapped};

use super::refit::{Refit, side_by_side};
use crate::calibration::label_of;
use crate::error::{Result, require};
use crate::request::fair::FairChoice;
use crate::training::TrainingRows;
use crate::watch::Observer;

/// A row, judged by models that have not seen it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Row {
    /// Its node.
    pub node: usize,
    /// Its group; 0 if there are none.
    pub group: usize,
    /// Its loss.
    pub error: f64,
    /// What was said: a number, or the probability of the second class; NaN for several classes.
    pub said: f64,
    /// That less the label.
    pub residual: f64,
    /// The loss of the model that its node makes alone.
    pub alone: f64,
    /// How much the answer depends on the group of the row, all else equal; NaN where no feature tells the group.
    pub counterfactual: f64,
}

/// Which features tell the group, and what they are in each.
struct Swaps {
    columns: Vec<usize>,
    patterns: Vec<Vec<f64>>,
}

/// Judges all rows, in the order of the input; rows of nodes that would be left without any are not judged.
pub(crate) fn judged_rows(refit: &Refit, folds: usize, seed: u64, observer: &dyn Observer) -> Result<Vec<Row>> {
    let input = &refit.input;
    let rule = if input.groups.is_some() { FoldRule::Groups } else { FoldRule::Random };
    require!((2..=1000).contains(&folds), "--folds {folds}: give 2 to 1000");
    let dealt = Folds::new(&input.data, input.groups.as_deref(), FoldSpec { rule, count: folds, seed })?;
    let loss = refit.request.model.loss(input)?;
    require!(loss != LossSpec::Same(Family::Point), "the point loss places nodes, it does not predict rows");
    let columns = input.protected.as_ref().map(|p| FairChoice::columns(&p.column, &input.features));
    let columns = columns.unwrap_or_default();
    let swaps = Swaps { patterns: patterns(&input.data, &columns), columns };
    let found = side_by_side("judging on unseen rows", dealt.count(), observer, |fold| {
        fold_rows(refit, &loss, &dealt, fold, &swaps, observer)
    })?;
    let mut all: Vec<(usize, Row, Vec<f64>)> = found.into_iter().flatten().collect();
    all.sort_by_key(|(r, ..)| *r);
    require!(!all.is_empty(), "no row could be held out: every node has a single row");
    // Models of nodes alone choose one ridge for all, as the coupling was chosen: else any regularisation would look like a gain.
    let sum = |k: usize| all.iter().map(|(.., alone)| alone[k]).sum::<f64>();
    let best = (0..all[0].2.len()).min_by(|a, b| sum(*a).total_cmp(&sum(*b))).expect("there are ridges");
    Ok(all.into_iter().map(|(_, row, alone)| Row { alone: alone[best], ..row }).collect())
}

/// The rows that one fold holds out, with their places in the input.
fn fold_rows(
    refit: &Refit,
    loss: &LossSpec,
    dealt: &Folds,
    fold: usize,
    swaps: &Swaps,
    observer: &dyn Observer,
) -> Result<Vec<(usize, Row, Vec<f64>)>> {
    let input = &refit.input;
    let train = input.select(&dealt.train(fold));
    let node_of: Vec<usize> = (0..input.data.nodes()).flat_map(|i| input.data.rows(i).map(move |_| i)).collect();
    let held = |r: usize| dealt.of(r) == Some(fold) && !train.data.rows(node_of[r]).is_empty();
    let mask: Vec<bool> = (0..input.data.len()).map(held).collect();
    if train.data.is_empty() || !mask.contains(&true) {
        return Ok(Vec::new());
    }
    let data = input.data.select(&mask);
    let alone = errors_alone(refit, loss, &train.data, &data)?;
    let models = refit.fit(train, observer)?.parameters;
    let errors = row_errors(loss, &data, &models)?;
    let places = (0..input.data.len()).filter(|r| mask[*r]);
    let judge = |(k, place): (usize, usize)| {
        let (node, x) = (node_of[place], data.x(k));
        let family = loss.family(node);
        let said = answer(family, x, models.row(node));
        let group = data.groups().map_or(0, |groups| groups[k] as usize);
        let residual = said - label_of(family, data.y()[k]);
        let counterfactual = spread(family, x, &models, node, swaps);
        let row = Row { node, group, error: errors[k], said, residual, counterfactual, alone: f64::NAN };
        (place, row, alone.iter().map(|errors| errors[k]).collect())
    };
    Ok(places.enumerate().map(|(k, place)| judge((k, place))).collect())
}

/// The loss of every held-out row by models that nodes make alone, one list for each ridge.
fn errors_alone(refit: &Refit, loss: &LossSpec, train: &Dataset, held: &Dataset) -> Result<Vec<Vec<f64>>> {
    let model = &refit.request.model;
    let rows = TrainingRows::new(model, train.clone());
    let held = rows.scale(held);
    let own = Some(model.options.ridge).filter(|ridge| *ridge > 0.0);
    let errors = |ridge: f64| {
        let options = LossOptions { ridge, ..model.options };
        Ok(row_errors(loss, &held, &local(loss, rows.scaled.clone(), &options)?)?)
    };
    RIDGES.into_iter().chain(own).map(errors).collect()
}

/// What a model says, as one number.
fn answer(family: Family, x: &[f64], w: &[f64]) -> f64 {
    match family.predict(x, w) {
        Some(Prediction::Number(value)) => value,
        Some(Prediction::Class { probabilities, .. }) if probabilities.len() == 2 => probabilities[1],
        Some(Prediction::Margin { score, .. }) => score,
        _ => f64::NAN,
    }
}

/// The largest answer less the smallest, over the groups that the row might be of.
fn spread(family: Family, x: &[f64], models: &Matrix, node: usize, swaps: &Swaps) -> f64 {
    if swaps.columns.is_empty() {
        return f64::NAN;
    }
    let answers = swaps.patterns.iter().map(|p| answer(family, &swapped(x, &swaps.columns, p), models.row(node)));
    let (low, high) = answers.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), a| (l.min(a), h.max(a)));
    high - low
}
