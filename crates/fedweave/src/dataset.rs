//! All local datasets in one arena: the rows of node `i` are contiguous, `offsets[i]..offsets[i + 1]`.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::features::{Block, Features, Row};
use crate::loss::NodeWeight;
use crate::matrix::Matrix;

/// The local datasets of all nodes. A node may have no rows. Copies share their numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    offsets: Arc<Vec<usize>>,
    x: Arc<Features>,
    y: Arc<Vec<f64>>,
    weight: Arc<Vec<f64>>,
    group: Option<Arc<Vec<u32>>>,
}

impl Dataset {
    /// Rows of features `x`, labels `y` and row weights, already grouped by node: node `i` owns rows
    /// `offsets[i]..offsets[i + 1]`. Row weights are relative inside a node.
    pub fn new(offsets: Vec<usize>, x: impl Into<Features>, y: Vec<f64>, weight: Vec<f64>) -> Result<Self> {
        let x = x.into();
        let rows = offsets.last().copied().unwrap_or(0);
        for (what, found) in [("rows of features", x.rows()), ("labels", y.len()), ("row weights", weight.len())] {
            if found != rows {
                return Err(Error::Size { what, expected: rows, found });
            }
        }
        if offsets.first() != Some(&0) || offsets.windows(2).any(|w| w[0] > w[1]) {
            return Err(Error::Size { what: "row offsets in order", expected: rows, found: 0 });
        }
        let data = Dataset::of(offsets, x, y, weight);
        data.check_finite()?;
        Ok(data)
    }

    fn of(offsets: Vec<usize>, x: Features, y: Vec<f64>, weight: Vec<f64>) -> Self {
        let (offsets, x, y, weight) = (Arc::new(offsets), Arc::new(x), Arc::new(y), Arc::new(weight));
        Dataset { offsets, x, y, weight, group: None }
    }

    /// Says to which group each row belongs, from 0; groups stay with their rows when rows are selected or scaled.
    pub fn grouped(self, groups: Vec<u32>) -> Result<Dataset> {
        if groups.len() != self.len() {
            return Err(Error::Size { what: "groups of rows", expected: self.len(), found: groups.len() });
        }
        Ok(Dataset { group: Some(Arc::new(groups)), ..self })
    }

    /// The group of each row, if anybody said.
    pub fn groups(&self) -> Option<&[u32]> {
        self.group.as_deref().map(Vec::as_slice)
    }

    /// Groups rows by node, keeping their order inside each node. Also returns, for every row of the
    /// dataset, the position it had in the input.
    pub fn group(
        nodes: usize,
        node_of_row: &[usize],
        x: &Matrix,
        y: &[f64],
        weight: &[f64],
    ) -> Result<(Self, Vec<usize>)> {
        let pick = |origin: &[usize]| {
            let mut sorted = Matrix::zeros(origin.len(), x.cols());
            origin.iter().enumerate().for_each(|(to, &from)| sorted.row_mut(to).copy_from_slice(x.row(from)));
            sorted.into()
        };
        Dataset::grouped_by(nodes, node_of_row, pick, y, weight)
    }

    fn grouped_by(
        nodes: usize,
        node_of_row: &[usize],
        features: impl Fn(&[usize]) -> Features,
        y: &[f64],
        weight: &[f64],
    ) -> Result<(Self, Vec<usize>)> {
        let mut offsets = vec![0; nodes + 1];
        for &node in node_of_row {
            if node >= nodes {
                return Err(Error::Size { what: "nodes", expected: nodes, found: node + 1 });
            }
            offsets[node + 1] += 1;
        }
        for i in 0..nodes {
            offsets[i + 1] += offsets[i];
        }
        let mut next = offsets.clone();
        let mut origin = vec![0; node_of_row.len()];
        for (row, &node) in node_of_row.iter().enumerate() {
            origin[next[node]] = row;
            next[node] += 1;
        }
        let pick = |v: &[f64]| origin.iter().map(|&r| v[r]).collect::<Vec<_>>();
        Ok((Dataset::new(offsets, features(&origin), pick(y), pick(weight))?, origin))
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of feature columns.
    pub fn dim(&self) -> usize {
        self.x.cols()
    }

    /// Number of rows of all nodes together.
    pub fn len(&self) -> usize {
        self.y.len()
    }

    /// True if no node has a row.
    pub fn is_empty(&self) -> bool {
        self.y.is_empty()
    }

    /// The rows of `node`.
    pub fn rows(&self, node: usize) -> Range<usize> {
        self.offsets[node]..self.offsets[node + 1]
    }

    /// True if of features only entries other than zero are kept.
    pub fn is_sparse(&self) -> bool {
        self.x.is_sparse()
    }

    /// Features of one row, as they are kept.
    #[inline(always)]
    pub fn row(&self, row: usize) -> Row<'_> {
        self.x.row(row)
    }

    /// Features of all rows of `node`, as they are kept.
    #[inline(always)]
    pub fn block(&self, node: usize) -> Block<'_> {
        self.x.block(self.rows(node))
    }

    /// Features of all rows, as they are kept.
    pub fn all_features(&self) -> &Features {
        &self.x
    }

    /// All features of one row. Of sparse rows this makes a dense copy, of all of them, when first called; [`row`](Dataset::row) does not.
    pub fn x(&self, row: usize) -> &[f64] {
        self.x.dense().row(row)
    }

    /// All features of all rows of `node`, row after row; of sparse rows from a copy, as [`x`](Dataset::x).
    pub fn features(&self, node: usize) -> &[f64] {
        let rows = self.rows(node);
        &self.x.dense().as_slice()[rows.start * self.dim()..rows.end * self.dim()]
    }

    /// Labels of the rows of `node`.
    pub fn labels(&self, node: usize) -> &[f64] {
        &self.y[self.rows(node)]
    }

    /// Labels of all rows.
    pub fn y(&self) -> &[f64] {
        &self.y
    }

    /// Row weights of the rows of `node`, as given.
    pub fn weights(&self, node: usize) -> &[f64] {
        &self.weight[self.rows(node)]
    }

    /// The dataset that keeps only the rows for which `keep` is true; the nodes stay the same.
    pub fn select(&self, keep: &[bool]) -> Dataset {
        let (mut offsets, mut rows) = (vec![0], Vec::new());
        for node in 0..self.nodes() {
            rows.extend(self.rows(node).filter(|&r| keep[r]));
            offsets.push(rows.len());
        }
        let pick = |v: &[f64]| rows.iter().map(|&r| v[r]).collect::<Vec<_>>();
        let (x, y, weight) = (self.x.pick(&rows), pick(&self.y), pick(&self.weight));
        let of_kept = |groups: &[u32]| groups.iter().zip(keep).filter(|(_, keep)| **keep).map(|(g, _)| *g).collect();
        let group = self.groups().map(|groups| Arc::new(of_kept(groups)));
        Dataset { group, ..Dataset::of(offsets, x, y, weight) }
    }

    /// The same rows with every entry kept.
    pub fn with_whole_rows(mut self) -> Dataset {
        if self.is_sparse() {
            Arc::make_mut(&mut self.x).dense_mut();
        }
        self
    }

    /// The dataset with entry `x` of feature `j` replaced by `f(j, x)`; sparse rows stay sparse if that leaves zeros what they are.
    pub fn map_features(&self, f: impl Fn(usize, f64) -> f64) -> Dataset {
        let mut mapped = self.clone();
        Arc::make_mut(&mut mapped.x).map(f);
        mapped
    }

    /// The dataset with entry `x` of feature `j` of a row replaced by `f(row, j, x)`.
    pub fn map_entries(&self, f: impl Fn(usize, usize, f64) -> f64) -> Dataset {
        let mut mapped = self.clone();
        let all = Arc::make_mut(&mut mapped.x).dense_mut().as_mut_slice();
        for (row, x) in all.chunks_exact_mut(self.dim()).enumerate() {
            x.iter_mut().enumerate().for_each(|(j, x)| *x = f(row, j, *x));
        }
        mapped
    }

    /// The dataset with the features of every row replaced by as many others.
    pub fn map_rows(&self, f: impl Fn(&[f64]) -> Vec<f64>) -> Dataset {
        let mut mapped = self.clone();
        let all = Arc::make_mut(&mut mapped.x).dense_mut().as_mut_slice();
        all.chunks_exact_mut(self.dim()).for_each(|x| x.copy_from_slice(&f(x)));
        mapped
    }

    /// The dataset with `by(row)` added to the labels.
    pub fn shift_labels(mut self, by: impl Fn(usize) -> f64) -> Dataset {
        Arc::make_mut(&mut self.y).iter_mut().enumerate().for_each(|(row, y)| *y += by(row));
        self
    }

    /// The dataset with every label replaced by `f` of it.
    pub fn map_labels(mut self, f: impl Fn(f64) -> f64) -> Dataset {
        Arc::make_mut(&mut self.y).iter_mut().for_each(|y| *y = f(*y));
        self
    }

    /// The dataset with the weight of every row multiplied by `by(row)`.
    pub fn reweighted(mut self, by: impl Fn(usize) -> f64) -> Dataset {
        Arc::make_mut(&mut self.weight).iter_mut().enumerate().for_each(|(row, weight)| *weight *= by(row));
        self
    }

    /// The dataset in which nodes with the same `part` are one node. Inside a part every node counts the same, or every row.
    pub fn merged(&self, part: &[usize], parts: usize, node_weight: NodeWeight) -> Dataset {
        let node_of_row: Vec<usize> = (0..self.nodes()).flat_map(|i| self.rows(i).map(move |_| part[i])).collect();
        let scale = |node: usize| match node_weight {
            NodeWeight::Rows | NodeWeight::Unit(_) => 1.0,
            NodeWeight::Equal => 1.0 / self.weights(node).iter().sum::<f64>().max(f64::MIN_POSITIVE),
        };
        let weight: Vec<f64> =
            (0..self.nodes()).flat_map(|i| self.weights(i).iter().map(move |w| w * scale(i))).collect();
        let merged = Dataset::grouped_by(parts, &node_of_row, |rows| self.x.pick(rows), &self.y, &weight);
        merged.expect("rows that were valid stay valid").0
    }

    /// The dataset with these features only.
    pub fn columns(&self, columns: &[usize]) -> Dataset {
        Dataset { x: Arc::new(self.x.columns(columns)), ..self.clone() }
    }

    fn check_finite(&self) -> Result<()> {
        for row in 0..self.len() {
            // All of a row at once is faster than one after the other until the first fault.
            if !self.row(row).stored().iter().fold(true, |fine, v| fine & v.is_finite()) {
                let mut column = self.dim();
                self.row(row).for_each(|j, v| column = if v.is_finite() { column } else { column.min(j) });
                return Err(Error::NotFinite { row, what: format!("feature {column}") });
            }
            if !self.y[row].is_finite() {
                return Err(Error::NotFinite { row, what: "label".into() });
            }
            if !self.weight[row].is_finite() || self.weight[row] < 0.0 {
                return Err(Error::RowWeight { row, weight: self.weight[row] });
            }
        }
        Ok(())
    }
}

/// A running mean of the values of every node, which leaves a constant exactly as it is. Values that are NaN or of no node do not
/// count; NaN for a node without a value.
pub fn node_means(values: impl Iterator<Item = (Option<usize>, f64)>, nodes: usize) -> Vec<f64> {
    let (mut mean, mut count) = (vec![f64::NAN; nodes], vec![0.0; nodes]);
    for (node, value) in values {
        let Some(i) = node.filter(|&i| i < nodes && !value.is_nan()) else { continue };
        count[i] += 1.0;
        mean[i] = if count[i] == 1.0 { value } else { mean[i] + (value - mean[i]) / count[i] };
    }
    mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grouping_keeps_the_order_inside_a_node() {
        let x = Matrix::from_rows(1, vec![1.0, 2.0, 3.0]);
        let (data, origin) = Dataset::group(3, &[2, 0, 2], &x, &[10.0, 20.0, 30.0], &[1.0; 3]).unwrap();
        assert_eq!(origin, [1, 0, 2]);
        assert_eq!((data.labels(0), data.labels(1), data.labels(2)), (&[20.0][..], &[][..], &[10.0, 30.0][..]));
        assert_eq!(data.select(&[false, true, true]).features(2), &[1.0, 3.0]);
        let data = data.grouped(vec![7, 8, 9]).unwrap();
        assert_eq!(data.select(&[true, false, true]).map_labels(|y| y).groups(), Some(&[7, 9][..]));
        assert!(data.grouped(vec![1]).is_err());
    }
}
