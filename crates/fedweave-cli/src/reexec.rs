//! How this program calls itself: parts of a federation are processes of it.

use std::io;
use std::process::Command;

/// Words that start this program, as a JSON list, e.g. `["/usr/bin/python3", "-m", "fedweave"]`: for programs that offer the
/// command line under another name, as the Python package does.
const VARIABLE: &str = "FEDWEAVE_COMMAND";

/// A command that starts this program, without words yet.
pub fn command() -> io::Result<Command> {
    let Some(text) = std::env::var_os(VARIABLE) else { return Ok(Command::new(std::env::current_exe()?)) };
    let list = text.to_str().and_then(|text| serde_json::from_str::<Vec<String>>(text).ok());
    let words = list.ok_or_else(|| io::Error::other(format!("{VARIABLE}: not a JSON list of words")))?;
    match words.split_first() {
        Some((program, more)) if !program.is_empty() => {
            let mut command = Command::new(program);
            command.args(more);
            Ok(command)
        }
        _ => Err(io::Error::other(format!("{VARIABLE}: the list is empty"))),
    }
}
