//! The program as its users meet it: the real binary, in a temporary folder.

mod ask;
mod bad_input;
mod explain;
mod extremes;
mod federation;
mod federation_models;
mod first_steps;
mod golden;
mod graph_learn;
mod intervals;
mod membership;
mod models;
mod new_nodes;
mod not_errors;
mod outputs;
mod path;
mod privacy;
mod reproduce;
mod rounds;
mod sandbox;
mod simulate;
mod trust;
