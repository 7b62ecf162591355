//! Reports of Fedweave: one self-contained HTML file that people would rather look at than read.
//!
//! A [`Report`] is plain data; [`render`] turns it into a page that needs no server and no network and opens from a
//! file. The page says what was fitted, what the errors hint at ([`diagnose`]), and what is certain and what is not.
//!
//! ```
//! use fedweave_report::{Node, Report, render};
//! let mut report = Report { title: "Two stations".into(), ..Report::default() };
//! report.nodes = vec![Node { name: "a".into(), ..Node::default() }, Node { name: "b".into(), ..Node::default() }];
//! let page = render(&report)?;
//! assert!(page.starts_with("<!doctype html>") && page.contains("Two stations"));
//! # Ok::<(), fedweave_report::ReportError>(())
//! ```

mod axis;
mod calibration;
mod chart;
mod check;
mod compared;
mod confusion;
mod curves;
mod data;
mod diagnose;
mod error;
mod figure;
mod frame;
mod layout;
mod learnt;
pub mod live;
mod network;
mod number;
mod page;
mod path;
mod projection;
mod report;
mod tables;
pub mod trust;
mod words;

pub use calibration::{Calibration, CoveragePoint};
pub use diagnose::{Diagnosis, Errors, Verdict, diagnose};
pub use error::ReportError;
pub use figure::{Curve, Figure, Panel};
pub use learnt::{LearntGraph, Nearby};
pub use number::{natural, plural};
pub use path::{Path, PathPoint};
pub use report::{
    Asking, Cluster, Comparison, Confusion, Coordinates, Edge, LambdaCurve, LambdaPoint, Lesson, Method, MethodKind,
    Node, Outcome, Report, Status, Step, What,
};

/// Writes the report as one HTML page.
pub fn render(report: &Report) -> Result<String, ReportError> {
    check::check(report)?;
    page::render(report, page::Extent::Whole)
}
