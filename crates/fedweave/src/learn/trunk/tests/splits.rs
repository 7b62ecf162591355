//! Steps and splits against brute force and theory.

use rand::RngExt;

use super::super::fixed::{Extent, Grids};
use super::*;

#[test]
fn slopes_and_curvatures_are_those_of_the_loss() {
    for loss in LOSSES {
        let unit = if loss == TrunkLoss::Squared { 2.0 } else { 1.0 };
        for (score, label) in [(0.3, 1.0), (-1.2, 1.0), (2.0, 1.0)] {
            let (h, value) = (1e-4, |s| loss.value(s, label));
            let (slope, curvature) = loss.slope_and_curvature(score, label);
            let central = (value(score + h) - value(score - h)) / (2.0 * h);
            let second = (value(score + h) - 2.0 * value(score) + value(score - h)) / (h * h);
            assert!((slope * unit - central).abs() < 1e-6, "{loss:?}: {slope} {central}");
            assert!((curvature * unit - second).abs() < 1e-5, "{loss:?}: {curvature} {second}");
        }
    }
}

/// With `l2 = 0` the step of a leaf minimises the loss of its rows: exactly for squares and counts.
#[test]
fn a_step_minimises_the_loss_of_a_leaf() {
    let (labels, score) = ([0.0, 1.0, 4.0, 2.0], 0.4);
    for loss in [TrunkLoss::Squared, TrunkLoss::Poisson] {
        let mut sums = Sums { gradient: 0.0, hessian: 0.0, weight: 0.0 };
        for label in labels {
            let (slope, curvature) = loss.slope_and_curvature(score, label);
            sums.gradient += slope;
            sums.hessian += curvature;
        }
        let best = score + loss.step(sums, 0.0);
        let slope: f64 = labels.iter().map(|y| loss.slope_and_curvature(best, *y).0).sum();
        assert!(slope.abs() < 1e-12, "{loss:?}: {slope}");
        assert!(loss.step(sums, 3.0).abs() < loss.step(sums, 0.0).abs());
    }
}

/// Gain of every threshold between two values of every feature, from the rows themselves.
fn best_stump_by_brute_force(table: &Table, rows_min: usize, l2: f64) -> (usize, f64, f64) {
    let mean = table.y.iter().sum::<f64>() / table.y.len() as f64;
    let (mut best, count) = ((0, 0.0, 0.0), table.y.len());
    for feature in 0..3 {
        let mut values: Vec<f64> = (0..count).map(|r| table.x.row(r)[feature]).collect();
        values.sort_by(f64::total_cmp);
        for pair in values.windows(2) {
            let threshold = (pair[0] + pair[1]) / 2.0;
            let side = |left: bool| {
                let rows = (0..count).filter(|&r| (table.x.row(r)[feature] <= threshold) == left);
                rows.fold((0.0, 0.0), |(sum, n), r| (sum + table.y[r] - mean, n + 1.0))
            };
            let (left, right) = (side(true), side(false));
            let gain = left.0 * left.0 / (left.1 + l2) + right.0 * right.0 / (right.1 + l2);
            if left.1.min(right.1) >= rows_min as f64 && gain > best.2 {
                best = (feature, threshold, gain);
            }
        }
    }
    best
}

/// Where every value has its own bin, splits from histograms are those of the rows.
#[test]
fn a_stump_is_the_best_of_all_stumps() {
    for seed in 0..20 {
        let table = Table::random(TrunkLoss::Squared, 60, 3, seed);
        let rows = TrunkRows { category: None, ..table.rows() };
        let options = TrunkOptions { rounds: 1, leaves: 2, rows_min: 4.0, l2: 1.5, ..Default::default() };
        let trunk = Trunk::fit(&rows, TrunkLoss::Squared, &options).unwrap();
        let (best_feature, best_threshold, _) = best_stump_by_brute_force(&table, 4, 1.5);
        let TrunkNode::Threshold { feature, threshold, .. } = &trunk.trees[0].nodes[0] else { panic!("no split") };
        assert_eq!(*feature, best_feature);
        assert!((threshold - best_threshold).abs() < 1e-12);
    }
}

/// Of all divisions in two of the categories, the one that gains most is found.
#[test]
fn categories_are_divided_as_by_brute_force() {
    for seed in 0..10 {
        let table = Table::random(TrunkLoss::Squared, 70, 7, seed);
        let bins = Bins::from_edges(vec![vec![]], 7);
        let x = Matrix::zeros(70, 1);
        let rows = TrunkRows { x: x.view(), ..table.rows() };
        let options = TrunkOptions {
            rounds: 1,
            leaves: 2,
            rows_min: 1.0,
            category_smoothing: 0.0,
            category_caution: 0.0,
            ..Default::default()
        };
        let trunk = Trunk::fit_parts(&[rows], &bins, TrunkLoss::Squared, &options).unwrap();
        let gain = |listed: &dyn Fn(u32) -> bool| -> f64 {
            let mut sides = [(0.0, 0.0); 2];
            for r in 0..70 {
                let side = &mut sides[usize::from(listed(table.category[r]))];
                *side = (side.0 + table.y[r] - trunk.start, side.1 + 1.0);
            }
            sides.iter().map(|(sum, n)| sum * sum / (n + 1.0)).sum()
        };
        let best = (1u32..127).map(|set| gain(&|c| set >> c & 1 == 1)).fold(0.0, f64::max);
        let TrunkNode::Categories { categories, .. } = &trunk.trees[0].nodes[0] else { panic!("no split") };
        let found = gain(&|c| categories.contains(&c));
        assert!((found - best).abs() < 1e-9 * best, "{found} {best}");
    }
}

/// Caution: categories that do not differ are rarely divided, those that do are.
#[test]
fn categories_that_do_not_differ_are_left_alone() {
    let divisions = |differ: f64, caution: f64| -> usize {
        let of_seed = |seed: u64| {
            let mut rng = stream(seed, Purpose::LocalData, 1);
            let category: Vec<u32> = (0..400).map(|r| r % 40).collect();
            let noise: Vec<f64> = (0..400).map(|_| (0..12).map(|_| rng.random_range(-0.5..0.5)).sum()).collect();
            let y: Vec<f64> = (0..400).map(|r| noise[r] + differ * f64::from(category[r] % 4)).collect();
            let x = Matrix::zeros(400, 1);
            let rows = TrunkRows { x: x.view(), category: Some(&category), y: &y, weight: &[1.0; 400] };
            let options = TrunkOptions { rounds: 1, leaves: 2, category_caution: caution, ..Default::default() };
            Trunk::fit(&rows, TrunkLoss::Squared, &options).unwrap().trees[0].leaves() - 1
        };
        (0..40).map(of_seed).sum()
    };
    assert_eq!(divisions(0.0, 0.0), 40);
    assert!((8..=32).contains(&divisions(0.0, 1.0)), "about every other: the luck taken off is that of the mean");
    assert!(divisions(0.0, 1.5) <= 4);
    assert_eq!(divisions(1.0, 1.5), 40);
}

#[test]
fn unknown_categories_follow_the_majority() {
    let category: Vec<u32> = (0..60).map(|r| u32::from(r % 3 == 0)).collect();
    let y: Vec<f64> = category.iter().map(|c| f64::from(*c)).collect();
    let x = Matrix::zeros(60, 1);
    let rows = TrunkRows { x: x.view(), category: Some(&category), y: &y, weight: &[1.0; 60] };
    let trunk = Trunk::fit(&rows, TrunkLoss::Squared, &few(50)).unwrap();
    assert!(trunk.score(&[0.0], Some(1)) > 0.9);
    for category in [None, Some(0), Some(77)] {
        assert!(trunk.score(&[0.0], category) < 0.1);
    }
}

#[test]
fn sums_of_extreme_scores_stay_on_the_grid() {
    let extent = Extent { rows: 10, weight_max: 1.0, label_min: 0.0, label_max: 3.0 };
    let grids = Grids::new(TrunkLoss::Poisson, &extent);
    let (slope, curvature) = TrunkLoss::Poisson.slope_and_curvature(600.0, 0.0);
    let sum: i64 = (0..10).map(|_| grids.gradient.of(slope) + grids.hessian.of(curvature) / 4).sum();
    assert!(sum > 0);
}
