//! What does not fit is an error that says so, never a panic.

use super::{data, problem, small};
use fedweave::graph::generate::chain;
use fedweave::loss::Family;
use fedweave::penalty::{Norm2, Quadratic, SquaredNorm};
use fedweave::solve::*;
use fedweave::{Error, Matrix};

fn message<T>(result: Result<T, Error>) -> String {
    result.err().expect("an error").to_string()
}

#[test]
fn methods_name_what_they_need() {
    let lasso = small(Family::Squared, Box::new(Norm2));
    let kinked = small(Family::Absolute, Box::new(SquaredNorm));
    let poisson = small(Family::Poisson, Box::new(SquaredNorm));
    let one = Matrix::from_rows(3, vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    let form = || Box::new(Quadratic::new(std::slice::from_ref(&one)).unwrap());
    let quadratic = small(Family::Squared, form());
    let kinked_form = small(Family::Absolute, form());
    assert_eq!(message(FedGd::new(&lasso, None)), "fedgd needs a smooth penalty (squared)");
    assert_eq!(message(FedGd::new(&kinked, None)), "fedgd needs losses without kinks");
    assert_eq!(message(FedRelax::new(&lasso, Order::InTurn)), "fedrelax needs the squared or a quadratic penalty");
    assert!(FedRelax::new(&kinked, Order::InTurn).is_ok());
    assert!(message(FedRelax::new(&kinked_form, Order::InTurn)).starts_with("fedrelax needs losses without kinks"));
    assert_eq!(message(AsyncFedGd::new(&quadratic, Default::default())), "async-fedgd needs the squared penalty");
    assert!(message(AsyncFedGd::new(&poisson, Default::default())).contains("needs a step"));
    assert!(message(FedSgd::new(&poisson, Default::default())).contains("needs a step"));
    assert!(FedSgd::new(&poisson, SgdOptions { step: Some(0.01), ..Default::default() }).is_ok());
}

#[test]
fn numbers_out_of_range_are_named() {
    let p = small(Family::Squared, Box::new(SquaredNorm));
    for step in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(message(FedGd::new(&p, Some(step))).starts_with("step is"));
    }
    assert!(message(FedSgd::new(&p, SgdOptions { batch: 0, ..Default::default() })).starts_with("batch is 0"));
    for active in [vec![0.0], vec![1.1], vec![f64::NAN], vec![0.5; 3], vec![]] {
        assert!(AsyncFedGd::new(&p, AsyncOptions { active, ..Default::default() }).is_err());
    }
    assert!(message(PrimalDualRounds::new(&p, Some(0.0), 1.0)).starts_with("step ratio is 0"));
    assert!(message(PrimalDualRounds::new(&p, None, 2.0)).starts_with("relaxation is 2"));
    for options in [
        PdmmOptions { rho: Some(0.0), ..Default::default() },
        PdmmOptions { eta: Some(-1.0), ..Default::default() },
        PdmmOptions { tau: Some(f64::NAN), ..Default::default() },
        PdmmOptions { nu: Some(f64::INFINITY), ..Default::default() },
        PdmmOptions { subset: Subset::Users(0.0), ..Default::default() },
        PdmmOptions { subset: Subset::Variables { primal: 0.5, dual: 1.5 }, ..Default::default() },
    ] {
        assert!(Pdmm::new(&p, options).is_err(), "{options:?}");
    }
    for bad in [
        Constraint::Ball { radius: 0.0 },
        Constraint::Box { low: 1.0, high: 0.0 },
        Constraint::Box { low: f64::NAN, high: 0.0 },
        Constraint::Box { low: f64::NEG_INFINITY, high: f64::NEG_INFINITY },
    ] {
        assert!(FedGd::projected(&p, None, bad).is_err(), "{bad:?}");
    }
    let (fewer, wider) = (data(5, 2, 3, |_| 0.0), data(6, 2, 4, |_| 0.0));
    for public in [fewer, wider] {
        assert!(FedRelax::on_public_data(&p, &public, JudgedOn::Both, Order::InTurn).is_err());
    }
}

/// A step that is too long diverges, and the loop says so instead of running on.
#[test]
fn divergence_ends_the_run() {
    let p = problem(chain(4).unwrap(), Family::Squared, 5, 2, Box::new(SquaredNorm), 1.0);
    let mut method = FedGd::new(&p, Some(100.0)).unwrap();
    let history = run_rounds(&mut method, 100_000, 1, &mut |w| p.objective(w));
    assert!(!history.last().value.is_finite() && history.last().round < 1000);
}

/// Nodes without rows, nodes without neighbours, one node, no edges.
#[test]
fn degenerate_networks_are_fine() {
    let offsets = vec![0, 2, 2, 4];
    let x = Matrix::from_rows(1, vec![1.0, 2.0, 1.0, -1.0]);
    let d = fedweave::Dataset::new(offsets, x, vec![1.0, 2.0, 0.0, 0.0], vec![1.0; 4]).unwrap();
    let loss = || Family::Squared.build(d.clone(), &Default::default()).unwrap();
    for edges in [vec![], vec![(0, 1, 1.0)], vec![(0, 1, 1.0), (1, 2, 2.0)]] {
        let graph = fedweave::Graph::new(3, &edges).unwrap();
        let p = fedweave::Problem::build(graph, loss(), Box::new(SquaredNorm), 0.5).unwrap();
        let methods: [Box<dyn Method + '_>; 6] = [
            Box::new(FedGd::new(&p, None).unwrap()),
            Box::new(FedSgd::new(&p, SgdOptions::default()).unwrap()),
            Box::new(AsyncFedGd::new(&p, AsyncOptions::default()).unwrap()),
            Box::new(FedRelax::new(&p, Order::InTurn).unwrap()),
            Box::new(PrimalDualRounds::new(&p, None, 1.8).unwrap()),
            Box::new(Pdmm::new(&p, PdmmOptions::default()).unwrap()),
        ];
        let wanted = super::optimum(&p);
        for mut m in methods {
            (0..3000).for_each(|_| m.round());
            let off = p.objective(m.models()) - wanted;
            assert!(off.abs() < 1e-4, "{} with {} edges: {off:e}", m.name(), edges.len());
        }
    }
}
