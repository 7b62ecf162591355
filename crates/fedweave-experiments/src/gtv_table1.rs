//! Table I of the GTV paper: two clusters of 100 nodes, 10 rows of 100 features a node, weights in {0, 0.5}.

use fedweave::baseline;
use fedweave::loss::{Family, LossOptions, LossSpec};
use fedweave::synthetic::{Network, Options, Prototypes, Synthetic, generate};
use fedweave::{Dataset, Matrix};
use fedweave_report::{Curve, Figure, Panel};

use crate::measure::{adaptive, algorithm_1, estimation_error, network_lasso, optimum};
use crate::rivals::{Effort, Rivals, first_rows};
use crate::spread::Spread;
use crate::{Check, Error, Outcome, Progress, Setting, short};

pub const LAMBDA: f64 = 0.01;
/// Rounds after which Algorithm 1 with its printed steps is looked at.
const ROUNDS: [usize; 9] = [250, 500, 750, 1000, 1250, 1500, 1750, 2000, 3000];
const ADAPTIVE_ROUNDS: usize = 600;
/// Training rows of a node.
pub const ROWS: usize = 10;
const EFFORT: Effort = Effort { rounds: 1000, tuning_rounds: 200, restarts: 5 };
const BAR: f64 = 1e-4;
const ADAPTIVE: &str = "Algorithm 1, adapted steps, 600 rounds";
const OPTIMUM: &str = "exact minimiser";
const IFCA: &str = "IFCA, gradient averaging, one random start, 1,000 rounds";
const TUNED_IFCA: &str = "IFCA, tuned: model averaging, starts from clients, step by validation";
const FEDAVG: &str = "FedAvg, 1,000 rounds";
const TUNED_FEDAVG: &str = "FedAvg, tuned: five local steps, step by validation";
const HALF_WAY: &str = "(half of the distance between the clusters, squared)";
const GAP: &str = "its certified gap over the objective";

/// The data of one run; every node has as many rows again for validation.
pub fn data(clusters: usize, nodes: usize, seed: u64) -> Result<Synthetic, Error> {
    Ok(generate(&Options {
        network: Network::Blocks { p_in: 0.5, p_out: 0.01 },
        nodes,
        clusters,
        dim: 100,
        rows: 2 * ROWS,
        noise: 1e-3,
        prototypes: Prototypes::Bernoulli,
        scale: 0.5,
        seed,
        ..Options::default()
    })?)
}

pub fn run(setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let seeds = if setting.quick { 2 } else { 5 };
    let mut errors = Spread::default();
    for k in 0..seeds {
        let seed = setting.seed + k as u64;
        let made = data(2, 200, seed)?;
        let (train, validation) = first_rows(&made.data, ROWS);
        progress(2 * k, 2 * seeds);
        algorithm(&made, &train, &mut errors)?;
        progress(2 * k + 1, 2 * seeds);
        rivals(&made, &train, &validation, seed, &mut errors)?;
    }
    progress(2 * seeds, 2 * seeds);
    Ok(judge(&errors, seeds))
}

fn algorithm(made: &Synthetic, train: &Dataset, errors: &mut Spread) -> Result<(), Error> {
    let problem = network_lasso(&made.graph, train, LAMBDA)?;
    algorithm_1(&problem, &ROUNDS, |round, w| errors.push(&printed_steps(round), estimation_error(w, &made.truth)));
    errors.push(ADAPTIVE, estimation_error(&adaptive(&problem, ADAPTIVE_ROUNDS).w, &made.truth));
    let exact = optimum(&problem, 1e-8);
    errors.push(OPTIMUM, estimation_error(&exact.w, &made.truth));
    errors.push(GAP, exact.certified_gap.unwrap_or(f64::NAN) / exact.objective);
    Ok(())
}

fn rivals(
    made: &Synthetic,
    train: &Dataset,
    validation: &Dataset,
    seed: u64,
    errors: &mut Spread,
) -> Result<(), Error> {
    let rivals = Rivals::new(train, Some(validation), EFFORT, seed)?;
    let mut keep = |name: &str, w: &Matrix| errors.push(name, estimation_error(w, &made.truth));
    keep(IFCA, &rivals.ifca(2)?);
    keep(TUNED_IFCA, &rivals.tuned_ifca(2)?);
    keep(FEDAVG, &rivals.fedavg()?);
    keep(TUNED_FEDAVG, &rivals.tuned_fedavg()?);
    let options = LossOptions::default();
    keep("oracle: each true cluster pooled", &baseline::oracle(Family::Squared, train, &made.cluster, &options)?);
    keep("local", &baseline::local(&LossSpec::Same(Family::Squared), train.clone(), &options)?);
    // What one model for all cannot avoid: half of the way between the two clusters.
    let (a, b) = (made.truth.row(0), made.truth.row(made.truth.rows() - 1));
    errors.push(HALF_WAY, a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / 4.0);
    Ok(())
}

fn printed_steps(rounds: usize) -> String {
    format!("Algorithm 1, printed steps, {rounds} rounds")
}

fn judge(errors: &Spread, seeds: usize) -> Outcome {
    let mut found = Outcome::default();
    found.tables.push(errors.table("mse", &["method", "mse", "deviation", "smallest", "largest"]));
    let after_1000 = errors.mean(&printed_steps(1000));
    let (after_2000, exact) = (errors.mean(&printed_steps(2000)), errors.mean(OPTIMUM));
    let near = after_1000 <= 2.0 * 1.42e-5;
    let what = "Algorithm 1, printed steps, 1,000 rounds: MSE";
    found.checks.push(Check::new(what, "1.42e-5", short(after_1000), near).because(format!(
        "1,000 rounds with these steps do not reach the minimiser: {} after 2,000 rounds; the minimiser itself has {}, so no number \
         of rounds gives the printed one for these data; adapted steps need {ADAPTIVE_ROUNDS} rounds",
        short(after_2000),
        short(exact)
    )));
    for method in [ADAPTIVE, OPTIMUM] {
        let mse = errors.mean(method);
        found.checks.push(Check::new(
            format!("{method}: MSE, mean of {seeds} seeds"),
            format!("at most {BAR:e}"),
            short(mse),
            mse <= BAR,
        ));
    }
    for (name, printed) in [(FEDAVG, 2.86), (IFCA, 2.82)] {
        let (mse, floor) = (errors.mean(name), errors.mean(HALF_WAY));
        let ours = format!("{} (one model for both clusters: at least {})", short(mse), short(floor));
        let holds = mse > 0.5 * printed && mse < 2.0 * printed;
        found.checks.push(Check::new(format!("{name}: MSE"), format!("{printed}: no better than one model"), ours, holds).because(
            "how the paper set it up is not said; from a random start all clients pick the same model, which then keeps its \
             distance from both clusters",
        ));
    }
    let (tuned, exact) = (errors.mean(TUNED_IFCA), errors.mean(OPTIMUM));
    let ours = format!("{} against {}", short(exact), short(tuned.min(errors.mean(TUNED_FEDAVG))));
    let beaten = exact < tuned && exact < errors.mean(TUNED_FEDAVG);
    found.checks.push(Check::new("GTV minimisation against IFCA and FedAvg, both tuned", "smaller error", ours, beaten).because(
        "IFCA that knows the number of clusters and starts from the clients' own models finds the clusters, and then pools all \
         their rows without the bias of a penalty",
    ));
    found.draw("mse", figure(errors));
    found
}

fn figure(errors: &Spread) -> Figure {
    let points = ROUNDS.iter().map(|&r| (r as f64, errors.mean(&printed_steps(r)))).collect();
    let spread = ROUNDS.iter().map(|&r| errors.deviation(&printed_steps(r))).collect();
    let level = |name: &str| {
        let ends = [ROUNDS[0], ROUNDS[ROUNDS.len() - 1]];
        Curve { name: name.into(), points: ends.map(|r| (r as f64, errors.mean(name))).into(), spread: vec![] }
    };
    let mut curves = vec![Curve { name: "Algorithm 1, printed steps".into(), points, spread }];
    curves.extend(errors.names().filter(|name| !name.contains("printed steps") && *name != GAP).map(level));
    let panel = Panel {
        x_title: "rounds".into(),
        y_title: "mean squared estimation error (41)".into(),
        y_log: true,
        curves,
        ..Panel::default()
    };
    Figure { title: "Two clusters of 100 nodes, 10 rows of 100 features each".into(), panels: vec![panel] }
}
