//! What users expect models to say, and how much agreeing with them counts.

use std::path::PathBuf;

use fedweave::Dataset;
use fedweave::loss::LossOptions;
use fedweave::trust::explain::with_guesses;
use fedweave_io::{Input, load_rows};

use super::settings::Reader;
use crate::error::{Error, Result, refuse, require};

/// Guesses of users, and the weight of agreeing with them.
#[derive(Debug, Clone, PartialEq)]
pub struct GuessChoice {
    /// A table like that of the rows, with guesses in the column of the target.
    pub file: PathBuf,
    /// What their mean loss counts beside that of the rows.
    pub strength: f64,
    rows: Option<Dataset>,
}

/// The weight where nobody said which.
const STRENGTH: f64 = 0.5;

impl GuessChoice {
    pub(super) fn read(reader: &Reader) -> Result<Option<GuessChoice>> {
        let Some(file) = reader.path("guesses") else { return Ok(None) };
        let strength = reader.number_from("explain", 0.0)?.unwrap_or(STRENGTH);
        require!(
            !reader.flag("standardize"),
            "--guesses does not go with --standardize: guesses are about features as they are"
        );
        require!(!reader.has("dp-epsilon"), "--guesses does not go with --dp-epsilon: guesses are not protected");
        require!(
            reader.text("coupling").is_none_or(|rule| rule == "given"),
            "--guesses does not go with --coupling learnt"
        );
        Ok(Some(GuessChoice { file, strength, rows: None }))
    }

    /// Reads the guesses, with the features of the rows.
    pub(crate) fn load(&mut self, input: &Input) -> Result<()> {
        let (shown, found) = (self.file.display(), load_rows(&self.file, &input.encoding)?);
        let Some(y) = found.y else {
            refuse!("--guesses {shown}: guesses stand in the column of the target, which the table does not have")
        };
        if let Some(r) = y.iter().position(|y| y.is_nan()) {
            refuse!("--guesses {shown}:{}: there is no guess in this row", found.lines[r]);
        }
        let place = |name: &String| {
            let unknown = || Error::request(format!("--guesses {shown}: node `{name}` has neither rows nor edges"));
            input.names.binary_search(name).map_err(|_| unknown())
        };
        let nodes = found.node.iter().map(place).collect::<Result<Vec<_>>>()?;
        self.rows = Some(Dataset::group(input.names.len(), &nodes, &found.x, &y, &vec![1.0; y.len()])?.0);
        Ok(())
    }

    /// The guesses, once they were read.
    pub fn rows(&self) -> Option<&Dataset> {
        self.rows.as_ref()
    }

    /// Rows and guesses together, and the options of their loss.
    pub(crate) fn join(&self, data: Dataset, options: &LossOptions) -> Result<(Dataset, LossOptions)> {
        match &self.rows {
            Some(guesses) => Ok(with_guesses(&data, guesses, self.strength, options)?),
            None => Ok((data, *options)),
        }
    }
}
