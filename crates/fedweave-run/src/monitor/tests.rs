use super::*;
use fedweave::learn::conformal::Score;
use fedweave::random::{Purpose, stream};
use rand::RngExt;

const NODES: usize = 60;

/// About normal scores (a sum of uniform ones) of nodes of different noise; `shift` multiplies those of the last ten.
fn scores(seed: u64, rows: usize, shift: f64) -> Calibration {
    let mut rng = stream(seed, Purpose::LocalData, rows);
    let mut draw = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    let factor = |i: usize| (1 + i % 3) as f64 * if i >= NODES - 10 { shift } else { 1.0 };
    Calibration::new(NODES, (0..NODES * rows).map(|k| (k % NODES, factor(k % NODES) * draw()))).unwrap()
}

fn alarms(seed: u64, shift: f64) -> (usize, usize) {
    let scores_known = scores(seed, 20, 1.0);
    let known = RunCalibration {
        score: Score::Difference,
        scores: scores_known,
        how: String::new(),
        unseen: true,
        scaled: false,
    };
    let names: Vec<String> = (0..NODES).map(|i| i.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let found = compare(&known, &scores(seed + 1000, 25, shift), &names, MonitorRequest::default()).unwrap();
    let flagged = |from: usize, to: usize| found[from..to].iter().filter(|node| node.drifted).count();
    (flagged(0, NODES - 10), flagged(NODES - 10, NODES))
}

#[test]
fn without_drift_alarms_are_rare() {
    // All alarms are false: at most a tenth of the runs may have any, with five standard deviations to spare.
    let runs = 60;
    let with_alarms = (0..runs).filter(|seed| alarms(*seed, 1.0) != (0, 0)).count();
    assert!(with_alarms <= 6 + 11, "{with_alarms} of {runs}");
}

#[test]
fn drift_is_found_and_few_alarms_are_false() {
    let (mut wrong, mut right) = (0, 0);
    for seed in 0..10 {
        let (outside, inside) = alarms(seed, 3.0);
        (wrong, right) = (wrong + outside, right + inside);
    }
    assert!(right >= 90, "{right} of 100 found");
    assert!((wrong as f64) < 0.2 * (wrong + right) as f64, "{wrong} of {} are false", wrong + right);
}

#[test]
fn nodes_without_a_past_are_compared_with_all() {
    let rows = (0..200).map(|k| (1 + k % 4, 0.01 * k as f64));
    let scores = Calibration::new(5, rows).unwrap();
    let known = RunCalibration { score: Score::Difference, scores, how: String::new(), unseen: true, scaled: false };
    let new = Calibration::new(5, (0..20).map(|_| (0, 9.0))).unwrap();
    let found = compare(&known, &new, &["a", "b", "c", "d", "e"], MonitorRequest::default()).unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].pooled && found[0].known_rows == 200 && found[0].drifted && found[0].coverage == 0.0);
}
