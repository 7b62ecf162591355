//! Writes a run directory. Files gather in a temporary folder beside the wanted one and take its place at the end, so
//! that nobody ever sees half a run.

use std::ffi::OsString;
use std::fmt::{Display, Write as _};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::{IoError, Place};
use crate::fault::Fault;

/// The file that tells a run directory from any other folder.
const SUMMARY: &str = "summary.json";

/// A run directory in the making. Dropped before [`finish`](Self::finish), it leaves nothing.
#[derive(Debug)]
pub struct RunWriter {
    target: PathBuf,
    folder: PathBuf,
    overwrite: bool,
    /// The files that a run may leave. Overwriting one removes them, and nothing else.
    ours: &'static [&'static str],
    /// Folders above the target that did not exist before, innermost first.
    made: Vec<PathBuf>,
}

impl RunWriter {
    /// Prepares to write the folder `path`, with files of which `ours` may be replaced later. An existing folder is an error unless `overwrite`, and then too unless it is
    /// empty or a run directory.
    pub fn create(path: &Path, overwrite: bool, ours: &'static [&'static str]) -> Result<Self, IoError> {
        let folder = beside(path, "partial")?;
        check_target(path, overwrite)?;
        // What an interrupted process of the same number left behind.
        let _ = fs::remove_dir_all(&folder);
        let above = path.ancestors().skip(1).filter(|p| !p.as_os_str().is_empty());
        let made = above.take_while(|p| !p.exists()).map(Path::to_path_buf).collect();
        fs::create_dir_all(&folder).map_err(Place::file(path).io())?;
        Ok(RunWriter { target: path.to_path_buf(), folder, overwrite, ours, made })
    }

    /// The folder that will be written.
    pub fn path(&self) -> &Path {
        &self.target
    }

    /// Writes a text file.
    pub fn write_text(&self, name: &str, text: &str) -> Result<(), IoError> {
        self.write_bytes(name, text.as_bytes())
    }

    /// Writes a file.
    pub fn write_bytes(&self, name: &str, bytes: &[u8]) -> Result<(), IoError> {
        fs::write(self.folder.join(name), bytes).map_err(Place::file(&self.target.join(name)).io())
    }

    /// Writes a value as indented JSON.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), IoError> {
        let mut text = serde_json::to_string_pretty(value)
            .map_err(|error| Place::file(&self.target.join(name)).fault(error.into()))?;
        text.push('\n');
        self.write_text(name, &text)
    }

    /// Writes a table: a header and rows of fields, quoted where they need it.
    pub fn write_csv<R>(&self, name: &str, header: &[&str], rows: R) -> Result<(), IoError>
    where
        R: IntoIterator,
        R::Item: IntoIterator<Item: Display>,
    {
        let mut text = String::new();
        push_record(&mut text, header);
        rows.into_iter().for_each(|row| push_record(&mut text, row));
        self.write_text(name, &text)
    }

    /// Writes `parameters.csv`: a row per node, a column per feature, numbers in the shortest form that reads back as
    /// the same double.
    pub fn write_parameters(&self, features: &[String], names: &[String], w: &fedweave::Matrix) -> Result<(), IoError> {
        let header: Vec<&str> = std::iter::once("node").chain(features.iter().map(String::as_str)).collect();
        let row = |i: usize| std::iter::once(names[i].clone()).chain(w.row(i).iter().map(|&v| shortest(v)));
        self.write_csv("parameters.csv", &header, (0..names.len()).map(row))
    }

    /// Writes `clusters.csv`: the cluster of each node and how many nodes it has.
    pub fn write_clusters(&self, names: &[String], cluster: &[usize]) -> Result<(), IoError> {
        let mut size = vec![0usize; cluster.iter().max().map_or(0, |&last| last + 1)];
        cluster.iter().for_each(|&c| size[c] += 1);
        let row = |(name, &c): (&String, &usize)| [name.clone(), c.to_string(), size[c].to_string()];
        self.write_csv("clusters.csv", &["node", "cluster", "size"], names.iter().zip(cluster).map(row))
    }

    /// Writes `history.csv`: a row per recorded iteration.
    pub fn write_history<R>(&self, header: &[&str], rows: R) -> Result<(), IoError>
    where
        R: IntoIterator,
        R::Item: IntoIterator<Item = f64>,
    {
        self.write_csv("history.csv", header, rows.into_iter().map(|row| row.into_iter().map(shortest)))
    }

    /// Puts the folder in its place. Foreign files in an overwritten run directory stay.
    pub fn finish(self) -> Result<PathBuf, IoError> {
        let at = || Place::file(&self.target);
        check_target(&self.target, self.overwrite)?;
        if !self.target.exists() {
            fs::rename(&self.folder, &self.target).map_err(at().io())?;
            return Ok(self.target.clone());
        }
        let old = beside(&self.target, "old")?;
        fs::rename(&self.target, &old).map_err(at().io())?;
        if let Err(error) = fs::rename(&self.folder, &self.target) {
            fs::rename(&old, &self.target).map_err(at().io())?;
            return Err(at().fault(error.into()));
        }
        keep_foreign(&old, &self.target, self.ours)
            .and_then(|()| fs::remove_dir_all(&old))
            .map_err(Place::file(&old).io())?;
        Ok(self.target.clone())
    }
}

impl Drop for RunWriter {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
        // Only empty folders can be removed this way: those of a finished run stay.
        self.made.iter().for_each(|folder| drop(fs::remove_dir(folder)));
    }
}

/// A number in the shortest form that reads back as the same double.
pub(super) fn shortest(value: f64) -> String {
    match value.abs() {
        0.0 | 1e-5..1e16 => value.to_string(),
        _ => format!("{value:e}"),
    }
}

fn check_target(path: &Path, overwrite: bool) -> Result<(), IoError> {
    let empty = || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    match path.exists() {
        true if !overwrite => Err(Place::file(path).fault(Fault::Exists)),
        true if !path.join(SUMMARY).is_file() && !empty() => Err(Place::file(path).fault(Fault::NotARun)),
        _ => Ok(()),
    }
}

/// A hidden sibling of `path`, its own for every process.
fn beside(path: &Path, what: &str) -> Result<PathBuf, IoError> {
    let name = path.file_name().ok_or_else(|| Place::file(path).fault(Fault::NoFolderName))?;
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{what}-{}", std::process::id()));
    Ok(path.with_file_name(hidden))
}

/// Moves what no run has written from the old folder to the new one.
fn keep_foreign(old: &Path, new: &Path, ours: &[&str]) -> std::io::Result<()> {
    for entry in fs::read_dir(old)? {
        let name = entry?.file_name();
        if !ours.iter().any(|&own| name == own) && !new.join(&name).exists() {
            fs::rename(old.join(&name), new.join(&name))?;
        }
    }
    Ok(())
}

/// One line of CSV, fields quoted where they need it.
pub fn csv_line<F: Display>(fields: impl IntoIterator<Item = F>) -> String {
    let mut text = String::new();
    push_record(&mut text, fields);
    text
}

fn push_record<F: Display>(text: &mut String, fields: impl IntoIterator<Item = F>) {
    for (i, field) in fields.into_iter().enumerate() {
        if i > 0 {
            text.push(',');
        }
        push_field(text, field);
    }
    text.push('\n');
}

fn push_field(text: &mut String, field: impl Display) {
    let start = text.len();
    write!(text, "{field}").expect("writing to a string cannot fail");
    if text[start..].contains([',', '"', '\n', '\r']) {
        let quoted = format!("\"{}\"", text[start..].replace('"', "\"\""));
        text.truncate(start);
        text.push_str(&quoted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortest_form_reads_back_as_the_same_double() {
        for value in [0.1 + 0.2, -1.0 / 3.0, 5e-324, f64::MAX, 1e16, 123456.75, -0.0] {
            assert_eq!(shortest(value).parse::<f64>().unwrap().to_bits(), value.to_bits());
        }
        assert_eq!((shortest(1.0).as_str(), shortest(1e300).as_str()), ("1", "1e300"));
    }

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let mut text = String::new();
        push_record(&mut text, ["a,b", "say \"hi\"", "plain (x)"]);
        assert_eq!(text, "\"a,b\",\"say \"\"hi\"\"\",plain (x)\n");
    }
}
