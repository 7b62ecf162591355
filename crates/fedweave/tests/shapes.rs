//! Rows of unusual shapes: mostly zero, or fewer than there are features.

use fedweave::features::{Features, SparseMatrix};
use fedweave::graph::Graph;
use fedweave::loss::{Family, LossOptions};
use fedweave::penalty::{Norm1, Norm2, Penalty, SquaredNorm};
use fedweave::random::{Purpose, stream};
use fedweave::solve::{Settings, Solution, Status};
use fedweave::{Dataset, Matrix, Problem};
use rand::RngExt;
use rand_distr::StandardNormal;

/// Rows of a tenth of the features, labelled by one of two models.
struct Rows {
    nodes: usize,
    cols: usize,
    x: Vec<f64>,
    score: Vec<f64>,
}

fn rows(seed: u64, nodes: usize, each: usize, cols: usize) -> Rows {
    let mut random = stream(seed, Purpose::LocalData, 0);
    let mut normal = || -> f64 { random.sample(StandardNormal) };
    let models: [Vec<f64>; 2] = std::array::from_fn(|_| (0..cols).map(|_| normal()).collect());
    let (mut x, mut score) = (Vec::new(), Vec::new());
    for r in 0..nodes * each {
        let row: Vec<f64> = (0..cols).map(|_| if normal() > 1.3 { normal() } else { 0.0 }).collect();
        let model = &models[usize::from(r / each >= nodes / 2)];
        score.push(row.iter().zip(model).map(|(x, w)| x * w).sum::<f64>() + 0.1 * normal());
        x.extend(row);
    }
    Rows { nodes, cols, x, score }
}

fn label(family: Family, score: f64) -> f64 {
    match family {
        Family::Logistic | Family::SquaredHinge => score.signum(),
        Family::Multinomial { classes } => ((score + 1.5).clamp(0.0, classes as f64 - 1.0)).floor(),
        Family::Poisson => (0.3 * score).exp().round().min(20.0),
        _ => score,
    }
}

impl Rows {
    fn dense(&self) -> Features {
        Matrix::from_rows(self.cols, self.x.clone()).into()
    }

    fn sparse(&self) -> Features {
        let mut sparse = SparseMatrix::new(self.cols);
        self.x.chunks_exact(self.cols).for_each(|row| sparse.push(row.iter().copied().enumerate()));
        sparse.into()
    }

    fn problem(&self, x: Features, family: Family, penalty: Box<dyn Penalty>, ridge: f64, lambda: f64) -> Problem {
        let (count, each) = (self.score.len(), self.score.len() / self.nodes);
        let y = self.score.iter().map(|s| label(family, *s)).collect();
        let offsets = (0..=self.nodes).map(|i| i * each).collect();
        let data = Dataset::new(offsets, x, y, vec![1.0; count]).unwrap();
        let loss = family.build(data, &LossOptions { ridge, ..Default::default() }).unwrap();
        let n = self.nodes;
        let edges: Vec<_> = (0..n).flat_map(|i| [(i, (i + 1) % n, 1.0), (i, (i + 3) % n, 0.5)]).collect();
        Problem::build(Graph::new(n, &edges).unwrap(), loss, penalty, lambda).unwrap()
    }
}

fn solved(problem: &Problem, tolerance: f64) -> Solution {
    problem.solve_with(&Settings { tolerance, ..Settings::default() })
}

/// The same answer from both kinds of rows, whatever the loss, with fewer rows than features and with more.
#[test]
fn sparse_rows_have_the_solution_of_dense_ones() {
    for family in Family::all(0.5, 0.3) {
        let family = if let Family::Multinomial { .. } = family { Family::Multinomial { classes: 3 } } else { family };
        for (seed, each, cols) in [(1, 5, 20), (2, 30, 12)] {
            let rows = rows(seed, 8, each, cols);
            let [dense, sparse] = [rows.dense(), rows.sparse()].map(|x| {
                let problem = rows.problem(x, family, Box::new(Norm2), 0.05, 0.05);
                solved(&problem, 1e-8)
            });
            assert_eq!((dense.status, sparse.status), (Status::Converged, Status::Converged), "{family}");
            assert!(dense.certified_gap.is_some() && sparse.certified_gap.is_some(), "{family} {cols}");
            let off = (dense.objective - sparse.objective).abs() / dense.objective.abs().max(1.0);
            assert!(off <= 1e-8, "{family}, {cols} features: {off:e}");
        }
    }
}

/// More features than rows in all clusters together, and no ridge for the squared loss: certified, with fused nodes.
#[test]
fn many_features_are_certified() {
    let rows = rows(3, 12, 20, 400);
    let multinomial = Family::Multinomial { classes: 3 };
    let cases: [(Family, Box<dyn Penalty>, f64); 5] = [
        (Family::Squared, Box::new(Norm2), 0.0),
        (Family::Squared, Box::new(Norm1), 0.0),
        (Family::Squared, Box::new(SquaredNorm), 0.0),
        (Family::Logistic, Box::new(Norm2), 0.01),
        (multinomial, Box::new(Norm2), 0.01),
    ];
    for (family, penalty, ridge) in cases {
        let name = format!("{family} {}", penalty.name());
        let problem = rows.problem(rows.sparse(), family, penalty, ridge, 0.1);
        let solution = solved(&problem, 1e-6);
        let gap = solution.certified_gap.map(|gap| gap / solution.objective.abs().max(1.0));
        assert_eq!(solution.status, Status::Converged, "{name}: {gap:?} of {}", solution.objective);
        assert!(gap.is_some_and(|gap| gap <= 1e-6), "{name}: {gap:?}");
    }
}
