use super::*;
use crate::graph::Graph;
use crate::graph::partition::Partition;

/// Two clusters of nodes with two models, joined inside them; every way finds them, and pools their rows.
#[test]
fn planted_clusters_are_found_by_every_way() {
    let (n, m) = (20, 8);
    let mut rows = Vec::new();
    let mut random = stream(3, Purpose::LocalData, 0);
    let mut draw = || rand::RngExt::random::<f64>(&mut random) - 0.5;
    for i in 0..n {
        let slope = if i < n / 2 { 2.0 } else { -2.0 };
        for _ in 0..m {
            let x = draw();
            rows.push((i, x, slope * x + 0.1 * draw()));
        }
    }
    let x = Matrix::from_rows(2, rows.iter().flat_map(|(_, x, _)| [*x, 1.0]).collect());
    let offsets = (0..=n).map(|i| i * m).collect();
    let data = Dataset::new(offsets, x, rows.iter().map(|(.., y)| *y).collect(), vec![1.0; n * m]).unwrap();
    let mut edges: Vec<(usize, usize, f64)> = Vec::new();
    for i in 0..n {
        for j in i + 1..n {
            if (i < n / 2) == (j < n / 2) {
                edges.push((i, j, 1.0));
            }
        }
    }
    edges.push((0, n - 1, 0.1));
    let graph = Graph::new(n, &edges).unwrap();
    let options = LossOptions { ridge: 1e-3, spare_last: true, ..LossOptions::default() };
    let embedding = embedding(&graph, 4);
    let search = ClusterSearch { family: Family::Squared, options, embedding: &embedding, seed: 1 };
    let planted = Partition::of_labels(&(0..n).map(|i| i < n / 2).collect::<Vec<_>>());
    for how in Clustering::ALL {
        let found = Partition::of_labels(&search.find(how, 2, &data).unwrap());
        let same =
            (0..n).all(|i| (0..n).all(|j| (found.part(i) == found.part(j)) == (planted.part(i) == planted.part(j))));
        assert!(same, "{}", how.name());
        let w = search.models(how, 2, &data).unwrap();
        assert!((w.row(0)[0] - 2.0).abs() < 0.1 && (w.row(n - 1)[0] + 2.0).abs() < 0.1, "{}", how.name());
    }
    // More clusters than nodes are no reason to fail.
    assert!(search.find(Clustering::KMeans, 50, &data).is_ok());
}
