//! What methods send is what their formulas say.

use super::{data, problem, small};
use fedweave::graph::generate::{complete, star};
use fedweave::loss::Family;
use fedweave::penalty::{Norm2, SquaredNorm};
use fedweave::solve::*;

/// Over edges: every node sends its model to every neighbour once a round, edges x d x 8 bytes, twice.
#[test]
fn a_round_over_edges_sends_each_model_both_ways() {
    let (n, d, rounds) = (6, 3, 7);
    let p = problem(star(n).unwrap(), Family::Squared, 5, d, Box::new(SquaredNorm), 0.3);
    let prompt = AsyncOptions { active: vec![1.0], ..Default::default() };
    let methods: [Box<dyn Method + '_>; 7] = [
        Box::new(FedGd::new(&p, None).unwrap()),
        Box::new(FedGd::projected(&p, None, Constraint::Ball { radius: 1.0 }).unwrap()),
        Box::new(FedSgd::new(&p, SgdOptions { batch: 2, ..Default::default() }).unwrap()),
        Box::new(AsyncFedGd::new(&p, prompt).unwrap()),
        Box::new(FedRelax::new(&p, Order::Together).unwrap()),
        Box::new(FedRelax::new(&p, Order::InTurn).unwrap()),
        Box::new(PrimalDualRounds::new(&p, None, 1.8).unwrap()),
    ];
    let edges = p.graph().edges() as u64;
    for mut m in methods {
        let history = run_rounds(&mut *m, rounds, 1, &mut |w| p.objective(w));
        for r in &history.records {
            assert_eq!(r.bytes, r.round as u64 * 2 * edges * d as u64 * 8, "{}", m.name());
            assert_eq!(r.messages, r.round as u64 * 2 * edges, "{}", m.name());
        }
        let of_node = |i: usize| p.graph().degree(i) as u64 * rounds as u64 * d as u64 * 8;
        assert_eq!(m.traffic().bytes_by_node(), (0..n).map(of_node).collect::<Vec<_>>(), "{}", m.name());
        assert_eq!(m.traffic().bytes_of_server(), 0);
        assert!(m.traffic().flops() > 0.0);
    }
}

/// A gradient reads every number of the data twice; pulls and steps a few per parameter.
#[test]
fn the_work_of_gradient_descent_by_hand() {
    let p = small(Family::Logistic, Box::new(SquaredNorm));
    let mut m = FedGd::new(&p, None).unwrap();
    m.round();
    assert_eq!(m.traffic().flops(), (4 * 6 * 5 * 3 + 6 * 5 * 3 + 2 * 6 * 3) as f64);
}

#[test]
fn only_active_nodes_send() {
    let p = small(Family::Squared, Box::new(SquaredNorm));
    // Nodes of a chain of 6: the ends have one neighbour.
    let options = AsyncOptions { active: vec![1.0, 1e-9, 1.0, 1e-9, 1e-9, 1e-9], ..Default::default() };
    let mut m = AsyncFedGd::new(&p, options).unwrap();
    (0..10).for_each(|_| m.round());
    assert_eq!(m.traffic().bytes_by_node(), [10 * 24, 0, 10 * 2 * 24, 0, 0, 0]);
}

/// Only predictions cross an edge: as many numbers as there are public rows.
#[test]
fn fedrelax_on_public_data_sends_predictions() {
    let p = small(Family::Squared, Box::new(SquaredNorm));
    let public = data(6, 2, 3, |_| 0.0);
    for (judged, numbers) in [(JudgedOn::Neighbours, 2), (JudgedOn::Both, 4)] {
        let mut m = FedRelax::on_public_data(&p, &public, judged, Order::Together).unwrap();
        m.round();
        assert_eq!((m.traffic().messages(), m.traffic().bytes()), (10, 10 * numbers * 8));
    }
}

/// With all variables: users send `N` models and `N (N - 1)` differences; the server answers with every model to every other
/// user and every multiplier to its user. The corrected update needs differences and multipliers at both users.
#[test]
fn pdmm_sends_through_the_server() {
    let (n, d) = (5, 3);
    let p = problem(complete(n).unwrap(), Family::Squared, 5, d, Box::new(Norm2), 0.3);
    for (as_printed, down) in [(true, 2), (false, 4)] {
        let options = PdmmOptions { subset: Subset::ALL, as_printed, ..Default::default() };
        let mut m = Pdmm::new(&p, options).unwrap();
        (0..3).for_each(|_| m.round());
        let pairs = n * (n - 1);
        assert_eq!(m.traffic().bytes_by_node(), vec![3 * 8 * (d * n) as u64; n]);
        assert_eq!(m.traffic().bytes_of_server(), 3 * 8 * (down * pairs * d) as u64);
        assert_eq!(m.traffic().messages(), 3 * (n + pairs + down * pairs) as u64);
    }
    let some = PdmmOptions { subset: Subset::Users(0.4), as_printed: true, ..Default::default() };
    let mut m = Pdmm::new(&p, some).unwrap();
    m.round();
    // Two of five users: 2 (1 + 4) messages up; 2 * 4 models and 2 * 4 multipliers down.
    assert_eq!(m.traffic().messages(), 10 + 16);
}

#[test]
fn nothing_is_sent_where_nothing_is_coupled() {
    let mut p = small(Family::Squared, Box::new(SquaredNorm));
    p.set_lambda(0.0).unwrap();
    let methods: [Box<dyn Method + '_>; 5] = [
        Box::new(FedGd::new(&p, None).unwrap()),
        Box::new(AsyncFedGd::new(&p, AsyncOptions::default()).unwrap()),
        Box::new(FedRelax::new(&p, Order::InTurn).unwrap()),
        Box::new(PrimalDualRounds::new(&p, None, 1.8).unwrap()),
        Box::new(Pdmm::new(&p, PdmmOptions::default()).unwrap()),
    ];
    for mut m in methods {
        (0..2000).for_each(|_| m.round());
        assert_eq!(m.traffic().bytes(), 0, "{}", m.name());
        // Every node has its own minimiser.
        let excess = p.objective(m.models()) - super::optimum(&p);
        assert!(excess.abs() < 1e-6, "{}: {excess:e}", m.name());
    }
}
