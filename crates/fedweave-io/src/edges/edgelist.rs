//! Edge lists as networkx writes them: `a b`, `a b 2.5` or `a b {'weight': 2.5}`, separated by blanks; `#` starts a comment.

use std::path::Path;

use super::{Builder, EdgeList};
use crate::error::IoError;
use crate::fault::Fault;

pub(super) fn read(path: &Path) -> Result<EdgeList, IoError> {
    let mut list = Builder::by_lines(path, read_line)?;
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
