//! Public rows: of a file, or drawn from what nodes share about their features.

use std::path::Path;

use fedweave::Dataset;
use fedweave::matrix::Matrix;
use fedweave::model::relax::{PublicRows, sample_public};
use fedweave::scaling::Scaling;
use fedweave_io::{Input, load_unlabelled};

use crate::error::{Error, Result, refuse};
use crate::request::RelaxRequest;
use crate::request::relax::PublicChoice;

/// The rows, in the features of the models, and where they come from, in words.
pub(super) fn rows(
    request: &RelaxRequest,
    input: &Input,
    train: &Dataset,
    scaling: Option<&Scaling>,
) -> Result<(Vec<PublicRows>, String)> {
    match &request.public {
        PublicChoice::File(path) => of_file(path, input, scaling),
        PublicChoice::Given(given) => of_memory(given, scaling),
        PublicChoice::Drawn(..) if input.unlabelled.as_ref().is_some_and(|rows| !rows.is_empty()) => {
            of_unlabelled(input, scaling)
        }
        PublicChoice::Drawn(source, count) => {
            let rows = sample_public(train, *source, *count, request.options.seed)?;
            Ok((rows, source.describe(train, *count)))
        }
    }
}

/// One set for all nodes, or one for each.
fn of_memory(given: &[Matrix], scaling: Option<&Scaling>) -> Result<(Vec<PublicRows>, String)> {
    let count: usize = given.iter().map(Matrix::rows).sum();
    let whose = if given.len() == 1 { "the same for all nodes" } else { "each of its node" };
    let scaled = |x: &Matrix| {
        let mut x = x.clone();
        if let Some(scaling) = scaling.filter(|s| s.dim() == x.cols()) {
            scaling.apply_rows(&mut x);
        }
        PublicRows::new(x)
    };
    Ok((given.iter().map(scaled).collect::<fedweave::Result<_>>()?, format!("{count} public rows, {whose}")))
}

/// Rows without labels: each node's own, or the same for all if some node has none.
fn of_unlabelled(input: &Input, scaling: Option<&Scaling>) -> Result<(Vec<PublicRows>, String)> {
    let Some(found) = &input.unlabelled else { return Ok((Vec::new(), String::new())) };
    let everywhere = (0..found.nodes()).all(|i| !found.rows(i).is_empty());
    // Models of any class find their own intercept.
    let of = |rows: std::ops::Range<usize>| {
        let mut x = Matrix::from_rows(found.dim(), rows.flat_map(|r| found.x(r).to_vec()).collect());
        scaling.iter().for_each(|scaling| scaling.apply_rows(&mut x));
        PublicRows::new(x)
    };
    let rows = match everywhere {
        true => (0..found.nodes()).map(|i| of(found.rows(i))).collect::<fedweave::Result<Vec<_>>>()?,
        false => vec![of(0..found.len())?],
    };
    let whose = if everywhere { "each of its node" } else { "the same for all nodes" };
    Ok((rows, format!("{} rows without labels, {whose}", found.len())))
}

fn of_file(path: &Path, input: &Input, scaling: Option<&Scaling>) -> Result<(Vec<PublicRows>, String)> {
    let mut found = load_unlabelled(path, &input.encoding)?;
    if let Some(scaling) = scaling {
        scaling.apply_rows(&mut found.x);
    }
    let shown = path.display();
    let Some(nodes) = &found.node else {
        let words = format!("{} public rows of {shown}, the same for all nodes", found.x.rows());
        return Ok((vec![PublicRows::new(found.x)?], words));
    };
    let mut of_node: Vec<Vec<f64>> = vec![Vec::new(); input.names.len()];
    for (r, name) in nodes.iter().enumerate() {
        let Ok(i) = input.names.binary_search(name) else {
            refuse!("{shown}:{}: node `{name}` is in no other file; remove the row or correct it", found.lines[r])
        };
        of_node[i].extend_from_slice(found.x.row(r));
    }
    let cols = found.x.cols();
    let rows = |(i, x): (usize, Vec<f64>)| match x.is_empty() {
        true => Err(Error::Request(format!(
            "{shown}: node `{}` has no public rows; add some, or leave the node column out to share all rows",
            input.names[i]
        ))),
        false => Ok(PublicRows::new(Matrix::from_rows(cols, x))?),
    };
    let words = format!("{} public rows of {shown}, each of its node", found.x.rows());
    Ok((of_node.into_iter().enumerate().map(rows).collect::<Result<_>>()?, words))
}
