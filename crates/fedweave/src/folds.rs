//! Cross-validation: every row is held out once, by models that were trained without it.
//!
//! | rule | a fold holds out | it trains with |
//! |---|---|---|
//! | `Random` | a share of the rows of every node | all others |
//! | `Groups` | whole groups (dates, patients), the same at all nodes | all others |
//! | `Nodes` | all rows of some nodes, which then learn from their neighbours alone | all other nodes |
//! | `Forward` | the rows that come next at every node | the rows before them, never later ones |

use rand::seq::SliceRandom;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::random::{Purpose, stream};

/// What is held out together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FoldRule {
    /// Rows drawn separately at every node.
    #[default]
    Random,
    /// Whole groups of rows, the same at all nodes.
    Groups,
    /// Whole nodes.
    Nodes,
    /// The next rows of every node, in their order.
    Forward,
}

/// How to make folds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoldSpec {
    /// What is held out together.
    pub rule: FoldRule,
    /// Number of folds, at least 2.
    pub count: usize,
    /// Seed of the draws.
    pub seed: u64,
}

/// The block of a row that is never held out.
const ALWAYS_TRAINS: u32 = u32::MAX;

/// Which fold holds out which row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folds {
    block: Vec<u32>,
    count: usize,
    forward: bool,
}

impl Folds {
    /// Deals the rows of `data` out to folds; `groups` names the group of every row and is needed by [`FoldRule::Groups`].
    /// Fewer groups or nodes than folds make fewer folds.
    pub fn new(data: &Dataset, groups: Option<&[u32]>, spec: FoldSpec) -> Result<Folds> {
        if spec.count < 2 {
            return Err(Error::Parameter { name: "folds", value: spec.count as f64, needs: "at least 2" });
        }
        let (block, blocks) = match spec.rule {
            FoldRule::Random => (rows(data, spec), spec.count),
            FoldRule::Forward => (stretches(data, spec.count + 1), spec.count + 1),
            FoldRule::Nodes => dealt(&node_of_rows(data), spec),
            FoldRule::Groups => {
                let groups = groups.unwrap_or_default();
                if groups.len() != data.len() {
                    return Err(Error::Size { what: "groups of rows", expected: data.len(), found: groups.len() });
                }
                dealt(groups, spec)
            }
        };
        let forward = spec.rule == FoldRule::Forward;
        let folds = Folds { block, count: blocks - usize::from(forward), forward };
        match folds.count >= 2 && (0..data.len()).any(|row| folds.of(row).is_some()) {
            true => Ok(folds),
            false => Err(Error::Size { what: "rows or groups that can be held out in turn", expected: 2, found: 1 }),
        }
    }

    /// Folds as given: fold `k` holds out the rows marked `k`.
    pub fn given(fold_of_row: &[u32]) -> Folds {
        let count = fold_of_row.iter().max().map_or(0, |largest| *largest as usize + 1);
        Folds { block: fold_of_row.to_vec(), count, forward: false }
    }

    /// One fold, which holds out these rows.
    pub fn once(held: &[bool]) -> Folds {
        let block = held.iter().map(|held| if *held { 0 } else { ALWAYS_TRAINS }).collect();
        Folds { block, count: 1, forward: false }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.block.len()
    }

    /// Number of folds.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The fold that holds out a row; `None` if none does.
    pub fn of(&self, row: usize) -> Option<usize> {
        let fold = match self.block[row] {
            ALWAYS_TRAINS => None,
            block if self.forward => (block as usize).checked_sub(1),
            block => Some(block as usize),
        };
        fold.filter(|fold| *fold < self.count)
    }

    /// True if a fold trains with a row.
    pub fn trains(&self, fold: usize, row: usize) -> bool {
        match self.block[row] {
            ALWAYS_TRAINS => true,
            block if self.forward => block as usize <= fold,
            block => block as usize != fold,
        }
    }

    /// The first few of the folds alone.
    pub fn first(&self, count: usize) -> Folds {
        Folds { count: count.min(self.count), ..self.clone() }
    }

    /// The rows that a fold trains with.
    pub fn train(&self, fold: usize) -> Vec<bool> {
        (0..self.block.len()).map(|row| self.trains(fold, row)).collect()
    }

    /// The rows that a fold holds out.
    pub fn validation(&self, fold: usize) -> Vec<bool> {
        (0..self.block.len()).map(|row| self.of(row) == Some(fold)).collect()
    }
}

fn node_of_rows(data: &Dataset) -> Vec<u32> {
    (0..data.nodes()).flat_map(|i| data.rows(i).map(move |_| i as u32)).collect()
}

/// A single row of a node always trains: without it nothing would be known about the node.
fn rows(data: &Dataset, spec: FoldSpec) -> Vec<u32> {
    let mut block = vec![ALWAYS_TRAINS; data.len()];
    // Nodes with fewer rows than folds start where the one before ended, so that no fold is without rows.
    let mut next = 0;
    for node in (0..data.nodes()).filter(|&i| data.rows(i).len() > 1) {
        let mut rows: Vec<usize> = data.rows(node).collect();
        rows.shuffle(&mut stream(spec.seed, Purpose::HeldOutRows, node));
        for row in rows {
            block[row] = next as u32;
            next = (next + 1) % spec.count;
        }
    }
    block
}

/// Every node's rows in `blocks` stretches of nearly equal length, the earlier ones no longer than the later ones.
fn stretches(data: &Dataset, blocks: usize) -> Vec<u32> {
    let of = |node: usize| {
        let len = data.rows(node).len();
        (0..len).map(move |place| (blocks - 1 - (len - 1 - place) * blocks / len.max(blocks)) as u32)
    };
    (0..data.nodes()).flat_map(of).collect()
}

/// Deals labels (groups, nodes) out at random.
fn dealt(label: &[u32], spec: FoldSpec) -> (Vec<u32>, usize) {
    let mut distinct = label.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let mut order: Vec<usize> = (0..distinct.len()).collect();
    order.shuffle(&mut stream(spec.seed, Purpose::HeldOutRows, 0));
    let count = spec.count.min(distinct.len());
    let mut block = vec![0; distinct.len()];
    order.iter().enumerate().for_each(|(place, &k)| block[k] = (place % count.max(1)) as u32);
    let of = |label| block[distinct.binary_search(label).expect("every label was collected")];
    (label.iter().map(of).collect(), count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;

    fn data(sizes: &[usize]) -> Dataset {
        let mut offsets = vec![0];
        sizes.iter().for_each(|size| offsets.push(offsets[offsets.len() - 1] + size));
        let rows = offsets[sizes.len()];
        Dataset::new(offsets, Matrix::zeros(rows, 1), vec![0.0; rows], vec![1.0; rows]).unwrap()
    }

    fn spec(rule: FoldRule) -> FoldSpec {
        FoldSpec { rule, count: 5, seed: 1 }
    }

    #[test]
    fn every_row_is_held_out_once_by_models_that_did_not_see_it() {
        let data = data(&[10, 1, 3, 17, 0, 4]);
        let groups: Vec<u32> = (0..data.len() as u32).map(|r| r % 7).collect();
        for rule in [FoldRule::Random, FoldRule::Groups, FoldRule::Nodes, FoldRule::Forward] {
            let folds = Folds::new(&data, Some(&groups), spec(rule)).unwrap();
            for row in 0..data.len() {
                let held: Vec<usize> = (0..folds.count()).filter(|&k| folds.validation(k)[row]).collect();
                assert_eq!(held, folds.of(row).into_iter().collect::<Vec<_>>(), "{rule:?}");
                assert!(held.iter().all(|&k| !folds.trains(k, row)));
            }
        }
    }

    #[test]
    fn shares_are_equal_and_a_single_row_always_trains() {
        let data = data(&[10, 1, 3, 2, 15]);
        let folds = Folds::new(&data, None, spec(FoldRule::Random)).unwrap();
        assert_eq!(folds.of(10), None);
        for fold in 0..5 {
            let held = folds.validation(fold);
            assert_eq!((held.iter().filter(|v| **v).count(), held[..10].iter().filter(|v| **v).count()), (6, 2));
        }
        assert_ne!(folds, Folds::new(&data, None, FoldSpec { seed: 2, ..spec(FoldRule::Random) }).unwrap());
    }

    #[test]
    fn groups_and_nodes_stay_together() {
        let data = data(&[4, 6, 5, 3, 2, 7]);
        let groups: Vec<u32> = (0..27).map(|r| 100 - r % 8).collect();
        let by_group = Folds::new(&data, Some(&groups), spec(FoldRule::Groups)).unwrap();
        let by_node = Folds::new(&data, None, spec(FoldRule::Nodes)).unwrap();
        let nodes = node_of_rows(&data);
        for (a, b) in (0..27).flat_map(|a| (0..27).map(move |b| (a, b))) {
            assert!(groups[a] != groups[b] || by_group.of(a) == by_group.of(b));
            assert!(nodes[a] != nodes[b] || by_node.of(a) == by_node.of(b));
        }
        assert!(Folds::new(&data, None, spec(FoldRule::Groups)).is_err());
        assert_eq!(Folds::new(&data, Some(&[3; 27]), spec(FoldRule::Groups)).ok(), None);
    }

    #[test]
    fn forward_folds_never_train_with_later_rows() {
        let data = data(&[12, 7, 2]);
        let folds = Folds::new(&data, None, spec(FoldRule::Forward)).unwrap();
        assert_eq!(folds.count(), 5);
        for (fold, node) in (0..5).flat_map(|k| (0..3).map(move |i| (k, i))) {
            let first_held = data.rows(node).find(|&r| folds.of(r) == Some(fold));
            let last_trained = data.rows(node).rev().find(|&r| folds.trains(fold, r));
            assert!(first_held.is_none() || last_trained < first_held);
        }
        // 12 rows in six stretches of two.
        assert_eq!((0..12).map(|r| folds.of(r)).collect::<Vec<_>>()[..4], [None, None, Some(0), Some(0)]);
    }
}
