//! Groups whose errors are larger count more: `q`-fair learning over groups of rows.
//!
//! The sum of losses is `sum_g P_g E_g(w)`, with `E_g` the mean loss of the rows of group `g` and `P_g` what they weigh together.
//! In its place stands `sum_g P_g E_g^(q + 1) / (q + 1)`, whose gradient is that of the weighted sum with
//!
//! ```text
//! weight_g = E_g(w)^q / c       c such that sum_g P_g weight_g = sum_g P_g, so that the coupling keeps its strength
//! ```
//!
//! so models are optimal for weights that follow from their own errors: a fixed point, found by damped steps in `log weight`. With
//! `q = 0` nothing changes; as `q` grows, the largest error of a group becomes as small as these models can have it.

use crate::dataset::Dataset;
use crate::error::Result;
use crate::loss::{LossOptions, LossSpec, NodeWeight};
use crate::matrix::Matrix;
use crate::trust::explain::guesses::node_units;

/// Weights of groups, and the errors that they follow from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Balanced {
    /// What a row of each group counts; 1 on average.
    pub weights: Vec<f64>,
    /// The mean loss of each group on the rows trained with; NaN for a group without rows.
    pub errors: Vec<f64>,
    /// Largest relative change of a weight in the last step.
    pub change: f64,
    /// Steps taken.
    pub steps: usize,
}

/// A fixed point is reached when no weight changes by more, relatively.
pub const TOLERANCE: f64 = 1e-4;
const STEPS_MAX: usize = 100;

/// Rows whose groups count `weights[g]` times, and the options of their loss.
///
/// # Panics
/// If the rows have no groups, or more than there are weights.
pub fn weighted(rows: &Dataset, weights: &[f64], options: &LossOptions) -> (Dataset, LossOptions) {
    let unit = row_units(rows, options);
    let groups = rows.groups().expect("rows were grouped");
    let data = rows.clone().reweighted(|r| unit[r] * weights[groups[r] as usize]);
    (data, LossOptions { node_weight: NodeWeight::Unit(1.0), ..*options })
}

/// The factor of every row's weight in the sum of losses.
fn row_units(rows: &Dataset, options: &LossOptions) -> Vec<f64> {
    let units = node_units(rows, options);
    (0..rows.nodes()).flat_map(|i| rows.rows(i).map(|_| units[i]).collect::<Vec<_>>()).collect()
}

/// The mean loss of every group by models `w`, and what its rows weigh together.
pub fn group_errors(
    loss: &LossSpec,
    rows: &Dataset,
    w: &Matrix,
    groups: usize,
    options: &LossOptions,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let of_row = row_errors(loss, rows, w)?;
    let (unit, of) = (row_units(rows, options), rows.groups().expect("rows were grouped"));
    let (mut sum, mut share) = (vec![0.0; groups], vec![0.0; groups]);
    for i in 0..rows.nodes() {
        for (r, weight) in rows.rows(i).zip(rows.weights(i)) {
            let weight = weight * unit[r];
            sum[of[r] as usize] += weight * of_row[r];
            share[of[r] as usize] += weight;
        }
    }
    Ok((sum.iter().zip(&share).map(|(s, p)| s / p).collect(), share))
}

/// The loss of every single row by the model of its node, without regularisation.
pub fn row_errors(loss: &LossSpec, rows: &Dataset, w: &Matrix) -> Result<Vec<f64>> {
    let node_of: Vec<usize> = (0..rows.nodes()).flat_map(|i| rows.rows(i).map(move |_| i)).collect();
    // Every row becomes a node: the error of a node is then that of the row.
    let x = (0..rows.nodes()).flat_map(|i| rows.features(i)).copied().collect();
    let x = Matrix::from_rows(rows.dim(), x);
    let alone = Dataset::new((0..=rows.len()).collect(), x, rows.y().to_vec(), vec![1.0; rows.len()])?;
    let loss = match loss {
        LossSpec::Same(_) => loss.clone(),
        LossSpec::PerNode(of) => LossSpec::PerNode(node_of.iter().map(|&i| of[i]).collect()),
    };
    let built = loss.build(alone, &LossOptions::default())?;
    Ok(node_of.iter().enumerate().map(|(r, &i)| built.error(r, w.row(i))).collect())
}

/// Finds the fixed point. `errors` solves with some weights and returns the errors of the groups and what each weighs.
pub fn balance<E>(
    groups: usize,
    power: f64,
    mut errors: impl FnMut(&[f64]) -> std::result::Result<(Vec<f64>, Vec<f64>), E>,
) -> std::result::Result<Balanced, E> {
    let mut weights = vec![1.0; groups];
    // Errors fall as weights rise, so a full step overshoots.
    let damping = 1.0 / (1.0 + power);
    for step in 1.. {
        let (found, share) = errors(&weights)?;
        let wanted = normalised(found.iter().map(|e| e.max(f64::MIN_POSITIVE).powf(power)), &share);
        let ratio = |g: usize| wanted[g] / weights[g];
        let there = (0..groups).filter(|&g| share[g] > 0.0 && weights[g] > 0.0);
        let change = there.map(|g| (ratio(g) - 1.0).abs()).fold(0.0, f64::max);
        if change <= TOLERANCE || step == STEPS_MAX || power == 0.0 {
            return Ok(Balanced { weights, errors: found, change, steps: step });
        }
        weights = normalised((0..groups).map(|g| weights[g] * ratio(g).powf(damping)), &share);
    }
    unreachable!("the last step returns")
}

/// Weights whose mean over all rows is 1; groups without rows count 1.
fn normalised(weights: impl Iterator<Item = f64>, share: &[f64]) -> Vec<f64> {
    let weights: Vec<f64> = weights.zip(share).map(|(w, p)| if *p > 0.0 { w } else { 1.0 }).collect();
    let sum: f64 = weights.iter().zip(share).map(|(w, p)| w * p).sum();
    let scale = share.iter().sum::<f64>() / sum;
    weights.iter().zip(share).map(|(w, p)| if *p > 0.0 { w * scale } else { 1.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::loss::Family;
    use crate::penalty::SquaredNorm;
    use crate::random::{Purpose, stream};
    use crate::solve::{Settings, Watch, solve};
    use crate::{Problem, matrix::axpy};
    use rand::RngExt;

    const NODES: usize = 5;

    /// One feature, no intercept: group 1 wants a slope of 2 and is rare, group 0 wants 1.
    fn rows() -> Dataset {
        let mut random = stream(2, Purpose::LocalData, 0);
        let (mut x, mut y, mut group) = (Vec::new(), Vec::new(), Vec::new());
        for r in 0..8 * NODES {
            let (at, g) = (random.random::<f64>() * 2.0 - 1.0, u32::from(r % 4 == 3));
            x.push(at);
            y.push(at * if g == 1 { 2.0 } else { 1.0 } + 0.3 * random.random::<f64>());
            group.push(g);
        }
        let offsets = (0..=NODES).map(|i| 8 * i).collect();
        Dataset::new(offsets, Matrix::from_rows(1, x), y, vec![1.0; 8 * NODES]).unwrap().grouped(group).unwrap()
    }

    fn solved(weights: &[f64], options: &LossOptions) -> (Problem, Matrix) {
        let (data, options) = weighted(&rows(), weights, options);
        let graph = Graph::new(NODES, &(1..NODES).map(|i| (i - 1, i, 1.0)).collect::<Vec<_>>()).unwrap();
        let loss = Family::Squared.build(data, &options).unwrap();
        let problem = Problem::build(graph, loss, Box::new(SquaredNorm), 0.3).unwrap();
        let settings = Settings { tolerance: 1e-14, ..Default::default() };
        let w = solve(&problem, &settings, None, &mut |_| Watch::Continue).w;
        (problem, w)
    }

    fn balanced(power: f64, options: &LossOptions) -> (Balanced, Matrix) {
        let spec = LossSpec::Same(Family::Squared);
        let found = balance(2, power, |weights| group_errors(&spec, &rows(), &solved(weights, options).1, 2, options));
        let found = found.unwrap();
        let w = solved(&found.weights, options).1;
        (found, w)
    }

    #[test]
    fn weights_follow_from_the_errors_of_the_models_they_make() {
        for node_weight in [NodeWeight::Equal, NodeWeight::Rows] {
            let options = LossOptions { node_weight, ..Default::default() };
            let mut worst = f64::INFINITY;
            for power in [0.0, 1.0, 4.0, 20.0] {
                let (found, w) = balanced(power, &options);
                let spec = LossSpec::Same(Family::Squared);
                let (errors, share) = group_errors(&spec, &rows(), &w, 2, &options).unwrap();
                let ratio = (errors[1] / errors[0]).powf(power);
                assert!((found.weights[1] / found.weights[0] / ratio - 1.0).abs() < 1e-3, "{power}: {found:?}");
                let mean = (found.weights[0] * share[0] + found.weights[1] * share[1]) / (share[0] + share[1]);
                assert!((mean - 1.0).abs() < 1e-12 && found.change <= TOLERANCE);
                let largest = errors[0].max(errors[1]);
                assert!(largest <= worst + 1e-9, "{power}: {largest} {worst}");
                worst = largest;
            }
        }
    }

    /// The fixed point is where the gradient of the powers of errors, and of the coupling, vanishes.
    #[test]
    fn the_fixed_point_minimises_powers_of_errors() {
        let (options, power, spec) = (LossOptions::default(), 2.0, LossSpec::Same(Family::Squared));
        let (found, w) = balanced(power, &options);
        // The constant c of weight_g = E_g^q / c, which the fixed point has chosen.
        let c = found.errors[0].powf(power) / found.weights[0];
        let objective = |w: &Matrix| {
            let (errors, share) = group_errors(&spec, &rows(), w, 2, &options).unwrap();
            let fair: f64 = errors.iter().zip(&share).map(|(e, p)| p * e.powf(power + 1.0) / (power + 1.0)).sum();
            let apart: f64 = (1..NODES).map(|i| (w.row(i)[0] - w.row(i - 1)[0]).powi(2)).sum();
            fair / c + 0.3 * apart
        };
        let at = objective(&w);
        for i in 0..NODES {
            let moved = |by: f64| {
                let mut w = w.clone();
                axpy(1.0, &[by], w.row_mut(i));
                objective(&w)
            };
            let slope = (moved(1e-4) - moved(-1e-4)) / 2e-4;
            assert!(slope.abs() < 2e-4 * at, "{i}: {slope} {at}");
        }
    }

    #[test]
    fn weights_of_one_change_nothing() {
        for node_weight in [NodeWeight::Equal, NodeWeight::Rows] {
            let options = LossOptions { node_weight, ridge: 0.1, ..Default::default() };
            let (data, with) = weighted(&rows(), &[1.0, 1.0], &options);
            let plain = Family::Squared.build(rows(), &options).unwrap();
            let same = Family::Squared.build(data, &with).unwrap();
            (0..NODES).for_each(|i| assert!((plain.value(i, &[0.7]) - same.value(i, &[0.7])).abs() < 1e-14));
        }
    }
}
