//! The model class of every node.

use std::collections::HashMap;
use std::path::Path;

use fedweave::model::{ModelSpec, Task};
use fedweave_io::{Input, Kind, Table};

use crate::error::{Error, Result, refuse, require};
use crate::request::RelaxRequest;

/// The model class of every node.
pub fn specs(request: &RelaxRequest, input: &Input, task: Task) -> Result<Vec<ModelSpec>> {
    if let Some(default) = &request.default {
        default.check(task).map_err(|e| Error::Request(format!("--model: {e}")))?;
    }
    let table = request.models.as_deref();
    let named = match table {
        Some(path) => read_models(path, &input.encoding.node, input, task)?,
        None => HashMap::new(),
    };
    let of = |(i, name): (usize, &String)| {
        named.get(&i).or(request.default.as_ref()).cloned().ok_or_else(|| {
            let path = table.map(|p| p.display().to_string()).unwrap_or_default();
            Error::Request(format!("{path}: node `{name}` is not named; add it, or give --model for the others"))
        })
    };
    input.names.iter().enumerate().map(of).collect()
}

/// The table of `--models`: node, model, options.
fn read_models(path: &Path, node: &str, input: &Input, task: Task) -> Result<HashMap<usize, ModelSpec>> {
    let table = Table::read(path, |_| Kind::Text)?;
    let column = table.position("node").map_or_else(|| table.find_node(node), Ok)?;
    let (ids, names) = (table.text(column), table.text(table.find("model")?));
    let options = table.position("options").map(|column| table.text(column));
    let place: HashMap<&str, usize> = input.names.iter().enumerate().map(|(i, n)| (n.as_str(), i)).collect();
    let mut found = HashMap::new();
    for row in 0..table.rows() {
        let (at, id) = (table.place(row), ids.get(row));
        let Some(&i) = place.get(id) else {
            refuse!("{at}: node `{id}` is in no other file; remove the line or correct it")
        };
        let text = format!("{} {}", names.get(row), options.map_or("", |o| o.get(row)));
        let spec: ModelSpec = text.parse().map_err(|e| Error::Request(format!("{at}: {e}")))?;
        spec.check(task).map_err(|e| Error::Request(format!("{at}: {e}")))?;
        require!(found.insert(i, spec).is_none(), "{at}: node `{id}` is named twice; keep one line");
    }
    Ok(found)
}
