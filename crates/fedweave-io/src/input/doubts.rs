//! Cells that are read as they stand and may be meant otherwise.

use std::collections::HashMap;

use super::roles::Roles;
use super::spec::InputSpec;
use crate::fault::quoted;
use crate::table::Table;

/// Names quoted of nodes.
const EXAMPLES: usize = 2;

/// What to look at twice in the rows that are used.
pub(super) fn of(spec: &InputSpec, table: &Table, roles: &Roles, rows: &[usize]) -> Vec<String> {
    let mut all: Vec<String> = alike(&table.text(roles.node).levels).into_iter().collect();
    all.extend(constant(spec, table, roles, rows));
    all.extend(constant_in_nodes(spec, table, roles, rows));
    all
}

/// Nodes whose names differ in nothing that is easily seen.
fn alike(names: &[String]) -> Option<String> {
    let mut spelt: HashMap<String, Vec<&String>> = HashMap::new();
    names.iter().for_each(|name| spelt.entry(sound(name)).or_default().push(name));
    let mut twice: Vec<Vec<&String>> = spelt.into_values().filter(|names| names.len() > 1).collect();
    twice.iter_mut().for_each(|names| names.sort_unstable());
    twice.sort_unstable();
    let first = twice.first()?;
    let examples: Vec<String> = first.iter().take(EXAMPLES).map(|name| format!("{name:?}")).collect();
    let others = match twice.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    let same = |text: &str| first.iter().all(|name| name.trim().to_lowercase() == text.trim().to_lowercase());
    let words = match same(first[0]) {
        true => "differ only in spaces or in upper and lower case",
        false => "are the same number, written in two ways",
    };
    Some(format!("{} are different nodes, though their names {words}{others}", examples.join(" and ")))
}

/// What a name is when spaces, case and the writing of numbers do not count.
fn sound(name: &str) -> String {
    let name = name.trim();
    match name.parse::<f64>() {
        Ok(number) if number.is_finite() && name.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
            number.to_string()
        }
        _ => name.to_lowercase(),
    }
}

/// Columns that say the same in every row, as the intercept does.
fn constant(spec: &InputSpec, table: &Table, roles: &Roles, rows: &[usize]) -> Option<String> {
    let same = |column: &usize| {
        let numbers = table.numbers(*column);
        let mut used = rows.iter().filter_map(|&row| numbers.values.get(row)).filter(|value| !value.is_nan());
        used.next().is_some_and(|first| used.all(|value| value == first)) && rows.len() > 1
    };
    let one_level = |column: &usize| {
        let codes = &table.text(*column).codes;
        rows.len() > 1 && rows.iter().all(|&row| codes[row] == codes[rows[0]])
    };
    let words = roles.features.iter().filter(|f| f.one_hot).map(|f| f.column).filter(one_level);
    let features = roles.numeric().filter(same).chain(words).filter(|_| spec.intercept);
    let names: Vec<&str> = features.map(|column| table.names()[column].as_str()).collect();
    let joined = names.join(",");
    (!names.is_empty()).then(|| format!("the same in every row, so of no help: {joined} (--drop {})", quoted(&joined)))
}

/// Columns that say the same in all rows of every node: no model of one node can tell them from its intercept. Coordinates, mostly.
fn constant_in_nodes(spec: &InputSpec, table: &Table, roles: &Roles, rows: &[usize]) -> Option<String> {
    let codes = &table.text(roles.node).codes;
    let same = |column: &usize| {
        let values = &table.numbers(*column).values;
        let mut seen: HashMap<u32, f64> = HashMap::new();
        let mut known = rows.iter().filter(|&&row| !values[row].is_nan());
        let once = known.all(|&row| *seen.entry(codes[row]).or_insert(values[row]) == values[row]);
        let (least, most) = seen.values().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)));
        once && rows.len() > seen.len() && least < most
    };
    let features = roles.numeric().filter(same).filter(|_| spec.intercept);
    let names: Vec<&str> = features.map(|column| table.names()[column].as_str()).collect();
    let joined = names.join(",");
    let words = "the same in all rows of every node, so that a node alone cannot tell them from its intercept";
    (!names.is_empty()).then(|| format!("{words}: {joined} (--drop {}, or --ridge 0.001)", quoted(&joined)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_alike_are_told_once() {
        let names = |all: &[&str]| all.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert_eq!(alike(&names(&["a", "b", "A1"])), None);
        let told = alike(&names(&["north ", "b", "North", "c", "C"])).unwrap();
        assert!(told.starts_with("\"C\" and \"c\" are different nodes"), "{told}");
        assert!(told.ends_with("(and 1 more)"), "{told}");
        let told = alike(&names(&["7", "8", "7.0", "x"])).unwrap();
        assert!(
            told.starts_with("\"7\" and \"7.0\" are different nodes") && told.ends_with("written in two ways"),
            "{told}"
        );
        assert_eq!(alike(&names(&["7", "7a", "inf", "1e400"])), None);
    }
}
