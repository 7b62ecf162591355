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
//! use fedweave::graph::generate::chain;
//! use fedweave::loss::{Family, LossOptions};
//! use fedweave::penalty::Norm2;
//! use fedweave::solve::{Settings, Watch, solve};
//! use fedweave::{Dataset, Matrix, Problem};
//!
//! // Three nodes in a row with one point each: convex clustering.
//! let points = Matrix::from_rows(1, vec![0.0, 0.2, 5.0]);
//! let data = Dataset::new(vec![0, 1, 2, 3], points, vec![0.0; 3], vec![1.0; 3])?;
//! let loss = Family::Point.build(data, &LossOptions::default())?;
//! let problem = Problem::build(chain(3)?, loss, Box::new(Norm2), 0.5)?;
//! let solution = solve(&problem, &Settings::default(), None, &mut |_| Watch::Continue);
//! // The first two nodes share a model; no other models have a noticeably smaller objective.
//! assert!((solution.w.row(0)[0] - solution.w.row(1)[0]).abs() < 1e-4);
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
pub mod graph;
pub mod laws;
pub mod learn;
mod linalg;
pub mod loss;
pub mod matrix;
pub mod model;
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
pub mod tune;
mod unroll;

pub use dataset::Dataset;
pub use error::{Error, Result};
pub use graph::Graph;
pub use matrix::Matrix;
pub use problem::Problem;
