//! Rows dealt to folds, so that every one is predicted by models that have not seen it.

use fedweave::Dataset;
use fedweave::learn::conformal::{Calibration, Score};
use fedweave::random::{Purpose, stream};
use fedweave_io::Input;
use rand::seq::SliceRandom;

use super::RunCalibration;
use crate::error::{Result, require};
use crate::request::held_out::HeldOutChoice;
use crate::watch::Observer;

/// The fold of every row: rows of each node at random and evenly, or whole groups.
pub fn deal(data: &Dataset, groups: Option<&[u32]>, folds: usize, seed: u64) -> Vec<usize> {
    if let Some(groups) = groups {
        let mut distinct = groups.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let mut order: Vec<usize> = (0..distinct.len()).collect();
        order.shuffle(&mut stream(seed, Purpose::CalibrationFolds, 0));
        let fold = |group: &u32| order[distinct.partition_point(|known| known < group)] % folds;
        return groups.iter().map(fold).collect();
    }
    let mut fold = vec![0; data.len()];
    let mut next = 0;
    for node in 0..data.nodes() {
        let mut rows: Vec<usize> = data.rows(node).collect();
        rows.shuffle(&mut stream(seed, Purpose::CalibrationFolds, node));
        for row in rows {
            fold[row] = next % folds;
            next += 1;
        }
    }
    fold
}

/// Scores of rows by models fitted without their fold. `scores` gets the rows to train with and those to be scored, and returns
/// `(node, score)` of the latter, in order.
pub(crate) fn out_of_fold(
    input: &Input,
    data: &Dataset,
    held_out: &HeldOutChoice,
    folds: usize,
    observer: &dyn Observer,
    mut scores: impl FnMut(&Dataset, &Dataset) -> Result<Vec<(usize, f64)>>,
) -> Result<Vec<(usize, f64)>> {
    let groups = input.groups.as_deref().filter(|groups| groups.len() == data.len());
    let fold_of = deal(data, groups, folds, held_out.seed);
    let node_of: Vec<usize> = (0..data.nodes()).flat_map(|i| data.rows(i).map(move |_| i)).collect();
    let mut scored: Vec<Option<(usize, f64)>> = vec![None; data.len()];
    for fold in 0..folds {
        observer.advance("calibrating", fold, folds);
        let train = data.select(&fold_of.iter().map(|f| *f != fold).collect::<Vec<bool>>());
        // A node that is left without rows is not what its model will be.
        let held = |r: usize| fold_of[r] == fold && !train.rows(node_of[r]).is_empty();
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

#[cfg(test)]
mod tests {
    use super::*;
    use fedweave::Matrix;

    #[test]
    fn folds_are_even_in_every_node_and_groups_stay_together() {
        let rows = 37;
        let data = Dataset::new(vec![0, 20, 20, 37], Matrix::zeros(rows, 1), vec![0.0; rows], vec![1.0; rows]).unwrap();
        let folds = deal(&data, None, 5, 3);
        for node in [0, 2] {
            let counts = (0..5).map(|k| folds[data.rows(node)].iter().filter(|f| **f == k).count());
            assert!(counts.into_iter().all(|c| (3..=4).contains(&c)));
        }
        assert_eq!(folds, deal(&data, None, 5, 3));
        assert_ne!(folds, deal(&data, None, 5, 4));
        let groups: Vec<u32> = (0..rows as u32).map(|r| r % 7).collect();
        let folds = deal(&data, Some(&groups), 3, 1);
        assert!((0..rows).all(|r| folds[r] == folds[r % 7]) && (0..3).all(|k| folds.contains(&k)));
    }
}
