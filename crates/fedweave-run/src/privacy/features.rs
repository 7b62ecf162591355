//! Features that hide private columns from linear guesses, and what is left for others.

use std::path::PathBuf;

use fedweave::trust::privacy::features::{Hiding, Sums, information, linear_r2};
use fedweave::trust::privacy::probe::{Explained, nearest};
use fedweave_io::{Input, InputSpec, TargetKind, csv_line, load};
use serde_json::{Value, json};

use crate::error::{Error, Result, require};
use crate::wording::{counted, number};

/// Steps of the trade-off curve.
const STEPS: usize = 10;

/// Which columns to hide.
#[derive(Debug, Clone, PartialEq)]
pub struct FeaturesRequest {
    /// The table.
    pub nodes: PathBuf,
    /// The column that names nodes.
    pub node: String,
    /// Columns to hide.
    pub private: Vec<String>,
    /// The column that is to be predicted, which stays as it is.
    pub target: Option<String>,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// Seed of the rows that probes are judged on.
    pub seed: u64,
}

/// How well a column can be guessed before and after.
#[derive(Debug, Clone, PartialEq)]
struct Guess {
    column: String,
    private: bool,
    linear: [f64; 2],
    nearest: [Explained; 2],
}

/// The features, and what they hide.
pub struct FeaturesResult {
    /// The new table.
    pub csv: String,
    guesses: Vec<Guess>,
    /// Share of noise, information about private columns, information about the target, in nats.
    funnel: Vec<[f64; 3]>,
    removed: usize,
}

impl FeaturesRequest {
    /// Projects the features.
    pub fn run(&self) -> Result<FeaturesResult> {
        require!(!self.private.is_empty(), "--private: which columns are to be hidden?");
        let input = load(&InputSpec {
            node: self.node.clone(),
            target: self.target.clone(),
            target_kind: if self.target.is_some() { TargetKind::Number } else { TargetKind::None },
            drop: self.drop.clone(),
            intercept: false,
            ..InputSpec::new(&self.nodes)
        })?;
        let find = |name: &String| {
            input.features.iter().position(|f| f == name).ok_or_else(|| {
                Error::Request(format!(
                    "--private {name}: no such numeric column; there are {}",
                    input.features.join(", ")
                ))
            })
        };
        let private = self.private.iter().map(find).collect::<Result<Vec<_>>>()?;
        let kept: Vec<usize> = (0..input.features.len()).filter(|j| !private.contains(j)).collect();
        require!(!kept.is_empty(), "--private: no feature is left");
        Ok(self.hide(&input, &private, &kept))
    }

    fn hide(&self, input: &Input, private: &[usize], kept: &[usize]) -> FeaturesResult {
        let (n, d) = (input.data.len(), kept.len());
        // Kept features, private columns, the target.
        let row = |r: usize| {
            let x = input.data.x(r);
            let columns = kept.iter().chain(private).map(|&j| x[j]);
            columns.chain(self.target.as_ref().map(|_| input.data.y()[r])).collect::<Vec<f64>>()
        };
        let before: Vec<Vec<f64>> = (0..n).map(row).collect();
        let columns: Vec<usize> = (0..d).collect();
        let hidden: Vec<usize> = (d..d + private.len()).collect();
        let hiding = Hiding::new(&sums(input, &before), &columns, &hidden);
        let hide_row = |row: &Vec<f64>| {
            let mut z = row.clone();
            hiding.apply(&mut z[..d]);
            z
        };
        let after: Vec<Vec<f64>> = before.iter().map(hide_row).collect();
        let guessed = d..d + private.len() + usize::from(self.target.is_some());
        let guess = |at: usize| {
            let probe = |rows: &[Vec<f64>]| {
                let x: Vec<f64> = rows.iter().flat_map(|row| row[..d].iter().copied()).collect();
                let s: Vec<f64> = rows.iter().map(|row| row[at]).collect();
                nearest(&x, d, &s, self.seed)
            };
            let linear = |rows: &[Vec<f64>]| linear_r2(&sums(input, rows), &columns, at);
            Guess {
                column: self.private.iter().chain(&self.target).nth(at - d).cloned().unwrap_or_default(),
                private: at < d + private.len(),
                linear: [linear(&before), linear(&after)],
                nearest: [probe(&before), probe(&after)],
            }
        };
        let guesses: Vec<Guess> = guessed.clone().map(guess).collect();
        let point = |k: usize| {
            let share = k as f64 / STEPS as f64;
            let sums = match k == STEPS {
                true => sums(input, &after),
                false => with_noise(&before, &after, d, (share / (1.0 - share)).sqrt()),
            };
            let about = |at: usize| information(linear_r2(&sums, &columns, at));
            let leakage = hidden.iter().map(|&at| about(at)).sum::<f64>();
            [share, leakage, self.target.as_ref().map_or(0.0, |_| about(d + private.len()))]
        };
        FeaturesResult {
            csv: self.csv(input, kept, &after),
            guesses,
            funnel: (0..=STEPS).map(point).collect(),
            removed: hiding.removed(),
        }
    }

    fn csv(&self, input: &Input, kept: &[usize], rows: &[Vec<f64>]) -> String {
        let names = kept.iter().map(|&j| input.features[j].as_str()).chain(self.target.as_deref());
        let mut text = csv_line([self.node.as_str()].into_iter().chain(names));
        for node in 0..input.data.nodes() {
            for r in input.data.rows(node) {
                let row = &rows[r];
                let label = self.target.as_ref().map(|_| row[row.len() - 1]);
                let numbers: Vec<String> =
                    row[..kept.len()].iter().copied().chain(label).map(|x| x.to_string()).collect();
                text += &csv_line([input.names[node].as_str()].into_iter().chain(numbers.iter().map(String::as_str)));
            }
        }
        text
    }
}

/// Sums if what is hidden got noise of `times` its deviations instead: noise is all that can hide a part of a direction, because scaling it can be undone. Every
/// row counts twice, with the noise that is its own hidden part and with the opposite one: covariances grow as they would with independent noise, and
/// those with other columns stay as they are.
fn with_noise(before: &[Vec<f64>], after: &[Vec<f64>], d: usize, times: f64) -> Sums {
    let mut all = Sums::new(before.first().map_or(0, Vec::len));
    let hidden = |r: usize, j: usize| before[r][j] - after[r][j];
    let mean = |j: usize| (0..before.len()).map(|r| hidden(r, j)).sum::<f64>() / before.len().max(1) as f64;
    let means: Vec<f64> = (0..d).map(mean).collect();
    for (r, row) in before.iter().enumerate() {
        for sign in [1.0, -1.0] {
            let mut z = row.clone();
            (0..d).for_each(|j| z[j] += sign * times * (hidden(r, j) - means[j]));
            all.add(&z);
        }
    }
    all
}

/// Sums over all rows, node by node, as a federation would add them up.
fn sums(input: &Input, rows: &[Vec<f64>]) -> Sums {
    let width = rows.first().map_or(0, Vec::len);
    let mut all = Sums::new(width);
    for node in 0..input.data.nodes() {
        let mut own = Sums::new(width);
        input.data.rows(node).for_each(|r| own.add(&rows[r]));
        all.merge(&own);
    }
    all
}

impl FeaturesResult {
    /// The one JSON object.
    pub fn summary(&self) -> Value {
        let probe = |e: &Explained| json!({"r2": e.r2, "low": e.low, "high": e.high});
        let guess = |g: &Guess| {
            json!({
                "column": g.column, "private": g.private,
                "linear_before": g.linear[0], "linear_after": g.linear[1],
                "nearest_before": probe(&g.nearest[0]), "nearest_after": probe(&g.nearest[1]),
            })
        };
        let point = |p: &[f64; 3]| json!({"share": p[0], "leakage": p[1], "usefulness": p[2]});
        json!({
            "directions_removed": self.removed,
            "columns": self.guesses.iter().map(guess).collect::<Vec<_>>(),
            "funnel": self.funnel.iter().map(point).collect::<Vec<_>>(),
        })
    }

    /// In words.
    pub fn text(&self) -> String {
        let mut lines = vec![format!(
            "{} removed; shares of the variance that can be guessed:",
            counted(self.removed, "direction")
        )];
        for g in &self.guesses {
            let kind = if g.private { "private" } else { "target" };
            let [before, after] = &g.nearest;
            lines.push(format!(
                "  {} ({kind}): by a linear function {} -> {}, by the nearest rows {} -> {} ({} to {})",
                g.column,
                number(g.linear[0]),
                number(g.linear[1]),
                number(before.r2),
                number(after.r2),
                number(after.low),
                number(after.high)
            ));
        }
        lines.push(
            "the privacy funnel, as more and more of the variance along these directions is noise, until they are gone (nats, if all is normal):".into(),
        );
        lines.push("  share of noise  about private columns   about the target".into());
        for [share, leakage, useful] in &self.funnel {
            let useful = if self.guesses.iter().all(|g| g.private) { "-".into() } else { number(*useful) };
            lines.push(format!("  {share:<13.1}   {:<21}   {useful}", number(*leakage)));
        }
        lines.push("only linear guesses are made impossible: what the nearest rows still explain is not hidden".into());
        lines.join("\n")
    }
}
