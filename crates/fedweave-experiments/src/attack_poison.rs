//! Poisoned neighbours of every weather station: how far the error of the station rises.

use fedweave::random::{Purpose, stream};
use fedweave::trust::attack::{DataAttack, around, poisoned};
use rand::RngExt;
use rayon::prelude::*;

use crate::attack_defences::{Defence, Tuned, mean_error, usual_distance};
use crate::attack_networks::AttackedNetwork;
use crate::real_networks::RealNetwork;
use crate::{Check, Error, Outcome, Progress, Setting, Table, short};

/// Samples of the bootstrap over stations.
const SAMPLES: usize = 2_000;

/// Degrees by which labels of so many nearest neighbours are shifted.
const CASES: [(Defence, usize, f64); 8] = [
    (Defence::Squared, 2, 10.0),
    (Defence::Squared, 1, 100.0),
    (Defence::Squared, 4, 1_000.0),
    (Defence::Norm2, 2, 10.0),
    (Defence::Norm2, 1, 100.0),
    (Defence::Norm2, 4, 1_000.0),
    (Defence::Huber, 4, 1_000.0),
    (Defence::Screened, 4, 1_000.0),
];

pub fn run(setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let net = AttackedNetwork::real(&RealNetwork::hourly()?, setting.seed)?;
    let every: Vec<usize> = (0..net.graph.nodes()).collect();
    let stations: Vec<usize> = every.iter().copied().step_by(if setting.quick { 20 } else { 1 }).collect();
    let reach = usual_distance(&net, &net.graph)?;
    let columns =
        &["penalty", "neighbours", "degrees", "stations", "median", "mean", "mean_low", "mean_high", "largest"];
    let mut table = Table::new("rises", columns);
    let mut found = Outcome::default();
    for (k, (defence, neighbours, degrees)) in CASES.into_iter().enumerate() {
        progress(k, CASES.len());
        let tuned = Tuned::in_peace(defence, &net, &net.graph, &every, reach, 0)?;
        let clean = tuned.models(&net.graph, &net.train, None)?.w;
        let rise = |&i: &usize| -> Result<f64, Error> {
            let near: Vec<usize> = around(&net.graph, i).into_iter().take(neighbours).collect();
            let rows = poisoned(&net.train, &near, &DataAttack::Labels(degrees / net.unit), 1);
            let w = tuned.models(&net.graph, &rows, None)?.w;
            Ok(mean_error(&net.test, &w, &[i])? / mean_error(&net.test, &clean, &[i])? - 1.0)
        };
        let mut rises = stations.par_iter().map(rise).collect::<Result<Vec<f64>, _>>()?;
        rises.sort_by(f64::total_cmp);
        let mean = rises.iter().sum::<f64>() / rises.len() as f64;
        let (low, high) = bootstrap(&rises, setting.seed);
        let (median, largest) = (rises[rises.len() / 2], rises[rises.len() - 1]);
        table.push([
            defence.name().into(),
            neighbours.into(),
            degrees.into(),
            rises.len().into(),
            median.into(),
            mean.into(),
            low.into(),
            high.into(),
            largest.into(),
        ]);
        let ours = format!("median {}, mean {} ({} to {})", short(median), short(mean), short(low), short(high));
        let what = format!("{}: {neighbours} neighbours at +{degrees}", defence.name());
        let (said, holds) = match (defence, neighbours) {
            (Defence::Squared, 2) => ("rises by more than 0.2", low > 0.2),
            (Defence::Squared, _) => ("rises by more than 1", low > 1.0),
            _ => ("the median rises by less than 0.2", median < 0.2),
        };
        let cause = "all of its nearest neighbours lie: each pull is bounded, but no majority is honest, and lambda was chosen in peace";
        found.checks.push(Check::new(what, said, ours, holds).because(cause));
    }
    progress(CASES.len(), CASES.len());
    found.tables.push(table);
    found.notes.push("rises of the squared test error of a station, relative to no attack; 10 training hours a station; intervals: 95 % of the mean over stations, by bootstrap".into());
    Ok(found)
}

/// 95 % of the means of resampled stations.
fn bootstrap(rises: &[f64], seed: u64) -> (f64, f64) {
    let mut random = stream(seed, Purpose::Stress, 1);
    let mut mean = || {
        let draw = (0..rises.len()).map(|_| rises[random.random_range(0..rises.len())]);
        draw.sum::<f64>() / rises.len() as f64
    };
    let mut means: Vec<f64> = (0..SAMPLES).map(|_| mean()).collect();
    means.sort_by(f64::total_cmp);
    (means[SAMPLES / 40], means[SAMPLES - 1 - SAMPLES / 40])
}
