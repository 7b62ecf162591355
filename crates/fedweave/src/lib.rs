//! Personal models for networks of datasets, by generalised total variation minimisation:
//!
//! ```text
//! minimise   sum_i L_i(w_i)  +  lambda * sum_e A_e * phi(w_i - w_j)
//!            `-- loss --'       `--- graph ---'`- penalty -'          found by solve, judged by certificate
//! ```
//!
//! Every symbol has one module, every function of the formula one file, and [`Problem`] is the plus sign. This crate is
//! the mathematics: it knows no files, sockets, clocks or terminals.
//!
//! ```
//! use fedweave::{Family, NamedRows, penalty::Norm2};
//!
//! // Rows of (node, features, label); neighbouring nodes are drawn together, the more the larger lambda.
//! let rows = [("oslo", [0.0], 1.0), ("oslo", [1.0], 3.0), ("bergen", [0.0], 1.1), ("bergen", [2.0], 4.9)];
//! let problem = NamedRows::new(rows)?.problem([("oslo", "bergen", 1.0)], Family::Squared, Norm2, 0.01)?;
//! let solution = problem.solve();
//! println!("{} {:?}", solution.status, solution.model("oslo")?);
//! println!("{:?}", solution.predict("bergen", &[1.0])?);
//! // No other models have a noticeably smaller objective.
//! assert!(solution.certified_gap.unwrap() < 1e-5);
//! # Ok::<(), fedweave::Error>(())
//! ```

pub mod accounting;
pub mod baseline;
pub mod certificate;
pub mod cluster;
pub mod compare;
pub mod dataset;
pub mod error;
pub mod features;
pub mod folds;
pub mod graph;
pub mod laws;
pub mod learn;
mod linalg;
pub mod loss;
pub mod matrix;
pub mod model;
mod named;
mod parallel;
pub mod path;
pub mod penalty;
pub mod problem;
pub mod random;
pub mod robustness;
pub mod scaling;
mod scratch;
pub mod solve;
pub mod split;
pub mod synthetic;
pub mod theory;
pub mod trust;
pub mod tune;
mod unroll;
pub mod vertical;

pub use dataset::Dataset;
pub use error::{Error, Result};
pub use graph::Graph;
pub use loss::Family;
pub use matrix::Matrix;
pub use named::{NamedProblem, NamedRows, NamedSolution};
pub use problem::Problem;
