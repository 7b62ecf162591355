//! How this program calls itself: parts of a federation are processes of it, and the transport wants a fresh start.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, ensure};
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
pub fn ourselves() -> Result<Command> {
    if let Some(text) = std::env::var_os(VARIABLE) {
        let list = text.to_str().and_then(|text| serde_json::from_str::<Vec<String>>(text).ok());
        let words = list.with_context(|| format!("{VARIABLE}: not a JSON list of words"))?;
        ensure!(!words.is_empty() && !words[0].is_empty(), "{VARIABLE}: the list is empty");
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        return Ok(command);
    }
    Ok(Command::new(std::env::current_exe().context("where is this program?")?))
}

/// The transport wants an environment variable, which only a new program can have from its start: this one replaces itself.
pub fn with_right_runtime() -> Result<()> {
    if std::env::var(RUNTIME.0).as_deref() == Ok(RUNTIME.1) {
        return Ok(());
    }
    let words = WORDS.get().map_or(&[][..], Vec::as_slice);
    let failed = ourselves()?.args(words).env(RUNTIME.0, RUNTIME.1).exec();
    Err(failed).context("the program cannot start itself again")
}
