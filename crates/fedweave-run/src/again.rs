//! A run directory, fitted once more: for jobs that need more than the models that were written down.

use std::path::Path;

use fedweave_io::load;

use crate::error::{Place, Result, require};
use crate::fit::{FitResult, fit};
use crate::request::{FitRequest, RelaxRequest, Settings, TuneRequest};
use crate::run_dir::CONFIG;
use crate::watch::Observer;

/// The request of a run, to be changed and carried out again.
pub fn request(run: &Path) -> Result<(FitRequest, fedweave_io::InputSpec)> {
    let shown = run.display();
    let settings =
        Settings::read(&run.join(CONFIG)).at(format!("{shown} is not a run directory of `fedweave fit --out`"))?;
    require!(
        !RelaxRequest::is_meant(&settings) && !TuneRequest::is_meant(&settings),
        "{shown} holds models without one vector of parameters per node (--model, --tune, --recipe): this needs a run of plain `fedweave fit`"
    );
    FitRequest::of_files(&settings)
}

/// Fits the models of a run again, from the files that it was made from.
pub fn again(run: &Path, observer: &dyn Observer) -> Result<FitResult> {
    let (request, spec) = request(run)?;
    fit(request, load(&spec)?, observer)
}
