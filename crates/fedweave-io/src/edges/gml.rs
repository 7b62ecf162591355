//! GML: `node [ id 0 label "a" ]` and `edge [ source 0 target 1 weight 2 ]`. Nodes are called by their labels if all have
//! different ones, as in networkx, else by their ids. Directions are ignored.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::Path;

use super::{Builder, EdgeList};
use crate::error::{At, IoError, Place};
use crate::fault::Fault;
use crate::table::open_text;

/// `key value` pairs of one `node` or `edge`, and the line it begins on.
struct Element<'a> {
    line: u64,
    of_node: bool,
    pairs: HashMap<&'a str, &'a str>,
}

pub(super) fn read(path: &Path) -> Result<EdgeList, IoError> {
    let mut text = String::new();
    let read = open_text(path)?.read_to_string(&mut text);
    read.map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => Place::file(path).fault(Fault::NotUtf8),
        _ => Place::file(path).io()(error),
    })?;
    let elements = elements(path, &text)?;
    let names = names(&elements);
    let mut list = Builder::new(path, At::Line);
    for element in &elements {
        let of = |key: &str| element.pairs.get(key).copied().unwrap_or_default();
        let name = |id: &str| names.get(id).map_or(id, |name| *name).to_owned();
        if element.of_node {
            list.node(element.line, &name(of("id")))?;
            continue;
        }
        let text = element.pairs.get("weight").or(element.pairs.get("value")).copied().unwrap_or("1");
        let wrong = || list.fault(element.line, Fault::EdgeWeight { value: format!("{text:?}") });
        let weight = text.parse().map_err(|_| wrong())?;
        list.edge(element.line, &name(of("source")), &name(of("target")), weight)?;
    }
    if list.edges.is_empty() {
        return Err(Place::file(path).fault(Fault::NoEdges));
    }
    Ok(list.finish())
}

/// The label of each id, if all labels are there and different.
fn names<'a>(elements: &[Element<'a>]) -> HashMap<&'a str, &'a str> {
    let nodes = || elements.iter().filter(|element| element.of_node);
    let labels: HashSet<&str> = nodes().filter_map(|node| node.pairs.get("label").copied()).collect();
    match labels.len() == nodes().count() {
        true => nodes().filter_map(|node| Some((*node.pairs.get("id")?, *node.pairs.get("label")?))).collect(),
        false => HashMap::new(),
    }
}

/// All nodes and edges, whatever surrounds them or stands inside them.
fn elements<'a>(path: &Path, text: &'a str) -> Result<Vec<Element<'a>>, IoError> {
    let (mut found, mut open): (Vec<Element>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    let mut key: Option<(u64, &str)> = None;
    for (line, token) in tokens(text) {
        let broken = |message: &str| Place::line(path, line).fault(Fault::Gml { message: message.into() });
        match (token, key.take()) {
            ("[", Some((line, kind @ ("node" | "edge")))) => {
                open.push(Some(found.len()));
                found.push(Element { line, of_node: kind == "node", pairs: HashMap::new() });
            }
            ("[", _) => open.push(None),
            ("]", None) => drop(open.pop().ok_or_else(|| broken("a bracket closes that was never opened"))?),
            ("]", Some(_)) => return Err(broken("a key has no value")),
            (value, Some((_, key))) => {
                if let Some(Some(inside)) = open.last() {
                    found[*inside].pairs.insert(key, value.trim_matches('"'));
                }
            }
            (word, None) => key = Some((line, word)),
        }
    }
    match open.is_empty() {
        true => Ok(found),
        false => Err(Place::file(path).fault(Fault::Gml { message: "a bracket is never closed".into() })),
    }
}

/// Words, brackets and quoted texts, each with its line; `#` begins a comment.
fn tokens(text: &str) -> impl Iterator<Item = (u64, &str)> {
    let (mut rest, mut line) = (text.trim_start_matches('\u{feff}'), 1u64);
    std::iter::from_fn(move || {
        loop {
            let blank = rest.len() - rest.trim_start().len();
            line += rest[..blank].matches('\n').count() as u64;
            rest = &rest[blank..];
            if !rest.starts_with('#') {
                break;
            }
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        }
        let end = match rest.chars().next()? {
            '[' | ']' => 1,
            '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
            _ => rest.find(|c: char| c.is_whitespace() || "[]\"".contains(c)).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(end);
        let at = line;
        line += token.matches('\n').count() as u64;
        rest = after;
        Some((at, token))
    })
}
