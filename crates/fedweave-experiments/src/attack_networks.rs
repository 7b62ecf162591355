//! Networks that are attacked: two of real datasets, one planted.

use fedweave::Graph;
use fedweave::matrix::{Matrix, dot};
use fedweave::split::{Part, Share, SplitSpec, split};
use fedweave::synthetic::{Network, Options, generate};
use fedweave::{Dataset, scaling::Scaling};

use crate::Error;
use crate::real_networks::RealNetwork;

/// Rows to train with, to choose by and to judge by; features are whitened, labels in deviations.
pub struct AttackedNetwork {
    /// For people.
    pub name: &'static str,
    pub graph: Graph,
    pub train: Dataset,
    pub validation: Dataset,
    pub test: Dataset,
    /// One deviation of the labels, in their units.
    pub unit: f64,
}

impl AttackedNetwork {
    /// All three, with rows drawn from a seed.
    pub fn all(seed: u64) -> Result<Vec<AttackedNetwork>, Error> {
        let real = [RealNetwork::hourly()?, RealNetwork::houses()?];
        let mut all = real.iter().map(|real| Self::real(real, seed)).collect::<Result<Vec<_>, _>>()?;
        all.push(Self::planted(seed)?);
        Ok(all)
    }

    /// Rows of a real network, with an intercept.
    pub fn real(real: &RealNetwork, seed: u64) -> Result<AttackedNetwork, Error> {
        let data = with_ones(&real.data)?;
        Self::cut(real.name, real.graph.clone(), &data, real.rows(), seed)
    }

    /// Four blocks of 25 nodes, each with a model of its own.
    fn planted(seed: u64) -> Result<AttackedNetwork, Error> {
        let network = Network::Blocks { p_in: 0.35, p_out: 0.01 };
        let options =
            Options { network, nodes: 100, clusters: 4, dim: 5, rows: 60, noise: 1.0, seed, ..Options::default() };
        let made = generate(&options)?;
        Self::cut("block model", made.graph, &with_ones(&made.data)?, [8, 8], seed)
    }

    fn cut(
        name: &'static str,
        graph: Graph,
        data: &Dataset,
        rows: [usize; 2],
        seed: u64,
    ) -> Result<AttackedNetwork, Error> {
        let [train, validation] = rows.map(Share::Rows);
        let spec = SplitSpec { train: Some(train), validation, seed, ..SplitSpec::default() };
        let part = split(data, None, &spec)?;
        let rows = |p| data.select(&part.mask(p));
        let scaling = Scaling::of(&rows(Part::Train), true);
        let root = root_of_moments(&scaling.apply(&rows(Part::Train)));
        let y = rows(Part::Train).y().to_vec();
        let mean = y.iter().sum::<f64>() / y.len() as f64;
        let unit = (y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / y.len() as f64).sqrt();
        let ready = |p| {
            let whitened = scaling.apply(&rows(p)).map_rows(|x| solve_lower(&root, x));
            whitened.map_labels(|y| (y - mean) / unit)
        };
        let [train, validation, test] = [Part::Train, Part::Validation, Part::Test].map(ready);
        Ok(AttackedNetwork { name, graph, train, validation, test, unit })
    }

    /// The graph without some nodes' edges.
    pub fn without(&self, nodes: &[usize]) -> Result<Graph, Error> {
        let keeps = |(i, j): (usize, usize)| !nodes.contains(&i) && !nodes.contains(&j);
        let kept = (0..self.graph.edges()).filter(|&e| keeps(self.graph.nodes_of(e)));
        let edges: Vec<_> =
            kept.map(|e| (self.graph.nodes_of(e).0, self.graph.nodes_of(e).1, self.graph.weight(e))).collect();
        Ok(Graph::new(self.graph.nodes(), &edges)?)
    }
}

fn with_ones(data: &Dataset) -> Result<Dataset, Error> {
    let x = (0..data.len()).flat_map(|row| data.x(row).iter().copied().chain([1.0])).collect();
    let offsets = (0..data.nodes()).map(|i| data.rows(i).start).chain([data.len()]).collect();
    Ok(Dataset::new(offsets, Matrix::from_rows(data.dim() + 1, x), data.y().to_vec(), vec![1.0; data.len()])?)
}

/// The Cholesky factor of the mean of `x x'`, row by row, a little above what is singular.
fn root_of_moments(data: &Dataset) -> Vec<Vec<f64>> {
    let (d, n) = (data.dim(), data.len().max(1) as f64);
    let moment = |i: usize, j: usize| (0..data.len()).map(|r| data.x(r)[i] * data.x(r)[j]).sum::<f64>() / n;
    let mut root = vec![vec![0.0; d]; d];
    for i in 0..d {
        for j in 0..=i {
            let rest = moment(i, j) - dot(&root[i][..j], &root[j][..j]);
            root[i][j] = if i == j { (rest + 1e-6).max(1e-6).sqrt() } else { rest / root[j][j] };
        }
    }
    root
}

/// `L^-1 x`.
fn solve_lower(root: &[Vec<f64>], x: &[f64]) -> Vec<f64> {
    let mut solved = Vec::with_capacity(x.len());
    for (i, x) in x.iter().enumerate() {
        solved.push((x - dot(&root[i][..i], &solved)) / root[i][i]);
    }
    solved
}
