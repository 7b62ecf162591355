//! Gradient-boosted trees: a sum of small trees, each fitted to the negative gradient of the loss at the sum so far.
//!
//! Regression: squared error, residuals `y - f`, leaves are means. Classes: log-loss on scores `f_k`, residuals
//! `y_k - p_k`, one tree per class and round (a single one for two classes); a leaf takes the Newton step
//! `(K - 1)/K sum_r c_r (y - p) / sum_r c_r p (1 - p)`. The first score is the mean, or the logarithm of the classes' shares.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::fitted::State;
use super::logistic::{to_probabilities, write_probabilities};
use super::options::{Limit, ModelOptions, count, fraction, positive};
use super::sample::Sample;
use super::tree::{Tree, TreeOptions, TreeWork};
use super::{FitError, Task};
use crate::matrix::{Matrix, Rows};
use crate::random::{Purpose, stream};

/// Options of `boosting`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BoostingOptions {
    /// Rounds of boosting.
    pub trees: usize,
    /// Share of every tree that is added.
    pub learning_rate: f64,
    /// Share of the rows a tree is grown on, drawn without replacement.
    pub subsample: f64,
    /// Options of the trees.
    pub tree: TreeOptions,
}

impl Default for BoostingOptions {
    fn default() -> Self {
        let tree = TreeOptions { max_depth: Limit(Some(3)), ..Default::default() };
        BoostingOptions { trees: 100, learning_rate: 0.1, subsample: 1.0, tree }
    }
}

impl ModelOptions for BoostingOptions {
    fn values(&self) -> Vec<(&'static str, String)> {
        let mut values = vec![
            ("trees", self.trees.to_string()),
            ("learning-rate", self.learning_rate.to_string()),
            ("subsample", self.subsample.to_string()),
        ];
        values.extend(self.tree.values());
        values
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        match name {
            "trees" => self.trees = count(value, 1)?,
            "learning-rate" => self.learning_rate = positive(value)?,
            "subsample" => self.subsample = fraction(value)?,
            _ => self.tree.set(name, value)?,
        }
        Ok(())
    }
}

/// A fitted sum of trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoostingFit {
    /// What is predicted.
    pub task: Task,
    /// Number of features.
    pub features: usize,
    /// Scores before the first tree: one, or one per class if there are more than two.
    pub start: Vec<f64>,
    /// Trees, learning rate included; score after score in every round.
    pub trees: Vec<Tree>,
}

/// Shares of classes are kept away from 0 and 1 by this much, as in scikit-learn.
const SHARE_MIN: f64 = f32::EPSILON as f64;

pub(super) fn fit(
    options: &BoostingOptions,
    sample: &Sample,
    seed: u64,
    work: &mut TreeWork,
) -> Result<BoostingFit, FitError> {
    let start = start(sample);
    let scores = start.len();
    let mut fit = BoostingFit { task: sample.task, features: sample.features(), start, trees: Vec::new() };
    let mut state = Rounds {
        sample,
        scores: fit.start.repeat(sample.rows()),
        probabilities: vec![0.0; sample.rows() * scores],
        residual: Matrix::zeros(sample.rows(), 1),
        times: vec![1; sample.rows()],
        order: (0..sample.rows()).collect(),
        step: Vec::new(),
    };
    work.sort(sample.x);
    for round in 0..options.trees {
        let mut rng = stream(seed, Purpose::Trees, round);
        state.draw(options.subsample, &mut rng);
        state.see_probabilities(scores);
        for score in 0..scores {
            let mut tree = Tree::default();
            state.take_residuals(scores, score);
            match options.subsample < 1.0 {
                true => work.some_rows(sample.weight, &state.times),
                false => work.all_rows(sample.weight),
            }
            work.targets(state.residual.view(), true);
            work.grow(&options.tree, sample.x, &mut rng, &mut tree);
            state.set_leaves(&mut tree, scores, score, options.learning_rate);
            state.add(&tree, scores, score);
            fit.trees.push(tree);
        }
    }
    Ok(fit)
}

/// The best constant score; shares of classes are kept away from 0 and 1.
fn start(sample: &Sample) -> Vec<f64> {
    let total = sample.total_weight();
    let share =
        |k: usize| -> f64 { (0..sample.rows()).map(|r| sample.weight[r] * sample.y.row(r)[k]).sum::<f64>() / total };
    match sample.task {
        Task::Regression => vec![share(0)],
        Task::Classification { classes: 2 } => {
            let p = share(1).clamp(SHARE_MIN, 1.0 - SHARE_MIN);
            vec![(p / (1.0 - p)).ln()]
        }
        Task::Classification { classes } => {
            (0..classes).map(|k| share(k).clamp(SHARE_MIN, 1.0 - SHARE_MIN).ln()).collect()
        }
    }
}

/// What changes from round to round.
struct Rounds<'a> {
    sample: &'a Sample<'a>,
    /// A row of scores per row.
    scores: Vec<f64>,
    /// What the scores say of every row: probabilities; the scores themselves for regression.
    probabilities: Vec<f64>,
    residual: Matrix,
    /// 1 for rows that take part in this round.
    times: Vec<u32>,
    order: Vec<usize>,
    /// Sums over the leaves of a tree: weighted residuals and curvatures.
    step: Vec<[f64; 2]>,
}

impl Rounds<'_> {
    fn draw(&mut self, subsample: f64, rng: &mut impl rand::Rng) {
        if subsample < 1.0 {
            let (rows, drawn) = (self.order.len(), ((subsample * self.order.len() as f64) as usize).max(1));
            self.times.fill(0);
            for i in 0..drawn {
                self.order.swap(i, rng.random_range(i..rows));
                self.times[self.order[i]] = 1;
            }
        }
    }

    fn see_probabilities(&mut self, scores: usize) {
        self.probabilities.copy_from_slice(&self.scores);
        if self.sample.task != Task::Regression {
            self.probabilities.chunks_exact_mut(scores).for_each(to_probabilities);
        }
    }

    fn take_residuals(&mut self, scores: usize, score: usize) {
        let column = target_column(self.sample.task, score);
        for (r, out) in self.residual.as_mut_slice().iter_mut().enumerate() {
            *out = self.sample.y.row(r)[column] - self.probabilities[r * scores + score];
        }
    }

    /// Gives the leaves their values: the mean residual, or the Newton step of the log-loss; times the learning rate.
    fn set_leaves(&mut self, tree: &mut Tree, scores: usize, score: usize, rate: f64) {
        if self.sample.task != Task::Regression {
            self.sum_over_leaves(tree, scores, score);
            let share = if scores > 1 { (scores as f64 - 1.0) / scores as f64 } else { 1.0 };
            for (value, [along, curvature]) in tree.values.iter_mut().zip(&self.step) {
                *value = if *curvature < 1e-150 { 0.0 } else { share * along / curvature };
            }
        }
        tree.values.iter_mut().for_each(|v| *v *= rate);
    }

    fn sum_over_leaves(&mut self, tree: &Tree, scores: usize, score: usize) {
        self.step.clear();
        self.step.resize(tree.nodes.len(), [0.0; 2]);
        for r in (0..self.times.len()).filter(|&r| self.times[r] > 0) {
            let (w, p) = (self.sample.weight[r], self.probabilities[r * scores + score]);
            let step = &mut self.step[tree.leaf(self.sample.x.row(r))];
            step[0] += w * self.residual.row(r)[0];
            step[1] += w * p * (1.0 - p);
        }
    }

    fn add(&mut self, tree: &Tree, scores: usize, score: usize) {
        for r in 0..self.times.len() {
            self.scores[r * scores + score] += tree.values[tree.leaf(self.sample.x.row(r))];
        }
    }
}

/// The column of the targets that belongs to a score: with two classes the only score is that of the second.
fn target_column(task: Task, score: usize) -> usize {
    match task {
        Task::Classification { classes: 2 } => 1,
        _ => score,
    }
}

impl State for BoostingFit {
    fn name(&self) -> &'static str {
        "boosting"
    }

    fn features(&self) -> usize {
        self.features
    }

    fn task(&self) -> Task {
        self.task
    }

    fn predict(&self, x: Rows, out: &mut [f64]) {
        let scores = self.start.len();
        let mut sum = vec![0.0; scores];
        for (r, out) in out.chunks_exact_mut(self.task.outputs()).enumerate() {
            sum.copy_from_slice(&self.start);
            for round in self.trees.chunks_exact(scores) {
                sum.iter_mut().zip(round).for_each(|(s, tree)| *s += tree.values[tree.leaf(x.row(r))]);
            }
            match self.task {
                Task::Regression => out[0] = sum[0],
                Task::Classification { .. } => write_probabilities(&mut sum, out),
            }
        }
    }

    fn check(&self) -> Result<(), &'static str> {
        let scores = match self.task {
            Task::Classification { classes } if classes > 2 => classes,
            _ => 1,
        };
        if self.start.len() != scores || !self.trees.len().is_multiple_of(scores) {
            return Err("its numbers of scores and trees do not agree");
        }
        if !self.start.iter().all(|v| v.is_finite()) {
            return Err("a number is not finite");
        }
        self.trees.iter().try_for_each(|tree| tree.check(self.features, 1))
    }
}
