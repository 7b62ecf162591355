//! Successive halving: many candidates on few folds, fewer on more, one on all.

use rayon::prelude::*;

use super::linear::{Given, Linear, LinearFit};
use super::rows::{Rows, Watcher};
use crate::error::Result;
use crate::folds::Folds;

/// Of how many candidates one goes on.
const OF: usize = 4;

/// The best of `all` by halving: on the first fold, the best quarter of them on two, the best of those on all.
pub fn best_given(rows: &Rows, folds: &Folds, all: &[Given], watch: &Watcher) -> Result<(Given, LinearFit)> {
    let mut left: Vec<Given> = all.to_vec();
    let mut looked_at = 1;
    while left.len() > 1 {
        let few = folds.first(looked_at);
        let error = |given: &Given| {
            let (fit, _) = given.on_folds(rows, &few, watch)?;
            Ok(rows.error(&fit.out_of_fold(rows.data, &few, rows.cost)))
        };
        let errors: Vec<f64> = left.par_iter().map(error).collect::<Result<_>>()?;
        let mut order: Vec<usize> = (0..left.len()).collect();
        order.sort_by(|a, b| errors[*a].total_cmp(&errors[*b]));
        left = order[..left.len().div_ceil(OF)].iter().map(|&k| left[k]).collect();
        looked_at += 1;
    }
    let fit = Linear::Given(left[0]).fit(rows, folds, watch)?;
    Ok((left[0], fit))
}
