//! Adjacency lists: `a b c` joins `a` with `b` and with `c`; `#` starts a comment. All weights are 1.

use std::path::Path;

use super::{Builder, EdgeList};
use crate::error::IoError;

pub(super) fn read(path: &Path) -> Result<EdgeList, IoError> {
    Ok(Builder::by_lines(path, read_line)?.finish())
}

fn read_line(list: &mut Builder, line: u64, text: &str) -> Result<(), IoError> {
    let text = text.split('#').next().unwrap_or_default();
    let mut ids = text.split_whitespace();
    let Some(node) = ids.next() else {
        return Ok(());
    };
    list.node(line, node)?;
    ids.try_for_each(|neighbour| list.edge(line, node, neighbour, 1.0))
}
