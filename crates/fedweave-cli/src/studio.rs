//! `fedweave studio`: a page in the browser of this machine.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use fedweave_studio::{Options, serve};

use crate::progress::{catch_interrupts, interrupted};
use crate::{Exit, say};

pub const EXAMPLES: &str = "\
Examples:
  fedweave studio                      the tables of this folder
  fedweave studio houses.csv           a table, with guesses of what its columns are
  fedweave studio data --port 8080

Open the printed address in a browser of this machine. It holds a secret: nobody else can use the page. Ctrl-C ends it.";

/// A page in the browser
#[derive(Args)]
pub struct StudioArgs {
    /// Table to open, or folder to choose from
    #[arg(default_value = ".")]
    path: PathBuf,
    /// Port on this machine [default: any that is free]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
}

pub fn run(args: &StudioArgs) -> Result<Exit> {
    ensure!(args.path.exists(), "{}: there is no such file or folder", args.path.display());
    catch_interrupts();
    let options = Options { path: args.path.clone(), port: args.port };
    let ready = |address: &str| {
        // A reader that went away can still be served.
        let _ = say(&format!("open {address}\nCtrl-C ends the studio"));
    };
    serve(&options, ready, interrupted).with_context(|| format!("port {}: the studio cannot be served", args.port))?;
    Ok(Exit::Done)
}
