//! One part of a network that is cut, for clusters that bring their own messages: begin, hand over, complete.

use fedweave_node::network::part_name;
use fedweave_node::{InStep, MethodSpec, Network, Patience, PenaltyKind};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{plain, raised};
use crate::outcome::table;
use crate::task::Task;

/// A part between two calls.
#[pyclass]
pub struct Part {
    part: InStep,
    /// The numbers of the neighbouring parts, in the order in which they are called.
    #[pyo3(get)]
    peers: Vec<usize>,
    outgoing: Vec<f64>,
}

#[pymethods]
impl Part {
    /// Part `own` of a network. The task has the rows of its nodes, the nodes of others next to them without rows, and all edges
    /// at its nodes; `part_of` tells who holds each. It goes on from a checkpoint if there is one.
    #[new]
    fn new(
        py: Python<'_>,
        task: Task<'_>,
        part_of: Vec<usize>,
        own: usize,
        step_ratio: f64,
        relaxation: f64,
        checkpoint: Option<&[u8]>,
    ) -> PyResult<Self> {
        let network = network(py, &task, MethodSpec::PrimalDual { step_ratio, relaxation })?;
        let mut peers: Vec<usize> = part_of.iter().copied().filter(|part| *part != own).collect();
        peers.sort_unstable();
        peers.dedup();
        let parts = part_of.iter().max().map_or(0, |last| last + 1);
        let plans = network.plans(&part_of, parts).map_err(|error| of_part(py, error))?;
        let none = || plain(py, "SizeError", &format!("part {own} has no nodes"));
        let plan = plans.into_iter().find(|plan| plan.name == part_name(own)).ok_or_else(none)?;
        let part = match checkpoint {
            None => InStep::new(plan),
            Some(bytes) => InStep::restore(plan, bytes),
        };
        Ok(Part { part: part.map_err(|error| of_part(py, error))?, peers, outgoing: Vec::new() })
    }

    /// Updates the nodes.
    fn begin(&mut self, py: Python<'_>) {
        py.detach(|| self.part.begin());
    }

    /// The rows that a neighbouring part needs, one after the other.
    fn outgoing<'py>(&mut self, py: Python<'py>, peer: usize) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let at = self.place(py, peer)?;
        self.part.outgoing(at, &mut self.outgoing);
        Ok(PyArray1::from_slice(py, &self.outgoing))
    }

    /// Takes in what is outgoing at a neighbouring part.
    fn incoming(&mut self, py: Python<'_>, peer: usize, rows: PyReadonlyArray1<'_, f64>) -> PyResult<()> {
        let at = self.place(py, peer)?;
        self.part.incoming(at, rows.as_slice()?).map_err(|error| of_part(py, error))
    }

    /// Updates the edges, which ends the round.
    fn complete(&mut self, py: Python<'_>) {
        py.detach(|| self.part.complete());
    }

    /// How far this part is from the conditions of optimality.
    fn residual(&self, py: Python<'_>) -> f64 {
        py.detach(|| self.part.residual())
    }

    /// Rounds done.
    #[getter]
    fn round(&self) -> u64 {
        self.part.round()
    }

    /// Its nodes, in the order of their names.
    #[getter]
    fn nodes(&self) -> Vec<String> {
        self.part.plan().nodes.clone()
    }

    /// Its models, a row per node.
    #[getter]
    fn models<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        table(py, &self.part.models())
    }

    /// The state between two rounds.
    fn checkpoint<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.part.checkpoint())
    }
}

impl Part {
    fn place(&self, py: Python<'_>, peer: usize) -> PyResult<usize> {
        let none = || plain(py, "SizeError", &format!("part {peer} is no neighbour of this one"));
        self.peers.binary_search(&peer).map_err(|_| none())
    }
}

fn network(py: Python<'_>, task: &Task<'_>, method: MethodSpec) -> PyResult<Network> {
    let ready = task.assembled(py)?;
    let name = ready.penalty.name();
    let unknown =
        || plain(py, "ParameterError", &format!("penalty '{name}': parts know norm2, norm1, norminf, squared"));
    let penalty = PenaltyKind::named(name).ok_or_else(unknown)?;
    Ok(Network {
        names: ready.input.names,
        graph: ready.input.graph,
        data: ready.input.data,
        loss: ready.loss,
        loss_options: ready.request.model.options,
        penalty,
        lambda: ready.request.lambda.fixed.unwrap_or(0.0),
        method,
        rounds_max: u64::MAX,
        tolerance: None,
        patience: Patience::default(),
        models: None,
        hub: None,
    })
}

fn of_part(py: Python<'_>, error: fedweave_node::Error) -> PyErr {
    match error {
        fedweave_node::Error::Problem(error) => raised(py, &error, &[]),
        other => plain(py, "ParameterError", &other.to_string()),
    }
}
