//! `fedweave demo`: the main job on data that ship with the program.

use anyhow::Result;
use clap::Args;

use crate::Exit;

/// Fit weather stations of Finland
#[derive(Args)]
pub struct DemoArgs {}

pub fn run(_args: &DemoArgs) -> Result<Exit> {
    Ok(Exit::Done)
}
