//! Text separated by commas, tabs, semicolons or bars.

use std::io::BufRead;
use std::path::Path;

use super::column::Growing;
use super::records::Records;
use super::{Dialect, Kind, Table, check_header};
use crate::error::{At, IoError, Place};
use crate::fault::Fault;

/// What may separate columns, and its name.
const DELIMITERS: [(char, &str); 4] = [(';', "semicolons"), ('\t', "tabs"), ('|', "bars"), (',', "commas")];

pub(super) fn read(path: &Path, input: Box<dyn BufRead>, kind: &dyn Fn(&str) -> Kind) -> Result<Table, IoError> {
    let mut records = Records::new(path, input, delimiter(path));
    if !records.advance()? {
        return Err(Place::file(path).fault(Fault::Empty));
    }
    let mut notes = Vec::new();
    if let Some((other, name)) = other_delimiter(&records) {
        records.split_by(other)?;
        notes.push(format!("columns are separated by {name}"));
    }
    let names: Vec<String> = records.fields().map(|name| name.trim().to_owned()).collect();
    check_header(records.place(), &names)?;
    let mut columns: Vec<Growing> = names.iter().map(|name| Growing::new(kind(name))).collect();
    let (lines, decimal_commas) = read_rows(&mut records, &mut columns)?;
    if decimal_commas {
        notes.push("commas in numbers are read as decimal points".into());
    }
    let columns = columns.into_iter().map(Growing::finish).collect();
    let dialect = Dialect { separator: records.delimiter(), decimal_commas };
    Ok(Table { path: path.to_path_buf(), names, columns, lines, at: At::Line, notes, dialect })
}

/// The lines of the rows, and whether numbers had commas for decimal points.
fn read_rows(records: &mut Records, columns: &mut [Growing]) -> Result<(Vec<u64>, bool), IoError> {
    let (mut lines, mut decimal_commas) = (Vec::new(), false);
    // Where semicolons stand between columns, commas stand inside numbers.
    let comma_inside = records.delimiter() == ';';
    while records.advance()? {
        let (expected, found) = (columns.len(), records.fields().len());
        if found != expected {
            let delimiter =
                DELIMITERS.iter().find(|(c, _)| *c == records.delimiter()).map_or("commas", |(_, name)| name);
            return Err(records.place().fault(Fault::Ragged { expected, found, delimiter }));
        }
        for (column, cell) in columns.iter_mut().zip(records.fields()) {
            if comma_inside && matches!(column, Growing::Number(_)) && cell.contains(',') && !cell.contains('.') {
                decimal_commas = true;
                column.push(lines.len(), &cell.replacen(',', ".", 1));
            } else {
                column.push(lines.len(), cell);
            }
        }
        lines.push(records.record_line());
    }
    Ok((lines, decimal_commas))
}

/// One lonely column that holds other separators is a file of another dialect.
fn other_delimiter(records: &Records) -> Option<(char, &'static str)> {
    let mut fields = records.fields();
    let (Some(name), None) = (fields.next(), fields.next()) else { return None };
    DELIMITERS.into_iter().find(|&(other, _)| name.contains(other))
}

fn delimiter(path: &Path) -> char {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    if name.ends_with(".tsv") || name.ends_with(".tab") { '\t' } else { ',' }
}
