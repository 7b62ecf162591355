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
    alike(&table.text(roles.node).levels).into_iter().chain(constant(spec, table, roles, rows)).collect()
}

/// Nodes whose names differ in nothing that is easily seen.
fn alike(names: &[String]) -> Option<String> {
    let mut spelt: HashMap<String, Vec<&String>> = HashMap::new();
    names.iter().for_each(|name| spelt.entry(name.trim().to_lowercase()).or_default().push(name));
    let mut twice: Vec<Vec<&String>> = spelt.into_values().filter(|names| names.len() > 1).collect();
    twice.iter_mut().for_each(|names| names.sort_unstable());
    twice.sort_unstable();
    let first = twice.first()?;
    let examples: Vec<String> = first.iter().take(EXAMPLES).map(|name| format!("{name:?}")).collect();
    let others = match twice.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    let words = "are different nodes, though their names differ only in spaces or in upper and lower case";
    Some(format!("{} {words}{others}", examples.join(" and ")))
}

/// Columns that say the same in every row, as the intercept does.
fn constant(spec: &InputSpec, table: &Table, roles: &Roles, rows: &[usize]) -> Option<String> {
    let same = |column: &usize| {
        let numbers = table.numbers(*column);
        let mut used = rows.iter().filter_map(|&row| numbers.values.get(row)).filter(|value| !value.is_nan());
        used.next().is_some_and(|first| used.all(|value| value == first)) && rows.len() > 1
    };
    let features = roles.numeric().filter(same).filter(|_| spec.intercept);
    let names: Vec<&str> = features.map(|column| table.names()[column].as_str()).collect();
    let joined = names.join(",");
    (!names.is_empty()).then(|| format!("the same in every row, so of no help: {joined} (--drop {})", quoted(&joined)))
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
    }
}
