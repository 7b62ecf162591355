//! The solver against optima found by independent solvers (tests/golden/README.md), and against bits of its own.

mod common;

use common::Golden;
use fedweave::Matrix;
use fedweave::cluster::clusters;
use fedweave::loss::Family;
use fedweave::matrix::norm2;
use fedweave::solve::{PrimalDual, Settings, Solution, Solver, Status, Watch, solve};

fn solved(golden: &Golden, settings: &Settings) -> Solution {
    solve(&golden.problem, settings, None, &mut |_| Watch::Continue)
}

#[test]
fn every_optimum_is_reached_and_certified_by_the_primal_dual_method() {
    for golden in common::all() {
        let s = solved(&golden, &Settings { solver: Solver::PrimalDual, ..Settings::default() });
        let (name, scale) = (&golden.name, golden.objective.abs().max(1.0));
        let error = s.objective - golden.objective;
        assert_eq!(s.status, Status::Converged, "{name}");
        assert!(error.abs() <= 1e-5 * scale, "{name}: F - F* = {error:e}");
        match s.certified_gap {
            // The golden values are themselves good to 1e-8.
            Some(gap) => {
                assert!(gap >= error - 1e-8 * scale && gap <= 1e-6 * scale, "{name}: gap {gap:e}, error {error:e}")
            }
            None => assert_eq!(golden.family, Family::Absolute, "{name}: no certificate"),
        }
    }
}

#[test]
fn every_optimum_is_found_to_eight_digits_when_asked() {
    for (golden, solver) in common::all().iter().flat_map(|g| [(g, Solver::Auto), (g, Solver::Newton)]) {
        let s = solved(golden, &Settings { tolerance: 1e-9, solver, ..Settings::default() });
        let (name, scale) = (&golden.name, golden.objective.abs().max(1.0));
        if solver == Solver::Auto {
            assert_eq!(s.status, Status::Converged, "{name}");
            assert!(s.certified_gap.is_some_and(|gap| gap <= 1e-9 * scale), "{name}: {:?}", s.certified_gap);
        }
        assert!((s.objective - golden.objective).abs() <= 1e-8 * scale, "{name}: {}", s.objective - golden.objective);
        let size = golden.w.max_row_norm();
        for i in (0..golden.unique.len()).filter(|&i| golden.unique[i]) {
            let off: Vec<f64> = s.w.row(i).iter().zip(golden.w.row(i)).map(|(a, b)| a - b).collect();
            assert!(norm2(&off) <= 3e-5 * size, "{name}: node {i} is off by {:e} of {size}", norm2(&off));
        }
        if let Some(wanted) = golden.clusters {
            assert_eq!(clusters(&golden.problem, &s.w, &s.u).partition.len(), wanted, "{name}");
        }
    }
}

/// Where a factor would be cheaper, too. Rounding ends their progress earlier: the certificate is asked for seven digits.
#[test]
fn conjugate_gradients_reach_every_optimum_of_smooth_penalties() {
    let smooth = |g: &Golden| g.problem.penalty().is_smooth();
    let all: Vec<Golden> = common::all().into_iter().filter(smooth).collect();
    assert_eq!(all.len(), 4);
    for golden in all {
        let s = solved(&golden, &Settings { tolerance: 1e-9, solver: Solver::NewtonCg, ..Settings::default() });
        assert!(s.choice.reason.ends_with("linear systems by conjugate gradients"), "{}", s.choice.reason);
        let (error, scale) = (s.objective - golden.objective, golden.objective.abs().max(1.0));
        assert!(error.abs() <= 1e-8 * scale, "{}: {error:e}", golden.name);
        assert!(s.certified_gap.is_some_and(|gap| gap <= 1e-7 * scale), "{}: {:?}", golden.name, s.certified_gap);
    }
}

/// A bound that holds at the optimum only would be no certificate: it must hold on the way, too.
#[test]
fn the_certified_gap_holds_at_every_record() {
    for golden in common::all() {
        let s = solved(&golden, &Settings { check_every: 3, ..Settings::default() });
        for record in s.history.iter().filter(|r| r.certified_gap.is_some()) {
            let slack = 1e-8 * golden.objective.abs().max(1.0);
            let error = record.objective - golden.objective;
            assert!(record.certified_gap.unwrap() >= error - slack, "{}: {record:?}, error {error:e}", golden.name);
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let golden = common::all();
    let with = |threads: usize| -> Vec<Solution> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            golden.iter().map(|g| solved(g, &Settings { iterations_max: 200, ..Settings::default() })).collect()
        })
    };
    for (one, three) in with(1).iter().zip(with(3)) {
        assert_eq!((&one.w, &one.u, one.objective), (&three.w, &three.u, three.objective));
    }
}

/// Algorithm 1 written down naively, edge by edge and node by node, with the paper's steps.
#[test]
fn the_fast_iteration_is_algorithm_1() {
    for golden in common::all() {
        let (p, g) = (&golden.problem, golden.problem.graph());
        let (n, d, edges) = (p.nodes(), p.dim(), g.edges());
        let (mut w, mut u) = (Matrix::zeros(n, d), Matrix::zeros(edges, d));
        let mut fast = PrimalDual::new(p, &w, &u, 1.0, 1.0, true);
        let mut work = vec![0.0; p.loss().work_len() + 4 * d];
        for _ in 0..15 {
            fast.iterate();
            let before = w.clone();
            for i in (0..n).filter(|&i| p.is_coupled(i)) {
                let tau = 1.0 / g.degree(i) as f64;
                for e in 0..edges {
                    let (head, tail) = g.nodes_of(e);
                    let sign = if head == i {
                        1.0
                    } else if tail == i {
                        -1.0
                    } else {
                        continue;
                    };
                    w.row_mut(i).iter_mut().zip(u.row(e)).for_each(|(w, u)| *w -= tau * sign * u);
                }
                p.loss().prox(i, tau, w.row_mut(i), &mut work);
            }
            for e in (0..edges).filter(|_| p.lambda() > 0.0) {
                let (i, j) = g.nodes_of(e);
                for k in 0..d {
                    let step = 2.0 * (w.row(i)[k] - w.row(j)[k]) - (before.row(i)[k] - before.row(j)[k]);
                    u.row_mut(e)[k] += 0.5 * step;
                }
                p.penalty().prox_conjugate(e, p.edge_weights()[e], 0.5, u.row_mut(e), &mut work);
            }
        }
        let off = |a: &Matrix, b: &Matrix| {
            a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        let size = 1.0 + w.max_row_norm() + u.max_row_norm();
        assert!(off(&fast.w(), &w) <= 1e-7 * size && off(&fast.u(), &u) <= 1e-7 * size, "{}", golden.name);
    }
}

/// Losses with kinks, with every kind of penalty that the interior point knows, and nodes without rows: the certificate is the test.
#[test]
fn kinked_losses_are_certified_with_every_penalty() {
    let graph = fedweave::graph::generate::grid(6, 7).unwrap();
    let (n, d, rows) = (graph.nodes(), 3, 5);
    let value = |k: usize| ((k as f64 * 12.9898).sin() * 43758.5453).fract();
    for (family, penalty) in [Family::Absolute, Family::Quantile { q: 0.8 }]
        .into_iter()
        .flat_map(|f| ["norm2", "norm1", "squared"].map(|p| (f, p)))
    {
        let starts: Vec<usize> = (0..=n).map(|i| rows * (i - i.div_ceil(4))).collect();
        let count = starts[n];
        let x = Matrix::from_rows(d, (0..count * d).map(value).collect());
        let y = (0..count).map(|k| value(7 * k + 3) + f64::from(k > count / 2)).collect();
        let data = fedweave::Dataset::new(starts, x, y, vec![1.0; count]).unwrap();
        let loss = family.build(data, &Default::default()).unwrap();
        let problem =
            fedweave::Problem::build(graph.clone(), loss, fedweave::penalty::named(penalty).unwrap(), 0.05).unwrap();
        let s = problem.solve_with(&Settings { tolerance: 1e-9, ..Settings::default() });
        assert_eq!((s.status, s.choice.method.as_str()), (Status::Converged, "interior point"), "{family} {penalty}");
        assert!(s.certified_gap.is_some_and(|gap| gap <= 1e-9 * s.objective.max(1.0)), "{family} {penalty}");
        let other = problem.solve_with(&Settings { solver: Solver::Newton, tolerance: 1e-7, ..Settings::default() });
        let (above, scale) = (other.objective - s.objective, s.objective.max(1.0));
        assert!((-1e-9 * scale..1e-6 * scale).contains(&above), "{family} {penalty}: {above:e}");
    }
}
