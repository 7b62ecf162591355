//! The command line: arguments, progress, exit codes; nothing else. A library, so that other programs may offer it too.

mod ask;
mod audit_log;
mod bench;
mod certs;
mod compare;
mod config;
mod demo;
mod fit;
mod generate;
mod graph;
mod models;
mod node;
mod path;
mod plan;
mod predict;
mod progress;
mod reexec;
mod reproduce;
mod rerun;
mod rounds;
mod simulate;
mod status;
mod story;
mod trial;
mod up;

use std::ffi::OsString;
use std::sync::OnceLock;

use clap::{CommandFactory, Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  fedweave demo
      fits 207 weather stations, prints a table, writes fedweave-demo/report.html

  fedweave fit houses.csv --node zip --target price --knn 5 --by lat,lon --out run
      one model per zip code, coupled with the 5 nearest; lambda chosen on held-out rows

  fedweave fit nodes.csv --edges edges.csv --target y --lambda 0.1 --json
      a graph from a file, a fixed lambda, the result as JSON

  fedweave path points.csv --edges edges.csv --loss point --breakpoints --out path
      clusters as lambda grows, where they change, a report with a slider

  fedweave compare houses.csv --node zip --target price --knn 5 --by lat,lon --splits 10
      does the network help? local-only, one global model, networked, shuffled graph

  fedweave predict run new.csv
      predictions of the models in a run directory

Exit codes: 0 done, 1 stopped before the tolerance (results are written), 2 bad input or failure, 130 interrupted.";

/// A personal model for every node of a network of datasets.
///
/// minimise  sum_i L_i(w_i)  +  lambda * sum_e A_e * phi(w_i - w_j)
#[derive(Parser)]
#[command(name = "fedweave", version, after_help = EXAMPLES, max_term_width = 120)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Fit weather stations of Finland, compare, and write fedweave-demo/report.html
    #[command(after_help = "Example:\n  fedweave demo --out weather --seed 3")]
    Demo(demo::DemoArgs),
    /// Fit a model at every node of a graph
    #[command(after_help = fit::EXAMPLES)]
    Fit(Box<config::RawConfig>),
    /// Models and clusters over a grid of lambda, where they change, and a report with a slider
    #[command(after_help = path::EXAMPLES)]
    Path(Box<config::RawConfig>),
    /// Local-only, one global model, networked, shuffled graph: errors on held-out rows
    #[command(after_help = compare::EXAMPLES)]
    Compare(Box<config::RawConfig>),
    /// Without a graph: nodes ask others, drawn at random, and learn from those whose answers help
    #[command(after_help = ask::EXAMPLES)]
    Ask(Box<config::RawConfig>),
    /// Predict rows of another file with the models of a run directory
    #[command(after_help = "Example:\n  fedweave predict run new.csv --out predictions.csv")]
    Predict(predict::PredictArgs),
    /// Write data with known truth: stochastic block model, chain, geometric graph
    #[command(after_help = generate::EXAMPLES)]
    Generate(generate::GenerateArgs),
    /// Facts about a graph, or a nearest-neighbour graph from a table
    #[command(subcommand)]
    Graph(graph::GraphCommand),
    /// The competition side by side, as ratios
    #[command(after_help = bench::EXAMPLES)]
    Bench(bench::BenchArgs),
    /// Tables and figures of the papers, next to what was printed
    #[command(after_help = reproduce::EXAMPLES)]
    Reproduce(reproduce::ReproduceArgs),
    /// A whole federation of processes on this machine, or the files for one on several
    #[command(after_help = up::EXAMPLES)]
    Up(Box<up::UpArgs>),
    /// One part of a federation
    #[command(after_help = node::EXAMPLES)]
    Node(node::NodeArgs),
    /// Certificates of a federation
    #[command(subcommand, after_help = certs::EXAMPLES)]
    Certs(certs::CertsCommand),
    /// Where running parts of a federation stand
    #[command(after_help = "Example:\n  fedweave status east/node.toml")]
    Status(status::StatusArgs),
    /// Has anybody changed the event log of a part?
    #[command(subcommand)]
    AuditLog(audit_log::AuditCommand),
    /// Federations in virtual time, where a seed decides everything that goes wrong
    #[command(after_help = simulate::EXAMPLES)]
    Simulate(simulate::SimulateArgs),
    /// Render the report of a run directory again
    #[command(after_help = "Example:\n  fedweave report run --out page.html")]
    Report(rerun::ReportArgs),
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
    reexec::remember(&args);
    WORDS.get_or_init(|| args.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect());
    match Cli::try_parse_from(args) {
        Ok(cli) => conclude(run(cli)),
        Err(told) => {
            // A reader that went away changes nothing.
            let _ = told.print();
            u8::try_from(told.exit_code()).unwrap_or(Exit::Failure as u8)
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<Exit> {
    match cli.command {
        Command::Demo(args) => demo::run(&args),
        Command::Fit(raw) => fit::run(*raw),
        Command::Path(raw) => path::run(*raw),
        Command::Compare(raw) => compare::run(*raw),
        Command::Ask(raw) => ask::run(*raw),
        Command::Predict(args) => predict::run(&args),
        Command::Generate(args) => generate::run(&args),
        Command::Graph(command) => graph::run(&command),
        Command::Bench(args) => bench::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Up(args) => up::run(*args),
        Command::Node(args) => node::run(&args),
        Command::Certs(command) => certs::run(&command),
        Command::Status(args) => status::run(&args),
        Command::AuditLog(command) => audit_log::run(&command),
        Command::Simulate(args) => simulate::run(&args),
        Command::Report(args) => rerun::run(&args),
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
            eprintln!("error: {error:#}");
            Exit::Failure as u8
        }
    }
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
    Interrupted = 130,
}
