//! Numbers, counts and notices in words.

use fedweave::graph::partition::Partition;
use fedweave::loss::LossSpec;
use fedweave_io::Input;

pub use fedweave_io::counted;

/// Six significant digits, in powers of ten where that is shorter.
pub fn number(value: f64) -> String {
    significant(value, 6)
}

fn significant(value: f64, digits: i32) -> String {
    let size = value.abs();
    if size == 0.0 || !size.is_finite() {
        return if size == 0.0 { "0".into() } else { value.to_string() };
    }
    // Of the number as it will be shown: 9.9999996 has as many places as 10.
    let rounded = format!("{size:.*e}", digits as usize - 1);
    let exponent: i32 = rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    match exponent {
        -5..=6 => format!("{value:.*}", (digits - 1 - exponent).max(0) as usize),
        _ => format!("{value:.*e}", digits as usize - 1),
    }
}

/// A number, or a dash.
pub fn shown(value: Option<f64>) -> String {
    value.map_or("-".into(), number)
}

/// How many models are shared, and how many are not.
pub fn clusters(sizes: &[usize]) -> String {
    let shared = sizes.iter().filter(|s| **s > 1).count();
    let alone = sizes.len() - shared;
    let members: usize = sizes.iter().filter(|s| **s > 1).sum();
    let own = if alone == 1 { "has its own" } else { "have their own" };
    let share = if members == 1 { "shares" } else { "share" };
    format!(
        "{}: {} {share} {}, {} {own}",
        counted(sizes.len(), "cluster"),
        counted(members, "node"),
        counted(shared, "model"),
        counted(alone, "node")
    )
}

/// What the user should know about the data and the graph that was given.
pub fn notices(input: &Input) -> Vec<String> {
    notices_on(input, false)
}

/// The same where the graph may have been learnt: one without edges is an answer then, not an omission.
pub fn notices_on(input: &Input, learnt: bool) -> Vec<String> {
    let n = &input.notices;
    let mut all = Vec::new();
    let mut say = |count: usize, text: String| all.extend((count > 0).then_some(text));
    let (empty, lonely) = (n.nodes_without_rows.len(), n.nodes_without_edges.len());
    let with = |count: usize, one: &str, several: &str| match count {
        1 => format!("1 node {one}"),
        _ => format!("{count} nodes {several}"),
    };
    let alone = "has no rows and learns from its neighbours alone";
    say(empty, with(empty, alone, "have no rows and learn from their neighbours alone"));
    say(lonely, with(lonely, "has no edges and learns alone", "have no edges and learn alone"));
    let named: Vec<&str> = n.nodes_with_neither.iter().take(5).map(String::as_str).collect();
    let neither = n.nodes_with_neither.len();
    say(
        neither,
        with(
            neither,
            &format!("has neither rows nor edges; its model is undetermined and set to zero: {}", named.join(", ")),
            &format!(
                "have neither rows nor edges; their models are undetermined and set to zero: {}",
                named.join(", ")
            ),
        ),
    );
    let edges = input.graph.edges();
    let pieces = Partition::components(&input.graph).len() - lonely - neither;
    let no_edges = match learnt {
        true => {
            "no two nodes were found that should learn together; --degree K joins every node with others all the same"
        }
        false => "there are no edges: give --edges FILE, or --knn K with --by COLUMNS",
    };
    say(usize::from(edges == 0), no_edges.into());
    say(
        usize::from(edges > 0 && pieces > 1),
        format!("the graph has {pieces} components; nothing is shared between them"),
    );
    all.extend(row_notices(input));
    all
}

/// A share in percent, with a digit behind the point.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// `2nd`, `3rd`, `11th`.
pub fn ordinal(k: usize) -> String {
    let ending = match (k % 10, k % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{k}{ending}")
}

/// Those about rows and cells alone.
pub fn row_notices(input: &Input) -> Vec<String> {
    let n = &input.notices;
    let were = |count: usize| if count == 1 { "was" } else { "were" };
    let dropped = format!("{} with missing values {} dropped", counted(n.rows_dropped, "row"), were(n.rows_dropped));
    let filled = format!(
        "{} {} replaced by the mean of {} column (over all rows, held-out ones included)",
        counted(n.cells_filled, "missing value"),
        were(n.cells_filled),
        if n.cells_filled == 1 { "its" } else { "their" }
    );
    let cells = (n.rows_dropped > 0).then_some(dropped).into_iter().chain((n.cells_filled > 0).then_some(filled));
    n.reading.iter().cloned().chain(cells).collect()
}

/// The name of a loss, `mixed` where nodes differ.
pub fn loss_name(loss: &LossSpec) -> String {
    match loss {
        LossSpec::Same(family) => family.to_string(),
        LossSpec::PerNode(_) => "mixed".into(),
    }
}

/// What its error is called.
pub fn error_name(loss: &LossSpec) -> &'static str {
    match loss {
        LossSpec::Same(family) => family.error_name(),
        LossSpec::PerNode(_) => "mean loss",
    }
}

/// The last line of a job: where its files are, or that there are none.
pub fn written(path: Option<&std::path::Path>, what: &str) -> String {
    match path {
        Some(path) => format!("written to {0}, see {0}/report.html", path.display()),
        None => format!("nothing written; --out DIR keeps {what}"),
    }
}

/// Name and version of the program.
pub fn version() -> String {
    format!("fedweave {}", env!("CARGO_PKG_VERSION"))
}

/// Four significant digits, or a dash.
pub fn digits(value: Option<f64>) -> String {
    let Some(value) = value.filter(|v| v.is_finite()) else { return "-".into() };
    significant(value, 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn point_06_numbers_have_significant_digits() {
        assert_eq!(
            (number(0.0012345678), number(1.0), number(0.0)),
            ("0.00123457".into(), "1.00000".into(), "0".into())
        );
        assert_eq!(
            (digits(Some(0.00004321)), digits(Some(9.99996)), digits(None)),
            ("0.00004321".into(), "10.00".into(), "-".into())
        );
        assert_eq!((number(1.5e-9), number(123456789.0)), ("1.50000e-9".into(), "1.23457e8".into()));
        assert_eq!((counted(1, "edge"), ordinal(2), ordinal(12)), ("1 edge".into(), "2nd".into(), "12th".into()));
    }
}
