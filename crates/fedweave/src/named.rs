//! Rows with the names of their nodes: the shortest way from data to predictions.
//!
//! Everything else in this crate numbers nodes. Here they have names, are numbered in byte order of these (as everywhere in
//! Fedweave, so the answers have the same bits), and an intercept is added.

use std::collections::BTreeSet;
use std::ops::Deref;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::loss::{Family, LossOptions, Prediction};
use crate::matrix::Matrix;
use crate::penalty::Penalty;
use crate::problem::Problem;
use crate::solve::{Settings, Solution};

/// Rows of several nodes: a name, features and a label each.
///
/// ```
/// use fedweave::{Family, NamedRows, penalty::Norm2};
/// let rows = [("oslo", [0.0], 1.0), ("oslo", [1.0], 3.0), ("bergen", [0.0], 1.1), ("bergen", [2.0], 4.9)];
/// let problem = NamedRows::new(rows)?.problem([("oslo", "bergen", 1.0)], Family::Squared, Norm2, 0.01)?;
/// let solution = problem.solve();
/// assert!(solution.certified_gap.unwrap() < 1e-5);
/// assert!((solution.predict("oslo", &[2.0])?.number() - 5.0).abs() < 0.2);
/// # Ok::<(), fedweave::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NamedRows {
    names: Vec<String>,
    features: usize,
    x: Vec<f64>,
    y: Vec<f64>,
    options: LossOptions,
}

/// A problem whose nodes have names.
pub struct NamedProblem {
    /// In byte order: node `i` of the problem is `names[i]`.
    pub names: Vec<String>,
    /// The loss of all nodes.
    pub family: Family,
    /// The problem; an intercept is the last parameter of every model.
    pub problem: Problem,
    features: usize,
}

/// The models of named nodes.
#[derive(Debug, Clone)]
pub struct NamedSolution {
    /// In byte order: row `i` of the models is that of `names[i]`.
    pub names: Vec<String>,
    /// The loss of all nodes.
    pub family: Family,
    features: usize,
    solution: Solution,
}

impl NamedRows {
    /// Rows of `(name, features, label)`; all must have the same number of features.
    pub fn new<N: ToString, X: AsRef<[f64]>>(rows: impl IntoIterator<Item = (N, X, f64)>) -> Result<Self> {
        let options = LossOptions { spare_last: true, ..LossOptions::default() };
        let mut made = NamedRows { names: Vec::new(), features: 0, x: Vec::new(), y: Vec::new(), options };
        for (name, x, y) in rows {
            let found = x.as_ref().len();
            if made.names.is_empty() {
                made.features = found;
            }
            if found != made.features {
                return Err(Error::Size { what: "features of a row", expected: made.features, found });
            }
            made.names.push(name.to_string());
            made.x.extend_from_slice(x.as_ref());
            made.y.push(y);
        }
        Ok(made)
    }

    /// The same without an intercept.
    pub fn without_intercept(mut self) -> Self {
        self.options.spare_last = false;
        self
    }

    /// The same with `ridge |w|^2` at nodes with rows, sparing the intercept.
    pub fn ridge(mut self, ridge: f64) -> Self {
        self.options.ridge = ridge;
        self
    }

    /// The problem on these rows and edges of `(name, name, weight)`. Nodes without rows may be named by edges. Classes
    /// that are still to be counted are counted.
    pub fn problem<A: ToString, B: ToString>(
        &self,
        edges: impl IntoIterator<Item = (A, B, f64)>,
        family: Family,
        penalty: impl Penalty + 'static,
        lambda: f64,
    ) -> Result<NamedProblem> {
        let edges: Vec<(String, String, f64)> =
            edges.into_iter().map(|(a, b, weight)| (a.to_string(), b.to_string(), weight)).collect();
        let mut all: BTreeSet<&String> = self.names.iter().collect();
        all.extend(edges.iter().flat_map(|(a, b, _)| [a, b]));
        let names: Vec<String> = all.into_iter().cloned().collect();
        // Every name is one of them.
        let number = |name: &String| names.partition_point(|n| n < name);
        let edges: Vec<_> = edges.iter().map(|(a, b, weight)| (number(a), number(b), *weight)).collect();
        let graph = Graph::new(names.len(), &edges)?;
        let family = self.counted(family);
        // Points have no intercept.
        let options = LossOptions { spare_last: self.options.spare_last && family.link().is_some(), ..self.options };
        let data = self.dataset(names.len(), number, options.spare_last)?;
        let problem = Problem::build(graph, family.build(data, &options)?, Box::new(penalty), lambda)?;
        Ok(NamedProblem { names, family, problem, features: self.features })
    }

    fn counted(&self, family: Family) -> Family {
        match family {
            Family::Multinomial { classes: 0 } => {
                let top = self.y.iter().copied().fold(0.0, f64::max);
                Family::Multinomial { classes: top as usize + 1 }
            }
            other => other,
        }
    }

    fn dataset(&self, nodes: usize, number: impl Fn(&String) -> usize, intercept: bool) -> Result<Dataset> {
        let width = self.features + usize::from(intercept);
        let mut x = Matrix::zeros(self.y.len(), width);
        for row in 0..self.y.len() {
            let own = &self.x[row * self.features..(row + 1) * self.features];
            x.row_mut(row).fill(1.0);
            x.row_mut(row)[..self.features].copy_from_slice(own);
        }
        let of: Vec<usize> = self.names.iter().map(number).collect();
        Ok(Dataset::group(nodes, &of, &x, &self.y, &vec![1.0; of.len()])?.0)
    }
}

impl NamedProblem {
    /// The minimiser, to the default tolerance.
    pub fn solve(&self) -> NamedSolution {
        self.solve_with(&Settings::default())
    }

    /// The minimiser as the settings ask for it.
    pub fn solve_with(&self, settings: &Settings) -> NamedSolution {
        let (names, family, features) = (self.names.clone(), self.family, self.features);
        NamedSolution { names, family, features, solution: self.problem.solve_with(settings) }
    }
}

impl NamedSolution {
    /// The parameters of a node; the intercept is the last one (of every class).
    pub fn model(&self, node: &str) -> Result<&[f64]> {
        let place = self.names.binary_search_by(|name| name.as_str().cmp(node));
        place.map(|i| self.solution.w.row(i)).map_err(|_| Error::UnknownName { name: node.into() })
    }

    /// What the model of a node says about a row.
    pub fn predict(&self, node: &str, x: &[f64]) -> Result<Prediction> {
        let w = self.model(node)?;
        if x.len() != self.features {
            return Err(Error::Size { what: "features of a row", expected: self.features, found: x.len() });
        }
        let mut row = x.to_vec();
        row.resize(w.len() / self.family.dim(1), 1.0);
        let needs = "a loss that predicts rows";
        self.family.predict(&row, w).ok_or(Error::Method { method: "predict", needs })
    }
}

impl Deref for NamedSolution {
    type Target = Solution;

    fn deref(&self) -> &Solution {
        &self.solution
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::penalty::Norm2;

    #[test]
    fn rows_in_any_order_belong_to_their_nodes() {
        let rows = [("b", [2.0], 5.0), ("a", [0.0], 1.0), ("b", [0.0], 1.0), ("a", [1.0], 0.0), ("b", [1.0], 3.0)];
        let problem = NamedRows::new(rows).unwrap().problem([("a", "c", 1.0)], Family::Squared, Norm2, 0.0).unwrap();
        assert_eq!(problem.names, ["a", "b", "c"]);
        let solution = problem.solve();
        let near = |found: &[f64], w: [f64; 2]| found.iter().zip(w).all(|(f, w)| (f - w).abs() < 1e-6);
        assert!(near(solution.model("a").unwrap(), [-1.0, 1.0]) && near(solution.model("b").unwrap(), [2.0, 1.0]));
        assert!((solution.predict("b", &[3.0]).unwrap().number() - 7.0).abs() < 1e-6);
        assert_eq!(solution.predict("d", &[3.0]), Err(Error::UnknownName { name: "d".into() }));
        assert!(solution.predict("b", &[3.0, 4.0]).is_err());
    }

    #[test]
    fn classes_are_counted_and_points_have_no_intercept() {
        let rows = [("a", [-1.0], 0.0), ("a", [0.0], 1.0), ("a", [1.0], 2.0), ("a", [1.2], 1.0), ("a", [-0.5], 2.0)];
        let named = NamedRows::new(rows).unwrap().ridge(0.1);
        let none: [(&str, &str, f64); 0] = [];
        let softmax = named.problem(none, Family::Multinomial { classes: 0 }, Norm2, 1.0).unwrap();
        assert_eq!((softmax.family, softmax.problem.dim()), (Family::Multinomial { classes: 3 }, 6));
        let Prediction::Class { probabilities, .. } = softmax.solve().predict("a", &[0.0]).unwrap() else {
            panic!("a class")
        };
        assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let points = named.problem(none, Family::Point, Norm2, 1.0).unwrap();
        assert_eq!(points.problem.dim(), 1);
        assert!(points.solve().predict("a", &[0.0]).is_err());
        assert!(NamedRows::new([("a", vec![1.0], 0.0), ("a", vec![], 0.0)]).is_err());
    }
}
