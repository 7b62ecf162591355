//! Node failures, section VI-A of the GTV paper: a stochastic block model in which the local datasets of a share `1 - rho`
//! of the nodes are missing. The figures with the results are in the paper's supplement; the settings left open are
//! chosen here: 20 features, 10 rows, `p_in = 0.5`.

use fedweave::baseline;
use fedweave::loss::{Family, LossOptions, LossSpec};
use fedweave::synthetic::{Network, Options, Prototypes, generate};
use fedweave_report::{Curve, Figure, Panel};

use crate::gtv_table1::LAMBDA;
use crate::measure::{algorithm_1, estimation_error, network_lasso, optimum};
use crate::spread::Spread;
use crate::{Check, Error, Outcome, Progress, Setting, Table, short};

const ROUNDS: usize = 3000;
const RHOS: [f64; 5] = [0.2, 0.4, 0.6, 0.8, 1.0];
const P_OUT: [f64; 3] = [0.01, 0.05, 0.1];

pub fn run(setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let (runs, every, p_outs) = if setting.quick { (2, 2, &P_OUT[..1]) } else { (5, 1, &P_OUT[..]) };
    let rhos: Vec<f64> = RHOS.into_iter().step_by(every).collect();
    let mut table = Table::new("mse", &["p_out", "rho", "mse", "deviation", "mse_exact", "mse_local"]);
    let mut curves: Vec<Curve> = Vec::new();
    let mut found = Outcome::default();
    for (k, &p_out) in p_outs.iter().enumerate() {
        let mut means = Vec::new();
        for (j, &rho) in rhos.iter().enumerate() {
            progress(k * rhos.len() + j, p_outs.len() * rhos.len());
            let errors = measure(p_out, rho, runs, setting.seed)?;
            let [rounds, exact, local] = ["rounds", "exact", "local"].map(|name| errors.mean(name));
            table.push([p_out, rho, rounds, errors.deviation("rounds"), exact, local].map(Into::into));
            means.push((rho, rounds, exact, local));
        }
        found.checks.extend(judge(p_out, &means));
        let points = means.iter().map(|m| (m.0, m.1)).collect();
        curves.push(Curve { name: format!("p_out = {p_out}"), points, spread: vec![] });
    }
    found.tables.push(table);
    let panel = Panel {
        x_title: "rho, share of nodes with rows".into(),
        y_title: format!("MSE (41) after {ROUNDS} rounds"),
        y_log: true,
        curves,
        ..Panel::default()
    };
    found.draw("failures", Figure { title: "Missing local datasets".into(), panels: vec![panel] });
    found.notes.push("open in the paper and chosen here: 20 features, 10 rows a node, p_in 0.5".into());
    Ok(found)
}

fn measure(p_out: f64, rho: f64, runs: u64, seed: u64) -> Result<Spread, Error> {
    let mut errors = Spread::default();
    for k in 0..runs {
        let made = generate(&Options {
            network: Network::Blocks { p_in: 0.5, p_out },
            dim: 20,
            prototypes: Prototypes::Bernoulli,
            scale: 0.5,
            without_rows: 1.0 - rho,
            seed: seed + k,
            ..Options::default()
        })?;
        let problem = network_lasso(&made.graph, &made.data, LAMBDA)?;
        algorithm_1(&problem, &[ROUNDS], |_, w| errors.push("rounds", estimation_error(w, &made.truth)));
        errors.push("exact", estimation_error(&optimum(&problem, 1e-7).w, &made.truth));
        let local = baseline::local(&LossSpec::Same(Family::Squared), made.data.clone(), &LossOptions::default())?;
        errors.push("local", estimation_error(&local, &made.truth));
    }
    Ok(errors)
}

/// Rows of `(rho, after the rounds, exact, local)`.
fn judge(p_out: f64, means: &[(f64, f64, f64, f64)]) -> Vec<Check> {
    let (first, last) = (means[0], means[means.len() - 1]);
    let falls = means.windows(2).all(|pair| pair[1].2 <= pair[0].2);
    let ours = means.iter().map(|m| format!("{} at {}", short(m.2), m.0)).collect::<Vec<_>>().join(", ");
    let gain = first.1 / first.3;
    vec![
        Check::new(format!("p_out {p_out}: MSE as more local datasets are there"), "falls with rho", ours, falls),
        Check::new(
            format!("p_out {p_out}: MSE with {} % of the datasets missing", 100.0 * (1.0 - first.0)),
            "a small part of that of local models: Algorithm 1 is robust against node failures",
            format!("{} of {}", short(first.1), short(first.3)),
            gain < 0.01,
        )
        .because(format!(
            "so many edges join the clusters that the few nodes with rows do not keep them apart: the exact minimiser has {}; with \
             fewer edges between clusters, or more datasets, the claim holds",
            short(first.2)
        )),
        Check::new(
            format!("p_out {p_out}: {ROUNDS} rounds against the minimiser, all datasets there"),
            "converged",
            format!("{} against {}", short(last.1), short(last.2)),
            last.1 <= 1.1 * last.2 + 1e-9,
        ),
    ]
}
