//! A limited-memory quasi-Newton method (L-BFGS) for the deviance: few parameters, expensive evaluations, and a gradient
//! that comes almost for free with each.

use crate::matrix::{axpy, dot};

/// Pairs of steps and changes of the gradient that are remembered.
const MEMORY: usize = 30;
/// Evaluations along one direction at most.
const TRIES: usize = 12;

/// When to stop, and how far to go.
pub struct Search {
    /// Stop where the quadratic model promises to gain less than this.
    pub gain_min: f64,
    /// Evaluations at most.
    pub evaluations_max: usize,
    /// First guess of the second derivatives.
    pub curvature: Vec<f64>,
    /// Longest step of each parameter.
    pub reach: Vec<f64>,
}

/// Steps and the changes of the gradient along them, the oldest first.
pub type Memory = Vec<Pair>;

/// A point, the value there and its gradient.
#[derive(Debug, Clone)]
pub struct Point {
    /// The point.
    pub x: Vec<f64>,
    /// The value.
    pub value: f64,
    /// The gradient.
    pub gradient: Vec<f64>,
}

/// A step and the change of the gradient along it.
pub type Pair = (Vec<f64>, Vec<f64>);

/// Minimises `f`, which returns value and gradient, or nothing where it is not defined.
pub fn minimise(search: &Search, start: Vec<f64>, f: impl FnMut(&[f64]) -> Option<(f64, Vec<f64>)>) -> Option<Point> {
    Some(minimise_with(search, &Memory::new(), start, f)?.0)
}

/// The same with what an earlier search learnt about the curvature; returns the minimum and what this one learnt.
pub fn minimise_with(
    search: &Search,
    memory: &Memory,
    start: Vec<f64>,
    mut f: impl FnMut(&[f64]) -> Option<(f64, Vec<f64>)>,
) -> Option<(Point, Memory)> {
    let mut evaluations = 0;
    let mut try_at = |x: Vec<f64>| {
        evaluations += 1;
        let found = f(&x).filter(|(value, gradient)| value.is_finite() && gradient.iter().all(|g| g.is_finite()));
        (found.map(|(value, gradient)| Point { x, value, gradient }), evaluations)
    };
    let mut at = try_at(start).0?;
    let mut memory = resized(memory, at.x.len());
    loop {
        let step = bounded(search, direction(search, &memory, &at.gradient));
        if -dot(&step, &at.gradient) < 2.0 * search.gain_min {
            return Some((at, memory));
        }
        let (found, evaluations) = descend(&at, &step, &mut try_at);
        let Some(next) = found else {
            // The remembered curvature is of no use here: the second time there is none left.
            if memory.is_empty() {
                return Some((at, memory));
            }
            memory.clear();
            continue;
        };
        remember(&mut memory, &at, &next);
        let gained = at.value - next.value;
        at = next;
        if evaluations >= search.evaluations_max || gained < 1e-14 * at.value.abs() {
            return Some((at, memory));
        }
    }
}

/// What is known about as many parameters: the last ones of a longer search are left out, those of a shorter one are new.
fn resized(memory: &Memory, count: usize) -> Memory {
    let to_count = |v: &[f64]| -> Vec<f64> { (0..count).map(|k| v.get(k).copied().unwrap_or(0.0)).collect() };
    let pairs = memory.iter().map(|(step, change)| (to_count(step), to_count(change)));
    pairs.filter(|(step, change)| is_convex(step, change)).collect()
}

/// True along directions of positive curvature.
fn is_convex(step: &[f64], change: &[f64]) -> bool {
    dot(step, change) > 1e-10 * (dot(change, change) * dot(step, step)).sqrt()
}

/// `-H gradient` with the inverse Hessian `H` that the memory implies.
fn direction(search: &Search, memory: &[Pair], gradient: &[f64]) -> Vec<f64> {
    let mut q = gradient.to_vec();
    let mut along = Vec::with_capacity(memory.len());
    for (step, change) in memory.iter().rev() {
        let a = dot(step, &q) / dot(step, change);
        axpy(-a, change, &mut q);
        along.push(a);
    }
    let scaled = |v: &[f64]| -> f64 { v.iter().zip(&search.curvature).map(|(v, c)| v * v / c).sum() };
    let factor = memory.last().map_or(1.0, |(step, change)| dot(step, change) / scaled(change));
    q.iter_mut().zip(&search.curvature).for_each(|(q, c)| *q *= factor / c);
    for ((step, change), a) in memory.iter().zip(along.iter().rev()) {
        let b = dot(change, &q) / dot(step, change);
        axpy(a - b, step, &mut q);
    }
    q.iter_mut().for_each(|q| *q = -*q);
    q
}

fn bounded(search: &Search, mut step: Vec<f64>) -> Vec<f64> {
    let longest = step.iter().zip(&search.reach).map(|(s, r)| s.abs() / r).fold(0.0, f64::max);
    if longest > 1.0 {
        step.iter_mut().for_each(|s| *s /= longest);
    }
    step
}

/// A point along the step that is lower by a fair share of what the slope promises, and how many evaluations there were.
fn descend(
    at: &Point,
    step: &[f64],
    try_at: &mut impl FnMut(Vec<f64>) -> (Option<Point>, usize),
) -> (Option<Point>, usize) {
    let (slope, mut length, mut evaluations) = (dot(step, &at.gradient), 1.0, 0);
    for _ in 0..TRIES {
        let mut x = at.x.clone();
        axpy(length, step, &mut x);
        let (found, count) = try_at(x);
        evaluations = count;
        let Some(next) = found else {
            length *= 0.25;
            continue;
        };
        if next.value <= at.value + 1e-4 * length * slope {
            return (Some(next), evaluations);
        }
        // The minimum of the parabola through both values with the slope at the start.
        let parabola = -slope * length / (2.0 * ((next.value - at.value) / length - slope));
        length = parabola.clamp(0.1 * length, 0.5 * length);
    }
    (None, evaluations)
}

fn remember(memory: &mut Vec<Pair>, at: &Point, next: &Point) {
    let minus = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a - b).collect() };
    let (step, change) = (minus(&next.x, &at.x), minus(&next.gradient, &at.gradient));
    if is_convex(&step, &change) {
        memory.push((step, change));
        if memory.len() > MEMORY {
            memory.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's valley, undefined to the left of -2.
    #[test]
    fn finds_the_end_of_the_valley() {
        let f = |x: &[f64]| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            let gradient = vec![-2.0 * a - 400.0 * x[0] * b, 200.0 * b];
            (x[0] > -2.0).then_some((a * a + 100.0 * b * b, gradient))
        };
        let search = Search { gain_min: 1e-16, evaluations_max: 200, curvature: vec![1.0; 2], reach: vec![1.0; 2] };
        let (found, memory) = minimise_with(&search, &Memory::new(), vec![-1.2, 1.0], f).unwrap();
        assert!((found.x[0] - 1.0).abs() < 1e-6 && (found.x[1] - 1.0).abs() < 1e-6);
        assert!(minimise(&search, vec![-3.0, 1.0], f).is_none());
        // From nearby, with the curvature known, a few steps are enough.
        let mut evaluations = 0;
        let counted = |x: &[f64]| {
            evaluations += 1;
            f(x)
        };
        let found = minimise_with(&search, &memory, vec![0.99, 0.981], counted).unwrap().0;
        assert!((found.x[0] - 1.0).abs() < 1e-6 && evaluations < 12, "{evaluations}");
    }
}
