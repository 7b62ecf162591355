//! What a race on the training and validation rows of a split finds, judged on its test rows.

use fedweave::compare::{Rival, held_out};
use fedweave::loss::Confusion;
use fedweave::split::{Part, Split};
use fedweave_io::Input;

use crate::error::Result;
use crate::request::TuneRequest;
use crate::tune::{TuneResult, tune};
use crate::watch::Observer;

/// Its name in tables.
pub(super) const NAME: &str = "tuned";

/// Runs the race without the test rows.
pub(super) fn race(
    request: &TuneRequest,
    input: &Input,
    split: &Split,
    observer: &dyn Observer,
) -> Result<(TuneResult, Rival)> {
    let trained: Vec<bool> = split.mask(Part::Test).iter().map(|test| !test).collect();
    let tuned = tune(request.clone(), input.select(&trained), observer)?;
    let test = input.select(&held_out(&input.data, &tuned.input.data, split, Part::Test));
    let predictions = tuned.predict(&test)?;
    let errors = tuned.cost.errors(&test.data, &predictions);
    let confusion = Confusion::of_probabilities(tuned.request.model.family, &test.data, &predictions);
    let rival = Rival { name: NAME, test: errors, confusion, chosen: tuned.recipe() };
    Ok((tuned, rival))
}
