//! Which classes are taken for which: for summaries, words and reports.

use fedweave::loss::Confusion;
use fedweave_io::Input;
use fedweave_report as report;
use serde_json::{Value, json};

use crate::held_out::HeldOutClasses;
use crate::wording::{counted, percent};

/// More classes are counted, not shown as a table.
const SHOWN_MAX: usize = 12;

/// Names of the classes of a target, in the order in which they are numbered.
pub(crate) fn names(input: &Input, classes: usize) -> Vec<String> {
    let words = input.classes.clone();
    let minus = || input.data.y().contains(&-1.0).then(|| ["-1", "1"].map(String::from));
    let two = || input.encoding.binary.clone().or_else(minus).map(Vec::from);
    let told = if words.len() == classes { Some(words) } else { two().filter(|names| names.len() == classes) };
    told.unwrap_or_else(|| (0..classes).map(|class| class.to_string()).collect())
}

/// As JSON.
pub(crate) fn summary(confusion: &Confusion, input: &Input) -> Value {
    let row = |truth: usize| (0..confusion.classes()).map(|told| confusion.count(truth, told)).collect::<Vec<_>>();
    json!({
        "classes": names(input, confusion.classes()),
        "counts": (0..confusion.classes()).map(row).collect::<Vec<_>>(),
    })
}

/// For a report.
pub(crate) fn panel(confusion: &Confusion, input: &Input, whose: &str) -> Option<report::Confusion> {
    let classes = confusion.classes();
    let row = |truth: usize| (0..classes).map(|told| confusion.count(truth, told)).collect();
    (classes <= SHOWN_MAX && confusion.rows().0 > 0).then(|| report::Confusion {
        whose: whose.to_owned(),
        classes: names(input, classes),
        counts: (0..classes).map(row).collect(),
    })
}

/// A share of rows that is right.
pub(crate) fn right(confusion: &Confusion) -> String {
    confusion.accuracy().map_or("-".into(), percent)
}

/// Shares, and a table of the classes.
pub(crate) fn words(classes: &HeldOutClasses, ours: &str, input: &Input) -> Vec<String> {
    let Some(networked) = &classes.networked else { return Vec::new() };
    let mut lines = vec![format!(
        "  classes right of {}: {ours} {}, local-only {}, global {}",
        counted(networked.rows().0, "held-out row"),
        right(networked),
        right(&classes.local),
        right(&classes.global)
    )];
    lines.extend(table(networked, input));
    lines
}

/// Rows of every class against what was predicted.
pub(crate) fn table(confusion: &Confusion, input: &Input) -> Vec<String> {
    let classes = confusion.classes();
    if classes > SHOWN_MAX || confusion.rows().0 == 0 {
        return Vec::new();
    }
    let names = names(input, classes);
    let cells = |truth: usize| (0..classes).map(move |told| confusion.count(truth, told).to_string());
    let longest = |words: &mut dyn Iterator<Item = &String>| words.map(|word| word.chars().count()).max().unwrap_or(0);
    let first = longest(&mut names.iter()).max("is".len());
    let width: Vec<usize> = (0..classes)
        .map(|told| {
            names[told]
                .chars()
                .count()
                .max((0..classes).map(|t| confusion.count(t, told).to_string().len()).max().unwrap_or(0))
        })
        .collect();
    let line = |name: &str, cells: &mut dyn Iterator<Item = String>| {
        let cells: String = cells.zip(&width).map(|(cell, width)| format!("  {cell:>width$}")).collect();
        format!("    {name:<first$}{cells}")
    };
    let mut lines = vec![format!("{}  (predicted)", line("is", &mut names.iter().cloned()))];
    lines.extend((0..classes).map(|truth| line(&names[truth], &mut cells(truth))));
    lines
}
