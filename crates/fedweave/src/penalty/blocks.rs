//! Different penalties and strengths on blocks of coordinates: some shared strongly, others weakly or not at all.

use super::Penalty;
use crate::error::{Error, Result};

/// One block: `strength * phi(t restricted to coordinates)`.
pub struct Block {
    /// The coordinates of the block.
    pub coordinates: Vec<usize>,
    /// The penalty on them.
    pub penalty: Box<dyn Penalty>,
    /// Its factor, zero or positive.
    pub strength: f64,
}

/// A sum of penalties on disjoint blocks; coordinates in no block are not coupled.
pub struct Blocks {
    blocks: Vec<Block>,
    loose: Vec<usize>,
    dim: usize,
}

impl Blocks {
    /// Checks that the blocks are disjoint sets of coordinates below `dim`.
    pub fn new(dim: usize, blocks: Vec<Block>) -> Result<Self> {
        let mut used = vec![false; dim];
        for block in &blocks {
            if !(block.strength >= 0.0 && block.strength.is_finite()) {
                return Err(Error::Parameter {
                    name: "strength of a block",
                    value: block.strength,
                    needs: "zero or positive",
                });
            }
            for &j in &block.coordinates {
                if j >= dim || std::mem::replace(&mut used[j], true) {
                    let needs = "in one block only, and an existing coordinate";
                    return Err(Error::Parameter { name: "coordinate of a block", value: j as f64, needs });
                }
            }
        }
        let free = blocks.iter().filter(|b| b.strength == 0.0).flat_map(|b| b.coordinates.iter().copied());
        let mut loose: Vec<usize> = free.chain((0..dim).filter(|j| !used[*j])).collect();
        loose.sort_unstable();
        Ok(Blocks { blocks: blocks.into_iter().filter(|b| b.strength > 0.0).collect(), loose, dim })
    }

    /// Applies `f` to every block of `t`; loose coordinates stay as they are.
    fn each(&self, t: &mut [f64], work: &mut [f64], mut f: impl FnMut(&Block, &mut [f64], &mut [f64])) {
        for block in &self.blocks {
            let (part, work) = work.split_at_mut(block.coordinates.len());
            part.iter_mut().zip(&block.coordinates).for_each(|(p, &j)| *p = t[j]);
            f(block, part, work);
            part.iter().zip(&block.coordinates).for_each(|(p, &j)| t[j] = *p);
        }
    }

    fn release(&self, t: &mut [f64]) {
        self.loose.iter().for_each(|&j| t[j] = 0.0);
    }

    /// Folds `f` over the blocks of `t`. Outside the iteration, hence free to allocate.
    fn fold(&self, t: &[f64], start: f64, f: impl Fn(f64, &Block, &[f64]) -> f64) -> f64 {
        self.blocks.iter().fold(start, |sum, block| {
            let part: Vec<f64> = block.coordinates.iter().map(|&j| t[j]).collect();
            f(sum, block, &part)
        })
    }
}

impl Penalty for Blocks {
    fn name(&self) -> &'static str {
        "blocks"
    }

    fn check(&self, _edges: usize, dim: usize) -> Result<()> {
        match dim == self.dim {
            true => Ok(()),
            false => Err(Error::Size { what: "coordinates of the blocks", expected: dim, found: self.dim }),
        }
    }

    fn loose(&self) -> &[usize] {
        &self.loose
    }

    fn value(&self, edge: usize, t: &[f64]) -> f64 {
        self.fold(t, 0.0, |sum, block, part| sum + block.strength * block.penalty.value(edge, part))
    }

    fn prox(&self, edge: usize, weight: f64, t: &mut [f64], work: &mut [f64]) {
        self.each(t, work, |block, part, work| block.penalty.prox(edge, weight * block.strength, part, work));
    }

    fn gradient(&self, edge: usize, weight: f64, t: &mut [f64], work: &mut [f64]) {
        self.each(t, work, |block, part, work| block.penalty.gradient(edge, weight * block.strength, part, work));
        self.release(t);
    }

    fn smoothness(&self, edge: usize) -> f64 {
        self.blocks.iter().map(|block| block.strength * block.penalty.smoothness(edge)).fold(0.0, f64::max)
    }

    fn conjugate(&self, edge: usize, weight: f64, u: &[f64]) -> f64 {
        if self.loose.iter().any(|&j| u[j] != 0.0) {
            return f64::INFINITY;
        }
        self.fold(u, 0.0, |sum, block, part| sum + block.penalty.conjugate(edge, weight * block.strength, part))
    }

    fn excess(&self, edge: usize, weight: f64, u: &[f64]) -> f64 {
        let loose = self.loose.iter().map(|&j| u[j].abs()).fold(0.0, f64::max);
        self.fold(u, loose, |worst, block, part| worst.max(block.penalty.excess(edge, weight * block.strength, part)))
    }

    /// The largest of the blocks, if all are norms and no coordinate is loose.
    fn dual_norm(&self, edge: usize, u: &[f64]) -> Option<f64> {
        let part = |block: &Block| -> Vec<f64> { block.coordinates.iter().map(|&j| u[j]).collect() };
        let norm = |block: &Block| Some(block.penalty.dual_norm(edge, &part(block))? / block.strength);
        let all = self.blocks.iter().map(norm).collect::<Option<Vec<f64>>>()?;
        self.loose.is_empty().then(|| all.into_iter().fold(0.0, f64::max))
    }

    fn prox_conjugate(&self, edge: usize, weight: f64, sigma: f64, u: &mut [f64], work: &mut [f64]) {
        self.each(u, work, |block, part, work| {
            block.penalty.prox_conjugate(edge, weight * block.strength, sigma, part, work);
        });
        self.release(u);
    }

    fn is_smooth(&self) -> bool {
        self.blocks.iter().all(|block| block.penalty.is_smooth())
    }

    fn is_quadratic(&self) -> bool {
        self.blocks.iter().all(|block| block.penalty.is_quadratic())
    }

    /// Pulls on different blocks are at right angles.
    fn pull_max(&self, _dim: usize) -> Option<f64> {
        let pull = |block: &Block| Some(block.strength * block.penalty.pull_max(block.coordinates.len())?);
        let all = self.blocks.iter().map(pull).collect::<Option<Vec<f64>>>()?;
        Some(all.iter().map(|pull| pull * pull).sum::<f64>().sqrt())
    }

    fn jacobian(&self, edge: usize, weight: f64, sigma: f64, y: &[f64], v: &mut [f64], work: &mut [f64]) {
        for block in &self.blocks {
            let k = block.coordinates.len();
            let (part, rest) = work.split_at_mut(k);
            let (at, rest) = rest.split_at_mut(k);
            part.iter_mut().zip(&block.coordinates).for_each(|(p, &j)| *p = v[j]);
            at.iter_mut().zip(&block.coordinates).for_each(|(p, &j)| *p = y[j]);
            block.penalty.jacobian(edge, weight * block.strength, sigma, at, part, rest);
            part.iter().zip(&block.coordinates).for_each(|(p, &j)| v[j] = *p);
        }
        self.release(v);
    }
}
