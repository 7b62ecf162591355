//! The solver against optima found by independent solvers.

mod common;

use fedweave::solve::{Settings, Watch, solve};

#[test]
fn primal_dual_reaches_every_optimum() {
    for golden in common::all() {
        let start = std::time::Instant::now();
        let s = solve(&golden.problem, &Settings::default(), None, &mut |_| Watch::Continue);
        let scale = golden.objective.abs().max(1.0);
        println!(
            "{:45} {:?} it {:6} F-F* {:9.2e} gap {:?} kkt {:8.1e} ratio {:.3e} {:.3}s",
            golden.name, s.status, s.iterations, (s.objective - golden.objective) / scale,
            s.certified_gap.map(|g| format!("{:.2e}", g / scale)), s.kkt.residual(), s.step_ratio,
            start.elapsed().as_secs_f64(),
        );
    }
}
