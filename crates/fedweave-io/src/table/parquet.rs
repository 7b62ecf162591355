//! Parquet, column by column. Numbers of every width become `f64`; ids and labels become text, integers in decimal.

mod cells;

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::SchemaDescriptor;

use super::column::{Cell, Growing};
use super::{Dialect, Kind, Table, check_header};
use crate::error::{At, IoError, Place};
use crate::fault::Fault;
use cells::Cells;

/// Cells decoded at a time.
const BATCH: usize = 8192;

/// Reads the file. The decoder panics on some damaged files (a division by zero in release 60); that is a fault of the
/// file, so it becomes an error here. Nothing outlives the call that a panic could leave half-changed.
pub(super) fn read(path: &Path, file: File, kind: &dyn Fn(&str) -> Kind) -> Result<Table, IoError> {
    let decoded = catch_unwind(AssertUnwindSafe(|| decode(path, file, kind)));
    decoded.unwrap_or_else(|_| Err(Place::file(path).fault(Fault::Parquet { message: "it is damaged".into() })))
}

fn decode(path: &Path, file: File, kind: &dyn Fn(&str) -> Kind) -> Result<Table, IoError> {
    let broken = |error: ParquetError| Place::file(path).fault(Fault::Parquet { message: error.to_string() });
    let reader = SerializedFileReader::new(file).map_err(broken)?;
    let schema = reader.metadata().file_metadata().schema_descr();
    let names: Vec<String> = schema.root_schema().get_fields().iter().map(|field| field.name().to_owned()).collect();
    check_header(Place::file(path), &names)?;
    let mut columns: Vec<Growing> = names.iter().map(|name| Growing::new(kind(name))).collect();
    let rows = read_groups(&reader, schema, &mut columns).map_err(broken)?;
    let columns = columns.into_iter().map(Growing::finish).collect();
    Ok(Table {
        path: path.to_path_buf(),
        names,
        columns,
        lines: (1..=rows as u64).collect(),
        at: At::Row,
        notes: Vec::new(),
        dialect: Dialect::default(),
    })
}

/// Reads every wanted column of every group of rows; the number of rows.
fn read_groups(
    reader: &SerializedFileReader<File>,
    schema: &SchemaDescriptor,
    columns: &mut [Growing],
) -> Result<usize, ParquetError> {
    let mut first = 0;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let claimed = group.metadata().num_rows();
        let rows = usize::try_from(claimed).map_err(|_| damaged(format!("a group of {claimed} rows")))?;
        // A damaged file may claim any number of rows: it is believed once a column of that length was read.
        let mut believed = rows == 0;
        for (root, column) in columns.iter_mut().enumerate() {
            match plain_leaf(schema, root) {
                _ if matches!(column, Growing::Skipped) => {}
                Some(leaf) => {
                    read_cells(group.get_column_reader(leaf)?, schema, leaf, rows, first, column)?;
                    believed = true;
                }
                None => refuse_nested(schema, root, first, column)?,
            }
        }
        if !believed {
            let leaf = (0..columns.len()).find_map(|root| plain_leaf(schema, root));
            let leaf = leaf.ok_or_else(|| ParquetError::General("all columns hold lists or structures".into()))?;
            read_cells(group.get_column_reader(leaf)?, schema, leaf, rows, first, &mut Growing::Skipped)?;
        }
        first += rows;
    }
    Ok(first)
}

/// The position among all leaves of a column that holds one value a row, or none; `None` for lists, maps and structures.
fn plain_leaf(schema: &SchemaDescriptor, root: usize) -> Option<usize> {
    let leaf = (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == root)?;
    (schema.get_column_root(leaf).is_primitive() && schema.column(leaf).max_rep_level() == 0).then_some(leaf)
}

/// Lists, maps and structures are no numbers, and no text either.
fn refuse_nested(
    schema: &SchemaDescriptor,
    root: usize,
    first: usize,
    column: &mut Growing,
) -> Result<(), ParquetError> {
    match column {
        Growing::Number(numbers) => numbers.stop(Cell { row: first, value: "a list or structure".into() }),
        _ => {
            let name = schema.root_schema().get_fields()[root].name();
            return Err(ParquetError::General(format!("column {name} holds lists or structures")));
        }
    }
    Ok(())
}

fn read_cells(
    reader: ColumnReader,
    schema: &SchemaDescriptor,
    leaf: usize,
    rows: usize,
    first: usize,
    column: &mut Growing,
) -> Result<(), ParquetError> {
    let about = schema.column(leaf);
    let sink = Sink { filled: about.max_def_level(), rows, first, column };
    match reader {
        ColumnReader::BoolColumnReader(reader) => sink.fill(reader, &Cells::truth()),
        ColumnReader::Int32ColumnReader(reader) => sink.fill(reader, &Cells::int32(&about)),
        ColumnReader::Int64ColumnReader(reader) => sink.fill(reader, &Cells::int64(&about)),
        ColumnReader::Int96ColumnReader(reader) => sink.fill(reader, &Cells::int96()),
        ColumnReader::FloatColumnReader(reader) => sink.fill(reader, &Cells::float()),
        ColumnReader::DoubleColumnReader(reader) => sink.fill(reader, &Cells::double()),
        ColumnReader::ByteArrayColumnReader(reader) => sink.fill(reader, &Cells::bytes(&about)),
        ColumnReader::FixedLenByteArrayColumnReader(reader) => sink.fill(reader, &Cells::bytes(&about)),
    }
}

/// Where the cells of one column of one group go.
struct Sink<'a> {
    /// Level of definition of a cell that is there.
    filled: i16,
    rows: usize,
    /// Row of the table with which the group begins.
    first: usize,
    column: &'a mut Growing,
}

impl Sink<'_> {
    fn fill<T: DataType>(self, mut reader: ColumnReaderImpl<T>, cells: &Cells<T::T>) -> Result<(), ParquetError> {
        let (mut levels, mut values, mut text) = (Vec::new(), Vec::new(), String::new());
        let mut done = 0;
        while done < self.rows {
            levels.clear();
            values.clear();
            let batch = BATCH.min(self.rows - done);
            let (read, ..) = reader.read_records(batch, Some(&mut levels), None, &mut values)?;
            if read == 0 {
                return Err(damaged(format!("a column ends after {done} of {} rows", self.rows)));
            }
            // Columns that cannot miss a cell have no levels.
            let mut values = values.iter();
            for i in 0..read {
                let there = levels.get(i).is_none_or(|&level| level == self.filled);
                let value = if there { values.next() } else { None };
                push(self.column, self.first + done + i, value, cells, &mut text)?;
            }
            done += read;
        }
        Ok(())
    }
}

fn push<T>(
    column: &mut Growing,
    row: usize,
    value: Option<&T>,
    cells: &Cells<T>,
    text: &mut String,
) -> Result<(), ParquetError> {
    if let (Growing::Number(numbers), Some(number)) = (&mut *column, &cells.number) {
        let value = value.map_or(Ok(f64::NAN), number)?;
        let shown = if value.is_infinite() { value.to_string() } else { String::new() };
        numbers.push_value(row, value, &shown);
        return Ok(());
    }
    text.clear();
    if let Some(value) = value {
        (cells.text)(value, text)?;
    }
    column.push(row, text);
    Ok(())
}

fn damaged(what: String) -> ParquetError {
    ParquetError::General(format!("it is damaged: {what}"))
}
