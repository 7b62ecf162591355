//! A path in some lines for people.

use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};
use fedweave::path::Recovery;

use super::PathResult;
use crate::classes;
use crate::wording::{counted, loss_name, notices, number, shown, written};

/// Rows of the table.
const ROWS_SHOWN: usize = 12;
/// Changes that are named.
const BREAKPOINTS_SHOWN: usize = 12;

/// Some lines for people.
pub fn text(path: &PathResult, at: Option<&Path>) -> String {
    let (fit, points) = (&path.fit, &path.path.points);
    let (n, e) = (fit.input.names.len(), fit.input.graph.edges());
    let mut lines = vec![format!(
        "{}, {}, {}, {} a node; {} loss, {} penalty",
        counted(n, "node"),
        counted(e, "edge"),
        counted(fit.training.rows.len(), "row"),
        counted(fit.solution.w.cols(), "parameter"),
        loss_name(&fit.loss),
        fit.problem.penalty().name()
    )];
    lines.extend(notices(&fit.input).iter().map(|notice| format!("note: {notice}")));
    lines.push(lambda_max_in_words(path));
    let iterations: usize = points.iter().map(|p| p.iterations).sum();
    let (done, wanted, status) = (points.len(), path.wanted, fit.solution.status);
    lines.push(format!("{status}: {done} of {wanted} values of lambda, {iterations} iterations, {:.2} s", fit.seconds));
    lines.push(String::new());
    lines.push(table(path));
    lines.push(String::new());
    lines.extend(breakpoints_in_words(path));
    lines.extend(path.recovery.as_ref().and_then(|r| recovery_in_words(path, r)));
    lines.push(format!("* lambda {}: {}; its models are kept", number(fit.problem.lambda()), path.why));
    lines.extend(path.end_of_grid().map(|words| format!("note: {words}")));
    if let Some(held) = &fit.held_out {
        let (ours, local) = (shown(held.validation.mean()), shown(held.local.mean()));
        lines.push(format!("held-out rows: networked {ours}, local-only {local}; {}", held.hurt_words()));
        lines.extend(held.classes.iter().flat_map(|classes| classes::words(classes, "networked", &fit.input)));
        let split = fit.request.held_out.describe();
        lines.push(format!("split: {split}; models were fitted without the held-out rows"));
    }
    lines.push(written(at, "the path, clusters, models and a report"));
    lines.join("\n")
}

pub(super) fn lambda_max_in_words(path: &PathResult) -> String {
    let Some(b) = &path.lambda_max else {
        return "no finite lambda makes all models of a component equal with this penalty".into();
    };
    let known = if b.proven { "proven" } else { "seen in solutions, not proven" };
    format!(
        "lambda_max is between {} and {} ({known}): from there on every component has one model",
        number(b.below),
        number(b.above)
    )
}

/// About a dozen rows, the chosen one and the ends among them.
fn table(path: &PathResult) -> String {
    let order = path.increasing();
    let last = order.len() - 1;
    let step = order.len().div_ceil(ROWS_SHOWN).max(1);
    let mut table = Table::new();
    let validated = path.fit.held_out.is_some();
    let mut header = vec!["", "lambda", "objective", "certified gap", "clusters", "train error"];
    header.extend(validated.then_some("held-out error"));
    table.load_preset(presets::NOTHING).set_header(header);
    for (place, &k) in order.iter().enumerate() {
        if place % step != 0 && place != last && k != path.chosen {
            continue;
        }
        let (p, e) = (&path.path.points[k], &path.errors[k]);
        let mut row = vec![
            if k == path.chosen { "*".into() } else { String::new() },
            number(p.lambda),
            number(p.objective),
            p.certified_gap.map_or("-".into(), |gap| format!("{gap:.1e}")),
            p.partition.len().to_string(),
            shown(e.train.mean()),
        ];
        row.extend(validated.then(|| shown(e.validation.as_ref().and_then(|v| v.mean()))));
        table.add_row(row);
    }
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn breakpoints_in_words(path: &PathResult) -> Vec<String> {
    if !path.breakpoints_asked {
        return Vec::new();
    }
    let all = &path.path.breakpoints;
    let mut lines = vec![format!("{} of the clusters as lambda grows:", counted(all.len(), "change"))];
    lines.extend(all.iter().take(BREAKPOINTS_SHOWN).map(|b| {
        let word = if b.clusters_above > b.clusters_below { " (a split)" } else { "" };
        let counts = format!("{} to {}{word}", b.clusters_below, counted(b.clusters_above, "cluster"));
        format!("  between {} and {}: {counts}", number(b.below), number(b.above))
    }));
    let more = all.len().saturating_sub(BREAKPOINTS_SHOWN);
    lines.extend((more > 0).then(|| format!("  and {more} more (breakpoints.csv, --json)")));
    lines
}

/// Silence where the theorems are silent, unless they were asked.
pub(super) fn recovery_in_words(path: &PathResult, recovery: &Recovery) -> Option<String> {
    let whose = if path.given { "the partition given" } else { "the partition at the chosen lambda" };
    match recovery {
        Recovery::Silent(why) => path.given.then(|| format!("provable recovery: not known; {why}")),
        Recovery::Nowhere(c) => Some(format!(
            "{whose} is not provably recovered at any lambda tried; closest: lambda {} needs to be at least {} and below {}",
            number(c.lambda),
            number(c.lower),
            number(c.upper)
        )),
        Recovery::Between(low, high) => Some(format!(
            "{whose} is provably recovered for lambda from {} to {} (Theorems 1 and 2, checked at the values tried)",
            number(low.lambda),
            number(high.lambda)
        )),
    }
}
