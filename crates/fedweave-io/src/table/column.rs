//! Columns: numbers in one `Vec<f64>`, or text coded by a dictionary. Cells arrive one by one and are never kept as
//! strings of their own.

use std::collections::HashMap;

/// One column of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Not read.
    Skipped,
    /// Numbers.
    Number(Numbers),
    /// Text.
    Text(Text),
}

/// A column of numbers; NaN marks a missing cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Numbers {
    /// The cells; empty once a stray was met, since the column is then no column of numbers.
    pub values: Vec<f64>,
    /// Number of missing cells.
    pub missing: usize,
    /// The first cell that is no number.
    pub stray: Option<Cell>,
    /// The first cell beyond double precision.
    pub infinite: Option<Cell>,
}

/// A column of text: `levels[codes[row]]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Text {
    /// The level of each row.
    pub codes: Vec<u32>,
    /// The distinct texts, in order of appearance.
    pub levels: Vec<String>,
}

/// A cell worth quoting.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Row of the table, counted from 0.
    pub row: usize,
    /// What stands there.
    pub value: String,
}

/// True for the ways to leave a cell blank: nothing, `NA`, `N/A`, `n/a`, `#N/A`, `<NA>`, `NaN`, `nan`, `null`, `NULL`, `?`, `-`, `--`.
pub fn is_missing(cell: &str) -> bool {
    let cell = cell.trim_ascii();
    matches!(cell, "" | "NA" | "N/A" | "n/a" | "#N/A" | "<NA>" | "NaN" | "nan" | "null" | "NULL" | "?" | "-" | "--")
}

impl Numbers {
    /// Appends a cell as it stands in the file.
    pub(crate) fn push(&mut self, row: usize, cell: &str) {
        if self.stray.is_some() {
            return;
        }
        let cell = cell.trim_ascii();
        match cell.parse::<f64>() {
            Ok(value) => self.push_value(row, value, cell),
            Err(_) if is_missing(cell) => self.push_value(row, f64::NAN, cell),
            Err(_) => self.stop(Cell { row, value: cell.into() }),
        }
    }

    /// Appends a number; `shown` is how to quote it.
    pub(crate) fn push_value(&mut self, row: usize, value: f64, shown: &str) {
        if value.is_nan() {
            self.missing += 1;
        }
        if value.is_infinite() && self.infinite.is_none() {
            self.infinite = Some(Cell { row, value: shown.into() });
        }
        self.values.push(value);
    }

    /// Gives up on the column: `cell` is no number.
    pub(crate) fn stop(&mut self, cell: Cell) {
        self.stray.get_or_insert(cell);
        self.values = Vec::new();
    }

    /// Rows whose cell is missing.
    pub fn gaps(&self) -> Vec<usize> {
        match self.missing {
            0 => Vec::new(),
            _ => (0..self.values.len()).filter(|&row| self.values[row].is_nan()).collect(),
        }
    }
}

impl Text {
    /// The text of a row.
    pub fn get(&self, row: usize) -> &str {
        &self.levels[self.codes[row] as usize]
    }

    /// Rows whose text satisfies `blank`.
    pub fn gaps(&self, blank: impl Fn(&str) -> bool) -> Vec<usize> {
        let blank: Vec<bool> = self.levels.iter().map(|level| blank(level)).collect();
        match blank.contains(&true) {
            false => Vec::new(),
            true => (0..self.codes.len()).filter(|&row| blank[self.codes[row] as usize]).collect(),
        }
    }

    /// The same cells read as numbers.
    pub fn to_numbers(&self) -> Numbers {
        let mut numbers = Numbers::default();
        for row in 0..self.codes.len() {
            numbers.push(row, self.get(row));
        }
        numbers
    }
}

/// Gives every distinct text a number, in order of appearance.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    index: HashMap<String, u32>,
}

impl Interner {
    /// The number of a text.
    pub(crate) fn code(&mut self, text: &str) -> u32 {
        if let Some(&code) = self.index.get(text) {
            return code;
        }
        let code = self.index.len() as u32;
        self.index.insert(text.to_owned(), code);
        code
    }

    /// The texts, each at its number.
    pub(crate) fn into_levels(self) -> Vec<String> {
        let mut levels = vec![String::new(); self.index.len()];
        for (text, code) in self.index {
            levels[code as usize] = text;
        }
        levels
    }
}

/// A column while it is being read.
pub(super) enum Growing {
    Skipped,
    Number(Numbers),
    Text(Vec<u32>, Interner, String),
}

impl Growing {
    pub(super) fn new(kind: super::Kind) -> Self {
        match kind {
            super::Kind::Skip => Growing::Skipped,
            super::Kind::Number => Growing::Number(Numbers::default()),
            super::Kind::Text => Growing::Text(Vec::new(), Interner::default(), String::new()),
        }
    }

    pub(super) fn push(&mut self, row: usize, cell: &str) {
        match self {
            Growing::Skipped => {}
            Growing::Number(numbers) => numbers.push(row, cell),
            Growing::Text(codes, interner, last) => push_text(codes, interner, last, cell),
        }
    }

    pub(super) fn finish(self) -> Column {
        match self {
            Growing::Skipped => Column::Skipped,
            Growing::Number(numbers) => Column::Number(numbers),
            Growing::Text(codes, interner, _) => Column::Text(Text { codes, levels: interner.into_levels() }),
        }
    }
}

/// Tables are often sorted by node, so the text of the row above is tried before the dictionary.
fn push_text(codes: &mut Vec<u32>, interner: &mut Interner, last: &mut String, cell: &str) {
    let code = match codes.last() {
        Some(&code) if last == cell => code,
        _ => interner.code(cell),
    };
    last.clear();
    last.push_str(cell);
    codes.push(code);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(cells: &[&str]) -> Numbers {
        let mut numbers = Numbers::default();
        cells.iter().enumerate().for_each(|(row, cell)| numbers.push(row, cell));
        numbers
    }

    #[test]
    fn missing_cells_are_counted_and_marked() {
        let n = numbers(&["1", "", "NA", "?", " 2.5 ", "NaN", "null"]);
        assert_eq!((n.missing, n.gaps()), (5, vec![1, 2, 3, 5, 6]));
        assert_eq!((n.values[0], n.values[4], n.stray), (1.0, 2.5, None));
    }

    #[test]
    fn the_first_stray_and_the_first_infinity_are_remembered() {
        let n = numbers(&["1", "warm", "cold"]);
        assert_eq!(n.stray, Some(Cell { row: 1, value: "warm".into() }));
        assert!(n.values.is_empty());
        assert_eq!(numbers(&["1e400", "inf"]).infinite, Some(Cell { row: 0, value: "1e400".into() }));
    }

    #[test]
    fn text_is_kept_letter_by_letter() {
        let mut column = Growing::new(crate::Kind::Text);
        ["007", "7", "007", " 7"].iter().enumerate().for_each(|(row, cell)| column.push(row, cell));
        let Column::Text(text) = column.finish() else { panic!("read as text") };
        assert_eq!(
            (text.codes.as_slice(), text.levels.as_slice()),
            (&[0, 1, 0, 2][..], &["007", "7", " 7"].map(String::from)[..])
        );
    }
}
