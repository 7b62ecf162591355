//! One typed, checked request for every job. After it is made nobody looks at what was said again, but to write it down.

pub mod again;
pub mod ask;
pub mod attack;
pub mod classes;
pub mod compare;
pub mod coupling;
pub mod data;
pub mod fair;
pub mod fit;
pub mod folds;
pub mod graph;
pub mod guesses;
pub mod held_out;
pub mod keys;
pub mod lambda;
pub mod model;
pub mod path;
pub mod penalty;
pub mod privacy;
pub mod relax;
pub mod rounds;
pub mod settings;
pub mod solver;
pub mod tune;
pub mod up;
pub mod vertical;

pub use ask::AskRequest;
pub use attack::AttackRequest;
pub use classes::ClassesRequest;
pub use compare::CompareRequest;
pub use fit::FitRequest;
pub use graph::LearnRequest;
pub use keys::{GROUPS, Job, Key, Kind};
pub use path::PathRequest;
pub use relax::RelaxRequest;
pub use settings::{Settings, Value};
pub use tune::TuneRequest;
pub use up::UpRequest;
pub use vertical::VerticalRequest;

use std::path::PathBuf;

use crate::error::{Result, require};
use settings::Reader;

/// Where results go, and how they are told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// The run directory.
    pub out: Option<PathBuf>,
    /// It may exist already.
    pub overwrite: bool,
    /// One JSON object instead of words.
    pub json: bool,
    /// Say what the solver chose.
    pub verbose: bool,
    /// Show the job in a browser while it runs.
    pub watch: bool,
    /// Number of threads; `None`: all cores.
    pub threads: Option<usize>,
}

impl Output {
    fn read(reader: &Reader) -> Result<Output> {
        let threads = reader.count("threads");
        require!(threads.is_none_or(|t| (1..=1024).contains(&t)), "--threads must be at least 1 and at most 1024");
        Ok(Output {
            out: reader.path("out"),
            overwrite: reader.flag("overwrite"),
            json: reader.flag("json"),
            verbose: reader.flag("verbose"),
            watch: reader.flag("watch"),
            threads,
        })
    }
}

/// What everybody should be told about a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Naming {
    /// Title of the report.
    pub title: Option<String>,
    /// Where the data come from.
    pub source: Option<String>,
    /// The column that is predicted.
    pub target: Option<String>,
    /// The words that started the program, for a shell.
    pub command: String,
    /// What was said, to run it again.
    pub settings: Settings,
}

/// What a target is called that has no name, as in Python's arrays.
const TARGET: &str = "y";

impl Naming {
    /// The column that is predicted, for messages and for those who say something about it.
    pub fn target(&self) -> &str {
        self.target.as_deref().unwrap_or(TARGET)
    }

    fn read(settings: &Settings, reader: &Reader) -> Naming {
        Naming {
            title: reader.string("title"),
            source: reader.string("source"),
            target: reader.string("target"),
            command: String::new(),
            settings: settings.clone(),
        }
    }

    /// `config.toml` of the run.
    pub fn config(&self) -> String {
        self.settings.to_toml()
    }
}

/// Keys of a federation are read where it is launched.
fn federation_keys(reader: &Reader, job: Job) {
    let keys = GROUPS.iter().flat_map(|(_, keys)| keys.iter());
    let of_launch = |key: &&Key| !key.is_for(Job::Fit) || key.name == "parts";
    for key in keys.filter(|key| job == Job::Up && key.is_for(Job::Up)).filter(of_launch) {
        reader.has(key.name);
    }
}

/// Why a key that nobody read has no effect.
fn unread(key: &Key) -> String {
    match key.with {
        "" => "has no effect here: leave it out".into(),
        with => format!("belongs to {with}"),
    }
}
