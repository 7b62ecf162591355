//! Reads `parameters.csv` back.

use std::path::Path;

use fedweave::Matrix;

use crate::error::IoError;
use crate::fault::Fault;
use crate::table::{Kind, Table};

/// The parameters of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// Names of the columns of `w`.
    pub features: Vec<String>,
    /// The nodes, in the order of the rows of `w`.
    pub names: Vec<String>,
    /// A row per node.
    pub w: Matrix,
}

/// Reads `parameters.csv` of a run directory.
pub fn read_parameters(dir: &Path) -> Result<Parameters, IoError> {
    read_node_numbers(dir, "parameters.csv")
}

/// Reads a table with a column `node` and columns of numbers.
pub fn read_node_numbers(dir: &Path, file: &str) -> Result<Parameters, IoError> {
    let first = std::cell::Cell::new(true);
    // Only the first column holds ids; a feature may be called `node` by nobody, since names are unique.
    let kind = |_: &str| if first.replace(false) { Kind::Text } else { Kind::Number };
    let table = Table::read(&dir.join(file), kind)?;
    let [node, features @ ..] = table.names() else {
        return Err(malformed(&table, "it has no columns"));
    };
    if node != "node" || features.is_empty() {
        return Err(malformed(&table, &format!("the columns are {}", table.names().join(","))));
    }
    let mut w = Matrix::zeros(table.rows(), features.len());
    for j in 0..features.len() {
        let values = table.finite(j + 1)?;
        if let Some(&row) = values.gaps().first() {
            return Err(table
                .place(row)
                .fault(Fault::MissingCell { column: features[j].clone(), remedy: "write it again" }));
        }
        values.values.iter().enumerate().for_each(|(i, &v)| w.row_mut(i)[j] = v);
    }
    let names = (0..table.rows()).map(|row| table.text(0).get(row).to_owned()).collect();
    Ok(Parameters { features: features.to_vec(), names, w })
}

fn malformed(table: &Table, message: &str) -> IoError {
    table.file().fault(Fault::Parameters { message: message.into() })
}
