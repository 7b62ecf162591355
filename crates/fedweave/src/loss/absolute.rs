//! Absolute error `|y - s|`: slopes -1 and +1 around a kink at `s = y`.

use super::{Kinked, LossOptions};
use crate::dataset::Dataset;
use crate::error::Result;

/// The loss of least absolute deviations.
pub fn absolute(data: Dataset, options: &LossOptions) -> Result<Kinked> {
    Kinked::new(-1.0, 1.0, data, options)
}
