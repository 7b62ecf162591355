//! An iteration does not allocate.

#[allow(dead_code)]
mod common;

use std::alloc::System;

use fedweave::Matrix;
use fedweave::solve::PrimalDual;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn iterations_do_not_allocate() {
    for golden in common::all() {
        let (n, d, edges) = (golden.problem.nodes(), golden.problem.dim(), golden.problem.graph().edges());
        let mut method = PrimalDual::new(&golden.problem, Matrix::zeros(n, d), Matrix::zeros(edges, d), 1.0);
        method.iterate();
        let region = Region::new(GLOBAL);
        (0..20).for_each(|_| method.iterate());
        assert_eq!(region.change().allocations, 0, "{}", golden.name);
    }
}
