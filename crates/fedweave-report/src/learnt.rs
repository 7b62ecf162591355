//! A graph that was learnt from rows: the evidence for its edges, and how it lies beside the places of the nodes.

use serde::{Deserialize, Serialize};

use crate::number::{count, percent, plural, short};
use crate::report::{Edge, Report};

/// Why the edges are there. The lists have an entry for every edge of [`Report::edges`], in their order, or none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LearntGraph {
    /// What nodes were compared by, e.g. `pooled-fit`.
    pub measure: String,
    /// How the graph was learnt, a sentence each.
    pub words: Vec<String>,
    /// How different the ends are.
    pub discrepancy: Vec<Option<f64>>,
    /// How likely the ends share a model, where pairs were tested.
    pub probability: Vec<Option<f64>>,
    /// How far apart the ends are, where nodes have places.
    pub distance: Vec<Option<f64>>,
    /// Distances are in kilometres, else in the units of the places.
    pub kilometres: bool,
    /// The graph beside one of nearest places.
    pub nearby: Option<Nearby>,
}

/// A graph beside one that joins every node with the nearest others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Nearby {
    /// How many nearest.
    pub nearest: usize,
    /// The share of the edges that also joins nearest places.
    pub shared: f64,
    /// What that share would be for a graph drawn at random.
    pub chance: f64,
    /// The distance that half of the edges exceed.
    pub median: f64,
    /// The same for all pairs of nodes.
    pub median_of_all: f64,
}

/// Edges at either end of the table.
const SHOWN: usize = 10;

/// The section of the page.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Section {
    words: Vec<String>,
    columns: Vec<String>,
    /// The edges whose ends are most alike, then, after a gap, those with the least reason.
    first: Vec<Vec<String>>,
    last: Vec<Vec<String>>,
    left_out: Option<String>,
}

pub(crate) fn section(report: &Report) -> Option<Section> {
    let learnt = report.learnt.as_ref()?;
    let value = |all: &[Option<f64>], e: usize| all.get(e).copied().flatten();
    let mut order: Vec<usize> = (0..report.edges.len()).filter(|&e| value(&learnt.discrepancy, e).is_some()).collect();
    let size = |e: usize| value(&learnt.discrepancy, e).unwrap_or(f64::INFINITY);
    order.sort_by(|&a, &b| size(a).total_cmp(&size(b)).then(a.cmp(&b)));
    let unit = if learnt.kilometres { "km apart" } else { "apart" };
    let lists = [
        (format!("discrepancy ({})", learnt.measure), &learnt.discrepancy),
        ("probability".into(), &learnt.probability),
        (unit.to_owned(), &learnt.distance),
    ];
    let known: Vec<_> = lists.into_iter().filter(|(_, all)| all.iter().any(Option::is_some)).collect();
    let row = |&e: &usize| {
        let Edge { i, j, weight, .. } = report.edges[e];
        let ends = [report.nodes[i].name.clone(), report.nodes[j].name.clone(), short(weight)];
        let cells = known.iter().map(|(_, all)| value(all, e).map_or("–".into(), short));
        ends.into_iter().chain(cells).collect::<Vec<String>>()
    };
    let all = order.len() <= 2 * SHOWN;
    let (first, last) = if all { (&order[..], &[][..]) } else { (&order[..SHOWN], &order[order.len() - SHOWN..]) };
    let columns = ["node", "node", "weight"].map(str::to_owned);
    Some(Section {
        words: learnt
            .words
            .iter()
            .cloned()
            .chain(learnt.nearby.map(|nearby| nearby.words(learnt.kilometres)))
            .collect(),
        columns: columns.into_iter().chain(known.iter().map(|(title, _)| title.clone())).collect(),
        first: first.iter().map(row).collect(),
        last: last.iter().map(row).collect(),
        left_out: (!all).then(|| format!("{} in between", count(order.len() - 2 * SHOWN))),
    })
}

impl Nearby {
    fn words(self, kilometres: bool) -> String {
        let unit = if kilometres { " km" } else { "" };
        format!(
            "Beside a graph of places: {} of the edges also join a node with one of its {}; of a graph drawn at random {} would. Half of the \
             edges are longer than {}{unit}, half of all pairs are farther apart than {}{unit}.",
            percent(self.shared),
            plural(self.nearest, "nearest node"),
            percent(self.chance),
            short(self.median),
            short(self.median_of_all),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Node;

    fn chain(edges: usize) -> Report {
        let node = |i: usize| Node { name: format!("n{i}"), ..Node::default() };
        let edge = |i: usize| Edge { i, j: i + 1, weight: 1.0, differs: false };
        Report {
            nodes: (0..=edges).map(node).collect(),
            edges: (0..edges).map(edge).collect(),
            learnt: Some(LearntGraph {
                measure: "wald".into(),
                // The last edge has the least reason but one, the second none that is known.
                discrepancy: (0..edges).map(|e| (e != 1).then_some((e * 7 % edges) as f64)).collect(),
                ..LearntGraph::default()
            }),
            ..Report::default()
        }
    }

    #[test]
    fn edges_are_told_by_their_evidence() {
        let few = section(&chain(5)).unwrap();
        assert_eq!(few.columns, ["node", "node", "weight", "discrepancy (wald)"]);
        assert_eq!(few.first.iter().map(|row| row[3].as_str()).collect::<Vec<_>>(), ["0", "1", "3", "4"]);
        assert!(few.last.is_empty() && few.left_out.is_none());
        let many = section(&chain(101)).unwrap();
        assert_eq!((many.first.len(), many.last.len()), (SHOWN, SHOWN));
        assert_eq!((many.first[0][3].as_str(), many.last[9][3].as_str()), ("0", "100"));
        assert_eq!(many.left_out.as_deref(), Some("80 in between"));
        assert!(section(&Report::default()).is_none());
    }

    #[test]
    fn places_are_compared_where_they_are_known() {
        let mut report = chain(5);
        let learnt = report.learnt.as_mut().unwrap();
        learnt.nearby = Some(Nearby { nearest: 4, shared: 0.5, chance: 0.02, median: 80.0, median_of_all: 400.0 });
        (learnt.kilometres, learnt.distance) = (true, vec![Some(12.0); 5]);
        let told = section(&report).unwrap();
        assert_eq!(told.columns[4], "km apart");
        assert!(told.words[0].contains("50 %") && told.words[0].contains("80 km"), "{:?}", told.words);
    }
}
