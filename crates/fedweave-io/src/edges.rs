//! Edges: a table (`source,target,weight`), GraphML, GML, a list as networkx writes it, or an adjacency list. All feed the same
//! checks.

mod adjacency;
mod edgelist;
mod gml;
mod graphml;
mod matching;
mod tabular;

use std::io::BufRead;
use std::path::{Path, PathBuf};

use fedweave::Graph;

use crate::error::{At, IoError, Place};
use crate::fault::Fault;
use crate::table::{Interner, open_text};

pub use matching::Matching;

/// The edges of a file. Node ids are the strings of the file.
#[derive(Debug)]
pub struct EdgeList {
    path: PathBuf,
    at: fn(u64) -> At,
    ids: Vec<String>,
    edges: Vec<Edge>,
    notes: Vec<String>,
    /// The first line of a table of two columns, which is an edge if its words are nodes.
    header: Option<[String; 2]>,
}

#[derive(Debug, Clone, Copy)]
struct Edge {
    source: u32,
    target: u32,
    weight: f64,
    line: u64,
}

impl EdgeList {
    /// Reads a file: `.graphml`, `.gml`, `.edgelist` and `.adj`/`.adjlist` by their names, anything else as a table.
    pub fn read(path: &Path) -> Result<Self, IoError> {
        match extension(path).as_str() {
            "graphml" => graphml::read(path),
            "gml" => gml::read(path),
            "edgelist" => edgelist::read(path),
            "adj" | "adjlist" => adjacency::read(path),
            _ => {
                let mut list = tabular::read(path)?;
                if list.header_names(&list.ids) {
                    list.take_header_as_edge();
                }
                Ok(list)
            }
        }
    }

    /// Without a header the first edge looks like one: `i,j` are the ends of edges, or two nodes.
    pub(crate) fn adopt_header(&mut self, nodes: &[String]) {
        if self.header_names(nodes) {
            self.take_header_as_edge();
        }
    }

    fn header_names(&self, nodes: &[String]) -> bool {
        self.header.as_ref().is_some_and(|words| words.iter().all(|word| nodes.contains(word)))
    }

    fn take_header_as_edge(&mut self) {
        let Some(words) = self.header.take() else { return };
        let note = format!("{} and {} in the first line are nodes, so it is read as an edge", words[0], words[1]);
        let [source, target] = words.map(|word| {
            let known = self.ids.iter().position(|id| *id == word);
            known.unwrap_or_else(|| {
                self.ids.push(word);
                self.ids.len() - 1
            }) as u32
        });
        self.edges.insert(0, Edge { source, target, weight: 1.0, line: 1 });
        self.notes = vec![note];
    }

    /// Every node id the file names, with or without an edge.
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Both ends and the weight of every edge.
    pub fn triples(&self) -> impl Iterator<Item = (&str, &str, f64)> {
        let id = |code: u32| self.ids[code as usize].as_str();
        self.edges.iter().map(move |edge| (id(edge.source), id(edge.target), edge.weight))
    }

    /// How the file was read, where that is not plain.
    pub fn notes(&self) -> impl Iterator<Item = String> + '_ {
        self.notes.iter().map(|note| format!("{}: {note}", self.path.display()))
    }

    /// Refuses edges between nodes none of which has rows; otherwise how many have.
    pub(crate) fn matching(&self, rows: &[String]) -> Result<Matching, IoError> {
        let matching = Matching::of(&self.ids, rows);
        match matching.shared {
            0 => Err(Place::file(&self.path).fault(Fault::NoSharedNodes(matching))),
            _ => Ok(matching),
        }
    }

    /// What `matching` has to say, with the name of the file.
    pub(crate) fn doubt(&self, matching: &Matching) -> Option<String> {
        matching.is_doubtful().then(|| format!("{}: {matching}", self.path.display()))
    }

    /// The graph on `names`, which must be in byte order and hold every id of the file.
    pub fn graph(&self, names: &[String]) -> Result<Graph, IoError> {
        // An id that is not among the names gets an index beyond them, which the graph refuses.
        let find = |id: &String| names.binary_search(id).unwrap_or(names.len());
        let index: Vec<usize> = self.ids.iter().map(find).collect();
        let triple = |e: &Edge| (index[e.source as usize], index[e.target as usize], e.weight);
        let triples: Vec<_> = self.edges.iter().map(triple).collect();
        Graph::new(names.len(), &triples).map_err(|error| self.locate(error))
    }

    /// The mathematics counts edges; the reader of a message counts lines.
    fn locate(&self, error: fedweave::Error) -> IoError {
        let fedweave::Error::EdgeConflict { first, second } = error else {
            return Place::file(&self.path).fault(Fault::Mathematics(error));
        };
        let (first, second) = (self.edges[first], self.edges[second]);
        let id = |code: u32| self.ids[code as usize].clone();
        self.place(second.line).fault(Fault::EdgeConflict {
            source_id: id(second.source),
            target_id: id(second.target),
            weight: second.weight,
            other: first.weight,
            place: self.place(first.line),
        })
    }

    fn place(&self, line: u64) -> Place {
        Place { path: self.path.clone(), at: (self.at)(line) }
    }
}

/// An edge list while it is being read.
struct Builder {
    path: PathBuf,
    at: fn(u64) -> At,
    ids: Interner,
    edges: Vec<Edge>,
    notes: Vec<String>,
    header: Option<[String; 2]>,
}

impl Builder {
    fn new(path: &Path, at: fn(u64) -> At) -> Self {
        Builder {
            path: path.to_path_buf(),
            at,
            ids: Interner::default(),
            edges: Vec::new(),
            notes: Vec::new(),
            header: None,
        }
    }

    /// A file of which every line is handed to `read` with its number, counted from 1; without an edge it is refused.
    fn by_lines(path: &Path, read: fn(&mut Self, u64, &str) -> Result<(), IoError>) -> Result<Self, IoError> {
        let mut list = Builder::new(path, At::Line);
        for (i, text) in open_text(path)?.split(b'\n').enumerate() {
            let line = i as u64 + 1;
            let text = text.map_err(Place::line(path, line).io())?;
            let text = String::from_utf8(text).map_err(|_| Place::line(path, line).fault(Fault::NotUtf8))?;
            read(&mut list, line, text.trim_start_matches('\u{feff}'))?;
        }
        match list.edges.is_empty() {
            true => Err(Place::file(path).fault(Fault::NoEdges)),
            false => Ok(list),
        }
    }

    fn node(&mut self, line: u64, id: &str) -> Result<u32, IoError> {
        match id {
            "" => Err(self.fault(line, Fault::EmptyId { what: "end of an edge" })),
            _ => Ok(self.ids.code(id)),
        }
    }

    fn edge(&mut self, line: u64, source: &str, target: &str, weight: f64) -> Result<(), IoError> {
        if source == target && !source.is_empty() {
            return Err(self.fault(line, Fault::SelfLoop { node: source.into() }));
        }
        let (source, target) = (self.node(line, source)?, self.node(line, target)?);
        if !(weight > 0.0 && weight.is_finite()) {
            return Err(self.fault(line, Fault::EdgeWeight { value: weight.to_string() }));
        }
        self.edges.push(Edge { source, target, weight, line });
        Ok(())
    }

    fn fault(&self, line: u64, fault: Fault) -> IoError {
        Place { path: self.path.clone(), at: (self.at)(line) }.fault(fault)
    }

    fn finish(self) -> EdgeList {
        let ids = self.ids.into_levels();
        EdgeList { path: self.path, at: self.at, ids, edges: self.edges, notes: self.notes, header: self.header }
    }
}

/// The extension in lower case, below a `.gz`.
fn extension(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map(|(_, extension)| extension.to_owned()).unwrap_or_default()
}
