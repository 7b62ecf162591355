//! Different nodes, different losses: a regression here, a classifier there, coupled through their parameters.

use crate::error::{Error, Result};

use super::{Curvature, FenchelGap, Loss, SecondOrder};

/// A family per node. Every family spans all nodes and holds the rows of its own nodes only.
pub struct Mixed {
    families: Vec<Box<dyn Loss>>,
    family_of: Vec<usize>,
}

impl Mixed {
    /// `family_of[i]` is the position of node `i`'s loss in `families`, which must agree in nodes and dimension.
    pub fn new(families: Vec<Box<dyn Loss>>, family_of: Vec<usize>) -> Result<Self> {
        let dim = families.first().map_or(0, |f| f.dim());
        for family in &families {
            if family.dim() != dim {
                return Err(Error::Size { what: "parameters of a family", expected: dim, found: family.dim() });
            }
            if family.nodes() != family_of.len() {
                return Err(Error::Size {
                    what: "nodes of a family",
                    expected: family_of.len(),
                    found: family.nodes(),
                });
            }
        }
        if let Some(&found) = family_of.iter().find(|f| **f >= families.len()) {
            return Err(Error::Size { what: "families", expected: found + 1, found: families.len() });
        }
        Ok(Mixed { families, family_of })
    }

    fn of(&self, node: usize) -> &dyn Loss {
        &*self.families[self.family_of[node]]
    }

    fn second_of(&self, node: usize) -> &dyn SecondOrder {
        self.of(node).second_order().expect("asked for only where all families have it")
    }
}

impl Loss for Mixed {
    fn nodes(&self) -> usize {
        self.family_of.len()
    }

    fn dim(&self) -> usize {
        self.families.first().map_or(0, |f| f.dim())
    }

    fn has_rows(&self, node: usize) -> bool {
        self.of(node).has_rows(node)
    }

    fn row_count(&self, node: usize) -> usize {
        self.of(node).row_count(node)
    }

    fn work_len(&self) -> usize {
        self.families.iter().map(|f| f.work_len()).max().unwrap_or(0)
    }

    fn cost(&self) -> usize {
        self.families.iter().map(|f| f.cost()).max().unwrap_or(0)
    }

    fn curvature(&self, node: usize) -> Curvature {
        self.of(node).curvature(node)
    }

    fn error(&self, node: usize, w: &[f64]) -> f64 {
        self.of(node).error(node, w)
    }

    fn value(&self, node: usize, w: &[f64]) -> f64 {
        self.of(node).value(node, w)
    }

    fn gradient(&self, node: usize, w: &[f64], out: &mut [f64]) {
        self.of(node).gradient(node, w, out);
    }

    fn batch_gradient(&self, node: usize, batch: &[u32], w: &[f64], out: &mut [f64]) {
        self.of(node).batch_gradient(node, batch, w, out);
    }

    fn value_and_gradient(&self, node: usize, w: &[f64], out: &mut [f64]) -> f64 {
        self.of(node).value_and_gradient(node, w, out)
    }

    fn prox(&self, node: usize, tau: f64, w: &mut [f64], work: &mut [f64]) {
        self.of(node).prox(node, tau, w, work);
    }

    fn minimise_tilted(&self, node: usize, v: &[f64], z: &mut [f64], work: &mut [f64]) {
        self.of(node).minimise_tilted(node, v, z, work);
    }

    fn bregman(&self, node: usize, w: &[f64], z: &[f64], gradient_z: &[f64]) -> f64 {
        self.of(node).bregman(node, w, z, gradient_z)
    }

    fn fenchel_gap(&self, node: usize, w: &[f64], v: &[f64], work: &mut [f64]) -> FenchelGap {
        self.of(node).fenchel_gap(node, w, v, work)
    }

    fn residual(&self, node: usize, w: &[f64], flow: &[f64], out: &mut [f64], work: &mut [f64]) {
        self.of(node).residual(node, w, flow, out, work);
    }

    fn lasso(&self) -> Option<&[f64]> {
        self.families.iter().find_map(|f| f.lasso())
    }

    fn second_order(&self) -> Option<&dyn SecondOrder> {
        self.families.iter().all(|f| f.second_order().is_some()).then_some(self)
    }
}

impl SecondOrder for Mixed {
    fn is_constant(&self) -> bool {
        self.families.iter().all(|f| f.is_quadratic())
    }

    fn has_kinks(&self) -> bool {
        !self.families.iter().all(|f| f.has_hessian())
    }

    fn hessian_len(&self, node: usize) -> usize {
        self.second_of(node).hessian_len(node)
    }

    fn hessian(&self, node: usize, w: &[f64], out: &mut [f64], work: &mut [f64]) {
        self.second_of(node).hessian(node, w, out, work);
    }

    fn hessian_product(&self, node: usize, hessian: &[f64], v: &[f64], out: &mut [f64]) {
        self.second_of(node).hessian_product(node, hessian, v, out);
    }

    fn add_hessian(&self, node: usize, hessian: &[f64], sum: &mut [f64]) {
        self.second_of(node).add_hessian(node, hessian, sum);
    }

    fn add_hessian_diagonal(&self, node: usize, hessian: &[f64], sum: &mut [f64]) {
        self.second_of(node).add_hessian_diagonal(node, hessian, sum);
    }

    fn factor_len(&self, node: usize) -> usize {
        self.second_of(node).factor_len(node)
    }

    fn factor(&self, node: usize, hessian: &[f64], shift: f64, out: &mut [f64], work: &mut [f64]) {
        self.second_of(node).factor(node, hessian, shift, out, work);
    }

    fn factor_solve(&self, node: usize, shift: f64, factor: &[f64], b: &mut [f64], work: &mut [f64]) {
        self.second_of(node).factor_solve(node, shift, factor, b, work);
    }
}
