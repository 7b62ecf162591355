//! Damaged files of every format: refused or read, never a panic.

use std::path::PathBuf;

use fedweave_io::{InputSpec, load};

use crate::common::{Folder, folder};

const NODES: &str = "node,x,y\na,1,2\n\"b, c\",3,4\na,5,6\n";

/// Loads the file `name` with every single byte changed, and cut behind every byte.
fn damage(name: &str, content: &[u8], spec: impl Fn(&Folder, PathBuf) -> InputSpec) {
    let folder = folder();
    let try_it = |bytes: &[u8]| drop(load(&spec(&folder, folder.write(name, bytes))));
    for at in 0..content.len() {
        try_it(&content[..at]);
        for byte in [0, b'"', b',', b'\n', 0x7f, 0xff, content[at] ^ 1, content[at] ^ 0x80] {
            let mut damaged = content.to_vec();
            damaged[at] = byte;
            try_it(&damaged);
        }
    }
}

fn with_nodes(_: &Folder, nodes: PathBuf) -> InputSpec {
    let (target, target_kind) = (Some("y".into()), fedweave_io::TargetKind::Number);
    InputSpec { target, target_kind, ..InputSpec::new(nodes) }
}

fn with_edges(folder: &Folder, edges: PathBuf) -> InputSpec {
    InputSpec { edges: Some(edges), ..folder.spec(NODES) }
}

#[test]
fn damaged_csv() {
    damage("nodes.csv", NODES.as_bytes(), with_nodes);
}

#[test]
fn damaged_graphs() {
    damage("e.csv", b"source,target,weight\na,\"b, c\",1e0\n", with_edges);
    damage("e.adj", b"a b # c\nc a\n", with_edges);
    let edge = "<edge source='a' target='b'><data key='w'>2</data></edge>";
    let graphml = format!("<graphml><key id='w' attr.name='weight'/><graph>{edge}</graph></graphml>");
    damage("e.graphml", graphml.as_bytes(), with_edges);
}

#[cfg(feature = "parquet")]
#[test]
fn damaged_parquet() {
    use crate::parquet::{doubles, texts, write};
    let folder = folder();
    let path = folder.path().join("whole.parquet");
    let schema = "optional binary node (STRING); optional double x; optional double y;";
    write(&path, schema, 1, &[texts(&["a", "b"]), doubles(&[1.0, 2.0]), doubles(&[1.0, 2.0])]);
    damage("nodes.parquet", &std::fs::read(&path).unwrap(), with_nodes);
}
