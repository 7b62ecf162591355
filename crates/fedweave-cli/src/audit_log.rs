//! `fedweave audit-log verify`: has anybody changed the log?

use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;
use fedweave_node::event_log::{verify, verify_since};

use crate::{Exit, say};

/// The event log of a part
#[derive(Subcommand)]
pub enum AuditCommand {
    /// Follow the chain of digests from the first line to the last
    Verify {
        /// The log: events.jsonl in the state folder of a part
        log: PathBuf,
        /// A head noted earlier: the log must still contain it
        #[arg(long, value_name = "DIGEST")]
        head: Option<String>,
    },
}

pub fn run(command: &AuditCommand) -> Result<Exit> {
    let AuditCommand::Verify { log, head } = command;
    let chain = match head {
        Some(head) => verify_since(log, head)?,
        None => verify(log)?,
    };
    let torn = if chain.torn { "; the last line was torn by a crash" } else { "" };
    let lines = match chain.first {
        1 => format!("{} lines", chain.lines),
        first => format!("lines {first} to {} (older files were removed)", chain.lines),
    };
    say(&format!("{}: {lines}, unbroken{torn}\nhead {}", log.display(), chain.head))?;
    Ok(Exit::Done)
}
