//! Where scripts, Python, problem files and results are.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::Arguments;

const SCRIPTS: &str = "benches/compare";
const SETUP: &str = "run benches/compare/setup in the repository, or give --python PATH";

/// Files and folders of a benchmark.
pub struct Places {
    /// `benches/compare`, if we stand inside the repository.
    scripts: Option<PathBuf>,
    python: PathBuf,
    work: PathBuf,
}

impl Places {
    /// Looks for the repository from the current folder upwards.
    pub fn find(args: &Arguments) -> Result<Places> {
        let here = std::env::current_dir().context("the current folder")?;
        let root = here.ancestors().find(|folder| folder.join(SCRIPTS).is_dir());
        let base = root.unwrap_or(&here);
        let venv =
            std::env::var_os("FEDWEAVE_BENCH_VENV").map_or_else(|| base.join("target/bench-venv"), PathBuf::from);
        Ok(Places {
            scripts: root.map(|root| root.join(SCRIPTS)),
            python: args.python.clone().unwrap_or_else(|| venv.join("bin/python")),
            work: args.work.clone().unwrap_or_else(|| base.join("target/bench")),
        })
    }

    /// The folder of a problem.
    pub fn problem(&self, name: &str) -> PathBuf {
        self.work.join(name)
    }

    /// A script of the comparison, ready to be given arguments.
    pub fn script(&self, name: &str) -> Result<Command> {
        let Some(scripts) = &self.scripts else {
            bail!("{SCRIPTS} is not here: run fedweave-bench inside the repository");
        };
        let mut command = Command::new(&self.python);
        command.arg(scripts.join(name));
        Ok(command)
    }

    /// [`script`](Self::script), after a look whether Python can run it.
    pub fn checked_script(&self, name: &str) -> Result<Command> {
        let command = self.script(name)?;
        let probe = Command::new(&self.python).arg("-c").arg("import numpy, scipy").output();
        let shown = self.python.display();
        let probe = probe.with_context(|| format!("{shown}: cannot be run; {SETUP}"))?;
        ensure!(probe.status.success(), "{shown}: numpy and scipy are not installed for it; {SETUP}");
        Ok(command)
    }

    /// Writes the files of a problem unless they are there; `problem.json` is written last.
    pub fn provide(&self, name: &str) -> Result<PathBuf> {
        let folder = self.problem(name);
        if folder.join("problem.json").is_file() {
            return Ok(folder);
        }
        let mut command =
            self.checked_script("problems.py").with_context(|| format!("{name} is not in {}", self.work.display()))?;
        eprintln!("{name}: writing its files");
        let output = command.arg(&self.work).arg(name).output().context("problems.py cannot be run")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{name}: {}", said.lines().last().unwrap_or("problems.py failed"));
        Ok(folder)
    }
}

/// Replaces what stands between the markers of a section, or adds the section at the end.
pub fn replace_section(path: &Path, name: &str, text: &str) -> Result<()> {
    let old = if path.exists() {
        std::fs::read_to_string(path).with_context(|| format!("{}: cannot be read", path.display()))?
    } else {
        String::new()
    };
    let new = with_section(&old, name, text);
    std::fs::write(path, new).with_context(|| format!("{}: cannot be written", path.display()))
}

fn with_section(old: &str, name: &str, text: &str) -> String {
    let (begin, end) = (format!("<!-- bench:{name} begin -->"), format!("<!-- bench:{name} end -->"));
    let section = format!("{begin}\n{}\n{end}", text.trim_end());
    let span = old.find(&begin).and_then(|from| Some((from, from + old[from..].find(&end)? + end.len())));
    match span {
        Some((from, to)) => format!("{}{section}{}", &old[..from], &old[to..]),
        None if old.is_empty() => section + "\n",
        None => format!("{}\n\n{section}\n", old.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_and_the_rest_stays() {
        let old = "a\n<!-- bench:x begin -->\nold\n<!-- bench:x end -->\nb\n";
        let new = with_section(old, "x", "new\n");
        assert_eq!(new, "a\n<!-- bench:x begin -->\nnew\n<!-- bench:x end -->\nb\n");
        assert_eq!(with_section(&new, "x", "new"), new);
        assert!(with_section("a\n", "y", "t").ends_with("a\n\n<!-- bench:y begin -->\nt\n<!-- bench:y end -->\n"));
    }
}
