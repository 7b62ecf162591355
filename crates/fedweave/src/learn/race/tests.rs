//! Races on rows whose truth is known.

use std::sync::atomic::{AtomicUsize, Ordering};

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::*;
use crate::dataset::Dataset;
use crate::folds::FoldSpec;
use crate::graph::Graph;
use crate::graph::generate::chain;
use crate::learn::shocks::{Geometry, Time};
use crate::loss::Family;
use crate::matrix::Matrix;
use crate::random::{Purpose, stream};
use crate::solve::Watch;

struct Made {
    graph: Graph,
    data: Dataset,
    times: Vec<f64>,
}

/// `rows` rows of `nodes` nodes on a chain; `label` has the node, two features, the time and standard normal noise.
fn made(nodes: usize, rows: usize, seed: u64, label: impl Fn(usize, &[f64], usize, f64) -> f64) -> Made {
    let mut rng = stream(seed, Purpose::Points, 0);
    let (mut x, mut y, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for node in 0..nodes {
        for k in 0..rows {
            let features = [rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0), 1.0];
            y.push(label(node, &features, k, StandardNormal.sample(&mut rng)));
            times.push(k as f64);
            x.extend(features);
        }
    }
    let offsets = (0..=nodes).map(|i| i * rows).collect();
    let weight = vec![1.0; y.len()];
    Made {
        graph: chain(nodes).unwrap(),
        data: Dataset::new(offsets, Matrix::from_rows(3, x), y, weight).unwrap(),
        times,
    }
}

impl Made {
    fn race(&self, family: Family, recipe: Option<Vec<(String, f64)>>, shared: bool) -> Race {
        let rows = Rows {
            graph: &self.graph,
            data: &self.data,
            family,
            cost: Cost::of(family).unwrap(),
            intercept: true,
            groups: None,
            attributes: None,
        };
        let spec = FoldSpec { rule: Default::default(), count: 5, seed: 0 };
        let folds = Folds::new(&self.data, None, spec).unwrap();
        let shared = shared.then(|| Shared { times: &self.times, time: Time::Labels, geometry: Geometry::None });
        let options =
            RaceOptions { recipe, seed: 0, begin: &|_, _, _| true, watch: &|_| Watch::Continue, go_on: &|| true };
        race(&rows, &folds, shared.as_ref(), &options).unwrap()
    }
}

fn share_of(race: &Race, part: &str) -> f64 {
    race.entries.iter().filter(|e| e.member.name.contains(part)).map(|e| e.member.share).sum()
}

#[test]
fn linear_models_are_left_to_linear_candidates() {
    let made = made(30, 12, 1, |i, x, _, e| (i as f64 * 0.3).sin() + x[0] - 0.5 * x[1] + 0.3 * e);
    let race = made.race(Family::Squared, None, false);
    assert!(race.failed.is_empty(), "{:?}", race.failed);
    assert!(race.entries[0].error() < 0.13 && race.errors.mean().unwrap() < 0.13);
    assert!(share_of(&race, "trunk") + share_of(&race, "common") < 0.3);
}

#[test]
fn what_all_nodes_have_in_common_is_left_to_trees() {
    let step = |x: f64| if x > 0.2 { 2.0 } else { -1.0 };
    let made = made(25, 30, 2, |i, x, _, e| 0.1 * i as f64 + step(x[0]) * step(x[1]) + 0.3 * e);
    let race = made.race(Family::Squared, None, false);
    assert!(share_of(&race, "trunk") + share_of(&race, "common") + share_of(&race, "forest") > 0.8);
    // Noise 0.09; linear models leave about 2.
    assert!(race.errors.mean().unwrap() < 0.35 && race.entry("learnt").unwrap().error() > 1.0);
}

#[test]
fn what_nodes_share_at_a_time_is_left_to_shocks() {
    let shock = |k: usize| 3.0 * (1.7 * k as f64).sin();
    let made = made(30, 12, 3, |_, x, k, e| x[0] + shock(k) + 0.3 * e);
    let race = made.race(Family::Squared, None, true);
    assert!(share_of(&race, "+shocks") > 0.8);
    assert!(race.errors.mean().unwrap() < 0.2 && race.entry("learnt").unwrap().error() > 3.0);
}

#[test]
fn a_recipe_gives_the_same_predictor_as_the_race() {
    let made = made(20, 10, 4, |i, x, _, e| (i as f64).cos() + x[0] * x[1] + 0.4 * e);
    let first = made.race(Family::Squared, None, false);
    // As it is printed.
    let written = |e: &Entry| (e.member.name.clone(), format!("{:.4}", e.member.share).parse().unwrap());
    let recipe: Vec<_> = first.winners().map(written).collect();
    let again = made.race(Family::Squared, Some(recipe), false);
    assert_eq!(first.out_of_fold, again.out_of_fold);
    for entry in first.winners() {
        let member = &again.entry(&entry.member.name).unwrap().member;
        assert_eq!((&member.trunk, &member.leaves), (&entry.member.trunk, &entry.member.leaves));
    }
}

#[test]
fn a_forest_takes_part_where_means_of_labels_are_predicted() {
    let made = made(12, 20, 11, |i, x, _, e| f64::from(i as u32 % 3) * f64::from(x[0] > 0.0) + 0.2 * e);
    let race = made.race(Family::Squared, None, false);
    let (forest, pooled) = (race.entry("forest").unwrap(), race.entry("pooled").unwrap());
    assert!(forest.error() < pooled.error() && forest.by_fold.len() == 5, "{} {}", forest.error(), pooled.error());
    let recipe = Some(vec![("forest".to_owned(), 1.0)]);
    let again = made.race(Family::Squared, recipe, false);
    assert_eq!((again.entries.len(), &again.out_of_fold), (1, &forest.out_of_fold));
    let class = Made { data: with_labels(&made.data, |y| f64::from(y > 0.5)), ..made };
    assert!(class.race(Family::Logistic, None, false).entry("forest").is_none());
}

/// Only who they are and a constant: there is nothing for trees to divide.
#[test]
fn rows_without_features_race_without_trees() {
    let some = made(8, 6, 12, |i, _, _, e| i as f64 + 0.1 * e);
    let x = Matrix::from_rows(1, vec![1.0; some.data.len()]);
    let offsets = (0..=8).map(|i| i * 6).collect();
    let data = Dataset::new(offsets, x, some.data.y().to_vec(), vec![1.0; some.data.len()]).unwrap();
    let race = Made { data, ..some }.race(Family::Squared, None, false);
    assert!(race.entry("trunk").is_none() && race.entry("forest").is_none() && race.failed.is_empty());
    assert!(race.entry("learnt").unwrap().error() < 0.02, "{:?}", race.entry("learnt").unwrap().error());
}

fn with_labels(data: &Dataset, label: impl Fn(f64) -> f64) -> Dataset {
    let offsets = std::iter::once(0).chain((0..data.nodes()).map(|i| data.rows(i).end)).collect();
    let x = Matrix::from_rows(data.dim(), (0..data.len()).flat_map(|r| data.x(r).to_vec()).collect());
    Dataset::new(offsets, x, data.y().iter().map(|y| label(*y)).collect(), vec![1.0; data.len()]).unwrap()
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let made = made(15, 8, 5, |i, x, _, e| (i as f64).cos() + x[0].abs() + 0.4 * e);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| made.race(Family::Squared, None, true))
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn counts_and_classes_race_too() {
    let count = made(20, 12, 6, |i, x, _, e| (1.0 + 0.5 * (i as f64).sin() + x[0] + 0.2 * e).exp().round());
    let race = count.race(Family::Poisson, None, false);
    assert!(race.failed.is_empty(), "{:?}", race.failed);
    assert!(race.errors.mean() < race.entry("pooled").unwrap().errors.mean());
    let class = made(20, 12, 7, |i, x, _, e| f64::from((i as f64).sin() + 2.0 * x[0] + 0.5 * e > 0.0));
    let race = class.race(Family::Logistic, None, false);
    assert!(race.failed.is_empty(), "{:?}", race.failed);
    assert!(race.errors.mean().unwrap() < 0.5 && race.out_of_fold.iter().all(|p| (0.0..=1.0).contains(p)));
}

/// Rows of a race that is stopped.
fn stopped(made: &Made, begin: &(dyn Fn(&str, usize, usize) -> bool + Sync), go_on: &GoOn) -> Race {
    let rows = Rows {
        graph: &made.graph,
        data: &made.data,
        family: Family::Squared,
        cost: Cost::Squared,
        intercept: true,
        groups: None,
        attributes: None,
    };
    let folds = Folds::new(&made.data, None, FoldSpec { rule: Default::default(), count: 3, seed: 0 }).unwrap();
    race(&rows, &folds, None, &RaceOptions { recipe: None, seed: 0, begin, watch: &|_| Watch::Continue, go_on })
        .unwrap()
}

#[test]
fn a_race_that_is_stopped_keeps_what_ran() {
    let made = made(10, 6, 8, |_, x, _, e| x[0] + 0.1 * e);
    let race = stopped(&made, &|_, k, _| k < 2, &|| true);
    assert!(race.stopped && race.entries.len() == 2);
}

#[test]
fn a_race_is_stopped_between_two_trees() {
    let made = made(10, 12, 9, |_, x, _, e| x[0] * x[1] + 0.1 * e);
    let trees = AtomicUsize::new(0);
    let go_on = || trees.load(Ordering::Relaxed) < 40;
    let race = stopped(&made, &|_, _, _| go_on(), &|| {
        trees.fetch_add(1, Ordering::Relaxed);
        go_on()
    });
    // Every fold of every kind of trees asks once more after the 40th tree, at most.
    assert!((40..100).contains(&trees.load(Ordering::Relaxed)), "{trees:?}");
    let ran: Vec<&str> = race.entries.iter().map(|e| e.member.name.as_str()).collect();
    assert!(race.stopped && ran.len() == 3 && !ran.contains(&"trunk"), "{ran:?}");
    assert!(race.failed.is_empty(), "{:?}", race.failed);
}

/// Local models of few rows take most of the shocks of the rows they were fitted to.
#[test]
fn shocks_of_predictors_that_fit_closely_are_found_on_folds() {
    let shock = |k: usize| 3.0 * (1.7 * k as f64).sin();
    let made = made(40, 8, 10, |i, x, k, e| (i as f64).cos() * x[0] + shock(k) + 0.2 * e);
    let race = made.race(Family::Squared, None, true);
    let learnt = race.entry("learnt+shocks").unwrap();
    assert!(learnt.error() < 0.25 * race.entry("learnt").unwrap().error());
    // Out-of-fold predictions are those of the fold's predictor and of the shocks around the row.
    assert_eq!(learnt.by_fold.len(), 5);
    assert!(learnt.by_fold.iter().all(|member| member.shocks.is_none() && member.leaves.is_some()));
}
