//! Random forests: the mean of trees, each grown on rows drawn with replacement and looking at some features per split.
//!
//! As many rows are drawn as there are, all with the same probability; a row that is drawn `n` times counts `n` times its
//! weight. So the weights of rows do not change which are drawn, and forests with `bootstrap=true` obey the laws of
//! weights and of row order only on average.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::fitted::State;
use super::options::{MaxFeatures, ModelOptions, count, switch};
use super::sample::Sample;
use super::tree::{Tree, TreeOptions, TreeWork};
use super::{FitError, Task};
use crate::matrix::{Rows, axpy};
use crate::random::{Purpose, stream};

/// Options of `forest`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ForestOptions {
    /// Number of trees.
    pub trees: usize,
    /// Draws rows with replacement for every tree.
    pub bootstrap: bool,
    /// Options of the trees.
    pub tree: TreeOptions,
}

impl Default for ForestOptions {
    fn default() -> Self {
        let tree = TreeOptions { max_features: MaxFeatures::Auto, ..Default::default() };
        ForestOptions { trees: 100, bootstrap: true, tree }
    }
}

impl ModelOptions for ForestOptions {
    fn values(&self) -> Vec<(&'static str, String)> {
        let mut values = vec![("trees", self.trees.to_string()), ("bootstrap", self.bootstrap.to_string())];
        values.extend(self.tree.values());
        values
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        match name {
            "trees" => self.trees = count(value, 1)?,
            "bootstrap" => self.bootstrap = switch(value)?,
            _ => self.tree.set(name, value)?,
        }
        Ok(())
    }
}

/// A fitted forest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForestFit {
    /// What is predicted.
    pub task: Task,
    /// Number of features.
    pub features: usize,
    /// The trees.
    pub trees: Vec<Tree>,
}

pub(super) fn fit(
    options: &ForestOptions,
    sample: &Sample,
    seed: u64,
    work: &mut TreeWork,
) -> Result<ForestFit, FitError> {
    let regression = sample.task == Task::Regression;
    let max_features = match options.tree.max_features {
        MaxFeatures::Auto if !regression => MaxFeatures::Sqrt,
        other => other,
    };
    let tree_options = TreeOptions { max_features, ..options.tree };
    let mut times = vec![0; sample.rows()];
    let mut trees = vec![Tree::default(); options.trees];
    work.sort(sample.x);
    for (index, tree) in trees.iter_mut().enumerate() {
        let mut rng = stream(seed, Purpose::Trees, index);
        if options.bootstrap {
            times.fill(0);
            (0..times.len()).for_each(|_| times[rng.random_range(0..sample.rows())] += 1);
            work.some_rows(sample.weight, &times);
        } else {
            work.all_rows(sample.weight);
        }
        work.targets(sample.y, regression);
        work.grow(&tree_options, sample.x, &mut rng, tree);
    }
    Ok(ForestFit { task: sample.task, features: sample.features(), trees })
}

impl State for ForestFit {
    fn name(&self) -> &'static str {
        "forest"
    }

    fn features(&self) -> usize {
        self.features
    }

    fn task(&self) -> Task {
        self.task
    }

    fn predict(&self, x: Rows, out: &mut [f64]) {
        let outputs = self.task.outputs();
        out.fill(0.0);
        for tree in &self.trees {
            for (r, out) in out.chunks_exact_mut(outputs).enumerate() {
                axpy(1.0, tree.value(x.row(r), outputs), out);
            }
        }
        let trees = self.trees.len() as f64;
        out.iter_mut().for_each(|v| *v /= trees);
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.trees.is_empty() {
            return Err("it has no trees");
        }
        self.trees.iter().try_for_each(|tree| tree.check(self.features, self.task.outputs()))
    }
}
