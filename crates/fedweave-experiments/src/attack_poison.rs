//! Poisoned neighbours of every weather station: how far the error of the station rises.

use fedweave::random::{Purpose, stream};
use fedweave::trust::attack::{DataAttack, around, poisoned};
use rand::RngExt;
use rayon::prelude::*;

use crate::attack_defences::{Defence, Tuned, mean_error, usual_distance};
use crate::attack_networks::AttackedNetwork;
use crate::real_networks::RealNetwork;
use crate::{Cell, Check, Error, Outcome, Progress, Setting, Table, short};

/// Samples of the bootstrap over stations.
const SAMPLES: usize = 2_000;

/// So many nearest neighbours, and the degrees by which their labels are shifted.
const ATTACKS: [(usize, f64); 3] = [(2, 10.0), (1, 100.0), (4, 1_000.0)];
const DEFENCES: [Defence; 7] = [
    Defence::Squared,
    Defence::Norm2,
    Defence::Huber,
    Defence::Screened,
    Defence::LearntQuadratic,
    Defence::LearntHuber,
    Defence::LearntNorm,
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
    let total = DEFENCES.len() * ATTACKS.len();
    for (k, defence) in DEFENCES.into_iter().enumerate() {
        let tuned = Tuned::in_peace(defence, &net, &net.graph, &every, reach, 0)?;
        let clean = tuned.models(&net.graph, &net.train, None)?.w;
        for (attack, (neighbours, degrees)) in ATTACKS.into_iter().enumerate() {
            progress(k * ATTACKS.len() + attack, total);
            let rise = |&i: &usize| -> Result<f64, Error> {
                let near: Vec<usize> = around(&net.graph, i).into_iter().take(neighbours).collect();
                let rows = poisoned(&net.train, &near, &DataAttack::Labels(degrees / net.unit), 1);
                let w = tuned.models(&net.graph, &rows, None)?.w;
                Ok(mean_error(&net.test, &w, &[i])? / mean_error(&net.test, &clean, &[i])? - 1.0)
            };
            let rises = stations.par_iter().map(rise).collect::<Result<Vec<f64>, _>>()?;
            let rises = Rises::of(rises, setting.seed);
            table.push(rises.cells(defence, neighbours, degrees));
            found.checks.extend(rises.check(defence, neighbours, degrees));
        }
    }
    progress(total, total);
    found.tables.push(table);
    found.notes.push("rises of the squared test error of a station, relative to no attack; 10 training hours a station; intervals: 95 % of the mean over stations, by bootstrap".into());
    Ok(found)
}

/// What stations suffer, in order, and 95 % of the mean.
struct Rises {
    all: Vec<f64>,
    mean: f64,
    low: f64,
    high: f64,
}

impl Rises {
    fn of(mut all: Vec<f64>, seed: u64) -> Rises {
        all.sort_by(f64::total_cmp);
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let (low, high) = bootstrap(&all, seed);
        Rises { all, mean, low, high }
    }

    fn median(&self) -> f64 {
        self.all[self.all.len() / 2]
    }

    fn cells(&self, defence: Defence, neighbours: usize, degrees: f64) -> [Cell; 9] {
        let largest = self.all[self.all.len() - 1];
        [
            defence.name().into(),
            neighbours.into(),
            degrees.into(),
            self.all.len().into(),
            self.median().into(),
            self.mean.into(),
            self.low.into(),
            self.high.into(),
            largest.into(),
        ]
    }

    /// What is expected; nothing of a learnt coupling without a limit, which also learns that rows are wrong.
    fn check(&self, defence: Defence, neighbours: usize, degrees: f64) -> Option<Check> {
        let median = self.median();
        let (said, holds) = match (defence, neighbours) {
            (Defence::LearntQuadratic, _) => return None,
            (Defence::Squared, 2) => ("rises by more than 0.2", self.low > 0.2),
            (Defence::Squared, _) => ("rises by more than 1", self.low > 1.0),
            _ => ("the median rises by less than 0.2", median < 0.2),
        };
        let ours = format!(
            "median {}, mean {} ({} to {})",
            short(median),
            short(self.mean),
            short(self.low),
            short(self.high)
        );
        let what = format!("{}: {neighbours} neighbours at +{degrees}", defence.name());
        let cause = match neighbours {
            4 => {
                "all of its nearest neighbours lie: each pull is bounded, but no majority is honest, and lambda was chosen in peace"
            }
            _ => "each pull is bounded, but lambda was chosen in peace",
        };
        Some(Check::new(what, said, ours, holds).because(cause))
    }
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
