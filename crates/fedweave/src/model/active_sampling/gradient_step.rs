//! Answers of Algorithm 1: `w - eta grad L_c(w)`.

use super::Candidates;
use crate::error::{Error, Result};
use crate::loss::Loss;

/// Candidates that answer with a gradient step of size `eta`; their losses stay theirs.
pub struct GradientStep<'l> {
    loss: &'l dyn Loss,
    eta: f64,
}

impl<'l> GradientStep<'l> {
    /// The nodes of `loss`, with the learning rate of the node that asks.
    pub fn new(loss: &'l dyn Loss, eta: f64) -> Result<Self> {
        if !(eta > 0.0 && eta.is_finite()) {
            return Err(Error::Parameter { name: "learning rate", value: eta, needs: "positive and finite" });
        }
        Ok(GradientStep { loss, eta })
    }
}

impl Candidates for GradientStep<'_> {
    type Model = Vec<f64>;

    fn nodes(&self) -> usize {
        self.loss.nodes()
    }

    fn answer(&self, candidate: usize, w: &Vec<f64>, out: &mut Vec<f64>) -> Result<()> {
        self.loss.gradient(candidate, w, out);
        out.iter_mut().zip(w).for_each(|(o, w)| *o = w - self.eta * *o);
        Ok(())
    }

    fn own_loss(&self, own: usize, w: &Vec<f64>) -> f64 {
        self.loss.value(own, w)
    }

    fn message(&self, w: &Vec<f64>) -> (usize, usize) {
        (w.len(), w.len())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Asking, learn};
    use super::*;
    use crate::loss::{Family, LossOptions};
    use crate::matrix::{dot, norm2};
    use crate::synthetic::{Options, generate};

    /// Algorithm 1 as printed, on dense rows, without the code under test.
    fn by_hand(made: &crate::synthetic::Synthetic, asked: &[Vec<usize>], eta: f64) -> Vec<f64> {
        let (data, d) = (&made.data, made.data.dim());
        let residual = |r: usize, w: &[f64]| dot(data.x(r), w) - data.y()[r];
        let mut w = vec![0.0; d];
        for candidates in asked {
            let mut best = (f64::INFINITY, w.clone());
            for &c in candidates {
                let mut step = w.clone();
                for r in data.rows(c) {
                    let slope = 2.0 * residual(r, &w) / data.rows(c).len() as f64;
                    step.iter_mut().zip(data.x(r)).for_each(|(s, x)| *s -= eta * slope * x);
                }
                let loss: f64 = data.rows(0).map(|r| residual(r, &step).powi(2)).sum::<f64>();
                if loss < best.0 {
                    best = (loss, step);
                }
            }
            w = best.1;
        }
        w
    }

    #[test]
    fn it_is_algorithm_1_and_finds_the_weights_of_the_cluster() {
        let made = generate(&Options { nodes: 40, dim: 12, rows: 6, noise: 0.0, ..Options::default() }).unwrap();
        let loss = Family::Squared.build(made.data.clone(), &LossOptions::default()).unwrap();
        let candidates = GradientStep::new(&*loss, 0.05).unwrap();
        let asking = Asking { candidates: 10, rounds: 400, seed: 3 };
        let learnt = learn(&candidates, 0, vec![0.0; 12], &asking, |_, _| ()).unwrap();
        let asked: Vec<Vec<usize>> = learnt.rewards.iter().map(|r| r.iter().map(|c| c.0).collect()).collect();
        let twin = by_hand(&made, &asked, 0.05);
        let error = |w: &[f64], to: &[f64]| norm2(&w.iter().zip(to).map(|(a, b)| a - b).collect::<Vec<_>>());
        assert!(error(&learnt.model, &twin) < 1e-10);
        assert!(error(&learnt.model, made.truth.row(0)) < 1e-3 * norm2(made.truth.row(0)));
        let friends = learnt.choices.iter().filter(|c| made.cluster[c.candidate] == made.cluster[0]).count();
        assert!(friends > 390, "{friends} of 400 from the own cluster");
        assert!(GradientStep::new(&*loss, -1.0).is_err());
    }
}
