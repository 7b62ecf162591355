//! The tables of parties, matched by their keys.

use std::path::PathBuf;

use fedweave::learn::race::Cost;
use fedweave::vertical::VerticalFit;
use fedweave::{Dataset, Matrix};
use fedweave_io::{Encoding, Input, Kind, Table, load};

use crate::error::{Result, refuse, require};
use crate::request::vertical::VerticalRequest;

/// Rows that all parties have, in the order of their keys.
#[derive(Debug, Clone)]
pub struct PartyRows {
    /// The tables, as the user named them.
    pub files: Vec<String>,
    /// The names of every party's columns.
    pub columns: Vec<Vec<String>>,
    /// How they are read.
    pub encodings: Vec<Encoding>,
    /// Their values.
    pub x: Vec<Matrix>,
    /// The party with the labels.
    pub holder: usize,
    /// The labels.
    pub y: Vec<f64>,
    /// The key of every row.
    pub keys: Vec<String>,
    /// Rows of every party that some other party does not have.
    pub left_out: Vec<usize>,
}

/// Reads and matches the tables.
pub fn read(request: &VerticalRequest) -> Result<PartyRows> {
    let header = |file: &PathBuf| -> Result<Vec<String>> { Ok(Table::read(file, |_| Kind::Skip)?.names().to_vec()) };
    let headers = request.files.iter().map(header).collect::<Result<Vec<Vec<String>>>>()?;
    if let Some(name) = request.unknown_column(&headers) {
        refuse!("column `{name}`: no party has it; check the name");
    }
    let files: Vec<String> = request.files.iter().map(|file| file.display().to_string()).collect();
    let holders: Vec<usize> = (0..files.len()).filter(|&p| headers[p].contains(&request.target)).collect();
    let [holder] = holders[..] else {
        let found: Vec<&str> = holders.iter().map(|&p| files[p].as_str()).collect();
        refuse!(
            "--target {}: exactly one party has to hold the labels, but {} do{}",
            request.target,
            if found.is_empty() { "none".into() } else { found.len().to_string() },
            if found.is_empty() { String::new() } else { format!(": {}", found.join(", ")) }
        )
    };
    let read = |p: usize| -> Result<Input> { Ok(load(&request.spec(p, &headers[p]))?) };
    let inputs = (0..files.len()).map(read).collect::<Result<Vec<Input>>>()?;
    inputs.iter().zip(&files).try_for_each(|(input, file)| once(input, file, &request.key))?;
    let everybody = |name: &&String| inputs.iter().all(|input| position(input, name).is_some());
    let keys: Vec<String> = inputs[holder].names.iter().filter(everybody).cloned().collect();
    require!(
        !keys.is_empty(),
        "no value of `{}` is in the tables of all parties: is it the right column, written alike everywhere?",
        request.key
    );
    let mut names: Vec<&String> = inputs.iter().flat_map(|input| &input.features).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        refuse!("column `{}` is in the tables of two parties; rename it in one, or leave it out (--drop)", twice[0]);
    }
    let rows: Vec<Vec<usize>> = inputs.iter().map(|input| of_keys(input, &keys)).collect();
    let take = |(input, rows): (&Input, &Vec<usize>)| {
        Matrix::from_rows(input.data.dim(), rows.iter().flat_map(|&r| input.data.x(r).to_vec()).collect())
    };
    Ok(PartyRows {
        encodings: inputs.iter().map(|input| input.encoding.clone()).collect(),
        columns: inputs.iter().map(|input| input.features.clone()).collect(),
        x: inputs.iter().zip(&rows).map(take).collect(),
        y: rows[holder].iter().map(|&r| inputs[holder].data.y()[r]).collect(),
        left_out: inputs.iter().map(|input| input.names.len() - keys.len()).collect(),
        files,
        holder,
        keys,
    })
}

/// Names are in byte order.
fn position(input: &Input, name: &str) -> Option<usize> {
    input.names.binary_search_by(|other| other.as_str().cmp(name)).ok()
}

fn of_keys(input: &Input, keys: &[String]) -> Vec<usize> {
    keys.iter().filter_map(|key| Some(input.data.rows(position(input, key)?).start)).collect()
}

fn once(input: &Input, file: &str, key: &str) -> Result<()> {
    let twice = (0..input.names.len()).find(|&i| input.data.rows(i).len() > 1);
    match twice {
        Some(i) => refuse!(
            "{file}: {} rows have `{key}` {}; a key names one row of every party",
            input.data.rows(i).len(),
            input.names[i]
        ),
        None => Ok(()),
    }
}

impl PartyRows {
    /// The labels as rows of one node: what can be split.
    pub(super) fn labels(&self) -> Dataset {
        let n = self.y.len();
        let rows = Dataset::new(vec![0, n], Matrix::zeros(n, 1), self.y.clone(), vec![1.0; n]);
        rows.expect("labels were read as finite numbers")
    }

    /// How the two classes of a two-class loss were written.
    pub(super) fn labels_as_written(&self) -> [String; 2] {
        [if self.y.contains(&-1.0) { "-1" } else { "0" }.into(), "1".into()]
    }

    /// Where the labels are.
    pub(super) fn label_place(&self) -> &str {
        &self.files[self.holder]
    }

    /// These rows only.
    pub(super) fn select(&self, mask: &[bool]) -> PartyRows {
        let kept: Vec<usize> = (0..mask.len()).filter(|&r| mask[r]).collect();
        let of = |x: &Matrix| Matrix::from_rows(x.cols(), kept.iter().flat_map(|&r| x.row(r).to_vec()).collect());
        PartyRows {
            x: self.x.iter().map(of).collect(),
            y: kept.iter().map(|&r| self.y[r]).collect(),
            keys: kept.iter().map(|&r| self.keys[r].clone()).collect(),
            ..self.clone()
        }
    }

    /// Mean cost of the predictions; `None` without rows.
    pub(super) fn error(&self, fit: &VerticalFit, cost: Cost) -> Option<f64> {
        let score = |r: usize| fit.score(&self.x.iter().map(|x| x.row(r)).collect::<Vec<_>>());
        let costs = (0..self.y.len()).map(|r| cost.value(self.y[r], cost.respond(score(r))));
        (!self.y.is_empty()).then(|| costs.sum::<f64>() / self.y.len() as f64)
    }
}
