//! Who wins, and by how much.

use super::entry::Entry;
use super::rows::Rows;
use super::{Failure, Race};
use crate::error::{Error, Result};
use crate::learn::mixture::{Mixture, believed, mixed};

/// Predictors with a smaller share are dropped.
const SHARE_MIN: f64 = 0.05;
/// Shares are whole multiples of one over this: a recipe can be written down, and read back to the same predictor.
const PARTS: f64 = 1e4;
/// Candidates that are taken for their simplicity where nothing is clearly better.
const PLAIN: [&str; 5] = ["learnt", "node-effects", "mixed", "local", "pooled"];

/// Shares of what ran, best first.
pub fn finish(
    rows: &Rows,
    mut entries: Vec<Entry>,
    failed: Vec<Failure>,
    stopped: bool,
    recipe: Option<&[(String, f64)]>,
) -> Result<Race> {
    entries.retain(|entry| entry.error().is_finite());
    entries.sort_by(|a, b| a.error().total_cmp(&b.error()));
    if let Some(name) = recipe.and_then(|recipe| absent(&entries, recipe)) {
        return Err(Error::UnknownName { name });
    }
    let Some(best) = entries.first() else {
        return Err(Error::Method { method: "race", needs: "at least one candidate that can be fitted" });
    };
    let weight = rows.node_weights(&best.out_of_fold);
    let shares = match recipe {
        Some(recipe) => given_shares(&entries, recipe),
        None => in_parts(&with_plain(rows, &entries, best_shares(rows, &entries, &weight), &weight)),
    };
    entries.iter_mut().zip(&shares).for_each(|(entry, share)| entry.member.share = *share);
    let out_of_fold = together(rows, &entries, &shares);
    let errors = rows.cost.errors(rows.data, &out_of_fold);
    Ok(Race { out_of_fold, errors, entries, failed, stopped })
}

/// A part of a recipe that did not run.
fn absent(entries: &[Entry], recipe: &[(String, f64)]) -> Option<String> {
    let ran = |name: &String| entries.iter().any(|entry| entry.member.name == *name);
    recipe.iter().map(|(name, _)| name).find(|name| !ran(name)).cloned()
}

/// Shares that somebody named, as they are if they add up to 1.
fn given_shares(entries: &[Entry], recipe: &[(String, f64)]) -> Vec<f64> {
    let total: f64 = recipe.iter().map(|(_, share)| share).sum();
    let total = if (total - 1.0).abs() < 1e-9 { 1.0 } else { total };
    let share = |entry: &Entry| recipe.iter().find(|(name, _)| *name == entry.member.name).map_or(0.0, |part| part.1);
    entries.iter().map(|entry| share(entry) / total).collect()
}

/// The nearest shares in whole parts that add up to 1: those that lose most by rounding down get the parts that are left.
fn in_parts(shares: &[f64]) -> Vec<f64> {
    let mut parts: Vec<f64> = shares.iter().map(|share| (share * PARTS).floor()).collect();
    let mut order: Vec<usize> = (0..shares.len()).filter(|k| shares[*k] > 0.0).collect();
    order.sort_by(|a, b| (shares[*b] * PARTS - parts[*b]).total_cmp(&(shares[*a] * PARTS - parts[*a])));
    let left = (PARTS - parts.iter().sum::<f64>()).max(0.0) as usize;
    order.into_iter().take(left).for_each(|k| parts[k] += 1.0);
    parts.iter().map(|part| part / PARTS).collect()
}

/// The best shares without small ones.
fn best_shares(rows: &Rows, entries: &[Entry], weight: &[f64]) -> Vec<f64> {
    let (y, cost) = (rows.data.y(), rows.cost);
    // Candidates that come to the same (a mixed model of which only the intercept varies) count once.
    let same = |a: usize, b: usize| entries[a].out_of_fold.iter().zip(&entries[b].out_of_fold).all(alike);
    let mut kept: Vec<usize> = (0..entries.len()).filter(|&k| !(0..k).any(|j| same(j, k))).collect();
    let found = loop {
        let predictions: Vec<&[f64]> = kept.iter().map(|&k| entries[k].out_of_fold.as_slice()).collect();
        let cost = |r: usize, p: f64| cost.curve(y[r], p);
        let found = Mixture { predictors: &predictions, weight, cost }.shares(|_| true);
        let smallest = (0..kept.len()).min_by(|a, b| found[*a].total_cmp(&found[*b])).unwrap_or(0);
        if kept.len() == 1 || found[smallest] >= SHARE_MIN {
            break found;
        }
        // One at a time: the shares of those that are alike depend on each other.
        kept.remove(smallest);
    };
    let mut shares = vec![0.0; entries.len()];
    kept.iter().zip(found).for_each(|(&k, share)| shares[k] = share);
    shares
}

/// What a mixture gains over the best plain candidate was seen on few nodes (or groups of rows that are held out together), and
/// part of it is chance: so much of the mixture as is believed, and the plain candidate for the rest.
fn with_plain(rows: &Rows, entries: &[Entry], shares: Vec<f64>, weight: &[f64]) -> Vec<f64> {
    let plain = entries.iter().position(|entry| PLAIN.contains(&entry.member.name.as_str()));
    let Some(plain) = plain else { return shares };
    let gains = gains(rows, &together(rows, entries, &shares), &entries[plain].out_of_fold, weight);
    let share = believed(gains.into_iter());
    let share = if share < SHARE_MIN { 0.0 } else { share };
    let mut all: Vec<f64> = shares.iter().map(|s| share * s).collect();
    all[plain] += 1.0 - share;
    all
}

/// How much less predictions cost than others, node by node, or group by group where whole groups are held out.
fn gains(rows: &Rows, better: &[f64], plain: &[f64], weight: &[f64]) -> Vec<f64> {
    let unit_of_row: Vec<u32> = match rows.groups {
        Some(groups) => groups.to_vec(),
        None => (0..rows.data.nodes()).flat_map(|i| rows.data.rows(i).map(move |_| i as u32)).collect(),
    };
    let units = unit_of_row.iter().max().map_or(0, |largest| *largest as usize + 1);
    let (mut gain, mut rows_of) = (vec![0.0; units], vec![0usize; units]);
    for r in (0..weight.len()).filter(|&r| weight[r] > 0.0) {
        let (y, unit) = (rows.data.y()[r], unit_of_row[r] as usize);
        gain[unit] += weight[r] * (rows.cost.value(y, plain[r]) - rows.cost.value(y, better[r]));
        rows_of[unit] += 1;
    }
    gain.into_iter().zip(rows_of).filter(|(_, count)| *count > 0).map(|(gain, _)| gain).collect()
}

fn alike((a, b): (&f64, &f64)) -> bool {
    (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-9 * (a.abs() + b.abs())
}

fn together(rows: &Rows, entries: &[Entry], shares: &[f64]) -> Vec<f64> {
    let predictions: Vec<&[f64]> = entries.iter().map(|entry| entry.out_of_fold.as_slice()).collect();
    mixed(&predictions, shares, rows.data.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_in_parts_add_up_and_can_be_written_down() {
        for shares in [vec![1.0 / 3.0, 0.0, 1.0 / 3.0, 1.0 / 3.0], vec![0.123_456_7, 0.876_543_3], vec![1.0]] {
            let parts = in_parts(&shares);
            let whole: u64 = parts.iter().map(|share| (share * PARTS).round() as u64).sum();
            assert_eq!(whole, PARTS as u64, "{parts:?}");
            for (share, part) in shares.iter().zip(&parts) {
                assert!((share - part).abs() < 1.0 / PARTS && (*share > 0.0 || *part == 0.0), "{parts:?}");
                assert_eq!(format!("{part:.4}").parse(), Ok(*part));
            }
        }
    }
}
