//! Answers of Algorithm 2, for models of any class: the candidate fits the model to its own rows and, so that it stays close,
//! to what the model said on test rows of the node that asks:
//!
//! ```text
//! h_c = argmin_h  eta L_c(h) + mean_{x in test} (h(x) - h_now(x))^2
//! ```

use std::marker::PhantomData;

use super::Candidates;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::matrix::Rows;
use crate::model::LocalModel;
use crate::model::relax::{Buffers, Discrepancy, Predictions, PublicRows, Pull, Site};

/// Candidates that answer with a fitted model of class `M`; their rows are private to their [`Site`]s.
pub struct Retrain<M> {
    sites: Vec<Site>,
    test: PublicRows,
    eta: f64,
    discrepancy: Discrepancy,
    class: PhantomData<fn(M)>,
}

impl<M: LocalModel + Clone + 'static> Retrain<M> {
    /// The nodes of `data`; `test` are rows without labels, `eta` weighs the candidate's rows against them; `blank` is a
    /// model that is not fitted yet, of the class that nodes ask about.
    pub fn new(data: &Dataset, blank: &M, test: PublicRows, eta: f64, discrepancy: Discrepancy) -> Result<Self> {
        if !(eta > 0.0 && eta.is_finite()) {
            return Err(Error::Parameter { name: "learning rate", value: eta, needs: "positive and finite" });
        }
        check_test(&test, data.dim())?;
        let site = |node: usize| {
            let x = Rows::new(data.dim(), data.features(node));
            Site::new(blank.task(), x, data.labels(node), data.weights(node), Box::new(blank.clone()))
                .map_err(|e| Error::Fit { node, source: e })
        };
        let sites = (0..data.nodes()).map(site).collect::<Result<Vec<_>>>()?;
        Ok(Retrain { sites, test, eta, discrepancy, class: PhantomData })
    }

    /// From now on the test rows are these, of another node that asks.
    pub fn ask_about(&mut self, test: PublicRows) -> Result<()> {
        check_test(&test, self.test.x().cols())?;
        self.test = test;
        Ok(())
    }

    /// What node `own` can do alone: `model` fitted to its own rows, to start from.
    pub fn start(&self, own: usize, mut model: M) -> Result<M> {
        self.sites[own]
            .teach(&mut model, 1.0, &[], &mut Buffers::default())
            .map_err(|e| Error::Fit { node: own, source: e })?;
        Ok(model)
    }
}

fn check_test(test: &PublicRows, expected: usize) -> Result<()> {
    match test.x().cols() {
        found if found == expected => Ok(()),
        found => Err(Error::Size { what: "features of the test rows", expected, found }),
    }
}

impl<M: LocalModel + Clone + 'static> Candidates for Retrain<M> {
    type Model = M;

    fn nodes(&self) -> usize {
        self.sites.len()
    }

    fn answer(&self, candidate: usize, model: &M, out: &mut M) -> Result<()> {
        let locate = |e| Error::Fit { node: candidate, source: e };
        let says = Predictions::of(model, &self.test).map_err(locate)?;
        let pull = Pull { rows: &self.test, says: &says, weight: 1.0 / self.test.len() as f64 };
        // A model that goes on from where it stands goes on from the one it was asked about.
        out.clone_from(model);
        self.sites[candidate].teach(out, self.eta, &[pull], &mut Buffers::default()).map_err(locate)
    }

    fn own_loss(&self, own: usize, model: &M) -> f64 {
        self.sites[own].loss_of(model, self.discrepancy).ok().flatten().unwrap_or(f64::NAN)
    }

    fn message(&self, model: &M) -> (usize, usize) {
        // Predictions there; a model back, counted as what it says about the test rows.
        let numbers = self.test.len() * model.task().outputs();
        (numbers, numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Asking, learn};
    use super::*;
    use crate::matrix::{Matrix, dot};
    use crate::model::relax::{PublicSource, sample_public};
    use crate::model::{Local, ModelSpec, Task, Workspace};
    use crate::synthetic::{Options, Synthetic, generate};

    fn made() -> Synthetic {
        generate(&Options { nodes: 24, dim: 6, rows: 8, noise: 0.1, ..Options::default() }).unwrap()
    }

    fn ridge() -> ModelSpec {
        "ridge alpha=0.001".parse().unwrap()
    }

    fn blank(spec: &ModelSpec) -> Local {
        Local::new(spec.clone(), Task::Regression, 0).unwrap()
    }

    fn retrain(made: &Synthetic, spec: &ModelSpec, eta: f64) -> Retrain<Local> {
        let test = sample_public(&made.data, PublicSource::Normal, 40, 9).unwrap().remove(0);
        Retrain::new(&made.data, &blank(spec), test, eta, Discrepancy::Squared).unwrap()
    }

    /// (6) by hand: rows of the candidate with `eta` in all, test rows labelled by the model with 1 in all.
    #[test]
    fn an_answer_is_the_fit_of_the_papers_update() {
        let (made, spec) = (made(), ridge());
        let retrain = retrain(&made, &spec, 0.7);
        let start = retrain.start(0, blank(&spec)).unwrap();
        let mut answer = start.clone();
        retrain.answer(5, &start, &mut answer).unwrap();
        let mut labels = vec![0.0; 40];
        start.predict(retrain.test.x(), &mut labels).unwrap();
        let x = [made.data.features(5), retrain.test.x().as_slice()].concat();
        let y = [made.data.labels(5), &labels].concat();
        let weight = [vec![0.7 / 8.0; 8], vec![1.0 / 40.0; 40]].concat();
        let mut by_hand = spec.build(Task::Regression, 0).unwrap();
        by_hand.fit(Rows::new(6, &x), Rows::new(1, &y), &weight, &mut Workspace::default()).unwrap();
        let (mut a, mut b) = (vec![0.0; 40], vec![0.0; 40]);
        answer.predict(retrain.test.x(), &mut a).unwrap();
        by_hand.predict(retrain.test.x(), &mut b).unwrap();
        assert_eq!(a, b);
    }

    #[test]
    fn a_node_learns_from_its_cluster_with_any_model() {
        let made = made();
        for (spec, factor) in [(ridge(), 0.2), ("tree max-depth=4".parse().unwrap(), 1.0)] {
            let retrain = retrain(&made, &spec, 0.5);
            let start = retrain.start(0, blank(&spec)).unwrap();
            let fresh: Vec<f64> =
                sample_public(&made.data, PublicSource::Normal, 200, 77).unwrap()[1].x().as_slice().to_vec();
            let error = |model: &Local| {
                let mut out = vec![0.0; 200];
                model.predict(Rows::new(6, &fresh), &mut out).unwrap();
                fresh.chunks_exact(6).zip(&out).map(|(x, p)| (dot(x, made.truth.row(0)) - p).powi(2)).sum::<f64>()
                    / 200.0
            };
            let asking = Asking { candidates: 10, rounds: 40, seed: 1 };
            let learnt = learn(&retrain, 0, start.clone(), &asking, |_, _| ()).unwrap();
            assert!(
                error(&learnt.model) < factor * error(&start),
                "{spec}: {} {}",
                error(&learnt.model),
                error(&start)
            );
            assert!(learnt.teachers().iter().all(|t| t.0 != 0));
        }
        let test = sample_public(&made.data, PublicSource::Normal, 5, 9).unwrap().remove(0);
        let new = |eta, test| Retrain::new(&made.data, &blank(&ridge()), test, eta, Discrepancy::Squared).is_err();
        assert!(new(0.0, test.clone()) && !new(1.0, test));
        assert!(new(1.0, PublicRows::new(Matrix::zeros(2, 3)).unwrap()));
    }
}
