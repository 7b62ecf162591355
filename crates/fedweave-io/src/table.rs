//! A table, column by column: CSV (also gzipped, also tab-separated) or Parquet, told apart by content.

mod column;
mod csv;
mod nearby;
#[cfg(feature = "parquet")]
mod parquet;
mod records;
mod source;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

pub(crate) use column::Interner;
pub use column::{Cell, Column, Numbers, Text, is_missing};
pub(crate) use source::open_text;

use crate::error::{At, IoError, Place};
use crate::fault::Fault;
use source::Source;

/// How a column is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Not at all.
    Skip,
    /// As numbers.
    Number,
    /// As text, letter by letter: `007` stays `007`.
    Text,
}

/// A table in memory. Columns that nobody asked for have a name and no cells.
#[derive(Debug)]
pub struct Table {
    path: PathBuf,
    names: Vec<String>,
    columns: Vec<Column>,
    lines: Vec<u64>,
    at: fn(u64) -> At,
    notes: Vec<String>,
    dialect: Dialect,
}

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// What separates columns.
    pub separator: char,
    /// Numbers have commas for decimal points.
    pub decimal_commas: bool,
}

impl Default for Dialect {
    fn default() -> Self {
        Dialect { separator: ',', decimal_commas: false }
    }
}

impl Table {
    /// Reads a file; `kind` says for each column name how (and whether) to read it.
    pub fn read(path: &Path, kind: impl Fn(&str) -> Kind) -> Result<Self, IoError> {
        let table = match source::open(path)? {
            Source::Text(input) => csv::read(path, input, &kind)?,
            #[cfg(feature = "parquet")]
            Source::Parquet(file) => parquet::read(path, file, &kind)?,
        };
        match table.rows() {
            0 => Err(Place::file(path).fault(Fault::HeaderOnly)),
            _ => Ok(table),
        }
    }

    /// Reads a CSV file that is part of the program; `name` is for messages.
    pub fn embedded(name: &str, bytes: &'static [u8], kind: impl Fn(&str) -> Kind) -> Result<Self, IoError> {
        csv::read(Path::new(name), source::text_of(bytes), &kind)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.lines.len()
    }

    /// Names of all columns of the file.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The line of each row (in Parquet: the row number), counted from 1.
    pub fn lines(&self) -> &[u64] {
        &self.lines
    }

    /// Where row `row` (counted from 0) stands.
    pub fn place(&self, row: usize) -> Place {
        Place { path: self.path.clone(), at: (self.at)(self.lines[row]) }
    }

    /// How the file was read, where that is not plain.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// How the file is written; of numbers, as far as columns were read as such.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// How this file counts: by lines or by rows.
    pub(crate) fn at(&self) -> fn(u64) -> At {
        self.at
    }

    /// The file as a whole.
    pub fn file(&self) -> Place {
        Place::file(&self.path)
    }

    /// Position of a column, or an error that lists what there is.
    pub fn find(&self, name: &str) -> Result<usize, IoError> {
        self.position(name).ok_or_else(|| {
            let suggestion = nearby::nearest(name, &self.names).map(String::from);
            self.file().fault(Fault::UnknownColumn { name: name.into(), suggestion, available: self.names.clone() })
        })
    }

    /// Position of the column with the ids of the nodes.
    pub fn find_node(&self, name: &str) -> Result<usize, IoError> {
        let fault = || Fault::NoNodeColumn { name: name.into(), available: self.names.clone() };
        self.position(name).ok_or_else(|| self.file().fault(fault()))
    }

    /// Position of a column, if there is one of this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|n| n == name)
    }

    /// A column.
    pub fn column(&self, column: usize) -> &Column {
        &self.columns[column]
    }

    /// A column as numbers, whatever it was read as; `stray` tells why not.
    pub fn numbers(&self, column: usize) -> Cow<'_, Numbers> {
        match &self.columns[column] {
            Column::Number(numbers) => Cow::Borrowed(numbers),
            Column::Text(text) => Cow::Owned(text.to_numbers()),
            Column::Skipped => Cow::Owned(Numbers::default()),
        }
    }

    /// A column as numbers that are all finite or missing, or an error that quotes the first cell that is not.
    pub fn finite(&self, column: usize) -> Result<Cow<'_, Numbers>, IoError> {
        let numbers = self.numbers(column);
        let name = || self.names[column].clone();
        if let Some(cell) = &numbers.stray {
            return Err(self.place(cell.row).fault(Fault::NotNumber { column: name(), value: cell.value.clone() }));
        }
        if let Some(cell) = &numbers.infinite {
            return Err(self.place(cell.row).fault(Fault::Infinite { column: name(), value: cell.value.clone() }));
        }
        Ok(numbers)
    }

    /// A column that was read as text; empty for any other.
    pub fn text(&self, column: usize) -> &Text {
        static NONE: Text = Text { codes: Vec::new(), levels: Vec::new() };
        match &self.columns[column] {
            Column::Text(text) => text,
            _ => &NONE,
        }
    }
}

/// Headers must name every column, each by a name of its own.
fn check_header(place: Place, names: &[String]) -> Result<(), IoError> {
    let mut seen = std::collections::HashSet::new();
    for (i, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(place.fault(Fault::UnnamedColumn { position: i + 1 }));
        }
        if !seen.insert(name) {
            return Err(place.fault(Fault::DuplicateColumn { column: name.clone() }));
        }
    }
    Ok(())
}
