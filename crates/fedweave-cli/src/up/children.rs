//! The processes of a federation: started together, watched, and ended by their id in every case.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use fedweave_node::metrics::ask;

use super::UpArgs;
use super::prepare::Prepared;
use crate::ourselves::ourselves;
use crate::progress::interrupted;

/// How often the children are looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How often a terminal is told.
const TELL: Duration = Duration::from_millis(300);

/// Running processes; none of them survives this value.
pub struct Children {
    running: Vec<Child>,
}

impl Children {
    /// Starts a process for every part.
    pub fn start(args: &UpArgs, prepared: &Prepared) -> Result<Children> {
        let mut children = Children { running: Vec::new() };
        for folder in &prepared.folders {
            let mut command = ourselves()?;
            command.arg("node").arg("--config").arg(folder.join("node.toml")).args(["--with-parent", "--json"]);
            if args.loopback_plaintext {
                command.arg("--loopback-plaintext");
            }
            if args.record_frames {
                command.arg("--record-frames").arg(folder.join("frames.bin"));
            }
            let output = |name: &str| File::create(folder.join(name)).with_context(|| folder.display().to_string());
            command.stdin(Stdio::piped()).stdout(output("stdout.json")?).stderr(output("stderr.txt")?);
            children.running.push(command.spawn().context("a process cannot be started")?);
        }
        Ok(children)
    }

    /// Waits for all; false if interrupted.
    pub fn wait(mut self, prepared: &Prepared, tolerance: f64) -> Result<bool> {
        let mut told = Instant::now();
        let mut ended = vec![false; self.running.len()];
        while ended.iter().any(|e| !e) {
            if interrupted() {
                return Ok(false);
            }
            for (k, child) in self.running.iter_mut().enumerate() {
                let status = if ended[k] { None } else { child.try_wait()? };
                if let Some(status) = status {
                    if !status.success() {
                        bail!("{} ended with {status}: {}", prepared.plans[k].name, last_words(prepared, k));
                    }
                    ended[k] = true;
                }
            }
            if told.elapsed() >= TELL && std::io::stderr().is_terminal() {
                told = Instant::now();
                tell(prepared, tolerance);
            }
            std::thread::sleep(LOOK);
        }
        if std::io::stderr().is_terminal() {
            eprint!("\r\x1b[K");
        }
        Ok(true)
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.running {
            // Only those that still run: an id may belong to somebody else by now.
            if matches!(child.try_wait(), Ok(None)) {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

fn tell(prepared: &Prepared, tolerance: f64) {
    let address: Option<SocketAddr> = prepared.metrics[0].parse().ok();
    if let Some(snapshot) = address.and_then(|a| ask(a).ok()) {
        let up = snapshot.neighbours.iter().filter(|n| n.up).count();
        let residual = snapshot.residual.map_or(String::new(), |r| format!(", residual {r:.1e} of {tolerance:.1e}"));
        let (all, most) = (snapshot.neighbours.len(), prepared.plans[0].stop.rounds_max);
        let left = most.saturating_sub(snapshot.round) as f64 * snapshot.seconds / snapshot.round.max(1) as f64;
        eprint!(
            "\r\x1b[K{}: {}, round {} of at most {most}{residual}, {up} of {all} neighbours up, at most {left:.0} s left",
            snapshot.name, snapshot.state, snapshot.round
        );
    }
}

/// The end of what a process said.
fn last_words(prepared: &Prepared, k: usize) -> String {
    let mut text = String::new();
    if let Ok(file) = File::open(prepared.folders[k].join("stderr.txt")) {
        let _ = file.take(1 << 16).read_to_string(&mut text);
    }
    let line = text.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("it said nothing");
    line.trim_start_matches("error: ").into()
}
