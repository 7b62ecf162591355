//! What an experiment found: tables, figures, and checks of what the paper says.

use std::fmt;

use fedweave_report::Figure;

/// Everything an experiment found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// Numbers, each table a csv file.
    pub tables: Vec<Table>,
    /// Figures, each an svg file.
    pub figures: Vec<NamedFigure>,
    /// What the paper says, and whether it is so here.
    pub checks: Vec<Check>,
    /// What else a reader must know: settings the paper leaves open, conversions.
    pub notes: Vec<String>,
}

/// A figure and the stem of its file name.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedFigure {
    /// Stem of the file name.
    pub name: &'static str,
    /// The figure.
    pub figure: Figure,
}

/// A table with named columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Stem of the file name.
    pub name: &'static str,
    /// Names of the columns.
    pub columns: &'static [&'static str],
    /// The rows, each with a cell per column.
    pub rows: Vec<Vec<Cell>>,
    /// Too long for a terminal: only the file has it.
    pub file_only: bool,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A number.
    Number(f64),
    /// Anything else.
    Text(String),
}

/// One statement of a paper, compared with what was computed.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// What is compared.
    pub what: String,
    /// The printed number, or the claim of a figure.
    pub printed: String,
    /// What was computed.
    pub ours: String,
    /// Whether they agree.
    pub holds: bool,
    /// Why not, with the evidence; empty where they agree.
    pub cause: String,
}

impl Table {
    /// An empty table.
    pub fn new(name: &'static str, columns: &'static [&'static str]) -> Self {
        Table { name, columns, rows: Vec::new(), file_only: false }
    }

    /// Appends a row.
    pub fn push<const N: usize>(&mut self, cells: [Cell; N]) {
        assert_eq!(N, self.columns.len(), "a cell per column of {}", self.name);
        self.rows.push(cells.into());
    }
}

impl Check {
    /// A check with its verdict.
    pub fn new(what: impl Into<String>, printed: impl Into<String>, ours: impl Into<String>, holds: bool) -> Self {
        Check { what: what.into(), printed: printed.into(), ours: ours.into(), holds, cause: String::new() }
    }

    /// Why it fails, if it does.
    pub fn because(mut self, cause: impl Into<String>) -> Self {
        if !self.holds {
            self.cause = cause.into();
        }
        self
    }

    /// The number `ours` is within `tolerance` of `printed`, relatively.
    pub fn close(what: impl Into<String>, printed: f64, ours: f64, tolerance: f64) -> Self {
        let holds = (ours - printed).abs() <= tolerance * printed.abs().max(f64::MIN_POSITIVE);
        Check::new(what, format!("{printed} ± {tolerance:e}"), format!("{ours}"), holds)
    }
}

impl Outcome {
    /// Every check holds, and there is at least one.
    pub fn passes(&self) -> bool {
        !self.checks.is_empty() && self.checks.iter().all(|check| check.holds)
    }

    /// Adds a figure.
    pub fn draw(&mut self, name: &'static str, figure: Figure) {
        self.figures.push(NamedFigure { name, figure });
    }
}

impl From<f64> for Cell {
    fn from(x: f64) -> Self {
        Cell::Number(x)
    }
}

impl From<usize> for Cell {
    fn from(x: usize) -> Self {
        Cell::Number(x as f64)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl fmt::Display for Cell {
    /// The shortest form that reads back as the same number; nothing for what is not a number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Number(x) if x.is_nan() => Ok(()),
            Cell::Number(x) if *x != 0.0 && !(1e-4..1e15).contains(&x.abs()) => write!(f, "{x:e}"),
            Cell::Number(x) => write!(f, "{x}"),
            Cell::Text(text) => f.write_str(text),
        }
    }
}

/// Three digits, as people compare numbers.
pub fn short(x: f64) -> String {
    match x.abs() {
        a if a != 0.0 && !(1e-3..1e5).contains(&a) => format!("{x:.2e}"),
        a if a >= 100.0 => format!("{x:.1}"),
        a if a >= 1.0 => format!("{x:.3}"),
        _ => format!("{x:.4}"),
    }
}
