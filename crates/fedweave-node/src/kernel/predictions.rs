//! FedRelax on predictions, of a part: what nodes predict on public rows travels, then every node fits its model anew, to its
//! own rows and to what its neighbours say.
//!
//! A model follows from the node's rows and from what was heard before its last fit. So that is what a checkpoint holds: a
//! model itself may hold rows (the nearest neighbours are rows) and is fitted again, with the same bits, when a part resumes.

use fedweave::Matrix;
use fedweave::matrix::{Rows, norm2};
use fedweave::model::relax::{Buffers, Predictions, Pull, RelaxOptions, Site, Weighting};
use fedweave::model::{FitError, Fitted};
use fedweave::solve::Round;

use super::Kernel;
use crate::error::{Error, Result};
use crate::models::Models;
use crate::plan::Plan;
use crate::subproblem::Subproblem;

/// The nodes with their models, and what they say and heard.
pub struct PredictionsRound {
    plan: Plan,
    models: Models,
    options: RelaxOptions,
    both: bool,
    sites: Vec<Site>,
    /// Names of the nodes of the part, then of those next to them held elsewhere, each in byte order.
    names: Vec<String>,
    /// For each own node: its neighbours by name, as places in `names`, and the weights of the edges.
    neighbours: Vec<Vec<(usize, f64)>>,
    /// For each node of the problem: its place in `names`.
    place: Vec<usize>,
    /// What was heard before the last fit, a row per name, and who was heard.
    heard: Matrix,
    counted: Vec<bool>,
    /// What every node of the problem says.
    w: Matrix,
    own: Vec<u32>,
    residual: f64,
    failure: Option<String>,
}

impl PredictionsRound {
    /// Models fitted to what `memory` holds, or to the own rows alone if it is empty.
    pub fn new(
        plan: &Plan,
        subproblem: &Subproblem,
        models: &Models,
        both: bool,
        plain: bool,
        memory: &[f64],
    ) -> Result<Self> {
        models.check(&plan.data, both)?;
        let (names, width) = (names(plan), models.width());
        let weighting = if plain { Weighting::Plain } else { Weighting::Means };
        let mut kernel = PredictionsRound {
            options: RelaxOptions { lambda: plan.lambda, weighting, ..RelaxOptions::default() },
            both,
            sites: (0..plan.nodes.len()).map(|k| site(plan, models, k)).collect::<Result<_>>()?,
            neighbours: neighbours(plan, &names),
            place: places(plan, subproblem, &names),
            heard: Matrix::zeros(names.len(), width),
            counted: vec![false; names.len()],
            w: Matrix::zeros(subproblem.own.len() + subproblem.receives.iter().map(Vec::len).sum::<usize>(), width),
            own: subproblem.own.clone(),
            residual: f64::INFINITY,
            failure: None,
            plan: plan.clone(),
            models: models.clone(),
            names,
        };
        for name in &kernel.names {
            models.public.of(name)?;
        }
        for (slot, row) in memory.chunks_exact(width + 1).enumerate().take(kernel.names.len()) {
            kernel.counted[slot] = row[0] > 0.0;
            kernel.heard.row_mut(slot).copy_from_slice(&row[1..]);
        }
        kernel.fit()?;
        Ok(kernel)
    }

    /// Fits all models to what was heard, and asks them what they say.
    fn fit(&mut self) -> Result<()> {
        let said: Vec<Option<Predictions>> =
            (0..self.names.len()).map(|slot| self.said(slot)).collect::<Result<_>>()?;
        let mut buffers = Buffers::default();
        for k in 0..self.sites.len() {
            self.fit_one(k, &said, &mut buffers)?;
        }
        Ok(())
    }

    fn fit_one(&mut self, k: usize, said: &[Option<Predictions>], buffers: &mut Buffers) -> Result<()> {
        let ours = self.models.public.of(&self.names[k])?;
        let mut pulls = Vec::new();
        for &(slot, weight) in &self.neighbours[k] {
            let Some(says) = &said[slot] else { continue };
            let theirs = self.models.public.of(&self.names[slot])?;
            pulls.push(Pull { rows: theirs, says, weight: self.options.row_weight(weight, theirs.len()) });
            if self.both {
                // One dataset for all: what they say about their rows is what they say about ours.
                pulls.push(Pull { rows: ours, says, weight: self.options.row_weight(weight, ours.len()) });
            }
        }
        let fault = |e: FitError| Error::Fit { node: self.names[k].clone(), source: e };
        if pulls.is_empty() {
            // Nothing is left of a model that was learnt from neighbours who are gone.
            self.sites[k] = site(&self.plan, &self.models, k)?;
        }
        let own = self.options.own_weight(self.sites[k].rows());
        self.sites[k].update(own, &pulls, buffers).map_err(fault)?;
        let says = self.sites[k].publish(ours).map_err(fault)?;
        self.w.row_mut(self.own[k] as usize)[..says.numbers()].copy_from_slice(says.y().as_slice());
        Ok(())
    }

    /// What a node said before the last fit, if it was heard. Rows of others may hold anything finite.
    fn said(&self, slot: usize) -> Result<Option<Predictions>> {
        if !self.counted[slot] {
            return Ok(None);
        }
        let numbers = self.models.public.of(&self.names[slot])?.len() * self.models.task.outputs();
        Ok(Predictions::received(self.models.task, &self.heard.row(slot)[..numbers]))
    }

    fn listen(&mut self) {
        self.counted.fill(false);
        for (node, &slot) in self.place.iter().enumerate() {
            self.counted[slot] = true;
            self.heard.row_mut(slot).copy_from_slice(self.w.row(node));
        }
    }
}

impl Round for PredictionsRound {
    fn outgoing(&self, node: usize) -> &[f64] {
        self.w.row(node)
    }

    fn incoming(&mut self, node: usize) -> &mut [f64] {
        self.w.row_mut(node)
    }

    fn complete(&mut self) {
        if self.options.lambda == 0.0 {
            self.residual = 0.0;
            return;
        }
        self.listen();
        self.failure = self.fit().err().map(|e| e.to_string());
        self.residual = 0.0;
        for (k, &i) in self.own.iter().enumerate() {
            let (old, new) = (self.heard.row(k), self.w.row(i as usize));
            let moved = old.iter().zip(new).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
            self.residual = self.residual.max(moved / (1.0 + norm2(new)));
        }
    }

    /// The largest `|p+ - p| / (1 + |p+|)` of the predictions of a node.
    fn residual(&self) -> f64 {
        // Numbers of a liar are finite but may be huge.
        if self.residual.is_finite() { self.residual } else { f64::INFINITY }
    }

    fn models(&self) -> &Matrix {
        &self.w
    }

    /// Predictions have no flows.
    fn flows(&self) -> Matrix {
        Matrix::zeros(0, self.w.cols())
    }
}

impl Kernel for PredictionsRound {
    fn memory(&self) -> Vec<f64> {
        let mut memory = Vec::with_capacity(memory_len(&self.plan));
        for slot in 0..self.names.len() {
            memory.push(f64::from(u8::from(self.counted[slot])));
            memory.extend_from_slice(self.heard.row(slot));
        }
        memory
    }

    fn failure(&self) -> Option<String> {
        self.failure.clone()
    }

    fn fitted(&self) -> Vec<Option<Fitted>> {
        self.sites.iter().map(|site| site.model().fitted()).collect()
    }
}

/// Numbers that a checkpoint holds of what was heard: none for methods on parameters.
pub fn memory_len(plan: &Plan) -> usize {
    plan.models.as_ref().filter(|_| plan.method.is_on_predictions()).map_or(0, |m| names(plan).len() * (m.width() + 1))
}

fn site(plan: &Plan, models: &Models, k: usize) -> Result<Site> {
    let fault = |node: &str, e| Error::Fit { node: node.into(), source: e };
    let (name, data) = (&plan.nodes[k], &plan.data);
    let spec = |e| Error::Model { node: name.clone(), source: e };
    let model = models.specs[k].build(models.task, models.seeds[k]).map_err(spec)?;
    let x = Rows::new(data.dim(), data.features(k));
    Site::new(models.task, x, data.labels(k), data.weights(k), model).map_err(|e| fault(name, e))
}

fn names(plan: &Plan) -> Vec<String> {
    let mut others: Vec<String> = plan.edges.iter().filter(|e| e.peer.is_some()).map(|e| e.neighbour.clone()).collect();
    others.sort_unstable();
    others.dedup();
    plan.nodes.iter().cloned().chain(others).collect()
}

/// The place of a name: own nodes first.
fn place_of(plan: &Plan, names: &[String], name: &str) -> usize {
    let own = plan.nodes.len();
    let find = |list: &[String]| list.binary_search_by(|n| n.as_str().cmp(name)).ok();
    find(&names[..own]).or(find(&names[own..]).map(|k| own + k)).unwrap_or(0)
}

/// Neighbours of each own node in byte order of their names, as on one machine.
fn neighbours(plan: &Plan, names: &[String]) -> Vec<Vec<(usize, f64)>> {
    let mut of = vec![Vec::new(); plan.nodes.len()];
    for edge in &plan.edges {
        let (a, b) = (place_of(plan, names, &edge.node), place_of(plan, names, &edge.neighbour));
        of[a].push((b, edge.weight));
        if edge.peer.is_none() {
            of[b].push((a, edge.weight));
        }
    }
    for list in &mut of {
        list.sort_by(|(a, _), (b, _)| names[*a].cmp(&names[*b]));
        list.dedup_by_key(|(place, _)| *place);
    }
    of
}

/// Nodes of the problem are in byte order of the names that count.
fn places(plan: &Plan, subproblem: &Subproblem, names: &[String]) -> Vec<usize> {
    let counts = |peer: usize| !subproblem.receives[peer].is_empty();
    let others = plan.edges.iter().filter(|e| e.peer.is_some_and(|p| counts(p.0 as usize))).map(|e| &e.neighbour);
    let present: std::collections::BTreeSet<&String> = plan.nodes.iter().chain(others).collect();
    present.into_iter().map(|name| place_of(plan, names, name)).collect()
}
