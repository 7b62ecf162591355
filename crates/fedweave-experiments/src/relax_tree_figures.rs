//! What the FedRelax paper says about trees, checked: Figure 2 on clusters, Figure 4 on mixtures.

use fedweave::synthetic::{Network as Blocks, Options, generate};

use crate::relax_mixtures;
use crate::relax_trees::{COUPLINGS, DIMS, Draw, Measured, ROWS, SIGMAS, coupling, run_all};
use crate::rivals::first_rows;
use crate::{Check, Error, Outcome, Progress, Setting, short};

const NODES: usize = 150;
const VALIDATION_ROWS: usize = 100;

pub fn figure_2(setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let (measured, runs) = run_all(setting, progress, |dim, noise, seed| {
        let network = Blocks::Blocks { p_in: 0.8, p_out: 0.2 };
        let (nodes, clusters, rows) = (NODES, 3, ROWS + VALIDATION_ROWS);
        let made = generate(&Options { network, nodes, clusters, dim, rows, noise, seed, ..Options::default() })?;
        let (train, validation) = first_rows(&made.data, ROWS);
        Ok(Draw { graph: made.graph, train, validation, clusters: Some(made.cluster) })
    })?;
    let mut found = measured.outcome(runs, "figure2", "Trees, three clusters of 50 nodes", "the oracle's trees");
    for &d in DIMS.iter().filter(|&&d| d >= ROWS && !measured.normalised("local", d, 0.0).0.is_nan()) {
        found.checks.push(best_below(&measured, d, 0.0, "falls where d/m is at least 1"));
    }
    found.checks.push(best_below(&measured, 10, 5.0, "falls at high noise"));
    Ok(found)
}

pub fn figure_4(setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let (measured, runs) = run_all(setting, progress, |dim, sigma, seed| {
        let (graph, train, validation) = relax_mixtures::draw_rows(dim, sigma, seed)?;
        Ok(Draw { graph, train, validation, clusters: None })
    })?;
    let mut found = measured.outcome(runs, "figure4", "Trees on mixtures of three linear models", "local trees");
    for &d in DIMS.iter().filter(|&&d| !measured.normalised("local", d, 0.0).0.is_nan()) {
        found.checks.push(best_below(&measured, d, 0.0, "lower at every d/m"));
    }
    for sigma in &SIGMAS[1..] {
        found.checks.push(best_below(&measured, 10, *sigma, "lower with noise"));
    }
    let harm = |d: usize| measured.normalised(&coupling(COUPLINGS[1]), d, 0.0).1;
    let ours = format!("{} at d/m 0.2, {} at d/m 1", short(harm(2)), short(harm(10)));
    let what = format!("error over that of local trees, {}", coupling(COUPLINGS[1]));
    found.checks.push(Check::new(what, "strong coupling helps less where d/m is low", ours, harm(2) > harm(10)));
    Ok(found)
}

/// Coupled trees are better than local ones: the best coupling, and how all of them do.
fn best_below(measured: &Measured, d: usize, sigma: f64, printed: &str) -> Check {
    let local = measured.normalised("local", d, sigma).0;
    let all: Vec<(String, f64)> =
        COUPLINGS.map(|how| (coupling(how), measured.normalised(&coupling(how), d, sigma).1)).into();
    let best = all.iter().map(|a| a.1).fold(f64::INFINITY, f64::min);
    let each = all.iter().map(|(how, error)| format!("{} with {how}", short(*error))).collect::<Vec<_>>().join(", ");
    let what = format!("validation error over the reference, d/m = {}, sigma = {sigma}", d as f64 / ROWS as f64);
    Check::new(what, printed, format!("{} without coupling; {each}", short(local)), best < local)
}
