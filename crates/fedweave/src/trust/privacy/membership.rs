//! Was a row among those that a model was trained with? A test by likelihood ratios (Yeom et al. 2018, with a reference as in Carlini et al. 2022): rows on
//! which the model of their node does better than a model that cannot know them are taken for members.

use rand::RngExt;

use crate::random::{Purpose, stream};

/// Resamples of an interval.
const RESAMPLES: usize = 200;
/// Classes of scores for the mutual information.
const CLASSES: usize = 8;
/// Share of non-members that may be taken for members.
const FALSE_ALARMS: f64 = 0.01;

/// The scores of the rows of a node: large if a row looks like a member.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeScores {
    /// Rows that the models were trained with.
    pub members: Vec<f64>,
    /// Rows that they were not.
    pub others: Vec<f64>,
}

/// A number with a 90 % interval by resampling nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// How well members are told from others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Membership {
    /// Probability that a member scores higher than another row; 0.5: nothing is learnt.
    pub auc: Estimate,
    /// Share of members that are found while one in a hundred other rows is taken for one.
    pub found: Estimate,
    /// Mutual information of the score, in classes, and membership, in nats, with as many members as others.
    pub information: Estimate,
    /// Members.
    pub members: usize,
    /// Other rows.
    pub others: usize,
}

/// Judges scores; `None` without rows of both kinds.
pub fn membership(nodes: &[NodeScores], seed: u64) -> Option<Membership> {
    let all: Vec<usize> = (0..nodes.len()).collect();
    let point = measures(nodes, &all)?;
    let mut rng = stream(seed, Purpose::Subsets, 1);
    let mut draws: Vec<[f64; 3]> = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let picked: Vec<usize> = all.iter().map(|_| rng.random_range(0..nodes.len())).collect();
        draws.extend(measures(nodes, &picked));
    }
    let estimate = |k: usize| {
        let mut values: Vec<f64> = draws.iter().map(|draw| draw[k]).collect();
        values.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| values.get((share * values.len() as f64) as usize).copied().unwrap_or(point[k]);
        Estimate { value: point[k], low: at(0.05), high: at(0.95).max(at(0.05)) }
    };
    Some(Membership {
        auc: estimate(0),
        found: estimate(1),
        information: estimate(2),
        members: nodes.iter().map(|node| node.members.len()).sum(),
        others: nodes.iter().map(|node| node.others.len()).sum(),
    })
}

/// Area, share found, information, from the rows of these nodes.
fn measures(nodes: &[NodeScores], picked: &[usize]) -> Option<[f64; 3]> {
    let of = |rows: fn(&NodeScores) -> &Vec<f64>| {
        let mut scores: Vec<f64> = picked.iter().flat_map(|i| rows(&nodes[*i]).iter().copied()).collect();
        scores.sort_unstable_by(f64::total_cmp);
        scores
    };
    let (members, others) = (of(|node| &node.members), of(|node| &node.others));
    if members.is_empty() || others.is_empty() {
        return None;
    }
    // Ties count half.
    let wins = members.iter().map(|score| {
        let (below, upto) = (others.partition_point(|x| x < score), others.partition_point(|x| x <= score));
        0.5 * (below + upto) as f64
    });
    let auc = wins.sum::<f64>() / (members.len() * others.len()) as f64;
    let allowed = (FALSE_ALARMS * others.len() as f64) as usize;
    let threshold = others[others.len() - 1 - allowed];
    let found = (members.len() - members.partition_point(|x| *x <= threshold)) as f64 / members.len() as f64;
    Some([auc, found, information(&members, &others)])
}

/// Mutual information of membership and the class of the score, with what chance alone would show taken off.
fn information(members: &[f64], others: &[f64]) -> f64 {
    let mut all: Vec<f64> = members.iter().chain(others).copied().collect();
    all.sort_unstable_by(f64::total_cmp);
    let ends: Vec<f64> = (1..CLASSES).map(|k| all[k * all.len() / CLASSES]).collect();
    let shares = |scores: &[f64]| {
        let below: Vec<usize> = ends.iter().map(|end| scores.partition_point(|x| x < end)).collect();
        let upper = below.iter().copied().chain([scores.len()]);
        let lower = [0].into_iter().chain(below.iter().copied());
        upper.zip(lower).map(|(b, a)| (b - a) as f64 / scores.len() as f64).collect::<Vec<f64>>()
    };
    let (p, q) = (shares(members), shares(others));
    let term = |p: f64, m: f64| if p > 0.0 { 0.5 * p * (p / m).ln() } else { 0.0 };
    let found: f64 = p.iter().zip(&q).map(|(p, q)| term(*p, 0.5 * (p + q)) + term(*q, 0.5 * (p + q))).sum();
    // Miller and Madow: each side adds (classes - 1) / (2 n) to its entropy, half of it here.
    let chance = 0.25 * (CLASSES - 1) as f64 * (1.0 / members.len() as f64 + 1.0 / others.len() as f64);
    (found - 0.5 * chance).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, Normal};

    fn nodes(shift: f64, count: usize) -> Vec<NodeScores> {
        let mut rng = stream(4, Purpose::LocalData, 7);
        let normal = Normal::new(0.0, 1.0).unwrap();
        let mut draw = |mean: f64| (0..20).map(|_| mean + normal.sample(&mut rng)).collect::<Vec<f64>>();
        (0..count).map(|_| NodeScores { members: draw(shift), others: draw(0.0) }).collect()
    }

    #[test]
    fn what_can_be_told_apart_is_and_what_cannot_is_not() {
        let none = membership(&nodes(0.0, 200), 1).unwrap();
        assert!(none.auc.low < 0.5 && none.auc.high > 0.5 && none.information.value < 0.002, "{none:?}");
        // Two normal distributions one deviation apart: Phi(1 / sqrt(2)) = 0.7602, and 0.0924 of members above 2.326.
        let some = membership(&nodes(1.0, 400), 1).unwrap();
        assert!((some.auc.value - 0.7602).abs() < 0.01 && some.auc.low < 0.7602 && some.auc.high > 0.7602, "{some:?}");
        assert!((some.found.value - 0.0924).abs() < 0.02, "{some:?}");
        // Its mutual information is 0.1114 nats; classes lose a little.
        assert!(some.information.value > 0.095 && some.information.value < 0.115, "{some:?}");
        assert_eq!(membership(&[NodeScores::default()], 1), None);
    }
}
