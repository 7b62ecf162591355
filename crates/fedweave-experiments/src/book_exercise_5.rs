//! The exercise of section 5.2 of the book: two nodes, two collections of local losses, one learning rate, and how fast
//! the gradient step (5.3) converges as `alpha` (our `lambda`) grows.
//!
//! With losses `c_i (w - b_i)^2` the step multiplies the error by `I - 2 eta Q`, `Q = [[c_1 + alpha, -alpha], [-alpha,
//! c_2 + alpha]]`: the spectral radius is known in closed form, and what FedGD does is compared with it.

use fedweave::graph::generate::chain;
use fedweave::matrix::norm2;
use fedweave::penalty::SquaredNorm;
use fedweave::solve::{FedGd, Method};
use fedweave::{Dataset, Matrix};
use fedweave_report::{Curve, Figure, Panel};

use crate::measure::regression;
use crate::{Check, Error, Outcome, Progress, Setting, Table, short};

const ETA: f64 = 0.5e-3;
const ALPHAS: [f64; 9] = [0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 200.0, 300.0, 400.0];
/// Rounds after which a run that has not arrived is given up.
const ROUNDS_MAX: usize = 50_000;
/// Arrived: the error is this much smaller than at the start.
const ARRIVED: f64 = 1e-6;

/// `L_i(w) = scale_i (w - best_i)^2` at both nodes.
struct Collection {
    name: &'static str,
    scale: [f64; 2],
    best: [f64; 2],
}

const COLLECTIONS: [Collection; 2] = [
    Collection { name: "first", scale: [1.0, 1000.0], best: [-5.0, -5.0] },
    Collection { name: "second", scale: [1000.0, 1000.0], best: [-5.0, 5.0] },
];

impl Collection {
    fn data(&self) -> Result<Dataset, Error> {
        let root = self.scale.map(f64::sqrt);
        let x = Matrix::from_rows(1, root.to_vec());
        let y = vec![root[0] * self.best[0], root[1] * self.best[1]];
        Ok(Dataset::new(vec![0, 1, 2], x, y, vec![1.0; 2])?)
    }

    /// The minimiser, by Cramer's rule on `Q w = c b`.
    fn minimiser(&self, alpha: f64) -> [f64; 2] {
        let [a, d] = self.scale.map(|c| c + alpha);
        let right = [self.scale[0] * self.best[0], self.scale[1] * self.best[1]];
        let determinant = a * d - alpha * alpha;
        [(right[0] * d + alpha * right[1]) / determinant, (a * right[1] + alpha * right[0]) / determinant]
    }

    /// The spectral radius of `I - 2 eta Q`.
    fn rate(&self, alpha: f64) -> f64 {
        let [a, d] = self.scale.map(|c| c + alpha);
        let (middle, half) = ((a + d) / 2.0, (((a - d) / 2.0).powi(2) + alpha * alpha).sqrt());
        [middle - half, middle + half]
            .map(|eigenvalue| (1.0 - 2.0 * ETA * eigenvalue).abs())
            .into_iter()
            .fold(0.0, f64::max)
    }
}

/// What FedGD did.
struct Measured {
    /// Rounds until the error had shrunk to [`ARRIVED`]; `None` if it never did.
    rounds: Option<usize>,
    /// Factor of the error per round, over the last half of them.
    rate: f64,
}

fn measure(collection: &Collection, alpha: f64) -> Result<Measured, Error> {
    let problem = regression(&chain(2)?, &collection.data()?, Box::new(SquaredNorm), alpha)?;
    let best = collection.minimiser(alpha);
    // Not symmetric, so that no eigenvector is missed.
    let start = Matrix::from_rows(1, vec![1.0, 2.0]);
    let error = |w: &Matrix| norm2(&[w.row(0)[0] - best[0], w.row(1)[0] - best[1]]);
    let mut method = FedGd::new(&problem, Some(ETA))?.starting_at(&start);
    let mut errors = vec![error(&start)];
    while errors[errors.len() - 1] > ARRIVED * errors[0] && errors.len() <= ROUNDS_MAX {
        method.round();
        errors.push(error(method.models()));
    }
    let (last, middle) = (errors.len() - 1, (errors.len() - 1) / 2);
    let rate = (errors[last] / errors[middle]).powf(1.0 / (last - middle).max(1) as f64);
    Ok(Measured { rounds: (errors[last] <= ARRIVED * errors[0]).then_some(last), rate })
}

pub fn run(_: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let mut found = Outcome::default();
    let mut table = Table::new("rates", &["collection", "alpha", "rounds", "rate", "rate_in_theory"]);
    let mut panel = Panel {
        x_title: "alpha".into(),
        y_title: "rounds to a millionth of the first error".into(),
        y_log: true,
        ..Panel::default()
    };
    for (k, collection) in COLLECTIONS.iter().enumerate() {
        progress(k, COLLECTIONS.len());
        let mut rounds = Vec::new();
        let mut worst: f64 = 0.0;
        for alpha in ALPHAS {
            let measured = measure(collection, alpha)?;
            let (rate, theory) = (measured.rate, collection.rate(alpha));
            // A rate of zero is one round: nothing to compare it with.
            worst = worst.max(if theory > 1e-3 { (rate - theory).abs() } else { 0.0 });
            rounds.push(measured.rounds.map_or(f64::INFINITY, |r| r as f64));
            let shown = measured.rounds.map_or(f64::NAN, |r| r as f64);
            table.push([collection.name.into(), alpha.into(), shown.into(), rate.into(), theory.into()]);
        }
        found.checks.push(direction(collection, &rounds));
        let what =
            format!("{} collection: error per round against the spectral radius of I - 2 eta Q", collection.name);
        found.checks.push(Check::new(what, "equal", format!("largest difference {}", short(worst)), worst < 1e-3));
        let points = ALPHAS.into_iter().zip(rounds).collect();
        panel.curves.push(Curve { name: format!("{} collection", collection.name), points, spread: vec![] });
    }
    found.tables.push(table);
    found.draw("rounds", Figure { title: "Two nodes, eta = 0.0005".into(), panels: vec![panel] });
    let note = "the book asks and prints no numbers; steps diverge once an eigenvalue of Q passes 1 / eta = 2000, from alpha 667 \
                in the first collection and from alpha 500 in the second";
    found.notes.push(note.into());
    Ok(found)
}

/// Larger alpha is faster in the first collection and slower in the second.
fn direction(collection: &Collection, rounds: &[f64]) -> Check {
    let faster = collection.scale[0] != collection.scale[1];
    let ordered = rounds.windows(2).all(|pair| if faster { pair[1] <= pair[0] } else { pair[1] >= pair[0] });
    let strictly = rounds[0] != rounds[rounds.len() - 1];
    let claim = if faster { "larger alpha speeds up" } else { "larger alpha slows down" };
    let ours =
        format!("{} rounds at alpha 0, {} at alpha {}", rounds[0], rounds[rounds.len() - 1], ALPHAS[ALPHAS.len() - 1]);
    Check::new(format!("{} collection", collection.name), claim, ours, ordered && strictly)
}
