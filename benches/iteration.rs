//! Nanoseconds per node and per edge of one primal-dual iteration, and the share of this machine's copy bandwidth it
//! reaches: 100,000 nodes in the plane, 8 nearest neighbours, 10 features, 10 rows a node.
//!
//! `cargo bench --bench iteration [-- NODES]`

use std::hint::black_box;
use std::time::Instant;

use fedweave::loss::{Family, LossOptions};
use fedweave::penalty::{Norm1, Norm2, Penalty, SquaredNorm};
use fedweave::solve::PrimalDual;
use fedweave::synthetic::{Network, Options, generate};
use fedweave::{Matrix, Problem};
use rayon::prelude::*;

fn main() {
    let nodes = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(100_000);
    let bandwidth = copy_bandwidth();
    println!("copy bandwidth: {:.1} GB/s read and written, {} threads", bandwidth / 1e9, rayon::current_num_threads());
    for (family, penalty) in [
        (Family::Squared, Box::new(Norm2) as Box<dyn Penalty>),
        (Family::Squared, Box::new(Norm1)),
        (Family::Squared, Box::new(SquaredNorm)),
        (Family::Point, Box::new(Norm2)),
    ] {
        measure(nodes, family, penalty, bandwidth);
    }
}

fn measure(nodes: usize, family: Family, penalty: Box<dyn Penalty>, bandwidth: f64) {
    let network = Network::Geometric { neighbours: 8 };
    let made = generate(&Options { network, nodes, clusters: 4, dim: 10, rows: 10, ..Options::default() })
        .expect("valid options");
    let name = format!("{family} + {}", penalty.name());
    let loss = family.build(made.data, &LossOptions::default()).expect("valid data");
    let problem = Problem::build(made.graph, loss, penalty, 0.1).expect("parts that fit");
    let (d, edges) = (problem.dim(), problem.graph().edges());
    let mut method = PrimalDual::new(&problem, &Matrix::zeros(nodes, d), &Matrix::zeros(edges, d), 1.0, 1.8, false);
    let per_node = best_of(30, || method.update_nodes()) / nodes as f64;
    let per_edge = best_of(30, || method.update_edges()) / edges as f64;
    let whole = best_of(30, || method.iterate());
    let traffic = bytes_touched(nodes, edges, d, family == Family::Squared);
    println!(
        "{name:18} {:6.1} ns/node  {:6.1} ns/edge  {:7.2} ms/iteration  {:4.1} GB/s = {:3.0} % of copy bandwidth",
        per_node * 1e9,
        per_edge * 1e9,
        whole * 1e3,
        traffic / whole / 1e9,
        100.0 * traffic / whole / bandwidth,
    );
}

/// What one iteration must read and write: flows twice by nodes, once read and once written by edges; models and
/// over-relaxed models; factors; the graph. Rows gathered from the other phase count once per use.
fn bytes_touched(nodes: usize, edges: usize, d: usize, factors: bool) -> f64 {
    let row = 8 * d;
    let node_phase = 2 * edges * (row + 16) + nodes * (4 * row + if factors { row + 8 * d * (d + 1) / 2 } else { 0 });
    let edge_phase = edges * (4 * row + 8 + 8);
    (node_phase + edge_phase) as f64
}

/// Seconds of the fastest of `times` calls.
fn best_of(times: usize, mut f: impl FnMut()) -> f64 {
    let seconds = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        f();
        start.elapsed().as_secs_f64()
    };
    (0..times).map(|_| seconds(&mut f)).fold(f64::INFINITY, f64::min)
}

/// Bytes per second that all cores together read and write when copying arrays much larger than the caches.
fn copy_bandwidth() -> f64 {
    let from = vec![1.0f64; 1 << 25];
    let mut to = vec![0.0f64; 1 << 25];
    let chunk = from.len() / (4 * rayon::current_num_threads());
    let seconds = best_of(10, || {
        to.par_chunks_mut(chunk).zip(from.par_chunks(chunk)).for_each(|(to, from)| to.copy_from_slice(from));
        black_box(&to);
    });
    (16 * from.len()) as f64 / seconds
}
