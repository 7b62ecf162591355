//! The files of a log: the one that is written, and older ones with numbers after their names, the oldest with the smallest.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Older files that are kept.
pub const KEPT: usize = 8;

/// The older files of a log, the oldest first.
pub fn older(path: &Path) -> Vec<PathBuf> {
    let (Some(folder), name) = (path.parent(), name(path)) else { return Vec::new() };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let number = |file: &str| file.strip_prefix(&name)?.strip_prefix('.')?.parse::<u64>().ok();
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut numbers: Vec<u64> = files.filter_map(|file| number(file.file_name().to_str()?)).collect();
    numbers.sort_unstable();
    numbers.into_iter().map(|number| numbered(path, number)).collect()
}

/// An older file.
pub fn numbered(path: &Path, number: u64) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// The name of a file without its folder.
pub fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Gives the log the next number, removes the oldest files, and starts a new one.
pub fn set_aside(path: &Path) -> io::Result<File> {
    let older = older(path);
    let number = |path: &PathBuf| path.extension().and_then(|n| n.to_str()?.parse::<u64>().ok());
    let next = older.last().and_then(number).map_or(1, |last| last + 1);
    fs::rename(path, numbered(path, next))?;
    older.iter().take((older.len() + 1).saturating_sub(KEPT)).try_for_each(fs::remove_file)?;
    OpenOptions::new().create_new(true).write(true).open(path)
}
