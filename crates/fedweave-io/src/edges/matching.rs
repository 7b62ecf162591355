//! Do a file of edges and the rows speak of the same nodes? If not, the likely cause.

use std::collections::{HashMap, HashSet};
use std::fmt;

/// How many nodes two files share.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Matching {
    /// Nodes with rows.
    pub nodes: usize,
    /// Nodes with rows that the edges name.
    pub shared: usize,
    /// Nodes of the edges that have no rows.
    pub strangers: usize,
    /// Some nodes with rows that the edges do not name.
    pub without_edges: Vec<String>,
    /// Some of the strangers.
    pub without_rows: Vec<String>,
    /// Why names may differ, in words.
    pub cause: Option<String>,
}

/// Names quoted of each side.
const EXAMPLES: usize = 3;

/// Ways in which one name is written twice, and what to say about them.
type Spelling = (fn(&str) -> String, &'static str);
const SPELLINGS: [Spelling; 4] = [
    (|id| id.trim().to_owned(), "they differ in spaces around the names"),
    (|id| id.trim().to_lowercase(), "they differ in upper and lower case"),
    (as_number, "numbers are written differently"),
    (without_letters, "one side puts letters before the number"),
];

impl Matching {
    /// Compares the ids of edges with those of rows.
    pub fn of(edges: &[String], rows: &[String]) -> Matching {
        let (of_edges, of_rows): (HashSet<&String>, HashSet<&String>) =
            (edges.iter().collect(), rows.iter().filter(|id| !id.is_empty()).collect());
        let alone = |ids: &[String], others: &HashSet<&String>| -> Vec<String> {
            ids.iter().filter(|id| !id.is_empty() && !others.contains(id)).cloned().collect()
        };
        let (without_rows, without_edges) = (alone(edges, &of_rows), alone(rows, &of_edges));
        let nodes = of_rows.len();
        Matching {
            nodes,
            shared: nodes - without_edges.len(),
            strangers: without_rows.len(),
            cause: cause(&without_rows, &without_edges),
            without_rows: without_rows.into_iter().take(EXAMPLES).collect(),
            without_edges: without_edges.into_iter().take(EXAMPLES).collect(),
        }
    }

    /// Both sides have nodes that the other does not know: worth a word.
    pub fn is_doubtful(&self) -> bool {
        self.strangers > 0 && self.shared < self.nodes
    }
}

impl fmt::Display for Matching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |ids: &[String]| ids.iter().map(|id| format!("{id:?}")).collect::<Vec<_>>().join(", ");
        let (shared, nodes) = (self.shared, self.nodes);
        match shared {
            0 if nodes == 1 => write!(f, "the one node with rows has no edge")?,
            0 => write!(f, "none of the {nodes} nodes with rows has an edge")?,
            _ => write!(
                f,
                "{shared} of the {nodes} nodes with rows are in it, {} of its nodes have no rows",
                self.strangers
            )?,
        }
        write!(f, ": rows have {}, edges have {}", quoted(&self.without_edges), quoted(&self.without_rows))?;
        self.cause.iter().try_for_each(|cause| write!(f, "; {cause}"))
    }
}

fn cause(strangers: &[String], rows: &[String]) -> Option<String> {
    for (spell, words) in SPELLINGS {
        let known: HashMap<String, &String> = rows.iter().map(|id| (spell(id), id)).collect();
        if let Some((edge, row)) = strangers.iter().find_map(|id| Some((id, known.get(&spell(id))?))) {
            return Some(format!("{words}: {edge:?} is perhaps {row:?}"));
        }
    }
    let numbered = |ids: &[String]| !ids.is_empty() && ids.iter().all(|id| id.trim().parse::<f64>().is_ok());
    let positions = numbered(strangers) && !numbered(rows);
    positions.then(|| "the graph was perhaps saved with positions instead of names (networkx: relabel_nodes)".into())
}

/// `7`, `7.0` and `007` alike.
fn as_number(id: &str) -> String {
    id.trim().parse::<f64>().map_or_else(|_| id.to_owned(), |number| number.to_string())
}

/// `n7` and `7` alike; a name without a number stays as it is.
fn without_letters(id: &str) -> String {
    match id.trim_start_matches(|c: char| !c.is_ascii_digit()) {
        "" => id.to_owned(),
        number => as_number(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause_of(edges: &[&str], rows: &[&str]) -> Option<String> {
        let own = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        Matching::of(&own(edges), &own(rows)).cause
    }

    #[test]
    fn likely_causes_are_named() {
        assert!(cause_of(&["oslo"], &["Oslo"]).unwrap().contains("upper and lower case: \"oslo\" is perhaps \"Oslo\""));
        assert!(cause_of(&["7.0"], &["7"]).unwrap().contains("numbers are written differently"));
        assert!(cause_of(&["n7"], &["7"]).unwrap().contains("letters before the number"));
        assert!(cause_of(&[" a"], &["a"]).unwrap().contains("spaces"));
        assert!(cause_of(&["0", "1"], &["Oslo", "Bergen"]).unwrap().contains("positions instead of names"));
        assert_eq!(cause_of(&["x"], &["Oslo"]), None);
    }
}
