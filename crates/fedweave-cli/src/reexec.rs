//! How this program calls itself: parts of a federation are processes of it, and the transport wants a fresh start.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result};
use fedweave_node::transport::RUNTIME;

/// Words that start this program, as a JSON list, e.g. `["/usr/bin/python3", "-m", "fedweave"]`: for programs that offer the
/// command line under another name, as the Python package does.
const VARIABLE: &str = "FEDWEAVE_COMMAND";

/// The words of the command, without the program's own name.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Remembers the words of the command.
pub fn remember(words: &[OsString]) {
    WORDS.get_or_init(|| words.iter().skip(1).cloned().collect());
}

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

/// The transport wants an environment variable, which only a new program can have from its start: this one replaces itself.
pub fn with_right_runtime() -> Result<()> {
    if std::env::var(RUNTIME.0).as_deref() == Ok(RUNTIME.1) {
        return Ok(());
    }
    let words = WORDS.get().map_or(&[][..], Vec::as_slice);
    let failed = command()?.args(words).env(RUNTIME.0, RUNTIME.1).exec();
    Err(failed).context("the program cannot start itself again")
}
