//! Every command in the documentation runs, and every link between pages leads somewhere.
//!
//! The commands of a page run in order, in a folder of its own that holds `data/` and the files of `docs/guide/example-files.md`. One page alone:
//! `FEDWEAVE_PAGE=tune cargo test --release --workspace --test docs`. How to say that a command cannot run is in `page.rs`.

mod links;
mod page;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use page::Block;

/// The page whose commands make the files that other pages speak of.
const FILES: &str = "docs/guide/example-files.md";
/// Longer than a block may take on a busy machine: the whole test is to take less than two minutes.
const SECONDS: &str = "60";
const HELP: &str = "\
Every command block of README.md, data/README.md and docs/ is run in order, in a folder with data/ and the files that docs/guide/example-files.md
makes. If a command cannot run there, say so in a comment before the block:
    <!-- commands not run: REASON -->                        e.g. needs a second machine, a file that is not shipped, minutes
    <!-- commands shortened: --splits 10 => --splits 2 -->   runs with smaller numbers
    <!-- commands before: cp houses.csv today.csv -->        runs something first
    <!-- commands exit 1: REASON -->                         ends with this code
One page alone: FEDWEAVE_PAGE=name cargo test --release --workspace --test docs -- --nocapture";

#[test]
fn every_command_of_the_pages_runs() {
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("files");
    let shown = std::env::var("FEDWEAVE_PAGE").unwrap_or_default();
    let mut failures = run_page(FILES, &files);
    let pages: Vec<String> = pages().into_iter().filter(|page| page != FILES && page.contains(&shown)).collect();
    assert!(!pages.is_empty(), "no page is called {shown:?}");
    let (next, told) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(page) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let own = folder.path().join(page.replace(['/', '.'], "_"));
                    copy(&files, &own);
                    let failed = run_page(page, &own);
                    told.lock().unwrap().extend(failed);
                }
            });
        }
    });
    failures.extend(told.into_inner().unwrap());
    assert!(failures.is_empty(), "{}\n\n{HELP}", failures.join("\n\n"));
}

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every page with commands for users, as a path from the root.
fn pages() -> Vec<String> {
    let mut found = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned(), "data/README.md".to_owned()];
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.ends_with(".md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Runs the commands of a page; returns what went wrong.
fn run_page(page: &str, folder: &Path) -> Vec<String> {
    std::fs::create_dir_all(folder).unwrap();
    let data = folder.join("data");
    if !data.exists() {
        std::os::unix::fs::symlink(root().join("data").canonicalize().unwrap(), data).unwrap();
    }
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    match page::blocks(&text) {
        Err(problem) => vec![format!("{page}, {problem}")],
        Ok(blocks) => blocks.iter().filter_map(|block| run_block(page, block, folder).err()).collect(),
    }
}

fn run_block(page: &str, block: &Block, folder: &Path) -> Result<(), String> {
    let place = format!("{page}:{}", block.line);
    if block.marks.not_run.is_some() {
        return Ok(());
    }
    let script = block.to_run().map_err(|problem| format!("{place}: {problem}"))?;
    let program = Path::new(env!("CARGO_BIN_EXE_fedweave")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let started = Instant::now();
    // `timeout` ends what the commands started, too.
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", SECONDS, "bash", "-euo", "pipefail", "-c", &script]);
    command.current_dir(folder).env("PATH", path).stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("{place}: cannot start a shell: {error}"))?;
    println!("{:6.1} s  {place}", started.elapsed().as_secs_f64());
    let what = match output.status.code() {
        Some(code) if code == block.marks.exit => return Ok(()),
        Some(124) => format!("still running after {SECONDS} s"),
        Some(code) => format!("exit code {code}"),
        None => "ended by a signal".to_owned(),
    };
    let said = [last_lines(&output.stdout), last_lines(&output.stderr)].concat();
    Err(format!("{place}: {what}\n{script}---\n{said}"))
}

/// The last lines of an output: enough to see what went wrong.
fn last_lines(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(6)..].iter().map(|line| format!("{line}\n")).collect()
}

fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-r").arg(from).arg(to).status().unwrap();
    assert!(done.success(), "cp -r {} {}", from.display(), to.display());
}
