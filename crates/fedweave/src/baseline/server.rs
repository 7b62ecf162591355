//! What methods with a server share: who takes part, local steps, averages, and what travels.

use crate::accounting::{Traffic, work};
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::matrix::{Matrix, axpy, norm2};
use crate::parallel::ordered_fold;

/// The nodes with rows.
pub fn clients(loss: &dyn Loss) -> Vec<u32> {
    (0..loss.nodes() as u32).filter(|&i| loss.has_rows(i as usize)).collect()
}

/// The largest `beta_i`, or infinity.
pub fn smoothness(loss: &dyn Loss) -> f64 {
    let finite = |i: usize| Some(loss.curvature(i).beta).filter(|b| !b.is_nan()).unwrap_or(f64::INFINITY);
    ordered_fold(loss.nodes(), 1 << 20, 0.0, finite, f64::max)
}

/// The step of local gradient steps: the one given, or `1 / max_i beta_i`, with which no step leads away from any minimiser.
pub fn gradient_step(loss: &dyn Loss, step: Option<f64>, method: &'static str) -> Result<f64> {
    if !loss.has_hessian() {
        return Err(Error::Method { method, needs: "losses without kinks for gradient steps" });
    }
    match (step, smoothness(loss)) {
        (Some(step), _) => positive("step", step),
        (None, beta) if beta.is_finite() => Ok(if beta > 0.0 { 1.0 / beta } else { 1.0 }),
        _ => Err(Error::Method { method, needs: "a step, for a loss whose curvature has no bound" }),
    }
}

/// Checks a number given by the caller.
pub fn positive(name: &'static str, value: f64) -> Result<f64> {
    match value > 0.0 && value.is_finite() {
        true => Ok(value),
        false => Err(Error::Parameter { name, value, needs: "positive and finite" }),
    }
}

/// So many gradient steps on `L_i` from `w`; `gradient` is scratch.
pub fn descend(loss: &dyn Loss, node: usize, steps: usize, step: f64, w: &mut [f64], gradient: &mut [f64]) {
    for _ in 0..steps {
        loss.gradient(node, w, gradient);
        axpy(-step, gradient, w);
    }
}

/// Row `c` of `centres` becomes the mean of the rows of `models` of the clients with `group(client) = c`, added up in the
/// order of the clients. Groups without clients keep their row. `counts` holds the sizes afterwards.
pub fn average(
    models: &Matrix,
    clients: &[u32],
    group: impl Fn(usize) -> usize,
    centres: &mut Matrix,
    counts: &mut [usize],
) {
    counts.fill(0);
    for &i in clients {
        let (i, c) = (i as usize, group(i as usize));
        if counts[c] == 0 {
            centres.row_mut(c).fill(0.0);
        }
        counts[c] += 1;
        axpy(1.0, models.row(i), centres.row_mut(c));
    }
    for (c, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        centres.row_mut(c).iter_mut().for_each(|v| *v /= count as f64);
    }
}

/// The largest `|new - old| / (step (1 + |old|))` of a row: how much there still is to gain, in units of a gradient.
pub fn movement(old: &Matrix, new: &Matrix, step: f64) -> f64 {
    let moved = |c: usize| {
        let distance = old.row(c).iter().zip(new.row(c)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
        distance / (step * (1.0 + norm2(old.row(c))))
    };
    (0..old.rows()).map(moved).fold(0.0, f64::max)
}

/// One exchange: the server sends `down` numbers to every client and gets `up` numbers back.
pub fn exchange(traffic: &mut Traffic, clients: &[u32], down: usize, up: usize) {
    traffic.send_from_server(clients.len(), down);
    clients.iter().for_each(|&i| traffic.send(i as usize, 1, up));
}

/// Work of `steps` gradients and steps at every client.
pub fn descent_work(loss: &dyn Loss, clients: &[u32], steps: usize) -> f64 {
    let one = |i: &u32| work::gradient(loss, *i as usize) + 2.0 * loss.dim() as f64;
    steps as f64 * clients.iter().map(one).sum::<f64>()
}
