//! An iteration does not allocate. Without the test harness, whose own threads do.

#[allow(dead_code)]
mod common;

use std::alloc::System;

use fedweave::Matrix;
use fedweave::baseline::{FedAvg, Ifca, PFedMe};
use fedweave::model::{ModelSpec, Task, Workspace};
use fedweave::solve::{
    AsyncFedGd, FedGd, FedRelax, FedSgd, Method, Order, Pdmm, PrimalDual, PrimalDualRounds, SgdOptions,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() {
    // This thread alone: others allocate when they start and, now and then, when they hand over work.
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global().expect("the first pool");
    for golden in common::all() {
        let (n, d, edges) = (golden.problem.nodes(), golden.problem.dim(), golden.problem.graph().edges());
        let mut method =
            PrimalDual::new(&golden.problem, &Matrix::zeros(n, d), &Matrix::zeros(edges, d), 1.0, 1.8, false);
        method.iterate();
        let region = Region::new(GLOBAL);
        (0..20).for_each(|_| method.iterate());
        assert_eq!(region.change().allocations, 0, "{}", golden.name);
    }
    rounds_do_not_allocate();
    splits_do_not_allocate();
    println!("iterations do not allocate: 26 golden problems, 1 passed, 0 failed");
}

fn rounds_do_not_allocate() {
    for golden in common::all().iter().filter(|g| g.problem.penalty().name() == "squared") {
        let p = &golden.problem;
        let methods: [Box<dyn Method + '_>; 10] = [
            Box::new(FedGd::new(p, None).unwrap()),
            Box::new(FedSgd::new(p, SgdOptions { batch: 2, ..Default::default() }).unwrap()),
            Box::new(AsyncFedGd::new(p, Default::default()).unwrap()),
            Box::new(FedRelax::new(p, Order::InTurn).unwrap()),
            Box::new(FedRelax::new(p, Order::Together).unwrap()),
            Box::new(Pdmm::new(p, Default::default()).unwrap()),
            Box::new(PrimalDualRounds::new(p, Some(1.0), 1.0).unwrap()),
            Box::new(FedAvg::new(p.loss(), Default::default()).unwrap()),
            Box::new(Ifca::new(p.loss(), Default::default()).unwrap()),
            Box::new(PFedMe::new(p.loss(), Default::default()).unwrap()),
        ];
        for mut method in methods {
            method.round();
            let region = Region::new(GLOBAL);
            (0..20).for_each(|_| method.round());
            assert_eq!(region.change().allocations, 0, "{} {}", golden.name, method.name());
        }
    }
}

/// A tree of hundreds of splits allocates what one of a single split does: the model itself.
fn splits_do_not_allocate() {
    let x = Matrix::from_rows(3, (0..1500).map(|k| f64::from(k * k % 997)).collect());
    let y = Matrix::from_rows(1, (0..500).map(|r| f64::from(r * 7 % 101)).collect());
    let mut work = Workspace::default();
    let mut allocations = |text: &str| {
        let mut model = text.parse::<ModelSpec>().unwrap().build(Task::Regression, 0).unwrap();
        model.fit(x.view(), y.view(), &[1.0; 500], &mut work).unwrap();
        let region = Region::new(GLOBAL);
        model.fit(x.view(), y.view(), &[1.0; 500], &mut work).unwrap();
        region.change().allocations
    };
    let (deep, shallow) = (allocations("tree"), allocations("tree max-depth=1"));
    assert!(deep == shallow && deep < 10, "{deep} {shallow}");
}
