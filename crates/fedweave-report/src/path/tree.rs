//! The merge tree as blocks: at every lambda one block for each cluster, and the clusters too small to be told apart
//! together, each with a height and a thickness in percent of the drawing. Nothing assumes that clusters only merge.

use super::{Path, PathPoint};
use crate::network::COLOURS;

/// More branches than this beside each other cannot be told apart.
const BRANCHES_MAX: usize = 36;
/// The whole network as a branch, in percent.
const TRUNK: f64 = 22.0;
/// How much of its room a branch fills, and how thin it may be, in percent.
const FILL: f64 = 0.7;
const REST_FILL: f64 = 0.94;
const THINNEST: f64 = 0.3;
/// Room between branches that would overlap, in percent.
const GAP: f64 = 0.4;

/// Some nodes at one lambda: a cluster, or small clusters together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    /// Its nodes as places in the order of the leaves, ascending.
    pub(crate) leaves: Vec<usize>,
    /// Its number among the clusters; `None`: small clusters together.
    pub(crate) cluster: Option<usize>,
    /// The colour, `COLOURS` for grey.
    pub(crate) colour: usize,
    /// The middle and the thickness, in percent of the height.
    pub(crate) middle: f64,
    pub(crate) thick: f64,
}

/// The blocks at every lambda, from the top of the drawing down.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    pub(crate) columns: Vec<Vec<Block>>,
    /// Clusters with fewer nodes are drawn together.
    pub(crate) threshold: usize,
}

impl Tree {
    /// The tree of a path; `order` is the order of the leaves, `colours` those of the clusters at every point.
    pub(crate) fn grow(path: &Path, order: &[usize], colours: &[Vec<usize>]) -> Self {
        let threshold = threshold(path);
        let room = Room::new(path, order, threshold);
        let column = |(point, colours): (&PathPoint, &Vec<usize>)| {
            let mut blocks = blocks(point, order, colours, threshold);
            blocks.iter_mut().for_each(|block| room.place(block));
            blocks.retain(|block| block.cluster.is_some() || block.thick >= THINNEST);
            spread(&mut blocks);
            blocks
        };
        Tree { columns: path.points.iter().zip(colours).map(column).collect(), threshold }
    }
}

/// The smallest size such that no lambda has too many clusters of at least that size.
fn threshold(path: &Path) -> usize {
    let too_small = |point: &PathPoint| {
        let mut sizes = point.sizes();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes.get(BRANCHES_MAX).map_or(1, |size| size + 1)
    };
    path.points.iter().map(too_small).max().unwrap_or(1)
}

/// The large clusters, and the others wherever they lie next to each other.
fn blocks(point: &PathPoint, order: &[usize], colours: &[usize], threshold: usize) -> Vec<Block> {
    let sizes = point.sizes();
    let block = |cluster, colour| Block { leaves: Vec::new(), cluster, colour, middle: 0.0, thick: 0.0 };
    let mut large: Vec<Block> = (0..sizes.len()).map(|k| block(Some(k), colours[k])).collect();
    let mut small: Vec<Block> = Vec::new();
    let mut inside = false;
    for (leaf, &node) in order.iter().enumerate() {
        let cluster = point.membership[node] as usize;
        let together = sizes[cluster] < threshold;
        if together && !inside {
            small.push(block(None, COLOURS));
        }
        let last = small.last_mut().filter(|_| together);
        last.unwrap_or(&mut large[cluster]).leaves.push(leaf);
        inside = together;
    }
    large.into_iter().filter(|block| !block.leaves.is_empty()).chain(small).collect()
}

/// The room of every leaf. Nodes of small branches get more of it, so that small branches are seen beside large ones.
struct Room {
    /// Where each leaf begins, and the end of the last, in percent.
    starts: Vec<f64>,
}

impl Room {
    fn new(path: &Path, order: &[usize], threshold: usize) -> Self {
        let nodes = order.len();
        let mut smallest = vec![nodes; nodes];
        for point in &path.points {
            let sizes = point.sizes();
            for (least, &cluster) in smallest.iter_mut().zip(&point.membership) {
                let size = sizes[cluster as usize];
                *least = if size >= threshold { size.min(*least) } else { *least };
            }
        }
        let mut starts = vec![0.0];
        for &node in order {
            starts.push(starts[starts.len() - 1] + 1.0 / (smallest[node] as f64).sqrt());
        }
        let whole = starts[nodes].max(f64::MIN_POSITIVE);
        starts.iter_mut().for_each(|start| *start *= 100.0 / whole);
        Room { starts }
    }

    fn place(&self, block: &mut Block) {
        let (mut room, mut moment) = (0.0, 0.0);
        for &leaf in &block.leaves {
            let (low, high) = (self.starts[leaf], self.starts[leaf + 1]);
            room += high - low;
            moment += 0.5 * (high - low) * (high + low);
        }
        let share = block.leaves.len() as f64 / (self.starts.len() - 1) as f64;
        block.middle = moment / room;
        block.thick = match block.cluster {
            Some(_) => (FILL * room).min(TRUNK * share.sqrt()).max(THINNEST),
            // Many small things side by side, not one branch.
            None => REST_FILL * room,
        };
    }
}

/// Sorts the blocks by height and pushes apart those that overlap.
fn spread(blocks: &mut [Block]) {
    blocks.sort_by(|a, b| a.middle.total_cmp(&b.middle));
    let mut edge = 0.0f64;
    for block in blocks.iter_mut() {
        block.middle = block.middle.max(edge + 0.5 * block.thick);
        edge = block.middle + 0.5 * block.thick + GAP.min(block.thick);
    }
    let mut edge = 100.0f64;
    for block in blocks.iter_mut().rev() {
        block.middle = block.middle.min(edge - 0.5 * block.thick);
        edge = block.middle - 0.5 * block.thick - GAP.min(block.thick);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(memberships: &[Vec<u32>]) -> Path {
        let point = |membership: &Vec<u32>| PathPoint {
            clusters: 1 + membership.iter().max().map_or(0, |&k| k as usize),
            membership: membership.clone(),
            ..PathPoint::default()
        };
        Path { points: memberships.iter().map(point).collect(), chosen: 0 }
    }

    fn grow(path: &Path) -> Tree {
        let nodes = path.points[0].membership.len();
        let colours: Vec<Vec<usize>> = path.points.iter().map(|point| vec![0; point.clusters]).collect();
        Tree::grow(path, &(0..nodes).collect::<Vec<_>>(), &colours)
    }

    #[test]
    fn every_cluster_of_a_small_network_is_a_branch() {
        let tree = grow(&path(&[vec![0, 1, 2, 3], vec![0, 0, 1, 1], vec![0; 4]]));
        assert_eq!((tree.threshold, tree.columns.iter().map(Vec::len).collect::<Vec<_>>()), (1, vec![4, 2, 1]));
        let trunk = &tree.columns[2][0];
        assert!((trunk.middle - 50.0).abs() < 1e-9 && trunk.thick > tree.columns[0][0].thick);
    }

    #[test]
    fn blocks_never_overlap_and_stay_inside() {
        let scattered: Vec<u32> = (0..200).map(|i| i * 7 % 30).collect();
        let tree = grow(&path(&[(0..200).collect(), scattered, vec![0; 200]]));
        for column in &tree.columns {
            assert!(column.iter().all(|b| b.middle >= 0.5 * b.thick - 1e-9 && b.middle + 0.5 * b.thick < 100.0 + 1e-9));
            let apart =
                |pair: &[Block]| pair[1].middle - pair[0].middle >= 0.5 * (pair[0].thick + pair[1].thick) - 1e-9;
            assert!(column.windows(2).all(apart));
        }
    }

    #[test]
    fn many_small_clusters_become_one_block() {
        let tree = grow(&path(&[(0..100).collect(), vec![0; 100]]));
        assert_eq!(tree.threshold, 2);
        assert_eq!((tree.columns[0].len(), tree.columns[0][0].cluster), (1, None));
        assert_eq!(tree.columns[0][0].leaves.len(), 100);
    }
}
