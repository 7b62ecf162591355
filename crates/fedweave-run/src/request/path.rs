//! Models and clusters over a grid of lambda.

use std::path::{Path, PathBuf};

use fedweave::matrix::Matrix;
use fedweave_io::InputSpec;

use super::fit::FitRequest;
use super::keys::Job;
use super::settings::{Reader, Settings};
use super::unread;
use crate::error::{Result, require};

/// Solve for many values of lambda.
#[derive(Debug, Clone, PartialEq)]
pub struct PathRequest {
    /// What is solved for each of them. Its lambda is never fixed.
    pub fit: FitRequest,
    /// Number of values on a grid from the data.
    pub count: usize,
    /// The smallest value as a share of the largest.
    pub ratio: Option<f64>,
    /// From the smallest to the largest.
    pub up: bool,
    /// Bracket changes of the clusters to this relative width.
    pub breakpoints: Option<f64>,
    /// Where is it provably recovered?
    pub partition: Option<PartitionChoice>,
    /// Choose a value with so many clusters, or as nearly as possible.
    pub clusters: Option<usize>,
    /// Keep the models of every value, not only those of the chosen one.
    pub keep_models: bool,
}

/// A partition of the nodes.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionChoice {
    /// A column that is constant inside a node.
    Column(String),
    /// A file with the columns node and cluster, and the name of the node column.
    File(PathBuf, String),
    /// A label for each node, in the order of the nodes.
    Labels(Vec<String>),
}

impl PathRequest {
    /// A path of files.
    pub fn of_files(settings: &Settings) -> Result<(PathRequest, InputSpec)> {
        settings.check_job(Job::Path)?;
        let reader = settings.reader();
        let request = PathRequest::read(settings, &reader, None)?;
        let column = match &request.partition {
            Some(PartitionChoice::Column(name)) => vec![name.clone()],
            _ => Vec::new(),
        };
        let spec = request.fit.input_spec(&reader, column)?;
        reader.finish(unread)?;
        Ok((request, spec))
    }

    /// A path of rows in memory; the models of all values are kept.
    pub fn of_memory(
        settings: &Settings,
        matrix: Option<Matrix>,
        partition: Option<Vec<String>>,
    ) -> Result<PathRequest> {
        settings.check_job(Job::Path)?;
        let reader = settings.reader();
        let request = PathRequest::read(settings, &reader, matrix)?;
        reader.finish(unread)?;
        Ok(PathRequest { partition: partition.map(PartitionChoice::Labels), keep_models: true, ..request })
    }

    fn read(settings: &Settings, reader: &Reader, matrix: Option<Matrix>) -> Result<PathRequest> {
        let fit = FitRequest::read(settings, reader, matrix, Job::Path)?;
        let solver = || reader.text("solver").unwrap_or_default();
        require!(fit.rounds.is_none(), "--solver {} belongs to `fedweave fit`", solver());
        require!(
            fit.lambda.fixed.is_none(),
            "--lambda is one value; `fedweave path` takes --lambda-grid, or finds its own"
        );
        let (count, ratio) = (reader.count("count"), reader.number("lambda-min-ratio"));
        require!(
            fit.lambda.grid.is_none() || (count.is_none() && ratio.is_none()),
            "--lambda-grid names the values: leave out --count and --lambda-min-ratio"
        );
        let count = count.unwrap_or(50);
        require!((2..=100_000).contains(&count), "--count {count}: must be at least 2 and at most 100000");
        if let Some(ratio) = ratio {
            require!(ratio > 0.0 && ratio < 1.0, "--lambda-min-ratio {ratio}: must be between 0 and 1");
        }
        let node = reader.string("node").unwrap_or_else(|| "node".into());
        let partition = reader.string("partition").map(|name| match Path::new(&name).is_file() {
            true => PartitionChoice::File(name.into(), node),
            false => PartitionChoice::Column(name),
        });
        Ok(PathRequest {
            // Upwards every solve starts near its solution; downwards the first ones are the hardest.
            up: reader.choice("direction", &[("up", true), ("down", false)])?,
            breakpoints: reader.number_from("breakpoints", 1e-9)?,
            fit,
            count,
            ratio,
            partition,
            clusters: None,
            keep_models: false,
        })
    }
}
