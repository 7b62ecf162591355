//! The flags of a job, made from the table of keys.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use fedweave_run::request::settings::not_of_job;
use fedweave_run::request::{GROUPS, Job, Key, Kind, Settings, Value, keys};
use fedweave_run::{Error, Result};

/// What was said on the command line to the job with this number in [`Job::ALL`].
pub struct JobArgs<const JOB: usize> {
    said: Settings,
    config: Option<PathBuf>,
}

const CONFIG: &str = "config";
/// The flag that shows all others.
pub const HELP_ALL: &str = "help-all";

impl<const JOB: usize> JobArgs<JOB> {
    /// The flags over the config file they name, if any.
    pub fn settings(self) -> Result<Settings> {
        // A run that is to go on brings its own settings.
        let resumed = self.said.path("resume").filter(|_| !self.said.has("nodes"));
        let file = self.config.or(resumed.map(|dir| dir.join(fedweave_run::run_dir::CONFIG)));
        Ok(match file {
            Some(path) => Settings::read(&path)?.under(self.said),
            None => self.said,
        })
    }
}

fn keys_of(job: Job) -> impl Iterator<Item = (&'static str, &'static Key)> {
    let all = GROUPS.iter().flat_map(|(heading, keys)| keys.iter().map(move |key| (*heading, key)));
    all.filter(move |(_, key)| key.is_for(job))
}

impl<const JOB: usize> Args for JobArgs<JOB> {
    fn augment_args(command: Command) -> Command {
        let job = Job::ALL[JOB];
        // A job of few flags hides none.
        let few = matches!(job, Job::Learn | Job::Attack);
        // Rounds are for those who choose a solver; who asks has nothing else.
        let common = |key: &Key| key.is_common() && (key.name != "rounds" || job == Job::Ask);
        let add = |command: Command, (heading, key): (&'static str, &'static Key)| {
            command.arg(flag(heading, key).hide(!crate::shows_all_flags() && !few && !common(key)))
        };
        let command = keys_of(job).fold(command, add);
        let all =
            Arg::new(HELP_ALL).long(HELP_ALL).action(ArgAction::SetTrue).help("Show all flags").help_heading("Output");
        let command = command.arg(all);
        let help = "Read these settings from a TOML file; flags given here come first";
        command.arg(Arg::new(CONFIG).long(CONFIG).value_name("FILE").help(help).help_heading("Output"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn flag(heading: &'static str, key: &'static Key) -> Arg {
    let arg = Arg::new(key.name).help(key.help).value_name(key.value);
    let arg = match heading {
        "" => arg,
        _ => arg.long(key.name).help_heading(heading),
    };
    let arg = match key.name {
        "out" => arg.short('o'),
        "verbose" => arg.short('v'),
        _ => arg,
    };
    match key.kind {
        Kind::Flag => arg.action(ArgAction::SetTrue),
        Kind::Text | Kind::Path => arg,
        Kind::Texts => arg.value_delimiter(',').action(ArgAction::Append),
        Kind::Paths => arg.num_args(1..).action(ArgAction::Append),
        Kind::Repeated => arg.action(ArgAction::Append),
        Kind::Numbers => arg.value_delimiter(',').action(ArgAction::Append).allow_hyphen_values(true),
        Kind::NumberOr(_) => arg.num_args(0..=1),
        Kind::Number | Kind::NumberOrAuto | Kind::Count | Kind::CountOrFile => arg.allow_hyphen_values(true),
    }
}

impl<const JOB: usize> FromArgMatches for JobArgs<JOB> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut said = Settings::default();
        for (_, key) in keys_of(Job::ALL[JOB]) {
            if key.kind == Kind::Flag {
                if matches.get_flag(key.name) {
                    said.set(key.name, Value::Flag(true));
                }
                continue;
            }
            if matches.contains_id(key.name) {
                let words = matches.get_many::<String>(key.name).into_iter().flatten();
                let words: Vec<&str> = words.map(String::as_str).collect();
                said.set(key.name, Value::parse(key.kind, &words).map_err(|why| wrong(key, &why))?);
            }
        }
        Ok(JobArgs { said, config: matches.get_one::<String>(CONFIG).map(PathBuf::from) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn wrong(key: &Key, why: &str) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("invalid value for '--{}': {why}\n", key.name))
}

/// Where a flag belongs that the command does not have, if it belongs anywhere.
pub fn belongs_elsewhere(command: &str, flag: &str) -> Option<Error> {
    let job = Job::ALL.into_iter().find(|job| job.name() == command)?;
    let name = flag.strip_prefix("--")?.split('=').next()?;
    let key = keys::find(name)?;
    (!key.is_for(job)).then(|| Error::request(not_of_job(key, job)))
}
