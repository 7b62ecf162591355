//! Figures 5 and 6 of the convex-clustering paper: 30 users in three clusters, each with 85 % of the points of its
//! cluster. How many models there are at eight values of `lambda`, and how fast PDMM finds them.

use fedweave::graph::partition::Partition;
use fedweave::path::{Recovery, geometric, recovery, same};
use fedweave::penalty::{Norm2, SquaredNorm};
use fedweave::solve::{Pdmm, PdmmOptions, Subset, Watch, run_rounds};
use fedweave_report::{Curve, Figure, Panel};

use crate::ellipses::{CLUSTERS, UNEVEN, Users, geometry};
use crate::recover::Walk;
use crate::{Check, Error, Outcome, Progress, Setting, Table, short};

const USERS: usize = 10;
const ROWS: usize = 170;
const LAMBDAS: [f64; 8] = [1000.0, 1.0, 0.12, 0.08, 0.05, 0.03, 0.02, 0.01];
/// `lambda` of Figure 5.
const PDMM_LAMBDA: f64 = 0.02;
/// Figure 6: number of distinct models.
pub fn figure_6(setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let users = Users::draw(&UNEVEN, USERS, ROWS, setting.seed)?;
    let (n, truth) = (users.cluster.len(), Partition::of_labels(&users.cluster));
    let mut table = Table::new("models", &["lambda", "proposed", "true_clusters", "squared"]);
    let (mut walk, mut squares) =
        (Walk::new(users.problem(Box::new(Norm2), 0.0)?), Walk::new(users.problem(Box::new(SquaredNorm), 0.0)?));
    let mut counts = Vec::new();
    for (k, lambda) in LAMBDAS.into_iter().enumerate() {
        progress(k, LAMBDAS.len() + 1);
        let (ours, theirs) = (walk.at(lambda)?, squares.at(lambda)?);
        let (models, squared) = (walk.partition(&ours), squares.partition(&theirs));
        let right = same(&models, &truth, n);
        table.push([lambda.into(), models.len().into(), if right { "yes" } else { "no" }.into(), squared.len().into()]);
        counts.push((lambda, models.len(), right, squared.len()));
    }
    progress(LAMBDAS.len(), LAMBDAS.len() + 1);
    let grid = geometric(1.0, 1e-2, 25);
    let bounds = recovery(walk.problem(), &truth, &grid, 0.08, 1e-3, &mut |_| Watch::Continue)?;
    let mut found = Outcome { tables: vec![table], notes: vec![geometry(&UNEVEN)], ..Outcome::default() };
    judge_counts(&counts, &mut found);
    let marks = judge_theorems(&bounds, &mut walk, &truth, &mut found)?;
    let curve = |name: &str, value: fn(&(f64, usize, bool, usize)) -> usize| Curve {
        name: name.into(),
        points: counts.iter().map(|c| (c.0, value(c) as f64)).collect(),
        spread: vec![],
    };
    let panel = Panel {
        x_title: "lambda".into(),
        y_title: "distinct models of 30 users".into(),
        x_log: true,
        curves: vec![curve("proposed", |c| c.1), curve("squared penalty", |c| c.3)],
        marks,
        ..Panel::default()
    };
    found.draw("figure6", Figure { title: "Models against lambda".into(), panels: vec![panel] });
    Ok(found)
}

fn judge_counts(counts: &[(f64, usize, bool, usize)], found: &mut Outcome) {
    let words = |value: fn(&(f64, usize, bool, usize)) -> usize| {
        counts.iter().map(|c| format!("{} at {}", value(c), c.0)).collect::<Vec<_>>().join(", ")
    };
    let mut check =
        |what: &str, printed: &str, ours: String, holds| found.checks.push(Check::new(what, printed, ours, holds));
    let (first, right) = (counts[0].1, counts.iter().filter(|c| c.2).map(|c| c.0.to_string()).collect::<Vec<_>>());
    check("models at lambda 1000", "1", first.to_string(), first == 1);
    check("lambda with exactly the true clusters", "some of the eight values", right.join(", "), !right.is_empty());
    check("models as lambda falls", "more and more", words(|c| c.1), counts.windows(2).all(|p| p[0].1 <= p[1].1));
    check("models with the squared penalty", "no consensus even at lambda 1000", words(|c| c.3), counts[0].3 > 1);
}

/// The bounds of Theorems 1 and 2, what happens between them, and below the lower one.
fn judge_theorems(
    bounds: &Recovery,
    walk: &mut Walk,
    truth: &Partition,
    found: &mut Outcome,
) -> Result<Vec<(f64, String)>, Error> {
    let what = "lambda between the bounds of Theorems 1 and 2";
    let Recovery::Between(low, high) = bounds else {
        found.checks.push(Check::new(what, "a range with exactly three models", format!("{bounds:?}"), false));
        return Ok(vec![]);
    };
    let n = truth.sizes().iter().sum();
    let mut all_right = true;
    for lambda in geometric(high.lambda, low.lambda / high.lambda, 9) {
        let solution = walk.at(lambda)?;
        all_right &= same(&walk.partition(&solution), truth, n);
    }
    let ours =
        format!("{} to {}; {CLUSTERS} models at 9 values in it: {all_right}", short(low.lambda), short(high.lambda));
    found.checks.push(Check::new(what, "a range with exactly three models", ours, all_right));
    let (from, to) = walk.interval(truth, (low.lambda * high.lambda).sqrt(), 1e-3, 1e3)?;
    let ours = format!("three models from {} to {}", short(from), short(to));
    let wider = from < low.lambda && to > high.lambda;
    found.checks.push(Check::new(
        "the bounds are conservative",
        "three models also below the lower bound",
        ours,
        wider,
    ));
    let mut two = None;
    for lambda in geometric(to, 4.0, 60) {
        let solution = walk.at(lambda)?;
        two = two.or((walk.partition(&solution).len() == 2).then_some(lambda));
    }
    let ours = two.map_or("never".into(), |lambda| format!("two models at lambda {}", short(lambda)));
    found.checks.push(Check::new("lambda somewhat above the upper bound", "two models", ours, two.is_some()));
    Ok(vec![(low.lambda, "Theorem 1".into()), (high.lambda, "Theorem 2".into())])
}

/// Figure 5: PDMM with 40 % of the users a round.
pub fn figure_5(setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let users = Users::draw(&UNEVEN, USERS, ROWS, setting.seed)?;
    let problem = users.problem(Box::new(Norm2), PDMM_LAMBDA)?;
    let best = crate::measure::optimum(&problem, 1e-11);
    let (rounds, every) = if setting.quick { (10_000, 50) } else { (50_000, 250) };
    let paper = PdmmOptions { seed: setting.seed, ..PdmmOptions::paper() };
    let variants = [
        ("40 % of the users a round", paper),
        ("as printed in (16), 40 % of the users", PdmmOptions { as_printed: true, ..paper }),
        ("all users a round", PdmmOptions { subset: Subset::ALL, ..paper }),
    ];
    let mut table = Table::new("gap", &["variant", "round", "gap", "bytes"]);
    table.file_only = true;
    let mut found = Outcome { notes: vec![geometry(&UNEVEN)], ..Outcome::default() };
    let mut curves = Vec::new();
    for (k, (name, options)) in variants.into_iter().enumerate() {
        progress(k, variants.len());
        let mut method = Pdmm::new(&problem, options)?;
        let history = run_rounds(&mut method, rounds, every, &mut |w| problem.objective(w) - best.objective);
        for r in &history.records {
            table.push([name.into(), r.round.into(), r.value.into(), (r.bytes as usize).into()]);
        }
        found.checks.push(judge_pdmm(name, &history.records.iter().map(|r| (r.round, r.value)).collect::<Vec<_>>()));
        let points = history.records.iter().map(|r| (r.round as f64, r.value)).collect();
        curves.push(Curve { name: name.into(), points, spread: vec![] });
    }
    found.tables.push(table);
    let gap = best.certified_gap.unwrap_or(f64::NAN);
    found.notes.push(format!("the optimal value {} is certified to {}", best.objective, short(gap)));
    let panel =
        Panel { x_title: "rounds".into(), y_title: "F(x) - F*".into(), y_log: true, curves, ..Panel::default() };
    found.draw(
        "figure5",
        Figure { title: "PDMM, lambda 0.02, rho = eta = 10, tau 4/5, nu 1/5".into(), panels: vec![panel] },
    );
    Ok(found)
}

/// Gaps `(round, F - F*)` of a variant.
fn judge_pdmm(name: &str, gaps: &[(usize, f64)]) -> Check {
    let (start, (last, end)) = (gaps[0].1, gaps[gaps.len() - 1]);
    let ours = format!("{} at the start, {} after {last} rounds", short(start), short(end));
    Check::new(format!("PDMM, {name}: F(x) - F*"), "falls towards zero", ours, end <= 1e-3 * start).because(
        "the printed update (16) lacks the terms of (15) in which x_i stands second, so that with random subsets of variables \
         it has another fixed point; with these terms it converges",
    )
}
