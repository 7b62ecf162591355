//! Means by group, and differences of them, with intervals that know that rows of a node are alike.
//!
//! With `m_i` judged rows at node `i`, a row weighs `1 / m_i`, and the mean of group `g` is a ratio of sums over nodes,
//!
//! ```text
//! E_g = sum_i a_i / sum_i b_i     a_i = sum_{r in g at i} e_r / m_i     b_i = sum_{r in g at i} 1 / m_i
//! ```
//!
//! Nodes are the units that were sampled: the variance is that of the linearised ratio, `sum_i z_i^2 n / (n - 1)` with
//! `z_i = (a_i - E_g b_i) / sum b`, and that of a difference is the same of `z_i - z'_i`, because groups may share nodes.

/// A judged row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// Its node.
    pub node: usize,
    /// Its group.
    pub group: usize,
    /// What is averaged: an error, a residual.
    pub value: f64,
}

/// A mean and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub value: f64,
    /// Its standard error over nodes; `None` with fewer than two nodes.
    pub standard_error: Option<f64>,
    /// Rows behind it.
    pub rows: usize,
    /// Nodes behind it.
    pub nodes: usize,
}

/// Deviations of a normal variable on each side of 95 %.
const WIDTH: f64 = 1.959964;

impl Estimate {
    /// The interval that holds the truth with a probability of about 95 %.
    pub fn interval(&self) -> Option<[f64; 2]> {
        let half = WIDTH * self.standard_error?;
        Some([self.value - half, self.value + half])
    }
}

/// What each node adds to the mean of a group: its deviation and its share.
struct Ratio {
    value: f64,
    /// `z_i`.
    deviation: Vec<f64>,
    rows: usize,
    nodes: usize,
}

fn ratio(rows: &[Judged], nodes: usize, take: impl Fn(usize) -> bool) -> Option<Ratio> {
    let mut count = vec![0usize; nodes];
    rows.iter().for_each(|row| count[row.node] += 1);
    let (mut a, mut b, mut found) = (vec![0.0; nodes], vec![0.0; nodes], 0);
    for row in rows.iter().filter(|row| take(row.group)) {
        let weight = 1.0 / count[row.node] as f64;
        a[row.node] += weight * row.value;
        b[row.node] += weight;
        found += 1;
    }
    let total: f64 = b.iter().sum();
    if found == 0 {
        return None;
    }
    let value = a.iter().sum::<f64>() / total;
    let deviation = a.iter().zip(&b).map(|(a, b)| (a - value * b) / total).collect();
    Some(Ratio { value, deviation, rows: found, nodes: b.iter().filter(|b| **b > 0.0).count() })
}

fn estimate(value: f64, deviation: impl Iterator<Item = f64>, rows: usize, nodes: usize) -> Estimate {
    let n = nodes as f64;
    let squares: f64 = deviation.map(|z| z * z).sum();
    let standard_error = (nodes > 1).then(|| (squares * n / (n - 1.0)).sqrt());
    Estimate { value, standard_error, rows, nodes }
}

/// The mean of a group, or of all rows (`None`); `None` if there are no such rows.
pub fn mean_by_group(rows: &[Judged], nodes: usize, group: Option<usize>) -> Option<Estimate> {
    let found = ratio(rows, nodes, |g| group.is_none_or(|group| g == group))?;
    Some(estimate(found.value, found.deviation.into_iter(), found.rows, found.nodes))
}

/// The mean of group `a` less that of group `b`.
pub fn difference(rows: &[Judged], nodes: usize, a: usize, b: usize) -> Option<Estimate> {
    let (first, second) = (ratio(rows, nodes, |g| g == a)?, ratio(rows, nodes, |g| g == b)?);
    let apart = first.deviation.iter().zip(&second.deviation).map(|(z, other)| z - other);
    let either = rows.iter().filter(|row| row.group == a || row.group == b);
    let mut among: Vec<usize> = either.map(|row| row.node).collect();
    among.sort_unstable();
    among.dedup();
    let known = first.nodes.min(second.nodes) > 1;
    let mut found = estimate(first.value - second.value, apart, first.rows + second.rows, among.len());
    found.standard_error = found.standard_error.filter(|_| known);
    Some(found)
}

/// The mean of the tenth of the nodes with the largest means, of at least one; and how many these are.
pub fn worst_decile(by_node: impl Iterator<Item = f64>) -> Option<(f64, usize)> {
    let mut all: Vec<f64> = by_node.filter(|value| value.is_finite()).collect();
    all.sort_by(|a, b| b.total_cmp(a));
    let count = all.len().div_ceil(10);
    (count > 0).then(|| (all[..count].iter().sum::<f64>() / count as f64, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};
    use rand::RngExt;

    /// Nodes with an effect of their own, both groups at some of them.
    fn rows(seed: usize, nodes: usize) -> Vec<Judged> {
        let mut random = stream(5, Purpose::LocalData, seed);
        let mut rows = Vec::new();
        for node in 0..nodes {
            let (effect, count) = (random.random::<f64>(), 2 + random.random_range(0..8));
            for _ in 0..count {
                let group = usize::from(random.random::<f64>() < 0.3 + 0.4 * effect);
                rows.push(Judged { node, group, value: effect + 0.5 * group as f64 + random.random::<f64>() });
            }
        }
        rows
    }

    #[test]
    fn means_of_known_numbers() {
        let row = |node, group, value| Judged { node, group, value };
        let rows = [row(0, 0, 1.0), row(0, 1, 5.0), row(1, 0, 3.0), row(2, 1, 2.0), row(2, 1, 4.0)];
        // Group 0 has half of node 0 and all of node 1.
        let first = mean_by_group(&rows, 3, Some(0)).unwrap();
        assert!((first.value - (0.5 * 1.0 + 3.0) / 1.5).abs() < 1e-15);
        assert_eq!((first.rows, first.nodes), (2, 2));
        let all = mean_by_group(&rows, 3, None).unwrap();
        assert!((all.value - (3.0 + 3.0 + 3.0) / 3.0).abs() < 1e-15 && all.standard_error == Some(0.0));
        let apart = difference(&rows, 3, 1, 0).unwrap();
        let second = mean_by_group(&rows, 3, Some(1)).unwrap();
        assert!((apart.value - (second.value - first.value)).abs() < 1e-15 && apart.nodes == 3);
        assert_eq!(mean_by_group(&rows, 3, Some(2)), None);
        assert_eq!(worst_decile([1.0, f64::NAN, 3.0].into_iter()), Some((3.0, 1)));
        assert_eq!(worst_decile((0..20).map(f64::from)), Some((18.5, 2)));
    }

    /// The slow twin: nodes drawn again and again, with all that is computed from them.
    #[test]
    fn standard_errors_are_those_of_nodes_drawn_again() {
        let (nodes, found) = (60, rows(0, 60));
        let mut random = stream(6, Purpose::LocalData, 0);
        let (mut means, mut apart) = (Vec::new(), Vec::new());
        for _ in 0..2_000 {
            let mut again = Vec::new();
            for node in 0..nodes {
                let drawn = random.random_range(0..nodes);
                again.extend(found.iter().filter(|row| row.node == drawn).map(|row| Judged { node, ..*row }));
            }
            means.push(mean_by_group(&again, nodes, Some(1)).unwrap().value);
            apart.push(difference(&again, nodes, 1, 0).unwrap().value);
        }
        let deviation = |values: &[f64]| {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
        };
        for (twin, ours) in [
            (deviation(&means), mean_by_group(&found, nodes, Some(1)).unwrap()),
            (deviation(&apart), difference(&found, nodes, 1, 0).unwrap()),
        ] {
            let ratio = ours.standard_error.unwrap() / twin;
            assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
        }
    }

    /// 95 % of intervals hold the truth, which is the value over very many nodes.
    #[test]
    fn intervals_cover() {
        let truth = difference(&rows(1_000_000, 40_000), 40_000, 1, 0).unwrap().value;
        let holds = |seed: usize| {
            let [low, high] = difference(&rows(seed, 80), 80, 1, 0).unwrap().interval().unwrap();
            usize::from(low <= truth && truth <= high)
        };
        let covered: usize = (0..500).map(holds).sum();
        assert!((455..=490).contains(&covered), "{covered} of 500");
    }
}
