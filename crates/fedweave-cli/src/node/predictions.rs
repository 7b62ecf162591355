//! Models of any class, as `node.toml` says: classes of nodes, public rows, how nodes are compared.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use fedweave::Matrix;
use fedweave::model::relax::{PublicRows, seed_of};
use fedweave::model::{ModelSpec, Task};
use fedweave_io::{Encoding, Feature, TargetKind, load_unlabelled};
use fedweave_node::{MethodSpec, Models, PublicSets};

use super::raw::RawNode;
use crate::config::RawConfig;
use crate::models::refuse_foreign_flags;
use crate::plan::choice;

/// The name of the method.
pub const METHOD: &str = "fedrelax-predictions";

/// The method with its options.
pub fn method(model: &RawConfig) -> Result<MethodSpec> {
    let both = choice("model.judged-on", model.judged_on.as_deref(), &[("neighbours", false), ("both", true)])?;
    let plain = choice("model.row-weights", model.row_weights.as_deref(), &[("means", false), ("plain", true)])?;
    Ok(MethodSpec::FedRelaxPredictions { both, plain })
}

/// The keys that remain for reading rows: those of a linear model without intercept and penalty of its own.
pub fn without_models(model: RawConfig) -> Result<RawConfig> {
    refuse_foreign_flags(&model).context("model")?;
    let given = [
        ("task", model.task.is_some(), "write federation.classes for classes; numbers are the default"),
        ("models", model.models.is_some(), "write [[node]] entries"),
        ("public-from", model.public_from.is_some(), "all parts need the same public rows: write model.public"),
        ("public-rows", model.public_rows.is_some(), "all parts need the same public rows: write model.public"),
        ("distil", model.distil.is_some(), "belongs to `fedweave fit`: a part that resumes cannot repeat it"),
        ("order", model.order.is_some(), "belongs to `fedweave fit`: all nodes of a federation update together"),
    ];
    if let Some((key, _, remedy)) = given.iter().find(|(_, given, _)| *given) {
        bail!("model.{key}: {remedy}");
    }
    Ok(RawConfig {
        model: None,
        public: None,
        judged_on: None,
        row_weights: None,
        seed: None,
        no_intercept: true,
        penalty: Some("squared".into()),
        ..model
    })
}

/// The models of the nodes of a part.
pub fn models(raw: &RawNode, model: &RawConfig, nodes: &[String], features: &[String]) -> Result<Models> {
    let task = match raw.federation.classes {
        None => Task::Regression,
        Some(classes) => {
            ensure!((2..=100_000).contains(&classes), "federation.classes = {classes}: at least 2");
            Task::Classification { classes }
        }
    };
    let default = model.model.as_deref().map(|text| text.parse::<ModelSpec>().context("model.model")).transpose()?;
    let mut own: BTreeMap<&str, (Option<ModelSpec>, Option<u32>)> = BTreeMap::new();
    for entry in &raw.nodes {
        let name = entry.name.as_str();
        ensure!(nodes.iter().any(|n| n == name), "[[node]] `{name}`: not a node of this part");
        let spec = entry.model.as_deref().map(str::parse::<ModelSpec>).transpose();
        let spec = spec.with_context(|| format!("[[node]] `{name}`"))?;
        ensure!(own.insert(name, (spec, entry.number)).is_none(), "[[node]] `{name}` is listed twice");
    }
    let spec = |name: &String| {
        let named = own.get(name.as_str()).and_then(|(spec, _)| spec.as_ref());
        let spec = named.or(default.as_ref());
        spec.cloned().ok_or_else(|| anyhow!("node `{name}`: which model? write model.model or a [[node]] entry"))
    };
    let seed = |name: &String| {
        let number = own.get(name.as_str()).and_then(|(_, number)| *number);
        seed_of(model.seed.unwrap_or(0), number.unwrap_or_else(|| number_of(name)) as usize)
    };
    let path = model.public.as_deref().context("model.public: which rows are predictions compared on?")?;
    let node = model.node.as_deref().unwrap_or("node");
    Ok(Models {
        task,
        specs: nodes.iter().map(spec).collect::<Result<_>>()?,
        seeds: nodes.iter().map(seed).collect(),
        public: Arc::new(public(path, &encoding(node, features))?),
    })
}

/// A number that follows from a name.
fn number_of(name: &str) -> u32 {
    let hash = ring::digest::digest(&ring::digest::SHA256, name.as_bytes());
    u32::from_le_bytes(hash.as_ref()[..4].try_into().expect("a digest has 32 bytes"))
}

/// Features as they are in the file.
pub fn encoding(node: &str, features: &[String]) -> Encoding {
    let number = |column: &String| Feature::Number { column: column.clone(), mean: None };
    Encoding {
        node: node.into(),
        target: None,
        target_kind: TargetKind::Number,
        features: features.iter().map(number).collect(),
        intercept: false,
        classes: Vec::new(),
    }
}

fn public(path: &Path, encoding: &Encoding) -> Result<PublicSets> {
    let found = load_unlabelled(path, encoding)?;
    let Some(nodes) = &found.node else {
        return Ok(PublicSets::Common(PublicRows::new(found.x).with_context(|| path.display().to_string())?));
    };
    let mut sets: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (row, name) in nodes.iter().enumerate() {
        sets.entry(name.clone()).or_default().extend_from_slice(found.x.row(row));
    }
    let cols = found.x.cols();
    let rows = |(name, x)| Ok((name, PublicRows::new(Matrix::from_rows(cols, x))?));
    Ok(PublicSets::PerNode(sets.into_iter().map(rows).collect::<Result<_>>()?))
}
