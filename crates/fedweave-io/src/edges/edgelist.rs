//! Edge lists as networkx writes them: `a b`, `a b 2.5` or `a b {'weight': 2.5}`, separated by blanks; `#` starts a comment.

use std::io::BufRead;
use std::path::Path;

use super::{Builder, EdgeList};
use crate::error::{At, IoError, Place};
use crate::fault::Fault;
use crate::table::open_text;

pub(super) fn read(path: &Path) -> Result<EdgeList, IoError> {
    let mut list = Builder::new(path, At::Line);
    for (i, text) in open_text(path)?.split(b'\n').enumerate() {
        let line = i as u64 + 1;
        let text = text.map_err(Place::line(path, line).io())?;
        let text = String::from_utf8(text).map_err(|_| Place::line(path, line).fault(Fault::NotUtf8))?;
        read_line(&mut list, line, text.trim_start_matches('\u{feff}'))?;
    }
    if list.edges.is_empty() {
        return Err(Place::file(path).fault(Fault::NoEdges));
    }
    list.notes.push("read as a list of edges separated by blanks (networkx)".into());
    Ok(list.finish())
}

fn read_line(list: &mut Builder, line: u64, text: &str) -> Result<(), IoError> {
    let text = text.split('#').next().unwrap_or_default().trim();
    let mut words = text.splitn(3, char::is_whitespace);
    let (Some(source), Some(target)) = (words.next().filter(|word| !word.is_empty()), words.next()) else {
        return match text.is_empty() {
            true => Ok(()),
            false => Err(list.fault(line, Fault::EdgeLine { found: text.into() })),
        };
    };
    let data = words.next().unwrap_or_default().trim();
    let weight = weight(data).ok_or_else(|| list.fault(line, Fault::EdgeWeight { value: format!("{data:?}") }))?;
    list.edge(line, source, target, weight)
}

/// Nothing, a number, or a Python dictionary that may have a weight.
fn weight(data: &str) -> Option<f64> {
    let Some(inside) = data.strip_prefix('{').and_then(|data| data.strip_suffix('}')) else {
        return if data.is_empty() { Some(1.0) } else { data.parse().ok() };
    };
    let pairs = inside.split(',').filter_map(|pair| pair.split_once(':'));
    let told = pairs.filter(|(key, _)| key.trim().trim_matches(['\'', '"']) == "weight").map(|(_, value)| value).next();
    told.map_or(Some(1.0), |value| value.trim().parse().ok())
}
