//! Splits delimited text into records (RFC 4180: quotes protect delimiters, line breaks and, doubled, quotes), keeping
//! exact count of the lines, which every later error message needs.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use crate::error::{IoError, Place};
use crate::fault::Fault;

/// A reader of records. The fields of the current one are slices of one reused buffer.
pub(crate) struct Records {
    path: PathBuf,
    input: Box<dyn BufRead>,
    delimiter: char,
    line: u64,
    record_line: u64,
    bytes: Vec<u8>,
    text: String,
    ends: Vec<usize>,
}

/// Where the splitter stands inside a record.
#[derive(Clone, Copy, PartialEq)]
enum State {
    FieldStart,
    Plain,
    Quoted,
    /// Behind a quote inside a quoted field: the end of the field, or the first half of a doubled quote.
    QuoteSeen,
}

impl Records {
    pub(crate) fn new(path: &Path, input: Box<dyn BufRead>, delimiter: char) -> Self {
        let (bytes, text, ends) = Default::default();
        Records { path: path.to_path_buf(), input, delimiter, line: 0, record_line: 0, bytes, text, ends }
    }

    /// Moves to the next record that is not a blank line; false at the end of the file.
    pub(crate) fn advance(&mut self) -> Result<bool, IoError> {
        while self.read_line()? {
            if !content(&self.bytes).is_empty() {
                self.record_line = self.line;
                self.split()?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What separates fields.
    pub(crate) fn delimiter(&self) -> char {
        self.delimiter
    }

    /// Splits the current record, which must stand on one line, and all later ones by another character.
    pub(crate) fn split_by(&mut self, delimiter: char) -> Result<(), IoError> {
        self.delimiter = delimiter;
        self.split()
    }

    /// The fields of the current record.
    pub(crate) fn fields(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.ends.len()).map(|i| {
            let start = if i == 0 { 0 } else { self.ends[i - 1] + 1 };
            &self.text[start..self.ends[i]]
        })
    }

    /// The line on which the current record starts.
    pub(crate) fn record_line(&self) -> u64 {
        self.record_line
    }

    /// The place of the current record.
    pub(crate) fn place(&self) -> Place {
        Place::line(&self.path, self.record_line)
    }

    fn read_line(&mut self) -> Result<bool, IoError> {
        self.bytes.clear();
        self.line += 1;
        let at = Place::line(&self.path, self.line);
        let read = self.input.read_until(b'\n', &mut self.bytes).map_err(at.io())?;
        if self.line == 1 && self.bytes.starts_with(b"\xef\xbb\xbf") {
            self.bytes.drain(..3);
        }
        Ok(read > 0)
    }

    fn split(&mut self) -> Result<(), IoError> {
        self.text.clear();
        self.ends.clear();
        if self.bytes.contains(&b'"') {
            return self.split_quoted();
        }
        let line = utf8(content(&self.bytes)).ok_or_else(|| self.not_utf8())?;
        self.text.push_str(line);
        let delimiter = self.delimiter as u8;
        self.ends.extend(line.bytes().enumerate().filter(|&(_, b)| b == delimiter).map(|(i, _)| i));
        self.ends.push(self.text.len());
        Ok(())
    }

    fn split_quoted(&mut self) -> Result<(), IoError> {
        let mut state = State::FieldStart;
        loop {
            let whole = utf8(&self.bytes).ok_or_else(|| self.not_utf8())?;
            let line = whole.trim_end_matches(['\r', '\n']);
            for c in line.chars() {
                state = step(state, c, self.delimiter, &mut self.text, &mut self.ends);
            }
            if state != State::Quoted {
                break;
            }
            self.text.push_str(&whole[line.len()..]);
            if !self.read_line()? {
                return Err(self.place().fault(Fault::UnclosedQuote));
            }
        }
        self.ends.push(self.text.len());
        Ok(())
    }

    fn not_utf8(&self) -> IoError {
        Place::line(&self.path, self.line).fault(Fault::NotUtf8)
    }
}

/// Reads one character. A delimiter between fields stays in `text`, so that plain and quoted records look the same.
fn step(state: State, c: char, delimiter: char, text: &mut String, ends: &mut Vec<usize>) -> State {
    let next = match (state, c) {
        (State::FieldStart, '"') => return State::Quoted,
        (State::Quoted, '"') => return State::QuoteSeen,
        (State::Quoted, _) | (State::QuoteSeen, '"') => State::Quoted,
        _ if c == delimiter => State::FieldStart,
        _ => State::Plain,
    };
    if next == State::FieldStart {
        ends.push(text.len());
    }
    text.push(c);
    next
}

fn content(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn utf8(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}
