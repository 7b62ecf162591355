//! What is known about nodes rather than rows: coordinates, and text that is constant inside a node.

use std::path::Path;

use fedweave::Matrix;
use fedweave::dataset::node_means as mean_by_node;

use super::nodes::NodeSet;
use super::spec::{InputSpec, Metric};
use crate::error::IoError;
use crate::fault::Fault;
use crate::table::{Kind, Table, Text};

/// Where the nodes stand.
#[derive(Debug, Clone, PartialEq)]
pub struct Coordinates {
    /// The columns, as given.
    pub names: Vec<String>,
    /// A row per node; NaN where nothing is known.
    pub values: Matrix,
    /// The names say latitude and longitude.
    pub geographic: bool,
}

impl Coordinates {
    /// Latitude and longitude of every node, in this order, where the names say so.
    pub fn latitude_longitude(&self) -> Option<Matrix> {
        let (latitude, longitude) = self.geographic.then(|| latitude_longitude(&self.names).unwrap_or((0, 1)))?;
        let point = |i: usize| [self.values.row(i)[latitude], self.values.row(i)[longitude]];
        Some(Matrix::from_rows(2, (0..self.values.rows()).flat_map(point).collect()))
    }
}

/// A text per node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeColumn {
    /// The column.
    pub name: String,
    /// Its text for each node, where there is one.
    pub values: Vec<Option<String>>,
}

/// The table with one row per node.
pub(super) struct NodeInfo {
    pub(super) table: Table,
    node: usize,
}

impl NodeInfo {
    pub(super) fn read(path: &Path, spec: &InputSpec) -> Result<Self, IoError> {
        let table = Table::read(path, |name| {
            let among = |names: &[String]| names.iter().any(|n| n == name);
            match name == spec.node || among(&spec.per_node) {
                true => Kind::Text,
                false if among(&spec.by) => Kind::Number,
                false if spec.protected.as_deref() == Some(name) => Kind::Text,
                false => Kind::Skip,
            }
        })?;
        let node = table.find_node(&spec.node)?;
        let info = NodeInfo { table, node };
        info.check_ids()?;
        Ok(info)
    }

    pub(super) fn ids(&self) -> &Text {
        self.table.text(self.node)
    }

    fn check_ids(&self) -> Result<(), IoError> {
        let mut first = vec![None; self.ids().levels.len()];
        for (row, &code) in self.ids().codes.iter().enumerate() {
            let node = self.ids().get(row);
            if node.is_empty() {
                return Err(self.table.place(row).fault(Fault::EmptyId { what: "row" }));
            }
            if let Some(first) = first[code as usize].replace(row) {
                let first = self.table.place(first);
                return Err(self.table.place(row).fault(Fault::DuplicateNode { node: node.into(), first }));
            }
        }
        Ok(())
    }
}

/// The nodes of a table and their positions: the mean of these columns over the rows of a node, NaN where nothing is known.
pub fn load_positions(path: &Path, node: &str, columns: &[String]) -> Result<(Vec<String>, Matrix), IoError> {
    let kind = |name: &str| match name == node {
        true => Kind::Text,
        false if columns.iter().any(|column| column == name) => Kind::Number,
        false => Kind::Skip,
    };
    let table = Table::read(path, kind)?;
    let ids = table.text(table.find_node(node)?);
    let mut values = Matrix::zeros(ids.levels.len(), columns.len());
    for (j, column) in columns.iter().enumerate() {
        let numbers = table.finite(table.find(column)?)?;
        let rows = ids.codes.iter().map(|&code| Some(code as usize)).zip(numbers.values.iter().copied());
        let means = mean_by_node(rows, ids.levels.len());
        means.into_iter().enumerate().for_each(|(i, mean)| values.row_mut(i)[j] = mean);
    }
    Ok((ids.levels.clone(), values))
}

/// Where facts about nodes may come from.
pub(super) struct Sources<'a> {
    pub spec: &'a InputSpec,
    pub table: &'a Table,
    pub node_of_row: &'a [Option<u32>],
    pub info: Option<&'a NodeInfo>,
    pub nodes: &'a NodeSet,
}

/// One column of one of the tables, with the node of each of its rows.
struct Attribute<'a> {
    table: &'a Table,
    column: usize,
    node_of_row: std::borrow::Cow<'a, [Option<u32>]>,
}

impl Sources<'_> {
    /// The columns `by`, averaged over the rows of each node.
    pub(super) fn coordinates(&self) -> Result<Option<Coordinates>, IoError> {
        let names = &self.spec.by;
        if names.is_empty() {
            return Ok(None);
        }
        let mut values = Matrix::zeros(self.nodes.len(), names.len());
        for (j, name) in names.iter().enumerate() {
            let attribute = self.attribute(name)?;
            if self.spec.guarded && std::ptr::eq(attribute.table, self.table) {
                refuse_means(&attribute, &self.nodes.names)?;
            }
            let means = node_means(&attribute, self.nodes.len())?;
            means.into_iter().enumerate().for_each(|(i, mean)| values.row_mut(i)[j] = mean);
        }
        let geographic = match self.spec.metric {
            Some(metric) => metric == Metric::GreatCircle && names.len() == 2,
            None => latitude_longitude(names).is_some(),
        };
        Ok(Some(Coordinates { names: names.clone(), values, geographic }))
    }

    /// The columns `per_node`.
    pub(super) fn per_node(&self) -> Result<Vec<NodeColumn>, IoError> {
        let column = |name: &String| {
            let values = node_texts(&self.attribute(name)?, &self.nodes.names)?;
            Ok(NodeColumn { name: name.clone(), values })
        };
        self.spec.per_node.iter().map(column).collect()
    }

    /// The column in the node information if it is there, else in the node table.
    fn attribute(&self, name: &str) -> Result<Attribute<'_>, IoError> {
        if let Some((info, column)) = self.info.and_then(|info| Some((info, info.table.position(name)?))) {
            return Ok(Attribute { table: &info.table, column, node_of_row: self.nodes.of_rows(info.ids()).into() });
        }
        let column = self.table.find(name)?;
        Ok(Attribute { table: self.table, column, node_of_row: self.node_of_row.into() })
    }
}

/// Positions of latitude and longitude among two coordinate columns, if their names say so.
pub(super) fn latitude_longitude(names: &[String]) -> Option<(usize, usize)> {
    let find = |known: &[&str]| names.iter().position(|n| known.contains(&n.to_lowercase().as_str()));
    let latitude = find(&["lat", "latitude"])?;
    let longitude = find(&["lon", "lng", "long", "longitude"])?;
    (names.len() == 2).then_some((latitude, longitude))
}

/// Two names that remind of latitude and longitude, such as `lat_n` and `lon_w`.
pub fn perhaps_geographic(names: &[String]) -> bool {
    let has = |starts: &[&str]| {
        names.iter().any(|name| {
            let name = name.to_lowercase();
            name.split(|c: char| !c.is_alphabetic()).any(|word| starts.iter().any(|start| word.starts_with(start)))
        })
    };
    names.len() == 2 && has(&["lat"]) && has(&["lon", "lng"])
}

fn node_means(attribute: &Attribute, nodes: usize) -> Result<Vec<f64>, IoError> {
    let values = attribute.table.finite(attribute.column)?;
    let nodes_of_rows = attribute.node_of_row.iter().map(|node| node.map(|i| i as usize));
    Ok(mean_by_node(nodes_of_rows.zip(values.values.iter().copied()), nodes))
}

/// Refuses numbers that differ between the rows of a node.
fn refuse_means(attribute: &Attribute, names: &[String]) -> Result<(), IoError> {
    let Attribute { table, column, .. } = attribute;
    let values = &table.finite(*column)?.values;
    let mut first: Vec<Option<usize>> = vec![None; names.len()];
    for (row, node) in attribute.node_of_row.iter().enumerate() {
        let Some(i) = node.map(|i| i as usize) else { continue };
        let earlier = *first[i].get_or_insert(row);
        let alike = values[earlier] == values[row] || values[earlier].is_nan() && values[row].is_nan();
        if !alike {
            return Err(table.place(row).fault(Fault::PositionsTell {
                column: table.names()[*column].clone(),
                node: names[i].clone(),
                value: values[row],
                other: values[earlier],
                place: table.place(earlier),
            }));
        }
    }
    Ok(())
}

fn node_texts(attribute: &Attribute, names: &[String]) -> Result<Vec<Option<String>>, IoError> {
    let text = attribute.table.text(attribute.column);
    let mut first: Vec<Option<usize>> = vec![None; names.len()];
    for (row, node) in attribute.node_of_row.iter().enumerate() {
        let Some(i) = node.filter(|_| !text.get(row).is_empty()).map(|i| i as usize) else {
            continue;
        };
        let earlier = *first[i].get_or_insert(row);
        if text.codes[earlier] != text.codes[row] {
            return Err(not_constant(attribute, &names[i], earlier, row));
        }
    }
    Ok(first.into_iter().map(|row| row.map(|row| text.get(row).to_owned())).collect())
}

fn not_constant(attribute: &Attribute, node: &str, earlier: usize, row: usize) -> IoError {
    let Attribute { table, column, .. } = attribute;
    let text = table.text(*column);
    table.place(row).fault(Fault::NotConstant {
        column: table.names()[*column].clone(),
        node: node.into(),
        value: text.get(row).into(),
        other: text.get(earlier).into(),
        place: table.place(earlier),
    })
}
