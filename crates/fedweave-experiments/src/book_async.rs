//! Algorithm 8.1 of the book: asynchronous FedGD under stragglers. The error after a number of rounds against how stale
//! the neighbours' models are, and how often nodes are active.

use fedweave::matrix::norm2;
use fedweave::penalty::SquaredNorm;
use fedweave::solve::{AsyncFedGd, AsyncOptions, FedGd, Method, run_rounds};
use fedweave::synthetic::{Network, Options, generate};
use fedweave::{Matrix, Problem};
use fedweave_report::{Curve, Figure, Panel};

use crate::measure::{optimum, regression};
use crate::{Cell, Check, Error, Outcome, Progress, Setting, Table, short};

const DELAYS: [usize; 6] = [0, 1, 3, 10, 30, 100];
/// Shares of active nodes; the last is one node in five active in a tenth of the rounds, the others always.
const ACTIVITY: [&str; 3] = ["all nodes active", "half of the nodes active", "a fifth of the nodes are stragglers"];
const ROUNDS: usize = 2_000;
const STRAGGLER: f64 = 0.1;

pub fn run(setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let made = generate(&Options {
        network: Network::Blocks { p_in: 0.4, p_out: 0.02 },
        nodes: 60,
        clusters: 3,
        dim: 5,
        rows: 20,
        noise: 0.1,
        seed: setting.seed,
        ..Options::default()
    })?;
    let problem = regression(&made.graph, &made.data, Box::new(SquaredNorm), 0.1)?;
    let best = optimum(&problem, 1e-13).w;
    let distance = |w: &Matrix| relative_distance(w, &best);
    let columns = &["activity", "delay_max", "error_at_100", "error_at_2000", "rounds_to_1e-6"];
    let mut table = Table::new("errors", columns);
    let (mut found, mut curves) = (Outcome::default(), Vec::new());
    for (a, activity) in ACTIVITY.into_iter().enumerate() {
        let mut at_100 = Vec::new();
        let (mut worst, mut traces) = (0.0f64, Vec::new());
        for (k, delay_max) in DELAYS.into_iter().enumerate() {
            progress(a * DELAYS.len() + k, ACTIVITY.len() * DELAYS.len());
            let options = AsyncOptions { active: active(a, &problem), delay_max, step: None, seed: setting.seed };
            let mut method = AsyncFedGd::new(&problem, options)?;
            let history = run_rounds(&mut method, ROUNDS, 10, &mut |w| distance(w));
            let arrived = history.records.iter().find(|r| r.value <= 1e-6).map_or(f64::NAN, |r| r.round as f64);
            let half = history.records.iter().find(|r| r.round == 100).map_or(f64::NAN, |r| r.value);
            let last = history.last().value;
            table.push([activity.into(), delay_max.into(), half.into(), last.into(), arrived.into()]);
            worst = worst.max(last);
            at_100.push(half);
            traces.push((delay_max, history));
        }
        let grows = at_100.windows(2).all(|pair| pair[0] <= 1.05 * pair[1]);
        let ours =
            DELAYS.iter().zip(&at_100).map(|(d, e)| format!("{} at {d}", short(*e))).collect::<Vec<_>>().join(", ");
        found.checks.push(Check::new(
            format!("{activity}: error after 100 rounds as delays grow"),
            "degrades gracefully",
            ours,
            grows && at_100.iter().all(|e| *e < 1.0),
        ));
        let ours = format!("at most {} after {ROUNDS} rounds", short(worst));
        found.checks.push(Check::new(
            format!("{activity}: converges to the optimum of GTVMin, whatever the delays"),
            "robust against stragglers",
            ours,
            worst < 1e-3,
        ));
        let points = DELAYS.iter().zip(at_100).map(|(&d, e)| (d as f64, e)).collect();
        curves.push(Curve { name: activity.into(), points, spread: vec![] });
    }
    let mut method = FedGd::new(&problem, None)?;
    (0..100).for_each(|_| method.round());
    let synchronous = distance(method.models());
    let ours = &table.rows[0][2];
    let same = *ours == synchronous.into();
    found.checks.push(Check::new(
        "all nodes active, no delay",
        "Algorithm 5.1 itself",
        format!("{ours} against {}", Cell::from(synchronous)),
        same,
    ));
    found.tables.push(table);
    found.notes.push("the book prints no numbers; data: 60 nodes in three clusters, 5 features, 20 rows, lambda 0.1; errors are |w - w*| / |w*|".into());
    let panel = Panel {
        x_title: "longest delay of a message, rounds".into(),
        y_title: "relative error after 100 rounds".into(),
        y_log: true,
        curves,
        ..Panel::default()
    };
    found.draw("staleness", Figure { title: "Asynchronous FedGD".into(), panels: vec![panel] });
    Ok(found)
}

fn active(activity: usize, problem: &Problem) -> Vec<f64> {
    match activity {
        0 => vec![1.0],
        1 => vec![0.5],
        _ => (0..problem.nodes()).map(|i| if i % 5 == 0 { STRAGGLER } else { 1.0 }).collect(),
    }
}

fn relative_distance(w: &Matrix, best: &Matrix) -> f64 {
    let difference: Vec<f64> = w.as_slice().iter().zip(best.as_slice()).map(|(a, b)| a - b).collect();
    norm2(&difference) / norm2(best.as_slice())
}
