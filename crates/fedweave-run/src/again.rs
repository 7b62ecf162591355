//! A run directory, fitted once more: for jobs that need more than the models that were written down.

use std::path::Path;

use fedweave_io::load;

use crate::error::{Place, Result, require};
use crate::fit::{FitResult, fit};
use crate::request::keys::find;
use crate::request::{FitRequest, Job, RelaxRequest, Settings, TuneRequest, Value};
use crate::run_dir::CONFIG;
use crate::watch::Observer;

/// The request of a run, to be changed and carried out again.
pub fn request(run: &Path) -> Result<(FitRequest, fedweave_io::InputSpec)> {
    let shown = run.display();
    let settings =
        Settings::read(&run.join(CONFIG)).at(format!("{shown} is not a run directory of `fedweave fit --out`"))?;
    let settings = on_one_machine(settings);
    require!(
        !RelaxRequest::is_meant(&settings) && !TuneRequest::is_meant(&settings),
        "{shown} holds models without one vector of parameters per node (--model, --tune, --recipe): this needs a run of plain `fedweave fit`"
    );
    FitRequest::of_files(&settings)
}

/// The settings of a federation, as one machine carries them out: the models are the same.
fn on_one_machine(settings: Settings) -> Settings {
    let learnt = matches!(settings.get("coupling"), Some(Value::Text(rule)) if rule == "learnt");
    let launch = |name: &&str| find(name).is_some_and(|key| !key.is_for(Job::Fit)) || (*name == "parts" && !learnt);
    let of_launch: Vec<&str> = settings.names().filter(launch).collect();
    let counted = settings.has("rounds") && !settings.has("solver");
    let settings = settings.without(&of_launch);
    if counted { settings.with("solver", Value::Text("primal-dual".into())) } else { settings }
}

/// Fits the models of a run again, from the files that it was made from.
pub fn again(run: &Path, observer: &dyn Observer) -> Result<FitResult> {
    let (request, spec) = request(run)?;
    require!(
        request.privacy.is_none(),
        "{}: its rows are protected (--dp-epsilon), and fitting them again would be one more release of them",
        run.display()
    );
    fit(request, load(&spec)?, observer)
}
