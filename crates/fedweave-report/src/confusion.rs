//! Which classes are taken for which: a row for each class, tinted by its share.

use crate::number::{percent, plural};
use crate::report::Confusion;
use serde::Serialize;

/// The table of a page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ConfusionTable {
    pub(crate) note: String,
    pub(crate) names: Vec<String>,
    pub(crate) rows: Vec<Row>,
}

/// One class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) cells: Vec<Cell>,
    pub(crate) right: String,
}

/// Rows of one class that were given to one class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Cell {
    pub(crate) count: usize,
    pub(crate) right: bool,
    pub(crate) tint: f64,
}

/// What the page shows.
pub(crate) fn table(confusion: &Confusion) -> ConfusionTable {
    let share = |part: usize, all: usize| if all > 0 { part as f64 / all as f64 } else { 0.0 };
    let row = |(truth, (name, counts)): (usize, (&String, &Vec<usize>))| {
        let all: usize = counts.iter().sum();
        let cell = |(told, &count): (usize, &usize)| Cell { count, right: told == truth, tint: share(count, all) };
        let right = counts.get(truth).filter(|_| all > 0).map_or("–".into(), |right| percent(share(*right, all)));
        Row { name: name.clone(), cells: counts.iter().enumerate().map(cell).collect(), right }
    };
    let rows: Vec<Row> = confusion.classes.iter().zip(&confusion.counts).enumerate().map(row).collect();
    let all: usize = confusion.counts.iter().flatten().sum();
    let right: usize = (0..rows.len()).filter_map(|class| confusion.counts[class].get(class)).sum();
    let whose = if confusion.whose.is_empty() { String::new() } else { format!(" by {}", confusion.whose) };
    let note = format!(
        "{} of {} are given to the right class{whose}: a row of the table for each class, a column for what was predicted.",
        percent(share(right, all)),
        plural(all, "held-out row")
    );
    ConfusionTable { note, names: confusion.classes.clone(), rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_the_class() {
        let confusion = Confusion {
            whose: "every node alone".into(),
            classes: vec!["fail".into(), "pass".into(), "absent".into()],
            counts: vec![vec![3, 1, 0], vec![0, 5, 0], vec![0, 0, 0]],
        };
        let table = table(&confusion);
        assert!(table.note.starts_with("89 % of 9 held-out rows are given to the right class by every node alone"));
        let right: Vec<&str> = table.rows.iter().map(|row| row.right.as_str()).collect();
        assert_eq!(right, ["75 %", "100 %", "–"]);
        assert_eq!(table.rows[0].cells[1], Cell { count: 1, right: false, tint: 0.25 });
    }
}
