//! What all parts of a federation agree on, as `node.toml` says: edges, method, when to stop, patience.

use anyhow::{Result, anyhow, bail, ensure};
use fedweave_node::{DeadPolicy, MethodSpec, Patience, PeerId, PlanEdge, StopRule};

use super::predictions;
use super::raw::{RawEdge, RawFederation, RawSilence};
use crate::config::RawConfig;
use crate::plan::choice;

pub fn edge(k: usize, raw: &RawEdge, own: &str, peers: &[String]) -> Result<PlanEdge> {
    let peer = match raw.part.as_deref() {
        None => None,
        Some(part) if part == own => None,
        Some(part) => {
            let place = peers.iter().position(|p| p == part);
            let unknown = || anyhow!("edge {} to `{}`: `{part}` is not a [[neighbour]]", k + 1, raw.neighbour);
            Some(PeerId(place.ok_or_else(unknown)? as u32))
        }
    };
    Ok(PlanEdge { node: raw.node.clone(), neighbour: raw.neighbour.clone(), peer, weight: raw.weight.unwrap_or(1.0) })
}

pub fn method(shared: &RawFederation, model: &RawConfig) -> Result<MethodSpec> {
    let name = shared.method.as_deref().unwrap_or("primal-dual");
    let given = [
        ("step-ratio", shared.step_ratio.is_some(), &["primal-dual"][..]),
        ("relaxation", shared.relaxation.is_some(), &["primal-dual"]),
        ("step", shared.step.is_some(), &["fedgd", "async-fedgd"]),
        ("staleness", shared.staleness.is_some(), &["async-fedgd"]),
    ];
    if let Some((key, _, of)) = given.iter().find(|(_, given, of)| *given && !of.contains(&name)) {
        bail!("federation.{key} belongs to method {}", of.join(", "));
    }
    let step = || shared.step.ok_or_else(|| anyhow!("federation.step: {name} needs one that all parts agree on"));
    Ok(match name {
        "primal-dual" => MethodSpec::PrimalDual {
            step_ratio: shared.step_ratio.unwrap_or(1.0),
            relaxation: shared.relaxation.unwrap_or(1.8),
        },
        "fedgd" => MethodSpec::FedGd { step: step()? },
        "fedrelax" => MethodSpec::FedRelax,
        predictions::METHOD => predictions::method(model)?,
        "async-fedgd" => MethodSpec::AsyncFedGd { step: step()?, staleness: shared.staleness.unwrap_or(5) },
        other => bail!(
            "federation.method = \"{other}\": unknown; use primal-dual, fedgd, fedrelax, {} or async-fedgd",
            predictions::METHOD
        ),
    })
}

pub fn stop(shared: &RawFederation) -> Result<StopRule> {
    ensure!(shared.parts >= 1, "federation.parts = 0: at least 1");
    ensure!(shared.rounds >= 1, "federation.rounds = 0: at least 1");
    if let Some(tolerance) = shared.tolerance {
        ensure!(tolerance > 0.0 && tolerance.is_finite(), "federation.tolerance = {tolerance}: must be positive");
    }
    let diameter = shared.diameter.unwrap_or(shared.parts - 1);
    Ok(StopRule { rounds_max: shared.rounds, tolerance: shared.tolerance, diameter })
}

pub fn patience(raw: &RawSilence) -> Result<Patience> {
    let default = Patience::default();
    let policies = [("wait", DeadPolicy::Wait), ("continue", DeadPolicy::Continue), ("stop", DeadPolicy::Stop)];
    let seconds = raw.dead_after_seconds.unwrap_or(default.dead_after_ms as f64 / 1000.0);
    ensure!((0.1..=1e7).contains(&seconds), "silence.dead-after-seconds = {seconds}: between 0.1 and 10000000");
    let retry_ms = raw.retry_ms.unwrap_or(default.retry_ms);
    ensure!((1..=60_000).contains(&retry_ms), "silence.retry-ms = {retry_ms}: between 1 and 60000");
    Ok(Patience {
        policy: choice("silence.policy", raw.policy.as_deref(), &policies)?,
        dead_after_ms: (seconds * 1000.0) as u64,
        retry_ms,
    })
}
