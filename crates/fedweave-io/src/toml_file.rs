//! Reads a TOML file into a struct; what is wrong is told with its line.

use std::ops::Range;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::error::{IoError, Place};
use crate::fault::Fault;

/// A TOML file as text, which can be read more than once and knows its lines.
#[derive(Debug, Clone)]
pub struct TomlFile<'a> {
    path: &'a Path,
    hint: &'static str,
    text: String,
}

impl<'a> TomlFile<'a> {
    /// Reads the text. Every error ends with the `hint`, which says where the keys are explained.
    pub fn open(path: &'a Path, hint: &'static str) -> Result<Self, IoError> {
        let text = std::fs::read_to_string(path).map_err(Place::file(path).io())?;
        Ok(TomlFile { path, hint, text })
    }

    /// The file as a struct.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, IoError> {
        toml::from_str(&self.text).map_err(|error: toml::de::Error| {
            let span = error.span().unwrap_or(0..0);
            // The first line says what is wrong; the rest repeats the file.
            let what = error.message().lines().next().unwrap_or_default();
            // Of an unknown key, not all keys there are.
            let what = if what.starts_with("unknown field") { before(what, ", expected") } else { what };
            let line = self.text.lines().nth(self.line(&span) - 1).unwrap_or_default();
            let key = before(line, "=").trim();
            let named = what.contains(key) || what.starts_with("missing field");
            let what = if named { what.to_string() } else { format!("`{key}`: {what}") };
            self.fault(&span, what)
        })
    }

    /// The error that something is wrong at a span of the text.
    pub fn fault(&self, span: &Range<usize>, what: String) -> IoError {
        Place::line(self.path, self.line(span) as u64).fault(Fault::Toml { what, hint: self.hint })
    }

    fn line(&self, span: &Range<usize>) -> usize {
        1 + self.text.bytes().take(span.start).filter(|b| *b == b'\n').count()
    }
}

fn before<'t>(text: &'t str, end: &str) -> &'t str {
    text.split(end).next().unwrap_or_default()
}

/// Reads a TOML file into a struct; errors name the line and what is wrong there, then the `hint`.
pub fn read_toml<T: DeserializeOwned>(path: &Path, hint: &'static str) -> Result<T, IoError> {
    TomlFile::open(path, hint)?.parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Two {
        first: f64,
        second: String,
    }

    #[test]
    fn errors_name_the_line_and_the_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("two.toml");
        for (text, words) in [
            ("first = 1\nsecond = 2\n", "two.toml:2: `second`: "),
            ("first = 1\n\nthird = 2\n", "two.toml:3: unknown field `third`; look"),
            ("first = 1\nsecond = \"a\n", "two.toml:2: "),
            ("first = 1\n", "two.toml:1: missing field `second`; look"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = read_toml::<Two>(&path, "look here").unwrap_err().to_string();
            assert!(error.contains(words) && error.ends_with("; look here"), "{text}: {error}");
        }
        std::fs::write(&path, "first = 1\nsecond = \"a\"\n").unwrap();
        assert_eq!(read_toml::<Two>(&path, "").unwrap().first, 1.0);
        assert!(
            read_toml::<Two>(&folder.path().join("none.toml"), "").unwrap_err().to_string().contains("no such file")
        );
    }
}
