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

/// Nodes at which the loss decreases for ever, one (the smallest) for each component of the graph in which it does. Coordinates that
/// the penalty does not couple (`loose`, as features) are looked at node by node.
pub fn nodes_without_minimiser(
    spec: &LossSpec,
    data: &Dataset,
    graph: &Graph,
    lambda: f64,
    loose: &[usize],
    options: &LossOptions,
) -> Result<Vec<usize>> {
    let coupled = Partition::of_edges(graph, |_| lambda > 0.0);
    let mut found = runaway_parts(spec, data, &coupled, options)?;
    if !loose.is_empty() && lambda > 0.0 {
        let alone = Partition::of_edges(graph, |_| false);
        let intercept = options.spare_last && loose.contains(&(data.dim() - 1));
        let options = LossOptions { spare_last: intercept, ..*options };
        found.extend(runaway_parts(spec, &data.columns(loose), &alone, &options)?);
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// The smallest nodes of the parts whose pooled loss has no minimiser. Parts of several families are passed over: most losses
/// keep the others from running away.
fn runaway_parts(spec: &LossSpec, data: &Dataset, parts: &Partition, options: &LossOptions) -> Result<Vec<usize>> {
    let part: Vec<usize> = (0..data.nodes()).map(|i| parts.part(i)).collect();
    let mut family_of: Vec<Option<Family>> = vec![None; parts.len()];
    let mut uniform = vec![true; parts.len()];
    for i in (0..data.nodes()).filter(|&i| !data.rows(i).is_empty()) {
        let family = spec.family(i);
        let known = *family_of[part[i]].get_or_insert(family);
        uniform[part[i]] &= known == family;
    }
    let mut found = Vec::new();
    let families: Vec<Family> = family_of.iter().flatten().copied().collect();
    for family in distinct(families).into_iter().filter(|f| f.may_lack_minimiser()) {
        let chosen = |p: usize| uniform[p] && family_of[p] == Some(family);
        let keep: Vec<bool> =
            (0..data.nodes()).flat_map(|i| data.rows(i).map(move |_| i)).map(|i| chosen(part[i])).collect();
        let pooled = data.select(&keep).merged(&part, parts.len(), NodeWeight::Rows);
        let bad = runaways(family, pooled, options)?;
        found.extend(bad.into_iter().filter_map(|p| part.iter().position(|&q| q == p)));
    }
    Ok(found)
}

fn distinct(mut families: Vec<Family>) -> Vec<Family> {
    let mut seen: Vec<Family> = Vec::new();
    families.retain(|f| {
        !seen.contains(f) && {
            seen.push(*f);
            true
        }
    });
    families
}

/// The nodes of `pooled` whose loss decreases for ever.
fn runaways(family: Family, pooled: Dataset, options: &LossOptions) -> Result<Vec<usize>> {
    let pooled = match (options.ridge > 0.0 || options.lasso > 0.0, options.spare_last) {
        (true, false) => return Ok(Vec::new()),
        // Only the intercept is free to run away.
        (true, true) => pooled.columns(&[pooled.dim() - 1]),
        (false, _) => pooled,
    };
    // In units of each column's largest entry the ridges mean the same for all data.
    let largest = |j: usize| (0..pooled.len()).map(|r| pooled.row(r).at(j).abs()).fold(f64::MIN_POSITIVE, f64::max);
    let unit: Vec<f64> = (0..pooled.dim()).map(largest).collect();
    let pooled = pooled.map_features(|j, x| x / unit[j]);
    let spec = LossSpec::Same(family);
    let at = |ridge: f64| baseline::local(&spec, pooled.clone(), &LossOptions { ridge, ..Default::default() });
    let (near, far) = (at(RIDGES[0])?, at(RIDGES[1])?);
    let loss = spec.build(pooled.clone(), &LossOptions::default())?;
    let runs_away = |p: &usize| {
        let direction: Vec<f64> = far.row(*p).iter().zip(near.row(*p)).map(|(f, n)| f - n).collect();
        let further: Vec<f64> = far.row(*p).iter().zip(&direction).map(|(f, v)| f + v).collect();
        norm2(&direction) > GROWTH * norm2(far.row(*p)) && loss.value(*p, &further) < loss.value(*p, far.row(*p))
    };
    Ok((0..pooled.nodes()).filter(runs_away).collect())
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
        !nodes_without_minimiser(&LossSpec::Same(family), &data(x, y), &graph, 1.0, &[], &options).unwrap().is_empty()
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
