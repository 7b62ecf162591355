//! A common trunk with personal leaves.
//!
//! Everything is fitted to scores of rows that the layer below had not seen (out of fold), so that no layer learns what the
//! one below it remembers of the training rows.

use rayon::prelude::*;

use super::entry::Entry;
use super::linear::{Linear, LinearFit};
use super::member::{LeafInput, Leaves, Member, described};
use super::rows::{Rows, Watcher};
use crate::dataset::Dataset;
use crate::error::Result;
use crate::folds::Folds;
use crate::learn::trunk::{
    CrossFit, GoOn, Trunk, TrunkLoss, TrunkOptions, TrunkRows, cross_fit_forest, cross_fit_while,
};
use crate::matrix::Matrix;

/// A trunk on all rows, and the scores of every row by a trunk that had not seen it (NaN where no fold holds it out).
pub struct Grown {
    /// The trunk.
    pub trunk: Trunk,
    /// Out-of-fold scores.
    pub scores: Vec<f64>,
    /// The trunks of the folds.
    pub by_fold: Vec<Trunk>,
    /// What was chosen, in words.
    pub chosen: String,
}

/// Rows from which on larger trees take part.
const MANY_ROWS: usize = 5000;

/// Kinds of trees to choose from.
fn trunk_candidates(rows: usize, seed: u64) -> Vec<TrunkOptions> {
    let large = TrunkOptions { leaves: 32, rows_min: 10.0, columns: 0.5, ..TrunkOptions::default() };
    let candidates = TrunkOptions::candidates().into_iter().chain((rows >= MANY_ROWS).then_some(large));
    candidates.map(|options| TrunkOptions { seed, ..options }).collect()
}

/// What trees may see of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sees {
    /// Its attributes, and which one it is.
    Node,
    /// Its attributes alone: what all nodes have in common.
    Attributes,
}

/// How trees are grown.
#[derive(Clone, Copy)]
pub struct Growing<'a> {
    /// Seed of what is drawn.
    pub seed: u64,
    /// Is asked before every tree of a fold; false ends it without a result.
    pub go_on: &'a GoOn<'a>,
}

/// Labels and weights that a trunk is grown for.
struct Target {
    loss: TrunkLoss,
    y: Vec<f64>,
    weight: Vec<f64>,
}

impl Target {
    /// The labels of the rows.
    fn labels(rows: &Rows, loss: TrunkLoss) -> Target {
        let label = |y: &f64| match loss {
            TrunkLoss::Logistic => {
                if *y > 0.0 {
                    1.0
                } else {
                    -1.0
                }
            }
            TrunkLoss::Squared | TrunkLoss::Poisson => *y,
        };
        Target { loss, y: rows.data.y().iter().map(label).collect(), weight: row_weights(rows.data).collect() }
    }

    /// What predictions `below` leave (NaN: nothing is known). For counts, with `m = exp(below)`, the loss
    /// `m exp(f) - y f` of a factor `exp(f)` is `m` times the loss of the rate `y / m`.
    fn left(rows: &Rows, loss: TrunkLoss, below: &[f64]) -> Target {
        let left = |(y, p): (&f64, &f64)| match loss {
            _ if p.is_nan() => 0.0,
            TrunkLoss::Poisson => y / p.max(f64::MIN_POSITIVE),
            TrunkLoss::Squared | TrunkLoss::Logistic => y - p,
        };
        let weight = |(w, p): (f64, &f64)| match loss {
            _ if p.is_nan() => 0.0,
            TrunkLoss::Poisson => w * p,
            TrunkLoss::Squared | TrunkLoss::Logistic => w,
        };
        Target {
            loss,
            y: rows.data.y().iter().zip(below).map(left).collect(),
            weight: row_weights(rows.data).zip(below).map(weight).collect(),
        }
    }
}

fn grow(rows: &Rows, folds: &Folds, target: &Target, sees: Sees, growing: &Growing) -> Result<Grown> {
    let (x, node) = (described_rows(rows), node_of_rows(rows.data));
    let category = (sees == Sees::Node).then_some(&node[..]);
    let all = TrunkRows { x: x.view(), category, y: &target.y, weight: &target.weight };
    let candidates = trunk_candidates(rows.data.len(), growing.seed);
    let CrossFit { options, scores, by_fold, .. } =
        cross_fit_while(&all, target.loss, folds, &candidates, growing.go_on)?;
    let trunk = Trunk::fit(&all, target.loss, &options)?;
    let chosen = format!("{} trees with up to {} leaves", options.rounds, options.leaves);
    Ok(Grown { trunk, scores, by_fold, chosen })
}

/// The loss that trees can be grown for; `None` if they do not know it, or if there is nothing to divide.
fn grown_for(rows: &Rows) -> Option<TrunkLoss> {
    TrunkLoss::of(rows.family).filter(|_| described_columns(rows) > 0)
}

/// Grows a trunk for the labels of the rows; `None` if trunks do not know the loss, or have nothing to divide.
pub fn grow_trunk(rows: &Rows, folds: &Folds, sees: Sees, growing: &Growing) -> Option<Result<Grown>> {
    Some(grow(rows, folds, &Target::labels(rows, grown_for(rows)?), sees, growing))
}

/// Grows a forest for the labels of the rows, which sees the nodes; `None` where means of labels are not what is predicted.
pub fn grow_forest(rows: &Rows, folds: &Folds, growing: &Growing) -> Option<Result<Grown>> {
    let target = Target::labels(rows, grown_for(rows).filter(|loss| *loss == TrunkLoss::Squared)?);
    let (x, node) = (described_rows(rows), node_of_rows(rows.data));
    let all = TrunkRows { x: x.view(), category: Some(&node), y: &target.y, weight: &target.weight };
    let seed = growing.seed;
    let candidates: Vec<TrunkOptions> =
        TrunkOptions::forests().into_iter().map(|options| TrunkOptions { seed, ..options }).collect();
    let grown = || -> Result<Grown> {
        let CrossFit { options, scores, by_fold, .. } = cross_fit_forest(&all, folds, &candidates, growing.go_on)?;
        let trunk = Trunk::forest(&all, &options)?;
        let chosen = format!("mean of {} trees with at least {} rows a leaf", options.rounds, options.rows_min);
        Ok(Grown { trunk, scores, by_fold, chosen })
    };
    Some(grown())
}

/// What a trunk predicts for rows.
pub fn predict_trunk(rows: &Rows, trunk: &Trunk) -> Vec<f64> {
    let (x, node) = (described_rows(rows), node_of_rows(rows.data));
    let predict = |r: usize| rows.cost.respond(trunk.score(x.row(r), Some(node[r])));
    (0..node.len()).into_par_iter().map(predict).collect()
}

fn row_weights(data: &Dataset) -> impl Iterator<Item = f64> {
    (0..data.nodes()).flat_map(|i| data.weights(i).iter().copied())
}

fn node_of_rows(data: &Dataset) -> Vec<u32> {
    (0..data.nodes()).flat_map(|i| data.rows(i).map(move |_| i as u32)).collect()
}

/// How many features of rows and attributes of nodes there are.
fn described_columns(rows: &Rows) -> usize {
    rows.data.dim() - usize::from(rows.intercept) + rows.attributes.map_or(0, Matrix::cols)
}

/// The rows as a trunk sees them.
fn described_rows(rows: &Rows) -> Matrix {
    let width = described_columns(rows);
    let of = |(row, node): (usize, u32)| {
        described(rows.data.x(row), rows.intercept, rows.attributes.map(|a| a.row(node as usize)))
    };
    Matrix::from_rows(width, node_of_rows(rows.data).into_iter().enumerate().flat_map(of).collect())
}

/// The trunk alone.
pub fn trunk_entry(rows: &Rows, folds: &Folds, name: &str, grown: &Grown) -> Entry {
    let member = |trunk: &Trunk| Member { trunk: Some(trunk.clone()), ..Member::new(name) };
    let by_fold = grown.by_fold.iter().map(member).collect();
    Entry::new(rows, folds, member(&grown.trunk), by_fold, grown.chosen.clone())
}

/// Linear models at every node, coupled as the rows suggest, on the score of the trunk.
pub fn trunk_leaves(rows: &Rows, folds: &Folds, grown: &Grown, input: LeafInput, watch: &Watcher) -> Result<Entry> {
    let data = on_scores(rows, &grown.scores, input)?;
    let above = Rows { data: &data, intercept: true, ..*rows };
    let fit = Linear::Learnt.fit(&above, folds, watch)?;
    let name = if input == LeafInput::Trunk { "common+leaves" } else { "common+features" };
    let (member, by_fold) = both(name, input, rows, grown, &fit);
    Ok(Entry::new(rows, folds, member, by_fold, format!("{}; leaves {}", grown.chosen, fit.chosen)))
}

/// Rows whose features are scores of a trunk; a row that no fold holds out has no honest score, and is left without weight.
fn on_scores(rows: &Rows, scores: &[f64], input: LeafInput) -> Result<Dataset> {
    let data = rows.data;
    let kept = data.dim() - usize::from(rows.intercept);
    let row = |r: usize| {
        let features = if input == LeafInput::Both { &data.x(r)[..kept] } else { &[] };
        let score = if scores[r].is_nan() { 0.0 } else { scores[r] };
        features.iter().copied().chain([score, 1.0]).collect::<Vec<f64>>()
    };
    let dim = if input == LeafInput::Both { kept + 2 } else { 2 };
    let x = Matrix::from_rows(dim, (0..data.len()).flat_map(row).collect());
    let weight = row_weights(data).zip(scores).map(|(w, s)| if s.is_nan() { 0.0 } else { w }).collect();
    let offsets = std::iter::once(0).chain((0..data.nodes()).map(|i| data.rows(i).end)).collect();
    Dataset::new(offsets, x, data.y().to_vec(), weight)
}

/// A trunk for what linear models leave; `None` where the loss does not allow it.
pub fn leaves_trunk(
    rows: &Rows,
    folds: &Folds,
    linear: &LinearFit,
    sees: Sees,
    growing: &Growing,
) -> Result<Option<Entry>> {
    let loss = match grown_for(rows) {
        Some(loss @ (TrunkLoss::Squared | TrunkLoss::Poisson)) => loss,
        _ => return Ok(None),
    };
    let below = linear.out_of_fold(rows.data, folds, rows.cost);
    let grown = grow(rows, folds, &Target::left(rows, loss, &below), sees, growing)?;
    let name = if sees == Sees::Node { "leaves+trunk" } else { "leaves+common" };
    let (member, by_fold) = both(name, LeafInput::Features, rows, &grown, linear);
    Ok(Some(Entry::new(rows, folds, member, by_fold, format!("leaves {}; {}", linear.chosen, grown.chosen))))
}

/// A trunk and linear models together: of all rows, and of every fold.
fn both(name: &str, input: LeafInput, rows: &Rows, grown: &Grown, fit: &LinearFit) -> (Member, Vec<Member>) {
    let member = |(trunk, w): (&Trunk, &Matrix)| {
        let leaves = Leaves::new(input, w, rows.data.nodes());
        Member { trunk: Some(trunk.clone()), leaves: Some(leaves), ..Member::new(name) }
    };
    let by_fold = grown.by_fold.iter().zip(&fit.by_fold).map(member).collect();
    (member((&grown.trunk, &fit.w)), by_fold)
}
