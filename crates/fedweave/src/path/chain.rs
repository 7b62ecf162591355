//! A grid in chains: parts of it that are solved side by side. One small problem cannot keep all cores busy; several can.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::start::Predictor;
use super::{Path, PathPoint, PathSettings, PathWatch, breakpoints, broken_off, solve_at};
use crate::error::Result;
use crate::matrix::Matrix;
use crate::problem::Problem;
use crate::solve::{Record, Solution, Status, Watch};

/// Values of a chain, at least: the first one has nothing to start from.
const LENGTH: usize = 25;
/// Numbers of all nodes and edges up to which a problem is small.
const SMALL: usize = 200_000;

/// The chains of a grid. How many there are does not depend on the number of threads, so neither do results.
pub(super) fn chains(problem: &Problem, values: usize, settings: &PathSettings) -> Vec<Range<usize>> {
    let numbers = problem.dim() * (problem.nodes() + problem.graph().edges());
    // Changes of clusters are looked for between neighbours, one after the other.
    let count = if numbers <= SMALL && settings.breakpoints.is_none() { (values / LENGTH).max(1) } else { 1 };
    (0..count).map(|c| c * values / count..(c + 1) * values / count).collect()
}

/// The watcher of all chains. It hears of the first one that is not finished, so of values in the order of the grid.
pub(super) struct Heeding<'a> {
    watch: Mutex<&'a mut dyn PathWatch>,
    stop: OnceLock<Status>,
    finished: Vec<AtomicBool>,
}

impl<'a> Heeding<'a> {
    pub fn new(watch: &'a mut dyn PathWatch, chains: usize) -> Self {
        let finished = (0..chains).map(|_| AtomicBool::new(false)).collect();
        Heeding { watch: Mutex::new(watch), stop: OnceLock::new(), finished }
    }

    fn watch(&self) -> MutexGuard<'_, &'a mut dyn PathWatch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The watcher wants to stop; remembered also if a solution was finished in the same moment.
    pub fn stop(&self) -> Option<Status> {
        self.stop.get().copied()
    }

    pub fn keep(&self, k: usize, point: &PathPoint, solution: &Solution) {
        self.watch().keep(k, point, solution);
    }

    pub fn models(&self, w: &Matrix) -> Option<Matrix> {
        self.watch().models(w)
    }

    fn see(&self, chain: usize, k: usize, record: &Record) -> Watch {
        if let Some(status) = self.stop() {
            return Watch::Stop(status);
        }
        if !self.finished[..chain].iter().all(|finished| finished.load(Ordering::Acquire)) {
            return Watch::Continue;
        }
        let decision = self.watch().see(k, record);
        if let Watch::Stop(status) = decision {
            self.stop.get_or_init(|| status);
        }
        decision
    }
}

/// One chain.
pub(super) struct Chain<'a> {
    pub number: usize,
    /// Its part of the grid.
    pub positions: Range<usize>,
    pub settings: &'a PathSettings<'a>,
    pub heeding: &'a Heeding<'a>,
}

impl Chain<'_> {
    /// What the watcher thinks of a check at position `k`.
    pub fn see(&self, k: usize, record: &Record) -> Watch {
        self.heeding.see(self.number, k, record)
    }

    /// Solves its part of the grid in order, each value started from the ones before.
    pub fn walk(
        &self,
        problem: &mut Problem,
        lambdas: &[f64],
        keep: &mut dyn FnMut(usize, &PathPoint, &Solution),
    ) -> Result<Path> {
        let mut found = Path::default();
        let mut predictor = Predictor::new(self.settings.lambda_max);
        let mut last: Option<(PathPoint, Solution)> = None;
        for k in self.positions.clone() {
            let (point, solution) = solve_at(problem, lambdas[k], &self.settings.solve, &predictor, k, self)?;
            if let Some(status) = broken_off(point.status) {
                found.stopped = Some(status);
                break;
            }
            keep(k, &point, &solution);
            found.points.push(point.clone());
            predictor.learn(lambdas[k], &solution, &point.partition);
            if let Some(status) = self.heeding.stop() {
                found.stopped = Some(status);
                break;
            }
            let Some(width) = self.settings.breakpoints else { continue };
            let now = (point, solution);
            if let Some(before) = &last {
                let search = breakpoints::BreakpointSearch { width, chain: self, at: k };
                found.stopped = search.run(problem, before, &now, &mut found.breakpoints)?;
                if found.stopped.is_some() {
                    break;
                }
            }
            last = Some(now);
        }
        self.heeding.finished[self.number].store(true, Ordering::Release);
        Ok(found)
    }
}
