//! Handwritten digits at the nodes of a network, as in section VI-C of the GTV paper: every cluster has two digits of its own, every
//! node some images of both, and nodes whose images look alike are joined.

use std::path::Path;

use fedweave::graph::divergence::{divergences, nearest_by_distance};
use fedweave::graph::tsne::{TsneOptions, tsne};
use fedweave::random::{Purpose, stream};
use fedweave::{Dataset, Graph, Matrix};
use fedweave_io::{Idx, Kind, Table};
use rand::seq::SliceRandom;

use crate::{Error, Setting};

const DIGITS: &[u8] = include_bytes!("../data/digits.csv.gz");
/// Points that t-SNE is asked to place, at most.
const EMBEDDED_MAX: usize = 4000;
/// Which nearest neighbour estimates divergences, and how many nodes a node is joined with.
const NEAREST: usize = 5;
const NEIGHBOURS: usize = 4;

/// Grey levels between 0 and 1, with labels.
pub struct Images {
    x: Matrix,
    label: Vec<u8>,
    /// Where they come from.
    pub source: String,
}

/// Images at nodes.
pub struct DigitNetwork {
    /// Training images; the label is the digit.
    pub train: Dataset,
    /// Validation images.
    pub validation: Dataset,
    /// The cluster of every node.
    pub cluster: Vec<usize>,
    /// Number of digits.
    pub classes: usize,
}

/// How many nodes and images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigitSizes {
    /// Pairs of digits: 0 and 1, 2 and 3, ...
    pub clusters: usize,
    /// Nodes of a cluster.
    pub nodes: usize,
    /// Training images of a node.
    pub train: usize,
    /// Validation images of a node.
    pub validation: usize,
}

impl Images {
    /// MNIST from the folder of `--data`, or the small digits that come with the program.
    pub fn load(setting: &Setting) -> Result<Self, Error> {
        match &setting.data {
            Some(folder) => Self::mnist(folder),
            None => Self::digits(),
        }
    }

    /// True for the small ones.
    pub fn are_small(&self) -> bool {
        self.x.cols() < 100
    }

    fn mnist(folder: &Path) -> Result<Self, Error> {
        let inside = folder.join("mnist");
        let folder = if inside.is_dir() { inside } else { folder.to_path_buf() };
        let images = Idx::read(&folder.join("train-images-idx3-ubyte.gz"))?;
        let label = Idx::read(&folder.join("train-labels-idx1-ubyte.gz"))?.bytes;
        let pixels: usize = images.sizes[1..].iter().product();
        if pixels == 0 || images.sizes[0] != label.len() {
            return Err(fedweave::Error::Size {
                what: "labels of images",
                expected: images.sizes[0],
                found: label.len(),
            }
            .into());
        }
        let x = Matrix::from_rows(pixels, images.bytes.iter().map(|b| f64::from(*b) / 255.0).collect());
        Ok(Images { x, label, source: "MNIST (training images)".into() })
    }

    fn digits() -> Result<Self, Error> {
        let table = Table::embedded("digits.csv.gz", DIGITS, |_| Kind::Number)?;
        let label = table.finite(table.find("label")?)?.values.iter().map(|v| *v as u8).collect();
        let pixels = (0..64).map(|k| table.find(&format!("px_{}_{}", k / 8, k % 8))).collect::<Result<Vec<_>, _>>()?;
        let columns = pixels.iter().map(|&c| Ok(table.finite(c)?.values.clone())).collect::<Result<Vec<_>, Error>>()?;
        let x = (0..table.rows()).flat_map(|r| columns.iter().map(move |c| c[r] / 16.0)).collect();
        let source = "the 8 x 8 digits that come with the program; --data DIR takes MNIST".into();
        Ok(Images { x: Matrix::from_rows(64, x), label, source })
    }

    /// Deals images to nodes, none twice: half of a node's images are of each of its digits.
    pub fn deal(&self, sizes: &DigitSizes, seed: u64) -> Result<DigitNetwork, Error> {
        let DigitSizes { clusters, nodes, train, validation } = *sizes;
        let (mut parts, mut cluster) = ([Vec::new(), Vec::new()], Vec::new());
        for c in 0..clusters {
            let mut piles = [2 * c, 2 * c + 1].map(|digit| {
                let mut pile: Vec<usize> = (0..self.label.len()).filter(|&r| self.label[r] == digit as u8).collect();
                pile.shuffle(&mut stream(seed, Purpose::Shuffle, digit));
                pile.into_iter()
            });
            for _ in 0..nodes {
                for (part, count) in parts.iter_mut().zip([train, validation]) {
                    let mut hand = Vec::with_capacity(count);
                    for k in 0..count {
                        let found = piles[k % 2].next();
                        hand.push(found.ok_or(fedweave::Error::Size {
                            what: "images of every digit, at least",
                            expected: nodes * (train + validation).div_ceil(2),
                            found: nodes * (train + validation) / 2,
                        })?);
                    }
                    part.push(hand);
                }
                cluster.push(c);
            }
        }
        let [train, validation] = parts.map(|hands| self.dataset(&hands));
        Ok(DigitNetwork { train: train?, validation: validation?, cluster, classes: 2 * clusters })
    }

    fn dataset(&self, hands: &[Vec<usize>]) -> Result<Dataset, Error> {
        let mut offsets = vec![0];
        hands.iter().for_each(|hand| offsets.push(offsets[offsets.len() - 1] + hand.len()));
        let rows = || hands.iter().flatten();
        let x = rows().flat_map(|&r| self.x.row(r).iter().copied()).collect();
        let y: Vec<f64> = rows().map(|&r| f64::from(self.label[r])).collect();
        let weight = vec![1.0; y.len()];
        Ok(Dataset::new(offsets, Matrix::from_rows(self.x.cols(), x), y, weight)?)
    }
}

impl DigitNetwork {
    /// The graph of section VI-C: images of all nodes are placed in the plane by t-SNE, the distance of two nodes is the
    /// divergence of their points, four nearest nodes are joined with weight `exp(-distance)`.
    pub fn graph(&self, seed: u64) -> Result<Graph, Error> {
        let (n, d) = (self.train.nodes(), self.train.dim());
        let each = (0..n).map(|i| self.train.rows(i).len()).min().unwrap_or(0).min(EMBEDDED_MAX / n.max(1));
        let x: Vec<f64> = (0..n).flat_map(|i| self.train.features(i)[..each * d].to_vec()).collect();
        let perplexity = 30.0f64.min((n * each) as f64 / 10.0);
        let z = tsne(&Matrix::from_rows(d, x), &TsneOptions { perplexity, seed, ..TsneOptions::default() })?;
        let of_node = |i: usize| Matrix::from_rows(2, z.as_slice()[2 * i * each..2 * (i + 1) * each].to_vec());
        let distances = divergences(&(0..n).map(of_node).collect::<Vec<_>>(), NEAREST)?;
        Ok(nearest_by_distance(&distances, NEIGHBOURS)?)
    }

    /// Share of the edges that join nodes of the same cluster.
    pub fn pure(&self, graph: &Graph) -> f64 {
        let inside = |e: &usize| {
            let (i, j) = graph.nodes_of(*e);
            self.cluster[i] == self.cluster[j]
        };
        (0..graph.edges()).filter(inside).count() as f64 / graph.edges().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_their_own_images_of_two_digits_and_are_joined_inside_their_cluster() {
        let images = Images::digits().unwrap();
        assert_eq!((images.x.rows(), images.x.cols()), (1797, 64));
        let sizes = DigitSizes { clusters: 2, nodes: 5, train: 48, validation: 20 };
        let network = images.deal(&sizes, 1).unwrap();
        assert_eq!((network.train.len(), network.validation.len(), network.classes), (480, 200, 4));
        for i in 0..10 {
            let digits = [2 * network.cluster[i], 2 * network.cluster[i] + 1].map(|d| d as f64);
            assert!(network.train.labels(i).iter().all(|y| digits.contains(y)));
        }
        let mut rows: Vec<Vec<u64>> =
            (0..480).map(|r| network.train.x(r).iter().map(|v| v.to_bits()).collect()).collect();
        rows.sort();
        rows.dedup();
        assert!(rows.len() > 470, "images are dealt once");
        let graph = network.graph(1).unwrap();
        assert!(network.pure(&graph) > 0.95, "{}", network.pure(&graph));
        assert!(images.deal(&DigitSizes { train: 500, ..sizes }, 1).is_err());
        let absent = Setting { data: Some("no/such/folder".into()), ..Setting::default() };
        assert!(Images::load(&absent).err().unwrap().to_string().contains("no such file"));
    }
}
