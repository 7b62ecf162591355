//! What may be spent, and on what.

use fedweave::trust::privacy::accountant::noise;
use fedweave::trust::privacy::spread::narrower;
use fedweave::trust::privacy::statistics::Ranges;
use fedweave_io::{Input, Noise};

use crate::error::Result;
use crate::request::FitRequest;
use crate::request::privacy::PrivacyChoice;

/// Share of epsilon and delta that narrower ranges cost.
const NARROW_SHARE: f64 = 0.05;

/// The ranges that a fit works with, and what is left of the budget: epsilon and delta.
pub(super) fn known(
    request: &FitRequest,
    choice: &PrivacyChoice,
    input: &Input,
    ranges: Ranges,
    source: &mut Noise,
) -> Result<(Ranges, (f64, f64))> {
    let (epsilon, delta) = (choice.epsilon, choice.delta);
    if !choice.narrow {
        return Ok((ranges, (epsilon, delta)));
    }
    // Shares of epsilon and delta add up, whatever is released.
    let multiplier = noise((NARROW_SHARE * epsilon, NARROW_SHARE * delta), 1.0, 1)?;
    let mut columns = narrower(&input.data, &ranges, multiplier, source)?;
    let target = columns.pop().expect("the target is the last");
    let left = 1.0 - NARROW_SHARE;
    Ok((Ranges::new(columns, target, choice.clip, request.model.intercept())?, (left * epsilon, left * delta)))
}
