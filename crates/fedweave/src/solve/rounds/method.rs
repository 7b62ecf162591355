//! Methods that work in rounds, between which models travel: one interface for those over the edges of the graph and those
//! with a server, and one loop that runs them and writes down what was reached at what cost.

use std::ops::ControlFlow;

use crate::accounting::Traffic;
use crate::matrix::Matrix;

/// A method that exchanges messages in rounds. It owns its iterate; the loop owns the rest.
///
/// ```
/// use fedweave::graph::generate::chain;
/// use fedweave::loss::{Family, LossOptions};
/// use fedweave::penalty::SquaredNorm;
/// use fedweave::solve::{FedGd, run_rounds};
/// use fedweave::{Dataset, Matrix, Problem};
/// let points = Matrix::from_rows(1, vec![0.0, 3.0]);
/// let data = Dataset::new(vec![0, 1, 2], points, vec![0.0; 2], vec![1.0; 2])?;
/// let loss = Family::Point.build(data, &LossOptions::default())?;
/// let problem = Problem::build(chain(2)?, loss, Box::new(SquaredNorm), 1.0)?;
/// let mut method = FedGd::new(&problem, None)?;
/// let history = run_rounds(&mut method, 200, 50, &mut |w| problem.objective(w));
/// // w = (1, 2) minimises w_1^2 + (w_2 - 3)^2 + (w_1 - w_2)^2; a round sends 2 messages of 8 bytes.
/// assert!((history.last().value - 3.0).abs() < 1e-9);
/// assert_eq!(history.last().bytes, 200 * 16);
/// # Ok::<(), fedweave::Error>(())
/// ```
pub trait Method {
    /// Name, as on the command line.
    fn name(&self) -> &'static str;
    /// One round: exchange, then update.
    fn round(&mut self);
    /// The models, a row per node. With a server, the model that each node would use.
    fn models(&self) -> &Matrix;
    /// What was sent and computed so far.
    fn traffic(&self) -> &Traffic;
    /// The flows, a row per edge, if the method has any; otherwise they follow from the models.
    fn flows(&self) -> Option<Matrix> {
        None
    }
    /// How far the last round moved the models, in units of their gradients, if the method does not lead to the minimum of
    /// `F` but to another fixed point.
    fn fixed_point_residual(&self) -> Option<f64> {
        None
    }
}

/// One line of the history of a method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundRecord {
    /// Rounds done.
    pub round: usize,
    /// What the caller measured: an objective, an error.
    pub value: f64,
    /// Messages sent so far.
    pub messages: u64,
    /// Bytes sent so far.
    pub bytes: u64,
    /// Floating-point operations so far.
    pub flops: f64,
}

/// What was seen on the way, from before the first round to after the last.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// In the order of the rounds; never empty.
    pub records: Vec<RoundRecord>,
}

impl History {
    /// The last record.
    pub fn last(&self) -> &RoundRecord {
        self.records.last().expect("a history is never empty")
    }

    /// The record with the smallest value.
    pub fn best(&self) -> &RoundRecord {
        self.records.iter().min_by(|a, b| nan_last(a.value).total_cmp(&nan_last(b.value))).unwrap_or(self.last())
    }
}

/// Infinite if it is not a number.
fn nan_last(value: f64) -> f64 {
    if value.is_nan() { f64::INFINITY } else { value }
}

/// Runs so many rounds and measures the models before the first, after every `every`-th and after the last. Ends early
/// when the measured value is no longer finite.
pub fn run_rounds(
    method: &mut dyn Method,
    rounds: usize,
    every: usize,
    measure: &mut dyn FnMut(&Matrix) -> f64,
) -> History {
    run_rounds_until(method, rounds, every, &mut |method| ControlFlow::Continue(measure(method.models())))
}

/// Like [`run_rounds`], until `watch` breaks with the last value. It may look at the whole method.
pub fn run_rounds_until(
    method: &mut dyn Method,
    rounds: usize,
    every: usize,
    watch: &mut dyn FnMut(&dyn Method) -> ControlFlow<f64, f64>,
) -> History {
    let mut records = Vec::new();
    for round in 0..=rounds {
        if round > 0 {
            method.round();
        }
        if round.is_multiple_of(every.max(1)) || round == rounds {
            let seen = watch(method);
            let (ControlFlow::Continue(value) | ControlFlow::Break(value)) = seen;
            let traffic = method.traffic();
            let (messages, bytes, flops) = (traffic.messages(), traffic.bytes(), traffic.flops());
            records.push(RoundRecord { round, value, messages, bytes, flops });
            if seen.is_break() || !value.is_finite() {
                break;
            }
        }
    }
    History { records }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Doubles its only number and sends it.
    struct Doubling(Matrix, Traffic);

    impl Method for Doubling {
        fn name(&self) -> &'static str {
            "doubling"
        }
        fn round(&mut self) {
            self.0.as_mut_slice()[0] *= 2.0;
            self.1.send(0, 1, 1);
            self.1.compute(1.0);
            self.1.end_round();
        }
        fn models(&self) -> &Matrix {
            &self.0
        }
        fn traffic(&self) -> &Traffic {
            &self.1
        }
    }

    fn doubling() -> Doubling {
        Doubling(Matrix::from_rows(1, vec![1.0]), Traffic::new(1))
    }

    #[test]
    fn the_first_every_kth_and_the_last_round_are_measured() {
        let history = run_rounds(&mut doubling(), 7, 3, &mut |w| w.row(0)[0]);
        let seen: Vec<_> = history.records.iter().map(|r| (r.round, r.value, r.bytes, r.messages, r.flops)).collect();
        assert_eq!(seen, [(0, 1.0, 0, 0, 0.0), (3, 8.0, 24, 3, 3.0), (6, 64.0, 48, 6, 6.0), (7, 128.0, 56, 7, 7.0)]);
        assert_eq!((history.best().round, history.last().round), (0, 7));
    }

    #[test]
    fn the_loop_ends_when_asked_to_and_when_numbers_overflow() {
        let large = |m: &dyn Method| match m.models().row(0)[0] {
            v if v > 10.0 => ControlFlow::Break(v),
            v => ControlFlow::Continue(v),
        };
        assert_eq!(run_rounds_until(&mut doubling(), 100, 1, &mut { large }).last().round, 4);
        let history = run_rounds(&mut doubling(), 2000, 1, &mut |w| w.row(0)[0]);
        assert_eq!((history.last().round, history.best().value), (1024, 1.0));
    }
}
