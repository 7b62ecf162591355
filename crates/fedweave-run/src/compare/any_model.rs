//! Models of any class, coupled by predictions and alone, judged on the test rows of a split.

use fedweave::compare::{Rival, held_out};
use fedweave::learn::race::Cost;
use fedweave::matrix::Rows;
use fedweave::split::{Part, Split};
use fedweave_io::Input;

use crate::error::Result;
use crate::model_file::predict;
use crate::relax::relax;
use crate::request::RelaxRequest;
use crate::watch::Observer;

/// Their names in tables.
const NETWORKED: &str = "--model, networked";
const ALONE: &str = "--model, alone";

/// Fits them without the test rows; the networked ones choose lambda on rows that they hold out themselves.
pub(super) fn judge(
    request: &RelaxRequest,
    input: &Input,
    split: &Split,
    observer: &dyn Observer,
) -> Result<[Rival; 2]> {
    let trained: Vec<bool> = split.mask(Part::Test).iter().map(|test| !test).collect();
    let rows = input.select(&trained);
    let test = input.select(&held_out(&input.data, &rows.data, split, Part::Test));
    let judged = |name: &'static str, request: RelaxRequest| -> Result<Rival> {
        let fit = relax(request, rows.clone(), observer)?;
        let mut predictions = vec![0.0; test.data.len()];
        let rows = fit.models.scaling.as_ref().map_or_else(|| test.data.clone(), |scaling| scaling.apply(&test.data));
        for node in 0..test.names.len() {
            for row in test.data.rows(node) {
                predictions[row] = predict(&fit.models, node, Rows::new(rows.dim(), rows.x(row)))?.number();
            }
        }
        let chosen = fit.lambda.to_string();
        Ok(Rival { name, test: Cost::Squared.errors(&test.data, &predictions), confusion: None, chosen })
    };
    let mut alone = RelaxRequest { lambda: Some(0.0), ..request.clone() };
    alone.held_out.spec = None;
    Ok([judged(NETWORKED, request.clone())?, judged(ALONE, alone)?])
}
