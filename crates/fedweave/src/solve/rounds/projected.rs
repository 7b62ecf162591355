//! Convex sets that models are kept in, by projection after every gradient step.

use crate::error::{Error, Result};
use crate::matrix::norm2;

/// A convex set for the model of every node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Constraint {
    /// `|w_i| <= radius`.
    Ball {
        /// The radius, positive.
        radius: f64,
    },
    /// `low <= w_ij <= high` for every coordinate.
    Box {
        /// The lower bound, may be minus infinity.
        low: f64,
        /// The upper bound, may be infinite.
        high: f64,
    },
}

impl Constraint {
    /// Checks that the set is not empty.
    pub fn check(&self) -> Result<()> {
        match *self {
            Constraint::Ball { radius } if !(radius > 0.0 && radius.is_finite()) => {
                Err(Error::Parameter { name: "radius", value: radius, needs: "positive and finite" })
            }
            Constraint::Box { low, .. } if low.is_nan() || low == f64::INFINITY => {
                Err(Error::Parameter { name: "lower bound", value: low, needs: "a number, or minus infinity" })
            }
            Constraint::Box { low, high } if !(high >= low && high > f64::NEG_INFINITY) => {
                Err(Error::Parameter { name: "upper bound", value: high, needs: "at least the lower bound" })
            }
            _ => Ok(()),
        }
    }

    /// `w <-` the nearest point of the set.
    pub fn project(&self, w: &mut [f64]) {
        match *self {
            Constraint::Ball { radius } => {
                let size = norm2(w);
                if size > radius {
                    w.iter_mut().for_each(|w| *w *= radius / size);
                }
            }
            Constraint::Box { low, high } => w.iter_mut().for_each(|w| *w = w.clamp(low, high)),
        }
    }
}
