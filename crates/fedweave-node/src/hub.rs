//! A common mean of all nodes: a node without rows that all others are joined to. It lives in one part like any other node.

use fedweave::graph::{Cut, Graph, cut};

use crate::error::{Error, Result};
use crate::network::Network;

/// Where the strength of the pull to the common mean comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hub {
    /// The weights of its edges are given, like those of all others.
    Given,
    /// The parts learn it, with everything else about the coupling, before their rounds.
    Learnt,
}

/// Names of a common mean; the first that comes after all other names is taken.
const HUB_NAMES: [&str; 2] = ["~common mean", "\u{10ffff}common mean"];

/// A name for the common mean of nodes with these names, which are in byte order. It comes last, as the common mean does on
/// one machine.
pub fn hub_name(names: &[String]) -> Result<String> {
    let last = names.last().map_or("", String::as_str);
    let found = HUB_NAMES.into_iter().find(|name| last < *name);
    found.map(String::from).ok_or_else(|| Error::HubName { node: last.into() })
}

/// The graph with one more node that is joined to all others; what its edges weigh is learnt.
pub fn joined_to_all(graph: &Graph) -> Result<Graph> {
    let hub = graph.nodes();
    let edges = (0..graph.edges()).map(|e| (graph.nodes_of(e).0, graph.nodes_of(e).1, graph.weight(e)));
    Ok(Graph::new(hub + 1, &edges.chain((0..hub).map(|i| (i, hub, 1.0))).collect::<Vec<_>>())?)
}

impl Network {
    /// The part of every node: the graph without the common mean is cut, which then lives in the first part.
    pub fn cut(&self, parts: usize) -> Cut {
        let nodes = self.graph.nodes() - usize::from(self.hub.is_some());
        let mut cut = cut(&self.inner_graph(), parts.min(nodes));
        cut.part.extend(self.hub.map(|_| 0));
        cut
    }

    /// The graph without the common mean.
    pub fn inner_graph(&self) -> Graph {
        let nodes = self.graph.nodes() - usize::from(self.hub.is_some());
        let edges = (0..self.graph.edges()).map(|e| (self.graph.nodes_of(e), self.graph.weight(e)));
        let inner: Vec<_> = edges.filter(|((_, j), _)| *j < nodes).map(|((i, j), w)| (i, j, w)).collect();
        Graph::new(nodes, &inner).expect("some edges of a graph make a graph")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_mean_comes_last() {
        let name = |last: &str| hub_name(&["a".into(), last.into()]);
        assert_eq!(name("zebra").unwrap(), "~common mean");
        assert_eq!(name("~common mean").unwrap(), "\u{10ffff}common mean");
        assert_eq!(name("\u{e4}").unwrap(), "\u{10ffff}common mean");
        assert!(name("\u{10ffff}d").is_err());
    }
}
