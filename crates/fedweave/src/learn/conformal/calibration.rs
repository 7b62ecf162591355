//! Scores of calibration rows by node, and the thresholds they give.

use serde::{Deserialize, Serialize};

use super::quantile;
use super::scale::Scales;
use crate::error::{Error, Result};

/// Scores beyond a threshold that a node (or a cluster) is expected to have before it is judged by its own: 100 scores at 90 %,
/// where the coverage of a node's own threshold has a standard deviation of 0.03.
const BEYOND: f64 = 10.0;
/// Predictions without bound count as this far off.
const FARTHEST: f64 = 1e100;

/// Scores of rows that the models have not seen, in the order in which they came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    scores: Vec<Vec<f64>>,
    cluster: Option<Vec<usize>>,
}

/// How the ends of an interval are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tails {
    /// By the size of scores: the ends are equally far from the prediction, in units of the score.
    Together,
    /// By scores of each sign on their own, for predictions that are not in the middle: half of the misses on either side.
    Apart,
}

/// Labels with a score from `-below` to `above` are inside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    /// How far a label may lie below its prediction.
    pub below: f64,
    /// How far above.
    pub above: f64,
    /// Whose scores it is from.
    pub source: Source,
}

/// Whose scores a threshold is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The node's own.
    Node,
    /// Those of its cluster, in units of the scale of a node.
    Cluster,
    /// Those of all nodes, in units of the scale of a node.
    All,
    /// Nobody's: the distribution that the model supposes.
    Model,
    /// There are too few: the threshold is infinite.
    Nothing,
}

impl Calibration {
    /// Scores `(node, score)` of rows of `nodes` nodes.
    pub fn new(nodes: usize, rows: impl IntoIterator<Item = (usize, f64)>) -> Result<Self> {
        let mut scores = vec![Vec::new(); nodes];
        for (row, (node, score)) in rows.into_iter().enumerate() {
            if score.is_nan() {
                return Err(Error::NotFinite { row, what: "score".into() });
            }
            let found = node + 1;
            let of_node = scores.get_mut(node).ok_or(Error::Size { what: "nodes", expected: nodes, found })?;
            of_node.push(score.clamp(-FARTHEST, FARTHEST));
        }
        Ok(Calibration { scores, cluster: None })
    }

    /// Nodes of a cluster are calibrated together, where they have enough rows.
    pub fn with_clusters(self, cluster: Vec<usize>) -> Result<Self> {
        let (expected, found) = (self.nodes(), cluster.len());
        if expected != found {
            return Err(Error::Size { what: "clusters of nodes", expected, found });
        }
        Ok(Calibration { cluster: Some(cluster), ..self })
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.scores.len()
    }

    /// Number of scores.
    pub fn rows(&self) -> usize {
        self.scores.iter().map(Vec::len).sum()
    }

    /// Scores of a node.
    pub fn scores(&self, node: usize) -> &[f64] {
        &self.scores[node]
    }

    /// The cluster of a node, if clusters were given.
    pub fn cluster(&self, node: usize) -> Option<usize> {
        self.cluster.as_ref().map(|of| of[node])
    }

    /// The threshold of every node.
    pub fn thresholds(&self, level: f64, tails: Tails) -> Result<Vec<Threshold>> {
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::Parameter { name: "level of the interval", value: level, needs: "between 0 and 1" });
        }
        let join = |(below, above): ((f64, Source), (f64, Source))| {
            let infinite = below.0.is_infinite() || above.0.is_infinite();
            let source = if infinite { Source::Nothing } else { above.1 };
            Threshold { below: below.0, above: above.0, source }
        };
        Ok(match tails {
            Tails::Together => {
                let sizes = self.upper_thresholds(level, f64::abs);
                sizes.into_iter().map(|size| join((size, size))).collect()
            }
            Tails::Apart => {
                let half = 0.5 * (1.0 + level);
                let (below, above) = (self.upper_thresholds(half, |s| -s), self.upper_thresholds(half, |s| s));
                below.into_iter().zip(above).map(join).collect()
            }
        })
    }

    /// A number for every node that `side` of a new score exceeds with probability at most `1 - level`.
    fn upper_thresholds(&self, level: f64, side: impl Fn(f64) -> f64) -> Vec<(f64, Source)> {
        let values: Vec<Vec<f64>> = self.scores.iter().map(|of| of.iter().map(|s| side(*s)).collect()).collect();
        let scales = Scales::choose(&values, level);
        let all = scales.quantile(&values, level, |_| true);
        let clusters = self.cluster_quantiles(&values, &scales, level);
        let of_node = |i: usize| {
            if is_enough(values[i].len(), level) {
                let mut own = values[i].clone();
                own.sort_by(f64::total_cmp);
                return (quantile(&own, level), Source::Node);
            }
            let cluster = self.cluster.as_ref().and_then(|of| clusters[of[i]]);
            let source = if cluster.is_some() { Source::Cluster } else { Source::All };
            (cluster.unwrap_or(all) * scales.of_node[i], source)
        };
        (0..self.nodes()).map(of_node).collect()
    }

    /// Quantiles of clusters with enough rows.
    fn cluster_quantiles(&self, values: &[Vec<f64>], scales: &Scales, level: f64) -> Vec<Option<f64>> {
        let Some(cluster) = &self.cluster else { return Vec::new() };
        let mut rows = vec![0; cluster.iter().max().map_or(0, |last| last + 1)];
        cluster.iter().zip(values).for_each(|(c, values)| rows[*c] += values.len());
        let of = |(c, rows): (usize, &usize)| {
            is_enough(*rows, level).then(|| scales.quantile(values, level, |i| cluster[i] == c))
        };
        rows.iter().enumerate().map(of).collect()
    }

    /// The scores of which `keep(place in the node)` is true.
    pub(super) fn part(&self, keep: impl Fn(usize) -> bool) -> Calibration {
        let kept = |of: &Vec<f64>| of.iter().enumerate().filter(|(k, _)| keep(*k)).map(|(_, s)| *s).collect();
        Calibration { scores: self.scores.iter().map(kept).collect(), cluster: self.cluster.clone() }
    }
}

impl Threshold {
    /// True if a label of this score is inside.
    pub fn holds(&self, score: f64) -> bool {
        -self.below <= score && score <= self.above
    }
}

fn is_enough(rows: usize, level: f64) -> bool {
    (rows + 1) as f64 * (1.0 - level) >= BEYOND * (1.0 - 1e-9)
}
