//! Which value of a path the report is about.

use fedweave::path::{Path, same};
use fedweave::tune::{Errors, Rule};

use super::PointErrors;

/// The value with the number of clusters asked for; that with the smallest held-out error (or the largest not clearly worse);
/// without held-out rows the components of the graph, if no lambda can join them, else the middle of the longest stretch of
/// lambda, on a logarithmic scale, with the same clusters: more than one, and at most half as many as nodes. `joined` says that the
/// largest lambda is known to join all that can be joined.
pub(super) fn choose(
    path: &Path,
    errors: &[PointErrors],
    rule: Rule,
    clusters: Option<usize>,
    nodes: usize,
    joined: bool,
) -> (usize, &'static str) {
    if let Some(count) = clusters {
        return nearest_count(path, count);
    }
    let mean = |k: usize| errors[k].validation.as_ref().and_then(Errors::mean).unwrap_or(f64::INFINITY);
    let lambda = |k: usize| path.points[k].lambda;
    let all = 0..path.points.len();
    if errors.iter().any(|e| e.validation.is_some()) {
        // Of equals the larger lambda.
        let better = |a: usize, b: usize| (mean(a), -lambda(a)) < (mean(b), -lambda(b));
        let best = all.clone().fold(0, |b, k| if better(k, b) { k } else { b });
        let passes = |k: &usize| {
            let pair = (&errors[*k].validation, &errors[best].validation);
            let (Some(a), Some(b)) = pair else { return false };
            a.minus(b).is_some_and(|(mean, error)| mean <= error)
        };
        return match rule {
            Rule::Minimum => (best, "smallest error on held-out rows"),
            Rule::OneStandardError => {
                let largest = all.clone().filter(passes).fold(best, |b, k| if lambda(k) > lambda(b) { k } else { b });
                (largest, "largest lambda not clearly worse on held-out rows")
            }
        };
    }
    let last = all.fold(0, |b, k| if lambda(k) > lambda(b) { k } else { b });
    if joined && path.points[last].partition.len() > 1 {
        return (last, "the components of the graph, which no lambda can join");
    }
    longest_stretch(path, nodes)
}

/// The middle of the values whose number of clusters comes nearest.
fn nearest_count(path: &Path, count: usize) -> (usize, &'static str) {
    let distance = |k: usize| path.points[k].partition.len().abs_diff(count);
    let least = (0..path.points.len()).map(distance).min().unwrap_or(0);
    let best: Vec<usize> = (0..path.points.len()).filter(|&k| distance(k) == least).collect();
    (best[best.len() / 2], "middle of the values with as many clusters as asked for, or as nearly as possible")
}

/// The middle of the longest stretch of lambda with the same clusters.
fn longest_stretch(path: &Path, nodes: usize) -> (usize, &'static str) {
    let lambda = |k: usize| path.points[k].lambda;
    let fewest = path.points.iter().map(|p| p.partition.len()).min().unwrap_or(1);
    let (mut best, mut length) = (path.points.len() / 2, 0.0);
    let mut k = 0;
    while k < path.points.len() {
        let here = &path.points[k].partition;
        let end =
            (k..path.points.len()).take_while(|&j| same(here, &path.points[j].partition, nodes)).last().unwrap_or(k);
        let stretch = (lambda(end) / lambda(k)).ln().abs();
        if here.len() > fewest && 2 * here.len() <= nodes && stretch > length {
            (best, length) = ((k + end) / 2, stretch);
        }
        k = end + 1;
    }
    match length > 0.0 {
        true => (best, "middle of the longest stretch with the same clusters"),
        false => (best, "middle of the grid"),
    }
}
