use super::*;
use crate::loss::{Family, Prediction};
use crate::random::{Purpose, stream};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

const LEVEL: f64 = 0.9;

fn normal(rng: &mut impl rand::Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// `rows` scores of each node, whose deviation is `scale(node)`.
fn scores(seed: usize, nodes: usize, rows: usize, scale: impl Fn(usize) -> f64) -> Vec<(usize, f64)> {
    let mut rng = stream(9, Purpose::LocalData, seed);
    (0..nodes * rows).map(|k| (k / rows, scale(k / rows) * normal(&mut rng))).collect()
}

fn thresholds(nodes: usize, rows: Vec<(usize, f64)>) -> Vec<Threshold> {
    Calibration::new(nodes, rows).unwrap().thresholds(LEVEL, Tails::Together).unwrap()
}

#[test]
fn the_quantile_is_the_order_statistic_of_the_theorem_or_infinite() {
    let sorted: Vec<f64> = (1..=100).map(f64::from).collect();
    assert_eq!(quantile(&sorted, 0.9), 91.0);
    assert_eq!(quantile(&sorted[..9], 0.9), 9.0);
    assert_eq!(quantile(&sorted[..8], 0.9), f64::INFINITY);
    assert_eq!(quantile(&sorted[..19], 0.9), 18.0);
    assert_eq!(quantile(&[], 0.1), f64::INFINITY);
}

#[test]
fn the_coverage_of_exchangeable_rows_is_exact() {
    // With m = 19 the probability is ceil(20 * 0.9) / 20 = 0.9 exactly: 20,000 draws within five standard deviations.
    let draws = 20_000;
    let mut rng = stream(1, Purpose::LocalData, 0);
    let inside = (0..draws).filter(|_| {
        let mut known: Vec<f64> = (0..19).map(|_| rng.random::<f64>()).collect();
        known.sort_by(f64::total_cmp);
        rng.random::<f64>() <= quantile(&known, LEVEL)
    });
    let share = inside.count() as f64 / draws as f64;
    assert!((share - 0.9).abs() < 5.0 * (0.09 / draws as f64).sqrt(), "{share}");
}

#[test]
fn nothing_is_promised_with_fewer_than_nine_rows() {
    let eight = thresholds(3, scores(0, 2, 4, |_| 1.0));
    assert!(eight.iter().all(|t| t.above.is_infinite() && t.source == Source::Nothing));
    // Nine rows of all nodes together are enough for everybody, also for a node without rows.
    let nine = thresholds(4, scores(0, 3, 3, |_| 1.0));
    assert!(nine.iter().all(|t| t.above.is_finite() && t.source == Source::All));
}

#[test]
fn a_node_with_many_rows_is_judged_by_its_own() {
    let rows = scores(3, 2, 99, |i| if i == 0 { 1.0 } else { 10.0 });
    let found = thresholds(3, rows.clone());
    let mut own: Vec<f64> = rows.iter().filter(|(i, _)| *i == 1).map(|(_, s)| s.abs()).collect();
    own.sort_by(f64::total_cmp);
    assert_eq!((found[1].above, found[1].source), (own[89], Source::Node));
    assert_eq!(found[2].source, Source::All);
    let fewer = thresholds(2, scores(3, 2, 98, |_| 1.0));
    assert!(fewer.iter().all(|t| t.source == Source::All));
}

#[test]
fn nodes_that_are_noisier_get_wider_intervals_and_all_are_covered() {
    // Deviations from 0.5 to 4, 20 calibration rows a node.
    let (nodes, scale) = (60, |i: usize| 0.5 * 8f64.powf(i as f64 / 59.0));
    let (mut noisy, mut quiet, mut all) = (0.0, 0.0, 0.0);
    let draws = 20;
    for seed in 0..draws {
        let found = thresholds(nodes, scores(seed, nodes, 20, scale));
        let mut rng = stream(77, Purpose::TestPoints, seed);
        let mut inside =
            |i: usize| (0..50).filter(|_| found[i].holds(scale(i) * normal(&mut rng))).count() as f64 / 50.0;
        let shares: Vec<f64> = (0..nodes).map(&mut inside).collect();
        let mean = |s: &[f64]| s.iter().sum::<f64>() / s.len() as f64 / draws as f64;
        quiet += mean(&shares[..10]);
        noisy += mean(&shares[50..]);
        all += mean(&shares);
    }
    assert!((0.88..0.93).contains(&all), "{all}");
    assert!((0.85..0.97).contains(&noisy) && (0.87..0.97).contains(&quiet), "{noisy} {quiet}");
}

#[test]
fn nodes_that_are_alike_are_pooled() {
    let found = thresholds(200, scores(5, 200, 10, |_| 1.0));
    let spread = found.iter().map(|t| t.above).fold((f64::INFINITY, 0.0f64), |(a, b), t| (a.min(t), b.max(t)));
    assert!(spread.1 / spread.0 < 1.35, "{spread:?}");
    assert!((spread.0 - 1.645).abs() < 0.35);
}

#[test]
fn clusters_are_calibrated_apart_where_they_have_enough_rows() {
    // The same deviation, but the second cluster has rare large errors only.
    let mut rng = stream(2, Purpose::LocalData, 4);
    let rows: Vec<(usize, f64)> = (0..40 * 20)
        .map(|k| {
            let (node, rare) = (k / 20, rng.random::<f64>() < 0.01);
            (
                node,
                if node < 20 {
                    normal(&mut rng)
                } else if rare {
                    10.0
                } else {
                    0.01 * normal(&mut rng)
                },
            )
        })
        .collect();
    let cluster: Vec<usize> = (0..40).map(|i| i / 20).collect();
    let calibration = Calibration::new(40, rows).unwrap().with_clusters(cluster).unwrap();
    let found = calibration.thresholds(LEVEL, Tails::Together).unwrap();
    assert!(found.iter().all(|t| t.source == Source::Cluster));
    assert!(found[..20].iter().all(|t| t.above > 1.0) && found[20..].iter().filter(|t| t.above < 0.5).count() > 10);
    assert!(calibration.with_clusters(vec![0]).is_err());
}

#[test]
fn half_of_the_rows_foresee_the_other_half() {
    let calibration = Calibration::new(50, scores(8, 50, 40, |i| 1.0 + (i % 5) as f64)).unwrap();
    for level in [0.5, 0.8, 0.9, 0.95] {
        let share = calibration.coverage(level, Tails::Together).unwrap().share().unwrap();
        assert!((share - level).abs() < 5.0 * (level * (1.0 - level) / 2000.0).sqrt() + 0.005, "{level}: {share}");
    }
    let nothing = Calibration::new(3, []).unwrap();
    assert_eq!(nothing.coverage(0.9, Tails::Apart).unwrap().share(), None);
}

#[test]
fn tails_apart_follow_a_skewed_distribution() {
    let mut rng = stream(3, Purpose::LocalData, 0);
    let rows: Vec<(usize, f64)> = (0..4000).map(|k| (k % 40, -(1.0 - rng.random::<f64>()).ln())).collect();
    let found = Calibration::new(40, rows).unwrap().thresholds(LEVEL, Tails::Apart).unwrap();
    // The 5 % and 95 % quantiles of the exponential distribution.
    assert!(found.iter().all(|t| (-t.below - 0.05).abs() < 0.1 && (t.above - 3.0).abs() < 1.5));
    let mean = found.iter().map(|t| t.above).sum::<f64>() / 40.0;
    assert!((mean - 3.0).abs() < 0.3, "{mean}");
}

#[test]
fn labels_inside_the_interval_are_those_with_scores_inside() {
    let threshold = Threshold { below: 1.3, above: 0.7, source: Source::All };
    for score in [Score::Difference, Score::Quantile, Score::Count] {
        let (low, high) = score.interval(4.0, 1.5, threshold);
        for step in 0..200 {
            let label = 0.1 * f64::from(step);
            let inside = threshold.holds(score.of(&Prediction::Number(4.0), label, 1.5));
            assert_eq!(inside, (low..=high).contains(&label), "{score:?} {label} {low} {high}");
        }
    }
    assert_eq!(Score::Count.interval(0.2, 1.0, Threshold { below: 9.0, above: 1.0, source: Source::All }).0, 0.0);
    let endless = Threshold { below: f64::INFINITY, above: f64::INFINITY, source: Source::Nothing };
    assert_eq!(Score::Difference.interval(1.0, 1.0, endless), (f64::NEG_INFINITY, f64::INFINITY));
    assert_eq!(Score::Count.interval(1.0, 1.0, endless), (0.0, f64::INFINITY));
}

#[test]
fn sets_hold_the_classes_that_are_probable_enough() {
    let prediction = Prediction::Class { class: 1, probabilities: vec![0.3, 0.6, 0.1] };
    let up_to = |p: f64| Threshold { below: 0.0, above: -p.ln(), source: Source::All };
    assert_eq!(Score::Class.set(&prediction, 3, up_to(0.25)), [0, 1]);
    assert_eq!(Score::Class.set(&prediction, 3, up_to(0.9)), [1]);
    assert_eq!(Score::Class.set(&prediction, 3, up_to(0.0)), [0, 1, 2]);
    let margin = Prediction::Margin { class: 0, score: -2.0 };
    let (near, far) = (Score::Class.of(&margin, 0.0, 1.0), Score::Class.of(&margin, 1.0, 1.0));
    assert!((far - near - 2.0).abs() < 1e-12, "the logarithm of the odds");
}

#[test]
fn odd_scores_are_refused_or_bounded() {
    assert!(Calibration::new(1, [(0, f64::NAN)]).is_err());
    assert!(Calibration::new(1, [(1, 0.0)]).is_err());
    let endless = Calibration::new(2, (0..40).map(|k| (k % 2, if k == 0 { f64::INFINITY } else { 1.0 }))).unwrap();
    let found = endless.thresholds(LEVEL, Tails::Together).unwrap();
    assert!(found.iter().all(|t| t.above == 1.0), "{found:?}");
    let exact = thresholds(2, (0..40).map(|k| (k % 2, 0.0)).collect());
    assert!(exact.iter().all(|t| t.above == 0.0));
    assert!(endless.thresholds(1.0, Tails::Together).is_err());
    assert_eq!(Score::of_loss(Family::Point), None);
}
