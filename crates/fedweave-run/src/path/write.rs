//! A path as a run directory.

use std::path::PathBuf;

use fedweave::solve::Status;
use fedweave_io::RunWriter;
use fedweave_report as report;
use fedweave_report::Report;

use super::text::{lambda_max_in_words, recovery_in_words};
use super::{PathResult, summary};
use crate::drawing::drawing_step;
use crate::error::Result;
use crate::fit::{report_of, write_models};
use crate::run_dir::{BREAKPOINTS, MEMBERSHIP, PATH, cell, write_report, write_summary};

/// Writes the run directory; returns where it is.
pub fn write_run(path: &PathResult, writer: RunWriter) -> Result<PathBuf> {
    write_points(path, &writer)?;
    if path.breakpoints_asked {
        let rows = path.path.breakpoints.iter().map(|b| {
            [b.below.to_string(), b.above.to_string(), b.clusters_below.to_string(), b.clusters_above.to_string()]
        });
        writer.write_csv(BREAKPOINTS.0, &BREAKPOINTS.1, rows)?;
    }
    write_models(&path.fit, &writer)?;
    write_summary(&writer, &summary(path)?)?;
    write_report(&writer, &path_report(path)?)?;
    Ok(writer.finish()?)
}

/// One line for every value, and one for every value and node.
fn write_points(path: &PathResult, writer: &RunWriter) -> Result<()> {
    let order = path.increasing();
    let row = |&k: &usize| {
        let (p, e) = (&path.path.points[k], &path.errors[k]);
        let validation = e.validation.as_ref().and_then(|v| v.mean());
        let (clusters, iterations) = (p.partition.len().to_string(), p.iterations.to_string());
        let numbers = [Some(p.lambda), Some(p.objective), p.certified_gap].map(cell).to_vec();
        let rest = vec![clusters, cell(e.train.mean()), cell(validation), iterations, p.status.to_string()];
        [numbers, rest].concat()
    };
    writer.write_csv(PATH.0, &PATH.1, order.iter().map(row))?;
    let names = &path.fit.input.names;
    let members = order.iter().flat_map(|&k| {
        let p = &path.path.points[k];
        let member =
            |(i, name): (usize, &String)| [p.lambda.to_string(), name.clone(), (p.partition.part(i) + 1).to_string()];
        names.iter().enumerate().map(member)
    });
    writer.write_csv(MEMBERSHIP.0, &MEMBERSHIP.1, members)?;
    Ok(())
}

/// The report of the chosen fit, with the path.
pub fn path_report(path: &PathResult) -> Result<Report> {
    let mut page = report_of(&path.fit)?;
    page.path = points_of_report(path);
    page.notices.push(lambda_max_in_words(path));
    page.notices.extend(path.end_of_grid());
    page.notices.extend(path.recovery.as_ref().and_then(|r| recovery_in_words(path, r)));
    if path.fit.solution.status != Status::Converged {
        page.notices.push(format!("{} of {} values of lambda were solved", path.path.points.len(), path.wanted));
    }
    Ok(page)
}

/// The path as the report draws it: increasing lambda, the nodes that are drawn.
fn points_of_report(path: &PathResult) -> Option<report::Path> {
    let nodes = path.fit.input.names.len();
    let point = |&k: &usize| {
        let (p, e) = (&path.path.points[k], &path.errors[k]);
        report::PathPoint {
            lambda: p.lambda,
            objective: p.objective,
            certified_gap: p.certified_gap,
            clusters: p.partition.len(),
            train: e.train.mean().unwrap_or(0.0),
            validation: e.validation.as_ref().and_then(|v| v.mean()),
            membership: (0..nodes).step_by(drawing_step(nodes)).map(|i| p.partition.part(i) as u32).collect(),
        }
    };
    let order = path.increasing();
    let chosen = order.iter().position(|&k| k == path.chosen)?;
    Some(report::Path { points: order.iter().map(point).collect(), chosen })
}
