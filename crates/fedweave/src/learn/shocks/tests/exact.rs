//! Likelihood, gradient and predictions against dense algebra on all rows at once.

use super::*;
use crate::graph::generate::grid;
use crate::learn::shocks::index::Place;
use crate::learn::shocks::kernel::Layout;
use crate::learn::shocks::panels::{Panels, loss_and_gradient};
use crate::learn::shocks::{Part, Reach, Shocks};

const EVERYTHING: Kernel = Kernel { variance: [0.4, 0.7, 0.3], fading: [0.1, 0.25, 0.5], decay: Some(0.8), noise: 0.2 };

fn panel(clock: Time, geometry: &Geometry, kernel: &Kernel) -> Residuals {
    draw(rows(9, 6, 0.8, 1), clock, geometry, kernel, 2)
}

#[test]
fn with_all_predecessors_the_likelihood_is_that_of_all_rows() {
    let (positions, graph) = (places(9, 1), grid(3, 3).unwrap());
    for geometry in [at(&positions), Geometry::Graph(&graph)] {
        let decay = matches!(geometry, Geometry::Positions(..)).then_some(0.8);
        let kernel = Kernel { decay, ..EVERYTHING };
        let residuals = panel(Time::Numbers, &geometry, &kernel);
        let space = Space::new(&geometry, 0.3).unwrap();
        let panels = Panels::in_random_order(&residuals, Time::Numbers);
        // Panels hold residuals divided by their deviation.
        let unit = panels.unit;
        let scaled = Kernel { variance: kernel.variance.map(|v| v / unit), noise: kernel.noise / unit, ..kernel };
        let found = -panels.losses(&space, &scaled, 100).iter().sum::<f64>() - 0.5 * residuals.len() as f64 * unit.ln();
        let (wanted, _) = dense(&residuals, Time::Numbers, &space, &kernel);
        assert!((found - wanted).abs() < 1e-9 * wanted.abs(), "{found} {wanted}");
    }
}

#[test]
fn gradients_are_those_of_finite_differences() {
    let positions = places(9, 1);
    let space = Space::new(&at(&positions), 1.0).unwrap();
    let panels = Panels::in_random_order(&panel(Time::Numbers, &at(&positions), &EVERYTHING), Time::Numbers);
    let patches = panels.patches(&space, &EVERYTHING, usize::MAX, 12);
    for (present, lasting, length) in
        [([true; 3], true, true), ([false, true, false], false, true), ([true, true, false], true, false)]
    {
        let layout = Layout { present, lasting, length };
        let theta = layout.parameters(&EVERYTHING);
        let value = |theta: &[f64]| {
            loss_and_gradient(&patches.iter().collect::<Vec<_>>(), &layout, &layout.kernel(theta, &EVERYTHING))
        };
        let (_, gradient) = value(&theta);
        assert_eq!((theta.len(), gradient.len()), (layout.len(), layout.len()));
        for (k, slope) in gradient.iter().enumerate() {
            let moved = |by: f64| {
                let mut theta = theta.clone();
                theta[k] += by;
                value(&theta).0
            };
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((slope - difference).abs() < 1e-6 * (1.0 + slope.abs()), "{k}: {slope} {difference}");
        }
    }
}

fn shocks_of(kernel: &Kernel, reach: Reach, time: Time) -> Shocks {
    let part = |k: usize| Some(Part { variance: kernel.variance[k], lasts: Some(1.0 / kernel.fading[k]) });
    Shocks {
        common: part(0),
        nearby: part(1),
        own: part(2),
        reach: Some(reach),
        s2: kernel.noise,
        time,
        log_likelihood: 0.0,
        log_likelihood_without: 0.0,
        parameters: 7,
    }
}

/// Kriging from all rows, by dense algebra.
fn krige(residuals: &Residuals, clock: Time, space: &Space, kernel: &Kernel, at: Place) -> (f64, f64) {
    let index = Index::new(residuals, clock);
    let cross: Vec<f64> =
        (0..residuals.len() as u32).map(|r| kernel.covariance(&index.pair(space, at, index.place(r)))).collect();
    let mean = dot(&cross, &dense(residuals, clock, space, kernel).1);
    let known = dot(&cross, &dense(&Residuals { value: cross.clone(), ..residuals.clone() }, clock, space, kernel).1);
    (mean, kernel.covariance(&index.pair(space, at, at)) - known)
}

#[test]
fn predictions_are_those_of_dense_kriging() {
    let (positions, graph) = (places(9, 1), grid(3, 3).unwrap());
    for (geometry, reach) in [(at(&positions), Reach::Length(1.25)), (Geometry::Graph(&graph), Reach::Kappa(0.3))] {
        let decay = matches!(reach, Reach::Length(_)).then_some(0.8);
        let kernel = Kernel { decay, ..EVERYTHING };
        let residuals = panel(Time::Numbers, &geometry, &kernel);
        let space = Space::new(&geometry, 0.3).unwrap();
        let shocks = shocks_of(&kernel, reach, Time::Numbers);
        let observed = shocks.observe(&residuals, &geometry).unwrap();
        for place in [Place { node: 0, time: 2.5 }, Place { node: 8, time: 3.0 }, Place { node: 4, time: 40.0 }] {
            let found = observed.predict(place.node, place.time);
            let (mean, variance) = krige(&residuals, Time::Numbers, &space, &kernel, place);
            assert!((found.mean - mean).abs() < 1e-9 && (found.variance - variance).abs() < 1e-9, "{found:?} {mean}");
        }
        leaving_out_is_predicting_from_the_rest(&shocks, &residuals, &geometry);
    }
}

fn leaving_out_is_predicting_from_the_rest(shocks: &Shocks, residuals: &Residuals, geometry: &Geometry) {
    let without = |keep: &dyn Fn(usize) -> bool| {
        let rows: Vec<usize> = (0..residuals.len()).filter(|r| keep(*r)).collect();
        Residuals {
            node: rows.iter().map(|&r| residuals.node[r]).collect(),
            time: rows.iter().map(|&r| residuals.time[r]).collect(),
            value: rows.iter().map(|&r| residuals.value[r]).collect(),
        }
    };
    let observed = shocks.observe(residuals, geometry).unwrap();
    let (single, groups) = (observed.leave_one_out(), residuals.time.iter().map(|t| *t as u32).collect::<Vec<_>>());
    let by_time = observed.leave_groups_out(&groups).unwrap();
    for r in [0, 7, residuals.len() - 1] {
        let (node, time) = (residuals.node[r], residuals.time[r]);
        let others = shocks.observe(&without(&|k| k != r), geometry).unwrap();
        assert!((others.predict(node, time).mean - single[r].mean).abs() < 1e-9);
        let others = shocks.observe(&without(&|k| residuals.time[k] != time), geometry).unwrap();
        assert!((others.predict(node, time).mean - by_time[r].mean).abs() < 1e-9);
    }
}
