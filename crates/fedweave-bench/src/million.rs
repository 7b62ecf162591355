//! A network lasso of a million nodes, made in memory: as files it would be some gigabytes.

use anyhow::Result;
use fedweave::graph::k_nearest;
use fedweave::loss::{Family, LossOptions};
use fedweave::matrix::dot;
use fedweave::penalty::Norm2;
use fedweave::{Dataset, Graph, Matrix, Problem};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// The name it has among the problems.
pub const NAME: &str = "nl_n1000000_d10";

const NODES: usize = 1_000_000;
const DIM: usize = 10;
const ROWS: usize = 20;
const NEIGHBOURS: usize = 6;
const NOISE: f64 = 0.3;
const LAMBDA: f64 = 0.5;
const SEED: u64 = 16;

/// The problem of the benchmark.
pub fn problem() -> Result<Problem> {
    network_lasso(NODES)
}

/// Points in the unit square joined with their nearest; every quadrant has a true model.
fn network_lasso(nodes: usize) -> Result<Problem> {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let points = Matrix::from_rows(2, (0..2 * nodes).map(|_| rng.random::<f64>()).collect());
    let graph = weighted(&k_nearest(&points, NEIGHBOURS)?, &mut rng)?;
    let models: Vec<Vec<f64>> = (0..4).map(|_| normals(&mut rng, DIM).collect()).collect();
    let x: Vec<f64> = normals(&mut rng, nodes * ROWS * DIM).collect();
    let quadrant = |node: usize| 2 * usize::from(points.row(node)[0] > 0.5) + usize::from(points.row(node)[1] > 0.5);
    let label = |(row, x): (usize, &[f64])| dot(x, &models[quadrant(row / ROWS)]) + NOISE * draw(&mut rng);
    let y: Vec<f64> = x.chunks_exact(DIM).enumerate().map(label).collect();
    let offsets = (0..=nodes).map(|node| node * ROWS).collect();
    let data = Dataset::new(offsets, Matrix::from_rows(DIM, x), y, vec![1.0; nodes * ROWS])?;
    let loss = Family::Squared.build(data, &LossOptions::default())?;
    Ok(Problem::build(graph, loss, Box::new(Norm2), LAMBDA)?)
}

fn draw(rng: &mut ChaCha8Rng) -> f64 {
    rng.sample(StandardNormal)
}

fn normals(rng: &mut ChaCha8Rng, count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(|_| draw(rng))
}

/// The same edges with weights between 0.5 and 1.5.
fn weighted(graph: &Graph, rng: &mut ChaCha8Rng) -> Result<Graph> {
    let weigh = |e: usize| {
        let (i, j) = graph.nodes_of(e);
        (i, j, rng.random_range(0.5..1.5))
    };
    let edges: Vec<_> = (0..graph.edges()).map(weigh).collect();
    Ok(Graph::new(graph.nodes(), &edges)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_problem_every_time() {
        let (a, b) = (network_lasso(50).unwrap(), network_lasso(50).unwrap());
        assert_eq!((a.nodes(), a.dim()), (50, DIM));
        let w = Matrix::from_rows(DIM, vec![1.0; 50 * DIM]);
        assert_eq!(a.objective(&w), b.objective(&w));
        assert!(a.graph().weights().iter().all(|weight| (0.5..1.5).contains(weight)));
    }
}
