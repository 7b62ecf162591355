//! Methods that must agree, do, bit for bit; threads change nothing.

use super::{problem, small};
use fedweave::graph::generate::chain;
use fedweave::loss::Family;
use fedweave::matrix::Matrix;
use fedweave::penalty::{Norm2, SquaredNorm};
use fedweave::solve::*;

#[test]
fn full_batches_and_no_delays_are_gradient_descent() {
    for family in [Family::Squared, Family::Logistic, Family::Point] {
        let p = small(family, Box::new(SquaredNorm));
        let full = SgdOptions { batch: 5, schedule: Schedule::Constant, ..Default::default() };
        let prompt = AsyncOptions { active: vec![1.0], delay_max: 0, ..Default::default() };
        let mut methods: [Box<dyn Method + '_>; 3] = [
            Box::new(FedGd::new(&p, None).unwrap()),
            Box::new(FedSgd::new(&p, full).unwrap()),
            Box::new(AsyncFedGd::new(&p, prompt).unwrap()),
        ];
        methods.iter_mut().for_each(|m| (0..50).for_each(|_| m.round()));
        assert!(methods[0].models().max_row_norm() > 0.0);
        for m in &methods[1..] {
            assert_eq!((m.models(), m.traffic()), (methods[0].models(), methods[0].traffic()), "{family} {}", m.name());
        }
    }
}

#[test]
fn seeds_decide() {
    let p = small(Family::Squared, Box::new(SquaredNorm));
    let sgd = |seed| {
        let mut m = FedSgd::new(&p, SgdOptions { batch: 2, seed, ..Default::default() }).unwrap();
        (0..30).for_each(|_| m.round());
        m.models().clone()
    };
    let late = |seed| {
        let mut m = AsyncFedGd::new(&p, AsyncOptions { seed, ..Default::default() }).unwrap();
        (0..30).for_each(|_| m.round());
        m.models().clone()
    };
    let pdmm = |seed| {
        let mut m = Pdmm::new(&p, PdmmOptions { seed, ..Default::default() }).unwrap();
        (0..30).for_each(|_| m.round());
        m.models().clone()
    };
    assert!(sgd(1) == sgd(1) && sgd(1) != sgd(2));
    assert!(late(1) == late(1) && late(1) != late(2));
    assert!(pdmm(1) == pdmm(1) && pdmm(1) != pdmm(2));
}

/// Large enough to be cut into blocks.
#[test]
fn threads_change_no_bit() {
    let with = |threads: usize| -> Vec<Matrix> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let p = problem(chain(9000).unwrap(), Family::Logistic, 3, 4, Box::new(SquaredNorm), 0.3);
            let poisson = problem(chain(9000).unwrap(), Family::Poisson, 3, 4, Box::new(SquaredNorm), 0.3);
            let lasso = problem(chain(9000).unwrap(), Family::Squared, 3, 4, Box::new(Norm2), 0.3);
            let methods: [Box<dyn Method + '_>; 7] = [
                Box::new(FedGd::new(&p, None).unwrap()),
                Box::new(FedGd::projected(&poisson, None, Constraint::Ball { radius: 0.3 }).unwrap()),
                Box::new(FedSgd::new(&p, SgdOptions { batch: 2, ..Default::default() }).unwrap()),
                Box::new(AsyncFedGd::new(&p, AsyncOptions::default()).unwrap()),
                Box::new(FedRelax::new(&p, Order::Together).unwrap()),
                Box::new(PrimalDualRounds::new(&lasso, None, 1.8).unwrap()),
                Box::new(Pdmm::new(&lasso, PdmmOptions::default()).unwrap()),
            ];
            let run = |mut m: Box<dyn Method + '_>| {
                (0..12).for_each(|_| m.round());
                m.models().clone()
            };
            methods.into_iter().map(run).collect()
        })
    };
    assert!(with(1) == with(3));
}
