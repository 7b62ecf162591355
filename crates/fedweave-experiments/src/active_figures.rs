//! What the active-sampling paper says about its figures, checked.

use fedweave::baseline::{Averaging, Ifca, IfcaOptions, IfcaStart};
use fedweave::model::active_sampling::Asking;
use fedweave::solve::Method;
use fedweave_report::{Curve, Figure, Panel};

use crate::active::{Clients, Size};
use crate::measure::mean_and_deviation;
use crate::{Check, Error, Outcome, Progress, Setting, Table, short};

const ETA: f64 = 0.01;
const ROWS: usize = 10;
const NODES: usize = 100;

/// Means over runs, after every round.
fn mean_trace(traces: &[Vec<f64>]) -> Vec<f64> {
    let at = |k: usize| mean_and_deviation(&traces.iter().map(|t| t[k]).collect::<Vec<_>>()).0;
    (0..traces.first().map_or(0, Vec::len)).map(at).collect()
}

fn curve(name: String, trace: &[f64]) -> Curve {
    let step = trace.len().div_ceil(200).max(1);
    let points = trace.iter().enumerate().step_by(step).map(|(k, v)| (k as f64, *v)).collect();
    Curve { name, points, spread: vec![] }
}

fn panel(title: &str, curves: Vec<Curve>) -> Panel {
    let (x_title, y_title) = ("iteration".into(), "MSE at node 1".into());
    Panel { title: title.into(), x_title, y_title, y_log: true, curves, ..Panel::default() }
}

/// One setting of Figure 1.
struct Case {
    ratio: f64,
    sigma: f64,
    candidates: usize,
    trace: Vec<f64>,
    friends: f64,
}

pub fn figure_1(setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let (runs, rounds) = if setting.quick { (3, 400) } else { (10, 1000) };
    let by_ratio = [0.5, 1.0, 2.0, 5.0].map(|ratio| (ratio, 0.0, 20));
    let by_noise = [1.0, 5.0].map(|sigma| (2.0, sigma, 20));
    let by_size = [1, 2, 5, 10].map(|candidates| (2.0, 0.0, candidates));
    let settings = [&by_ratio[..], &by_noise, &by_size].concat();
    let mut cases = Vec::new();
    let columns = &["node", "cluster", "rounds", "reward"];
    let mut teachers = Table { file_only: true, ..Table::new("learnt_from", columns) };
    for (k, &(ratio, sigma, candidates)) in settings.iter().enumerate() {
        progress(k, settings.len());
        let size = Size { nodes: NODES, rows: ROWS, dim: (ratio * ROWS as f64) as usize, sigma };
        let (mut traces, mut friends) = (Vec::new(), 0.0);
        for run in 0..runs {
            let seed = setting.seed + run as u64;
            let found = Clients::draw(&size, seed)?.algorithm_1(ETA, &Asking { candidates, rounds, seed })?;
            if (ratio, sigma, candidates, run) == (2.0, 0.0, 20, 0) {
                for (node, won, reward) in &found.teachers {
                    teachers.push([(node + 1).into(), (1 + node % 2).into(), (*won).into(), (*reward).into()]);
                }
            }
            traces.push(found.errors);
            friends += found.friends / runs as f64;
        }
        cases.push(Case { ratio, sigma, candidates, trace: mean_trace(&traces), friends });
    }
    progress(settings.len(), settings.len());
    let mut table =
        Table::new("mse", &["d_over_m", "sigma", "candidates", "mse_start", "mse_end", "share_own_cluster"]);
    for c in &cases {
        let ends = [c.trace[0], c.trace[rounds]];
        table.push([
            c.ratio.into(),
            c.sigma.into(),
            c.candidates.into(),
            ends[0].into(),
            ends[1].into(),
            c.friends.into(),
        ]);
    }
    let mut found = Outcome { tables: vec![table, teachers], checks: judge_1(&cases, rounds), ..Outcome::default() };
    found.notes.push(format!(
        "100 nodes of 10 rows, eta 0.01, {rounds} iterations (the paper does not say how many), means of {runs} runs"
    ));
    let pick = |keep: &dyn Fn(&Case) -> bool, word: &dyn Fn(&Case) -> String| -> Vec<Curve> {
        cases.iter().filter(|c| keep(c)).map(|c| curve(word(c), &c.trace)).collect()
    };
    let panels = vec![
        panel("sigma = 0, B = 20", pick(&|c| c.sigma == 0.0 && c.candidates == 20, &|c| format!("d/m = {}", c.ratio))),
        panel("d/m = 2, B = 20", pick(&|c| c.ratio == 2.0 && c.candidates == 20, &|c| format!("sigma = {}", c.sigma))),
        panel("d/m = 2, sigma = 0", pick(&|c| c.ratio == 2.0 && c.sigma == 0.0, &|c| format!("B = {}", c.candidates))),
    ];
    found.draw("figure1", Figure { title: "Active sampling, two clusters of 50 nodes".into(), panels });
    Ok(found)
}

/// Iterations until the error has fallen to a hundredth; one more than all if it never does.
fn rounds_to_a_hundredth(trace: &[f64]) -> usize {
    trace.iter().position(|e| *e <= 0.01 * trace[0]).unwrap_or(trace.len())
}

fn judge_1(cases: &[Case], rounds: usize) -> Vec<Check> {
    let find = |ratio: f64, sigma: f64, candidates: usize| {
        cases
            .iter()
            .find(|c| (c.ratio, c.sigma, c.candidates) == (ratio, sigma, candidates))
            .expect("every case was run")
    };
    let speed = [0.5, 1.0, 2.0, 5.0].map(|ratio| rounds_to_a_hundredth(&find(ratio, 0.0, 20).trace));
    let noise = [0.0, 1.0, 5.0].map(|sigma| find(2.0, sigma, 20).trace[rounds]);
    let size = [1, 2, 5, 10, 20].map(|b| find(2.0, 0.0, b).trace[rounds]);
    let words = |values: &[f64]| values.iter().map(|v| short(*v)).collect::<Vec<_>>().join(", ");
    vec![
        Check::new(
            "iterations to a hundredth of the first error, d/m 0.5, 1, 2, 5",
            "convergence slows down as d grows",
            speed.map(|s| s.to_string()).join(", "),
            speed.windows(2).all(|p| p[0] <= p[1]) && speed[0] < speed[3],
        ),
        Check::new(
            "final MSE for sigma 0, 1, 5",
            "grows with the noise",
            words(&noise),
            noise.windows(2).all(|p| p[0] < p[1]),
        ),
        Check::new(
            "final MSE for B = 1, 2, 5, 10, 20",
            "B must be large enough to hold nodes of the own cluster",
            words(&size),
            size[4] < 0.01 * size[0],
        ),
    ]
}

pub fn figure_2(setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let (runs, rounds) = if setting.quick { (3, 400) } else { (10, 1000) };
    let size = Size { nodes: NODES, rows: ROWS, dim: 2 * ROWS, sigma: 0.0 };
    let names = ["Algorithm 1", "IFCA, one random start", "IFCA, models, 5 starts from clients"];
    let mut traces: [Vec<Vec<f64>>; 3] = Default::default();
    for run in 0..runs {
        progress(run, runs);
        let seed = setting.seed + run as u64;
        let clients = Clients::draw(&size, seed)?;
        traces[0].push(clients.algorithm_1(ETA, &Asking { candidates: 20, rounds, seed })?.errors);
        let plain = IfcaOptions {
            k: 2,
            averaging: Averaging::Gradients,
            step: Some(ETA),
            start: IfcaStart::Normal(1.0),
            restarts: 1,
            seed,
        };
        let tuned = IfcaOptions {
            averaging: Averaging::Models { steps: 5 },
            start: IfcaStart::Clients { steps: 20 },
            restarts: 5,
            ..plain
        };
        for (options, traces) in [plain, tuned].into_iter().zip(&mut traces[1..]) {
            let mut method = Ifca::new(&*clients.loss, options)?;
            let mut errors = vec![clients.error(method.models().row(0))];
            for _ in 0..rounds {
                method.round();
                errors.push(clients.error(method.models().row(0)));
            }
            traces.push(errors);
        }
    }
    progress(runs, runs);
    let means = traces.each_ref().map(|t| mean_trace(t));
    let mut table = Table::new("mse", &["method", "mse_start", "mse_end", "smallest", "largest"]);
    for (k, name) in names.iter().enumerate() {
        let ends: Vec<f64> = traces[k].iter().map(|t| t[rounds]).collect();
        let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ends.iter().copied().fold(0.0, f64::max);
        table.push([(*name).into(), means[k][0].into(), means[k][rounds].into(), low.into(), high.into()]);
    }
    let ends = means.each_ref().map(|m| m[rounds]);
    let against = |what: &str, k: usize| {
        let ours = format!("{} against {}", short(ends[0]), short(ends[k]));
        Check::new(what, "clearly outperforms IFCA", ours, ends[0] < ends[k])
    };
    let checks = vec![
        against("final MSE, Algorithm 1 against IFCA from one random start", 1),
        against("final MSE, Algorithm 1 against IFCA with starts from clients and five local steps", 2).because(
            "given good starts and five local steps a round, IFCA finds both clusters and then pools the rows of 50 nodes, \
             which is as good as knowing them; it also asks all 100 nodes in every round, Algorithm 1 only 20",
        ),
    ];
    let mut found = Outcome { tables: vec![table], checks, ..Outcome::default() };
    found.notes.push(format!(
        "d/m = 2, no noise, eta 0.01, {rounds} iterations, means of {runs} runs; the paper does not say how IFCA was set up"
    ));
    let curves = names.iter().zip(&means).map(|(name, m)| curve((*name).into(), m)).collect();
    let panels = vec![panel("d/m = 2", curves)];
    found.draw("figure2", Figure { title: "Active sampling and IFCA".into(), panels });
    Ok(found)
}

pub fn figure_3(setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let (runs, rounds, nodes, rows) = if setting.quick { (1, 1000, 700, 30) } else { (6, 1000, 3500, 30) };
    let mut table =
        Table::new("mse", &["sigma", "mse_start", "mse_active", "mse_oracle", "ratio", "share_own_cluster"]);
    let (mut checks, mut panels) = (Vec::new(), Vec::new());
    let sigmas = [0.0, 1.0];
    for (s, &sigma) in sigmas.iter().enumerate() {
        let size = Size { nodes, rows, dim: 15 * rows, sigma };
        let (mut active, mut oracle, mut friends) = (Vec::new(), Vec::new(), 0.0);
        for run in 0..runs {
            progress(s * runs + run, sigmas.len() * runs);
            let seed = setting.seed + run as u64;
            let clients = Clients::draw(&size, seed)?;
            let found = clients.algorithm_1(ETA, &Asking { candidates: 20, rounds, seed })?;
            active.push(found.errors);
            friends += found.friends / runs as f64;
            oracle.push(clients.oracle(ETA, rounds, seed));
        }
        let (active, oracle) = (mean_trace(&active), mean_trace(&oracle));
        let (a, o) = (active[rounds], oracle[rounds]);
        table.push([sigma, active[0], a, o, a / o, friends].map(Into::into));
        let slow = [&active, &oracle].map(|trace| rounds_to_a_hundredth(trace) as f64);
        let ours = format!("{} and {}", slow[0], slow[1]);
        let what = format!("iterations to a hundredth of the first error, sigma = {sigma}: Algorithm 1 and the oracle");
        checks.push(Check::new(what, "quite close: within a factor 2", ours, slow[0] <= 2.0 * slow[1]));
        if sigma > 0.0 {
            // Without noise both errors fall for ever, and their ratio at some iteration says little.
            let ours = format!(
                "{} and {}: ratio {}, from {} at the start",
                short(a),
                short(o),
                short(a / o),
                short(active[0])
            );
            let what = format!("MSE after {rounds} iterations, sigma = {sigma}: Algorithm 1 and the oracle");
            checks.push(Check::new(what, "quite close: within a factor 2", ours, a <= 2.0 * o));
        }
        let curves = vec![curve("Algorithm 1".into(), &active), curve("oracle".into(), &oracle)];
        panels.push(panel(&format!("sigma = {sigma}"), curves));
    }
    progress(sigmas.len() * runs, sigmas.len() * runs);
    let mut found = Outcome { tables: vec![table], checks, ..Outcome::default() };
    found.notes.push(format!(
        "{nodes} nodes of {rows} rows, {} features, B = 20, eta 0.01, means of {runs} runs; noise and number of iterations are not \
         in the paper",
        15 * rows
    ));
    found.draw("figure3", Figure { title: "Active sampling and an oracle that knows the clusters".into(), panels });
    Ok(found)
}
