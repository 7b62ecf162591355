//! What can be wrong with files and requests. Every text is one line that ends with the remedy.

use std::fmt;
use std::io;

use thiserror::Error;

use crate::error::Place;

/// What is wrong. The place is told by the [`IoError`](crate::IoError) around it.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the fields are the words of the messages right above them
pub enum Fault {
    /// No such file.
    #[error("no such file; check the path")]
    NotFound,
    /// A folder where a file is needed.
    #[error("this is a folder; name a file inside it")]
    IsFolder,
    /// The operating system refuses.
    #[error("cannot be read or written: {0}; check the file and its permissions")]
    System(io::Error),
    /// Not a single byte (or only blank lines).
    #[error("the file is empty; the first line must name the columns")]
    Empty,
    /// A header and nothing below.
    #[error("no rows below the header; add at least one")]
    HeaderOnly,
    /// A row with too many or too few fields.
    #[error("expected {expected} fields, found {found} (ragged row); quote fields that contain {delimiter}")]
    Ragged { expected: usize, found: usize, delimiter: &'static str },
    /// A quote that never ends.
    #[error("a quoted field opens here and never closes; add the missing quote, or double a quote inside a field")]
    UnclosedQuote,
    /// Bytes that are not text.
    #[error("not UTF-8 text; save the file as UTF-8, e.g. by iconv -f WINDOWS-1252 -t UTF-8 old.csv > new.csv")]
    NotUtf8,
    /// Two columns of one name.
    #[error("two columns are named {column:?}; rename one")]
    DuplicateColumn { column: String },
    /// A column without a name.
    #[error("column {position} has no name; name it in the header (or remove a trailing comma)")]
    UnnamedColumn { position: usize },
    /// A file that is not the Parquet it claims to be.
    #[error("not readable as Parquet: {message}; write it again, uncompressed or with snappy compression")]
    Parquet { message: String },
    /// A Parquet file, but the reader was left out of this build.
    #[error("a Parquet file, which this build cannot read (feature `parquet`); write it as CSV")]
    NoParquet,
    /// A file that is not the GraphML it claims to be.
    #[error("not readable as GraphML: {message}; check the file with an XML tool")]
    GraphMl { message: String },

    /// A file that is not the GML it claims to be.
    #[error("not readable as GML: {message}; write it again, e.g. with networkx.write_gml")]
    Gml { message: String },

    /// A file that is not the idx array it should be.
    #[error("not readable as idx: {message}; fetch the file again")]
    Idx { message: String },

    /// A TOML file that cannot be understood.
    #[error("{what}; {hint}")]
    Toml { what: String, hint: &'static str },

    /// A number beyond double precision.
    #[error("column {column}: {value} is not a finite number; correct it or leave the cell empty")]
    Infinite { column: String, value: String },
    /// Text where features must be numbers.
    #[error("not numeric: {}; drop them (--drop {names}) or one-hot encode them (--one-hot {names}){}",
        listed(examples), stray_cells(examples), names = names_of(examples))]
    TextFeatures { examples: Vec<Example> },
    /// Text where one column must be numeric.
    #[error(
        "column {column}: {value:?} is not a number; correct it or leave the cell empty; to predict a class, use --loss logistic (two) or multinomial"
    )]
    NotNumber { column: String, value: String },
    /// A loss of two classes with another number of them.
    #[error("column {column} has {} classes ({}), the loss needs two; use --loss multinomial", found.len(), found.iter().take(5).cloned().collect::<Vec<_>>().join(", "))]
    NotTwoClasses { column: String, found: Vec<String> },
    /// A column that does not exist.
    #[error("no column {name:?}{}; the columns are {}", did_you_mean(suggestion), available.join(", "))]
    UnknownColumn { name: String, suggestion: Option<String>, available: Vec<String> },
    /// No column with the ids of the nodes.
    #[error("no column {name:?} with the ids of the nodes; name it with --node; the columns are {}", available.join(", "))]
    NoNodeColumn { name: String, available: Vec<String> },
    /// One column asked to play two parts that exclude each other.
    #[error("column {column:?} is the {role} and cannot be a feature too; remove it from --features or --one-hot")]
    RoleConflict { column: String, role: &'static str },
    /// Cells without a value.
    #[error("missing values: {} (first at {first}); use --missing drop or --missing mean", tallied(counts))]
    Missing { counts: Vec<(String, usize)>, first: Place },
    /// Cells without a value where a stored encoding knows no mean to fill them with.
    #[error("column {column}: the value is missing; {remedy}")]
    MissingCell { column: String, remedy: &'static str },
    /// Every row lost to missing values.
    #[error("no row is complete, nothing is left; drop the emptiest columns (--drop) or use --missing mean")]
    NothingLeft,
    /// A column without a single value.
    #[error("column {column} has no values at all; drop it (--drop {})", quoted(column))]
    NoValues { column: String },
    /// Nothing to learn from.
    #[error("no feature columns are left and no intercept is fitted; name some with --features or drop --no-intercept")]
    NoFeatures,
    /// The task needs a target and none was named.
    #[error("the loss needs a target column; name it with --target")]
    NoTarget,
    /// A negative row weight.
    #[error("column {column}: row weight {value} is negative; weights must be zero or positive")]
    RowWeight { column: String, value: f64 },
    /// A level or class that the fitted model has never met.
    #[error("column {column}: {value:?} did not occur when the model was fitted ({}); correct it, fit again, or let `predict --skip-unknown` leave such rows out", known.join(", "))]
    UnknownLevel { column: String, value: String, known: Vec<String> },

    /// A node without a name.
    #[error("the node id is empty; every {what} needs one")]
    EmptyId { what: &'static str },
    /// A graph file without a graph.
    #[error("no edges in this file; check its format, or leave out --edges for a graph without edges")]
    NoEdges,
    /// An edge table whose columns cannot be told.
    #[error("edges need a header with source,target (or from,to or i,j or u,v) and optionally weight; found {}", found.join(","))]
    EdgeHeader { found: Vec<String> },
    /// A line of an edge list that does not name two nodes.
    #[error("expected two nodes and perhaps a weight, separated by blanks; found {found:?}")]
    EdgeLine { found: String },
    /// Edges between nodes none of which has rows.
    #[error("{0}; write the names alike in both files")]
    NoSharedNodes(crate::edges::Matching),
    /// An edge from a node to itself.
    #[error("{node:?} is joined with itself; remove this edge")]
    SelfLoop { node: String },
    /// A weight that is not a positive number.
    #[error("edge weight {value} must be a positive number; correct it or remove the edge")]
    EdgeWeight { value: String },
    /// The same edge twice, with different weights.
    #[error("{source_id:?} - {target_id:?} has weight {weight}, but weight {other} at {place}; keep one of them")]
    EdgeConflict { source_id: String, target_id: String, weight: f64, other: f64, place: Place },
    /// The same node twice in a table with one row per node.
    #[error("node {node:?} is listed again (first at {first}); keep one row per node")]
    DuplicateNode { node: String, first: Place },
    /// A column that should be constant inside a node and is not.
    #[error(
        "column {column}: node {node:?} has {value:?} here, but {other:?} at {place}; it must be the same on all its rows"
    )]
    NotConstant { column: String, node: String, value: String, other: String, place: Place },
    /// Levels of a text column, of protected rows.
    #[error(
        "column {column} is text, and which texts occur would tell about rows that are to be protected; write a column of 0 and 1 for each text \
         that you know of, and give --dp-range COLUMN=0:1 for each"
    )]
    LevelsTell { column: String },
    /// Positions that are means over protected rows.
    #[error(
        "column {column}: node {node:?} has {value} here, but {other} at {place}; the graph would follow from their mean, which tells about rows that \
         are to be protected: give positions of nodes with --node-info, or --edges"
    )]
    PositionsTell { column: String, node: String, value: f64, other: f64, place: Place },

    /// Two sources for one graph.
    #[error("both an edge file and --knn are given; choose one of them")]
    TwoGraphs,
    /// Neighbours without coordinates.
    #[error("--knn needs coordinate columns; name them with --by, e.g. --by lat,lon")]
    NoCoordinates,
    /// A number of neighbours that the nodes cannot have.
    #[error("--knn {k} is impossible with {nodes} nodes; choose between 1 and {}", nodes.saturating_sub(1))]
    Neighbours { k: usize, nodes: usize },
    /// Nodes that stand nowhere.
    #[error(
        "node {node:?} has no {column} ({count} such); --knn needs coordinates of every node, e.g. from --node-info"
    )]
    NodeWithoutCoordinate { column: String, count: usize, node: String },
    /// Great-circle distance of something that is no latitude and longitude.
    #[error("great-circle distance needs two columns, latitude and longitude; found {found}; use --metric euclidean")]
    NotGeographic { found: String },
    /// Columns that may be latitude and longitude, or not.
    #[error("are {found} latitude and longitude in degrees? Then give --metric great-circle, else --metric euclidean")]
    WhichMetric { found: String },
    /// An angle that is not on the globe.
    #[error("node {node:?}: {what} {value} is outside +-{limit} degrees; correct it or use --metric euclidean")]
    OffGlobe { node: String, what: &'static str, value: f64, limit: f64 },

    /// A run folder that is already there.
    #[error("the folder exists; choose another or pass --overwrite")]
    Exists,
    /// A folder that must not be replaced.
    #[error("this is no run folder (it has no summary.json) and will not be overwritten; choose another")]
    NotARun,
    /// A path that names no folder.
    #[error("this does not name a new folder; choose a name")]
    NoFolderName,
    /// JSON that cannot be read or written.
    #[error("not the JSON expected here: {0}; the file may come from another version")]
    Json(serde_json::Error),
    /// A parameters file of unexpected shape.
    #[error("not a parameters table: {message}; the first column must be `node`, the others numbers")]
    Parameters { message: String },
    /// Models that cannot be used.
    #[error("not a file this program wrote: {message}")]
    Models { message: String },
    /// A checkpoint that is damaged.
    #[error("not a usable checkpoint: {message}; delete it and start afresh")]
    Checkpoint { message: String },
    /// A checkpoint of something else.
    #[error("the checkpoint belongs to another problem ({difference}); use the same files and options, or delete it")]
    OtherProblem { difference: String },

    /// The mathematics refuses.
    #[error("{0}")]
    Mathematics(fedweave::Error),
}

/// A column that is not numeric, with the cell that shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Example {
    /// The column.
    pub column: String,
    /// Its first cell that is no number.
    pub value: String,
    /// Numbers stand above that cell.
    pub after_numbers: bool,
    /// Where that cell stands.
    pub place: Place,
}

impl fmt::Display for Example {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let after = if self.after_numbers { ", numbers before" } else { "" };
        write!(f, "{} ({:?} at {}{after})", self.column, self.value, self.place)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Fault::NotFound,
            io::ErrorKind::IsADirectory => Fault::IsFolder,
            _ => Fault::System(error),
        }
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Fault::Json(error)
    }
}

fn listed(examples: &[Example]) -> String {
    examples.iter().map(Example::to_string).collect::<Vec<_>>().join(", ")
}

fn names_of(examples: &[Example]) -> String {
    quoted(&examples.iter().map(|e| e.column.as_str()).collect::<Vec<_>>().join(","))
}

/// What else may be the matter with columns of numbers.
fn stray_cells(examples: &[Example]) -> &'static str {
    match examples.iter().any(|example| example.after_numbers) {
        true => "; where single cells hold no number, leave them empty (--missing drop or --missing mean)",
        false => "",
    }
}

/// A number of things: `1 edge`, `2 edges`.
pub fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// A word as a shell wants it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,:=%+@".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

fn tallied(counts: &[(String, usize)]) -> String {
    counts.iter().map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ")
}

fn did_you_mean(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map(|s| format!(" (did you mean {s:?}?)")).unwrap_or_default()
}
