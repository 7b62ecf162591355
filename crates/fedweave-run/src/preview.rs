//! A first look at files, before anything is fitted: what the columns hold, which part each may play, and the network that follows.

mod guess;

use std::path::Path;

use fedweave_io::{Dialect, Kind, Numbers, Table, Text, load};
use fedweave_report::{Node, Report};
use serde::Serialize;

use crate::drawing::{blank, draw};
use crate::error::Result;
use crate::learnt_graph::Evidence;
use crate::request::{FitRequest, Settings};
use crate::wording::{counted, notices, row_notices};

/// What a table holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Preview {
    /// Number of rows.
    pub rows: usize,
    /// The columns, in the order of the file.
    pub columns: Vec<ColumnFacts>,
    /// Settings that fit these columns, to begin with.
    pub guess: Settings,
    /// What to look at twice.
    pub warnings: Vec<String>,
    /// How the table is written.
    #[serde(skip)]
    pub dialect: Dialect,
}

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnFacts {
    /// Its name.
    pub name: String,
    /// All cells that are there are numbers.
    pub number: bool,
    /// Number of different cells.
    pub distinct: usize,
    /// Number of missing cells.
    pub missing: usize,
    /// The smallest and the largest number.
    pub range: Option<(f64, f64)>,
    /// The mean of the numbers.
    pub mean: Option<f64>,
    /// The loss that goes with it as a target; nothing for the default.
    pub loss: Option<&'static str>,
    /// The first few different cells.
    pub examples: Vec<String>,
}

/// Cells shown of a column.
const EXAMPLES: usize = 4;

impl Preview {
    /// Looks at a file.
    pub fn of_file(path: &Path) -> Result<Preview> {
        let table = Table::read(path, |_| Kind::Text)?;
        // Commas are decimal points in columns of numbers alone, and only beside semicolons.
        let numbers = match table.dialect().separator {
            ';' => Some(Table::read(path, |_| Kind::Number)?),
            _ => None,
        };
        let read = numbers.as_ref().unwrap_or(&table);
        let facts = |column: usize| facts(&table.names()[column], table.text(column), &read.numbers(column));
        let columns: Vec<ColumnFacts> = (0..table.names().len()).map(facts).collect();
        let mut warnings: Vec<String> = read.notes().to_vec();
        let at_home = |i: usize, j: usize| at_home(table.text(i), table.text(j));
        let guess = guess::settings(path, table.rows(), &columns, at_home);
        warnings.extend(guess::warnings(table.rows(), &columns, &guess));
        Ok(Preview { rows: table.rows(), columns, guess, warnings, dialect: read.dialect() })
    }
}

/// Rows with the same cell in the first column have the same one in the second.
fn at_home(of: &Text, at: &Text) -> bool {
    let mut home = vec![None; of.levels.len()];
    of.codes.iter().zip(&at.codes).all(|(&level, &place)| *home[level as usize].get_or_insert(place) == place)
}

fn facts(name: &str, text: &Text, numbers: &Numbers) -> ColumnFacts {
    let known = || numbers.values.iter().copied().filter(|value| value.is_finite());
    let number = numbers.stray.is_none() && known().next().is_some();
    let count = known().count() as f64;
    let present = || text.levels.iter().filter(|level| !fedweave_io::is_missing(level));
    let gaps = text.gaps(fedweave_io::is_missing).len();
    let distinct = present().count();
    let range = number.then(|| (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max)));
    ColumnFacts {
        name: name.to_owned(),
        number,
        distinct,
        missing: if number { numbers.missing } else { gaps },
        range,
        loss: guess::loss(number, distinct, range),
        mean: number.then(|| known().sum::<f64>() / count),
        examples: present().take(EXAMPLES).cloned().collect(),
    }
}

/// The network of a request, and what there is to say about it.
pub struct Picture {
    /// Nodes and edges; no models.
    pub report: Report,
    /// Counts, in words.
    pub words: String,
    /// What the user should know.
    pub notices: Vec<String>,
}

/// Graphs of more nodes are learnt when they are needed, not to be looked at.
const LEARNT_MAX: usize = 300;

/// Reads the files of a fit and draws their network. What a fit would refuse is refused here.
pub fn picture(settings: &Settings) -> Result<Picture> {
    let (request, spec) = FitRequest::of_files(settings)?;
    let mut input = load(&spec)?;
    // A loss that does not go with the labels is found now.
    let loss = request.model.loss(&input)?;
    crate::checks::check(&request.model, &input, &loss)?;
    let mut learnt = Vec::new();
    if let Some(choice) = request.graph {
        learnt = match input.names.len() <= LEARNT_MAX {
            true => {
                let found = Evidence::find(choice, &request.model, &input, None)?;
                input = input.with_graph(found.learnt.graph.clone());
                found.text()
            }
            false => vec!["the edges are learnt with the fit".into()],
        };
    }
    let mut report = blank(&request.naming, || "The network".into());
    let (nodes, edges, features) = (input.names.len(), input.graph.edges(), input.features.len());
    (report.what.nodes, report.what.edges, report.what.rows) = (nodes, edges, input.data.len());
    draw(&mut report, &input, &input.graph, |_| Node::default(), |_| false);
    let words = format!(
        "{}, {}, {}, {} each",
        counted(nodes, "node"),
        counted(edges, "edge"),
        counted(input.data.len(), "row"),
        counted(features, "parameter")
    );
    let mut notices = if edges == 0 { row_notices(&input) } else { notices(&input) };
    notices.extend(learnt.into_iter().map(|line| line.trim().to_owned()));
    Ok(Picture { report, words, notices })
}
