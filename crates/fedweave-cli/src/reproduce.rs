//! `fedweave reproduce`: the tables and figures of the papers, next to what was printed.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use fedweave_experiments::{Cell, Experiment, Outcome, Setting, all, find, short, write};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::progress::use_threads;
use crate::{Exit, say};

pub const EXAMPLES: &str = "\
Examples:
  fedweave reproduce --list
  fedweave reproduce gtv-table1
  fedweave reproduce --quick all

Writes fedweave-reproduce/NAME/: a csv per table, an svg per figure, checks.csv with every statement of the paper
beside what was computed, summary.json.

Exit codes: 0 everything agrees, 1 something deviates (it is listed, with its cause), 2 bad input or failure.";

/// Rows of a table on the terminal.
const ROWS_SHOWN: usize = 40;

/// Tables and figures of the papers, next to what was printed
#[derive(Args)]
pub struct ReproduceArgs {
    /// Names of experiments, or all
    #[arg(required_unless_present = "list", value_name = "NAME")]
    names: Vec<String>,
    /// Only list the experiments
    #[arg(long)]
    list: bool,
    /// Fewer repetitions and values
    #[arg(long)]
    quick: bool,
    /// Everything random follows from it
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Folder with datasets that do not come with the program: mnist/
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Folder with a folder for every experiment
    #[arg(long, short, default_value = "fedweave-reproduce")]
    out: PathBuf,
    /// Number of threads; all cores if not given
    #[arg(long)]
    threads: Option<usize>,
}

pub fn run(args: &ReproduceArgs) -> Result<Exit> {
    if args.list {
        say(list().trim_end())?;
        return Ok(Exit::Done);
    }
    let chosen = choose(&args.names)?;
    use_threads(args.threads);
    let setting = Setting { quick: args.quick, seed: args.seed, data: args.data.clone() };
    let mut deviating = Vec::new();
    for experiment in &chosen {
        if !reproduce(experiment, &setting, &args.out)? {
            deviating.push(experiment.name);
        }
    }
    if chosen.len() > 1 {
        let passed = chosen.len() - deviating.len();
        let rest = if deviating.is_empty() { String::new() } else { format!("; deviating: {}", deviating.join(", ")) };
        say(&format!("{passed} of {} experiments pass{rest}", chosen.len()))?;
    }
    Ok(if deviating.is_empty() { Exit::Done } else { Exit::Unfinished })
}

fn list() -> String {
    let experiments = all();
    let wide = experiments.iter().map(|e| e.name.len()).max().unwrap_or(0);
    experiments.iter().fold(String::new(), |mut text, e| {
        let _ = writeln!(text, "{:wide$}  {}: {}", e.name, e.source, e.claim);
        text
    })
}

fn choose(names: &[String]) -> Result<Vec<Experiment>> {
    if names.iter().any(|name| name == "all") {
        return Ok(all());
    }
    let mut chosen = Vec::new();
    for name in names {
        match find(name) {
            Some(experiment) => chosen.push(experiment),
            None => bail!("there is no experiment {name:?}; there are\n{}or all", list()),
        }
    }
    Ok(chosen)
}

/// Runs one experiment, writes its folder, says what was found; true if all checks hold.
fn reproduce(experiment: &Experiment, setting: &Setting, out: &Path) -> Result<bool> {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len} · {elapsed}");
    bar.set_style(style.expect("a fixed template").progress_chars("=> "));
    bar.set_prefix(experiment.name);
    let started = Instant::now();
    let outcome = experiment.run(setting, &mut |done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let outcome = outcome.with_context(|| experiment.name.to_owned())?;
    let folder = out.join(experiment.name);
    write(&folder, experiment, setting, &outcome)?;
    // In a pipe the words are the same from run to run.
    let seconds = match std::io::stdout().is_terminal() {
        true => format!(" in {:.1} s", started.elapsed().as_secs_f64()),
        false => String::new(),
    };
    say(&words(experiment, &outcome, &folder, &seconds))?;
    Ok(outcome.passes())
}

fn words(experiment: &Experiment, outcome: &Outcome, folder: &Path, seconds: &str) -> String {
    let mut text = format!("{}: {}\n{}\n", experiment.name, experiment.source, experiment.claim);
    for table in outcome.tables.iter().filter(|table| !table.file_only) {
        let _ = writeln!(text, "\n{}", terminal_table(table));
    }
    for note in &outcome.notes {
        let _ = write!(text, "\nnote: {note}");
    }
    text.push('\n');
    for check in &outcome.checks {
        let _ = match check.holds {
            true => write!(text, "\nok        {}: {} (printed: {})", check.what, check.ours, check.printed),
            false => write!(
                text,
                "\nDEVIATES  {}: {} (printed: {})\n          {}",
                check.what, check.ours, check.printed, check.cause
            ),
        };
    }
    let deviations = outcome.checks.iter().filter(|check| !check.holds).count();
    let verdict = match deviations {
        0 => format!("PASS: {} checks hold", outcome.checks.len()),
        n => format!("{n} of {} checks deviate", outcome.checks.len()),
    };
    let _ = write!(text, "\n\n{verdict}{seconds}; files in {}\n", folder.display());
    text
}

fn terminal_table(table: &fedweave_experiments::Table) -> String {
    let mut shown = Table::new();
    shown.load_preset(presets::NOTHING).set_header(table.columns);
    for row in table.rows.iter().take(ROWS_SHOWN) {
        shown.add_row(row.iter().map(|cell| match cell {
            Cell::Number(x) if x.is_nan() => String::new(),
            Cell::Number(x) if x.fract() == 0.0 && x.abs() < 1e9 => format!("{x}"),
            Cell::Number(x) => short(*x),
            Cell::Text(text) => text.clone(),
        }));
    }
    for (k, column) in shown.column_iter_mut().enumerate() {
        if table.rows.first().is_some_and(|row| matches!(row[k], Cell::Number(_))) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let left_out = table.rows.len().saturating_sub(ROWS_SHOWN);
    let rest = if left_out > 0 { format!("\n({left_out} more rows in {}.csv)", table.name) } else { String::new() };
    format!("{shown}{rest}")
}
