//! What was simulated is learnt again, and what is predicted is as good as it says.

use super::*;
use crate::graph::generate::grid;
use crate::learn::shocks::kernel::{Layout, NEARBY};
use crate::learn::shocks::panels::{Panels, loss_and_gradient};
use crate::learn::shocks::{FoldResiduals, Reach, Shocks, ShocksOptions};
use crate::linalg::cholesky::invert;

fn numbers() -> ShocksOptions {
    ShocksOptions { time: Time::Numbers, ..ShocksOptions::default() }
}

/// Standard errors of the parameters: the inverse of the matrix of second derivatives, from differences of gradients.
fn standard_errors(residuals: &Residuals, clock: Time, space: &Space, layout: &Layout, kernel: &Kernel) -> Vec<f64> {
    let panels = Panels::in_random_order(residuals, clock);
    let scale = |v: f64| v / panels.unit;
    let kernel = Kernel { variance: kernel.variance.map(scale), noise: scale(kernel.noise), ..*kernel };
    let patches = panels.patches(space, &kernel, usize::MAX, 30);
    let (theta, k) = (layout.parameters(&kernel), layout.len());
    let gradient = |j: usize, by: f64| {
        let mut theta = theta.clone();
        theta[j] += by;
        loss_and_gradient(&patches.iter().collect::<Vec<_>>(), layout, &layout.kernel(&theta, &kernel)).1
    };
    let columns = (0..k).map(|j| (gradient(j, 1e-4), gradient(j, -1e-4)));
    let mut hessian: Vec<f64> = columns.flat_map(|(a, b)| a.into_iter().zip(b).map(|(a, b)| (a - b) / 2e-4)).collect();
    invert(&mut hessian, k, &mut vec![0.0; k]);
    (0..k).map(|j| hessian[j * (k + 1)].sqrt()).collect()
}

fn learns(shares: f64, lasts: Option<f64>, seed: u64) {
    let positions = places(20, seed);
    let (geometry, truth) = (at(&positions), nearby(2.0, 0.4, lasts, 0.5));
    let clock = if lasts.is_some() { Time::Numbers } else { Time::Labels };
    let residuals = draw(rows(20, 50, shares, seed), clock, &geometry, &truth, seed);
    let shocks = Shocks::learn(&residuals, &geometry, &ShocksOptions { time: clock, ..numbers() }).unwrap();
    let mut present = [false; PARTS];
    present[NEARBY] = true;
    let layout = Layout { present, lasting: lasts.is_some(), length: true };
    let found = layout.parameters(&Kernel { decay: shocks.kernel().decay, ..shocks.kernel() });
    let space = Space::new(&geometry, 1.0).unwrap();
    let errors = standard_errors(&residuals, clock, &space, &layout, &truth);
    for ((found, wanted), error) in found.iter().zip(layout.parameters(&truth)).zip(&errors) {
        assert!((found - wanted).abs() < 3.5 * error && *error < 0.5, "{shocks}: {found} {wanted} {error}");
    }
    assert!(shocks.own.is_none() && shocks.statistic() > 100.0, "{shocks}");
}

#[test]
fn parameters_are_found_within_their_standard_errors() {
    learns(0.7, None, 3);
    learns(0.4, Some(3.0), 4);
}

/// Mean of the squared errors with and without shocks, and of the errors in units of what was promised.
fn scores(truth: &Residuals, found: &[crate::learn::shocks::Shock], s2: f64) -> (f64, f64, f64) {
    let mut sums = (0.0, 0.0, 0.0);
    for (value, shock) in truth.value.iter().zip(found) {
        let error = (value - shock.mean).powi(2);
        sums = (sums.0 + error, sums.1 + value * value, sums.2 + error / (shock.variance + s2));
    }
    let n = found.len() as f64;
    (sums.0 / n, sums.1 / n, sums.2 / n)
}

/// Splits rows at random: one in `every` is hidden.
fn hide(residuals: &Residuals, every: usize) -> (Residuals, Residuals) {
    let held_out: Vec<bool> = (0..residuals.len()).map(|r| (r * 7919) % 104_729 % every == 0).collect();
    let fold = FoldResiduals { residuals: residuals.clone(), held_out };
    (fold.part(false), fold.part(true))
}

#[test]
fn predictions_are_as_good_as_they_say() {
    let (positions, graph) = (places(20, 6), grid(4, 5).unwrap());
    for geometry in [at(&positions), Geometry::Graph(&graph), Geometry::None] {
        let mut truth = nearby(2.0, 0.4, Some(2.0), 0.5);
        match geometry {
            Geometry::Graph(_) => truth.decay = None,
            Geometry::None => truth.variance = [2.0, 0.0, 0.0],
            Geometry::Positions(..) => {}
        }
        let residuals = draw(rows(20, 60, 0.8, 6), Time::Numbers, &geometry, &truth, 6);
        let (train, test) = hide(&residuals, 3);
        let shocks = Shocks::learn(&train, &geometry, &numbers()).unwrap();
        let found = shocks.observe(&train, &geometry).unwrap().predict_rows(&test.node, &test.time).unwrap();
        let (with, without, promised) = scores(&test, &found, shocks.s2);
        assert!(with < 0.7 * without && (promised - 1.0).abs() < 0.2, "{shocks}: {with} {without} {promised}");
    }
}

#[test]
fn where_nothing_is_shared_nothing_is_predicted() {
    let positions = places(15, 9);
    let alone = nearby(0.0, 1.0, None, 1.0);
    let mut silent = 0;
    for seed in 0..8 {
        let residuals = draw(rows(15, 40, 0.8, seed), Time::Labels, &at(&positions), &alone, seed);
        let (train, test) = hide(&residuals, 3);
        let shocks = Shocks::learn(&train, &at(&positions), &numbers()).unwrap();
        silent += usize::from(shocks.is_none());
        let found = shocks.observe(&train, &at(&positions)).unwrap().predict_rows(&test.node, &test.time).unwrap();
        let (with, without, _) = scores(&test, &found, shocks.s2);
        assert!(with < 1.02 * without, "{shocks}: {with} {without}");
    }
    assert!(silent >= 7, "{silent} of 8");
}

/// The mean of every node over the rows kept, and what it leaves of all rows.
fn less_node_means(residuals: &Residuals, held_out: &[bool]) -> Residuals {
    let nodes = 1 + *residuals.node.iter().max().unwrap() as usize;
    let (mut sum, mut count) = (vec![0.0; nodes], vec![0.0; nodes]);
    for (r, &i) in residuals.node.iter().enumerate().filter(|(r, _)| !held_out[*r]) {
        sum[i as usize] += residuals.value[r];
        count[i as usize] += 1.0;
    }
    let mean = |i: u32| sum[i as usize] / f64::max(count[i as usize], 1.0);
    let value = residuals.value.iter().zip(&residuals.node).map(|(v, &i)| v - mean(i)).collect();
    Residuals { value, ..residuals.clone() }
}

/// What every row leaves while it is held out.
fn out_of_fold(folds: &[FoldResiduals]) -> Vec<f64> {
    let of = |r: usize| folds.iter().find(|f| f.held_out[r]).map_or(0.0, |f| f.residuals.value[r]);
    (0..folds[0].held_out.len()).map(of).collect()
}

/// Four rows per node: the mean of a node takes up much of what is shared.
#[test]
fn folds_allow_for_what_the_predictor_has_taken() {
    let positions = places(60, 8);
    let (geometry, truth) = (at(&positions), nearby(2.0, 0.5, Some(8.0), 0.1));
    let residuals = draw(rows(60, 20, 0.4, 8), Time::Numbers, &geometry, &truth, 8);
    let n = residuals.len();
    let hidden: Vec<bool> = (0..n).map(|r| (r * 7919) % 104_729 % 2 == 0).collect();
    let after = less_node_means(&residuals, &hidden);
    let (known, unknown) = {
        let fold = FoldResiduals { residuals: after, held_out: hidden.clone() };
        (fold.part(false), fold.part(true))
    };
    let labels = FoldResiduals { residuals, held_out: hidden }.part(false);
    let fold = |k: usize| {
        let held_out: Vec<bool> = (0..labels.len()).map(|r| (r * 31) % 101 % 5 == k).collect();
        FoldResiduals { residuals: less_node_means(&labels, &held_out), held_out }
    };
    let folds: Vec<FoldResiduals> = (0..5).map(fold).collect();
    let shocks = Shocks::learn_on_folds(&folds, &geometry, &numbers()).unwrap();
    let found = shocks.observe(&known, &geometry).unwrap().predict_rows(&unknown.node, &unknown.time).unwrap();
    let (with, without, promised) = scores(&unknown, &found, shocks.s2);
    assert!(with < 0.65 * without && (promised - 1.0).abs() < 0.3, "{shocks}: {with} {without} {promised}");
    // Residuals of rows held out count twice what the final means have already taken.
    let out_of_fold = Residuals { value: out_of_fold(&folds), ..labels.clone() };
    let twice = Shocks::learn(&out_of_fold, &geometry, &numbers()).unwrap();
    let found = twice.observe(&out_of_fold, &geometry).unwrap().predict_rows(&unknown.node, &unknown.time).unwrap();
    assert!(with < scores(&unknown, &found, twice.s2).0);
    let held_out = shocks.held_out(&folds, &geometry).unwrap();
    let errors = |shock: bool| -> f64 {
        let error = |f: &FoldResiduals, r: usize| f.residuals.value[r] - if shock { held_out[r].mean } else { 0.0 };
        folds.iter().flat_map(|f| (0..labels.len()).filter(|&r| f.held_out[r]).map(|r| error(f, r).powi(2))).sum()
    };
    assert!(errors(true) < 0.65 * errors(false));
    assert!(matches!(shocks.reach, Some(Reach::Length(_))));
}

/// Many nodes that share few times, each time by itself: what one time says about the next is chance, however many rows say it.
#[test]
fn rows_of_one_time_are_one_witness() {
    let positions = places(30, 11);
    let (geometry, truth) = (at(&positions), nearby(2.0, 5.0, None, 0.2));
    for seed in 0..6 {
        let residuals = draw(rows(30, 25, 1.0, seed), Time::Labels, &geometry, &truth, seed);
        let fold = |k: usize| {
            let held_out: Vec<bool> = residuals.time.iter().map(|t| *t as usize % 5 == k).collect();
            FoldResiduals { residuals: less_node_means(&residuals, &held_out), held_out }
        };
        let folds: Vec<FoldResiduals> = (0..5).map(fold).collect();
        let shocks = Shocks::learn_on_folds(&folds, &geometry, &numbers()).unwrap();
        let found = shocks.held_out(&folds, &geometry).unwrap();
        assert!(found.iter().all(|shock| shock.mean.abs() < 0.5), "{shocks}");
    }
}
