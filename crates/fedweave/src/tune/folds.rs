//! `lambda` by cross-validation: the path of every fold, warm-started, side by side.

use rayon::prelude::*;

use super::{Errors, Rule, Tried, Tuning, choose, next_decade, tune_rows};
use crate::dataset::Dataset;
use crate::error::Result;
use crate::folds::Folds;
use crate::loss::{LossOptions, LossSpec};
use crate::matrix::Matrix;
use crate::problem::Problem;
use crate::solve::{Record, Settings, Watch};

/// How many decades an open grid may grow by.
const DECADES_MORE: usize = 4;

/// What folds say about `lambda`.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldTuning {
    /// Errors of every node over all rows held out in turn; models are those of the first fold.
    pub tuning: Tuning,
    /// Models of every fold at the chosen value.
    pub by_fold: Vec<Matrix>,
}

/// What is solved on every fold.
pub struct FoldTask<'a> {
    /// The problem on some rows; `lambda` does not matter.
    pub problem: &'a (dyn Fn(Dataset) -> Result<Problem> + Sync),
    /// The losses that judge.
    pub loss: &'a LossSpec,
    /// All rows.
    pub data: &'a Dataset,
    /// One or several ways to hold them out in turn.
    pub folds: &'a [Folds],
    /// When to stop.
    pub settings: &'a Settings,
    /// Sees the records of several solves at a time.
    pub watch: &'a (dyn Fn(&Record) -> Watch + Sync),
}

impl FoldTask<'_> {
    /// Tries every `lambda` of `grid`; an `open` grid goes on below its end while the smallest value is the best.
    pub fn tune(&self, grid: &[f64], open: bool, rule: Rule) -> Result<FoldTuning> {
        let mut grid = grid.to_vec();
        grid.sort_by(|a, b| b.total_cmp(a));
        let mut paths = self.paths(&grid)?;
        for _ in 0..DECADES_MORE {
            let at_end = choose(&self.pooled(&paths), Rule::Minimum) + 1 == paths[0].len();
            let Some(more) = next_decade(&grid, 0.0).filter(|_| open && at_end) else { break };
            for (path, further) in paths.iter_mut().zip(self.paths(&more)?) {
                path.extend(further);
            }
            grid.extend(more);
        }
        let tried = self.pooled(&paths);
        let chosen = choose(&tried, rule);
        let by_fold = paths.into_iter().map(|mut path| path.swap_remove(chosen).w).collect();
        Ok(FoldTuning { tuning: Tuning { tried, chosen }, by_fold })
    }

    fn pieces(&self) -> Vec<(&Folds, usize)> {
        self.folds.iter().flat_map(|folds| (0..folds.count()).map(move |k| (folds, k))).collect()
    }

    fn paths(&self, grid: &[f64]) -> Result<Vec<Vec<Tried>>> {
        let path = |&(folds, k): &(&Folds, usize)| {
            let (train, held) = (self.data.select(&folds.train(k)), self.data.select(&folds.validation(k)));
            let mut problem = (self.problem)(train.clone())?;
            let (rule, watch) = (Rule::Minimum, &mut |_: usize, record: &Record| (self.watch)(record));
            let tuning = tune_rows(&mut problem, self.loss, &train, &held, grid, false, rule, self.settings, watch)?;
            Ok(tuning.tried)
        };
        let paths: Vec<Vec<Tried>> = self.pieces().par_iter().map(path).collect::<Result<_>>()?;
        // Paths that were broken off are as long as the shortest.
        let length = paths.iter().map(Vec::len).min().unwrap_or(0);
        Ok(paths.into_iter().map(|path| path.into_iter().take(length).collect()).collect())
    }

    /// Errors of all folds together: every held-out row of a node counts the same.
    fn pooled(&self, paths: &[Vec<Tried>]) -> Vec<Tried> {
        let held: Vec<Dataset> = self.pieces().iter().map(|(f, k)| self.data.select(&f.validation(*k))).collect();
        let trained: Vec<Dataset> = self.pieces().iter().map(|(f, k)| self.data.select(&f.train(*k))).collect();
        let of = |k: usize| Tried {
            lambda: paths[0][k].lambda,
            train: mean_errors(&trained, |fold| &paths[fold][k].train),
            validation: mean_errors(&held, |fold| &paths[fold][k].validation),
            w: paths[0][k].w.clone(),
            converged: paths.iter().all(|path| path[k].converged),
        };
        (0..paths[0].len()).map(of).collect()
    }
}

/// Errors of every node over all rows that are held out, by models of the rows that the folds train with.
pub fn pooled_errors(
    data: &Dataset,
    folds: &Folds,
    loss: &LossSpec,
    models: impl Fn(&Dataset) -> Result<Matrix> + Sync,
) -> Result<Errors> {
    let judged = |k: usize| {
        let held = data.select(&folds.validation(k));
        let w = models(&data.select(&folds.train(k)))?;
        let errors = Errors::of(&*loss.build(held.clone(), &LossOptions::default())?, &w);
        Ok((held, errors))
    };
    let judged: Vec<(Dataset, Errors)> = (0..folds.count()).into_par_iter().map(judged).collect::<Result<_>>()?;
    let (held, errors): (Vec<Dataset>, Vec<Errors>) = judged.into_iter().unzip();
    Ok(mean_errors(&held, |fold| &errors[fold]))
}

/// Errors of every node over several sets of rows, each row counting the same.
pub(crate) fn mean_errors<'a>(rows: &[Dataset], errors: impl Fn(usize) -> &'a Errors) -> Errors {
    let of = |node: usize| {
        let parts = rows.iter().enumerate().filter_map(|(k, data)| {
            let weight: f64 = data.weights(node).iter().sum();
            Some((weight, weight * errors(k).by_node[node]?))
        });
        let (weight, sum) = parts.fold((0.0, 0.0), |(w, s), (weight, error)| (w + weight, s + error));
        (weight > 0.0).then(|| sum / weight)
    };
    Errors { by_node: (0..rows[0].nodes()).map(of).collect() }
}
