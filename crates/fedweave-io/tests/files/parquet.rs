//! Parquet is read wherever CSV is.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::common::{failure, folder, strings};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use fedweave_io::{InputSpec, MissingPolicy, load};
use parquet::arrow::ArrowWriter;

fn write(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn every_kind_of_column_is_read() {
    let folder = folder();
    let (nodes, edges) = (folder.path().join("nodes.parquet"), folder.path().join("edges.bin"));
    write(
        &nodes,
        vec![
            ("node", Arc::new(Int64Array::from(vec![10, 2, 10])) as ArrayRef),
            ("x", Arc::new(Int32Array::from(vec![1, 2, 3]))),
            ("dry", Arc::new(BooleanArray::from(vec![true, false, true]))),
            ("y", Arc::new(Float64Array::from(vec![0.1, 0.2, 0.3]))),
        ],
    );
    write(
        &edges,
        vec![
            ("source", Arc::new(Float64Array::from(vec![10.0])) as ArrayRef),
            ("target", Arc::new(StringArray::from(vec!["2"]))),
        ],
    );
    let input = load(&InputSpec { nodes, edges: Some(edges), ..folder.spec("") }).unwrap();
    assert_eq!(input.names, ["10", "2"]);
    assert_eq!((input.data.features(0), input.data.y()), (&[1.0, 1.0, 3.0, 1.0][..], &[0.1, 0.3, 0.2][..]));
    assert_eq!((input.graph.edges(), input.lines), (1, vec![1, 3, 2]));
}

#[test]
fn faults_name_the_row() {
    let folder = folder();
    let nodes = folder.path().join("nodes.pq");
    let x = Float64Array::from(vec![Some(1.0), None, Some(f64::INFINITY)]);
    let text = StringArray::from(vec![Some("1"), Some("warm"), None]);
    let columns = |x: ArrayRef| {
        let (node, y) = (StringArray::from(vec!["a", "b", "c"]), Float64Array::from(vec![1.0; 3]));
        vec![("node", Arc::new(node) as ArrayRef), ("x", x), ("y", Arc::new(y))]
    };
    let spec = InputSpec { nodes: nodes.clone(), missing: MissingPolicy::Error, ..folder.spec("") };
    write(&nodes, columns(Arc::new(x)));
    assert!(failure(&folder, &spec).starts_with("nodes.pq: row 3: column x: inf is not a finite number"));
    write(&nodes, columns(Arc::new(Float64Array::from(vec![Some(1.0), None, None]))));
    assert!(failure(&folder, &spec).starts_with("missing values: x 2 (first at nodes.pq: row 2); use --missing drop"));
    write(&nodes, columns(Arc::new(text)));
    assert!(failure(&folder, &spec).contains("x (\"warm\" at nodes.pq: row 2)"));
    let one_hot = InputSpec { one_hot: strings(&["x"]), missing: MissingPolicy::Drop, ..spec };
    assert_eq!(load(&one_hot).unwrap().features, ["x=1", "x=warm"]);
}
