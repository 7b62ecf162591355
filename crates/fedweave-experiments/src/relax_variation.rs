//! Figure 5 of the FedRelax paper: how far models of one cluster are apart, and the bound (25)
//! `sum_i |w_i - mean|^2 <= epsilon / (alpha lambda_2)`, `epsilon = sum_i |noise_i|^2 / m_i`.

use fedweave::Matrix;
use fedweave::graph::spectrum::laplacian_extremes;
use fedweave::matrix::{axpy, dot};
use fedweave::synthetic::{Network as Blocks, Options, Synthetic, generate};
use fedweave_report::{Curve, Figure, Panel};

use crate::measure::mean_and_deviation;
use crate::relax_train::{ITERATIONS, Network};
use crate::{Check, Error, Outcome, Progress, Setting, Table, short};

const ALPHAS: [f64; 3] = [1e-4, 1e-2, 1e-1];
const SIGMAS: [f64; 3] = [0.1, 1.0, 5.0];
const P_IN: [f64; 3] = [0.2, 0.6, 1.0];

/// Variation along the iterations, and its bound, means over runs.
struct Measured {
    sigma: f64,
    p_in: f64,
    alpha: f64,
    variation: Vec<f64>,
    exact: f64,
    bound: f64,
    /// Runs in which the variation of the exact updates exceeds its bound.
    violations: usize,
}

pub fn run(setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let runs = if setting.quick { 5 } else { 50 };
    let noise = SIGMAS.into_iter().flat_map(|sigma| ALPHAS.map(|alpha| (sigma, 0.8, alpha)));
    let connectivity = P_IN.into_iter().flat_map(|p_in| ALPHAS.map(|alpha| (0.1, p_in, alpha)));
    let cases: Vec<(f64, f64, f64)> = noise.chain(connectivity).collect();
    let mut measured = Vec::new();
    for (k, &(sigma, p_in, alpha)) in cases.iter().enumerate() {
        progress(k, cases.len());
        measured.push(measure(sigma, p_in, alpha, runs, setting.seed)?);
    }
    progress(cases.len(), cases.len());
    let columns = &["sigma", "p_in", "alpha", "variation", "variation_exact", "bound", "below_bound_from"];
    let mut table = Table::new("variation", columns);
    for m in &measured {
        let from = below_from(m).map_or(f64::NAN, |k| k as f64);
        let last = m.variation[m.variation.len() - 1];
        table.push([m.sigma, m.p_in, m.alpha, last, m.exact, m.bound, from].map(Into::into));
    }
    let mut found = Outcome { tables: vec![table], checks: judge(&measured, runs), ..Outcome::default() };
    found.notes.push(format!(
        "one cluster of 50 nodes, 10 rows of 10 features; RMSprop, {ITERATIONS} iterations; means of {runs} runs"
    ));
    found.draw("figure5", figure(&measured));
    Ok(found)
}

fn measure(sigma: f64, p_in: f64, alpha: f64, runs: usize, seed: u64) -> Result<Measured, Error> {
    let (mut traces, mut exact, mut bounds) = (vec![Vec::new(); ITERATIONS + 1], Vec::new(), Vec::new());
    let mut violations = 0;
    for k in 0..runs as u64 {
        let network = Blocks::Blocks { p_in, p_out: 0.0 };
        let (nodes, clusters, noise, seed) = (50, 1, sigma, seed + k);
        let made = generate(&Options { network, nodes, clusters, noise, seed, ..Options::default() })?;
        let bound = noise_of(&made) / (alpha * laplacian_extremes(&made.graph)?.lambda_2);
        let network = Network::new(made.graph.clone(), made.data.clone(), seed)?;
        network.rmsprop(alpha, ITERATIONS, |iteration, w| traces[iteration].push(variation(w)))?;
        let settled = variation(&network.exact(alpha)?);
        violations += usize::from(settled > bound);
        exact.push(settled);
        bounds.push(bound);
    }
    let mean = |values: &[f64]| mean_and_deviation(values).0;
    let variation = traces.iter().map(|values| mean(values)).collect();
    Ok(Measured { sigma, p_in, alpha, variation, exact: mean(&exact), bound: mean(&bounds), violations })
}

/// `sum_i |noise_i|^2 / m_i`, the loss of the truth.
fn noise_of(made: &Synthetic) -> f64 {
    let at = |i: usize| {
        let rows = made.data.rows(i);
        let squares: f64 =
            rows.clone().map(|r| (made.data.y()[r] - dot(made.data.x(r), made.truth.row(i))).powi(2)).sum();
        squares / rows.len() as f64
    };
    (0..made.data.nodes()).map(at).sum()
}

/// `sum_i |w_i - mean|^2`.
fn variation(w: &Matrix) -> f64 {
    let mut mean = vec![0.0; w.cols()];
    (0..w.rows()).for_each(|i| axpy(1.0 / w.rows() as f64, w.row(i), &mut mean));
    (0..w.rows()).map(|i| w.row(i).iter().zip(&mean).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()).sum()
}

/// The iteration from which on the variation stays below the bound.
fn below_from(m: &Measured) -> Option<usize> {
    let above = m.variation.iter().rposition(|v| *v > m.bound);
    above.map_or(Some(0), |k| (k + 1 < m.variation.len()).then_some(k + 1))
}

fn judge(measured: &[Measured], runs: usize) -> Vec<Check> {
    let (noise, connectivity) = measured.split_at(SIGMAS.len() * ALPHAS.len());
    let violations: usize = measured.iter().map(|m| m.violations).sum();
    let total = runs * measured.len();
    let late: Vec<String> = measured
        .iter()
        .filter(|m| below_from(m).is_none())
        .map(|m| {
            format!(
                "sigma {}, p_in {}, alpha {}: {} above {}",
                m.sigma,
                m.p_in,
                m.alpha,
                short(m.variation[ITERATIONS]),
                short(m.bound)
            )
        })
        .collect();
    let latest = measured.iter().filter_map(below_from).max().unwrap_or(0);
    let ours = if late.is_empty() { format!("from iteration {latest} on at the latest") } else { late.join("; ") };
    let fixed = |m: &Measured| m.exact;
    let falls = |rows: &[&Measured]| rows.windows(2).all(|p| fixed(p[0]) > fixed(p[1]));
    let by = |set: &[Measured], key: fn(&Measured) -> f64, value: f64| -> Vec<usize> {
        (0..set.len()).filter(|&k| key(&set[k]) == value).collect()
    };
    let pick = |set: &'_ [Measured], places: Vec<usize>| places.into_iter().map(|k| fixed(&set[k])).collect::<Vec<_>>();
    let words = |values: &[f64]| values.iter().map(|v| short(*v)).collect::<Vec<_>>().join(", ");
    let of_sigma = pick(noise, by(noise, |m| m.alpha, 0.01));
    let of_p = pick(connectivity, by(connectivity, |m| m.alpha, 0.01));
    let alpha_falls = SIGMAS.iter().all(|&s| falls(&noise.iter().filter(|m| m.sigma == s).collect::<Vec<_>>()));
    vec![
        Check::new("bound (25) on the variation where (16) has settled", "holds", format!("{violations} violations in {total} runs"), violations == 0),
        Check::new("RMSprop: variation below the bound", "after a few hundred iterations", ours, late.is_empty())
            .because(format!("{ITERATIONS} steps of length 0.01 do not settle from the random start; the exact updates are below the bound")),
        Check::new("variation as alpha grows, at every sigma", "falls", words(&pick(noise, by(noise, |m| m.sigma, 1.0))), alpha_falls),
        Check::new("variation as sigma grows, alpha 0.01", "grows", words(&of_sigma), of_sigma.windows(2).all(|p| p[0] < p[1])),
        Check::new("variation as p_in grows, alpha 0.01", "falls", words(&of_p), of_p.windows(2).all(|p| p[0] > p[1])),
    ]
}

fn figure(measured: &[Measured]) -> Figure {
    let panel = |m: &Measured| Panel {
        title: format!("sigma = {}, p_in = {}, alpha = {}", m.sigma, m.p_in, m.alpha),
        x_title: "iteration".into(),
        y_title: "variation".into(),
        y_log: true,
        curves: vec![
            Curve {
                name: "RMSprop".into(),
                points: m.variation.iter().enumerate().step_by(5).map(|(k, v)| (k as f64, *v)).collect(),
                spread: vec![],
            },
            Curve {
                name: "bound (25)".into(),
                points: vec![(0.0, m.bound), (ITERATIONS as f64, m.bound)],
                spread: vec![],
            },
        ],
        ..Panel::default()
    };
    Figure { title: "Variation within one cluster".into(), panels: measured.iter().map(panel).collect() }
}
