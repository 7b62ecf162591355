//! The numbers the script of the page works on, as JSON that is safe inside a script element.

use crate::ReportError;
use crate::chart::{Chart, Hover};
use crate::network::Network;
use crate::path::view::PathData;
use crate::report::{Node, Report};
use serde::Serialize;

/// Above this many numbers the models of single nodes stay out of the page.
const PARAMETERS_MAX: usize = 400_000;
/// Above this many edges a click does not show the neighbours.
const EDGES_MAX: usize = 200_000;

#[derive(Serialize)]
struct Data<'a> {
    /// Column by column, which is half the size of node by node.
    name: Vec<&'a str>,
    rows: Vec<usize>,
    cluster: Vec<Option<usize>>,
    x: Vec<Option<f64>>,
    y: Vec<Option<f64>>,
    train: Vec<Option<f64>>,
    validation: Vec<Option<f64>>,
    local: Vec<Option<f64>>,
    global: Vec<Option<f64>>,
    gain: Vec<Option<f64>>,
    parameters: Vec<Vec<f64>>,
    shaped: Vec<Vec<(&'a str, f64)>>,
    features: Vec<String>,
    colours: &'a [usize],
    /// Ends one after the other.
    edges: Vec<usize>,
    /// How different the ends are, where the graph was learnt, and by what.
    discrepancy: Vec<Option<f64>>,
    measure: &'a str,
    error_name: &'a str,
    hover: Vec<(&'static str, &'a [Hover])>,
    path: Option<&'a PathData>,
}

/// The data of the page.
pub(crate) fn embed(
    report: &Report,
    network: Option<&Network>,
    colours: &[usize],
    charts: &[&Chart],
    path: Option<&PathData>,
) -> Result<String, ReportError> {
    let column = |value: fn(&Node) -> Option<f64>| report.nodes.iter().map(|node| value(node).map(rounded)).collect();
    let place = |k: usize| match network {
        Some(network) => network.places.iter().map(|place| place.map(|p| (p[k] * 10.0).round() / 10.0)).collect(),
        None => Vec::new(),
    };
    let data = Data {
        name: report.nodes.iter().map(|node| node.name.as_str()).collect(),
        rows: report.nodes.iter().map(|node| node.rows).collect(),
        cluster: report.nodes.iter().map(|node| node.cluster).collect(),
        x: place(0),
        y: place(1),
        train: column(|node| node.train_error),
        validation: column(|node| node.validation_error),
        local: column(|node| node.local_error),
        global: column(|node| node.global_error),
        gain: column(Node::gain),
        parameters: parameters(report),
        shaped: shaped(report),
        features: (0..report.what.dim).map(|k| report.parameter_name(k)).collect(),
        colours,
        edges: edges(report),
        discrepancy: discrepancy(report),
        measure: report.learnt.as_ref().map_or("", |learnt| &learnt.measure),
        error_name: &report.outcome.error_name,
        hover: charts.iter().map(|chart| (chart.id, chart.hover.as_slice())).collect(),
        path,
    };
    Ok(escape(&serde_json::to_string(&data)?))
}

pub(crate) fn parameters(report: &Report) -> Vec<Vec<f64>> {
    if report.nodes.len() * report.what.dim > PARAMETERS_MAX {
        return Vec::new();
    }
    report.nodes.iter().map(|node| node.parameters.iter().map(|w| rounded(*w)).collect()).collect()
}

/// Who shaped each model; nothing where nobody worked it out.
fn shaped(report: &Report) -> Vec<Vec<(&str, f64)>> {
    if report.nodes.iter().all(|node| node.shaped_by.is_empty()) {
        return Vec::new();
    }
    report
        .nodes
        .iter()
        .map(|node| node.shaped_by.iter().map(|(name, share)| (name.as_str(), rounded(*share))).collect())
        .collect()
}

fn discrepancy(report: &Report) -> Vec<Option<f64>> {
    match &report.learnt {
        Some(learnt) if report.edges.len() <= EDGES_MAX => learnt.discrepancy.iter().map(|d| d.map(rounded)).collect(),
        _ => Vec::new(),
    }
}

fn edges(report: &Report) -> Vec<usize> {
    if report.edges.len() > EDGES_MAX {
        return Vec::new();
    }
    report.edges.iter().flat_map(|edge| [edge.i, edge.j]).collect()
}

/// Six significant digits: more than a page shows, half the bytes.
pub(crate) fn rounded(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}

/// No `<`, `>` or `&` survives, so no text in it can end the script element or start another.
fn escape(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => safe.push_str(&format!("\\u{:04x}", c as u32)),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_leave_the_script_element() {
        let hostile = r#"</script><img src=x onerror="alert(1)">&amp;<!-- "quoted" \ ü"#;
        let safe = escape(&serde_json::to_string(hostile).unwrap());
        assert!(!safe.contains(['<', '>', '&']));
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), hostile);
    }

    #[test]
    fn six_digits_are_kept() {
        assert_eq!(rounded(1.234567891), 1.23457);
        assert_eq!(rounded(-1.5e-300), -1.5e-300);
        assert!(rounded(f64::NAN).is_nan());
    }
}
