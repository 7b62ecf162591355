//! Pinball loss of the residual `r = y - s`: `q r` for `r > 0`, `(q - 1) r` for `r < 0`. Its minimiser is the `q`-quantile.

use super::{Kinked, LossOptions};
use crate::dataset::Dataset;
use crate::error::{Error, Result};

/// The loss of quantile regression at level `0 < q < 1`.
pub fn quantile(q: f64, data: Dataset, options: &LossOptions) -> Result<Kinked> {
    if !(q > 0.0 && q < 1.0) {
        return Err(Error::Parameter { name: "quantile", value: q, needs: "between 0 and 1, exclusive" });
    }
    Kinked::new(-q, 1.0 - q, data, options)
}
