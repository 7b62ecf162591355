//! What the watch for drift found: words and JSON.

use comfy_table::{Table, presets};
use serde_json::{Value, json};

use super::{Monitored, MonitoredNode};
use crate::wording::counted;

/// Rows of the table of words; JSON and `monitor.csv` have all.
const NODES_TOLD: usize = 30;

/// As JSON: totals, and every node.
pub fn summary(found: &Monitored) -> Value {
    let node = |node: &MonitoredNode| {
        json!({
            "node": node.name,
            "rows": node.rows,
            "known_rows": node.known_rows,
            "pooled": node.pooled,
            "error_ratio": node.error_ratio,
            "coverage": node.coverage,
            "known_coverage": node.known_coverage,
            "p_error": node.p_error,
            "p_coverage": node.p_coverage,
            "p": node.p,
            "false_discovery_rate": node.rate,
            "drift": node.drifted,
        })
    };
    json!({
        "drift": found.drifted().next().is_some(),
        "drifted": found.drifted().map(|node| &node.name).collect::<Vec<_>>(),
        "rows": found.rows,
        "rows_without_label": found.unlabelled,
        "level": found.request.level,
        "fdr": found.request.fdr,
        "coverage": found.coverage(),
        "nodes": found.nodes.iter().map(node).collect::<Vec<_>>(),
        "version": env!("CARGO_PKG_VERSION"),
    })
}

/// A few lines and a table for people.
pub fn text(found: &Monitored) -> String {
    let (level, fdr) = (100.0 * found.request.level, 100.0 * found.request.fdr);
    let inside = found.coverage().map_or("-".into(), |share| format!("{:.1} %", 100.0 * share));
    let mut lines =
        vec![format!("{} with labels at {}", counted(found.rows, "new row"), counted(found.nodes.len(), "node"))];
    if found.unlabelled > 0 {
        lines.push(format!("note: left out: {} without a label", counted(found.unlabelled, "row")));
    }
    lines.push(format!("{inside} are inside their {level:.0} % intervals"));
    let pooled = found.nodes.iter().filter(|node| node.pooled).count();
    if pooled > 0 {
        lines.push(format!("note: compared with all nodes, for want of calibration rows: {}", counted(pooled, "node")));
    }
    let drifted: Vec<&MonitoredNode> = found.drifted().collect();
    if drifted.is_empty() {
        lines.push(format!("no node drifted (at most {fdr:.0} % false alarms among alarms)"));
        return lines.join("\n");
    }
    let names = "drifted: larger errors, or fewer rows inside, than on the rows the models were judged by";
    let nodes = counted(drifted.len(), "node");
    lines.push(format!("{nodes} {names} (at most {fdr:.0} % of them false alarms, on average)"));
    lines.push(table(&drifted[..drifted.len().min(NODES_TOLD)]));
    if drifted.len() > NODES_TOLD {
        lines.push(format!("and {} more; --json and --out tell all", drifted.len() - NODES_TOLD));
    }
    lines.join("\n")
}

fn table(nodes: &[&MonitoredNode]) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["node", "rows", "errors, times expected", "inside", "expected", "p"]);
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    for node in nodes {
        table.add_row([
            node.name.clone(),
            node.rows.to_string(),
            node.error_ratio.map_or("-".into(), |ratio| format!("{ratio:.2}")),
            percent(node.coverage),
            node.known_coverage.map_or("-".into(), percent),
            format!("{:.1e}", node.p),
        ]);
    }
    table.trim_fmt()
}
