//! Active sampling: nodes that learn from whoever's answer helps most on their own rows.

use std::sync::Arc;

use fedweave::loss::{Family, Loss, LossOptions, LossSpec};
use fedweave::model::Task;
use fedweave::model::active_sampling::{Asking, Candidates, GradientStep, Learnt, Retrain, learn};
use fedweave::model::relax::{Discrepancy, seed_of};
use fedweave::scaling::Scaling;
use fedweave::{Dataset, Error, Matrix, Result};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::{plain, raised};
use crate::models::{Kept, NodeModel, Wish, task_of};
use crate::relax::{Public, PublicWish, put_scaling};
use crate::rows::{Grouped, Rows};
use crate::watch::{Done, Line, work};

/// A request.
#[derive(FromPyObject)]
pub struct ActiveTask<'py> {
    rows: Rows<'py>,
    /// The nodes that ask.
    own: Vec<usize>,
    /// What each of them asks about: a text or an adapter; none for gradient steps on a linear model.
    models: Option<Vec<Bound<'py, PyAny>>>,
    classes: usize,
    /// Of gradient steps.
    loss: String,
    ridge: f64,
    eta: f64,
    candidates: usize,
    rounds: usize,
    /// Rows on which answers stay close to the model.
    public: Public<'py>,
    standardize: bool,
    threads: usize,
    seed: u64,
}

/// What all nodes need, without Python.
struct Sampling {
    data: Dataset,
    own: Vec<usize>,
    asking: Asking,
    eta: f64,
    standardize: bool,
}

/// What one node learnt; a linear model is its parameters.
struct Pupil {
    model: Option<Kept>,
    w: Vec<f64>,
    choices: Vec<(usize, f64, f64)>,
    rewards: Vec<Vec<(usize, f64)>>,
    teachers: Vec<(usize, usize, f64)>,
    bytes: u64,
}

/// Lets the nodes of `own` learn, one after another.
#[pyfunction]
pub fn active<'py>(py: Python<'py>, task: ActiveTask<'py>) -> PyResult<Bound<'py, PyDict>> {
    let Grouped { data, origin, .. } = task.rows.grouped(py)?;
    let asking = Asking { candidates: task.candidates, rounds: task.rounds, seed: task.seed };
    let (eta, standardize) = (task.eta, task.standardize);
    let sampling = Sampling { data, own: task.own.clone(), asking, eta, standardize };
    let kind = task_of(task.classes);
    let wishes = task.models.as_ref().map(|list| Wish::all(list, kind)).transpose()?;
    let public = task.public.wish(py)?;
    let family = match Family::named(&task.loss, 1.0, 0.5) {
        Some(Family::Multinomial { .. }) => Family::Multinomial { classes: task.classes },
        Some(family) => family,
        None => return Err(plain(py, "ParameterError", &format!("loss {:?} is unknown", task.loss))),
    };
    let options = LossOptions { ridge: task.ridge, spare_last: task.rows.intercept, ..LossOptions::default() };
    let Done { value, interrupt } = work(py, task.threads, None, None, |line| match wishes {
        Some(wishes) => sampling.retrain(&wishes, kind, public, line),
        None => sampling.descend(&LossSpec::Same(family), &options, line),
    })?;
    if let Some(interrupt) = interrupt {
        return Err(interrupt);
    }
    let (pupils, scaling, public) = value.map_err(|error| raised(py, &error, &origin))?;
    let out = PyDict::new(py);
    out.set_item("pupils", PyList::new(py, pupils.iter().map(|p| p.put(py)).collect::<PyResult<Vec<_>>>()?)?)?;
    out.set_item("scaling", put_scaling(py, scaling.as_ref())?)?;
    out.set_item("public", public)?;
    Ok(out)
}

/// What the nodes learnt, the scaling of features, and where public rows came from, in words.
type Lesson = Result<(Vec<Pupil>, Option<Scaling>, String)>;

impl Sampling {
    /// Algorithm 1. Parameters come back in the units of the input.
    fn descend(&self, spec: &LossSpec, options: &LossOptions, line: &Arc<Line>) -> Lesson {
        let scaling = self.standardize.then(|| Scaling::of(&self.data, options.spare_last));
        let rows = scaling.as_ref().map_or_else(|| self.data.clone(), |s| s.apply(&self.data));
        let loss: Box<dyn Loss> = spec.build(rows, options)?;
        let steps = Stoppable { inner: GradientStep::new(&*loss, self.eta)?, line };
        let pupil = |&own: &usize| {
            let learnt = learn(&steps, own, vec![0.0; loss.dim()], &self.asking, |_, _| ())?;
            let mut w = Matrix::from_rows(loss.dim(), learnt.model.clone());
            if let Some(scaling) = &scaling {
                scaling.restore(&mut w);
            }
            Ok(Pupil { w: w.as_slice().to_vec(), ..Pupil::of(&learnt) })
        };
        Ok((self.own.iter().map(pupil).collect::<Result<_>>()?, None, String::new()))
    }

    /// Algorithm 2.
    fn retrain(&self, wishes: &[Wish], task: Task, public: PublicWish, line: &Arc<Line>) -> Lesson {
        let scaling = self.standardize.then(|| Scaling::centred(&self.data));
        let rows = scaling.as_ref().map_or_else(|| self.data.clone(), |s| s.apply(&self.data));
        let (public, words) = public.rows(&rows, scaling.as_ref(), self.asking.seed)?;
        let discrepancy = match task {
            Task::Regression => Discrepancy::Squared,
            Task::Classification { .. } => Discrepancy::CrossEntropy,
        };
        let pupil = |(&own, wish): (&usize, &Wish)| {
            let blank = wish.build(task, seed_of(self.asking.seed, own), line);
            let blank: NodeModel = blank.map_err(|source| Error::Spec { node: own, source })?;
            let test = public.get(if public.len() == 1 { 0 } else { own }).cloned();
            let missing = Error::Size { what: "public datasets, one for all nodes or one each", expected: 1, found: 0 };
            let retrain = Retrain::new(&rows, &blank, test.ok_or(missing)?, self.eta, discrepancy)?;
            let start = retrain.start(own, blank)?;
            let steps = Stoppable { inner: retrain, line };
            let learnt = learn(&steps, own, start, &self.asking, |_, _| ())?;
            Ok(Pupil { model: Some(learnt.model.keep()), ..Pupil::of(&learnt) })
        };
        let pupils = self.own.iter().zip(wishes).map(pupil).collect::<Result<_>>()?;
        Ok((pupils, scaling, words))
    }
}

/// Candidates that stop answering after an interrupt.
struct Stoppable<'l, C> {
    inner: C,
    line: &'l Line,
}

impl<C: Candidates> Candidates for Stoppable<'_, C> {
    type Model = C::Model;

    fn nodes(&self) -> usize {
        self.inner.nodes()
    }

    fn answer(&self, candidate: usize, model: &C::Model, out: &mut C::Model) -> Result<()> {
        match self.line.stopped() {
            true => Err(Error::Method { method: "active sampling", needs: "to be left alone" }),
            false => self.inner.answer(candidate, model, out),
        }
    }

    fn own_loss(&self, own: usize, model: &C::Model) -> f64 {
        self.inner.own_loss(own, model)
    }

    fn message(&self, model: &C::Model) -> (usize, usize) {
        self.inner.message(model)
    }
}

impl Pupil {
    fn of<M>(learnt: &Learnt<M>) -> Self {
        Pupil {
            model: None,
            w: Vec::new(),
            choices: learnt.choices.iter().map(|c| (c.candidate, c.reward, c.loss)).collect(),
            rewards: learnt.rewards.clone(),
            teachers: learnt.teachers(),
            bytes: learnt.traffic.bytes(),
        }
    }

    fn put<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        out.set_item("model", self.model.as_ref().map(|kept| kept.object(py)).transpose()?)?;
        out.set_item("w", PyArray1::from_slice(py, &self.w))?;
        out.set_item("candidate", PyArray1::from_iter(py, self.choices.iter().map(|c| c.0 as i64)))?;
        out.set_item("reward", PyArray1::from_iter(py, self.choices.iter().map(|c| c.1)))?;
        out.set_item("loss", PyArray1::from_iter(py, self.choices.iter().map(|c| c.2)))?;
        let shape = [self.rewards.len(), self.rewards.first().map_or(0, Vec::len)];
        let all = || self.rewards.iter().flatten();
        out.set_item("asked", PyArray1::from_iter(py, all().map(|r| r.0 as i64)).reshape(shape)?)?;
        out.set_item("rewards", PyArray1::from_iter(py, all().map(|r| r.1)).reshape(shape)?)?;
        out.set_item("teachers", self.teachers.clone())?;
        out.set_item("bytes", self.bytes)?;
        Ok(out)
    }
}
