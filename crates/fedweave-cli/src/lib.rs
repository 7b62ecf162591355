//! The command line: arguments, progress, exit codes; nothing else. A library, so that other programs may offer it too.

mod attack;
#[cfg(feature = "federation")]
mod audit_log;
#[cfg(feature = "federation")]
mod certs;
mod check;
mod demo;
mod explain;
mod fairness;
mod files;
mod generate;
mod help;
mod job_args;
mod jobs;
mod man;
mod monitor;
#[cfg(feature = "federation")]
mod node;
mod privacy;
mod progress;
#[cfg(feature = "federation")]
mod reexec;
mod reproduce;
#[cfg(feature = "federation")]
mod simulate;
#[cfg(feature = "federation")]
mod status;
mod stress;
#[cfg(feature = "studio")]
mod studio;
mod trust;
#[cfg(feature = "federation")]
mod up;
#[cfg(all(feature = "federation", feature = "studio"))]
mod up_page;
mod watch;

use std::ffi::OsString;
use std::sync::OnceLock;

use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};

use fedweave_run::request::again::quoted;
use job_args::{JobArgs, belongs_elsewhere};

/// A personal model for every node of a network of datasets.
///
/// minimise  sum_i L_i(w_i)  +  lambda * sum_e A_e * phi(w_i - w_j)
#[derive(Parser)]
#[command(name = "fedweave", version, after_help = help::ALL, max_term_width = 120)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Predict house prices in 160 places, compare methods, and write fedweave-demo/report.html
    #[command(after_help = "Examples:\n  fedweave demo\n  fedweave demo --weather --out weather --seed 3")]
    Demo(demo::DemoArgs),
    /// Fit a model at every node of a graph
    #[command(after_help = help::FIT)]
    Fit(JobArgs<0>),
    /// Models and clusters over a grid of lambda, where they change, and a report with a slider
    #[command(after_help = help::PATH)]
    Path(JobArgs<1>),
    /// Local-only, one global model, networked, shuffled graph: errors on held-out rows
    #[command(after_help = help::COMPARE)]
    Compare(JobArgs<2>),
    /// Without a graph: nodes ask others, drawn at random, and learn from those whose answers help
    #[command(after_help = help::ASK)]
    Ask(JobArgs<3>),
    /// Predict rows of another file with the models of a run directory
    #[command(after_help = "Example:\n  fedweave predict run new.csv --out predictions.csv")]
    Predict(files::PredictArgs),
    /// Do new rows with labels look like those the models were judged by? Exit code 1 if some nodes do not
    #[command(after_help = monitor::EXAMPLES)]
    Monitor(monitor::MonitorArgs),
    /// Write data with known truth: stochastic block model, chain, geometric graph
    #[command(after_help = generate::EXAMPLES)]
    Generate(generate::GenerateArgs),
    /// Facts about a graph, a nearest-neighbour graph from a table, or one learnt from rows
    #[command(subcommand)]
    Graph(files::GraphCommand),
    /// Whose rows shaped the models of a run, and what shapes single predictions
    #[command(after_help = explain::EXAMPLES)]
    Explain(explain::ExplainArgs),
    /// What theorems say about a run, beside what is there
    #[command(after_help = check::EXAMPLES)]
    Check(check::CheckArgs),
    /// How many nodes an attacker needs to do harm, by what is tried and by what is proven
    #[command(after_help = attack::EXAMPLES)]
    Attack(JobArgs<6>),
    /// For whom the models of a run work: errors by group and by node, and what evening them out costs
    #[command(after_help = fairness::EXAMPLES)]
    Fairness(fairness::FairnessArgs),
    /// How stable the models of a run are: fitted again with rows, nodes, edges or labels drawn anew
    #[command(after_help = stress::EXAMPLES)]
    Stress(stress::StressArgs),
    /// What was measured about a run for the seven requirements of trustworthy AI: a page, JSON or words
    #[command(after_help = trust::EXAMPLES)]
    Trust(trust::TrustArgs),
    /// What noise costs, attempts to break it, and features that hide something
    #[command(subcommand, after_help = privacy::EXAMPLES)]
    Privacy(privacy::PrivacyCommand),
    /// Tables and figures of the papers, next to what was printed
    #[command(after_help = reproduce::EXAMPLES)]
    Reproduce(reproduce::ReproduceArgs),
    #[cfg(feature = "studio")]
    /// A page in the browser: open a table, choose, fit, move lambda, compare, export
    #[command(after_help = studio::EXAMPLES)]
    Studio(studio::StudioArgs),
    #[cfg(feature = "federation")]
    /// A whole federation of processes on this machine, or the files for one on several
    #[command(after_help = up::EXAMPLES)]
    Up(JobArgs<4>),
    #[cfg(feature = "federation")]
    /// One part of a federation
    #[command(after_help = node::EXAMPLES)]
    Node(node::NodeArgs),
    #[cfg(feature = "federation")]
    /// Certificates of a federation
    #[command(subcommand, after_help = certs::EXAMPLES)]
    Certs(certs::CertsCommand),
    #[cfg(feature = "federation")]
    /// Where running parts of a federation stand
    #[command(after_help = "Example:\n  fedweave status east/node.toml")]
    Status(status::StatusArgs),
    #[cfg(feature = "federation")]
    /// Has anybody changed the event log of a part?
    #[command(subcommand)]
    AuditLog(audit_log::AuditCommand),
    #[cfg(feature = "federation")]
    /// Federations in virtual time, where a seed decides everything that goes wrong
    #[command(after_help = simulate::EXAMPLES)]
    Simulate(simulate::SimulateArgs),
    /// Render the report of a run directory again
    #[command(after_help = "Example:\n  fedweave report run --out page.html")]
    Report(files::ReportArgs),
    /// The manual page, for `man`
    #[command(after_help = "Example:\n  fedweave man > fedweave.1 && man -l fedweave.1")]
    Man,
    /// Shell completions, to be sourced
    #[command(after_help = "Example:\n  source <(fedweave completions bash)")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// The words of the command, without the program's own name.
static WORDS: OnceLock<Vec<String>> = OnceLock::new();

/// Runs the command that `args` (the program's own name first) asks for; returns its exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    WORDS.get_or_init(|| args.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect());
    match Cli::try_parse_from(with_help(args)) {
        Ok(cli) => conclude(run(cli)),
        Err(told) => {
            if let Some(error) = flag_of_another_command(&told) {
                eprintln!("error: {error}");
                return Exit::Failure as u8;
            }
            // A reader that went away changes nothing.
            let _ = told.print();
            u8::try_from(told.exit_code()).unwrap_or(Exit::Failure as u8)
        }
    }
}

/// All flags are shown to those who ask for them, and to shells.
fn shows_all_flags() -> bool {
    let words = || WORDS.get().into_iter().flatten();
    words().any(|word| word == "--help-all")
        || words().next().is_some_and(|word| word == "completions" || word == "man")
}

/// `--help-all` is `--help` of a command that hides nothing.
fn with_help(args: Vec<OsString>) -> Vec<OsString> {
    args.into_iter().map(|word| if word == "--help-all" { "--help".into() } else { word }).collect()
}

/// A flag that exists, but not here.
fn flag_of_another_command(told: &clap::Error) -> Option<fedweave_run::Error> {
    let flag = told.get(ContextKind::InvalidArg).filter(|_| told.kind() == ErrorKind::UnknownArgument)?;
    belongs_elsewhere(WORDS.get()?.first()?, &flag.to_string())
}

fn run(cli: Cli) -> anyhow::Result<Exit> {
    match cli.command {
        Command::Demo(args) => demo::run(&args),
        Command::Fit(args) => jobs::fit(&args.settings()?),
        Command::Path(args) => jobs::path(&args.settings()?),
        Command::Compare(args) => jobs::compare(&args.settings()?),
        Command::Ask(args) => jobs::ask(&args.settings()?),
        Command::Predict(args) => files::predict(&args),
        Command::Monitor(args) => monitor::run(&args),
        Command::Generate(args) => generate::run(&args),
        Command::Graph(command) => files::graph(command),
        Command::Explain(args) => explain::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Attack(args) => attack::run(&args.settings()?),
        Command::Fairness(args) => fairness::run(&args),
        Command::Stress(args) => stress::run(&args),
        Command::Trust(args) => trust::run(&args),
        Command::Privacy(command) => privacy::run(&command),
        Command::Reproduce(args) => reproduce::run(&args),
        #[cfg(feature = "studio")]
        Command::Studio(args) => studio::run(&args),
        #[cfg(feature = "federation")]
        Command::Up(args) => up::run(&args.settings()?),
        #[cfg(feature = "federation")]
        Command::Node(args) => node::run(&args),
        #[cfg(feature = "federation")]
        Command::Certs(command) => certs::run(&command),
        #[cfg(feature = "federation")]
        Command::Status(args) => status::run(&args),
        #[cfg(feature = "federation")]
        Command::AuditLog(command) => audit_log::run(&command),
        #[cfg(feature = "federation")]
        Command::Simulate(args) => simulate::run(&args),
        Command::Report(args) => files::report(&args),
        Command::Man => say(man::page(&Cli::command()).trim_end()).map(|()| Exit::Done),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "fedweave", &mut script);
            say(&String::from_utf8_lossy(&script)).map(|()| Exit::Done)
        }
    }
}

fn conclude(outcome: anyhow::Result<Exit>) -> u8 {
    match outcome {
        Ok(exit) => exit as u8,
        Err(error) if is_closed_pipe(&error) => Exit::Done as u8,
        Err(error) => {
            eprintln!("error: {}", told(&error));
            Exit::Failure as u8
        }
    }
}

/// An error with its causes, each told once.
fn told(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |all, one| match all.contains(&one) {
        true => all,
        false if all.is_empty() => one,
        false => format!("{all}: {one}"),
    })
}

/// Prints to standard output; a reader that went away is an error, not a panic.
fn say(text: &str) -> anyhow::Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// The reader of our output went away (`fedweave ... | head`): not our failure.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

/// How a command ended, as an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    Done = 0,
    Unfinished = 1,
    Failure = 2,
    /// A part reached its end, but not with all its neighbours.
    #[cfg(feature = "federation")]
    Without = 3,
    /// A part ended because a neighbour had.
    #[cfg(feature = "federation")]
    PeerEnded = 4,
    Interrupted = 130,
}

/// The command line that started this program, quoted for a shell.
fn command() -> String {
    let words: Vec<String> = WORDS.get().into_iter().flatten().map(|word| quoted(word)).collect();
    format!("fedweave {}", words.join(" "))
}
