//! Which rows train, validate and test, as a table: written with every run that held rows out, and read again.

use std::collections::HashMap;
use std::path::Path;

use fedweave::split::{Part, Split};
use fedweave_io::{Input, Kind, RunWriter, Table};

use crate::error::{Error, Result, require};

/// The table of a run directory, and its columns: the line of the table of rows, its node, its part.
pub const SPLIT: (&str, [&str; 3]) = ("split.csv", ["line", "node", "part"]);
const PARTS: [(&str, Part); 3] = [("train", Part::Train), ("validation", Part::Validation), ("test", Part::Test)];

/// Writes a split.
pub(crate) fn write(writer: &RunWriter, input: &Input, split: &Split) -> Result<()> {
    let name = |part: Part| PARTS.iter().find(|(_, known)| *known == part).map_or("", |(name, _)| name);
    let rows = (0..input.names.len()).flat_map(|node| input.data.rows(node).map(move |row| (node, row)));
    let cells = rows
        .map(|(node, row)| [input.lines[row].to_string(), input.names[node].clone(), name(split.part[row]).to_owned()]);
    Ok(writer.write_csv(SPLIT.0, &SPLIT.1, cells)?)
}

/// Reads a split for these rows: every one of them must have its part.
pub(crate) fn read(path: &Path, input: &Input) -> Result<Split> {
    let table = Table::read(path, |name| if ["line", "part"].contains(&name) { Kind::Text } else { Kind::Skip })?;
    let (lines, parts) = (table.text(table.find("line")?), table.text(table.find("part")?));
    let of: HashMap<u64, usize> = input.lines.iter().enumerate().map(|(row, line)| (*line, row)).collect();
    let mut split: Vec<Option<Part>> = vec![None; input.data.len()];
    for k in 0..table.rows() {
        let (line, part, place) = (lines.get(k), parts.get(k), table.place(k));
        let wrong = |what: String| Error::Request(format!("{place}: {what}"));
        let number: u64 = line.parse().map_err(|_| wrong(format!("`{line}` is not the number of a line")))?;
        let known = PARTS.iter().find(|(name, _)| *name == part).map(|(_, part)| *part);
        let part = known.ok_or_else(|| wrong(format!("part `{part}`: must be train, validation or test")))?;
        match of.get(&number) {
            Some(&row) => {
                require!(split[row].is_none(), "{place}: line {number} has a part already");
                split[row] = Some(part);
            }
            // A row that was dropped for a missing value may have a part.
            None => {
                let table = input.table();
                let dropped = input.notices.rows_dropped > 0;
                require!(dropped, "{place}: line {number} of {table} holds no row: the file was made for other rows");
            }
        }
    }
    let missing = split.iter().position(Option::is_none);
    if let Some(row) = missing {
        return Err(Error::Request(format!(
            "--split-file {}: nothing is said about {}; every row needs a part",
            path.display(),
            input.place(row)
        )));
    }
    let split = Split { part: split.into_iter().flatten().collect() };
    let held = split.part.contains(&Part::Validation);
    require!(held, "--split-file {}: no row is held out to validate (part validation)", path.display());
    Ok(split)
}
