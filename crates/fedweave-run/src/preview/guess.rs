//! Which part a column may play, from its name and what it holds. A guess is where to begin, and is shown to be changed.

use std::path::Path;

use fedweave_io::perhaps_geographic;

use super::ColumnFacts;
use crate::request::{Settings, Value};

/// Words in the names of columns that say which node a row belongs to, the most telling first.
const NODES: [&str; 29] = [
    "node", "station", "site", "hospital", "clinic", "ward", "school", "store", "shop", "farm", "sensor", "device",
    "meter", "home", "zip", "postcode", "county", "region", "district", "place", "city", "patient", "subject", "user",
    "client", "group", "area", "name", "id",
];
/// Fewer values are a category rather than nodes.
const NODES_MIN: usize = 3;
/// Words in the names of columns that are to be predicted.
const TARGETS: [&str; 9] = ["y", "target", "label", "outcome", "response", "price", "value", "temp", "score"];
/// Text with more values than this is no category.
const LEVELS_MAX: usize = 12;
/// Neighbours of a node, where positions are known.
const NEIGHBOURS: usize = 5;

/// `at_home(i, j)`: rows with the same cell in column `i` have the same cell in column `j`, too.
pub(super) fn settings(
    path: &Path,
    rows: usize,
    columns: &[ColumnFacts],
    at_home: impl Fn(usize, usize) -> bool,
) -> Settings {
    let text = |name: &str| Value::Text(name.to_owned());
    let mut guess = Settings::default().with("nodes", text(&path.to_string_lossy()));
    let by = positions(columns);
    let node = node(rows, columns, &by, at_home);
    let target = target(columns, node, &by);
    if let Some(node) = node {
        guess.set("node", text(&node.name));
    }
    if let Some(target) = target {
        guess.set("target", text(&target.name));
        if let Some(loss) = target.loss {
            guess.set("loss", text(loss));
        }
    }
    let taken = |column: &&ColumnFacts| {
        let is = |other: Option<&ColumnFacts>| other.is_some_and(|other| other.name == column.name);
        is(node) || is(target) || by.contains(&column.name)
    };
    let free: Vec<&ColumnFacts> = columns.iter().filter(|column| !taken(column) && column.distinct > 1).collect();
    let names = |list: Vec<&&ColumnFacts>| Value::Texts(list.iter().map(|column| column.name.clone()).collect());
    guess.set(
        "features",
        names(free.iter().filter(|column| column.number && !is_number_of_row(column, rows)).collect()),
    );
    let categories: Vec<&&ColumnFacts> =
        free.iter().filter(|column| !column.number && column.distinct <= LEVELS_MAX).collect();
    if !categories.is_empty() {
        guess.set("one-hot", names(categories));
    }
    guess.set("standardize", Value::Flag(true));
    if let (false, Some(node)) = (by.is_empty(), node) {
        guess.set("knn", Value::Count(NEIGHBOURS.min(node.distinct.saturating_sub(1)).max(1) as u64));
        guess.set("by", Value::Texts(by));
    }
    if columns.iter().any(|column| column.missing > 0) {
        guess.set("missing", text("drop"));
    }
    guess
}

/// Two columns that are latitude and longitude, or `x` and `y` beside another target.
fn positions(columns: &[ColumnFacts]) -> Vec<String> {
    let numbers: Vec<&ColumnFacts> = columns.iter().filter(|column| column.number).collect();
    for (k, first) in numbers.iter().enumerate() {
        for second in &numbers[k + 1..] {
            let pair = vec![first.name.clone(), second.name.clone()];
            if perhaps_geographic(&pair) {
                return pair;
            }
        }
    }
    Vec::new()
}

fn words(name: &str) -> Vec<String> {
    name.to_lowercase().split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect()
}

/// Nodes have places: among columns that could name them, those whose rows never move go first.
fn node<'a>(
    rows: usize,
    columns: &'a [ColumnFacts],
    by: &[String],
    at_home: impl Fn(usize, usize) -> bool,
) -> Option<&'a ColumnFacts> {
    let repeats = |column: &&ColumnFacts| column.distinct > 1 && column.distinct < rows && !by.contains(&column.name);
    let places: Vec<usize> = (0..columns.len()).filter(|&j| by.contains(&columns[j].name)).collect();
    let several = |i: usize| (NODES_MIN..=rows / 2).contains(&columns[i].distinct);
    let still = |i: usize| several(i) && places.iter().all(|&j| at_home(i, j));
    let placed = (0..columns.len()).filter(|&i| !places.is_empty() && repeats(&&columns[i]) && still(i));
    let placed: Vec<&ColumnFacts> = placed.map(|i| &columns[i]).collect();
    let candidates: Vec<&ColumnFacts> = match placed.is_empty() {
        true => columns.iter().filter(repeats).collect(),
        false => placed.clone(),
    };
    let named = |word: &&str| candidates.iter().copied().find(|column| words(&column.name).iter().any(|w| w == word));
    let textual = || {
        candidates.iter().copied().find(|column| !column.number && (NODES_MIN..=rows / 2).contains(&column.distinct))
    };
    let integral = || {
        candidates.iter().copied().find(|column| {
            3 * column.distinct <= rows && column.examples.iter().all(|cell| cell.parse::<i64>().is_ok())
        })
    };
    NODES.iter().find_map(named).or_else(textual).or_else(integral).or_else(|| placed.first().copied())
}

fn target<'a>(columns: &'a [ColumnFacts], node: Option<&ColumnFacts>, by: &[String]) -> Option<&'a ColumnFacts> {
    let free = |column: &&ColumnFacts| {
        node.is_none_or(|node| node.name != column.name) && !by.contains(&column.name) && column.distinct > 1
    };
    let candidates: Vec<&ColumnFacts> = columns.iter().filter(free).collect();
    let named = |word: &&str| candidates.iter().copied().find(|column| words(&column.name).iter().any(|w| w == word));
    let last = || candidates.iter().copied().rfind(|column| column.number);
    TARGETS.iter().find_map(named).or_else(last)
}

/// The loss for a target; nothing for the default.
pub(super) fn loss(number: bool, distinct: usize, range: Option<(f64, f64)>) -> Option<&'static str> {
    match (number, distinct) {
        (true, 2) if range == Some((0.0, 1.0)) || range == Some((-1.0, 1.0)) => Some("logistic"),
        (true, _) => None,
        (false, 2) => Some("logistic"),
        (false, _) => Some("multinomial"),
    }
}

/// As many different whole numbers as rows, under a name that says so.
fn is_number_of_row(column: &ColumnFacts, rows: usize) -> bool {
    let name = column.name.to_lowercase();
    column.distinct == rows && ["id", "index", "row", "no", "nr", "unnamed"].contains(&words(&name)[0].as_str())
}

pub(super) fn warnings(rows: usize, columns: &[ColumnFacts], guess: &Settings) -> Vec<String> {
    let mut all = Vec::new();
    let node = match guess.get("node") {
        Some(Value::Text(name)) => name.as_str(),
        _ => "node",
    };
    for column in columns {
        let name = &column.name;
        if column.missing > 0 {
            all.push(format!("{name}: {} of {rows} cells are missing", column.missing));
        }
        if name == node {
            all.extend((column.distinct == 1).then(|| format!("{name}: there is one node only, which learns alone")));
            continue;
        }
        if column.distinct <= 1 {
            all.push(format!("{name}: every row has the same value; it cannot help"));
        }
        if !column.number && column.distinct > LEVELS_MAX && column.distinct < rows {
            all.push(format!("{name}: text with {} values; it is no feature as it stands", column.distinct));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, number: bool, distinct: usize, example: &str) -> ColumnFacts {
        ColumnFacts {
            name: name.into(),
            number,
            distinct,
            missing: 0,
            range: number.then_some((0.0, 9.0)),
            mean: None,
            loss: loss(number, distinct, number.then_some((0.0, 9.0))),
            examples: vec![example.into()],
        }
    }

    /// The columns of a table, by position, whose rows never move.
    fn still(columns: &[usize]) -> impl Fn(usize, usize) -> bool {
        let columns = columns.to_vec();
        move |i, _| columns.contains(&i)
    }

    #[test]
    fn names_and_cells_tell_which_part_a_column_plays() {
        let columns = [
            column("zip", true, 20, "95603"),
            column("lat", true, 20, "38.9"),
            column("lon", true, 20, "-121.1"),
            column("beds", true, 5, "3"),
            column("type", false, 3, "Condo"),
            column("note", false, 90, "nice"),
            column("price", true, 80, "504000"),
        ];
        let guess = settings(Path::new("houses.csv"), 100, &columns, still(&[0]));
        let texts = |name: &str| match guess.get(name) {
            Some(Value::Texts(list)) => list.join(","),
            Some(Value::Text(text)) => text.clone(),
            _ => String::new(),
        };
        let said = ["node", "target", "by", "features", "one-hot", "loss"].map(texts);
        assert_eq!(said, ["zip", "price", "lat,lon", "beds", "type", ""]);
        assert!(warnings(100, &columns, &guess)[0].starts_with("note: text with 90 values"));
    }

    #[test]
    fn nodes_are_where_rows_do_not_move() {
        let columns = [
            column("Practice No", true, 30, "1"),
            column("lat", true, 30, "52.1"),
            column("lon", true, 30, "9.8"),
            column("Sex", false, 2, "m"),
            column("Ward", false, 9, "north"),
            column("Stay", true, 80, "7.5"),
        ];
        let node = |still: &[usize]| match settings(Path::new("a.csv"), 400, &columns, self::still(still)).get("node") {
            Some(Value::Text(name)) => name.clone(),
            _ => String::new(),
        };
        assert_eq!(node(&[0]), "Practice No");
        assert_eq!(node(&[]), "Ward", "no column has places of its own: names decide");
    }

    #[test]
    fn two_words_to_predict_are_classes() {
        let columns =
            [column("hospital", false, 9, "north"), column("age", true, 60, "7"), column("outcome", false, 2, "yes")];
        let guess = settings(Path::new("visits.csv"), 300, &columns, still(&[]));
        assert_eq!(guess.get("loss"), Some(&Value::Text("logistic".into())));
        assert!(!guess.has("knn"));
    }
}
