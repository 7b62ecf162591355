//! Who is kept out, and let in again: what can be asked for.

use std::fs;
use std::path::Path;

use super::{ProcessError, at};
use crate::config::PartSettings;
use crate::plan::DeadPolicy;

/// The folder of those who are to be let in again, by name.
const PARDONS: &str = "pardon";

/// Refuses a quarantine that could not be carried out.
pub(super) fn check(settings: &PartSettings, factor: f64) -> Result<(), ProcessError> {
    let plan = &settings.plan;
    let why = match () {
        () if !(factor > 1.0 && factor.is_finite()) => "FACTOR must be a number above 1, e.g. 5",
        () if plan.patience.policy != DeadPolicy::Continue => {
            "needs policy = \"continue\" in [silence]: a part that waits for every neighbour cannot go on without one"
        }
        () if plan.models.is_some() || plan.coupling.is_some() || plan.method.is_async() => {
            "judges models with parameters that are sent in step, with a coupling that is given"
        }
        () if settings.privacy.as_ref().is_some_and(|(privacy, _)| privacy.on_gradients()) => {
            "does not go with method = \"gradients\" in [privacy]: who is kept out would tell about rows"
        }
        () => return Ok(()),
    };
    Err(ProcessError::Quarantine { why })
}

/// Asks the running process of a part to let a neighbour in again.
pub fn pardon(settings: &PartSettings, neighbour: &str) -> Result<(), ProcessError> {
    let state = &settings.state;
    if !state.is_dir() {
        return Err(ProcessError::NotRunYet { state: state.clone() });
    }
    if !settings.plan.peers.iter().any(|name| name == neighbour) {
        return Err(ProcessError::NoNeighbour { name: neighbour.into() });
    }
    let folder = state.join(PARDONS);
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    let path = folder.join(neighbour);
    fs::write(&path, b"").map_err(at(&path))
}

/// Neighbours that are to be let in again; what was asked for is asked for once.
pub(super) fn pardons(state: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(state.join(PARDONS)) else { return Vec::new() };
    let files = entries.flatten().filter(|entry| fs::remove_file(entry.path()).is_ok());
    files.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}
