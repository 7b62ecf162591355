//! `fedweave attack`: how many nodes it takes to do harm.

use anyhow::Result;
use fedweave_io::load;
use fedweave_run::request::{AttackRequest, Settings};
use fedweave_run::trust::attack::attack;

use crate::Exit;
use crate::jobs::tell;
use crate::progress::{Terminal, interrupted, use_threads};

pub const EXAMPLES: &str = "Examples:
  fedweave attack nodes.csv --edges edges.csv --target y --kind label --shift 10 --victim n001
  fedweave attack nodes.csv --edges edges.csv --target y --kind model --budget 3 --penalty norm2 --json
  fedweave attack nodes.csv --edges edges.csv --target y --kind backdoor --trigger x0=9 --penalty squared
  fedweave attack nodes.csv --edges edges.csv --target y --kind model --penalty squared --solver robust --rule cs-plus";

pub fn run(settings: &Settings) -> Result<Exit> {
    let (request, spec) = AttackRequest::of_files(settings)?;
    let output = request.fit.output.clone();
    use_threads(output.threads);
    let terminal = Terminal::new();
    let result = attack(request, load(&spec)?, &terminal)?;
    terminal.finish();
    tell(&output, || Ok(result.summary()), || Ok(result.text()))?;
    Ok(if interrupted() { Exit::Interrupted } else { Exit::Done })
}
