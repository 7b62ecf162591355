//! What all reports share: nodes and edges, sampled if there are too many to draw.

use fedweave::graph::Graph;
use fedweave::solve::Status;
use fedweave_io::{Coordinates, Input};
use fedweave_report as report;
use fedweave_report::Report;

use crate::request::Naming;
use crate::wording::{ordinal, version};

/// Reports show at most this many nodes; larger networks are sampled evenly.
const NODES_DRAWN: usize = 100_000;

/// A report without facts.
pub(crate) fn blank(naming: &Naming, title: impl FnOnce() -> String) -> Report {
    Report {
        title: naming.title.clone().unwrap_or_else(title),
        version: version(),
        command: naming.command.clone(),
        sources: naming.source.iter().cloned().collect(),
        ..Report::default()
    }
}

/// Every how manyth of `n` nodes is drawn.
pub(crate) fn drawing_step(n: usize) -> usize {
    n.div_ceil(NODES_DRAWN).max(1)
}

/// Puts nodes, edges and coordinates into a report.
pub(crate) fn draw(
    report: &mut Report,
    input: &Input,
    graph: &Graph,
    node: impl Fn(usize) -> report::Node,
    differs: impl Fn(usize) -> bool,
) {
    let n = input.names.len();
    let step = drawing_step(n);
    if step > 1 {
        report.notices.push(format!("the picture and the table show every {} of the {n} nodes", ordinal(step)));
    }
    let coordinates = input.coordinates.as_ref();
    report.coordinates = match coordinates.map(|c| (c.geographic, c.values.cols())) {
        Some((true, _)) => report::Coordinates::Geographic,
        Some((false, 2)) => report::Coordinates::Plane,
        _ => report::Coordinates::None,
    };
    let drawn = |i: usize| {
        let (x, y) = coordinates.map_or((None, None), |c| place(c, i));
        report::Node { name: input.names[i].clone(), rows: input.data.rows(i).len(), x, y, ..node(i) }
    };
    report.nodes = (0..n).step_by(step).map(drawn).collect();
    report.edges = (0..graph.edges())
        .filter_map(|e| {
            let (i, j) = graph.nodes_of(e);
            let drawn = i % step == 0 && j % step == 0;
            drawn.then(|| report::Edge { i: i / step, j: j / step, weight: graph.weight(e), differs: differs(e) })
        })
        .collect();
}

/// x and y of a node. Latitude comes first by custom, unless the columns say otherwise.
fn place(c: &Coordinates, i: usize) -> (Option<f64>, Option<f64>) {
    if c.values.cols() != 2 {
        return (None, None);
    }
    let (row, known) = (c.values.row(i), |v: f64| v.is_finite().then_some(v));
    let first = c.names[0].to_lowercase();
    let first_is_x = !c.geographic || first.starts_with("lo") || first.starts_with("ln");
    if first_is_x { (known(row[0]), known(row[1])) } else { (known(row[1]), known(row[0])) }
}

/// How a solver ended, for the report.
pub(crate) fn report_status(status: Status) -> report::Status {
    match status {
        Status::Converged => report::Status::Converged,
        Status::Stalled => report::Status::Stalled,
        Status::IterationLimit => report::Status::IterationLimit,
        Status::TimeLimit => report::Status::TimeLimit,
        Status::Interrupted => report::Status::Interrupted,
        Status::Diverged => report::Status::Diverged,
    }
}
