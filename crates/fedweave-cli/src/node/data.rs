//! The rows of a part and their losses, as `node.toml` says.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow, bail, ensure};
use fedweave::loss::{Family, LossOptions, LossSpec, NodeWeight};
use fedweave::{Dataset, Matrix};
use fedweave_io::{InputSpec, load};

use super::raw::RawFederation;
use crate::config::RawConfig;

/// What needs all rows of the federation, or belongs elsewhere.
pub fn refuse_foreign_keys(raw: &RawConfig) -> Result<()> {
    let given = [
        ("edges", raw.edges.is_some(), "write [[edge]] entries"),
        ("knn", raw.knn.is_some(), "write [[edge]] entries"),
        ("standardize", raw.standardize, "scale the features before: it needs the rows of all parts"),
        ("one-hot", raw.one_hot.is_some(), "encode before: it needs the rows of all parts"),
        ("missing = \"mean\"", raw.missing.as_deref() == Some("mean"), "fill before: it needs the rows of all parts"),
        ("loss-column", raw.loss_column.is_some(), "all nodes of a federation have the same loss"),
        ("penalty-matrix", raw.penalty_matrix.is_some(), "a federation knows norm2, norm1, norminf and squared"),
        ("lambda-grid", raw.lambda_grid.is_some(), "write lambda"),
        ("validation", raw.validation.is_some(), "a federation trains with all rows"),
        ("solver", raw.solver.is_some(), "write federation.method"),
        ("tolerance", raw.tolerance.is_some(), "write federation.tolerance"),
        ("rounds", raw.rounds.is_some(), "write federation.rounds"),
        ("step-ratio", raw.step_ratio.is_some(), "write federation.step-ratio"),
        ("relaxation", raw.relaxation.is_some(), "write federation.relaxation"),
        ("out", raw.out.is_some(), "write state"),
    ];
    match given.iter().find(|(_, given, _)| *given) {
        Some((key, _, remedy)) => bail!("model.{key}: {remedy}"),
        None => Ok(()),
    }
}

pub fn loss(family: Family, shared: &RawFederation) -> Result<LossSpec> {
    Ok(LossSpec::Same(match (family, shared.classes) {
        (Family::Multinomial { .. }, Some(classes)) => {
            ensure!((2..=100_000).contains(&classes), "federation.classes = {classes}: at least 2");
            Family::Multinomial { classes }
        }
        (Family::Multinomial { .. }, None) => {
            bail!("federation.classes: how many classes are there? Labels are then 0, 1, ...")
        }
        (_, Some(_)) => bail!("federation.classes belongs to the multinomial loss"),
        (other, None) => other,
    }))
}

pub fn loss_options(options: LossOptions, shared: &RawFederation) -> Result<LossOptions> {
    let node_weight = match (options.node_weight, shared.row_unit) {
        (NodeWeight::Equal, None) => NodeWeight::Equal,
        (NodeWeight::Equal, Some(_)) => bail!("federation.row-unit belongs to model.node-weight = \"rows\""),
        (_, Some(unit)) if unit > 0.0 && unit.is_finite() => NodeWeight::Unit(unit),
        (_, Some(unit)) => bail!("federation.row-unit = {unit}: must be positive"),
        (_, None) => bail!("federation.row-unit: node-weight \"rows\" needs it: one over the mean number of rows"),
    };
    Ok(LossOptions { node_weight, ..options })
}

/// Nodes in byte order, their rows, names of the features. Nodes that only edges mention have no rows.
pub fn rows(model: &RawConfig, spec: &InputSpec, own: &BTreeSet<&str>) -> Result<(Vec<String>, Dataset, Vec<String>)> {
    if model.nodes.is_none() {
        let mut features =
            model.features.clone().ok_or_else(|| anyhow!("model.features: needed where model.nodes is left out"))?;
        features.extend(spec.intercept.then(|| "intercept".into()));
        let nodes: Vec<String> = own.iter().map(ToString::to_string).collect();
        let empty = Matrix::from_rows(features.len(), Vec::new());
        return Ok((nodes.clone(), Dataset::new(vec![0; nodes.len() + 1], empty, Vec::new(), Vec::new())?, features));
    }
    let input = load(spec)?;
    let nodes: Vec<String> = own
        .iter()
        .copied()
        .chain(input.names.iter().map(String::as_str))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .map(String::from)
        .collect();
    let mut offsets = vec![0];
    for name in &nodes {
        let count = input.names.binary_search(name).map_or(0, |i| input.data.rows(i).len());
        offsets.push(offsets[offsets.len() - 1] + count);
    }
    let data = &input.data;
    let x: Vec<f64> = (0..data.len()).flat_map(|row| data.x(row).iter().copied()).collect();
    let weight: Vec<f64> = (0..data.nodes()).flat_map(|i| data.weights(i).iter().copied()).collect();
    let data = Dataset::new(offsets, Matrix::from_rows(data.dim(), x), data.y().to_vec(), weight)?;
    Ok((nodes, data, input.features))
}
