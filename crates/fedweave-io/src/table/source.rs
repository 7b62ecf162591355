//! Opens a file and tells by its first bytes what it is: Parquet, gzipped text, or text.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::OnceLock;

use flate2::bufread::MultiGzDecoder;

use crate::error::{IoError, Place};
use crate::fault::Fault;

const BUFFER_BYTES: usize = 1 << 18;
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// An opened table.
pub(super) enum Source {
    Text(Box<dyn BufRead>),
    #[cfg(feature = "parquet")]
    Parquet(File),
}

/// The name that stands for standard input.
const STANDARD_INPUT: &str = "-";

pub(super) fn open(path: &Path) -> Result<Source, IoError> {
    if path == Path::new(STANDARD_INPUT) {
        return Ok(Source::Text(open_text(path)?));
    }
    let mut input = open_raw(path)?;
    let magic = input.fill_buf().map_err(Place::file(path).io())?;
    if magic.starts_with(b"PAR1") {
        return parquet(path, input.into_inner());
    }
    if named_parquet(path) {
        return Err(Place::file(path).fault(Fault::Parquet { message: "it does not begin with PAR1".into() }));
    }
    Ok(Source::Text(unzipped(input, path)?))
}

#[cfg(feature = "parquet")]
fn parquet(_: &Path, file: File) -> Result<Source, IoError> {
    Ok(Source::Parquet(file))
}

#[cfg(not(feature = "parquet"))]
fn parquet(path: &Path, _: File) -> Result<Source, IoError> {
    Err(Place::file(path).fault(Fault::NoParquet))
}

/// Opens a text file, gzipped or not; `-` is standard input.
pub(crate) fn open_text(path: &Path) -> Result<Box<dyn BufRead>, IoError> {
    match path == Path::new(STANDARD_INPUT) {
        true => Ok(text_of(standard_input(path)?)),
        false => unzipped(open_raw(path)?, path),
    }
}

/// All of standard input, which can be read only once but may be asked for again.
fn standard_input(path: &Path) -> Result<&'static [u8], IoError> {
    static KEPT: OnceLock<Vec<u8>> = OnceLock::new();
    if let Some(bytes) = KEPT.get() {
        return Ok(bytes);
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).map_err(Place::file(path).io())?;
    Ok(KEPT.get_or_init(|| bytes))
}

/// A text in memory, gzipped or not.
pub(super) fn text_of(bytes: &'static [u8]) -> Box<dyn BufRead> {
    match bytes.starts_with(&GZIP) {
        true => Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(bytes))),
        false => Box::new(bytes),
    }
}

fn open_raw(path: &Path) -> Result<BufReader<File>, IoError> {
    let at = || Place::file(path);
    let file = File::open(path).map_err(at().io())?;
    if file.metadata().map_err(at().io())?.is_dir() {
        return Err(at().fault(Fault::IsFolder));
    }
    Ok(BufReader::with_capacity(BUFFER_BYTES, file))
}

fn unzipped(mut input: BufReader<File>, path: &Path) -> Result<Box<dyn BufRead>, IoError> {
    let zipped = input.fill_buf().map_err(Place::file(path).io())?.starts_with(&GZIP);
    Ok(match zipped {
        true => Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(input))),
        false => Box::new(input),
    })
}

fn named_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("parquet") || e.eq_ignore_ascii_case("pq"))
}
