//! Reading and writing of PEM files; private keys for the owner alone.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::CertError;

pub(super) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> CertError {
    move |error| CertError::File { path: path.to_path_buf(), error }
}

pub(super) fn unreadable(path: &Path, what: &'static str, detail: impl ToString) -> CertError {
    CertError::Unreadable { path: path.to_path_buf(), what, detail: detail.to_string() }
}

pub(super) fn read(path: &Path) -> Result<String, CertError> {
    fs::read_to_string(path).map_err(at(path))
}

/// The bytes inside the first PEM block with this label.
pub(super) fn read_pem(path: &Path, what: &'static str, label: &str) -> Result<Vec<u8>, CertError> {
    let text = read(path)?;
    let (_, block) = x509_parser::pem::parse_x509_pem(text.as_bytes()).map_err(|e| unreadable(path, what, e))?;
    match block.label == label {
        true => Ok(block.contents),
        false => Err(unreadable(path, what, format!("it holds a {}", block.label))),
    }
}

/// Writes beside and renames, so that nobody reads half a file.
pub(super) fn write(path: &Path, text: &str) -> Result<(), CertError> {
    replace(path, text, 0o644)
}

/// As [`write`], readable by the owner alone from the first byte on.
pub(super) fn write_secret(path: &Path, text: &str) -> Result<(), CertError> {
    replace(path, text, 0o600)
}

fn replace(path: &Path, text: &str, mode: u32) -> Result<(), CertError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let beside = Path::new(&beside);
    let _ = fs::remove_file(beside);
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    let mut file = options.open(beside).map_err(at(beside))?;
    file.write_all(text.as_bytes()).map_err(at(beside))?;
    fs::rename(beside, path).map_err(at(path))
}

/// Refuses a private key that others can read.
pub(super) fn check_secret(path: &Path) -> Result<(), CertError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(path).map_err(at(path))?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(CertError::OpenKey { path: path.to_path_buf(), mode });
        }
    }
    Ok(())
}
