//! Files of Fedweave: what stands on disk becomes a [`Graph`](fedweave::Graph) and a [`Dataset`](fedweave::Dataset),
//! and what was found goes back to disk.
//!
//! ```text
//! nodes.csv | nodes.parquet  --Table-->  load  -->  Input { graph, data, names, ... }
//! edges.csv | .graphml | .adj  --EdgeList--^            RunWriter  -->  run/parameters.csv, summary.json, ...
//! ```
//!
//! ```no_run
//! use fedweave_io::{InputSpec, TargetKind, load};
//!
//! let spec = InputSpec {
//!     edges: Some("edges.csv".into()),
//!     target: Some("y".into()),
//!     target_kind: TargetKind::Number,
//!     ..InputSpec::new("nodes.csv")
//! };
//! let input = load(&spec)?;
//! println!("{} nodes, {} edges, {} rows", input.names.len(), input.graph.edges(), input.data.len());
//! # Ok::<(), fedweave_io::IoError>(())
//! ```
//!
//! Every failure is an [`IoError`]: what is wrong, in which file and line, and what to do about it.

mod edges;
mod energy;
mod error;
mod fault;
mod idx;
mod input;
mod noise;
mod run;
mod table;
mod toml_file;

pub use edges::{EdgeList, Matching};
pub use energy::{Meter, Used};
pub use error::{At, IoError, Place};
pub use fault::{Example, Fault, counted, quoted};
pub use idx::Idx;
pub use input::{
    Coordinates, Encoding, Feature, Input, InputSpec, Metric, MissingPolicy, NodeColumn, Notices, Protected, Rows,
    Skipped, TargetKind, TimeColumn, TimeScale, Unlabelled, load, load_known_rows, load_positions, load_rows,
    load_unlabelled, perhaps_geographic,
};
pub use noise::Noise;
pub use run::{
    ANY_CLASS, BLENDED, Checkpoint, ModelFile, NodeModel, Parameters, RunEncoding, RunWriter, csv_line, fingerprint,
    read_json, read_node_numbers, read_parameters,
};
pub use table::{Cell, Column, Dialect, Kind, Numbers, Table, Text, is_missing};
pub use toml_file::{TomlFile, read_toml};
