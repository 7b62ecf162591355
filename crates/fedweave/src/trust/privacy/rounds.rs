//! Gradients of the losses of nodes, clipped row by row and released with noise, as often as there are rounds.
//!
//! Replacing a row of node `i` moves `sum_r a_i clip(grad l_r, C)` by at most `2 C a_i`, with `a_i` the share of a row in the loss. With noise of
//! `multiplier` times that, `T` rounds cost what `T` Gaussian releases cost, although the points depend on earlier releases
//! (adaptive composition). Every row belongs to one node, so that releases of other nodes cost it nothing.
//!
//! If every row takes part with probability `rate` only, its gradient counts `a_i / rate`, and neighbours are datasets in which the
//! gradients of one row are left out, or not: that moves a sum by at most `C a_i / rate`, and the distribution of the privacy loss
//! of the Poisson-sampled Gaussian mechanism is that of a round. The number `m_i` that is divided by stays what it is.
//!
//! Clipping a gradient `l'(x'w, y) x` clips its slope to `C / |x|`: what descends is still convex, and its curvature is nowhere larger. The
//! step is one over a bound on the curvature that follows from ranges, numbers of rows and the graph: no row has a say in it.

use rand::Rng;

use super::mechanisms::Grid;
use super::sensitivity::gradient_bound;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::loss::{Family, Huber, Logistic, LossOptions, NodeWeight, Pointwise, Squared, SquaredHinge};
use crate::matrix::{axpy, dot, norm2};
use crate::problem::Problem;

/// `dl/ds` of a row with score `s` and label `y`.
type Slope = Box<dyn Fn(f64, f64) -> f64 + Send + Sync>;

/// The slope of a loss and the largest curvature; `None` for losses without either.
fn slope(family: Family) -> Option<(Slope, f64)> {
    fn of(loss: impl Pointwise) -> Option<(Slope, f64)> {
        let (_, curvature) = loss.curvature_bounds();
        Some((Box::new(move |s, y| loss.slope(s, y)), curvature))
    }
    match family {
        Family::Squared => of(Squared),
        Family::Huber { delta } => of(Huber { delta }),
        Family::Logistic => of(Logistic),
        Family::SquaredHinge => of(SquaredHinge),
        _ => None,
    }
}

/// True for losses whose noisy gradients can be followed.
pub fn has_rounds(family: Family) -> bool {
    slope(family).is_some()
}

/// Where gradients are clipped if nobody says: nowhere, for losses whose gradients are bounded; else at what rows with labels from
/// -1 to 1 have at zero.
pub fn usual_clip(family: Family, row_norm: f64) -> f64 {
    gradient_bound(family, row_norm).unwrap_or(2.0 * row_norm)
}

/// Bounds and noise of released gradients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GradientNoise {
    /// The longest row of features.
    pub row_norm: f64,
    /// Gradients of rows are shortened to this norm.
    pub clip: f64,
    /// Noise in multiples of what one row can do.
    pub multiplier: f64,
    /// Probability that a row takes part in a round; 1: all rows do.
    pub rate: f64,
}

impl GradientNoise {
    fn check(&self) -> Result<()> {
        if !(self.clip > 0.0 && self.clip.is_finite()) {
            return Err(Error::Parameter { name: "clip", value: self.clip, needs: "positive and finite" });
        }
        if !(self.rate > 0.0 && self.rate <= 1.0) {
            return Err(Error::Parameter { name: "rate", value: self.rate, needs: "above 0 and at most 1" });
        }
        Ok(())
    }

    /// Which rows are exchanged, dropped or added in what is promised.
    pub fn adjacency(&self) -> &'static str {
        if self.rate < 1.0 {
            "gradients of one row of one node left out or not"
        } else {
            "one row of one node replaced"
        }
    }
}

/// Noisy gradients of all nodes.
pub struct ClippedGradients {
    data: Dataset,
    slope: Slope,
    /// Bounds the curvature of a row.
    curvature: f64,
    options: LossOptions,
    noise: GradientNoise,
    /// The noise of every node with rows.
    grids: Vec<Option<Grid>>,
}

impl ClippedGradients {
    /// For rows and noise as told.
    pub fn new(family: Family, data: Dataset, options: &LossOptions, noise: GradientNoise) -> Result<Self> {
        let no_slope = Error::Parameter { name: "loss", value: f64::NAN, needs: "a bounded second derivative" };
        let (slope, largest) = slope(family).ok_or(no_slope)?;
        noise.check()?;
        let options = LossOptions { node_weight: options.node_weight.resolved(&data), ..*options };
        let curvature = largest * noise.row_norm * noise.row_norm;
        let mut gradients = ClippedGradients { slope, curvature, options, noise, grids: Vec::new(), data };
        let grid = |node: usize| {
            let sensitivity = gradients.sensitivity(node);
            if sensitivity == 0.0 {
                return Ok(None);
            }
            let value = noise.multiplier * sensitivity;
            let grid = Grid::new(noise.multiplier, sensitivity, gradients.data.dim());
            grid.map(Some).ok_or(Error::Parameter { name: "noise", value, needs: "a positive normal number" })
        };
        let grids = (0..gradients.data.nodes()).map(grid).collect::<Result<_>>()?;
        gradients.grids = grids;
        Ok(gradients)
    }

    /// The share of a row in the loss of its node.
    fn share(&self, node: usize) -> f64 {
        match (self.data.rows(node).len(), self.options.node_weight) {
            (0, _) => 0.0,
            (_, NodeWeight::Unit(unit)) => unit,
            (rows, _) => 1.0 / rows as f64,
        }
    }

    /// How far one row moves what its node sums up.
    pub fn sensitivity(&self, node: usize) -> f64 {
        let most = self.noise.clip * self.share(node);
        if self.noise.rate < 1.0 { most / self.noise.rate } else { 2.0 * most }
    }

    /// True if a node has something to release.
    pub fn releases(&self, node: usize) -> bool {
        self.grids[node].is_some()
    }

    /// Deviation of the noise on every number of a node.
    pub fn deviation(&self, node: usize) -> f64 {
        self.grids[node].map_or(0.0, |grid| grid.deviation())
    }

    /// A step that never diverges without noise.
    pub fn step(&self, problem: &Problem) -> f64 {
        let mut pull = vec![0.0; problem.nodes()];
        for (e, weight) in problem.edge_weights().iter().enumerate() {
            let (i, j) = problem.graph().nodes_of(e);
            // A Laplacian is at most twice its diagonal.
            let most = 2.0 * weight * problem.penalty().smoothness(e);
            (pull[i], pull[j]) = (pull[i] + most, pull[j] + most);
        }
        let own = |i: usize| self.curvature * self.share(i) * self.data.rows(i).len() as f64 + 2.0 * self.options.ridge;
        1.0 / (0..problem.nodes()).map(|i| own(i) + pull[i]).fold(f64::MIN_POSITIVE, f64::max)
    }

    /// `out <-` the noisy gradient of the loss of a node at `w`, with that of the ridge, which knows no rows.
    pub fn release(&self, node: usize, w: &[f64], rng: &mut impl Rng, out: &mut [f64]) {
        out.fill(0.0);
        let Some(grid) = &self.grids[node] else { return };
        let GradientNoise { clip, rate, .. } = self.noise;
        let share = self.share(node) / rate;
        // Never more often than promised: the conversion rounds down.
        let kept = (rate * 2f64.powi(64)) as u64;
        let mut points = vec![0i128; out.len()];
        for r in self.data.rows(node) {
            if rate < 1.0 && rng.next_u64() >= kept {
                continue;
            }
            let x = self.data.x(r);
            // Rounding must not leave a hair above the bound.
            let most = clip / norm2(x) * (1.0 - 4.0 * f64::EPSILON);
            let slope = (self.slope)(dot(x, w), self.data.y()[r]).clamp(-most, most);
            if slope.is_finite() {
                points.iter_mut().zip(x).for_each(|(sum, x)| *sum += i128::from(grid.point(share * slope * x)));
            }
        }
        out.iter_mut().zip(points).for_each(|(out, sum)| *out = grid.perturb_sum(sum, rng));
        let held = w.len() - usize::from(self.options.spare_last);
        axpy(2.0 * self.options.ridge, &w[..held], &mut out[..held]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;
    use crate::random::{Purpose, stream};
    use rand::RngExt;

    /// Rows of norm at most the square root of 2; the first is given.
    fn gradients(family: Family, first: ([f64; 2], f64), clip: f64) -> ClippedGradients {
        sampled(family, first, clip, 1.0)
    }

    fn sampled(family: Family, first: ([f64; 2], f64), clip: f64, rate: f64) -> ClippedGradients {
        let mut rng = stream(3, Purpose::LocalData, 0);
        let mut draw = || 2.0 * rng.random::<f64>() - 1.0;
        let (mut x, mut y) = (first.0.to_vec(), vec![first.1]);
        for _ in 1..6 {
            x.extend([draw(), draw()]);
            y.push(if draw() > 0.0 { 1.0 } else { -1.0 });
        }
        let data = Dataset::new(vec![0, 4, 6], Matrix::from_rows(2, x), y, vec![1.0; 6]).unwrap();
        let options = LossOptions { ridge: 0.1, ..LossOptions::default() };
        // Noise that does not matter.
        let noise = GradientNoise { row_norm: 2f64.sqrt(), clip, multiplier: 1e-7, rate };
        ClippedGradients::new(family, data, &options, noise).unwrap()
    }

    fn at(gradients: &ClippedGradients, node: usize, w: [f64; 2]) -> [f64; 2] {
        let mut out = [0.0; 2];
        gradients.release(node, &w, &mut stream(1, Purpose::Noise, node), &mut out);
        out
    }

    #[test]
    fn no_replaced_row_moves_a_gradient_further_than_the_bound() {
        for family in [Family::Squared, Family::Huber { delta: 0.7 }, Family::Logistic, Family::SquaredHinge] {
            let (clip, mut largest) = (0.4, 0.0f64);
            for w in [[0.0, 0.0], [3.0, -5.0], [1e300, 1e300]] {
                for angle in 0..8 {
                    let (sin, cos) = (f64::from(angle) * std::f64::consts::FRAC_PI_4).sin_cos();
                    let a = at(&gradients(family, ([cos, sin], 1.0), clip), 0, w);
                    let b = at(&gradients(family, ([cos, sin], -1.0), clip), 0, w);
                    largest = largest.max((a[0] - b[0]).hypot(a[1] - b[1]));
                }
            }
            let bound = gradients(family, ([1.0, 0.0], 1.0), clip).sensitivity(0);
            assert_eq!(bound, 2.0 * clip / 4.0);
            assert!(largest <= bound * (1.0 + 1e-6) && largest > 0.5 * bound, "{family}: {largest} {bound}");
        }
    }

    #[test]
    fn unclipped_and_almost_without_noise_it_is_the_gradient() {
        for family in [Family::Squared, Family::Huber { delta: 0.7 }, Family::Logistic, Family::SquaredHinge] {
            let gradients = gradients(family, ([0.3, -0.8], 1.0), 100.0);
            let loss = family.build(gradients.data.clone(), &gradients.options).unwrap();
            for (node, w) in [(0, [0.2, 0.7]), (1, [-1.5, 0.4])] {
                let mut exact = [0.0; 2];
                loss.gradient(node, &w, &mut exact);
                let found = at(&gradients, node, w);
                assert!((0..2).all(|j| (found[j] - exact[j]).abs() < 1e-3), "{family}: {found:?} {exact:?}");
            }
        }
    }

    #[test]
    fn samples_have_the_gradient_as_their_mean_and_the_share_of_rows_that_was_promised() {
        let (rate, w) = (0.3, [0.4, -0.2]);
        let (all, some) = (
            gradients(Family::Logistic, ([0.3, -0.8], 1.0), 100.0),
            sampled(Family::Logistic, ([0.3, -0.8], 1.0), 100.0, rate),
        );
        assert!((some.sensitivity(0) / (100.0 / 4.0 / rate) - 1.0).abs() < 1e-15);
        let (mut whole, mut sum, mut one) = ([0.0; 2], [0.0; 2], [0.0; 2]);
        all.release(0, &w, &mut stream(1, Purpose::Noise, 0), &mut whole);
        let (mut rng, draws) = (stream(5, Purpose::Noise, 3), 40_000);
        let mut none = 0.0;
        for _ in 0..draws {
            some.release(0, &w, &mut rng, &mut one);
            // Without rows only the ridge is left.
            none += f64::from(u8::from((0..2).all(|j| (one[j] - 0.2 * w[j]).abs() < 1e-3)));
            (0..2).for_each(|j| sum[j] += one[j] / f64::from(draws));
        }
        assert!((0..2).all(|j| (sum[j] - whole[j]).abs() < 0.01), "{sum:?} {whole:?}");
        let expected = (1.0 - rate).powi(4);
        assert!((none / f64::from(draws) - expected).abs() < 0.01, "{none} {expected}");
    }
}
