//! A comparison as JSON, and as a small table for people.

use comfy_table::{CellAlignment, Table, presets};
use fedweave::compare::Judged;
use serde_json::{Map, Value, json};

use super::again::commands;
use super::{CompareResult, LOCAL, Method};
use crate::classes;
use crate::wording::{counted, digits, notices_on};

/// The one JSON object of `--json` and `summary.json`.
pub fn summary(compared: &CompareResult) -> Value {
    let method = |method: &Method| {
        let (error, standard_error) = compared.error(*method);
        let (gain, lose) = compared.gain_and_lose(*method);
        let chosen = |f: fn(&Judged) -> Value| {
            compared.outcomes.iter().filter_map(|o| method.judged(o).map(f)).collect::<Vec<_>>()
        };
        let by_split: Vec<Option<f64>> = compared.outcomes.iter().map(|o| method.test(o)?.mean()).collect();
        let facts = json!({
            "test_error": error, "standard_error": standard_error, "nodes_gain": gain, "nodes_lose": lose,
            "share_hurt_by_split": compared.hurt_by_split(*method),
            "share_hurt": lose as f64 / compared.judged(*method).max(1) as f64,
            "ridge": chosen(|j| json!(j.ridge)), "lambda": chosen(|j| json!(j.lambda)),
            "test_error_by_split": by_split,
            "test_accuracy": compared.confusion(*method).and_then(|found| found.accuracy()),
            "confusion": compared.confusion(*method).map(|found| classes::summary(&found, &compared.input)),
        });
        (method.name.to_owned(), facts)
    };
    let mut all: Map<String, Value> = compared.methods().iter().map(method).collect();
    all.insert("nodes".into(), json!(compared.input.names.len()));
    all.insert("edges".into(), json!(compared.input.graph.edges()));
    all.insert("splits".into(), json!(compared.outcomes.len()));
    all.insert("split".into(), json!(compared.request.held_out.describe()));
    all.insert("error".into(), json!(compared.error_name()));
    let beaten = compared.has_control().then(|| compared.better_than_shuffled());
    all.insert("networked_beats_shuffled".into(), json!(beaten));
    all.insert("learnt_graph".into(), json!(compared.evidence.as_ref().map(|evidence| evidence.summary())));
    all.insert("fit_commands".into(), json!(commands(compared)));
    all.insert("version".into(), json!(env!("CARGO_PKG_VERSION")));
    Value::Object(all)
}

/// A small table for people.
pub fn text(compared: &CompareResult) -> String {
    let mut table = Table::new();
    let has_classes = compared.confusion(LOCAL).is_some();
    let header = ["", "test error", "std. error", "nodes better", "nodes worse", "hurt"];
    let right = has_classes.then_some("classes right");
    table.load_preset(presets::NOTHING).set_header(header.into_iter().chain(right));
    for method in compared.methods() {
        let (error, standard_error) = compared.error(method);
        let (gain, lose) = compared.gain_and_lose(method);
        let hurt = format!("{:.0} %", 100.0 * lose as f64 / compared.judged(method).max(1) as f64);
        let against = [gain.to_string(), lose.to_string(), hurt];
        let against = against.map(|cell| if method.name == LOCAL.name { String::new() } else { cell });
        let errors = [Some(error), Some(standard_error)].map(digits);
        let right = compared.confusion(method).map_or_else(|| "-".into(), |found| classes::right(&found));
        let right = if has_classes { vec![right] } else { Vec::new() };
        table.add_row([&[method.name.to_owned()][..], &errors, &against, &right].concat());
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let splits = counted(compared.outcomes.len(), "split");
    let control = match compared.has_control() {
        true => format!("the graph beats a shuffled one in {} of {splits}", compared.better_than_shuffled()),
        false => "no shuffled graph: with fewer than three nodes, or without edges, it would be the same one".into(),
    };
    let leading = compared.leading();
    let confusion = compared.confusion(leading).map(|found| classes::table(&found, &compared.input));
    let confusion: String = confusion
        .filter(|lines| !lines.is_empty())
        .map(|lines| format!("test rows of every class, by {}:\n{}\n", leading.name, lines.join("\n")))
        .unwrap_or_default();
    let graph = compared.graph_words().into_iter().map(|line| line + "\n");
    let notes: String = notices_on(&compared.input, compared.evidence.is_some())
        .iter()
        .map(|notice| format!("note: {notice}\n"))
        .chain(graph)
        .collect();
    let again: String = commands(compared).iter().map(|line| format!("\n{line}")).collect();
    let input = &compared.input;
    // A graph that is learnt is another one in every split.
    let edges = compared.evidence.is_none().then(|| counted(input.graph.edges(), "edge"));
    let size = [Some(counted(input.names.len(), "node")), edges, Some(counted(input.data.len(), "row"))];
    let size = size.into_iter().flatten().collect::<Vec<_>>().join(", ");
    format!(
        "{size}\n{notes}{}, mean over nodes; {splits}, {} trained; better and worse than local\n{table}\n{confusion}{control}\nsplit: {}{again}",
        compared.error_name(),
        counted(compared.rows_trained, "row"),
        compared.request.held_out.describe()
    )
}
