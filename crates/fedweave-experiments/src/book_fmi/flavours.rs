//! The entries about clusters of places, a graph from gradients, and neighbours of places drawn at random.

use fedweave::graph::nearest::k_nearest;
use fedweave::graph::partition::Partition;
use fedweave::matrix::{axpy, dot};
use fedweave::penalty::SquaredNorm;
use fedweave::solve::{FedGd, Method};
use fedweave::{Dataset, Matrix};

use super::k_means::k_means;
use super::legacy_random::LegacyRandom;
use super::stations::Stations;
use super::{compare, error, same};
use crate::measure::regression;
use crate::{Error, Outcome};

const CLUSTERS: usize = 10;
const SEED: u32 = 4740;
/// Rows of a station that was never silent.
const HOURS: usize = 96;
/// Squared residuals below this share are rounding.
const ROUNDING: f64 = 1e-30;
const STEPS_MAX: usize = 100;

/// h-clust-coord, h-clust-coord-203: the mean of a cluster of places predicts its rows.
pub fn clusters_of_places(stations: &Stations, found: &mut Outcome) -> Result<(), Error> {
    let all: Vec<usize> = (0..stations.data.nodes()).collect();
    let full: Vec<usize> = all.iter().copied().filter(|&i| stations.data.rows(i).len() == HOURS).collect();
    let labels = clustered(stations, &all);
    compare(
        found,
        "h-clust-coord",
        "error of cluster means",
        36.41977783638262,
        means_error(stations, &all, &labels),
        1e-9,
    );
    let (entry, labels) = ("h-clust-coord-203", clustered(stations, &full));
    same(found, entry, "stations", 203, full.len());
    compare(found, entry, "error of cluster means", 36.81079174868904, means_error(stations, &full, &labels), 1e-9);
    let with_27: Vec<usize> = (0..full.len()).filter(|&i| labels[i] == labels[27]).collect();
    let printed = vec![27, 39, 40, 43, 56, 72, 83, 88, 100, 110, 114, 118];
    same(found, entry, "cluster of node 27", printed, with_27);
    Ok(())
}

fn clustered(stations: &Stations, nodes: &[usize]) -> Vec<usize> {
    let places = nodes.iter().flat_map(|&i| stations.places.row(i).to_vec()).collect();
    k_means(&Matrix::from_rows(2, places), CLUSTERS, SEED)
}

/// The mean squared error, over rows, of the mean of the rows of a cluster.
fn means_error(stations: &Stations, nodes: &[usize], labels: &[usize]) -> f64 {
    let (mut sums, mut counts) = ([0.0; CLUSTERS], [0.0; CLUSTERS]);
    for (&i, &c) in nodes.iter().zip(labels) {
        sums[c] += stations.data.labels(i).iter().sum::<f64>();
        counts[c] += stations.data.labels(i).len() as f64;
    }
    let of = |(&i, &c): (&usize, &usize)| {
        stations.data.labels(i).iter().map(|y| (y - sums[c] / counts[c]).powi(2)).sum::<f64>()
    };
    nodes.iter().zip(labels).map(of).sum::<f64>() / counts.iter().sum::<f64>()
}

/// h-graph-grad: stations joined with the one whose gradient at a common model is nearest.
pub fn graph_from_gradients(stations: &Stations, found: &mut Outcome) -> Result<(), Error> {
    let entry = "h-graph-grad";
    let w = least_squares(&stations.data);
    let printed = [-116.155415, -43.2725273, -0.0763178505, 130.767701, -112.033678, -3.83299484, 0.0];
    for (j, (printed, ours)) in printed.into_iter().zip(&w).enumerate() {
        compare(found, entry, &format!("coefficient {j} of the common model"), printed, *ours, 1e-8);
    }
    let problem = regression(&k_nearest(&stations.places, 1)?, &stations.data, Box::new(SquaredNorm), 1.0)?;
    let mut gradients = Matrix::zeros(stations.data.nodes(), w.len());
    (0..gradients.rows()).for_each(|i| problem.loss().gradient(i, &w, gradients.row_mut(i)));
    let graph = |k| k_nearest(&gradients, k);
    let connected = |k: usize| graph(k).is_ok_and(|g| Partition::components(&g).len() == 1);
    same(found, entry, "connected from k", Some(3), (1..20).find(|&k| connected(k)));
    same(found, entry, "edges for k = 1", 148, graph(1)?.edges());
    let (train, validation) = stations.split("rs4740");
    let problem = regression(&graph(1)?, &train, Box::new(SquaredNorm), 0.5)?;
    let mut method = FedGd::new(&problem, Some(0.1))?;
    (0..1000).for_each(|_| method.round());
    compare(found, entry, "train error", 19.830983360524744, error(&train, method.models())?, 1e-9);
    compare(found, entry, "validation error", 20.371450969146064, error(&validation, method.models())?, 1e-9);
    Ok(())
}

/// The shortest coefficients of one least-squares fit with an intercept to all rows: year and month go together here.
fn least_squares(data: &Dataset) -> Vec<f64> {
    let (m, d) = (data.len(), data.dim());
    let mean = |f: &dyn Fn(usize) -> f64| (0..m).map(f).sum::<f64>() / m as f64;
    let centre: Vec<f64> = (0..d).map(|j| mean(&|r| data.x(r)[j])).collect();
    let level = mean(&|r| data.y()[r]);
    let x = |r: usize, j: usize| data.x(r)[j] - centre[j];
    let gram: Vec<f64> = (0..d * d).map(|k| mean(&|r| x(r, k / d) * x(r, k % d))).collect();
    let right: Vec<f64> = (0..d).map(|j| mean(&|r| x(r, j) * (data.y()[r] - level))).collect();
    // Conjugate gradients from zero never leave the space of the rows, where the shortest solution is.
    let (mut w, mut left) = (vec![0.0; d], right);
    let (mut along, mut size) = (left.clone(), dot(&left, &left));
    let stop = ROUNDING * size;
    for _ in 0..STEPS_MAX {
        if size <= stop {
            break;
        }
        let product: Vec<f64> = gram.chunks_exact(d).map(|row| dot(row, &along)).collect();
        let length = size / dot(&along, &product);
        axpy(length, &along, &mut w);
        axpy(-length, &product, &mut left);
        let next = dot(&left, &left);
        along.iter_mut().zip(&left).for_each(|(a, r)| *a = r + next / size * *a);
        size = next;
    }
    w
}

/// synth-geo: the mean of its neighbours predicts the mean of a place.
pub fn places_at_random(found: &mut Outcome) -> Result<(), Error> {
    const PLACES: usize = 10;
    let mut random = LegacyRandom::new(42);
    let mut uniform =
        |low: f64, high: f64| -> Vec<f64> { (0..PLACES).map(|_| low + (high - low) * random.fraction()).collect() };
    let (lat, lon, mean, deviation) =
        (uniform(60.0, 65.0), uniform(24.0, 30.0), uniform(-10.0, 20.0), uniform(1.0, 5.0));
    let mut sample = |i: usize| (0..100).map(|_| mean[i] + deviation[i] * random.normal()).sum::<f64>() / 100.0;
    let means: Vec<f64> = (0..PLACES).map(&mut sample).collect();
    let places = lat.iter().zip(&lon).flat_map(|(lat, lon)| [*lat, *lon]).collect();
    let graph = k_nearest(&Matrix::from_rows(2, places), 5)?;
    let degrees: Vec<usize> = (0..PLACES).map(|i| graph.degree(i)).collect();
    same(found, "synth-geo", "degrees", vec![5, 5, 5, 9, 5, 6, 5, 5, 8, 7], degrees);
    let printed =
        [-7.107389, 6.848141, 1.432471, 0.966413, 2.637288, -12.469832, 11.270813, -6.606044, -8.270796, 12.844463];
    for (i, printed) in printed.into_iter().enumerate() {
        let around = graph.ends(i).iter().map(|end| means[end.neighbour as usize]).sum::<f64>();
        let ours = around / graph.degree(i) as f64 - means[i];
        // Six decimals are printed.
        compare(found, "synth-geo", &format!("error of place {i}"), printed, ours, 5.1e-7 / f64::abs(printed));
    }
    Ok(())
}
