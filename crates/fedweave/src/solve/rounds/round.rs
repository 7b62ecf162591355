//! A round in two phases with an exchange in between.

use crate::matrix::Matrix;

/// One method of message passing, wherever it runs. `begin` makes the rows that travel, `complete` uses those that came:
///
/// ```text
/// begin,  outgoing(i) for every i that others wait for  ~~>  incoming(i) for every row that came,  complete
/// ```
///
/// There are two kinds of exchange. Between *neighbours*, what goes out for a node is its own row, and what comes in are the rows
/// of nodes held elsewhere; on one machine nothing is held elsewhere, and a round is `begin` and `complete`. Between a *server*
/// and nodes that keep their losses to themselves ([`ServerRound`](super::ServerRound)), what goes out for a node is the point
/// from which it is asked for a proximal step, and what comes in is the answer. A row that does not come stays what it was.
///
/// ```
/// use fedweave::graph::generate::chain;
/// use fedweave::loss::{Family, LossOptions};
/// use fedweave::penalty::SquaredNorm;
/// use fedweave::solve::{RelaxRound, Round};
/// use fedweave::{Dataset, Matrix, Problem};
/// // Node 0 is held here, node 1 (which has no rows here) elsewhere.
/// let data = Dataset::new(vec![0, 1, 1], Matrix::from_rows(1, vec![0.0]), vec![0.0], vec![1.0])?;
/// let loss = Family::Point.build(data, &LossOptions::default())?;
/// let problem = Problem::build(chain(2)?, loss, Box::new(SquaredNorm), 1.0)?;
/// let mut part = RelaxRound::new(&problem, vec![0], Matrix::zeros(2, 1));
/// part.begin();
/// assert_eq!(part.outgoing(0), [0.0]);
/// part.incoming(1).copy_from_slice(&[3.0]);
/// part.complete();
/// // w^2 + (w - 3)^2 is smallest at 1.5.
/// assert!((part.models().row(0)[0] - 1.5).abs() < 1e-12);
/// # Ok::<(), fedweave::Error>(())
/// ```
pub trait Round: Send {
    /// Makes the rows of the next exchange.
    fn begin(&mut self) {}
    /// The row that goes out for a node.
    fn outgoing(&self, node: usize) -> &[f64];
    /// Where the row that comes for a node goes.
    fn incoming(&mut self, node: usize) -> &mut [f64];
    /// Ends the round with the rows that came.
    fn complete(&mut self);
    /// How far the last round moved what is held here, relative to the sizes of gradients and models; infinite before the
    /// first and where it is not a number: the numbers of a liar are finite but may be huge.
    fn residual(&self) -> f64;
    /// The models, a row per node.
    fn models(&self) -> &Matrix;
    /// The flows, a row per edge; no rows if the method has none.
    fn flows(&self) -> Matrix;
    /// Sets the flow on an edge to zero, if the method has flows.
    fn forget_flow(&mut self, _edge: usize) {}
}

/// Nodes `0, 1, ..., n - 1`: all of them are held here.
pub(super) fn all(n: usize) -> Vec<u32> {
    (0..n as u32).collect()
}

/// The rows of `own` nodes in `w` and those of `next` change places: `next` holds the old ones then.
pub(super) fn exchange_rows(own: &[u32], w: &mut Matrix, next: &mut Matrix) {
    if own.len() == w.rows() {
        return std::mem::swap(w, next);
    }
    for (k, &i) in own.iter().enumerate() {
        w.row_mut(i as usize).swap_with_slice(next.row_mut(k));
    }
}

/// The Euclidean distance of two rows.
pub(super) fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Infinite if it is not a number.
pub(super) fn or_infinite(residual: f64) -> f64 {
    if residual.is_finite() { residual } else { f64::INFINITY }
}
