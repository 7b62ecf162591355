//! Edge lists in all formats.

use crate::common::{failure, folder, strip};
use fedweave_io::{EdgeList, InputSpec, load};

const NODES: &str = "node,x,y\na,1,2\nb,1,2\nc,1,2\n";

/// The edges `(name, name, weight)` that a file of this name and content gives.
fn edges(name: &str, content: &str) -> Vec<(String, String, f64)> {
    let folder = folder();
    let spec = InputSpec { edges: Some(folder.write(name, content)), ..folder.spec(NODES) };
    let input = load(&spec).unwrap();
    let edge = |e: usize| {
        let (i, j) = input.graph.nodes_of(e);
        (input.names[i].clone(), input.names[j].clone(), input.graph.weight(e))
    };
    (0..input.graph.edges()).map(edge).collect()
}

fn refusal(name: &str, content: &str) -> String {
    let folder = folder();
    failure(&folder, &InputSpec { edges: Some(folder.write(name, content)), ..folder.spec(NODES) })
}

fn edge(a: &str, b: &str, weight: f64) -> (String, String, f64) {
    (a.into(), b.into(), weight)
}

#[test]
fn tables_with_and_without_weights() {
    assert_eq!(edges("e.csv", "source,target,weight\nb,a,2\nc,b,0.5\n"), [edge("a", "b", 2.0), edge("b", "c", 0.5)]);
    assert_eq!(edges("e.csv", "From,note,TO\nc,x,a\n"), [edge("a", "c", 1.0)]);
    assert_eq!(edges("e.tsv", "source\ttarget\nc\ta\n"), [edge("a", "c", 1.0)]);
    assert_eq!(edges("e.csv", "source,target\na,b\nb,a\n"), [edge("a", "b", 1.0)]);
}

#[test]
fn adjacency_lists() {
    let expected = [edge("a", "b", 1.0), edge("a", "c", 1.0)];
    assert_eq!(edges("e.adj", "# made by hand\na b c # two\n\nb a\nlonely\n"), expected);
    assert_eq!(edges("e.adjlist", "\u{feff}a b c\r\n"), expected);
    assert_eq!(refusal("e.adj", "a b\nc c\n"), "e.adj:2: \"c\" is joined with itself; remove this edge");
    assert!(refusal("e.adj", "# nothing\n").starts_with("e.adj: no edges in this file; "));
}

const GRAPHML: &str = r#"<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d1" for="node" attr.name="weight" attr.type="double"/>
  <key id="d0" for="edge" attr.name="weight" attr.type="double"><default>3</default></key>
  <graph edgedefault="undirected">
    <node id="a"><data key="d1">9</data></node><node id="b"/><node id="z"/>
    <edge source="b" target="a"><data key="d0">2.5</data></edge>
    <edge source="b" target="c"/>
  </graph>
</graphml>"#;

#[test]
fn graphml_with_weights_and_isolated_nodes() {
    assert_eq!(edges("e.graphml", GRAPHML), [edge("a", "b", 2.5), edge("b", "c", 3.0)]);
    let folder = folder();
    let list = EdgeList::read(&folder.write("e.graphml", GRAPHML)).unwrap();
    assert_eq!(list.ids(), ["a", "b", "z", "c"]);
}

#[test]
fn graphml_faults_have_lines() {
    let bad = |from: &str, to: &str| refusal("e.graphml", &GRAPHML.replace(from, to));
    assert_eq!(
        bad("2.5", "-1"),
        "e.graphml:7: edge weight -1 must be a positive number; correct it or remove the edge"
    );
    assert_eq!(
        bad("2.5", "x"),
        "e.graphml:7: edge weight \"x\" must be a positive number; correct it or remove the edge"
    );
    assert_eq!(bad("target=\"c\"", "target=\"b\""), "e.graphml:8: \"b\" is joined with itself; remove this edge");
    assert_eq!(bad("target=\"c\"", ""), "e.graphml:8: the node id is empty; every end of an edge needs one");
    assert!(bad("</graph>", "").starts_with("e.graphml:10: not readable as GraphML: "));
}

#[test]
fn faulty_edges_are_refused_with_file_and_line() {
    let table = |rows: &str| refusal("edges.csv", &format!("source,target,weight\n{rows}"));
    let weight = |value: &str| {
        format!("edges.csv:3: edge weight {value} must be a positive number; correct it or remove the edge")
    };
    assert_eq!(table("a,a,1\n"), "edges.csv:2: \"a\" is joined with itself; remove this edge");
    for (cell, shown) in [("-1", "-1"), ("0", "0"), ("", "NaN"), ("NaN", "NaN"), ("inf", "inf"), ("big", "\"big\"")] {
        assert_eq!(table(&format!("a,b,1\nb,c,{cell}\n")), weight(shown));
    }
    assert_eq!(table("a,,1\n"), "edges.csv:2: the node id is empty; every end of an edge needs one");
    assert_eq!(
        table("a,b,1\nb,c,1\nb,a,2\n"),
        "edges.csv:4: \"b\" - \"a\" has weight 2, but weight 1 at edges.csv:2; keep one of them"
    );
    assert_eq!(
        refusal("edges.csv", "a,b\nb,c\n"),
        "edges.csv: edges need a header with source,target (or from,to or i,j or u,v) and optionally weight; found a,b"
    );
    assert!(refusal("edges.csv", "source,target\n").starts_with("edges.csv: no rows below the header"));
}

#[test]
fn a_missing_edge_file_is_named() {
    let folder = folder();
    let error = EdgeList::read(&folder.path().join("gone.graphml")).unwrap_err();
    assert_eq!(strip(&folder, &error.to_string()), "gone.graphml: no such file; check the path");
}
