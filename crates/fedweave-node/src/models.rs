//! Models of any class in a federation: FedRelax on predictions. What crosses an edge is what a node predicts on public rows,
//! which all parts have; models, rows and labels stay where they are.

use std::collections::BTreeMap;
use std::sync::Arc;

use fedweave::Dataset;
use fedweave::model::relax::PublicRows;
use fedweave::model::{ModelSpec, Task};

use crate::error::{Error, Result};
use crate::hash::Fnv;

/// The models of the nodes of a network or of a part, in the order of its nodes, and the public rows.
#[derive(Debug, Clone)]
pub struct Models {
    /// What is predicted; labels of classes are 0, 1, ...
    pub task: Task,
    /// The model class of each node.
    pub specs: Vec<ModelSpec>,
    /// The seed of each node's model.
    pub seeds: Vec<u64>,
    /// The same at all parts.
    pub public: Arc<PublicSets>,
}

/// Public rows, on which predictions are compared.
#[derive(Debug, Clone, PartialEq)]
pub enum PublicSets {
    /// The same for all nodes.
    Common(PublicRows),
    /// Each node has its own; all parts know all of them.
    PerNode(BTreeMap<String, PublicRows>),
}

impl PublicSets {
    /// The public rows of a node.
    pub fn of(&self, node: &str) -> Result<&PublicRows> {
        match self {
            PublicSets::Common(rows) => Ok(rows),
            PublicSets::PerNode(sets) => sets.get(node).ok_or_else(|| Error::NoPublicRows { node: node.into() }),
        }
    }

    /// The most public rows that a node has.
    pub fn rows_max(&self) -> usize {
        self.sets().map(|(_, rows)| rows.len()).max().unwrap_or(0)
    }

    /// Tells these rows from others. Two parts with different ones would not talk about the same thing.
    pub fn digest(&self) -> u64 {
        let add = |hash: Fnv, (name, rows): (&str, &PublicRows)| {
            let hash = hash.text(name).word(rows.len() as u64).word(rows.x().cols() as u64);
            rows.x().as_slice().iter().fold(hash, |hash, v| hash.word(v.to_bits()))
        };
        self.sets().fold(Fnv::new(), add).finish()
    }

    fn sets(&self) -> Box<dyn Iterator<Item = (&str, &PublicRows)> + '_> {
        match self {
            PublicSets::Common(rows) => Box::new(std::iter::once(("", rows))),
            PublicSets::PerNode(sets) => Box::new(sets.iter().map(|(name, rows)| (name.as_str(), rows))),
        }
    }
}

impl Models {
    /// Those of some nodes.
    pub fn select(&self, nodes: &[usize]) -> Self {
        Models {
            task: self.task,
            specs: nodes.iter().map(|&i| self.specs[i].clone()).collect(),
            seeds: nodes.iter().map(|&i| self.seeds[i]).collect(),
            public: self.public.clone(),
        }
    }

    /// Numbers that a node sends in a round. Who has fewer public rows than others fills up with zeros.
    pub fn width(&self) -> usize {
        self.public.rows_max() * self.task.outputs()
    }

    /// Checks what can be checked without fitting. `both`: nodes are compared on the public rows of both ends.
    pub fn check(&self, data: &Dataset, both: bool) -> Result<()> {
        for (what, found) in [("models of nodes", self.specs.len()), ("seeds of models", self.seeds.len())] {
            if found != data.nodes() {
                return Err(fedweave::Error::Size { what, expected: data.nodes(), found }.into());
            }
        }
        if let Some((_, rows)) = self.public.sets().find(|(_, rows)| rows.x().cols() != data.dim()) {
            let (what, expected, found) = ("features of the public rows", data.dim(), rows.x().cols());
            return Err(fedweave::Error::Size { what, expected, found }.into());
        }
        let fault = |needs| Err(fedweave::Error::Method { method: "fedrelax-predictions", needs }.into());
        match &*self.public {
            PublicSets::PerNode(sets) if sets.is_empty() => return fault("public rows"),
            PublicSets::PerNode(_) if both => {
                return fault("public rows that are the same for all nodes where both ends are judged on");
            }
            _ => (),
        }
        // A model must follow from what is in a checkpoint, and that is what its last fit was made from.
        let warm = |spec: &ModelSpec| matches!(spec, ModelSpec::Mlp(options) if options.warm_start);
        match self.specs.iter().any(warm) {
            true => fault("models that are fitted from scratch: warm-start=false"),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use fedweave::Matrix;

    use super::*;
    use crate::hash::{differs_in_digest, with_digest};

    #[test]
    fn the_digest_sees_every_number_and_every_name() {
        let rows = |x: &[f64]| PublicRows::new(Matrix::from_rows(2, x.to_vec())).unwrap();
        let sets = [
            PublicSets::Common(rows(&[1.0, 2.0, 3.0, 4.0])),
            PublicSets::Common(rows(&[1.0, 2.0, 3.0, 4.0f64.next_up()])),
            PublicSets::Common(rows(&[1.0, 2.0])),
            PublicSets::PerNode([("a".into(), rows(&[1.0, 2.0])), ("b".into(), rows(&[3.0, 4.0]))].into()),
            PublicSets::PerNode([("a".into(), rows(&[1.0, 2.0])), ("c".into(), rows(&[3.0, 4.0]))].into()),
            PublicSets::PerNode([("a".into(), rows(&[1.0, 2.0, 3.0, 4.0]))].into()),
        ];
        let mut names: Vec<u64> = sets.iter().map(|s| with_digest(77 << 32, s.digest())).collect();
        assert!(names.iter().skip(1).all(|name| differs_in_digest(names[0], *name)));
        assert!(!differs_in_digest(names[0], with_digest(78 << 32, sets[0].digest())));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), sets.len());
    }
}
