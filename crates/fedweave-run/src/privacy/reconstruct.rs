//! What the only neighbour of each node would find out about its rows from the rounds of a fit, with and without noise.

use std::path::PathBuf;

use fedweave::Dataset;
use fedweave::matrix::Matrix;
use fedweave::trust::privacy::accountant::{check_privacy, noise};
use fedweave::trust::privacy::reconstruct::sole_neighbour;
use fedweave::trust::privacy::statistics::{Ranges, Units, release, stand_ins};
use fedweave_io::{InputSpec, Noise, TargetKind, load};
use serde_json::{Value, json};

use crate::error::{Error, Result, require};
use crate::wording::number;

/// Ridge of the nodes.
const RIDGE: f64 = 0.01;
/// Moments are known if no entry is off by more than this share of the largest.
const KNOWN: f64 = 0.01;

/// Plays the only neighbour of every node.
#[derive(Debug, Clone, PartialEq)]
pub struct ReconstructRequest {
    /// The rows.
    pub nodes: PathBuf,
    /// The column that names nodes.
    pub node: String,
    /// The column that is predicted.
    pub target: String,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// Protect the rows first.
    pub epsilon: Option<f64>,
    /// Delta.
    pub delta: f64,
    /// Noise from a seed, to repeat it.
    pub seed: Option<u64>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct ReconstructResult {
    request: ReconstructRequest,
    features: usize,
    /// Relative errors of the moments, sorted.
    plain: Vec<f64>,
    noisy: Option<Vec<f64>>,
}

impl ReconstructRequest {
    /// Plays `d + 1` rounds with every node.
    pub fn run(&self) -> Result<ReconstructResult> {
        let input = load(&InputSpec {
            node: self.node.clone(),
            target: Some(self.target.clone()),
            target_kind: TargetKind::Number,
            drop: self.drop.clone(),
            intercept: false,
            ..InputSpec::new(&self.nodes)
        })?;
        let multiplier = match self.epsilon {
            Some(epsilon) => {
                let privacy = (epsilon, self.delta);
                check_privacy(epsilon, self.delta).map_err(|error| Error::Request(error.to_string()))?;
                Some(noise(privacy, 1.0, 1)?)
            }
            None => None,
        };
        let ranges = ranges(&input.data)?;
        let mut source = Noise::new(self.seed);
        let (mut plain, mut noisy) = (Vec::new(), Vec::new());
        for node in (0..input.data.nodes()).filter(|i| !input.data.rows(*i).is_empty()) {
            let rows = in_box(&input.data, node, &ranges)?;
            plain.push(sole_neighbour(&rows, RIDGE)?.error(&rows));
            if let Some(multiplier) = multiplier {
                let unit = Ranges::new(vec![(-1.0, 1.0); rows.dim()], (-1.0, 1.0), None, false)?;
                let moments = [release(&rows, 0, &unit, multiplier, &mut source)?];
                let seen = stand_ins(&moments, &unit, Units::Data)?;
                noisy.push(sole_neighbour(&seen, RIDGE)?.error(&rows));
            }
        }
        require!(!plain.is_empty(), "{}: no rows", self.nodes.display());
        plain.sort_unstable_by(f64::total_cmp);
        noisy.sort_unstable_by(f64::total_cmp);
        let noisy = multiplier.map(|_| noisy);
        Ok(ReconstructResult { request: self.clone(), features: input.data.dim(), plain, noisy })
    }
}

/// Those of the rows themselves: the attack is tried out by whoever has them.
fn ranges(data: &Dataset) -> Result<Ranges> {
    let column = |values: &mut dyn Iterator<Item = f64>| {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
        if low < high { (low, high) } else { (low - 1.0, low + 1.0) }
    };
    let features = (0..data.dim()).map(|j| column(&mut (0..data.len()).map(|r| data.x(r)[j]))).collect();
    Ok(Ranges::new(features, column(&mut data.y().iter().copied()), None, false)?)
}

/// The rows of a node, in ranges from -1 to 1.
fn in_box(data: &Dataset, node: usize, ranges: &Ranges) -> Result<Dataset> {
    let d = data.dim();
    let (mut x, mut y, mut row) = (Vec::new(), Vec::new(), vec![0.0; d + 1]);
    for r in data.rows(node) {
        ranges.boxed(data.x(r), data.y()[r], &mut row);
        x.extend_from_slice(&row[..d]);
        y.push(row[d]);
    }
    let m = y.len();
    Ok(Dataset::new(vec![0, m], Matrix::from_rows(d, x), y, vec![1.0; m])?)
}

/// Median error, and the share of nodes whose moments are known.
fn judged(errors: &[f64]) -> (f64, f64) {
    let known = errors.iter().filter(|error| **error <= KNOWN).count();
    (errors[errors.len() / 2], known as f64 / errors.len() as f64)
}

impl ReconstructResult {
    /// The one JSON object.
    pub fn summary(&self) -> Value {
        let of = |errors: &Vec<f64>| {
            let (median, known) = judged(errors);
            json!({"median_error": median, "known": known})
        };
        json!({
            "nodes": self.plain.len(), "features": self.features, "rounds": self.features + 1, "plain": of(&self.plain),
            "epsilon": self.request.epsilon, "noisy": self.noisy.as_ref().map(of),
            "noise_source": Noise::name(self.request.seed),
        })
    }

    /// In words.
    pub fn text(&self) -> String {
        let words = |errors: &Vec<f64>| {
            let (median, known) = judged(errors);
            format!("{} % of the nodes known to 1 %, median error {}", number(100.0 * known), number(median))
        };
        let mut lines = vec![
            format!(
                "what the only neighbour of a node solves for in {} rounds of the primal-dual method: X'X / m and X'y / m of its rows ({} nodes, {} \
                 features; errors relative to the largest entry)",
                self.features + 1,
                self.plain.len(),
                self.features
            ),
            format!("  without noise: {}", words(&self.plain)),
        ];
        if let (Some(noisy), Some(epsilon)) = (&self.noisy, self.request.epsilon) {
            lines.push(format!("  with noise for epsilon {epsilon}: {}", words(noisy)));
        }
        lines.join("\n")
    }
}
