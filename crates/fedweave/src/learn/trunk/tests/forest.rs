//! Forests as trunks.

use super::super::forest::cross_fit_forest;
use super::*;

fn small() -> TrunkOptions {
    TrunkOptions { rounds: 40, ..TrunkOptions::forests()[0] }
}

/// Mean squared distance to the labels of other rows of the same kind.
fn unseen(trunk: &Trunk) -> f64 {
    let other = Table::random(TrunkLoss::Squared, 600, 10, 78);
    other.loss_of(trunk) / 600.0
}

#[test]
fn a_forest_predicts_unseen_rows_better_than_one_of_its_trees() {
    let table = Table::random(TrunkLoss::Squared, 600, 10, 77);
    let forest = Trunk::forest(&table.rows(), &small()).unwrap();
    let tree = Trunk::forest(&table.rows(), &TrunkOptions { rounds: 1, ..small() }).unwrap();
    // Labels have a variance of about 1.1, of which 0.03 is noise.
    assert!(unseen(&forest) < 0.7 * unseen(&tree) && unseen(&forest) < 0.15, "{} {}", unseen(&forest), unseen(&tree));
}

/// Every leaf predicts a mean of labels, so no prediction is beyond them; rows of weight 0 are never drawn.
#[test]
fn predictions_are_means_of_labels_that_count() {
    let mut table = Table::random(TrunkLoss::Squared, 300, 6, 79);
    (0..300).filter(|r| r % 3 == 0).for_each(|r| (table.y[r], table.weight[r]) = (1e6, 0.0));
    let forest = Trunk::forest(&table.rows(), &small()).unwrap();
    let counted: Vec<f64> = (0..300).filter(|r| r % 3 > 0).map(|r| table.y[r]).collect();
    let (low, high) = counted.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), y| (a.min(*y), b.max(*y)));
    for r in 0..300 {
        let score = forest.score(table.x.row(r), Some(table.category[r]));
        assert!(low - 1e-9 <= score && score <= high + 1e-9, "{score} outside {low} to {high}");
    }
}

#[test]
fn bits_of_forests_do_not_depend_on_the_number_of_threads() {
    let table = Table::random(TrunkLoss::Squared, 400, 12, 80);
    let folds: Vec<u32> = (0..400).map(|r| r / 12 % 4).collect();
    let candidates: Vec<TrunkOptions> =
        TrunkOptions::forests().into_iter().map(|options| TrunkOptions { rounds: 35, ..options }).collect();
    let run = |threads| {
        on_threads(threads, || cross_fit_forest(&table.rows(), &Folds::given(&folds), &candidates, &|| true).unwrap())
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn forests_out_of_fold_have_not_seen_their_fold() {
    let table = Table::random(TrunkLoss::Squared, 240, 6, 81);
    let folds: Vec<u32> = (0..240).map(|r| r % 3).collect();
    let other = Table { y: (0..240).map(|r| table.y[r] + f64::from(folds[r] == 1) * 9.0).collect(), ..table.clone() };
    let candidates = [TrunkOptions { rounds: 5, ..small() }];
    let scores =
        |table: &Table| cross_fit_forest(&table.rows(), &Folds::given(&folds), &candidates, &|| true).unwrap().scores;
    let (before, after) = (scores(&table), scores(&other));
    for r in 0..240 {
        assert_eq!(before[r] == after[r], folds[r] == 1, "row {r}");
    }
}

#[test]
fn a_forest_that_is_stopped_has_no_result() {
    let table = Table::random(TrunkLoss::Squared, 60, 3, 82);
    let folds: Vec<u32> = (0..60).map(|r| r % 3).collect();
    let stopped = cross_fit_forest(&table.rows(), &Folds::given(&folds), &TrunkOptions::forests(), &|| false);
    assert!(matches!(stopped, Err(Error::Stopped)));
}
