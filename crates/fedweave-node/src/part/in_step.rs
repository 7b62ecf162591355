//! A part that somebody else keeps in step: rounds begin and end by call, and rows travel as plain numbers. For clusters
//! that bring their own messages, restarts and clocks; frames, acknowledgements and neighbours that fall silent are theirs.

use fedweave::Matrix;

use super::Part;
use crate::error::{Error, Result};
use crate::plan::Plan;

/// A part between two calls. All parts begin, hand over what is outgoing, and complete, round by round.
pub struct InStep {
    part: Part,
}

impl InStep {
    /// A part that starts from zero.
    pub fn new(plan: Plan) -> Result<Self> {
        if plan.method.is_async() || plan.method.is_on_predictions() || plan.coupling.is_some() {
            let needs = "rounds in step on parameters: primal-dual, fedgd or fedrelax";
            return Err(fedweave::Error::Method { method: plan.method.name(), needs }.into());
        }
        Ok(InStep { part: Part::new(plan)? })
    }

    /// A part that goes on from a [`InStep::checkpoint`] of the same plan.
    pub fn restore(plan: Plan, checkpoint: &[u8]) -> Result<Self> {
        Ok(InStep { part: Part::restore(plan, checkpoint)? })
    }

    /// The state between two rounds.
    pub fn checkpoint(&self) -> Vec<u8> {
        self.part.save(&self.part.flows())
    }

    /// Updates the nodes.
    pub fn begin(&mut self) {
        self.part.kernel.begin();
    }

    /// `out <-` the rows that a neighbouring part needs to complete the round.
    pub fn outgoing(&self, peer: usize, out: &mut Vec<f64>) {
        let (part, boundary) = (&self.part, &self.part.boundary);
        out.clear();
        for &k in &boundary.of_peer[peer] {
            let node = part.subproblem.own[boundary.nodes[k as usize] as usize];
            out.extend_from_slice(part.kernel.outgoing(node as usize));
        }
    }

    /// Takes in what is outgoing at a neighbouring part.
    pub fn incoming(&mut self, peer: usize, rows: &[f64]) -> Result<()> {
        let (d, part) = (self.part.dim, &mut self.part);
        let ghosts = &part.subproblem.receives[peer];
        if rows.len() != ghosts.len() * d {
            let (expected, found) = (ghosts.len() * d, rows.len());
            return Err(fedweave::Error::Size { what: "numbers from a neighbouring part", expected, found }.into());
        }
        if let Some(value) = rows.iter().find(|x| !x.is_finite()) {
            return Err(Error::Setting { name: "a number from a neighbouring part", value: *value, needs: "finite" });
        }
        for (&ghost, row) in ghosts.iter().zip(rows.chunks_exact(d)) {
            part.kernel.incoming(ghost as usize).copy_from_slice(row);
        }
        Ok(())
    }

    /// Updates the edges, which ends the round.
    pub fn complete(&mut self) {
        self.part.kernel.complete();
        self.part.done += 1;
    }

    /// How far the nodes and edges of this part are from the conditions of optimality; the largest of all parts is that of
    /// the network.
    pub fn residual(&self) -> f64 {
        self.part.kernel.residual()
    }

    /// Rounds done.
    pub fn round(&self) -> u64 {
        self.part.done
    }

    /// The models, a row per node of the plan.
    pub fn models(&self) -> Matrix {
        self.part.models()
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.part.plan
    }
}
