//! The rows of a part, and the models of any class that its nodes have, as its file says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use fedweave::model::relax::{PublicRows, seed_of};
use fedweave::model::{ModelSpec, Task};
use fedweave::{Dataset, Matrix};
use fedweave_io::{Encoding, Feature, InputSpec, TargetKind, load, load_unlabelled};

use super::error::{Checked, ConfigFault};
use super::file::{NodeEntry, PartFile};
use super::model::ModelSection;
use crate::models::{Models, PublicSets};

/// The nodes of a part with their rows.
pub(super) struct PartRows {
    /// Nodes in byte order.
    pub nodes: Vec<String>,
    pub data: Dataset,
    /// Names of the features, the intercept last.
    pub features: Vec<String>,
}

/// Reads the rows. Nodes that only edges mention (`own`) have none.
pub(super) fn rows(model: &ModelSection, spec: &InputSpec, own: &BTreeSet<&str>) -> Checked<PartRows> {
    let invalid = |error| ConfigFault::Mathematics { place: "model.nodes".into(), error };
    if model.nodes.is_none() {
        let missing = ConfigFault::Missing { key: "model.features", remedy: "needed where model.nodes is left out" };
        let mut features = model.features.clone().ok_or(missing)?;
        features.extend(spec.intercept.then(|| "intercept".into()));
        let nodes: Vec<String> = own.iter().map(ToString::to_string).collect();
        let empty = Matrix::from_rows(features.len(), Vec::new());
        let data = Dataset::new(vec![0; nodes.len() + 1], empty, Vec::new(), Vec::new()).map_err(invalid)?;
        return Ok(PartRows { nodes, data, features });
    }
    let input = load(spec)?;
    let all: BTreeSet<&str> = own.iter().copied().chain(input.names.iter().map(String::as_str)).collect();
    let nodes: Vec<String> = all.into_iter().map(String::from).collect();
    let mut offsets = vec![0];
    for name in &nodes {
        let count = input.names.binary_search(name).map_or(0, |i| input.data.rows(i).len());
        offsets.push(offsets[offsets.len() - 1] + count);
    }
    let data = &input.data;
    let x: Vec<f64> = (0..data.len()).flat_map(|row| data.x(row).iter().copied()).collect();
    let weight: Vec<f64> = (0..data.nodes()).flat_map(|i| data.weights(i).iter().copied()).collect();
    let x = Matrix::from_rows(data.dim(), x);
    let data = Dataset::new(offsets, x, data.y().to_vec(), weight).map_err(invalid)?;
    Ok(PartRows { nodes, data, features: input.features })
}

/// The models of the nodes of a part, which exchange predictions; `public` are the rows they are about.
pub(super) fn models(file: &PartFile, rows: &PartRows, public: &Path) -> Checked<Models> {
    let model = &file.model;
    let parse = |text: &str, place: &dyn Fn() -> String| {
        text.parse::<ModelSpec>().map_err(|error| ConfigFault::ModelClass { place: place(), error })
    };
    let default = model.model.as_deref().map(|text| parse(text, &|| "model.model".into())).transpose()?;
    let mut own: BTreeMap<&str, &NodeEntry> = BTreeMap::new();
    for entry in &file.nodes {
        let name = &entry.name;
        if rows.nodes.binary_search(name).is_err() {
            return Err(ConfigFault::NotANode { name: name.clone() });
        }
        if own.insert(name, entry).is_some() {
            return Err(ConfigFault::Twice { entry: "[[node]]", name: name.clone() });
        }
    }
    let spec = |name: &String| match own.get(name.as_str()).and_then(|entry| entry.model.as_deref()) {
        Some(text) => parse(text, &|| format!("[[node]] `{name}`")),
        None => default.clone().ok_or_else(|| ConfigFault::NoModel { name: name.clone() }),
    };
    let seed = |name: &String| {
        let number = own.get(name.as_str()).and_then(|entry| entry.number);
        seed_of(model.seed.unwrap_or(0), number.unwrap_or_else(|| number_of(name)) as usize)
    };
    Ok(Models {
        task: file.federation.classes()?.map_or(Task::Regression, |classes| Task::Classification { classes }),
        specs: rows.nodes.iter().map(spec).collect::<Checked<_>>()?,
        seeds: rows.nodes.iter().map(seed).collect(),
        public: Arc::new(public_sets(public, &plain_encoding(model.node_column(), &rows.features))?),
    })
}

/// A number that follows from a name.
fn number_of(name: &str) -> u32 {
    let hash = ring::digest::digest(&ring::digest::SHA256, name.as_bytes());
    u32::from_le_bytes(hash.as_ref()[..4].try_into().expect("a digest has 32 bytes"))
}

/// Features as they are in the file.
pub(crate) fn plain_encoding(node: &str, features: &[String]) -> Encoding {
    let number = |column: &String| Feature::Number { column: column.clone(), mean: None };
    Encoding {
        binary: None,
        node: node.into(),
        target: None,
        target_kind: TargetKind::Number,
        features: features.iter().map(number).collect(),
        intercept: false,
        classes: Vec::new(),
        time: None,
    }
}

fn public_sets(path: &Path, encoding: &Encoding) -> Checked<PublicSets> {
    let found = load_unlabelled(path, encoding)?;
    let checked = |x: Matrix| {
        let invalid = |error| ConfigFault::Mathematics { place: path.display().to_string(), error };
        PublicRows::new(x).map_err(invalid)
    };
    let Some(nodes) = &found.node else { return Ok(PublicSets::Common(checked(found.x)?)) };
    let mut sets: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (row, name) in nodes.iter().enumerate() {
        sets.entry(name.clone()).or_default().extend_from_slice(found.x.row(row));
    }
    let cols = found.x.cols();
    let rows = |(name, x)| Ok((name, checked(Matrix::from_rows(cols, x))?));
    Ok(PublicSets::PerNode(sets.into_iter().map(rows).collect::<Checked<_>>()?))
}
