//! Few rows, missing places, ties, wrong input; threads and the order of rows.

use super::*;
use crate::error::Error;
use crate::learn::shocks::{FoldResiduals, Shocks, ShocksOptions};

fn numbers() -> ShocksOptions {
    ShocksOptions { time: Time::Numbers, ..ShocksOptions::default() }
}

fn shared(seed: u64) -> (Matrix, Residuals) {
    let positions = places(15, seed);
    let truth = nearby(2.0, 0.5, Some(2.0), 0.3);
    let residuals = draw(rows(15, 30, 0.7, seed), Time::Numbers, &at(&positions), &truth, seed);
    (positions, residuals)
}

#[test]
fn threads_and_the_order_of_rows_change_nothing() {
    let (positions, residuals) = shared(1);
    let learn = |threads: usize, residuals: &Residuals| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let shocks = Shocks::learn(residuals, &at(&positions), &numbers()).unwrap();
            let shock = shocks.observe(residuals, &at(&positions)).unwrap().predict(3, 7.5);
            (shocks, shock)
        })
    };
    let back = |v: &[f64]| v.iter().rev().copied().collect();
    let reversed = Residuals {
        node: residuals.node.iter().rev().copied().collect(),
        time: back(&residuals.time),
        value: back(&residuals.value),
    };
    let wanted = learn(1, &residuals);
    assert_eq!(learn(3, &residuals), wanted);
    assert_eq!(learn(2, &reversed), wanted);
}

#[test]
fn a_node_without_a_place_shares_only_what_all_share() {
    let (mut positions, residuals) = shared(2);
    positions.row_mut(4)[1] = f64::NAN;
    let shocks = Shocks::learn(&residuals, &at(&positions), &numbers()).unwrap();
    let others = FoldResiduals { held_out: residuals.node.iter().map(|i| *i == 4).collect(), residuals };
    let observed = shocks.observe(&others.part(false), &at(&positions)).unwrap();
    let nearby = shocks.nearby.unwrap().variance;
    for node in [4, 99] {
        let shock = observed.predict(node, 3.0);
        assert!(shock.variance >= 0.999 * nearby, "{shock:?}");
        assert!(shocks.common.is_some() || shock.mean == 0.0);
    }
    assert!(observed.predict(5, 3.0).variance < 0.7 * nearby);
}

#[test]
fn rows_of_one_node_and_time_share_their_shock() {
    let (positions, residuals) = shared(3);
    let twice = Residuals {
        node: [residuals.node.clone(), residuals.node.clone()].concat(),
        time: [residuals.time.clone(), residuals.time.clone()].concat(),
        value: [residuals.value.clone(), residuals.value.clone()].concat(),
    };
    let shocks = Shocks::learn(&twice, &at(&positions), &numbers()).unwrap();
    let observed = shocks.observe(&twice, &at(&positions)).unwrap();
    let (node, time) = (residuals.node[9], residuals.time[9]);
    assert!((observed.predict(node, time).mean - residuals.value[9]).abs() < 0.05, "{shocks}");
    // Positions may coincide too.
    let one_place = Matrix::zeros(15, 2);
    let shocks = Shocks::learn(&twice, &at(&one_place), &numbers()).unwrap();
    assert!(shocks.observe(&twice, &at(&one_place)).unwrap().predict(0, 1.0).mean.is_finite());
}

#[test]
fn one_node_one_time_or_no_rows() {
    let positions = places(40, 4);
    let series = draw(rows(1, 200, 0.6, 4), Time::Numbers, &at(&positions), &nearby(2.0, 1.0, Some(6.0), 0.1), 4);
    let shocks = Shocks::learn(&series, &at(&positions), &numbers()).unwrap();
    assert!(!shocks.is_none(), "a series that is alike from one time to the next");
    let snapshot = draw(rows(40, 1, 1.0, 4), Time::Labels, &at(&positions), &nearby(2.0, 1.0, None, 0.1), 4);
    let shocks = Shocks::learn(&snapshot, &at(&positions), &ShocksOptions::default()).unwrap();
    assert!(shocks.observe(&snapshot, &at(&positions)).unwrap().predict(0, 0.0).mean.is_finite());
    for geometry in [at(&positions), Geometry::None] {
        for residuals in [Residuals::default(), Residuals { value: vec![0.0; 40], ..snapshot.clone() }] {
            let shocks = Shocks::learn(&residuals, &geometry, &ShocksOptions::default()).unwrap();
            assert!(shocks.is_none() && shocks.statistic() == 0.0);
            let shock = shocks.observe(&residuals, &geometry).unwrap().predict(0, 0.0);
            assert_eq!((shock.mean, shock.variance), (0.0, 0.0));
        }
    }
    assert!(Shocks::learn_on_folds(&[], &Geometry::None, &numbers()).unwrap().is_none());
}

#[test]
fn wrong_sizes_and_numbers_are_errors() {
    let (positions, residuals) = shared(5);
    let learn = |residuals: &Residuals| Shocks::learn(residuals, &at(&positions), &numbers());
    let mut wrong = residuals.clone();
    wrong.time.pop();
    assert!(matches!(learn(&wrong), Err(Error::Size { .. })));
    wrong = residuals.clone();
    wrong.value[7] = f64::NAN;
    assert_eq!(learn(&wrong), Err(Error::NotFinite { row: 7, what: "residual".into() }));
    let fold = FoldResiduals { residuals: residuals.clone(), held_out: vec![true; 3] };
    assert!(matches!(Shocks::learn_on_folds(&[fold], &at(&positions), &numbers()), Err(Error::Size { .. })));
    let shocks = learn(&residuals).unwrap();
    let observed = shocks.observe(&residuals, &at(&positions)).unwrap();
    assert!(observed.leave_groups_out(&[1, 2]).is_err() && observed.predict_rows(&[1], &[]).is_err());
}

#[test]
fn what_was_learnt_survives_a_file_and_can_be_read_aloud() {
    let (positions, residuals) = shared(6);
    let shocks = Shocks::learn(&residuals, &at(&positions), &numbers()).unwrap();
    let text = serde_json::to_string(&shocks).unwrap();
    assert_eq!(serde_json::from_str::<Shocks>(&text).unwrap(), shocks);
    let words = shocks.to_string();
    assert!(words.contains("close nodes share") && words.contains("likelihood ratio"), "{words}");
}
