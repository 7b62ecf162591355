//! What folds see, and what they choose.

use super::super::boost::Boost;
use super::*;

/// The scores kept while growing are those of the grown trunk, for rows that it was grown on and for others.
#[test]
fn scores_kept_are_scores_of_the_trunk() {
    let table = Table::random(TrunkLoss::Squared, 200, 8, 8);
    let bins = Bins::new(table.x.view(), &table.weight, 8, 16);
    let binned = [BinnedRows::new(&table.rows(), &bins)];
    let (held, others) = (0..200).partition(|r| r % 5 == 0);
    let options = few(30);
    let mut boost = Boost::new(&binned, vec![(others, held)], &bins, TrunkLoss::Squared, &options);
    (0..30).for_each(|_| boost.round());
    for r in 0..200 {
        assert_eq!(boost.shares[0].scores()[r], boost.trunk.score(table.x.row(r), Some(table.category[r])));
    }
}

/// Scores out of fold do not know the label of their row: changing it changes nothing but through other folds.
#[test]
fn scores_out_of_fold_have_not_seen_their_fold() {
    let table = Table::random(TrunkLoss::Squared, 240, 6, 9);
    let folds: Vec<u32> = (0..240).map(|r| r % 3).collect();
    let other = Table { y: (0..240).map(|r| table.y[r] + f64::from(folds[r] == 1) * 9.0).collect(), ..table.clone() };
    let scores = |table: &Table| {
        let options = TrunkOptions { rounds: 1, ..few(1) };
        cross_fit(&table.rows(), TrunkLoss::Squared, &Folds::given(&folds), &[options]).unwrap().scores
    };
    let (before, after) = (scores(&table), scores(&other));
    for r in 0..240 {
        assert_eq!(before[r] == after[r], folds[r] == 1, "row {r}");
    }
}

#[test]
fn cross_fit_chooses_what_predicts_best() {
    let table = Table::random(TrunkLoss::Squared, 600, 10, 10);
    let folds: Vec<u32> = (0..600).map(|r| r / 10 % 5).collect();
    let candidates = [TrunkOptions { leaves: 2, ..few(20) }, few(400), TrunkOptions { rows_min: 250.0, ..few(400) }];
    let found = cross_fit(&table.rows(), TrunkLoss::Squared, &Folds::given(&folds), &candidates).unwrap();
    let errors: Vec<f64> = found.tried.iter().map(|tried| tried.error).collect();
    assert!(errors[1] < errors[0] && errors[1] < errors[2], "{errors:?}");
    assert_eq!(found.options.leaves, 6);
    let squares = (0..600).map(|r| (found.scores[r] - table.y[r]).powi(2)).sum::<f64>() / 600.0;
    assert!((squares - errors[1]).abs() < 1e-12);
    assert!(found.options.rounds < 400 && errors[1] < 0.08, "noise of 0.03, {errors:?}");
}
