//! Parquet is read wherever CSV is.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::common::{failure, folder, strings};
use fedweave_io::{Column, InputSpec, Kind, MissingPolicy, Table, load};
use parquet::basic::Compression;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType,
    Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;

/// Writes the cells of one column.
pub type Put<'a> = Box<dyn Fn(&mut SerializedColumnWriter) + 'a>;

/// Cells of a physical type; `None` where one is missing.
pub fn cells<'a, T: DataType>(cells: impl Into<Vec<Option<T::T>>>) -> Put<'a>
where
    T::T: 'a,
{
    let cells: Vec<Option<T::T>> = cells.into();
    Box::new(move |column| {
        let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
        let values: Vec<T::T> = cells.iter().flatten().cloned().collect();
        column.typed::<T>().write_batch(&values, Some(&levels), None).unwrap();
    })
}

pub fn doubles<'a>(values: &[f64]) -> Put<'a> {
    cells::<DoubleType>(values.iter().map(|v| Some(*v)).collect::<Vec<_>>())
}

pub fn texts<'a>(values: &[&str]) -> Put<'a> {
    cells::<ByteArrayType>(values.iter().map(|v| Some(ByteArray::from(*v))).collect::<Vec<_>>())
}

/// Writes a file with this schema and these columns, in as many groups of rows as asked for, all alike.
pub fn write(path: &Path, schema: &str, groups: usize, columns: &[Put]) {
    let schema = parse_message_type(&format!("message table {{ {schema} }}")).unwrap();
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer =
        SerializedFileWriter::new(File::create(path).unwrap(), Arc::new(schema), Arc::new(properties)).unwrap();
    for _ in 0..groups {
        let mut group = writer.next_row_group().unwrap();
        for put in columns {
            let mut column = group.next_column().unwrap().expect("as many columns as the schema has");
            put(&mut column);
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn every_kind_of_column_is_read() {
    let folder = folder();
    let (nodes, edges) = (folder.path().join("nodes.parquet"), folder.path().join("edges.bin"));
    write(
        &nodes,
        "required int64 node; required int32 x; optional boolean dry; optional double y;",
        1,
        &[
            cells::<Int64Type>([Some(10), Some(2), Some(10)]),
            cells::<Int32Type>([Some(1), Some(2), Some(3)]),
            cells::<BoolType>([Some(true), Some(false), Some(true)]),
            doubles(&[0.1, 0.2, 0.3]),
        ],
    );
    write(&edges, "optional double source; optional binary target (STRING);", 1, &[doubles(&[10.0]), texts(&["2"])]);
    let input = load(&InputSpec { nodes, edges: Some(edges), ..folder.spec("") }).unwrap();
    assert_eq!(input.names, ["10", "2"]);
    assert_eq!((input.data.features(0), input.data.y()), (&[1.0, 1.0, 3.0, 1.0][..], &[0.1, 0.3, 0.2][..]));
    assert_eq!((input.graph.edges(), input.lines), (1, vec![1, 3, 2]));
}

/// A type as the schema writes it, two cells of it, how they read as text, and as numbers if they are numbers.
type Example<'a> = (&'a str, Put<'a>, [&'a str; 2], Option<[f64; 2]>);

fn examples<'a>() -> Vec<Example<'a>> {
    let bytes = |bytes: &[u8]| Some(FixedLenByteArray::from(bytes.to_vec()));
    let midnight = Int96::from(vec![0, 0, 2_440_588]); // 1970-01-01
    vec![
        ("boolean v", cells::<BoolType>([Some(true), Some(false)]), ["true", "false"], Some([1.0, 0.0])),
        ("int32 v", cells::<Int32Type>([Some(-7), Some(8)]), ["-7", "8"], Some([-7.0, 8.0])),
        ("int32 v (INTEGER(8, true))", cells::<Int32Type>([Some(-7), Some(8)]), ["-7", "8"], Some([-7.0, 8.0])),
        ("int32 v (UINT_32)", cells::<Int32Type>([Some(-1), Some(8)]), ["4294967295", "8"], Some([4294967295.0, 8.0])),
        (
            "int64 v",
            cells::<Int64Type>([Some(1 << 60), Some(3)]),
            ["1152921504606846976", "3"],
            Some([2f64.powi(60), 3.0]),
        ),
        (
            "int64 v (INTEGER(64, false))",
            cells::<Int64Type>([Some(-1), Some(3)]),
            ["18446744073709551615", "3"],
            Some([2f64.powi(64), 3.0]),
        ),
        ("float v", cells::<FloatType>([Some(0.5), Some(7.0)]), ["0.5", "7"], Some([0.5, 7.0])),
        ("double v", doubles(&[0.1, -7.0]), ["0.1", "-7"], Some([0.1, -7.0])),
        (
            "fixed_len_byte_array (2) v (FLOAT16)",
            cells::<FixedLenByteArrayType>([bytes(&[0x00, 0x3e]), bytes(&[0x00, 0xc0])]),
            ["1.5", "-2"],
            Some([1.5, -2.0]),
        ),
        (
            "int32 v (DECIMAL(9, 2))",
            cells::<Int32Type>([Some(1234), Some(-5)]),
            ["12.34", "-0.05"],
            Some([12.34, -0.05]),
        ),
        ("int64 v (DECIMAL(18, 1))", cells::<Int64Type>([Some(15), Some(-5)]), ["1.5", "-0.5"], Some([1.5, -0.5])),
        (
            "fixed_len_byte_array (3) v (DECIMAL(6, 1))",
            cells::<FixedLenByteArrayType>([bytes(&[0xff, 0xff, 0xfb]), bytes(&[0, 1, 0])]),
            ["-0.5", "25.6"],
            Some([-0.5, 25.6]),
        ),
        ("binary v (STRING)", texts(&["a b", ""]), ["a b", ""], None),
        ("binary v (ENUM)", texts(&["up", "down"]), ["up", "down"], None),
        ("binary v", texts(&["up", "down"]), ["up", "down"], None),
        ("int32 v (DATE)", cells::<Int32Type>([Some(0), Some(19_844)]), ["1970-01-01", "2024-05-01"], None),
        ("int32 v (TIME(MILLIS, true))", cells::<Int32Type>([Some(0), Some(1500)]), ["00:00:00", "00:00:01.500"], None),
        (
            "int64 v (TIME(NANOS, true))",
            cells::<Int64Type>([Some(0), Some(1500)]),
            ["00:00:00", "00:00:00.000001500"],
            None,
        ),
        (
            "int64 v (TIMESTAMP(MILLIS, true))",
            cells::<Int64Type>([Some(0), Some(-1)]),
            ["1970-01-01T00:00:00Z", "1969-12-31T23:59:59.999Z"],
            None,
        ),
        (
            "int64 v (TIMESTAMP(NANOS, false))",
            cells::<Int64Type>([Some(0), Some(1)]),
            ["1970-01-01T00:00:00", "1970-01-01T00:00:00.000000001"],
            None,
        ),
        (
            "int64 v (TIMESTAMP_MICROS)",
            cells::<Int64Type>([Some(0), Some(1)]),
            ["1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000001Z"],
            None,
        ),
        (
            "int96 v",
            cells::<Int96Type>([Some(midnight), Some(midnight)]),
            ["1970-01-01T00:00:00", "1970-01-01T00:00:00"],
            None,
        ),
    ]
}

#[test]
fn every_type_as_text_and_as_number() {
    let folder = folder();
    let path = folder.path().join("types.parquet");
    for (kind, put, shown, numbers) in examples() {
        write(&path, &format!("required {kind};"), 2, &[put]);
        let table = Table::read(&path, |_| Kind::Text).unwrap();
        let Column::Text(text) = table.column(0) else { panic!("{kind}: not text") };
        let found: Vec<&str> = (0..4).map(|row| text.get(row)).collect();
        assert_eq!(found, [shown, shown].concat(), "{kind}");
        let table = Table::read(&path, |_| Kind::Number).unwrap();
        let Column::Number(found) = table.column(0) else { panic!("{kind}: not numbers") };
        match numbers {
            Some(numbers) => assert_eq!(found.values, [numbers, numbers].concat(), "{kind}"),
            None => assert_eq!(found.stray.as_ref().map(|cell| cell.value.as_str()), Some(shown[0]), "{kind}"),
        }
    }
}

#[test]
fn more_cells_than_are_decoded_at_a_time() {
    let folder = folder();
    let path = folder.path().join("long.parquet");
    let holes: Vec<Option<f64>> = (0..20_000).map(|i| (i % 3 != 0).then_some(f64::from(i))).collect();
    write(&path, "optional double v;", 2, &[cells::<DoubleType>(holes.clone())]);
    let table = Table::read(&path, |_| Kind::Number).unwrap();
    let Column::Number(found) = table.column(0) else { panic!("not numbers") };
    let same = |(a, b): (&f64, &Option<f64>)| b.map_or(a.is_nan(), |b| *a == b);
    assert!(found.values.len() == 40_000 && found.values.iter().zip(holes.iter().chain(&holes)).all(same));
    assert_eq!(Table::read(&path, |_| Kind::Skip).unwrap().rows(), 40_000);
}

#[test]
fn lists_and_bytes_are_refused() {
    let folder = folder();
    let path = folder.path().join("odd.parquet");
    let put: Put = Box::new(|column: &mut SerializedColumnWriter| {
        column.typed::<Int32Type>().write_batch(&[1, 2], Some(&[1, 1]), Some(&[0, 1])).unwrap();
    });
    write(&path, "repeated int32 v;", 1, &[put]);
    let text = Table::read(&path, |_| Kind::Text).unwrap_err().to_string();
    assert!(text.contains("column v holds lists or structures"), "{text}");
    write(&path, "required binary v;", 1, &[cells::<ByteArrayType>([Some(ByteArray::from(vec![0xff]))])]);
    let text = Table::read(&path, |_| Kind::Text).unwrap_err().to_string();
    assert!(text.contains("column v holds bytes that are no text"), "{text}");
}

#[test]
fn faults_name_the_row() {
    let folder = folder();
    let nodes = folder.path().join("nodes.pq");
    let spec = InputSpec { nodes: nodes.clone(), missing: MissingPolicy::Error, ..folder.spec("") };
    let with = |kind: &str, x: Put| {
        let schema = format!("required binary node (STRING); optional {kind}; required double y;");
        write(&nodes, &schema, 1, &[texts(&["a", "b", "c"]), x, doubles(&[1.0; 3])]);
    };
    with("double x", cells::<DoubleType>([Some(1.0), None, Some(f64::INFINITY)]));
    assert!(failure(&folder, &spec).starts_with("nodes.pq: row 3: column x: inf is not a finite number"));
    with("double x", cells::<DoubleType>([Some(1.0), None, None]));
    assert!(failure(&folder, &spec).starts_with("missing values: x 2 (first at nodes.pq: row 2); use --missing drop"));
    let text = |text: &str| Some(ByteArray::from(text));
    with("binary x (STRING)", cells::<ByteArrayType>([text("1"), text("warm"), None]));
    assert!(failure(&folder, &spec).contains("x (\"warm\" at nodes.pq: row 2, numbers before)"));
    let one_hot = InputSpec { one_hot: strings(&["x"]), missing: MissingPolicy::Drop, ..spec };
    assert_eq!(load(&one_hot).unwrap().features, ["x=1", "x=warm"]);
}
