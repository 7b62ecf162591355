//! `fedweave certs`: the authority of a federation.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand};
use comfy_table::Table;
use fedweave_node::certs::{Authority, Validity};

use crate::{Exit, say};
use fedweave_run::wording::counted;

pub const EXAMPLES: &str = "\
Examples:
  fedweave certs init
  fedweave certs issue east@10.0.0.1 north@10.0.0.2 west@west.example.org
  fedweave certs issue wharf@10.0.0.4                 one more, later: the others keep theirs
  fedweave certs show
  fedweave certs revoke north                          then copy certs/crl.pem to the other hosts";

/// Certificates of a federation
#[derive(Subcommand)]
pub enum CertsCommand {
    /// Make a new authority: its key, certificate and empty revocation list
    Init {
        #[command(flatten)]
        place: Place,
        /// Name of the authority, for people
        #[arg(long, default_value = "Fedweave federation")]
        title: String,
    },
    /// Issue certificates, each for a part and the hosts under which others dial it
    Issue {
        #[command(flatten)]
        place: Place,
        /// NAME or NAME@HOST[,HOST...] [default hosts: localhost, 127.0.0.1, ::1]
        #[arg(required = true, value_name = "PART")]
        parts: Vec<String>,
        /// Valid for so many days
        #[arg(long, default_value_t = 365)]
        days: i64,
    },
    /// What was issued, until when it is good, what was revoked
    Show {
        #[command(flatten)]
        place: Place,
    },
    /// Put all certificates of parts onto the revocation list
    Revoke {
        #[command(flatten)]
        place: Place,
        /// Names of parts
        #[arg(required = true, value_name = "PART")]
        parts: Vec<String>,
    },
}

/// Where the authority lives.
#[derive(Args)]
pub struct Place {
    /// Folder of the authority; its key must not leave it
    #[arg(long, default_value = "certs", value_name = "DIR")]
    dir: PathBuf,
}

pub fn run(command: &CertsCommand) -> Result<Exit> {
    fedweave_node::private::shut_out_others();
    match command {
        CertsCommand::Init { place, title } => init(&place.dir, title)?,
        CertsCommand::Issue { place, parts, days } => issue(&place.dir, parts, *days)?,
        CertsCommand::Show { place } => show(&place.dir)?,
        CertsCommand::Revoke { place, parts } => revoke(&place.dir, parts)?,
    }
    Ok(Exit::Done)
}

fn init(dir: &Path, title: &str) -> Result<()> {
    let authority = Authority::init(dir, title)?;
    let (federation, dir) = (authority.federation(), dir.display());
    say(&format!(
        "federation {federation}\n{dir}/ca.key   signs certificates: keep it here, and safe\n\
         {dir}/ca.pem   every part needs a copy\n{dir}/crl.pem  the revocation list: every part needs a copy"
    ))
}

fn open(dir: &Path) -> Result<Authority> {
    Authority::open(dir)
        .with_context(|| format!("no authority in {}; make one with `fedweave certs init`", dir.display()))
}

fn issue(dir: &Path, parts: &[String], days: i64) -> Result<()> {
    ensure!((1..=36_500).contains(&days), "--days {days}: between 1 and 36500");
    let mut authority = open(dir)?;
    for part in parts {
        let (name, hosts) = part.split_once('@').unwrap_or((part, "localhost,127.0.0.1,::1"));
        let hosts: Vec<String> = hosts.split(',').map(String::from).collect();
        ensure!(hosts.iter().all(|h| !h.is_empty()), "`{part}`: write NAME@HOST or NAME@HOST,HOST");
        let identity = authority.issue(name, &hosts, Validity::days(days))?;
        let shown = dir.display();
        say(&format!("{identity}  {}  {days} days  {shown}/{name}.pem {shown}/{name}.key", hosts.join(",")))?;
    }
    Ok(())
}

fn show(dir: &Path) -> Result<()> {
    let authority = open(dir)?;
    let mut table = Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    table.set_header(["part", "issue", "state", "until", "days left", "hosts", "fingerprint"]);
    let now = fedweave_node::run::now_ms() as i64 / 1000;
    for issued in authority.register() {
        let days = (issued.until - now).max(0) / 86_400;
        let cells = [
            issued.name.clone(),
            issued.issue.to_string(),
            issued.state(now).into(),
            issued.last_day(),
            days.to_string(),
        ];
        table.add_row(cells.into_iter().chain([issued.hosts.join(","), issued.fingerprint[..16].into()]));
    }
    say(&format!("federation {}\n{table}", authority.federation()))
}

fn revoke(dir: &Path, parts: &[String]) -> Result<()> {
    let mut authority = open(dir)?;
    for part in parts {
        let count = authority.revoke(part)?;
        say(&format!("{part}: {} revoked", counted(count, "certificate")))?;
    }
    say(&format!("copy {}/crl.pem to the other parts: they look at it every few seconds", dir.display()))
}
