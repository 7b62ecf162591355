//! Rows dealt to folds, so that every one is predicted by models that have not seen it.

use fedweave::Dataset;
use fedweave::folds::{FoldRule, FoldSpec, Folds};
use fedweave::learn::conformal::{Calibration, Score};
use fedweave::split::{Part, Split};
use fedweave_io::Input;

use super::RunCalibration;
use crate::error::{Result, require};
use crate::watch::Observer;

/// The groups of the rows trained with, which are all rows or those that a split does not hold out.
fn groups_of(input: &Input, data: &Dataset, split: Option<&Split>) -> Option<Vec<u32>> {
    let groups = input.groups.as_ref()?;
    if groups.len() == data.len() {
        return Some(groups.clone());
    }
    let trains = split?.mask(Part::Train).into_iter();
    Some(groups.iter().zip(trains).filter(|(_, trains)| *trains).map(|(group, _)| *group).collect())
}

/// Scores of rows by models fitted without their fold; `split` is what holds out rows for good. `scores` gets the rows to train with and those to be scored, and returns
/// `(node, score)` of the latter, in order.
pub(crate) fn out_of_fold(
    input: &Input,
    (data, split): (&Dataset, Option<&Split>),
    (folds, seed): (usize, u64),
    observer: &dyn Observer,
    mut scores: impl FnMut(&Dataset, &Dataset) -> Result<Vec<(usize, f64)>>,
) -> Result<Vec<(usize, f64)>> {
    let groups = groups_of(input, data, split);
    let rule = if groups.is_some() { FoldRule::Groups } else { FoldRule::Random };
    let dealt = Folds::new(data, groups.as_deref(), FoldSpec { rule, count: folds, seed })?;
    let node_of: Vec<usize> = (0..data.nodes()).flat_map(|i| data.rows(i).map(move |_| i)).collect();
    let mut scored: Vec<Option<(usize, f64)>> = vec![None; data.len()];
    for fold in 0..dealt.count() {
        observer.advance("calibrating", fold, dealt.count());
        let train = data.select(&dealt.train(fold));
        // A node that is left without rows is not what its model will be.
        let held = |r: usize| dealt.of(r) == Some(fold) && !train.rows(node_of[r]).is_empty();
        let mask: Vec<bool> = (0..data.len()).map(held).collect();
        if train.is_empty() || !mask.contains(&true) {
            continue;
        }
        let found = scores(&train, &data.select(&mask))?;
        let places = (0..data.len()).filter(|r| mask[*r]);
        places.zip(found).for_each(|(row, score)| scored[row] = Some(score));
    }
    let scored: Vec<(usize, f64)> = scored.into_iter().flatten().collect();
    require!(!scored.is_empty(), "--calibrate {folds}: no row could be left out; give nodes with at least 2 rows");
    Ok(scored)
}

/// The calibration from scores of folds.
pub(crate) fn calibration(
    score: Score,
    nodes: usize,
    scored: Vec<(usize, f64)>,
    (folds, by): (usize, Option<&str>),
    scaled: bool,
) -> Result<RunCalibration> {
    let dealt = match by {
        Some(column) => format!("the same values of `{column}` left out at all nodes"),
        None => "rows dealt at random at every node".into(),
    };
    let rows = scored.len();
    let how = format!("{rows} rows, each predicted by models fitted without its fold ({folds} folds, {dealt})");
    Ok(RunCalibration { score, scores: Calibration::new(nodes, scored)?, how, unseen: false, scaled })
}
