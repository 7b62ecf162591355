//! The fit of a run, to be repeated on other rows and graphs.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use fedweave_io::{Input, InputSpec, load, read_json};
use rayon::prelude::*;
use serde_json::Value;

use crate::again;
use crate::error::{Place, Result, require};
use crate::fit::{FitResult, fit};
use crate::request::FitRequest;
use crate::request::coupling::CouplingChoice;
use crate::request::held_out::HeldOutChoice;
use crate::run_dir::SUMMARY;
use crate::watch::{Observer, SideBySide};

/// A fit with everything chosen: it can be repeated, and no row is held out.
pub(crate) struct Refit {
    /// What is fitted.
    pub request: FitRequest,
    /// All rows of the run.
    pub input: Input,
    /// The summary of the run.
    pub summary: Value,
}

impl Refit {
    /// The fit of a run, with the lambda that it chose; `group` names the column that tells groups apart.
    pub fn of(run: &Path, group: Option<&str>) -> Result<Refit> {
        let (request, spec) = again::request(run)?;
        let protected = group.map(String::from).or(spec.protected.clone());
        if let (Some(fair), Some(group)) = (&request.fair, group) {
            require!(
                fair.column == group,
                "--group {group}: {} was fitted with --fair {}; groups can be compared by that column alone",
                run.display(),
                fair.column
            );
        }
        require!(
            request.privacy.is_none(),
            "{}: its rows are protected (--dp-epsilon), and these numbers would tell about them",
            run.display()
        );
        let summary: Value = read_json(run, SUMMARY).at(format!("{} is not a run directory", run.display()))?;
        let input = load(&InputSpec { protected, ..spec })?;
        let mut refit = Refit { request: settled(request), input, summary };
        if refit.request.lambda.fixed.is_none() && refit.request.coupling == CouplingChoice::Given {
            refit.request.lambda.fixed = refit.summary["lambda"].as_f64();
        }
        Ok(refit)
    }

    /// The models on these rows and this graph.
    pub fn fit(&self, input: Input, observer: &dyn Observer) -> Result<FitResult> {
        let fitted = fit(self.request.clone(), input, &SideBySide(observer))?;
        require!(!observer.interrupted(), "interrupted; nothing is written");
        Ok(fitted)
    }
}

/// The request without what is held out, and without what is done with that.
fn settled(request: FitRequest) -> FitRequest {
    let held_out = HeldOutChoice { spec: None, asked: false, in_turn: None, ..request.held_out };
    FitRequest {
        held_out,
        folds: None,
        calibrate: None,
        fallback: None,
        resume: None,
        warm: None,
        time_limit: None,
        ..request
    }
}

/// `job(0), ..., job(count - 1)` side by side, with progress.
pub(crate) fn side_by_side<T: Send>(
    what: &str,
    count: usize,
    observer: &dyn Observer,
    job: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let done = AtomicUsize::new(0);
    observer.advance(what, 0, count);
    let piece = |k: usize| {
        require!(!observer.interrupted(), "interrupted; nothing is written");
        let found = job(k)?;
        observer.advance(what, done.fetch_add(1, Ordering::Relaxed) + 1, count);
        Ok(found)
    };
    (0..count).into_par_iter().map(piece).collect()
}
