//! Adjacency lists: `a b c` joins `a` with `b` and with `c`; `#` starts a comment. All weights are 1.

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
    Ok(list.finish())
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
