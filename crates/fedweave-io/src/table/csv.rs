//! Comma- and tab-separated text.

use std::io::BufRead;
use std::path::Path;

use super::column::Growing;
use super::records::Records;
use super::{Kind, Table, check_header};
use crate::error::{At, IoError, Place};
use crate::fault::Fault;

pub(super) fn read(path: &Path, input: Box<dyn BufRead>, kind: &dyn Fn(&str) -> Kind) -> Result<Table, IoError> {
    let delimiter = delimiter(path);
    let mut records = Records::new(path, input, delimiter);
    if !records.advance()? {
        return Err(Place::file(path).fault(Fault::Empty));
    }
    let names: Vec<String> = records.fields().map(|name| name.trim().to_owned()).collect();
    check_delimiter(&records, &names)?;
    check_header(records.place(), &names)?;
    let mut columns: Vec<Growing> = names.iter().map(|name| Growing::new(kind(name))).collect();
    let lines = read_rows(&mut records, &mut columns, delimiter)?;
    let columns = columns.into_iter().map(Growing::finish).collect();
    Ok(Table { path: path.to_path_buf(), names, columns, lines, at: At::Line })
}

fn read_rows(records: &mut Records, columns: &mut [Growing], delimiter: char) -> Result<Vec<u64>, IoError> {
    let mut lines = Vec::new();
    while records.advance()? {
        let (expected, found) = (columns.len(), records.fields().len());
        if found != expected {
            let delimiter = if delimiter == '\t' { "tabs" } else { "commas" };
            return Err(records.place().fault(Fault::Ragged { expected, found, delimiter }));
        }
        for (column, cell) in columns.iter_mut().zip(records.fields()) {
            column.push(lines.len(), cell);
        }
        lines.push(records.record_line());
    }
    Ok(lines)
}

/// One lonely column that holds other separators is a file of another dialect.
fn check_delimiter(records: &Records, names: &[String]) -> Result<(), IoError> {
    let [name] = names else { return Ok(()) };
    let others = [(';', "semicolons"), ('\t', "tabs"), ('|', "bars"), (',', "commas")];
    match others.into_iter().find(|&(other, _)| name.contains(other)) {
        Some((_, found)) => Err(records.place().fault(Fault::Delimiter { found })),
        None => Ok(()),
    }
}

fn delimiter(path: &Path) -> char {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    if name.ends_with(".tsv") || name.ends_with(".tab") { '\t' } else { ',' }
}
