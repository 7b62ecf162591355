//! The one error of this crate: a [`Fault`] and the [`Place`] where it was met.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::fault::Fault;

/// What is wrong, where, and (in its text) what to do about it.
#[derive(Debug)]
pub struct IoError {
    /// Where; `None` when the fault lies in the request and not in a file.
    pub place: Option<Place>,
    /// What. Boxed, so that results stay small on the way up.
    pub fault: Box<Fault>,
}

/// A file, or a spot in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file or folder, as the user named it.
    pub path: PathBuf,
    /// The spot inside.
    pub at: At,
}

/// A spot inside a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The file as a whole.
    File,
    /// A line of a text file, counted from 1.
    Line(u64),
    /// A row of a binary table, counted from 1.
    Row(u64),
}

impl Place {
    /// The file as a whole.
    pub fn file(path: &Path) -> Self {
        Place { path: path.to_path_buf(), at: At::File }
    }

    /// A line of a text file.
    pub fn line(path: &Path, line: u64) -> Self {
        Place { path: path.to_path_buf(), at: At::Line(line) }
    }

    /// The error that `fault` happened here.
    pub fn fault(self, fault: Fault) -> IoError {
        IoError { place: Some(self), fault: Box::new(fault) }
    }

    /// For `map_err`: what the operating system said about this place.
    pub(crate) fn io(self) -> impl FnOnce(std::io::Error) -> IoError {
        move |error| self.fault(error.into())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.at {
            At::File => write!(f, "{path}"),
            At::Line(line) => write!(f, "{path}:{line}"),
            At::Row(row) => write!(f, "{path}: row {row}"),
        }
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.fault),
            None => write!(f, "{}", self.fault),
        }
    }
}

impl std::error::Error for IoError {}

impl From<Fault> for IoError {
    fn from(fault: Fault) -> Self {
        IoError { place: None, fault: Box::new(fault) }
    }
}

impl From<fedweave::Error> for IoError {
    fn from(error: fedweave::Error) -> Self {
        Fault::Mathematics(error).into()
    }
}
