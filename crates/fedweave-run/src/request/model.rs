//! What is fitted: the losses, the penalty, and what is done to the features.

use fedweave::loss::{Family, LossOptions, LossSpec, NodeWeight};
use fedweave::matrix::Matrix;
use fedweave::penalty::Penalty;
use fedweave_io::Input;

use super::penalty::PenaltyChoice;
use super::settings::Reader;
use crate::error::{Error, Result, refuse, require};

/// Losses and penalty, before the data are known.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelChoice {
    /// The loss, before the number of classes is known.
    pub family: Family,
    /// Where nodes differ: the column that names the loss of each.
    pub loss_column: Option<String>,
    /// Ridges to choose from; most jobs have one.
    pub ridges: Vec<f64>,
    /// Options of the loss, with the first ridge.
    pub options: LossOptions,
    /// The penalty.
    pub penalty: PenaltyChoice,
    /// Features are scaled to mean 0 and deviation 1.
    pub standardize: bool,
    /// Nodes without rows or edges are errors.
    pub strict: bool,
    /// Somebody said which ridge.
    pub ridge_told: bool,
    intercept: bool,
    shape: Shape,
}

/// Numbers that some losses need.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shape {
    huber_delta: f64,
    quantile: f64,
}

impl ModelChoice {
    /// Losses and penalty; `ridges` are those of a job that nobody told any.
    pub(super) fn read(reader: &Reader, ridges: &[f64], matrix: Option<Matrix>) -> Result<Self> {
        let shape = Shape {
            huber_delta: reader.number("huber-delta").unwrap_or(1.0),
            quantile: reader.number("quantile").unwrap_or(0.5),
        };
        let family = family(reader.text("loss").unwrap_or("squared"), shape)?;
        let ridge_told = reader.has("ridge");
        let ridges = reader.numbers_from("ridge", 0.0)?.unwrap_or_else(|| ridges.to_vec());
        let lasso = reader.number_from("lasso", 0.0)?.unwrap_or(0.0);
        let weights = [("equal", NodeWeight::Equal), ("rows", NodeWeight::Rows)];
        let intercept = !reader.flag("no-intercept") && family != Family::Point;
        let node_weight = reader.choice("node-weight", &weights)?;
        Ok(ModelChoice {
            options: LossOptions { ridge: ridges[0], lasso, spare_last: intercept, node_weight },
            loss_column: reader.string("loss-column"),
            penalty: PenaltyChoice::read(reader, matrix)?,
            standardize: reader.flag("standardize"),
            strict: reader.flag("strict"),
            ridge_told,
            intercept,
            family,
            ridges,
            shape,
        })
    }

    /// True if the last feature is an intercept.
    pub fn intercept(&self) -> bool {
        self.intercept
    }

    /// Refuses several ridges, for jobs that do not choose.
    pub(super) fn one_ridge(&self) -> Result<()> {
        require!(self.ridges.len() == 1, "--ridge takes one number here; `fedweave compare` chooses from a list");
        Ok(())
    }

    /// The loss, now that the data are known.
    pub fn loss(&self, input: &Input) -> Result<LossSpec> {
        let Some(column) = &self.loss_column else {
            return Ok(LossSpec::Same(match self.family {
                Family::Multinomial { .. } => Family::Multinomial { classes: input.classes.len() },
                other => other,
            }));
        };
        let Some(named) = input.per_node.iter().find(|c| &c.name == column) else {
            return Err(Error::Request(format!("--loss-column {column}: there is no such column")));
        };
        let of = |value: &Option<String>| value.as_deref().map_or(Ok(self.family), |name| family(name, self.shape));
        let families = named.values.iter().map(of).collect::<Result<Vec<_>>>()?;
        let odd = families.iter().find(|f| matches!(f, Family::Multinomial { .. } | Family::Point));
        if let Some(odd) = odd {
            refuse!("--loss-column: {odd} has parameters of its own kind and cannot be mixed with other losses");
        }
        Ok(LossSpec::PerNode(families))
    }

    /// The same losses with another penalty.
    #[must_use]
    pub fn with_penalty(self, penalty: PenaltyChoice) -> Self {
        ModelChoice { penalty, ..self }
    }

    /// The penalty on models of `input`.
    pub fn penalty(&self, input: &Input) -> Result<Box<dyn Penalty>> {
        let dim = match self.loss(input)? {
            LossSpec::Same(family) => family.dim(input.features.len()),
            LossSpec::PerNode(_) => input.features.len(),
        };
        self.penalty.build(&input.features, dim)
    }
}

fn family(name: &str, shape: Shape) -> Result<Family> {
    let Shape { huber_delta, quantile } = shape;
    let Some(family) = Family::named(name, huber_delta, quantile) else {
        refuse!(
            "--loss {name}: unknown; use squared, absolute, huber, logistic, multinomial, squared-hinge, poisson, quantile or point"
        )
    };
    match family {
        Family::Huber { .. } => {
            require!(huber_delta > 0.0 && huber_delta.is_finite(), "--huber-delta {huber_delta}: must be positive");
        }
        Family::Quantile { .. } => {
            require!(quantile > 0.0 && quantile < 1.0, "--quantile {quantile}: must be between 0 and 1, exclusive");
        }
        _ => {}
    }
    Ok(family)
}
