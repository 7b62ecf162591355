//! Scenes in which the parts learn the coupling before their rounds.

use super::scene::{Scene, random_network};
use crate::error::Result;
use crate::hub::{Hub, hub_name, joined_to_all};
use crate::network::Network;
use crate::plan::PenaltyKind;

const NODES: usize = 24;
const PARTS: usize = 6;
const ROUNDS: u64 = 60;

impl Scene {
    /// Scene `k` with a coupling to be learnt: 24 nodes and their common mean in 6 parts, 60 rounds; every second with an
    /// intercept.
    pub fn coupling(k: u64) -> Result<Self> {
        let network = network(k)?;
        let cut = network.cut(PARTS);
        Self::of(network, &cut.part, PARTS)
    }
}

fn network(k: u64) -> Result<Network> {
    let mut network = random_network(k, NODES, ROUNDS, None)?;
    let last = network.data.dim() - 1;
    network.loss_options.spare_last = k.is_multiple_of(2);
    if network.loss_options.spare_last {
        network.data = network.data.map_features(|j, x| if j == last { 1.0 } else { x });
    }
    network.loss_options.ridge = 0.0;
    network.penalty = PenaltyKind::Squared;
    network.names.push(hub_name(&network.names)?);
    network.graph = joined_to_all(&network.graph)?;
    network.data = network.data.with_hub();
    network.hub = Some(Hub::Learnt);
    Ok(network)
}
