//! An iteration does not allocate. Without the test harness, whose own threads do.

#[allow(dead_code)]
mod common;

use std::alloc::System;

use fedweave::Matrix;
use fedweave::solve::PrimalDual;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() {
    // Threads allocate when they start, whenever that is: let them.
    rayon::broadcast(|_| ());
    for golden in common::all() {
        let (n, d, edges) = (golden.problem.nodes(), golden.problem.dim(), golden.problem.graph().edges());
        let mut method =
            PrimalDual::new(&golden.problem, &Matrix::zeros(n, d), &Matrix::zeros(edges, d), 1.0, 1.8, false);
        method.iterate();
        let region = Region::new(GLOBAL);
        (0..20).for_each(|_| method.iterate());
        assert_eq!(region.change().allocations, 0, "{}", golden.name);
    }
    println!("iterations do not allocate: 26 golden problems, 1 passed, 0 failed");
}
