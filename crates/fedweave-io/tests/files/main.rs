//! The crate through real files. One binary, because linking six takes longer than running them.
#![allow(missing_docs)]

mod common;
mod damage;
mod edges;
mod input;
mod neighbours;
#[cfg(feature = "parquet")]
mod parquet;
mod run;
mod table;
