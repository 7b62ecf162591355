//! `fedweave status`: where running parts stand.

use anyhow::{Context, Result};
use clap::Args;
use comfy_table::Table;
use fedweave_node::config::{MetricsAddress, metrics_addresses};
use fedweave_node::metrics::{NeighbourSnapshot, Snapshot, ask};

use crate::{Exit, say};

/// Where running parts stand
#[derive(Args)]
pub struct StatusArgs {
    /// Files of parts (node.toml), folders of `fedweave up --work`, or addresses of metrics
    #[arg(required = true, value_name = "PART")]
    parts: Vec<String>,
    /// File with the token of a part that is given by its address: metrics-token in its state folder
    #[arg(long, value_name = "FILE")]
    token: Option<std::path::PathBuf>,
    /// Print one JSON list instead of a table
    #[arg(long)]
    json: bool,
}

pub fn run(args: &StatusArgs) -> Result<Exit> {
    let mut addresses = Vec::new();
    for part in &args.parts {
        addresses.extend(metrics_addresses(part)?);
    }
    let given = match &args.token {
        Some(path) => Some(std::fs::read_to_string(path).with_context(|| format!("--token {}", path.display()))?),
        None => None,
    };
    let answer = |part: &MetricsAddress| {
        let token = part.token.as_ref().and_then(|path| std::fs::read_to_string(path).ok()).or_else(|| given.clone());
        ask(part.address, &token.unwrap_or_default())
    };
    let answers: Vec<_> = addresses.iter().map(|part| (&part.name, part.address, answer(part))).collect();
    let silent = answers.iter().filter(|(.., answer)| answer.is_err()).count();
    if args.json {
        let known: Vec<&Snapshot> = answers.iter().filter_map(|(.., answer)| answer.as_ref().ok()).collect();
        say(&serde_json::to_string(&known)?)?;
    } else {
        let mut table = Table::new();
        table.load_preset(comfy_table::presets::NOTHING);
        table.set_header(["part", "state", "round", "residual", "round time", "neighbours up", "sent", "received"]);
        for (name, _, answer) in &answers {
            match answer {
                Ok(snapshot) => table.add_row(row(snapshot)),
                Err(error) => table.add_row([name.to_string(), format!("no answer ({error})")]),
            };
        }
        say(&table.to_string())?;
    }
    Ok(if silent == 0 { Exit::Done } else { Exit::Unfinished })
}

fn row(s: &Snapshot) -> Vec<String> {
    let down: Vec<&str> = s.neighbours.iter().filter(|n| !n.up).map(|n| n.name.as_str()).collect();
    let up = match down.is_empty() {
        true => format!("all {}", s.neighbours.len()),
        false => format!("{} of {}, not {}", s.neighbours.len() - down.len(), s.neighbours.len(), down.join(", ")),
    };
    let sum = |of: fn(&NeighbourSnapshot) -> u64| s.neighbours.iter().map(of).sum::<u64>();
    vec![
        s.name.clone(),
        s.state.clone(),
        s.round.to_string(),
        s.residual.map_or("-".into(), |r| format!("{r:.1e}")),
        s.round_seconds.map_or("-".into(), |(median, _)| format!("{:.2} ms", median * 1e3)),
        up,
        format!("{} B", sum(|n| n.sent.1)),
        format!("{} B", sum(|n| n.received.1)),
    ]
}
