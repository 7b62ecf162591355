//! The data of the convex-clustering paper, section V: three clusters of users, two overlapping ellipses in the plane
//! (one per class) for each cluster.
//!
//! The ellipses are not published. Here the classes of cluster `k` lie in ellipses with semi-axes 5 (along the line
//! through the centres) and 0.6, centred at `± 3.2 (cos a_k, sin a_k)` in three directions `a_k`: even ones, three tasks
//! that have nothing in common, for Figures 2 and 3; and uneven ones, two tasks more alike, for Figures 5 and 6. The best
//! lines err on about 12 % of the points, much as in the paper. Rounder or smaller ellipses of the same overlap spread the
//! users' gradients so far that no `lambda` gives exactly three models.

use std::f64::consts::TAU;

use fedweave::loss::{Family, LossOptions};
use fedweave::matrix::dot;
use fedweave::penalty::Penalty;
use fedweave::random::{Purpose, stream};
use fedweave::{Dataset, Matrix, Problem, graph::generate::complete};
use rand::RngExt;
use rand::seq::SliceRandom;

use crate::Error;

pub const CLUSTERS: usize = 3;
/// Points of a class of a cluster.
const POINTS: usize = 100;
/// Test points of a class of a cluster.
const TEST_POINTS: usize = 1000;
const DISTANCE: f64 = 3.2;
const LONG: f64 = 5.0;
const SHORT: f64 = 0.6;

/// `c` of the paper; our ridge is half of it.
const C: f64 = 1e-3;

/// Directions `a_k` in degrees.
pub type Directions = [f64; CLUSTERS];
/// Three tasks that have nothing in common.
pub const EVEN: Directions = [0.0, 120.0, 240.0];
/// Two tasks are more alike.
pub const UNEVEN: Directions = [0.0, 86.0, 223.0];

/// What the paper leaves open, in words.
pub fn geometry(directions: &Directions) -> String {
    format!(
        "the ellipses of the paper are not published; here: semi-axes {LONG} and {SHORT}, centres {DISTANCE} from the origin, \
         directions {directions:?} degrees"
    )
}

/// Users with rows `(a, 1)` and labels -1 and +1, cluster after cluster, and test rows of every cluster.
pub struct Users {
    /// Local datasets.
    pub data: Dataset,
    /// The cluster of every user.
    pub cluster: Vec<usize>,
    test: Vec<Points>,
}

/// Points of both classes of one cluster: rows `(a, 1)` and labels.
struct Points {
    x: Matrix,
    y: Vec<f64>,
}

impl Users {
    /// So many users a cluster, each with so many of its 200 points, drawn without replacement.
    pub fn draw(directions: &Directions, users: usize, rows: usize, seed: u64) -> Result<Self, Error> {
        let (mut x, mut y, mut cluster) = (Vec::new(), Vec::new(), Vec::new());
        let mut test = Vec::new();
        for k in 0..CLUSTERS {
            let points = draw_points(directions[k], k, POINTS, seed, Purpose::Points);
            for user in 0..users {
                let mut order: Vec<usize> = (0..2 * POINTS).collect();
                order.shuffle(&mut stream(seed, Purpose::PointsOfUsers, k * users + user));
                for &row in &order[..rows] {
                    x.extend_from_slice(points.x.row(row));
                    y.push(points.y[row]);
                }
                cluster.push(k);
            }
            test.push(draw_points(directions[k], k, TEST_POINTS, seed, Purpose::TestPoints));
        }
        let offsets = (0..=cluster.len()).map(|i| i * rows).collect();
        let weight = vec![1.0; y.len()];
        Ok(Users { data: Dataset::new(offsets, Matrix::from_rows(3, x), y, weight)?, cluster, test })
    }

    /// The problem of the paper: squared hinge, every pair of users coupled.
    pub fn problem(&self, penalty: Box<dyn Penalty>, lambda: f64) -> Result<Problem, Error> {
        let loss = Family::SquaredHinge.build(self.data.clone(), &options())?;
        Ok(Problem::build(complete(self.cluster.len())?, loss, penalty, lambda)?)
    }

    /// Share of the test rows of the user's cluster that are on the right side, mean over users.
    pub fn accuracy(&self, w: &Matrix) -> f64 {
        let right = |user: usize| {
            let Points { x, y } = &self.test[self.cluster[user]];
            let hits = (0..y.len()).filter(|&row| dot(x.row(row), w.row(user)) * y[row] > 0.0).count();
            hits as f64 / y.len() as f64
        };
        (0..w.rows()).map(right).sum::<f64>() / w.rows() as f64
    }

    /// Mean Euclidean distance between the models of two users of one cluster.
    pub fn distance_within(&self, w: &Matrix) -> f64 {
        let (mut sum, mut pairs) = (0.0, 0.0);
        for i in 0..w.rows() {
            for j in (0..i).filter(|&j| self.cluster[i] == self.cluster[j]) {
                sum += w.row(i).iter().zip(w.row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
                pairs += 1.0;
            }
        }
        sum / pairs
    }
}

/// `(c/2) |w|^2`, sparing the bias.
pub fn options() -> LossOptions {
    LossOptions { ridge: C / 2.0, spare_last: true, ..LossOptions::default() }
}

fn draw_points(degrees: f64, cluster: usize, count: usize, seed: u64, purpose: Purpose) -> Points {
    let mut rng = stream(seed, purpose, cluster);
    let (sin, cos) = degrees.to_radians().sin_cos();
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for label in [1.0, -1.0] {
        for _ in 0..count {
            // Uniform in the unit disc, then stretched and moved along the direction of the cluster.
            let (radius, angle) = (rng.random::<f64>().sqrt(), TAU * rng.random::<f64>());
            let (along, across) = (label * DISTANCE + LONG * radius * angle.cos(), SHORT * radius * angle.sin());
            x.extend([along * cos - across * sin, along * sin + across * cos, 1.0]);
            y.push(label);
        }
    }
    Points { x: Matrix::from_rows(3, x), y }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_in_their_ellipses_uniformly() {
        let points = draw_points(EVEN[1], 1, 20_000, 3, Purpose::TestPoints);
        let (sin, cos) = EVEN[1].to_radians().sin_cos();
        let mut inside_half = 0.0;
        for (row, label) in points.y.iter().enumerate() {
            let (px, py) = (points.x.row(row)[0], points.x.row(row)[1]);
            let (along, across) = (px * cos + py * sin - label * DISTANCE, -px * sin + py * cos);
            let r2 = (along / LONG).powi(2) + (across / SHORT).powi(2);
            assert!(r2 <= 1.0 + 1e-12);
            inside_half += f64::from(r2 <= 0.5) / points.y.len() as f64;
        }
        // Half of the area holds half of the points.
        assert!((inside_half - 0.5).abs() < 0.02, "{inside_half}");
    }

    #[test]
    fn users_draw_without_replacement_from_their_own_cluster() {
        let users = Users::draw(&EVEN, 4, 10, 1).unwrap();
        assert_eq!((users.data.nodes(), users.data.len(), users.cluster[11]), (12, 120, 2));
        for user in 0..12 {
            let mut rows: Vec<_> = users.data.rows(user).map(|r| users.data.x(r).to_vec()).collect();
            rows.sort_by(|a, b| a[0].total_cmp(&b[0]));
            assert!(rows.windows(2).all(|pair| pair[0] != pair[1]));
        }
    }

    #[test]
    fn the_line_between_the_ellipses_has_the_accuracy_of_its_geometry() {
        let users = Users::draw(&UNEVEN, 1, 10, 0).unwrap();
        let direction = |k: usize| UNEVEN[k].to_radians().sin_cos();
        let w = (0..3).flat_map(|k| [direction(k).1, direction(k).0, 0.0]).collect();
        // The part of a disc beyond the chord at distance t of the centre.
        let t: f64 = DISTANCE / LONG;
        let wrong = (t.acos() - t * (1.0 - t * t).sqrt()) / std::f64::consts::PI;
        assert!((users.accuracy(&Matrix::from_rows(3, w)) - (1.0 - wrong)).abs() < 0.02);
    }
}
