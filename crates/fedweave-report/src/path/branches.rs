//! The merge tree as shapes: a branch is a group of nodes from the lambda where it forms to the one where it changes,
//! with its links to what comes next, as one path in a square of 100 by 100 that the browser stretches.

use super::tree::{Block, Tree};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Links thinner than this at both ends, in percent, would not be seen.
const LINK_MIN: f64 = 0.1;

/// A branch ready for the template.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Branch {
    pub(crate) colour: usize,
    /// Whether it stands for small clusters together.
    pub(crate) rest: bool,
    pub(crate) shape: String,
    /// The first and the last point where it is there.
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// Its nodes as runs of leaves: first, length, first, length, ...
    #[serde(skip)]
    pub(crate) runs: Vec<usize>,
    /// Its blocks, by column.
    #[serde(skip)]
    blocks: Vec<usize>,
}

/// The branches of a tree whose columns are at `places` percent.
pub(crate) fn branches(tree: &Tree, places: &[f64]) -> Vec<Branch> {
    let (mut branches, branch_of) = chains(tree);
    for branch in &mut branches {
        branch.shape = body(branch, tree, places);
    }
    for column in 0..tree.columns.len().saturating_sub(1) {
        for link in links(&tree.columns[column], &tree.columns[column + 1]) {
            let from = branch_of[column][link.from];
            if from != branch_of[column + 1][link.to] {
                link.draw(places[column], places[column + 1], &mut branches[from].shape);
            }
        }
    }
    branches
}

/// The branches without shapes, and the branch of every block of every column.
fn chains(tree: &Tree) -> (Vec<Branch>, Vec<Vec<usize>>) {
    let mut branches: Vec<Branch> = Vec::new();
    let mut branch_of: Vec<Vec<usize>> = Vec::new();
    for (column, blocks) in tree.columns.iter().enumerate() {
        let mut these = Vec::with_capacity(blocks.len());
        for (k, block) in blocks.iter().enumerate() {
            let before = column.checked_sub(1).and_then(|before| {
                let same = tree.columns[before].iter().position(|other| continues(other, block))?;
                Some(branch_of[before][same])
            });
            let branch = before.unwrap_or_else(|| {
                branches.push(begin(block, column));
                branches.len() - 1
            });
            branches[branch].last = column;
            branches[branch].blocks.push(k);
            these.push(branch);
        }
        branch_of.push(these);
    }
    (branches, branch_of)
}

fn continues(a: &Block, b: &Block) -> bool {
    a.leaves == b.leaves && a.colour == b.colour && a.cluster.is_some() == b.cluster.is_some()
}

fn begin(block: &Block, column: usize) -> Branch {
    let runs = block.leaves.chunk_by(|a, b| a + 1 == *b).flat_map(|run| [run[0], run.len()]).collect();
    Branch {
        colour: block.colour,
        rest: block.cluster.is_none(),
        shape: String::new(),
        first: column,
        last: column,
        runs,
        blocks: Vec::new(),
    }
}

/// The branch itself; those at the ends of the path reach to the sides of the drawing.
fn body(branch: &Branch, tree: &Tree, places: &[f64]) -> String {
    let mut stops: Vec<(f64, &Block)> =
        branch.blocks.iter().enumerate().map(|(k, &b)| (places[branch.first + k], block(tree, branch, k, b))).collect();
    if let Some(&(_, block)) = stops.first().filter(|_| branch.first == 0) {
        stops.insert(0, (0.0, block));
    }
    if let Some(&(_, block)) = stops.last().filter(|_| branch.last + 1 == places.len()) {
        stops.push((100.0, block));
    }
    // Straight stretches need no stops inside.
    let flat = |a: &Block, b: &Block| a.middle == b.middle && a.thick == b.thick;
    let kept = |&k: &usize| {
        k == 0 || k + 1 == stops.len() || !(flat(stops[k - 1].1, stops[k].1) && flat(stops[k].1, stops[k + 1].1))
    };
    let stops: Vec<(f64, &Block)> = (0..stops.len()).filter(kept).map(|k| stops[k]).collect();
    let mut shape = String::new();
    for pair in stops.windows(2) {
        let ((x, a), (y, b)) = (pair[0], pair[1]);
        ribbon(&mut shape, (x, a.top(), a.bottom()), (y, b.top(), b.bottom()));
    }
    shape
}

fn block<'a>(tree: &'a Tree, branch: &Branch, k: usize, block: usize) -> &'a Block {
    &tree.columns[branch.first + k][block]
}

impl Block {
    fn top(&self) -> f64 {
        self.middle - 0.5 * self.thick
    }

    fn bottom(&self) -> f64 {
        self.middle + 0.5 * self.thick
    }
}

/// Nodes that go from one block to another, and the parts of the blocks they take.
struct Link {
    from: usize,
    to: usize,
    start: (f64, f64),
    end: (f64, f64),
}

impl Link {
    fn draw(&self, x: f64, y: f64, shape: &mut String) {
        if (self.start.1 - self.start.0).max(self.end.1 - self.end.0) >= LINK_MIN {
            ribbon(shape, (x, self.start.0, self.start.1), (y, self.end.0, self.end.1));
        }
    }
}

/// The links between the blocks of two columns, from the top down on either side.
fn links(from: &[Block], to: &[Block]) -> Vec<Link> {
    let mut block_of: BTreeMap<usize, usize> = BTreeMap::new();
    for (k, block) in to.iter().enumerate() {
        block_of.extend(block.leaves.iter().map(|&leaf| (leaf, k)));
    }
    let mut shared: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (k, block) in from.iter().enumerate() {
        for other in block.leaves.iter().filter_map(|leaf| block_of.get(leaf)) {
            *shared.entry((k, *other)).or_default() += 1;
        }
    }
    let mut starts: Vec<f64> = from.iter().map(Block::top).collect();
    let mut ends: Vec<f64> = to.iter().map(Block::top).collect();
    let link = |((a, b), nodes): ((usize, usize), usize)| Link {
        from: a,
        to: b,
        start: part(&mut starts[a], &from[a], nodes),
        end: part(&mut ends[b], &to[b], nodes),
    };
    shared.into_iter().map(link).collect()
}

/// The next part of a block that `nodes` of its nodes take.
fn part(edge: &mut f64, block: &Block, nodes: usize) -> (f64, f64) {
    let start = *edge;
    *edge += block.thick * nodes as f64 / block.leaves.len() as f64;
    (start, *edge)
}

type Side = (f64, f64, f64);

/// A band from one vertical side (x, top, bottom) to another.
fn ribbon(shape: &mut String, (x, a, b): Side, (y, c, d): Side) {
    let [x, y, a, b, c, d, m] = [x, y, a, b, c, d, 0.5 * (x + y)].map(|v| (v * 100.0).round() / 100.0);
    let _ = if a == c && b == d {
        write!(shape, "M{x} {a}H{y}V{b}H{x}Z")
    } else {
        write!(shape, "M{x} {a}C{m} {a} {m} {c} {y} {c}V{d}C{m} {d} {m} {b} {x} {b}Z")
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{Path, PathPoint};

    fn grown(memberships: &[&[u32]]) -> Vec<Branch> {
        let point = |membership: &&[u32]| PathPoint {
            clusters: 1 + membership.iter().max().map_or(0, |&k| k as usize),
            membership: membership.to_vec(),
            ..PathPoint::default()
        };
        let path = Path { points: memberships.iter().map(point).collect(), chosen: 0 };
        let colours: Vec<Vec<usize>> = path.points.iter().map(|point| vec![0; point.clusters]).collect();
        let order: Vec<usize> = (0..memberships[0].len()).collect();
        branches(&Tree::grow(&path, &order, &colours), &[5.0, 50.0, 95.0])
    }

    #[test]
    fn what_does_not_change_is_one_branch() {
        let branches = grown(&[&[0, 0, 1], &[0, 0, 1], &[0, 0, 0]]);
        let spans: Vec<_> = branches.iter().map(|b| (b.first, b.last, b.runs.clone())).collect();
        assert_eq!(spans, [(0, 1, vec![0, 2]), (0, 1, vec![2, 1]), (2, 2, vec![0, 3])]);
    }

    #[test]
    fn a_split_is_one_branch_with_two_links() {
        let branches = grown(&[&[0, 0, 0, 0], &[0, 0, 1, 1], &[0, 0, 0, 0]]);
        assert_eq!(branches.len(), 4);
        assert_eq!(branches[0].shape.matches('C').count(), 4, "two bands with two curved sides each");
    }
}
