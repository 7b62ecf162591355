//! Reports inside another page, whose models may move: a studio shows the same picture, tables and words as a report, from the same
//! templates, and tells the script what has changed.

use crate::data::{parameters, rounded};
use crate::network::cluster_colours;
use crate::number::short;
use crate::page::{self, Extent};
use crate::report::{Node, Report};
use crate::tables::{self, Bar, Legend};
use crate::words::{self, Fact};
use crate::{ReportError, check};
use serde::Serialize;

/// The style of all of it.
pub const STYLE: &str = page::STYLE;
/// The script of a report, as it stands at the end of its page. It expects the elements of [`body`] or of [`network`].
pub const SCRIPT: &str = page::SCRIPT;

/// A report without the style and the script around it.
pub fn body(report: &Report) -> Result<String, ReportError> {
    check::check(report)?;
    page::render(report, Extent::Body)
}

/// The network of a report alone.
pub fn network(report: &Report) -> Result<String, ReportError> {
    check::check(report)?;
    page::render(report, Extent::Network)
}

/// How the solver gets there, alone; empty before there is something to see.
pub fn convergence(report: &Report) -> Result<String, ReportError> {
    page::render(report, Extent::Convergence)
}

/// What is different after models have moved: nodes and edges are those of the page, places stay as they are.
#[derive(Serialize)]
struct Moved {
    cluster: Vec<Option<usize>>,
    colours: Vec<usize>,
    train: Vec<Option<f64>>,
    validation: Vec<Option<f64>>,
    local: Vec<Option<f64>>,
    global: Vec<Option<f64>>,
    gain: Vec<Option<f64>>,
    parameters: Vec<Vec<f64>>,
    differs: Vec<bool>,
    legend: Vec<Legend>,
    facts: Vec<Fact>,
    bars: Vec<Bar>,
    lambda: String,
}

/// The same report with other models, as JSON for `moved` of the script.
pub fn moved(report: &Report) -> Result<serde_json::Value, ReportError> {
    check::check(report)?;
    let colours = cluster_colours(report);
    let column = |value: fn(&Node) -> Option<f64>| report.nodes.iter().map(|node| value(node).map(rounded)).collect();
    let moved = Moved {
        cluster: report.nodes.iter().map(|node| node.cluster).collect(),
        train: column(|node| node.train_error),
        validation: column(|node| node.validation_error),
        local: column(|node| node.local_error),
        global: column(|node| node.global_error),
        gain: column(Node::gain),
        parameters: parameters(report),
        differs: report.edges.iter().map(|edge| edge.differs).collect(),
        legend: tables::legend(report, &colours),
        facts: words::facts(report),
        bars: tables::error_bars(&report.outcome),
        lambda: short(report.what.lambda),
        colours,
    };
    Ok(serde_json::to_value(moved)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module, unlike a plain script, refuses to begin if a name is declared twice.
    #[test]
    fn no_name_of_the_script_is_declared_twice() {
        let words = ["function ", "async function ", "class ", "const ", "let "];
        let name = |line: &'static str| {
            let rest = words.iter().find_map(|word| line.strip_prefix(word))?;
            rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
        };
        let mut names: Vec<&str> = SCRIPT.lines().filter_map(name).collect();
        assert!(names.len() > 30, "{names:?}");
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    fn two() -> Report {
        let node = |name: &str| Node { name: name.into(), ..Node::default() };
        Report { title: "Two".into(), nodes: vec![node("a"), node("b")], ..Report::default() }
    }

    #[test]
    fn parts_of_a_page_are_those_of_the_whole() {
        let (whole, body, network) = (crate::render(&two()).unwrap(), body(&two()).unwrap(), network(&two()).unwrap());
        assert!(whole.contains(body.trim()), "the body stands in the page as it is");
        assert!(body.contains("id=\"net\"") && network.contains("id=\"net\"") && !network.contains("<main"));
        assert!(!body.contains("<style") && !body.contains("nonce"));
    }

    #[test]
    fn what_moved_has_a_value_for_every_node() {
        let moved = moved(&two()).unwrap();
        assert_eq!(moved["cluster"].as_array().unwrap().len(), 2);
    }
}
