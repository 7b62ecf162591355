//! Answers of Algorithm 2, for models of any class: the candidate fits the model to its own rows and, so that it stays close,
//! to what the model said on test rows of the node that asks:
//!
//! ```text
//! h_c = argmin_h  eta L_c(h) + mean_{x in test} (h(x) - h_now(x))^2
//! ```

use super::Candidates;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::matrix::Rows;
use crate::model::relax::{Buffers, Discrepancy, Predictions, PublicRows, Pull, Site, seed_of};
use crate::model::{Local, LocalModel, ModelSpec, Task};

/// Candidates that answer with a fitted model; their rows are private to their [`Site`]s.
pub struct Retrain {
    sites: Vec<Site>,
    test: PublicRows,
    eta: f64,
    discrepancy: Discrepancy,
}

impl Retrain {
    /// The nodes of `data`; `test` are rows without labels, `eta` weighs the candidate's rows against them.
    pub fn new(
        data: &Dataset,
        task: Task,
        spec: &ModelSpec,
        test: PublicRows,
        eta: f64,
        discrepancy: Discrepancy,
        seed: u64,
    ) -> Result<Self> {
        if !(eta > 0.0 && eta.is_finite()) {
            return Err(Error::Parameter { name: "learning rate", value: eta, needs: "positive and finite" });
        }
        check_test(&test, data.dim())?;
        let site = |node: usize| {
            let model =
                Local::new(spec.clone(), task, seed_of(seed, node)).map_err(|e| Error::Spec { node, source: e })?;
            let x = Rows::new(data.dim(), data.features(node));
            Site::new(task, x, data.labels(node), data.weights(node), Box::new(model))
                .map_err(|e| Error::Fit { node, source: e })
        };
        let sites = (0..data.nodes()).map(site).collect::<Result<Vec<_>>>()?;
        Ok(Retrain { sites, test, eta, discrepancy })
    }

    /// From now on the test rows are these, of another node that asks.
    pub fn ask_about(&mut self, test: PublicRows) -> Result<()> {
        check_test(&test, self.test.x().cols())?;
        self.test = test;
        Ok(())
    }

    /// What node `own` can do alone: a fit to its own rows, to start from.
    pub fn start(&self, own: usize, spec: &ModelSpec, task: Task, seed: u64) -> Result<Local> {
        let mut model =
            Local::new(spec.clone(), task, seed_of(seed, own)).map_err(|e| Error::Spec { node: own, source: e })?;
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

impl Candidates for Retrain {
    type Model = Local;

    fn nodes(&self) -> usize {
        self.sites.len()
    }

    fn answer(&self, candidate: usize, model: &Local, out: &mut Local) -> Result<()> {
        let locate = |e| Error::Fit { node: candidate, source: e };
        let says = Predictions::of(model, &self.test).map_err(locate)?;
        let pull = Pull { rows: &self.test, says: &says, weight: 1.0 / self.test.len() as f64 };
        self.sites[candidate].teach(out, self.eta, &[pull], &mut Buffers::default()).map_err(locate)
    }

    fn own_loss(&self, own: usize, model: &Local) -> f64 {
        self.sites[own].loss_of(model, self.discrepancy).ok().flatten().unwrap_or(f64::NAN)
    }

    fn message(&self, model: &Local) -> (usize, usize) {
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
    use crate::model::Workspace;
    use crate::model::relax::{PublicSource, sample_public};
    use crate::synthetic::{Options, Synthetic, generate};

    fn made() -> Synthetic {
        generate(&Options { nodes: 24, dim: 6, rows: 8, noise: 0.1, ..Options::default() }).unwrap()
    }

    fn ridge() -> ModelSpec {
        "ridge alpha=0.001".parse().unwrap()
    }

    fn retrain(made: &Synthetic, spec: &ModelSpec, eta: f64) -> Retrain {
        let test = sample_public(&made.data, PublicSource::Normal, 40, 9).unwrap().remove(0);
        Retrain::new(&made.data, Task::Regression, spec, test, eta, Discrepancy::Squared, 0).unwrap()
    }

    /// (6) by hand: rows of the candidate with `eta` in all, test rows labelled by the model with 1 in all.
    #[test]
    fn an_answer_is_the_fit_of_the_papers_update() {
        let (made, spec) = (made(), ridge());
        let retrain = retrain(&made, &spec, 0.7);
        let start = retrain.start(0, &spec, Task::Regression, 0).unwrap();
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
            let start = retrain.start(0, &spec, Task::Regression, 0).unwrap();
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
        let new = |eta, test| {
            Retrain::new(&made.data, Task::Regression, &ridge(), test, eta, Discrepancy::Squared, 0).is_err()
        };
        assert!(new(0.0, test.clone()) && !new(1.0, test));
        assert!(new(1.0, PublicRows::new(Matrix::zeros(2, 3)).unwrap()));
    }
}
