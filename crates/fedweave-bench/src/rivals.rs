//! The competitors: each race is a Python process, watched and ended here.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::places::Places;

/// Longest wait for a competitor to read its files.
const READING: Duration = Duration::from_secs(600);
/// How long a competitor may overstay its limit: objectives are evaluated off its clock.
const GRACE: Duration = Duration::from_secs(10);
const GRACE_SHARE: f64 = 1.25;
/// Races longer than this are not repeated.
const SHORT: f64 = 2.0;
const TICK: Duration = Duration::from_millis(50);

/// All competitors, and the Python they run in.
pub struct Paddock<'a> {
    places: &'a Places,
    pub rivals: Vec<Rival>,
    /// Python and packages, with versions.
    pub versions: Vec<(String, Option<String>)>,
}

/// A competitor.
#[derive(Debug, Clone, Deserialize)]
pub struct Rival {
    pub name: String,
    pub title: String,
    losses: Vec<String>,
    penalties: Vec<String>,
    missing: Vec<String>,
}

/// A competitor after a race.
pub struct Raced {
    pub name: String,
    pub title: String,
    pub outcome: Outcome,
}

/// How a race ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// As accurate as ours.
    Reached(Report),
    /// Out of time; the report is of what it had, if it could still say.
    Limit(f64, Option<Report>),
    /// Ended by itself, but not accurate enough.
    Inaccurate(Report),
    Failed(String),
    NotInstalled,
    /// Made for other losses or penalties.
    NotForThis,
}

/// What `race.py` prints.
#[derive(Debug, Clone, Deserialize)]
pub struct Report {
    status: String,
    message: Option<String>,
    pub seconds: f64,
    pub cpu_seconds: f64,
    pub own_seconds: Option<f64>,
    pub objective: Option<f64>,
    pub iterations: Option<u64>,
    pub settings: serde_json::Map<String, Value>,
}

/// Where a race ends.
pub struct Aim {
    /// Objective to reach.
    pub target: f64,
    /// Seconds.
    pub limit: f64,
    /// Races to take the median of, if they are short.
    pub repeat: usize,
}

impl Outcome {
    fn reached_within(&self, seconds: f64) -> bool {
        matches!(self, Outcome::Reached(report) if report.seconds < seconds)
    }

    fn seconds(&self) -> f64 {
        self.report().map_or(f64::INFINITY, |report| report.seconds)
    }

    /// What the competitor said.
    pub fn report(&self) -> Option<&Report> {
        match self {
            Outcome::Reached(report) | Outcome::Inaccurate(report) | Outcome::Limit(_, Some(report)) => Some(report),
            _ => None,
        }
    }

    /// The best objective it found.
    pub fn objective(&self) -> Option<f64> {
        self.report()?.objective
    }
}

impl<'a> Paddock<'a> {
    /// Asks who is there.
    pub fn open(places: &'a Places) -> Result<Self> {
        #[derive(Deserialize)]
        struct Listing {
            competitors: Vec<Rival>,
            versions: serde_json::Map<String, Value>,
        }
        let output = places.checked_script("race.py")?.arg("--list").output().context("race.py cannot be run")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "race.py --list: {}", said.lines().last().unwrap_or("failed"));
        let listing: Listing = serde_json::from_slice(&output.stdout).context("race.py --list")?;
        let versions = listing.versions.into_iter().map(|(name, v)| (name, v.as_str().map(str::to_owned))).collect();
        Ok(Paddock { places, rivals: listing.competitors, versions })
    }

    /// Refuses names nobody has.
    pub fn check_names(&self, only: &[String]) -> Result<()> {
        for name in only {
            let known = name == crate::ours::NAME || self.rivals.iter().any(|rival| rival.name == *name);
            let all: Vec<&str> = self.rivals.iter().map(|rival| rival.name.as_str()).collect();
            ensure!(known, "--only {name}: unknown; there are fedweave, {}", all.join(", "));
        }
        Ok(())
    }

    /// Runs one competitor on one problem; short races are repeated, as ours are, and the median counts.
    pub fn race(&self, rival: &Rival, kind: &(String, String), folder: &Path, aim: &Aim) -> Outcome {
        let mut all = vec![self.race_once(rival, kind, folder, aim)];
        while all.len() < aim.repeat && all.iter().all(|o| o.reached_within(SHORT)) {
            all.push(self.race_once(rival, kind, folder, aim));
        }
        let middle = (all.len() - 1) / 2;
        all.sort_by(|a, b| a.seconds().total_cmp(&b.seconds()));
        all.swap_remove(middle)
    }

    fn race_once(&self, rival: &Rival, kind: &(String, String), folder: &Path, aim: &Aim) -> Outcome {
        let Aim { target, limit, .. } = *aim;
        if !rival.losses.contains(&kind.0) || !rival.penalties.contains(&kind.1) {
            return Outcome::NotForThis;
        }
        if !rival.missing.is_empty() {
            return Outcome::NotInstalled;
        }
        let command = self.places.script("race.py").map(|mut command| {
            command.arg(folder).arg(&rival.name);
            command.args(["--target", &format!("{target:e}"), "--limit", &limit.to_string()]);
            command
        });
        match command.and_then(|mut command| watch(&mut command, limit)) {
            Ok(outcome) => outcome,
            Err(error) => Outcome::Failed(format!("{error:#}")),
        }
    }
}

/// Starts a race and waits for its end or its limit.
fn watch(command: &mut Command, limit: f64) -> Result<Outcome> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Guard(command.spawn().context("Python cannot be run")?);
    let lines = lines_of(child.0.stdout.take().context("no output")?);
    let errors = child.0.stderr.take().context("no errors")?;
    let errors = std::thread::spawn(move || last_line(errors));
    let mut end = Instant::now() + READING;
    loop {
        match lines.recv_timeout(TICK) {
            Ok(line) if line == "ready" => {
                end = Instant::now() + Duration::from_secs_f64(GRACE_SHARE * limit) + GRACE;
            }
            Ok(line) => {
                if let Ok(report) = serde_json::from_str::<Report>(&line) {
                    return Ok(judged(report, limit));
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if Instant::now() > end => return Ok(Outcome::Limit(limit, None)),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    let status = child.0.wait()?;
    let said = errors.join().unwrap_or_default();
    Ok(Outcome::Failed(if said.is_empty() { format!("ended with {status}") } else { said }))
}

fn judged(report: Report, limit: f64) -> Outcome {
    match report.status.as_str() {
        "reached" if report.seconds <= limit => Outcome::Reached(report),
        "reached" | "limit" => Outcome::Limit(limit, Some(report)),
        "failed" => Outcome::Failed(report.message.unwrap_or_else(|| "no reason given".into())),
        _ => Outcome::Inaccurate(report),
    }
}

/// A process that does not outlive its race.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // Fails only if it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn lines_of(stream: ChildStdout) -> Receiver<String> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(std::result::Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    receive
}

fn last_line(mut stream: impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).lines().rev().find(|l| !l.trim().is_empty()).unwrap_or_default().to_owned()
}
