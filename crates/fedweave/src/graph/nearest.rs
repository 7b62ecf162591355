//! Nearest-neighbour graphs: nodes that are close in space may learn from each other.

use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::Graph;
use super::kd_tree::{KdTree, Neighbour};
use crate::error::{Error, Result};
use crate::matrix::Matrix;

/// Joins every node with its `k` nearest neighbours in Euclidean distance, weight 1. An edge is there if either of its
/// nodes counts the other among its `k` nearest, so degrees vary but none is below `k`. Of equally distant points
/// the one with the smaller index is nearer. Exact in any dimension, fast in a small one.
pub fn k_nearest(points: &Matrix, k: usize) -> Result<Graph> {
    let n = points.rows();
    if k == 0 || k >= n {
        let needs = "at least 1 and below the number of nodes";
        return Err(Error::Parameter { name: "k", value: k as f64, needs });
    }
    check_finite(points)?;
    let tree = KdTree::new(points);
    let edges_of = |nearest: &mut BinaryHeap<Neighbour>, &node: &u32| {
        tree.nearest(points.row(node as usize), node, k, nearest);
        nearest.drain().map(|to| (node as usize, to.index as usize, 1.0)).collect::<Vec<_>>()
    };
    let edges: Vec<Vec<_>> = tree.order().par_iter().map_init(BinaryHeap::new, edges_of).collect();
    Graph::new(n, &edges.concat())
}

/// Unit vectors in 3-d for places on a globe, given as latitude and longitude in degrees. The straight line between
/// two such points grows with the great circle between them, so their nearest neighbours are the geographic ones,
/// across the date line and around the poles too. Any longitude is taken modulo 360.
pub fn great_circle_points(latlon: &Matrix) -> Result<Matrix> {
    if latlon.cols() != 2 {
        let what = "columns of latitude and longitude";
        return Err(Error::Size { what, expected: 2, found: latlon.cols() });
    }
    let mut points = Matrix::zeros(latlon.rows(), 3);
    for i in 0..latlon.rows() {
        let (latitude, longitude) = (latlon.row(i)[0], latlon.row(i)[1]);
        if !(-90.0..=90.0).contains(&latitude) {
            return Err(Error::Parameter { name: "latitude", value: latitude, needs: "between -90 and 90 degrees" });
        }
        if !longitude.is_finite() {
            return Err(Error::Parameter { name: "longitude", value: longitude, needs: "a finite number of degrees" });
        }
        points.row_mut(i).copy_from_slice(&unit_vector(latitude, longitude));
    }
    Ok(points)
}

/// One place, one vector: 180 and -180 degrees agree to the last bit, and so do all longitudes at a pole.
fn unit_vector(latitude: f64, longitude: f64) -> [f64; 3] {
    let (sin_lon, cos_lon) = longitude.rem_euclid(360.0).to_radians().sin_cos();
    let (sin_lat, cos_lat) = match latitude.abs() == 90.0 {
        true => (latitude.signum(), 0.0),
        false => latitude.to_radians().sin_cos(),
    };
    // Adding zero turns -0 into 0.
    [cos_lat * cos_lon + 0.0, cos_lat * sin_lon + 0.0, sin_lat]
}

fn check_finite(points: &Matrix) -> Result<()> {
    match points.as_slice().iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(at) => {
            Err(Error::NotFinite { row: at / points.cols(), what: format!("coordinate {}", at % points.cols()) })
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::random::{Purpose, stream};

    /// The slow twin: all pairs, sorted by (distance, index).
    fn brute_force(points: &Matrix, k: usize) -> Graph {
        let n = points.rows();
        let mut edges = Vec::new();
        for i in 0..n {
            let distance =
                |j: usize| -> f64 { points.row(i).iter().zip(points.row(j)).map(|(a, b)| (b - a) * (b - a)).sum() };
            let mut others: Vec<usize> = (0..n).filter(|&j| j != i).collect();
            others.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.cmp(&b)));
            edges.extend(others[..k].iter().map(|&j| (i, j, 1.0)));
        }
        Graph::new(n, &edges).unwrap()
    }

    fn random_points(n: usize, dim: usize, seed: u64, draw: impl Fn(f64) -> f64) -> Matrix {
        let mut rng = stream(seed, Purpose::Coordinates, 0);
        Matrix::from_rows(dim, (0..n * dim).map(|_| draw(rng.random())).collect())
    }

    #[test]
    fn agrees_with_brute_force_in_every_dimension() {
        for dim in 1..=6 {
            for (n, k) in [(2, 1), (11, 10), (12, 3), (300, 1), (300, 8), (300, 299)] {
                let points = random_points(n, dim, dim as u64, |u| u);
                assert_eq!(k_nearest(&points, k).unwrap(), brute_force(&points, k), "dim {dim}, n {n}, k {k}");
            }
        }
    }

    #[test]
    fn ties_go_to_the_smaller_index() {
        // Coordinates on a coarse lattice: most distances are ties and many points coincide.
        for seed in 0..20 {
            let points = random_points(200, 2, seed, |u| (u * 5.0).floor());
            assert_eq!(k_nearest(&points, 4).unwrap(), brute_force(&points, 4));
        }
        let points = Matrix::from_rows(1, vec![0.0, 1.0, -1.0, 2.0]);
        let neighbours = |g: &Graph, i| g.ends(i).iter().map(|e| e.neighbour).collect::<Vec<_>>();
        // Node 0 prefers 1 to 2, node 1 prefers 0 to 3; 2 and 3 have no choice.
        let graph = k_nearest(&points, 1).unwrap();
        assert_eq!((neighbours(&graph, 0), neighbours(&graph, 1)), (vec![1, 2], vec![0, 3]));
    }

    #[test]
    fn identical_points_link_to_the_first_ones() {
        let (n, k) = (100_000, 3);
        let graph = k_nearest(&Matrix::zeros(n, 2), k).unwrap();
        // Nodes 0..=k name each other, everyone else names 0..k.
        assert_eq!(graph.edges(), k * (k + 1) / 2 + (n - k - 1) * k);
        let few = Matrix::zeros(1_000, 3);
        assert_eq!(k_nearest(&few, 5).unwrap(), brute_force(&few, 5));
    }

    #[test]
    fn extreme_coordinates_do_not_confuse_the_bounds() {
        let points = random_points(200, 2, 1, |u| (u - 0.5) * 1e200);
        assert_eq!(k_nearest(&points, 3).unwrap(), brute_force(&points, 3));
    }

    #[test]
    fn too_few_or_too_many_neighbours_and_missing_coordinates_are_errors() {
        let points = random_points(5, 2, 0, |u| u);
        for k in [0, 5, 6] {
            assert!(matches!(k_nearest(&points, k), Err(Error::Parameter { name: "k", .. })));
        }
        assert!(k_nearest(&Matrix::zeros(0, 2), 1).is_err());
        let mut holed = points;
        holed.row_mut(3)[1] = f64::NAN;
        assert_eq!(k_nearest(&holed, 2), Err(Error::NotFinite { row: 3, what: "coordinate 1".into() }));
    }

    /// Great-circle distance by the haversine formula, independent of the 3-d vectors.
    fn haversine(a: &[f64], b: &[f64]) -> f64 {
        let half_sine = |x: f64| (x.to_radians() / 2.0).sin().powi(2);
        let h = half_sine(a[0] - b[0]) + a[0].to_radians().cos() * b[0].to_radians().cos() * half_sine(a[1] - b[1]);
        2.0 * h.sqrt().min(1.0).asin()
    }

    #[test]
    fn chords_are_monotone_in_great_circle_distance() {
        let mut places = random_points(60, 2, 4, |u| u);
        for i in 0..60 {
            let row = places.row_mut(i);
            (row[0], row[1]) = (180.0 * row[0] - 90.0, 360.0 * row[1] - 180.0);
        }
        let points = great_circle_points(&places).unwrap();
        for i in 0..60 {
            for j in 0..60 {
                let chord: f64 = points.row(i).iter().zip(points.row(j)).map(|(a, b)| (a - b) * (a - b)).sum();
                let arc = 2.0 * (chord.sqrt() / 2.0).asin();
                assert!((arc - haversine(places.row(i), places.row(j))).abs() < 1e-7);
            }
        }
    }

    #[test]
    fn neighbours_are_found_across_the_date_line_and_around_the_poles() {
        let nearest = |places: &[f64]| {
            let points = great_circle_points(&Matrix::from_rows(2, places.to_vec())).unwrap();
            let graph = k_nearest(&points, 1).unwrap();
            (0..graph.edges()).map(|e| graph.nodes_of(e)).collect::<Vec<_>>()
        };
        // Fiji and Samoa are neighbours, and so are two islands near the Greenwich meridian.
        assert_eq!(nearest(&[-17.7, 178.0, 0.0, 1.0, -13.8, -172.0, 0.0, -1.0]), [(0, 2), (1, 3)]);
        // Opposite longitudes next to the north pole are closer than equal longitudes far away.
        assert_eq!(nearest(&[89.0, 0.0, -89.0, 10.0, 88.5, 180.0, -89.0, -170.0]), [(0, 2), (1, 3)]);
    }

    #[test]
    fn one_place_has_one_vector() {
        let places = Matrix::from_rows(2, vec![90.0, 0.0, 90.0, 123.0, -90.0, 5.0, 12.0, 180.0, 12.0, -180.0]);
        let points = great_circle_points(&places).unwrap();
        assert_eq!(points.row(0), [0.0, 0.0, 1.0]);
        assert_eq!((points.row(1), points.row(2)), (points.row(0), &[0.0, 0.0, -1.0][..]));
        assert_eq!(points.row(3), points.row(4));
    }

    #[test]
    fn places_off_the_globe_are_errors() {
        for latitude in [90.5, -91.0, f64::NAN] {
            let place = Matrix::from_rows(2, vec![0.0, 0.0, latitude, 0.0]);
            assert!(matches!(great_circle_points(&place), Err(Error::Parameter { name: "latitude", .. })));
        }
        let place = Matrix::from_rows(2, vec![0.0, f64::INFINITY]);
        assert!(matches!(great_circle_points(&place), Err(Error::Parameter { name: "longitude", .. })));
        let wrong = Matrix::zeros(1, 3);
        assert!(matches!(great_circle_points(&wrong), Err(Error::Size { expected: 2, found: 3, .. })));
    }
}
