//! Every method ends at the optimum it promises.

use std::ops::ControlFlow;

use super::common::{self, Golden};
use super::{data, optimum, problem, small};
use fedweave::graph::generate::{chain, ring};
use fedweave::loss::{Family, LossOptions};
use fedweave::penalty::{Quadratic, SquaredNorm};
use fedweave::solve::*;
use fedweave::{Dataset, Matrix, Problem};

/// Relative distance of the objective from the one wanted.
fn error(problem: &Problem, wanted: f64, method: &dyn Method) -> f64 {
    (problem.objective(method.models()) - wanted) / wanted.abs().max(1.0)
}

/// Runs until the optimum is reached to `tolerance`; it may be known to 1e-8 only.
fn reach(name: &str, p: &Problem, wanted: f64, method: &mut dyn Method, rounds: usize, tolerance: f64) -> History {
    let history = run_rounds_until(method, rounds, 20, &mut |m| match error(p, wanted, m) {
        e if e <= tolerance => ControlFlow::Break(e),
        e => ControlFlow::Continue(e),
    });
    let last = history.last();
    println!("{name}: {} {} rounds, error {:.2e}", method.name(), last.round, last.value);
    assert!(last.value <= tolerance, "{name}: {} after {} rounds: {:e}", method.name(), last.round, last.value);
    assert!(last.value >= -1e-8, "{name}: {} is below the optimum by {:e}", method.name(), last.value);
    history
}

fn golden(names: &[&str]) -> Vec<Golden> {
    let chosen = |g: &Golden| names.contains(&&g.name[..3]);
    let golden: Vec<Golden> = common::all().into_iter().filter(chosen).collect();
    assert_eq!(golden.len(), names.len());
    golden
}

#[test]
fn every_method_for_the_squared_penalty_reaches_every_golden_optimum() {
    let all = common::all();
    let squared: Vec<&Golden> = all.iter().filter(|g| g.problem.penalty().name() == "squared").collect();
    assert_eq!(squared.len(), 4);
    for g in squared {
        let p = &g.problem;
        let full = SgdOptions { batch: usize::MAX, schedule: Schedule::Constant, ..Default::default() };
        let methods: [Box<dyn Method + '_>; 7] = [
            Box::new(FedGd::new(p, None).unwrap()),
            Box::new(FedSgd::new(p, full).unwrap()),
            Box::new(AsyncFedGd::new(p, AsyncOptions::default()).unwrap()),
            Box::new(FedRelax::new(p, Order::Together).unwrap()),
            Box::new(FedRelax::new(p, Order::InTurn).unwrap()),
            Box::new(PrimalDualRounds::new(p, None, 1.8).unwrap()),
            Box::new(PrimalDualRounds::new(p, Some(1.0), 1.0).unwrap()),
        ];
        for mut method in methods {
            reach(&g.name, p, g.objective, &mut *method, 5000, 1e-7);
        }
    }
}

#[test]
fn pdmm_reaches_the_golden_optima_of_complete_graphs() {
    let fast = PdmmOptions { tau: Some(0.8), nu: Some(0.2), ..Default::default() };
    let all = PdmmOptions { subset: Subset::ALL, ..Default::default() };
    let variables = PdmmOptions { subset: Subset::Variables { primal: 0.3, dual: 0.3 }, ..fast };
    for g in golden(&["p11", "p13", "p24", "p25"]) {
        for options in [PdmmOptions::default(), fast, all, variables] {
            reach(&g.name, &g.problem, g.objective, &mut Pdmm::new(&g.problem, options).unwrap(), 5000, 1e-5);
        }
    }
}

/// (16) as printed is right when everything is updated in every round, and stalls when it is not.
#[test]
fn pdmm_as_printed_needs_all_variables() {
    let printed = PdmmOptions { as_printed: true, ..PdmmOptions::default() };
    for g in golden(&["p11", "p13"]) {
        let all = PdmmOptions { subset: Subset::ALL, ..printed };
        reach(&g.name, &g.problem, g.objective, &mut Pdmm::new(&g.problem, all).unwrap(), 5000, 1e-7);
        let mut some = Pdmm::new(&g.problem, printed).unwrap();
        let mut corrected = Pdmm::new(&g.problem, PdmmOptions::default()).unwrap();
        let end = |m: &mut Pdmm<&Problem>| {
            run_rounds(m, 6000, 6000, &mut |w| g.problem.objective(w) - g.objective).last().value
        };
        let (stalled, reached) = (end(&mut some), end(&mut corrected));
        assert!(stalled > 1e-5 && reached < 1e-8, "{}: {stalled:e} against {reached:e}", g.name);
    }
}

#[test]
fn pdmm_may_stop_sending_fused_pairs() {
    for g in golden(&["p13", "p25"]) {
        let options = PdmmOptions { subset: Subset::ALL, ..PdmmOptions::default() };
        let mut full = Pdmm::new(&g.problem, options).unwrap();
        let mut short = Pdmm::new(&g.problem, PdmmOptions { cease_after: Some(300), ..options }).unwrap();
        let run = |m: &mut Pdmm<&Problem>| *run_rounds(m, 1500, 1500, &mut |w| g.problem.objective(w)).last();
        let (full, ended) = (run(&mut full), run(&mut short));
        assert!(
            short.ceased() > 0 && ended.bytes < 9 * full.bytes / 10,
            "{}: {} of {}",
            g.name,
            ended.bytes,
            full.bytes
        );
        println!("{}: bytes {} of {}, F - F* {:.1e}", g.name, ended.bytes, full.bytes, ended.value - g.objective);
        assert!((ended.value - g.objective).abs() <= 1e-3 * g.objective, "{}: {}", g.name, ended.value - g.objective);
    }
}

#[test]
fn the_flows_of_pdmm_and_of_smooth_penalties_are_those_of_the_optimum() {
    let g = &golden(&["p13"])[0];
    let mut method = Pdmm::new(&g.problem, PdmmOptions { subset: Subset::ALL, ..Default::default() }).unwrap();
    (0..3000).for_each(|_| method.round());
    let kkt = |p: &Problem, m: &dyn Method, u: &Matrix| {
        fedweave::certificate::kkt(p, m.models(), u, p.objective(m.models())).residual()
    };
    assert!(kkt(&g.problem, &method, &method.flows().unwrap()) < 1e-5);
    let p = small(Family::Squared, Box::new(SquaredNorm));
    let mut method = FedRelax::new(&p, Order::InTurn).unwrap();
    (0..500).for_each(|_| method.round());
    assert!(kkt(&p, &method, &flows(&p, method.models())) < 1e-9);
}

/// Poisson's loss has no smoothness constant: the step is searched for, and the objective never increases.
#[test]
fn fedgd_backtracks_where_it_must() {
    let p = small(Family::Poisson, Box::new(SquaredNorm));
    let mut method = FedGd::new(&p, None).unwrap();
    let history = reach("poisson", &p, optimum(&p), &mut method, 3000, 1e-8);
    assert!(history.records.windows(2).all(|r| r[1].value <= r[0].value + 1e-12));
}

fn random_forms(edges: usize, d: usize) -> Quadratic {
    let entry = |e: usize, k: usize| ((e * 31 + k * 17 + 5) % 23) as f64 / 11.0 - 1.0;
    let square = |e: usize| {
        let product = |i: usize, j: usize| (0..2).map(|r| entry(e, r * d + i) * entry(e, r * d + j)).sum::<f64>();
        Matrix::from_rows(d, (0..d * d).map(|k| product(k / d, k % d)).collect())
    };
    Quadratic::new(&(0..edges).map(square).collect::<Vec<_>>()).unwrap()
}

/// Also for losses that are not quadratic, and with forms that do not see every direction.
#[test]
fn fedrelax_and_fedgd_reach_the_optimum_of_quadratic_penalties() {
    for family in [Family::Squared, Family::Logistic, Family::SquaredHinge] {
        let p = problem(ring(7).unwrap(), family, 8, 3, Box::new(random_forms(7, 3)), 0.4);
        let wanted = optimum(&p);
        for order in [Order::InTurn, Order::Together] {
            reach(&family.to_string(), &p, wanted, &mut FedRelax::new(&p, order).unwrap(), 5000, 1e-8);
        }
        reach(&family.to_string(), &p, wanted, &mut FedGd::new(&p, None).unwrap(), 50_000, 1e-8);
    }
}

/// Predictions on public rows: judged on both ends' rows, FedRelax minimises the sum of the discrepancies (15), which is the
/// quadratic penalty with `Q_i + Q_j`; judged on the neighbour's only, with one common dataset, it is that with half of it.
#[test]
fn fedrelax_on_public_data_is_a_quadratic_penalty() {
    let (n, d) = (5, 3);
    let mean = |public: &Dataset, i: usize| {
        let rows = public.rows(i);
        let entry =
            |a: usize, b: usize| rows.clone().map(|r| public.x(r)[a] * public.x(r)[b]).sum::<f64>() / rows.len() as f64;
        (0..d * d).map(|k| entry(k / d, k % d)).collect::<Vec<f64>>()
    };
    let own = data(n, 4, d, |_| 0.0);
    let features = own.features(0).repeat(n);
    let common = Dataset::new(
        (0..=n).map(|i| 4 * i).collect(),
        Matrix::from_rows(d, features),
        vec![0.0; 4 * n],
        vec![1.0; 4 * n],
    );
    for (public, judged, both) in [(own, JudgedOn::Both, 1.0), (common.unwrap(), JudgedOn::Neighbours, 0.0)] {
        let sum = |e: usize| {
            let (first, second) = (mean(&public, e), mean(&public, e + 1));
            Matrix::from_rows(d, first.iter().zip(&second).map(|(a, b)| a + both * b).collect())
        };
        let forms = Quadratic::new(&(0..n - 1).map(sum).collect::<Vec<_>>()).unwrap();
        let p = problem(chain(n).unwrap(), Family::Squared, 6, d, Box::new(forms), 0.7);
        for order in [Order::InTurn, Order::Together] {
            let mut method = FedRelax::on_public_data(&p, &public, judged, order).unwrap();
            reach("public", &p, optimum(&p), &mut method, 3000, 1e-9);
        }
    }
}

/// In turn, exact block minimisation cannot make things worse.
#[test]
fn the_objective_of_fedrelax_in_turn_never_increases() {
    for family in [Family::Absolute, Family::Huber { delta: 0.5 }, Family::Poisson] {
        let p = small(family, Box::new(SquaredNorm));
        let mut method = FedRelax::new(&p, Order::InTurn).unwrap();
        let history = run_rounds(&mut method, 3000, 1, &mut |w| p.objective(w));
        assert!(history.records.windows(2).all(|r| r[1].value <= r[0].value + 1e-10), "{family}");
        assert!(history.last().value - optimum(&p) <= 1e-6, "{family}: {}", history.last().value - optimum(&p));
    }
}

/// `w_1^2 + (w_2 - 3)^2 + (w_1 - w_2)^2` has its minimum at (1, 2); with `w <= 1.5` at (0.75, 1.5).
#[test]
fn projected_gradient_stays_inside_and_ends_at_the_constrained_minimum() {
    let points = Matrix::from_rows(1, vec![0.0, 3.0]);
    let points = Dataset::new(vec![0, 1, 2], points, vec![0.0; 2], vec![1.0; 2]).unwrap();
    let loss = Family::Point.build(points, &LossOptions::default()).unwrap();
    let p = Problem::build(chain(2).unwrap(), loss, Box::new(SquaredNorm), 1.0).unwrap();
    for constraint in [Constraint::Box { low: f64::NEG_INFINITY, high: 1.5 }, Constraint::Ball { radius: 1.5 }] {
        let mut method = FedGd::projected(&p, None, constraint).unwrap();
        (0..300).for_each(|_| method.round());
        let w = method.models().as_slice();
        assert!((w[0] - 0.75).abs() < 1e-12 && (w[1] - 1.5).abs() < 1e-12, "{constraint:?}: {w:?}");
    }
    // Where the step is searched for: no feasible direction leads downhill.
    let p = small(Family::Poisson, Box::new(SquaredNorm));
    let mut method = FedGd::projected(&p, None, Constraint::Ball { radius: 0.2 }).unwrap();
    (0..3000).for_each(|_| method.round());
    let (w, u) = (method.models(), flows(&p, method.models()));
    let (mut gradient, mut pull) = (vec![0.0; 3], vec![0.0; 3]);
    for i in 0..p.nodes() {
        p.loss().gradient(i, w.row(i), &mut gradient);
        p.divergence(&u, i, &mut pull);
        let mut moved: Vec<f64> = (0..3).map(|k| w.row(i)[k] - gradient[k] - pull[k]).collect();
        Constraint::Ball { radius: 0.2 }.project(&mut moved);
        assert!((0..3).all(|k| (moved[k] - w.row(i)[k]).abs() < 1e-6), "node {i}: {moved:?}");
    }
}

/// With decreasing steps mini-batches lead to the optimum; with constant ones to a distance from it that the step decides.
#[test]
fn fedsgd_approaches_the_optimum() {
    let p = problem(ring(8).unwrap(), Family::Squared, 40, 3, Box::new(SquaredNorm), 0.3);
    let wanted = optimum(&p);
    let step = FedSgd::new(&p, SgdOptions { batch: 4, ..Default::default() }).unwrap().step();
    let end = |schedule: Schedule, step: f64| {
        let mut method = FedSgd::new(&p, SgdOptions { batch: 4, schedule, step: Some(step), seed: 0 }).unwrap();
        let history = run_rounds(&mut method, 20_000, 500, &mut |w| p.objective(w) - wanted);
        history.records[20..].iter().map(|r| r.value).sum::<f64>() / 21.0
    };
    let start = p.objective(&Matrix::zeros(8, 3)) - wanted;
    let (root, inverse) = (end(Schedule::InverseRoot, step), end(Schedule::Inverse, 10.0 * step));
    let (long, short) = (end(Schedule::Constant, step), end(Schedule::Constant, 0.1 * step));
    println!("{start:.1e}: 1/sqrt k {root:.1e}, 1/k {inverse:.1e}, constant {long:.1e}, a tenth {short:.1e}");
    assert!(root < 0.01 * start && inverse < 0.01 * start && root > 0.0 && inverse > 0.0);
    assert!(long < start && short < 0.2 * long);
}
