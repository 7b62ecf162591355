//! Attacks on the models of the choices: how much it takes to do harm, as `fedweave attack` finds it.

use fedweave_io::load;
use fedweave_run::request::{AttackRequest, Settings};
use fedweave_run::trust::attack::{AttackResult, COLUMNS, attack};
use fedweave_run::{Error, Result};
use serde_json::{Value as Json, json};

use crate::job::Watcher;

/// What a page may say about an attack; files and columns are those of the choices.
const ASKED: [&str; 4] = ["kind", "victim", "budget", "raise"];
/// Choices for a fit that an attack has no use for, and that change nothing of it.
const NOT_ATTACKED: [&str; 1] = ["calibrate"];

/// The choices, and what is asked of the attack.
pub fn settings(choices: Settings, asked: &Settings) -> Settings {
    let strange: Vec<&str> = asked.names().filter(|name| !ASKED.contains(name)).collect();
    choices.without(&NOT_ATTACKED).under(asked.clone().without(&strange))
}

/// What is shown of an attack.
pub struct Attacked {
    /// What to say to have it again.
    pub settings: Settings,
    result: AttackResult,
}

impl Attacked {
    /// Attacks.
    pub fn new(settings: &Settings, watcher: &Watcher) -> Result<Attacked> {
        if settings.has("graph") {
            return Err(Error::request("attacks want edges that are given: choose nearest neighbours, or a file"));
        }
        let (request, spec) = AttackRequest::of_files(settings)?;
        let result = attack(request, load(&spec)?, watcher)?;
        watcher.refuse_if_cancelled()?;
        Ok(Attacked { settings: settings.clone(), result })
    }

    /// For the page.
    pub fn state(&self, command: &str) -> Json {
        json!({
            "command": command,
            "headline": self.result.headline(),
            "columns": COLUMNS,
            "steps": self.result.steps.iter().map(|step| step.cells()).collect::<Vec<_>>(),
            "verdict": self.result.verdict(),
        })
    }
}
