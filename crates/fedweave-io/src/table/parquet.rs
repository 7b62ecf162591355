//! Parquet. Numbers of every width become `f64`; ids and labels become text, integers in decimal.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::column::{Cell, Growing, Numbers};
use super::{Kind, Table, check_header};
use crate::error::{At, IoError, Place};
use crate::fault::Fault;

/// Reads the file. The decoder panics on some damaged files (a division by zero in release 60); that is a fault of the
/// file, so it becomes an error here. Nothing outlives the call that a panic could leave half-changed.
pub(super) fn read(path: &Path, file: File, kind: &dyn Fn(&str) -> Kind) -> Result<Table, IoError> {
    let decoded = catch_unwind(AssertUnwindSafe(|| decode(path, file, kind)));
    decoded.unwrap_or_else(|_| Err(Place::file(path).fault(Fault::Parquet { message: "it is damaged".into() })))
}

fn decode(path: &Path, file: File, kind: &dyn Fn(&str) -> Kind) -> Result<Table, IoError> {
    let broken = |message: String| Place::file(path).fault(Fault::Parquet { message });
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| broken(e.to_string()))?;
    let names: Vec<String> = builder.schema().fields().iter().map(|field| field.name().clone()).collect();
    check_header(Place::file(path), &names)?;
    let kinds: Vec<Kind> = names.iter().map(|name| kind(name)).collect();
    let wanted: Vec<usize> = (0..names.len()).filter(|&i| kinds[i] != Kind::Skip).collect();
    let mask = ProjectionMask::roots(builder.parquet_schema(), wanted.iter().copied());
    let reader = builder.with_projection(mask).build().map_err(|e| broken(e.to_string()))?;
    let mut columns: Vec<Growing> = kinds.into_iter().map(Growing::new).collect();
    let rows = read_batches(reader, &wanted, &mut columns).map_err(|e| broken(e.to_string()))?;
    let columns = columns.into_iter().map(Growing::finish).collect();
    Ok(Table { path: path.to_path_buf(), names, columns, lines: (1..=rows).collect(), at: At::Row })
}

fn read_batches(
    reader: ParquetRecordBatchReader,
    wanted: &[usize],
    columns: &mut [Growing],
) -> Result<u64, ArrowError> {
    let mut first = 0;
    for batch in reader {
        let batch = batch?;
        for (array, &column) in batch.columns().iter().zip(wanted) {
            push_array(&mut columns[column], first, array)?;
        }
        first += batch.num_rows();
    }
    Ok(first as u64)
}

fn push_array(column: &mut Growing, first: usize, array: &ArrayRef) -> Result<(), ArrowError> {
    match column {
        Growing::Number(numbers) if holds_numbers(array.data_type()) => push_numbers(numbers, first, array),
        Growing::Number(numbers) if !arrow_cast::can_cast_types(array.data_type(), &DataType::Utf8) => {
            numbers.stop(Cell { row: first, value: array.data_type().to_string() });
            Ok(())
        }
        _ => push_texts(column, first, array),
    }
}

fn push_numbers(numbers: &mut Numbers, first: usize, array: &ArrayRef) -> Result<(), ArrowError> {
    let array = cast(array, &DataType::Float64)?;
    for (i, value) in array.as_primitive::<Float64Type>().iter().enumerate() {
        let value = value.unwrap_or(f64::NAN);
        let shown = if value.is_infinite() { value.to_string() } else { String::new() };
        numbers.push_value(first + i, value, &shown);
    }
    Ok(())
}

/// Whole floats lose their point (`7.0` becomes `7`): a column of integer ids with a gap is often stored as floats.
fn push_texts(column: &mut Growing, first: usize, array: &ArrayRef) -> Result<(), ArrowError> {
    if array.data_type().is_floating() {
        let array = cast(array, &DataType::Float64)?;
        for (i, value) in array.as_primitive::<Float64Type>().iter().enumerate() {
            column.push(first + i, &value.map(|v| v.to_string()).unwrap_or_default());
        }
        return Ok(());
    }
    let array = cast(array, &DataType::Utf8)?;
    for (i, value) in array.as_string::<i32>().iter().enumerate() {
        column.push(first + i, value.unwrap_or_default());
    }
    Ok(())
}

fn holds_numbers(kind: &DataType) -> bool {
    kind.is_numeric() || *kind == DataType::Boolean
}
