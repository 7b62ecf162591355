//! Lambda by cross-validation: every row is held out once, and all rows train in the end.

use fedweave::folds::Folds;
use fedweave::loss::{LossOptions, LossSpec};
use fedweave::matrix::Matrix;
use fedweave::solve::Settings;
use fedweave::split::{Part, Split};
use fedweave::tune::{Errors, FoldTask, pooled_errors};
use fedweave::{Dataset, baseline};
use fedweave_io::Input;

use super::{Strength, build};
use crate::error::Result;
use crate::held_out::{HeldOutErrors, grid_of, with_best_ridge};
use crate::request::FitRequest;
use crate::training::TrainingRows;
use crate::watch::{Observer, Stage};

/// Chooses lambda on folds, or judges a fixed one.
pub(super) fn strength(
    request: &FitRequest,
    input: &Input,
    loss: &LossSpec,
    fixed: Option<f64>,
    folds: &[Folds],
    observer: &dyn Observer,
) -> Result<Strength> {
    let rows = TrainingRows::new(&request.model, input.data.clone()).scaled;
    let choice = &request.lambda;
    let grid = match (fixed, &choice.grid) {
        (Some(lambda), _) => vec![lambda],
        (None, Some(grid)) => grid.clone(),
        (None, None) => grid_of(request, &mut build(request, input, loss, rows.clone(), 0.0)?, observer)?,
    };
    observer.begin(Stage::new("lambda on folds", request.solve.quick().tolerance));
    let problem = |data: Dataset| build(request, input, loss, data, 0.0).map_err(mathematics);
    let settings = match fixed {
        Some(_) => Settings { tolerance: request.solve.tolerance, ..request.solve.quick() },
        None => request.solve.quick(),
    };
    let task = FoldTask {
        problem: &problem,
        loss,
        data: &rows,
        folds,
        settings: &settings,
        watch: &|record| observer.see(record),
    };
    let found = task.tune(&grid, fixed.is_none() && choice.grid.is_none(), choice.rule)?.tuning;
    let (local, ridge) = local(request, loss, &rows, &folds[0])?;
    let held_out = HeldOutErrors {
        split: all_in_turn(&folds[0]),
        validation: found.best().validation.clone(),
        local,
        local_ridge: Some(ridge),
        global: global(request, loss, &rows, &folds[0])?,
        classes: None,
    };
    let lambda = fixed.unwrap_or(found.best().lambda);
    Ok(Strength { lambda, tuning: Some(found), held_out: Some(held_out), to_judge: None, calibration: None })
}

/// The mathematics asks for problems, and knows errors of the mathematics only: the rest was checked before.
fn mathematics(error: crate::Error) -> fedweave::Error {
    match error {
        crate::Error::Mathematics(error) | crate::Error::Data { cause: error, .. } => error,
        _ => fedweave::Error::Method { method: "cross-validation", needs: "a problem that can be built" },
    }
}

/// Every row that some fold holds out counts as held out.
fn all_in_turn(folds: &Folds) -> Split {
    let part = |row: usize| if folds.of(row).is_some() { Part::Validation } else { Part::Train };
    Split { part: (0..folds.rows()).map(part).collect() }
}

fn local(request: &FitRequest, loss: &LossSpec, rows: &Dataset, folds: &Folds) -> Result<(Errors, f64)> {
    with_best_ridge(&request.model.options, |options| {
        Ok((pooled_errors(rows, folds, loss, |train| baseline::local(loss, train.clone(), options))?, ()))
    })
    .map(|(errors, (), ridge)| (errors, ridge))
}

fn global(request: &FitRequest, loss: &LossSpec, rows: &Dataset, folds: &Folds) -> Result<Option<Errors>> {
    let LossSpec::Same(family) = loss else { return Ok(None) };
    let errors = |options: &LossOptions| {
        let pooled = pooled_errors(rows, folds, loss, |train| {
            let w = baseline::global(*family, train, options)?;
            Ok(Matrix::from_rows(w.len(), w.repeat(train.nodes())))
        })?;
        Ok((pooled, ()))
    };
    with_best_ridge(&request.model.options, errors).map(|best| Some(best.0))
}
