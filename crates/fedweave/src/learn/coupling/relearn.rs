//! What was learnt, learnt again from other rows of the same nodes: the same structures, from where they are.

use super::choose::{ROUGH, UNSOLVED, coupling, learn, noise_of, refine_to};
use super::regions::{carried, is_large};
use super::{Blend, Coupling, CouplingOptions, Member, Noise, Prepared, Rho, check};
use crate::dataset::Dataset;
use crate::error::Result;
use crate::graph::Graph;

impl Coupling {
    /// The same structure, with or without the graph and with noise alike, from other rows.
    pub fn relearn(&self, graph: &Graph, data: &Dataset) -> Result<Coupling> {
        let options = CouplingOptions {
            family: self.family,
            structures: vec![self.structure],
            rho: if self.rho > 0.0 { Rho::Learnt } else { Rho::Fixed(0.0) },
            likelihood: self.likelihood,
            prior: self.prior,
            noise: if self.node_noise.is_some() { Noise::ByNode } else { Noise::Common },
            intercept: self.intercept,
        };
        check(graph, data, &options)?;
        if self.rho > 0.0 && is_large(graph, data.dim()) {
            return Ok(learn(graph, data, &options)?.coupling);
        }
        let mut prepared = Prepared::new(graph, data, options.family, options.intercept)?;
        let start = carried(self, &prepared).ok_or(UNSOLVED)?;
        let task = prepared.task(options.likelihood, options.prior);
        let mut fit = refine_to(&task, &start, options.rho, ROUGH).ok_or(UNSOLVED)?;
        let noise = noise_of(&prepared, &options, &fit);
        if noise.is_some() {
            prepared = prepared.weighted(noise.as_deref())?;
            let task = prepared.task(options.likelihood, options.prior);
            fit = refine_to(&task, &fit, options.rho, ROUGH).unwrap_or(fit);
        }
        let task = prepared.task(options.likelihood, options.prior);
        Ok(Coupling { node_noise: noise, ..coupling(&task, &fit, &options)? })
    }
}

impl Blend {
    /// All members learnt from other rows, with the same weights.
    pub fn relearn(&self, graph: &Graph, data: &Dataset) -> Result<Blend> {
        let again = |m: &Member| Ok(Member { coupling: m.coupling.relearn(graph, data)?, ..m.clone() });
        let members = self.members.iter().map(again).collect::<Result<Vec<_>>>()?;
        Ok(Blend { members, ..*self })
    }
}
