//! From files to mathematics: the node table, the graph, and everything a report may want to say about the nodes.

mod attributes;
mod doubts;
mod encoding;
mod levels;
mod missing;
mod neighbours;
mod nodes;
mod protected;
mod reading;
mod roles;
mod rows;
mod spec;
mod times;

use std::path::Path;

use fedweave::{Dataset, Graph};

pub use attributes::{Coordinates, NodeColumn, load_positions, perhaps_geographic};
pub use encoding::{Encoding, Feature};
pub use protected::Protected;
pub use rows::{Rows, Skipped, Unlabelled, load_known_rows, load_rows, load_unlabelled};
pub use spec::{InputSpec, Metric, MissingPolicy, TargetKind};
pub use times::{TimeColumn, TimeScale};

use crate::edges::EdgeList;
use crate::error::{At, IoError, Place};
use crate::fault::Fault;
use crate::table::Table;
use attributes::NodeInfo;
use nodes::NodeSet;
use roles::Roles;

/// What the files say.
#[derive(Debug, Clone)]
pub struct Input {
    /// All nodes, in byte order; a node's position is its index everywhere else.
    pub names: Vec<String>,
    /// The graph on them.
    pub graph: Graph,
    /// Their rows: features, then a column of ones if there is an intercept.
    pub data: Dataset,
    /// Rows without labels (theirs are 0), if these were asked for.
    pub unlabelled: Option<Dataset>,
    /// Names of the columns of `data`, one-hot columns expanded, `intercept` last if there is one.
    pub features: Vec<String>,
    /// The line (Parquet: row) each row of `data` stands on.
    pub lines: Vec<u64>,
    /// For each row of `data` the group it belongs to, `0..`, in order of first appearance in the file.
    pub groups: Option<Vec<u32>>,
    /// What the groups of `data` are, if their column was named.
    pub protected: Option<Protected>,
    /// When each row of `data` was observed, as `encoding.time` counts.
    pub times: Option<Vec<f64>>,
    /// Where the nodes stand.
    pub coordinates: Option<Coordinates>,
    /// Every node is joined with so many nearest, by this distance.
    pub nearest: Option<(usize, Metric)>,
    /// The class labels, sorted; a label of `data` is a position in this list.
    pub classes: Vec<String>,
    /// Further columns that are constant inside a node.
    pub per_node: Vec<NodeColumn>,
    /// How to build the same features from another file.
    pub encoding: Encoding,
    /// What the user should know.
    pub notices: Notices,
    source: Place,
    at: fn(u64) -> At,
    of_files: bool,
}

/// Not wrong, but worth a word.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct Notices {
    /// Nodes without rows that have an edge: they learn from their neighbours alone.
    pub nodes_without_rows: Vec<String>,
    /// Nodes without edges that have rows: they learn alone.
    pub nodes_without_edges: Vec<String>,
    /// Nodes with neither: nothing can be learnt about them.
    pub nodes_with_neither: Vec<String>,
    /// Rows left out because of missing values.
    pub rows_dropped: usize,
    /// Missing features replaced by the mean of their column.
    pub cells_filled: usize,
    /// How the files were read, where that is not plain.
    pub reading: Vec<String>,
}

/// Reads all files of a request.
pub fn load(spec: &InputSpec) -> Result<Input, IoError> {
    spec.check()?;
    let info = spec.node_info.as_deref().map(|path| NodeInfo::read(path, spec)).transpose()?;
    let mut edges = spec.edges.as_deref().map(EdgeList::read).transpose()?;
    let table = Table::read(&spec.nodes, |name| roles::kind(spec, name))?;
    let roles = Roles::assign(spec, &table)?;
    if let Some(text) = roles.features.iter().find(|feature| spec.guarded && feature.one_hot) {
        return Err(table.file().fault(Fault::LevelsTell { column: table.names()[text.column].clone() }));
    }
    let kept = missing::keep(spec, &table, &roles)?;
    let encoding = Encoding::learn(spec, &table, &roles, &kept.rows)?;

    if let Some(edges) = &mut edges {
        edges.adopt_header(&table.text(roles.node).levels);
    }
    let matching = edges.as_ref().map(|edges| edges.matching(&table.text(roles.node).levels)).transpose()?;
    let nodes = NodeSet::union(table.text(roles.node), edges.as_ref(), info.as_ref());
    let node_of_row = nodes.of_rows(table.text(roles.node));
    let order = rows::by_node_and_time(&table, &roles, &node_of_row, kept.rows);
    let data = rows::dataset(&table, &roles, &encoding, nodes.len(), &node_of_row, &order)?;
    let from =
        attributes::Sources { spec, table: &table, node_of_row: &node_of_row, info: info.as_ref(), nodes: &nodes };
    let coordinates = from.coordinates()?;
    let unlabelled = match spec.unlabelled {
        true => Some(rows::unlabelled(&table, &encoding, nodes.len(), &node_of_row, kept.unlabelled)?),
        false => None,
    };
    let graph = graph(spec, edges.as_ref(), coordinates.as_ref(), &nodes)?;
    let nearest = spec.knn.zip(coordinates.as_ref()).map(|(k, at)| (k, neighbours::metric(spec, at)));
    let per_node = from.per_node()?;
    let (data, protected) = match from.protected(&order)? {
        Some((protected, groups)) => (data.grouped(groups)?, Some(protected)),
        None => (data, None),
    };
    let notices = Notices {
        rows_dropped: kept.dropped,
        cells_filled: kept.filled,
        reading: reading::notes(spec, &table, edges.as_ref().zip(matching.as_ref()), &encoding, coordinates.as_ref())
            .into_iter()
            .chain(doubts::of(spec, &table, &roles, &order))
            .collect(),
        ..isolated(&nodes.names, &graph, &data)
    };
    Ok(Input {
        features: encoding.names(),
        lines: order.iter().map(|&row| table.lines()[row]).collect(),
        protected,
        groups: roles.group.map(|group| rows::groups(table.text(group), &order)),
        times: times(&table, &roles, &encoding, &order),
        classes: encoding.classes.clone(),
        names: nodes.names,
        source: table.file(),
        at: table.at(),
        of_files: true,
        unlabelled,
        graph,
        data,
        coordinates,
        nearest,
        per_node,
        encoding,
        notices,
    })
}

impl Input {
    /// Rows and a graph that are in memory already. Nodes are in the order of `names`; `encoding` says what the columns are, and
    /// `lines` where each row stood, counted from 1.
    pub fn in_memory(
        names: Vec<String>,
        graph: Graph,
        data: Dataset,
        lines: Vec<u64>,
        encoding: Encoding,
        coordinates: Option<Coordinates>,
    ) -> Self {
        Input {
            features: encoding.names(),
            groups: None,
            protected: None,
            times: None,
            classes: encoding.classes.clone(),
            nearest: None,
            unlabelled: None,
            per_node: Vec::new(),
            notices: isolated(&names, &graph, &data),
            source: Place::file(Path::new("X")),
            at: At::Row,
            of_files: false,
            names,
            graph,
            data,
            lines,
            coordinates,
            encoding,
        }
    }

    /// The same with the rows of `data` that `mask` names.
    pub fn select(&self, mask: &[bool]) -> Input {
        fn kept<T: Copy>(values: &[T], mask: &[bool]) -> Vec<T> {
            values.iter().zip(mask).filter(|(_, keep)| **keep).map(|(value, _)| *value).collect()
        }
        Input {
            data: self.data.select(mask),
            lines: kept(&self.lines, mask),
            groups: self.groups.as_ref().map(|groups| kept(groups, mask)),
            times: self.times.as_ref().map(|times| kept(times, mask)),
            ..self.clone()
        }
    }

    /// The same nodes and rows on another graph.
    #[must_use]
    pub fn with_graph(self, graph: Graph) -> Input {
        let Notices { nodes_without_rows, nodes_without_edges, nodes_with_neither, .. } =
            isolated(&self.names, &graph, &self.data);
        let notices = Notices { nodes_without_rows, nodes_without_edges, nodes_with_neither, ..self.notices };
        Input { graph, notices, nearest: None, ..self }
    }

    /// False for rows that were in memory already.
    pub fn is_of_files(&self) -> bool {
        self.of_files
    }

    /// The table of rows, as the user named it.
    pub fn table(&self) -> String {
        self.source.path.display().to_string()
    }

    /// Where a row of `data` stands in the files.
    pub fn place(&self, row: usize) -> Place {
        Place { at: (self.at)(self.lines[row]), ..self.source.clone() }
    }
}

fn graph(
    spec: &InputSpec,
    edges: Option<&EdgeList>,
    coordinates: Option<&Coordinates>,
    nodes: &NodeSet,
) -> Result<Graph, IoError> {
    match (edges, spec.knn) {
        (Some(edges), _) => edges.graph(&nodes.names),
        (None, Some(k)) => neighbours::graph(spec, coordinates, &nodes.names, k),
        (None, None) => Ok(Graph::new(nodes.len(), &[])?),
    }
}

fn times(table: &Table, roles: &Roles, encoding: &Encoding, order: &[usize]) -> Option<Vec<f64>> {
    Some(encoding.time.as_ref()?.numbers(table.text(roles.time?), order))
}

fn isolated(names: &[String], graph: &Graph, data: &Dataset) -> Notices {
    let mut notices = Notices::default();
    for (i, name) in names.iter().enumerate() {
        let list = match (data.rows(i).is_empty(), graph.degree(i) == 0) {
            (true, true) => &mut notices.nodes_with_neither,
            (true, false) => &mut notices.nodes_without_rows,
            (false, true) => &mut notices.nodes_without_edges,
            (false, false) => continue,
        };
        list.push(name.clone());
    }
    notices
}
