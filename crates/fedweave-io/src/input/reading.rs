//! How files were read, in words, where that is not plain.

use super::attributes::Coordinates;
use super::encoding::Encoding;
use super::neighbours;
use super::spec::{InputSpec, Metric};
use crate::edges::{EdgeList, Matching};
use crate::table::Table;

pub(super) fn notes(
    spec: &InputSpec,
    table: &Table,
    edges: Option<(&EdgeList, &Matching)>,
    encoding: &Encoding,
    coordinates: Option<&Coordinates>,
) -> Vec<String> {
    let file = table.file();
    let mut all: Vec<String> = table.notes().iter().map(|note| format!("{file}: {note}")).collect();
    if let Some((edges, matching)) = edges {
        all.extend(edges.notes().chain(edges.doubt(matching)));
    }
    if let (Some([negative, positive]), Some(target)) = (&encoding.binary, &encoding.target) {
        all.push(format!("{target}: {positive:?} counts as 1, {negative:?} as 0"));
    }
    all.extend(set_aside(spec, table));
    all.extend(spec.knn.zip(coordinates).map(|(k, coordinates)| nearest(spec, k, coordinates)));
    all
}

/// Columns that would be features if they had no other part.
fn set_aside(spec: &InputSpec, table: &Table) -> Option<String> {
    if spec.features.is_some() {
        return None;
    }
    let by = spec.by.iter().map(|name| (name, "--by"));
    let others =
        spec.time.iter().map(|name| (name, "--time")).chain(spec.group.iter().map(|name| (name, "--split-by")));
    let mut parts: Vec<String> = Vec::new();
    for (name, flag) in others.chain(by) {
        if table.position(name).is_some() && !spec.one_hot.contains(name) {
            parts.push(format!("{name} ({flag})"));
        }
    }
    (!parts.is_empty()).then(|| format!("not among the features: {}; --features can name them", parts.join(", ")))
}

fn nearest(spec: &InputSpec, k: usize, coordinates: &Coordinates) -> String {
    let by = coordinates.names.join(", ");
    match neighbours::metric(spec, coordinates) {
        Metric::GreatCircle => format!("every node is joined with its {k} nearest by great-circle distance ({by})"),
        Metric::Euclidean => format!("every node is joined with its {k} nearest by straight-line distance ({by})"),
    }
}
