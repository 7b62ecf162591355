//! Tables: what is read, and what is refused, with file and line.

use std::io::Write;

use crate::common::{failure, folder, load_text, strings};
use fedweave_io::{InputSpec, Kind, Table, load};

const PLAIN: &str = "node,x,y\nb,1,10\na,2.5,20\n007,-3e0,30\n";

#[test]
fn a_table_is_read() {
    let input = load_text(PLAIN);
    assert_eq!(input.names, ["007", "a", "b"]);
    assert_eq!((input.data.x(0), input.data.x(1), input.data.x(2)), (&[-3.0][..], &[2.5][..], &[1.0][..]));
    assert_eq!((input.data.y(), input.lines.as_slice()), (&[30.0, 20.0, 10.0][..], &[4, 3, 2][..]));
}

#[test]
fn byte_order_mark_crlf_blank_lines_and_a_missing_last_newline_change_nothing_but_lines() {
    let dressed = "\u{feff}node,x,y\r\nb,1,10\r\n\r\na,2.5,20\r\n007,-3e0,30";
    let input = load_text(dressed);
    assert_eq!(input.data, load_text(PLAIN).data);
    assert_eq!(input.lines, [5, 4, 2]);
}

#[test]
fn quotes_protect_commas_line_breaks_and_quotes() {
    let input = load_text("node,x,y\n\"a, b\",1,2\n\"two\r\nlines\",\"3\",4\r\n\"say \"\"hi\"\"\",5,6\n5\" pipe,7,8\n");
    assert_eq!(input.names, ["5\" pipe", "a, b", "say \"hi\"", "two\r\nlines"]);
    assert_eq!(input.lines, [6, 2, 5, 3]);
}

#[test]
fn gzip_and_tabs_are_read() {
    let folder = folder();
    let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zip.write_all(PLAIN.replace(',', "\t").as_bytes()).unwrap();
    let nodes = folder.write("nodes.tsv.gz", zip.finish().unwrap());
    let input = load(&InputSpec { nodes, ..folder.spec("") }).unwrap();
    assert_eq!(input.data, load_text(PLAIN).data);
}

#[test]
fn unwanted_columns_are_not_kept() {
    let folder = folder();
    let path = folder.write("t.csv", "a,b\n1,x\n");
    let table = Table::read(&path, |name| if name == "a" { Kind::Number } else { Kind::Skip }).unwrap();
    assert_eq!(table.column(1), &fedweave_io::Column::Skipped);
    assert_eq!(table.names(), strings(&["a", "b"]));
}

#[test]
fn broken_tables_are_refused_with_file_and_line() {
    let cases: &[(&[u8], &str)] = &[
        (b"", "nodes.csv: the file is empty; the first line must name the columns"),
        (b"\n\n", "nodes.csv: the file is empty; the first line must name the columns"),
        (b"node,x,y\n", "nodes.csv: no rows below the header; add at least one"),
        (
            b"node,x,y\na,1,2\nb,1\n",
            "nodes.csv:3: expected 3 fields, found 2 (ragged row); quote fields that contain commas",
        ),
        (
            b"node,x,y\r\na,1,2\r\n\r\nb,1,2,3\r\n",
            "nodes.csv:4: expected 3 fields, found 4 (ragged row); quote fields that contain commas",
        ),
        (
            b"node;x;y\na;1;2\nb;1\n",
            "nodes.csv:3: expected 3 fields, found 2 (ragged row); quote fields that contain semicolons",
        ),
        (b"node,x,x\na,1,2\n", "nodes.csv:1: two columns are named \"x\"; rename one"),
        (b"node,x,\na,1,2\n", "nodes.csv:1: column 3 has no name; name it in the header (or remove a trailing comma)"),
        (
            b"node,x,y\na,1,2\n\xff,1,2\n",
            "nodes.csv:3: not UTF-8 text; save the file as UTF-8, e.g. by iconv -f WINDOWS-1252 -t UTF-8 old.csv > new.csv",
        ),
        (
            b"node,x,y\n\"\xff\",1,2\n",
            "nodes.csv:2: not UTF-8 text; save the file as UTF-8, e.g. by iconv -f WINDOWS-1252 -t UTF-8 old.csv > new.csv",
        ),
        (
            b"node,x,y\na,1,2\n\"b,1,2\nc,1,2\n",
            "nodes.csv:3: a quoted field opens here and never closes; add the missing quote, or double a quote inside a field",
        ),
        (
            b"node,x,y\na,1,2\nb,inf,2\n",
            "nodes.csv:3: column x: inf is not a finite number; correct it or leave the cell empty",
        ),
        (
            b"node,x,y\na,1,2\nb,1,-1e400\n",
            "nodes.csv:3: column y: -1e400 is not a finite number; correct it or leave the cell empty",
        ),
        (
            b"node,x,y\na,1,high\n",
            "nodes.csv:2: column y: \"high\" is not a number; correct it or leave the cell empty; to predict a class, use --loss logistic (two) or multinomial",
        ),
    ];
    for (content, message) in cases {
        let folder = folder();
        assert_eq!(failure(&folder, &folder.spec(content)), *message);
    }
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let folder = folder();
    let spec = |name: &str| InputSpec { nodes: folder.path().join(name), ..folder.spec("") };
    assert_eq!(failure(&folder, &spec("none.csv")), "none.csv: no such file; check the path");
    std::fs::create_dir(folder.path().join("data")).unwrap();
    assert_eq!(failure(&folder, &spec("data")), "data: this is a folder; name a file inside it");
    folder.write("zip.csv.gz", b"\x1f\x8b not gzip");
    assert!(failure(&folder, &spec("zip.csv.gz")).starts_with("zip.csv.gz:1: cannot be read or written: "));
    folder.write("fake.parquet", "node,x,y\n");
    assert!(failure(&folder, &spec("fake.parquet")).starts_with("fake.parquet: not readable as Parquet: "));
    folder.write("cut.parquet", "PAR1 and no more PAR1");
    assert!(failure(&folder, &spec("cut.parquet")).starts_with("cut.parquet: not readable as Parquet: "));
}

#[test]
fn an_infinity_in_a_column_nobody_uses_is_nobodys_business() {
    let folder = folder();
    let spec = InputSpec { drop: strings(&["z"]), ..folder.spec("node,x,z,y\na,1,inf,2\n") };
    assert_eq!(load(&spec).unwrap().features, ["x"]);
}
