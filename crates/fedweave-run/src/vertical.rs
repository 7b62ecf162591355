//! Parties hold columns of the same rows: one model, found by exchanging scores.

mod rows;
mod words;

use fedweave::Matrix;
use fedweave::learn::race::Cost;
use fedweave::split::{Part, Split};
use fedweave::vertical::{VerticalFit, VerticalOptions, fit_vertical};
use fedweave_io::{Encoding, RunEncoding, RunWriter};

use crate::error::{Place, Result, require};
use crate::request::vertical::VerticalRequest;
use crate::run_dir::{COLUMNS, CONFIG, ENCODING, write_summary};
pub use rows::{PartyRows, read};
pub use words::{summary, text};

/// One model, its parts known to the parties.
pub struct VerticalResult {
    /// What was asked for.
    pub request: VerticalRequest,
    /// The rows that all parties have.
    pub rows: PartyRows,
    /// What was found.
    pub fit: VerticalFit,
    /// Mean cost on the rows trained with, and on those held out.
    pub errors: [Option<f64>; 2],
}

/// Reads the tables of all parties, matches their rows, and fits.
pub fn vertical(request: VerticalRequest) -> Result<VerticalResult> {
    let rows = read(&request)?;
    let split = match &request.held_out {
        Some(spec) => fedweave::split::split(&rows.labels(), None, spec)?,
        None => Split { part: vec![Part::Train; rows.keys.len()] },
    };
    let part = |part: Part| rows.select(&split.mask(part));
    let (train, validation) = (part(Part::Train), part(Part::Validation));
    require!(request.held_out.is_none() || !validation.y.is_empty(), "--validation: too few rows to hold any out");
    let options = VerticalOptions {
        family: request.model.family,
        ridge: request.model.options.ridge,
        intercept: request.model.intercept(),
        standardize: request.model.standardize,
        tolerance: request.tolerance,
    };
    let fit = fit_vertical(&train.x, rows.holder, &train.y, &options).at(rows.label_place())?;
    let cost = Cost::of(request.model.family);
    let error = |some: &PartyRows| cost.and_then(|cost| some.error(&fit, cost));
    let errors = [error(&train), error(&validation)];
    Ok(VerticalResult { request, rows, fit, errors })
}

/// Writes the run directory; returns where it is.
pub fn write_run(result: &VerticalResult, writer: RunWriter) -> Result<std::path::PathBuf> {
    let rows = &result.rows;
    let mut encoding = Encoding { node: String::new(), ..rows.encodings[rows.holder].clone() };
    encoding.features = rows.encodings.iter().flat_map(|one| one.features.clone()).collect();
    encoding.intercept = result.fit.intercept.is_some();
    let w: Vec<f64> = result.fit.w.iter().flatten().copied().chain(result.fit.intercept).collect();
    writer.write_parameters(
        &encoding.names(),
        &[Encoding::EVERYBODY.to_owned()],
        &Matrix::from_rows(w.len(), w.clone()),
    )?;
    let labels = encoding.binary.clone().unwrap_or_else(|| rows.labels_as_written());
    writer.write_json(ENCODING, &RunEncoding { loss: result.request.model.family.to_string(), labels, encoding })?;
    writer.write_csv(COLUMNS.0, &COLUMNS.1, result.columns())?;
    writer.write_text(CONFIG, &result.request.naming.config())?;
    write_summary(&writer, &summary(result))?;
    Ok(writer.finish()?)
}

impl VerticalResult {
    /// Party, column and parameter.
    fn columns(&self) -> impl Iterator<Item = [String; 3]> + '_ {
        let of_party = move |p: usize| {
            let names = self.rows.columns[p].iter().zip(&self.fit.w[p]);
            names.map(move |(name, w)| [self.rows.files[p].clone(), name.clone(), w.to_string()])
        };
        let intercept =
            self.fit.intercept.map(|b| [self.rows.files[self.rows.holder].clone(), "intercept".into(), b.to_string()]);
        (0..self.rows.files.len()).flat_map(of_party).chain(intercept)
    }
}
