//! Real files in a temporary folder.

use std::fs;
use std::path::{Path, PathBuf};

use fedweave_io::{Input, InputSpec, TargetKind, load};
use tempfile::TempDir;

/// A temporary folder with the files of one test.
pub struct Folder(TempDir);

pub fn folder() -> Folder {
    Folder(tempfile::tempdir().unwrap())
}

impl Folder {
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// A request to predict `y` from `nodes.csv` with this content, without a graph and an intercept.
    pub fn spec(&self, nodes: impl AsRef<[u8]>) -> InputSpec {
        InputSpec {
            target: Some("y".into()),
            target_kind: TargetKind::Number,
            intercept: false,
            ..InputSpec::new(self.write("nodes.csv", nodes))
        }
    }
}

/// Loads this content as `nodes.csv` with target `y`.
pub fn load_text(nodes: &str) -> Input {
    load(&folder().spec(nodes)).unwrap()
}

/// The message a request fails with, without the temporary folder.
pub fn failure(folder: &Folder, spec: &InputSpec) -> String {
    strip(folder, &load(spec).unwrap_err().to_string())
}

pub fn strip(folder: &Folder, message: &str) -> String {
    assert!(!message.contains('\n'), "one line: {message}");
    message.replace(&format!("{}/", folder.path().display()), "").replace(&folder.path().display().to_string(), ".")
}

pub fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}
