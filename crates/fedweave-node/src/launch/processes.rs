//! The processes of a federation: started together, watched, and ended by their id in every case.

use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::error::LaunchError;
use super::prepare::Prepared;
use crate::metrics::{Snapshot, TOKEN, ask};

/// How often processes are looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How often somebody is told how it goes.
const TELL: Duration = Duration::from_millis(300);

/// Makes a command that starts this program, without arguments yet.
pub type Factory<'a> = dyn Fn() -> io::Result<Command> + 'a;

/// Running processes, one for each part; none of them survives this value.
pub struct Processes<'a> {
    prepared: &'a Prepared,
    running: Vec<Child>,
}

impl<'a> Processes<'a> {
    /// Starts a process for every part: `<program> node --config ...`.
    pub fn start(prepared: &'a Prepared, program: &Factory<'_>) -> Result<Self, LaunchError> {
        let mut processes = Processes { prepared, running: Vec::new() };
        for folder in &prepared.folders {
            let mut command = program().map_err(LaunchError::Start)?;
            command.arg("node").arg("--config").arg(folder.join("node.toml")).args(["--with-parent", "--json"]);
            if prepared.loopback_plaintext {
                command.arg("--loopback-plaintext");
            }
            if prepared.record_frames {
                command.arg("--record-frames").arg(folder.join("frames.bin"));
            }
            let output = |name: &str| {
                let path = folder.join(name);
                File::create(&path).map_err(|error| LaunchError::File { path, error })
            };
            command.stdin(Stdio::piped()).stdout(output("stdout.json")?).stderr(output(STDERR)?);
            processes.running.push(command.spawn().map_err(LaunchError::Start)?);
        }
        Ok(processes)
    }

    /// Waits until all have ended well; false if `interrupted` says so before. `progress` is told now and then where the first
    /// part stands.
    pub fn wait(
        mut self,
        interrupted: &dyn Fn() -> bool,
        mut progress: Option<&mut dyn FnMut(&Snapshot)>,
    ) -> Result<bool, LaunchError> {
        let mut told = Instant::now();
        let mut ended = vec![false; self.running.len()];
        while ended.iter().any(|e| !e) {
            if interrupted() {
                return Ok(false);
            }
            for (k, ended) in ended.iter_mut().enumerate().filter(|(_, ended)| !**ended) {
                *ended = self.has_ended(k)?;
            }
            if let Some(progress) = progress.as_mut().filter(|_| told.elapsed() >= TELL) {
                told = Instant::now();
                let address: Option<SocketAddr> = self.prepared.metrics.first().and_then(|a| a.parse().ok());
                let token = self.prepared.folders.first().map(|f| f.join("state").join(TOKEN));
                let token = token.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
                address.and_then(|address| ask(address, &token).ok()).iter().for_each(progress);
            }
            std::thread::sleep(LOOK);
        }
        Ok(true)
    }

    fn has_ended(&mut self, k: usize) -> Result<bool, LaunchError> {
        match self.running[k].try_wait().map_err(LaunchError::Start)? {
            None => Ok(false),
            Some(status) if status.success() => Ok(true),
            Some(status) => {
                let (part, last_words) = (self.prepared.plans[k].name.clone(), last_words(self.prepared, k));
                Err(LaunchError::Failed { part, status, last_words })
            }
        }
    }
}

impl Drop for Processes<'_> {
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

const STDERR: &str = "stderr.txt";

/// The end of what a process said.
fn last_words(prepared: &Prepared, k: usize) -> String {
    let mut text = String::new();
    if let Ok(file) = File::open(prepared.folders[k].join(STDERR)) {
        let _ = file.take(1 << 16).read_to_string(&mut text);
    }
    let line = text.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("it said nothing");
    line.trim_start_matches("error: ").into()
}
