//! Stand-ins for `fedweave::graph::generate::{k_nearest, great_circle_points}`, by brute force.

use fedweave::{Graph, Matrix};

/// Joins every point with its `k` nearest in Euclidean distance; of two equally near, the one with the smaller index.
pub(super) fn nearest_graph(points: &Matrix, k: usize) -> fedweave::Result<Graph> {
    let mut edges = Vec::with_capacity(points.rows() * k);
    for i in 0..points.rows() {
        let mut others: Vec<(f64, usize)> =
            (0..points.rows()).filter(|&j| j != i).map(|j| (distance2(points.row(i), points.row(j)), j)).collect();
        let nearer = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        others.select_nth_unstable_by(k - 1, nearer);
        edges.extend(others[..k].iter().map(|&(_, j)| (i, j, 1.0)));
    }
    Graph::new(points.rows(), &edges)
}

/// Points on the unit sphere from latitude and longitude in degrees: chords order pairs as great circles do.
pub(super) fn unit_vectors(latlon: &Matrix) -> Matrix {
    let mut points = Matrix::zeros(latlon.rows(), 3);
    for i in 0..latlon.rows() {
        let (latitude, longitude) = (latlon.row(i)[0].to_radians(), latlon.row(i)[1].to_radians());
        let (z, r) = latitude.sin_cos();
        points.row_mut(i).copy_from_slice(&[r * longitude.cos(), r * longitude.sin(), z]);
    }
    points
}

fn distance2(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum()
}
