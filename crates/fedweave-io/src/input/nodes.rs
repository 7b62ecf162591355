//! The set of nodes: everything that any file calls a node.

use super::attributes::NodeInfo;
use crate::edges::EdgeList;
use crate::table::Text;

/// All nodes in byte order, so that indices do not depend on the order of any file.
pub(super) struct NodeSet {
    pub names: Vec<String>,
}

impl NodeSet {
    pub(super) fn union(ids: &Text, edges: Option<&EdgeList>, info: Option<&NodeInfo>) -> Self {
        let edges = edges.into_iter().flat_map(|edges| edges.ids());
        let info = info.into_iter().flat_map(|info| &info.ids().levels);
        let mut names: Vec<&String> = ids.levels.iter().chain(edges).chain(info).filter(|id| !id.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        NodeSet { names: names.into_iter().cloned().collect() }
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// The node of each row; `None` where the id is empty.
    pub(super) fn of_rows(&self, ids: &Text) -> Vec<Option<u32>> {
        let find = |id: &String| self.names.binary_search(id).ok().map(|i| i as u32);
        let of_level: Vec<Option<u32>> = ids.levels.iter().map(find).collect();
        ids.codes.iter().map(|&code| of_level[code as usize]).collect()
    }
}
