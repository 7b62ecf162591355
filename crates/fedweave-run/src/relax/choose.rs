//! Choosing lambda on held-out rows.

use fedweave::model::Task;
use fedweave::tune::Errors;
use fedweave_io::Input;

use super::calibrate::scores;
use super::{Apart, ModelRows, ModelSource, errors};
use crate::error::Result;
use crate::predictor::named;
use crate::request::RelaxRequest;
use crate::watch::Observer;

/// What was tried, and the winner.
pub struct Chosen {
    /// Values of lambda with errors on held-out rows, smallest first.
    pub tried: Vec<(f64, Errors)>,
    local: Errors,
    best: usize,
    scores: Vec<(usize, f64)>,
}

impl Chosen {
    /// The winner.
    pub fn lambda(&self) -> f64 {
        self.tried[self.best].0
    }

    /// Errors with the chosen lambda.
    pub fn networked(&self) -> &Errors {
        &self.tried[self.best].1
    }

    /// Scores of held-out rows with the chosen lambda.
    pub(super) fn scores(&self) -> &[(usize, f64)] {
        &self.scores
    }

    /// Errors of every node alone.
    pub fn local(&self) -> &Errors {
        &self.local
    }
}

/// Trains without the held-out rows for every lambda of the grid; the smallest mean error wins, the smaller lambda of equals.
pub(super) fn choose(
    request: &RelaxRequest,
    input: &Input,
    task: Task,
    source: &dyn ModelSource,
    apart: &Apart,
    observer: &dyn Observer,
) -> Result<Chosen> {
    let training = ModelRows::new(request, input, apart.rows.clone())?;
    let held = apart.validation(&training);
    let mut grid = request.grid.clone();
    grid.sort_by(f64::total_cmp);
    grid.dedup();
    if input.graph.edges() == 0 {
        // Without edges there is nothing to choose.
        grid = vec![0.0];
    }
    let (mut tried, mut scored) = (Vec::new(), Vec::new());
    let mut local = None;
    for (k, &lambda) in grid.iter().enumerate() {
        observer.advance("lambda", k, grid.len());
        let mut relax = training.start(request, input, task, source, lambda)?;
        if local.is_none() {
            local = Some(errors(&relax, &held, task, input)?);
        }
        for _ in 0..if lambda > 0.0 { request.rounds } else { 0 } {
            relax.round().map_err(|e| named(e, input))?;
        }
        tried.push((lambda, errors(&relax, &held, task, input)?));
        scored.push(scores(&relax, &held, task, input)?);
    }
    let error = |k: usize| tried[k].1.mean().filter(|e| e.is_finite()).unwrap_or(f64::INFINITY);
    let best = (1..tried.len()).fold(0, |best, k| if error(k) < error(best) { k } else { best });
    let local = local.expect("a grid is never empty");
    Ok(Chosen { tried, local, best, scores: scored.swap_remove(best) })
}
