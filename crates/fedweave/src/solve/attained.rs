//! Is the minimum attained? Logistic, multinomial and Poisson losses without enough ridge may decrease for ever along a
//! direction, for instance when a hyperplane separates the classes. Penalties on differences cannot stop that: the whole
//! component moves together.

use crate::baseline;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::graph::Graph;
use crate::graph::partition::Partition;
use crate::loss::{Family, LossOptions, LossSpec, NodeWeight};
use crate::matrix::norm2;

/// Two vanishing ridges. Between them a model that has a limit hardly moves; one that runs away grows like the logarithm of
/// their ratio.
const RIDGES: [f64; 2] = [1e-8, 1e-12];
/// Growth, relative to the model, that tells the two cases apart.
const GROWTH: f64 = 0.02;

/// The components of the graph (all nodes by themselves if `lambda` is 0), named by their smallest node, whose pooled loss has no minimiser.
pub fn components_without_minimiser(
    family: Family,
    data: &Dataset,
    graph: &Graph,
    lambda: f64,
    options: &LossOptions,
) -> Result<Vec<usize>> {
    if !family.may_lack_minimiser() || (options.ridge > 0.0 && !options.spare_last) {
        return Ok(Vec::new());
    }
    let components = Partition::of_edges(graph, |_| lambda > 0.0);
    let part: Vec<usize> = (0..graph.nodes()).map(|i| components.part(i)).collect();
    let mut pooled = data.merged(&part, components.len(), NodeWeight::Rows);
    if options.ridge > 0.0 {
        // Only the intercept is free to run away.
        pooled = pooled.last_column();
    }
    let spec = LossSpec::Same(family);
    let at = |ridge: f64| baseline::local(&spec, pooled.clone(), &LossOptions { ridge, ..Default::default() });
    let (near, far) = (at(RIDGES[0])?, at(RIDGES[1])?);
    let loss = spec.build(pooled.clone(), &LossOptions::default())?;
    let runs_away = |p: usize| {
        let direction: Vec<f64> = far.row(p).iter().zip(near.row(p)).map(|(f, n)| f - n).collect();
        let further: Vec<f64> = far.row(p).iter().zip(&direction).map(|(f, v)| f + v).collect();
        norm2(&direction) > GROWTH * norm2(far.row(p)) && loss.value(p, &further) < loss.value(p, far.row(p))
    };
    let mut smallest = vec![usize::MAX; components.len()];
    part.iter().enumerate().for_each(|(i, &p)| smallest[p] = smallest[p].min(i));
    Ok((0..components.len()).filter(|&p| runs_away(p)).map(|p| smallest[p]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;

    fn data(x: &[f64], y: &[f64]) -> Dataset {
        let rows: Vec<f64> = x.iter().flat_map(|x| [*x, 1.0]).collect();
        Dataset::new(vec![0, y.len()], Matrix::from_rows(2, rows), y.to_vec(), vec![1.0; y.len()]).unwrap()
    }

    fn lacks(family: Family, x: &[f64], y: &[f64], ridge: f64) -> bool {
        let options = LossOptions { ridge, spare_last: true, ..Default::default() };
        let graph = Graph::new(1, &[]).unwrap();
        !components_without_minimiser(family, &data(x, y), &graph, 1.0, &options).unwrap().is_empty()
    }

    #[test]
    fn separable_classes_have_no_minimiser() {
        let x = [-2.0, -1.0, 1.0, 2.0];
        assert!(lacks(Family::Logistic, &x, &[0.0, 0.0, 1.0, 1.0], 0.0));
        assert!(lacks(Family::Multinomial { classes: 2 }, &x, &[0.0, 0.0, 1.0, 1.0], 0.0));
        assert!(!lacks(Family::Logistic, &x, &[0.0, 1.0, 0.0, 1.0], 0.0));
        assert!(!lacks(Family::Multinomial { classes: 2 }, &x, &[0.0, 1.0, 0.0, 1.0], 0.0));
    }

    #[test]
    fn quasi_separation_counts() {
        // Both classes at 1, otherwise separated: the slope still runs away.
        assert!(lacks(Family::Logistic, &[-1.0, 1.0, 1.0, 2.0], &[0.0, 0.0, 1.0, 1.0], 0.0));
    }

    #[test]
    fn a_ridge_helps_unless_the_intercept_runs_away() {
        let x = [-2.0, -1.0, 1.0, 2.0];
        assert!(!lacks(Family::Logistic, &x, &[0.0, 0.0, 1.0, 1.0], 1e-3));
        assert!(lacks(Family::Logistic, &x, &[1.0, 1.0, 1.0, 1.0], 1e-3));
        assert!(lacks(Family::Poisson, &x, &[0.0, 0.0, 0.0, 0.0], 1e-3));
        assert!(!lacks(Family::Poisson, &x, &[0.0, 0.0, 1.0, 0.0], 1e-3));
    }
}
