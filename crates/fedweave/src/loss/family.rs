//! The losses by name, and what they have in common.

use std::fmt;

use crate::dataset::Dataset;
use crate::error::{Error, Result};

use super::{
    Huber, Lasso, Link, Logistic, Loss, Mixed, Multinomial, Point, Poisson, Smooth, Squared, SquaredHinge, absolute,
    quantile,
};

/// How much the losses of nodes with many and with few rows count.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum NodeWeight {
    /// `L_i` is the mean over the rows: every node counts the same.
    #[default]
    Equal,
    /// `L_i` is the sum over the rows divided by the mean number of rows: every row counts the same.
    Rows,
    /// Every unit of row weight counts this much.
    Unit(f64),
}

/// Options of all losses.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LossOptions {
    /// Adds `ridge |w|^2` at nodes with rows.
    pub ridge: f64,
    /// Adds `lasso sum_j |w_j|` at nodes with rows.
    pub lasso: f64,
    /// Spares the last feature (the intercept) from both.
    pub spare_last: bool,
    /// How much each node counts.
    pub node_weight: NodeWeight,
}

/// A loss by name, with its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Family {
    /// `(y - s)^2`.
    Squared,
    /// `|y - s|`.
    Absolute,
    /// Huber's loss.
    Huber {
        /// Threshold between quadratic and linear.
        delta: f64,
    },
    /// `log(1 + exp(-y s))`.
    Logistic,
    /// Softmax regression.
    Multinomial {
        /// Number of classes.
        classes: usize,
    },
    /// `max(0, 1 - y s)^2`.
    SquaredHinge,
    /// `exp(s) - y s`.
    Poisson,
    /// Pinball loss.
    Quantile {
        /// Level, between 0 and 1.
        q: f64,
    },
    /// `|w - x|^2`.
    Point,
}

impl LossOptions {
    /// The strength of the lasso for every feature.
    pub fn lasso_of_features(&self, features: usize) -> Vec<f64> {
        let spared = |j: usize| self.spare_last && j + 1 == features;
        (0..features).map(|j| if spared(j) { 0.0 } else { self.lasso }).collect()
    }
}

impl NodeWeight {
    /// `Rows`, with the mean number of rows taken from `data`.
    pub fn resolved(self, data: &Dataset) -> Self {
        let totals = (0..data.nodes()).map(|i| data.weights(i).iter().sum::<f64>()).filter(|t| *t > 0.0);
        let (count, sum) = totals.fold((0.0, 0.0), |(n, s), t| (n + 1.0, s + t));
        match self {
            NodeWeight::Rows if sum > 0.0 => NodeWeight::Unit(count / sum),
            other => other,
        }
    }
}

impl Family {
    /// All losses, with these parameters. Classes are still to be counted.
    pub fn all(huber_delta: f64, quantile: f64) -> [Self; 9] {
        [
            Family::Squared,
            Family::Absolute,
            Family::Huber { delta: huber_delta },
            Family::Logistic,
            Family::Multinomial { classes: 0 },
            Family::SquaredHinge,
            Family::Poisson,
            Family::Quantile { q: quantile },
            Family::Point,
        ]
    }

    /// The loss with this [`name`](Family::name) and, where it has one, this parameter. Classes are still to be counted.
    pub fn named(name: &str, huber_delta: f64, quantile: f64) -> Option<Self> {
        Self::all(huber_delta, quantile).into_iter().find(|family| family.name() == name)
    }

    /// Its name in commands, files and messages; parameters are not part of it.
    pub fn name(self) -> &'static str {
        match self {
            Family::Squared => "squared",
            Family::Absolute => "absolute",
            Family::Huber { .. } => "huber",
            Family::Logistic => "logistic",
            Family::Multinomial { .. } => "multinomial",
            Family::SquaredHinge => "squared-hinge",
            Family::Poisson => "poisson",
            Family::Quantile { .. } => "quantile",
            Family::Point => "point",
        }
    }

    /// Builds the loss of all nodes. Labels 0/1 of the two-class losses become -1/+1.
    pub fn build(self, data: Dataset, options: &LossOptions) -> Result<Box<dyn Loss>> {
        let features = data.dim();
        let loss = self.build_smooth_or_kinked(data, options)?;
        if options.lasso == 0.0 || !loss.has_hessian() {
            return Ok(loss);
        }
        let strength = options.lasso_of_features(features).repeat(loss.dim() / features.max(1));
        Ok(Box::new(Lasso::new(loss, strength)))
    }

    /// The loss, still without a lasso if it has a Hessian.
    fn build_smooth_or_kinked(self, data: Dataset, options: &LossOptions) -> Result<Box<dyn Loss>> {
        Ok(match self {
            Family::Squared => Box::new(Smooth::new(Squared, data, options)?),
            Family::Absolute => Box::new(absolute(data, options)?),
            Family::Huber { delta } => {
                if !(delta > 0.0 && delta.is_finite()) {
                    return Err(Error::Parameter { name: "huber-delta", value: delta, needs: "positive" });
                }
                Box::new(Smooth::new(Huber { delta }, data, options)?)
            }
            Family::Logistic => Box::new(Smooth::new(Logistic, signed_labels(data, "logistic")?, options)?),
            Family::Multinomial { classes } => Box::new(Multinomial::new(classes, data, options)?),
            Family::SquaredHinge => {
                Box::new(Smooth::new(SquaredHinge, signed_labels(data, "squared-hinge")?, options)?)
            }
            Family::Poisson => Box::new(Smooth::new(Poisson, data, options)?),
            Family::Quantile { q } => Box::new(quantile(q, data, options)?),
            Family::Point => Box::new(Point::new(data, options)?),
        })
    }

    /// What the mean of the pointwise loss is called.
    pub fn error_name(self) -> &'static str {
        match self {
            Family::Squared => "mean squared error",
            Family::Absolute => "mean absolute error",
            Family::Huber { .. } => "mean Huber loss",
            Family::Logistic | Family::Multinomial { .. } => "mean log-loss",
            Family::SquaredHinge => "mean squared hinge loss",
            Family::Poisson => "mean Poisson deviance",
            Family::Quantile { .. } => "mean pinball loss",
            Family::Point => "mean squared distance",
        }
    }

    /// True if labels are classes.
    pub fn is_classifier(self) -> bool {
        self.link().is_some_and(Link::is_classifier)
    }

    /// True if the minimum may not be attained: probability models on data they can separate.
    pub fn may_lack_minimiser(self) -> bool {
        matches!(self, Family::Logistic | Family::Multinomial { .. } | Family::Poisson)
    }

    /// Number of parameters of a model on `features` features.
    pub fn dim(self, features: usize) -> usize {
        match self {
            Family::Multinomial { classes } => classes * features,
            _ => features,
        }
    }
}

/// The losses of all nodes: one family, or one per node.
#[derive(Debug, Clone, PartialEq)]
pub enum LossSpec {
    /// The same loss everywhere.
    Same(Family),
    /// `families[i]` at node `i`; all must have the same number of parameters.
    PerNode(Vec<Family>),
}

impl LossSpec {
    /// The family of a node.
    pub fn family(&self, node: usize) -> Family {
        match self {
            LossSpec::Same(family) => *family,
            LossSpec::PerNode(families) => families[node],
        }
    }

    /// Builds the loss of all nodes.
    pub fn build(&self, data: Dataset, options: &LossOptions) -> Result<Box<dyn Loss>> {
        match self {
            LossSpec::Same(family) => family.build(data, options),
            LossSpec::PerNode(of) => mixed(of, &data, options),
        }
    }
}

/// One loss per distinct family, each with the rows of its own nodes.
fn mixed(of: &[Family], data: &Dataset, options: &LossOptions) -> Result<Box<dyn Loss>> {
    if of.len() != data.nodes() {
        return Err(Error::Size { what: "losses of nodes", expected: data.nodes(), found: of.len() });
    }
    let mut distinct: Vec<Family> = Vec::new();
    let mut position = Vec::with_capacity(of.len());
    for family in of {
        position.push(distinct.iter().position(|f| f == family).unwrap_or_else(|| {
            distinct.push(*family);
            distinct.len() - 1
        }));
    }
    let of_row: Vec<usize> = (0..data.nodes()).flat_map(|i| data.rows(i).map(move |_| i)).collect();
    // The mean number of rows is that of all nodes, not of a family's own.
    let options = LossOptions { node_weight: options.node_weight.resolved(data), ..*options };
    let build = |(k, family): (usize, &Family)| {
        let keep: Vec<bool> = of_row.iter().map(|&i| position[i] == k).collect();
        family.build(data.select(&keep), &options)
    };
    let families = distinct.iter().enumerate().map(build).collect::<Result<Vec<_>>>()?;
    Ok(Box::new(Mixed::new(families, position)?))
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Maps labels 0/1 to -1/+1 if no label is -1; a mixture of -1, 0 and 1 is an error.
fn signed_labels(data: Dataset, loss: &'static str) -> Result<Dataset> {
    let needs = "labels -1 and 1, or 0 and 1, not a mixture of both";
    let has = |label: f64| data.y().iter().position(|&y| y == label);
    if let (Some(_), Some(row)) = (has(-1.0), has(0.0)) {
        return Err(Error::Label { row, label: 0.0, loss, needs });
    }
    Ok(data.map_labels(|y| if y == 0.0 { -1.0 } else { y }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loss_is_found_by_its_name() {
        for family in Family::all(0.5, 0.9) {
            assert_eq!(Family::named(&family.to_string(), 0.5, 0.9), Some(family));
        }
        assert_eq!(Family::named("cubic", 1.0, 0.5), None);
    }
}
