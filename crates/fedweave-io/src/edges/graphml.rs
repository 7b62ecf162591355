//! GraphML: `<node id>`, `<edge source target>` and the edge attribute named `weight`. Directions are ignored.

use std::io::Read;
use std::path::Path;

use roxmltree::{Document, Node};

use super::{Builder, EdgeList};
use crate::error::{At, IoError, Place};
use crate::fault::Fault;
use crate::table::open_text;

pub(super) fn read(path: &Path) -> Result<EdgeList, IoError> {
    let mut bytes = Vec::new();
    open_text(path)?.read_to_end(&mut bytes).map_err(Place::file(path).io())?;
    let text = std::str::from_utf8(&bytes).map_err(|e| not_utf8(path, &bytes[..e.valid_up_to()]))?;
    let text = text.trim_start_matches('\u{feff}');
    let document = Document::parse(text).map_err(|e| broken(path, &e))?;
    let (weights, newlines) = (WeightKey::find(&document), newlines(text));
    let mut list = Builder::new(path, At::Line);
    for element in document.descendants().filter(Node::is_element) {
        let line = newlines.partition_point(|&at| at < element.range().start) as u64 + 1;
        match element.tag_name().name() {
            "node" => drop(list.node(line, attribute(&element, "id"))?),
            "edge" => read_edge(&mut list, line, &element, &weights)?,
            _ => {}
        }
    }
    if list.edges.is_empty() {
        return Err(Place::file(path).fault(Fault::NoEdges));
    }
    Ok(list.finish())
}

fn read_edge(list: &mut Builder, line: u64, edge: &Node, weights: &WeightKey) -> Result<(), IoError> {
    let text = weights.of(edge);
    let weight = text.trim().parse().map_err(|_| list.fault(line, Fault::EdgeWeight { value: format!("{text:?}") }))?;
    list.edge(line, attribute(edge, "source"), attribute(edge, "target"), weight)
}

/// Where the weights stand: the `<key>` whose `attr.name` is `weight`.
struct WeightKey<'a> {
    id: Option<&'a str>,
    default: &'a str,
}

impl<'a> WeightKey<'a> {
    fn find(document: &'a Document) -> Self {
        let is_weight = |n: &Node| {
            n.tag_name().name() == "key"
                && n.attribute("attr.name").is_some_and(|name| name.eq_ignore_ascii_case("weight"))
                && matches!(n.attribute("for"), Some("edge" | "all") | None)
        };
        let key = document.descendants().find(is_weight);
        let default = key.and_then(|k| k.children().find(|c| c.tag_name().name() == "default")?.text());
        WeightKey { id: key.and_then(|k| k.attribute("id")), default: default.unwrap_or("1") }
    }

    fn of(&self, edge: &Node<'a, '_>) -> &'a str {
        let data = self.id.and_then(|id| edge.children().find(|c| c.attribute("key") == Some(id)));
        data.map_or(self.default, |d| d.text().unwrap_or_default())
    }
}

fn attribute<'a>(element: &Node<'a, '_>, name: &str) -> &'a str {
    element.attribute(name).unwrap_or_default()
}

fn newlines(text: &str) -> Vec<usize> {
    text.bytes().enumerate().filter(|&(_, b)| b == b'\n').map(|(i, _)| i).collect()
}

fn not_utf8(path: &Path, valid: &[u8]) -> IoError {
    let line = valid.iter().filter(|&&b| b == b'\n').count() as u64 + 1;
    Place::line(path, line).fault(Fault::NotUtf8)
}

fn broken(path: &Path, error: &roxmltree::Error) -> IoError {
    Place::line(path, error.pos().row.into()).fault(Fault::GraphMl { message: error.to_string() })
}
