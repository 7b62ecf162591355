//! Problems with a lasso against optima by Clarabel (make_lasso.py), zeros included.

use fedweave::loss::{Family, LossOptions};
use fedweave::penalty::named;
use fedweave::solve::{Settings, Solver, Status, Watch, solve};
use fedweave::{Dataset, Graph, Matrix, Problem};
use serde_json::Value;

struct Known {
    name: String,
    problem: Problem,
    objective: f64,
    w: Matrix,
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn matrix(value: &Value) -> Matrix {
    let rows: Vec<Vec<f64>> = value.as_array().unwrap().iter().map(numbers).collect();
    Matrix::from_rows(rows[0].len(), rows.concat())
}

fn known(spec: &Value) -> Known {
    let number = |key: &str| spec[key].as_f64().unwrap();
    let (nodes, y) = (number("nodes") as usize, numbers(&spec["y"]));
    let of_row: Vec<usize> = numbers(&spec["node"]).iter().map(|i| *i as usize).collect();
    let data = Dataset::group(nodes, &of_row, &matrix(&spec["x"]), &y, &vec![1.0; y.len()]).unwrap().0;
    let family = match Family::named(spec["loss"].as_str().unwrap(), 0.5, 0.8).unwrap() {
        Family::Multinomial { .. } => Family::Multinomial { classes: 3 },
        family => family,
    };
    let spare_last = spec["intercept"].as_bool().unwrap();
    let options = LossOptions { ridge: number("ridge"), lasso: number("lasso"), spare_last, ..Default::default() };
    let ends = |e: &Value| (e[0].as_u64().unwrap() as usize, e[1].as_u64().unwrap() as usize, e[2].as_f64().unwrap());
    let edges: Vec<_> = spec["edges"].as_array().unwrap().iter().map(ends).collect();
    let (graph, loss) = (Graph::new(nodes, &edges).unwrap(), family.build(data, &options).unwrap());
    let penalty = named(spec["penalty"].as_str().unwrap()).unwrap();
    Known {
        name: format!("{family} with {}", penalty.name()),
        problem: Problem::build(graph, loss, penalty, number("lambda")).unwrap(),
        objective: number("objective"),
        w: matrix(&spec["w"]),
    }
}

fn all() -> Vec<Known> {
    let specs: Value = serde_json::from_str(include_str!("lasso.json")).unwrap();
    specs.as_array().unwrap().iter().map(known).collect()
}

#[test]
fn ten_optima_are_reached_to_eight_digits_and_certified() {
    let all = all();
    assert_eq!(all.len(), 10);
    let found: Vec<String> = all.iter().flat_map(complaints).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn complaints(known: &Known) -> Vec<String> {
    let Known { name, problem, objective, w } = known;
    let settings = Settings { tolerance: 1e-9, ..Settings::default() };
    let s = solve(problem, &settings, None, &mut |_| Watch::Continue);
    let (error, scale) = (s.objective - objective, objective.abs().max(1.0));
    let mut found = Vec::new();
    if s.status != Status::Converged || error.abs() > 1e-8 * scale {
        found.push(format!("{name}: {:?}, F - F* = {error:e}, {:?}", s.status, s.choice));
    }
    // Only the interior point brings a proof for every node, also for those without rows.
    let proved = problem.penalty().name() != "norminf";
    if proved && s.certified_gap.is_none_or(|gap| gap > 1e-9 * scale) {
        found.push(format!("{name}: gap {:?}, {:?}", s.certified_gap, s.choice));
    }
    // Zeros are zeros. Where a node has no rows its model is not unique, and intercepts of classes may move together.
    let unique = |j: usize| !(name.starts_with("multinomial") && j % 3 == 2);
    for i in (0..w.rows()).filter(|&i| problem.loss().has_rows(i)) {
        for (j, (at, wanted)) in s.w.row(i).iter().zip(w.row(i)).enumerate().filter(|(j, _)| unique(*j)) {
            if (at - wanted).abs() > 1e-3 || wanted.abs() <= 1e-7 && *at != 0.0 {
                found.push(format!("{name}: node {i}, parameter {j}: {at:e} instead of {wanted:e}"));
            }
        }
    }
    found
}

#[test]
fn the_primal_dual_method_finds_them_too() {
    for Known { name, problem, objective, .. } in all() {
        let settings = Settings { solver: Solver::PrimalDual, ..Settings::default() };
        let s = solve(&problem, &settings, None, &mut |_| Watch::Continue);
        let (error, scale) = (s.objective - objective, objective.abs().max(1.0));
        assert_eq!(s.status, Status::Converged, "{name}");
        assert!((-1e-8..=1e-5).contains(&(error / scale)), "{name}: {error:e}");
        assert!(
            s.certified_gap.is_none_or(|gap| gap >= error - 1e-8 * scale),
            "{name}: {:?}, {error:e}",
            s.certified_gap
        );
    }
}

/// A bound that holds at the end only would be no certificate.
#[test]
fn the_certified_gap_holds_at_every_record() {
    for Known { name, problem, objective, .. } in all() {
        let s = solve(&problem, &Settings { check_every: 3, ..Settings::default() }, None, &mut |_| Watch::Continue);
        for record in s.history.iter().filter(|r| r.certified_gap.is_some()) {
            let (error, slack) = (record.objective - objective, 1e-8 * objective.abs().max(1.0));
            assert!(record.certified_gap.unwrap() >= error - slack, "{name}: {record:?}, error {error:e}");
        }
    }
}
