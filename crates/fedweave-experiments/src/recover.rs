//! The interval of `lambda` in which the models are exactly those of a partition.

use fedweave::Problem;
use fedweave::cluster::clusters;
use fedweave::graph::partition::Partition;
use fedweave::path::same;
use fedweave::solve::{Settings, Solution, Start, Watch, solve};

use crate::Error;

/// Clusters need accurate models.
const TOLERANCE: f64 = 1e-9;

/// A problem solved at one `lambda` after another, each started from the last.
pub struct Walk {
    problem: Problem,
    start: Option<Start>,
}

impl Walk {
    /// Nothing is solved yet.
    pub fn new(problem: Problem) -> Self {
        Walk { problem, start: None }
    }

    /// The solution.
    pub fn at(&mut self, lambda: f64) -> Result<Solution, Error> {
        self.problem.set_lambda(lambda)?;
        let settings = Settings { tolerance: TOLERANCE, ..Settings::default() };
        let solution = solve(&self.problem, &settings, self.start.take(), &mut |_| Watch::Continue);
        self.start = Some(Start::from(&solution));
        Ok(solution)
    }

    /// Who has the same model.
    pub fn partition(&self, solution: &Solution) -> Partition {
        clusters(&self.problem, &solution.w, &solution.u).partition
    }

    /// The problem at the last `lambda`.
    pub fn problem(&mut self) -> &mut Problem {
        &mut self.problem
    }

    /// The largest interval around `inside`, up to the ends `low` and `high`, in which the models are those of `wanted`;
    /// its ends are bracketed to the relative width 1e-4, and the inner bounds returned.
    pub fn interval(&mut self, wanted: &Partition, inside: f64, low: f64, high: f64) -> Result<(f64, f64), Error> {
        Ok((self.end(wanted, inside, low)?, self.end(wanted, inside, high)?))
    }

    fn end(&mut self, wanted: &Partition, mut inside: f64, mut outside: f64) -> Result<f64, Error> {
        while (outside / inside).max(inside / outside) > 1.0001 {
            let middle = (outside * inside).sqrt();
            let solution = self.at(middle)?;
            match same(&self.partition(&solution), wanted, self.problem.nodes()) {
                true => inside = middle,
                false => outside = middle,
            }
        }
        Ok(inside)
    }
}
