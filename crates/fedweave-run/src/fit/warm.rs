//! A fit that starts from the models of an earlier run, some of whose nodes may be new or gone: the optimum is the same, and so is
//! the certificate; only the way is shorter.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use fedweave::graph::partition::Partition;
use fedweave::loss::LossSpec;
use fedweave::matrix::{Matrix, axpy};
use fedweave::solve::Start;
use fedweave_io::{Input, read_parameters};

use crate::error::{Place, Result, require};
use crate::predictor::parameter_names;
use crate::training::TrainingRows;

/// Models of the nodes that the run knows; a new node begins at the mean of its known neighbours, or of all.
pub(super) fn start(dir: &Path, input: &Input, loss: &LossSpec, training: &TrainingRows) -> Result<Start> {
    let place = || format!("--warm {}: no models to start from", dir.display());
    let before = read_parameters(dir).at(place())?;
    require!(
        before.features == parameter_names(loss, input),
        "--warm {}: its models have other parameters ({})",
        dir.display(),
        before.features.join(", ")
    );
    let row: HashMap<&str, usize> = before.names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
    let known: Vec<Option<usize>> = input.names.iter().map(|name| row.get(name.as_str()).copied()).collect();
    require!(known.iter().any(Option::is_some), "--warm {}: it has no node of this table", dir.display());
    let dim = before.w.cols();
    let mut w = Matrix::zeros(input.names.len(), dim);
    for (i, at) in known.iter().enumerate() {
        if let Some(at) = at {
            w.row_mut(i).copy_from_slice(before.w.row(*at));
        }
    }
    let all: Vec<usize> = (0..known.len()).filter(|&i| known[i].is_some()).collect();
    let near = neighbours(input, &known);
    for i in (0..known.len()).filter(|&i| known[i].is_none()) {
        let from = near.get(&i).unwrap_or(&all);
        let mut mean = vec![0.0; dim];
        from.iter().for_each(|&j| axpy(1.0 / from.len() as f64, w.row(j), &mut mean));
        w.row_mut(i).copy_from_slice(&mean);
    }
    // Nodes that shared a model probably still do; who is new may share that of a neighbour.
    let model = |i: usize| known[i].or_else(|| near.get(&i).and_then(|near| known[near[0]]));
    let same =
        |i: usize| model(i).map_or_else(|| vec![i as u64], |at| before.w.row(at).iter().map(|x| x.to_bits()).collect());
    let clusters = Partition::of_labels(&(0..known.len()).map(same).collect::<Vec<_>>());
    training.scaling.iter().for_each(|scaling| scaling.convert(&mut w));
    let clusters = (clusters.len() < known.len()).then_some(clusters);
    Ok(Start { w, u: Matrix::zeros(input.graph.edges(), dim), step_ratio: 1.0, clusters })
}

/// The known neighbours of new nodes, by position.
fn neighbours(input: &Input, known: &[Option<usize>]) -> BTreeMap<usize, Vec<usize>> {
    let mut near: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for e in 0..input.graph.edges() {
        let (i, j) = input.graph.nodes_of(e);
        for (new, old) in [(i, j), (j, i)] {
            if known[new].is_none() && known[old].is_some() {
                near.entry(new).or_default().push(old);
            }
        }
    }
    near
}
