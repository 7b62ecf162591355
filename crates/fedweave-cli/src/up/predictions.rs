//! `fedweave up --model`: processes that exchange predictions on public rows.

use std::collections::HashMap;
use std::time::Instant;

use anyhow::{Result, ensure};
use fedweave_io::read_json;
use serde::Deserialize;

use super::children::Children;
use super::files::model_of_any_class;
use super::prepare::{Prepared, prepare};
use super::{PARTS_MAX, UpArgs};
use crate::config::RawConfig;
use crate::models::{Federated, Found, ModelFile};
use crate::progress::catch_interrupts;
use crate::{Exit, say};

pub fn run(args: &UpArgs, raw: RawConfig) -> Result<Exit> {
    ensure!((1..=PARTS_MAX).contains(&args.parts), "--parts {}: between 1 and {PARTS_MAX}", args.parts);
    let federated = Federated::new(raw)?;
    let network = federated.network();
    ensure!(network.rounds_max > 0, "--rounds 0: a federation needs at least one round");
    let prepared = prepare(args, &model_of_any_class(federated.raw(), &network), &network)?;
    if args.prepare {
        say(&prepared.words())?;
        return Ok(Exit::Done);
    }
    catch_interrupts();
    let started = Instant::now();
    let children = Children::start(args, &prepared)?;
    if !children.wait(&prepared, 0.0)? {
        return Ok(Exit::Interrupted);
    }
    let found = Found { seconds: started.elapsed().as_secs_f64(), ..gather(&prepared)? };
    federated.finish(found, &prepared.words())?;
    Ok(Exit::Done)
}

/// `summary.json` of a part, as far as it is needed here.
#[derive(Deserialize)]
struct Summary {
    rounds: u64,
    frames_sent: u64,
    bytes_sent: u64,
}

fn gather(prepared: &Prepared) -> Result<Found> {
    let mut found = Found { models: HashMap::new(), rounds: 0, messages: 0, bytes: 0, seconds: 0.0 };
    for folder in &prepared.folders {
        let result = folder.join("state/result");
        let summary: Summary = read_json(&result, "summary.json")?;
        found.rounds = found.rounds.max(summary.rounds);
        found.messages += summary.frames_sent;
        found.bytes += summary.bytes_sent;
        let file: ModelFile = read_json(&result, "models.json")?;
        found.models.extend(file.into_models());
    }
    Ok(found)
}
