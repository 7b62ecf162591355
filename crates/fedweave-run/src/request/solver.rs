//! How accurately to solve, and by what.

use fedweave::solve::{Settings, Solver};

use super::rounds::NAMES;
use super::settings::Reader;
use crate::error::{Result, require};

/// Solvers that see all data, by name; the default first.
pub const EXACT: [(&str, Solver); 4] = [
    ("auto", Solver::Auto),
    ("primal-dual", Solver::PrimalDual),
    ("newton", Solver::Newton),
    ("newton-cg", Solver::NewtonCg),
];

/// When to stop and how to step, of solvers that see all data.
pub(super) fn read(reader: &Reader) -> Result<Settings> {
    let default = Settings::default();
    let tolerance = reader.positive("tolerance")?.unwrap_or(default.tolerance);
    let relaxation = reader.number("relaxation").unwrap_or(default.relaxation);
    require!(relaxation > 0.0 && relaxation < 2.0, "--relaxation {relaxation}: must be between 0 and 2");
    // With a solver that exchanges messages, lambda is chosen by the default one.
    let solvers: Vec<_> = EXACT.into_iter().chain(NAMES.map(|name| (name, Solver::Auto))).collect();
    Ok(Settings {
        tolerance,
        solver: reader.choice("solver", &solvers)?,
        relaxation,
        iterations_max: reader.count("max-iterations").unwrap_or(default.iterations_max),
        objective_decrease: reader.number_from("objective-decrease", 0.0)?,
        step_ratio: reader.positive("step-ratio")?,
        ..default
    })
}
