//! Scenes with models of any class, and what one machine says in every round.

use std::collections::BTreeMap;
use std::sync::Arc;

use fedweave::model::relax::{PublicRows, PublicSource, Relax, RelaxOptions, Weighting, sample_public, seed_of};
use fedweave::model::{ModelSpec, Task};
use fedweave::solve::JudgedOn;
use fedweave::{Dataset, Matrix};

use super::scene::{Scene, random_network};
use crate::error::{Error, Result};
use crate::models::{Models, PublicSets};
use crate::network::Network;
use crate::plan::{MethodSpec, PenaltyKind};

const MODELS: [&str; 5] = [
    "tree max-depth=3",
    "ridge alpha=0.1",
    "nearest neighbours=2",
    "forest trees=3 max-depth=2",
    "mlp hidden=3 epochs=3",
];
const ROUNDS: u64 = 40;

impl Scene {
    /// Scene `k` with models of any class: 20 parts, 40 rounds; numbers or classes, public rows of all or of each.
    pub fn predictions(k: u64) -> Result<Self> {
        Self::of(network(k)?, &(0..20).collect::<Vec<_>>(), 20)
    }
}

fn network(k: u64) -> Result<Network> {
    let mut network = random_network(k, 20, ROUNDS, None)?;
    let common = k % 2 == 1;
    let task = if k % 3 == 2 { Task::Classification { classes: 2 } } else { Task::Regression };
    if task != Task::Regression {
        network.data = with_classes(&network.data)?;
    }
    let specs = (0..20).map(|i| MODELS[(i + k as usize) % MODELS.len()].parse::<ModelSpec>());
    let specs =
        specs.collect::<std::result::Result<_, _>>().map_err(|e| Error::Model { node: String::new(), source: e })?;
    let seeds = (0..20).map(|i| seed_of(k, i)).collect();
    let sets = sample_public(&network.data, PublicSource::Normal, 7, k)?;
    let public = match common {
        true => PublicSets::Common(sets[0].clone()),
        // Not the same number of rows for all.
        false => PublicSets::PerNode(
            network
                .names
                .iter()
                .zip(&sets)
                .enumerate()
                .map(|(i, (n, s))| Ok((n.clone(), first(s, 4 + i % 4)?)))
                .collect::<Result<BTreeMap<_, _>>>()?,
        ),
    };
    network.models = Some(Models { task, specs, seeds, public: Arc::new(public) });
    network.penalty = PenaltyKind::Squared;
    network.method = MethodSpec::FedRelaxPredictions { both: common && k % 4 == 1, plain: k.is_multiple_of(5) };
    Ok(network)
}

fn first(rows: &PublicRows, count: usize) -> Result<PublicRows> {
    let (x, d) = (rows.x(), rows.x().cols());
    Ok(PublicRows::new(Matrix::from_rows(d, x.as_slice()[..count * d].to_vec()))?)
}

/// Labels become classes by their sign.
fn with_classes(data: &Dataset) -> Result<Dataset> {
    let mut offsets = vec![0];
    (0..data.nodes()).for_each(|i| offsets.push(data.rows(i).end));
    let x = (0..data.nodes()).flat_map(|i| data.features(i)).copied().collect();
    let y = data.y().iter().map(|y| f64::from(u8::from(*y > 0.0))).collect();
    let weight = (0..data.nodes()).flat_map(|i| data.weights(i)).copied().collect();
    Ok(Dataset::new(offsets, Matrix::from_rows(data.dim(), x), y, weight)?)
}

/// What every node says in every round, and at the end, on one machine.
pub fn trace_predictions(
    network: &Network,
    models: &Models,
    both: bool,
    plain: bool,
    rounds: u64,
) -> Result<(Vec<Matrix>, Matrix)> {
    let options = RelaxOptions {
        lambda: network.lambda,
        judged_on: if both { JudgedOn::Both } else { JudgedOn::Neighbours },
        weighting: if plain { Weighting::Plain } else { Weighting::Means },
        ..RelaxOptions::default()
    };
    let build = |(i, spec): (usize, &ModelSpec)| {
        spec.build(models.task, models.seeds[i]).map_err(|e| Error::Model { node: network.names[i].clone(), source: e })
    };
    let local = models.specs.iter().enumerate().map(build).collect::<Result<Vec<_>>>()?;
    let public = match &*models.public {
        PublicSets::Common(rows) => vec![rows.clone()],
        PublicSets::PerNode(_) => {
            network.names.iter().map(|name| Ok(models.public.of(name)?.clone())).collect::<Result<Vec<_>>>()?
        }
    };
    let mut relax = Relax::with_models(&network.graph, &network.data, models.task, local, public, options)?;
    let mut over = Vec::with_capacity(rounds as usize);
    for _ in 0..rounds {
        over.push(said(network, models, &relax)?);
        relax.round()?;
    }
    let end = said(network, models, &relax)?;
    Ok((over, end))
}

fn said(network: &Network, models: &Models, relax: &Relax) -> Result<Matrix> {
    let mut all = Matrix::zeros(network.names.len(), models.width());
    for (i, name) in network.names.iter().enumerate() {
        let says = relax.predict(i, models.public.of(name)?.x())?;
        all.row_mut(i)[..says.as_slice().len()].copy_from_slice(says.as_slice());
    }
    Ok(all)
}
