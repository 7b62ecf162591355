//! A common trunk with personal leaves, and shocks that nodes share.
//!
//! Everything is fitted to scores of rows that the layer below had not seen (out of fold), so that no layer learns what the
//! one below it remembers of the training rows.

use rayon::prelude::*;

use super::entry::Entry;
use super::linear::{Linear, LinearFit};
use super::member::{LeafInput, Leaves, Member, MemberShocks, described};
use super::rows::{Rows, Watcher};
use crate::dataset::Dataset;
use crate::error::Result;
use crate::folds::Folds;
use crate::learn::shocks::{Geometry, Residuals, Shocks, ShocksOptions, Time};
use crate::learn::trunk::{CrossFit, Trunk, TrunkLoss, TrunkOptions, TrunkRows, cross_fit};
use crate::matrix::Matrix;

/// A trunk on all rows, and the scores of every row by a trunk that had not seen it (NaN where no fold holds it out).
pub struct Grown {
    /// The trunk.
    pub trunk: Trunk,
    /// Out-of-fold scores.
    pub scores: Vec<f64>,
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

fn grow(rows: &Rows, folds: &Folds, target: &Target, sees: Sees, seed: u64) -> Result<Grown> {
    let (x, node) = (described_rows(rows), node_of_rows(rows.data));
    let category = (sees == Sees::Node).then_some(&node[..]);
    let all = TrunkRows { x: x.view(), category, y: &target.y, weight: &target.weight };
    let CrossFit { options, scores, .. } =
        cross_fit(&all, target.loss, folds, &trunk_candidates(rows.data.len(), seed))?;
    let trunk = Trunk::fit(&all, target.loss, &options)?;
    let chosen = format!("{} trees with up to {} leaves", options.rounds, options.leaves);
    Ok(Grown { trunk, scores, chosen })
}

/// Grows a trunk for the labels of the rows; `None` if trunks do not know the loss.
pub fn grow_trunk(rows: &Rows, folds: &Folds, sees: Sees, seed: u64) -> Option<Result<Grown>> {
    Some(grow(rows, folds, &Target::labels(rows, TrunkLoss::of(rows.family)?), sees, seed))
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

/// The rows as a trunk sees them.
fn described_rows(rows: &Rows) -> Matrix {
    let width = rows.data.dim() - usize::from(rows.intercept) + rows.attributes.map_or(0, Matrix::cols);
    let of = |(row, node): (usize, u32)| {
        described(rows.data.x(row), rows.intercept, rows.attributes.map(|a| a.row(node as usize)))
    };
    Matrix::from_rows(width, node_of_rows(rows.data).into_iter().enumerate().flat_map(of).collect())
}

/// The trunk alone.
pub fn trunk_entry(rows: &Rows, name: &str, grown: &Grown) -> Entry {
    let out_of_fold = grown.scores.iter().map(|s| rows.cost.respond(*s)).collect();
    let member = Member { trunk: Some(grown.trunk.clone()), ..Member::new(name) };
    Entry::new(rows, member, out_of_fold, grown.chosen.clone())
}

/// Linear models at every node, coupled as the rows suggest, on the score of the trunk.
pub fn trunk_leaves(rows: &Rows, folds: &Folds, grown: &Grown, input: LeafInput, watch: &Watcher) -> Result<Entry> {
    let data = on_scores(rows, &grown.scores, input)?;
    let above = Rows { data: &data, intercept: true, ..*rows };
    let fit = Linear::Learnt.fit(&above, folds, watch)?;
    let out_of_fold = fit.out_of_fold(&data, folds, rows.cost);
    let name = if input == LeafInput::Trunk { "common+leaves" } else { "common+features" };
    let leaves = Leaves::new(input, &fit.w, rows.data.nodes());
    let member = Member { trunk: Some(grown.trunk.clone()), leaves: Some(leaves), ..Member::new(name) };
    Ok(Entry::new(rows, member, out_of_fold, format!("{}; leaves {}", grown.chosen, fit.chosen)))
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
pub fn leaves_trunk(rows: &Rows, folds: &Folds, linear: &LinearFit, sees: Sees, seed: u64) -> Result<Option<Entry>> {
    let loss = match TrunkLoss::of(rows.family) {
        Some(loss @ (TrunkLoss::Squared | TrunkLoss::Poisson)) => loss,
        _ => return Ok(None),
    };
    let below = linear.out_of_fold(rows.data, folds, rows.cost);
    let grown = grow(rows, folds, &Target::left(rows, loss, &below), sees, seed)?;
    let together = |(p, s): (&f64, &f64)| rows.cost.respond(rows.cost.score(*p) + s);
    let out_of_fold = below.iter().zip(&grown.scores).map(together).collect();
    let leaves = Leaves::new(LeafInput::Features, &linear.w, rows.data.nodes());
    let name = if sees == Sees::Node { "leaves+trunk" } else { "leaves+common" };
    let member = Member { trunk: Some(grown.trunk), leaves: Some(leaves), ..Member::new(name) };
    Ok(Some(Entry::new(rows, member, out_of_fold, format!("leaves {}; {}", linear.chosen, grown.chosen))))
}

/// When and where rows were observed.
#[derive(Clone, Copy)]
pub struct Shared<'a> {
    /// The time of every row; NaN where it is not known.
    pub times: &'a [f64],
    /// What times are.
    pub time: Time,
    /// What says which nodes are close.
    pub geometry: Geometry<'a>,
}

/// A predictor with shocks: learnt from its residuals, predicted for every fold from the residuals of the others. `None` if
/// there are none to speak of.
pub fn shocked(rows: &Rows, folds: &Folds, shared: &Shared, base: &Entry) -> Result<Option<Entry>> {
    let node = node_of_rows(rows.data);
    let usable: Vec<usize> = (0..rows.data.len()).filter(|&r| is_observed(shared, base, r)).collect();
    let of = |rows_kept: &[usize]| Residuals {
        node: rows_kept.iter().map(|&r| node[r]).collect(),
        time: rows_kept.iter().map(|&r| shared.times[r]).collect(),
        value: rows_kept.iter().map(|&r| rows.data.y()[r] - base.out_of_fold[r]).collect(),
    };
    let residuals = of(&usable);
    let options = ShocksOptions { time: shared.time, ..ShocksOptions::default() };
    let shocks = Shocks::learn(&residuals, &shared.geometry, &options)?;
    if shocks.is_none() {
        return Ok(None);
    }
    let fold = |k: usize| {
        let others: Vec<usize> = usable.iter().copied().filter(|&r| folds.trains(k, r)).collect();
        let observed = shocks.observe(&of(&others), &shared.geometry)?;
        let held: Vec<usize> = (0..rows.data.len()).filter(|&r| folds.of(r) == Some(k)).collect();
        let shock = |r: usize| observed.predict(node[r], shared.times[r]).mean;
        Ok(held.into_par_iter().map(|r| (r, shock(r))).collect::<Vec<_>>())
    };
    let found: Vec<Vec<(usize, f64)>> = (0..folds.count()).into_par_iter().map(fold).collect::<Result<_>>()?;
    let mut out_of_fold = base.out_of_fold.clone();
    found.iter().flatten().filter(|(r, _)| !shared.times[*r].is_nan()).for_each(|(r, shock)| out_of_fold[*r] += shock);
    // Where whole times are held out there is nothing to predict shocks from.
    if out_of_fold.iter().zip(&base.out_of_fold).all(|(a, b)| a == b || a.is_nan()) {
        return Ok(None);
    }
    let chosen = format!("{}; {shocks}", base.chosen);
    let name = format!("{}+shocks", base.member.name);
    let member = Member { name, shocks: Some(MemberShocks { shocks, residuals }), ..base.member.clone() };
    Ok(Some(Entry::new(rows, member, out_of_fold, chosen)))
}

fn is_observed(shared: &Shared, base: &Entry, row: usize) -> bool {
    shared.times[row].is_finite() && base.out_of_fold[row].is_finite()
}
