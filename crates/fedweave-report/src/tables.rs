//! The tables and bars of a report: errors side by side, the methods compared, the models of the clusters, the nodes.

use crate::network::COLOURS;
use crate::number::{count, natural, percent, short};
use crate::report::{Asking, Comparison, Lesson, Method, MethodKind, Node, Outcome, Report};
use serde::Serialize;

/// A horizontal bar; lengths in percent of the widest.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) class: &'static str,
    pub(crate) value: String,
    pub(crate) width: f64,
    /// From and to, of the standard error.
    pub(crate) whisker: Option<(f64, f64)>,
}

/// The errors the diagnosis is about, side by side.
pub(crate) fn error_bars(outcome: &Outcome) -> Vec<Bar> {
    let errors = [
        ("training", "quiet", outcome.train_error),
        ("held out", "strong", outcome.validation_error),
        ("local only, held out", "other", outcome.local_error),
        ("global, held out", "other", outcome.global_error),
        ("baseline", "other", outcome.baseline_error),
    ];
    let known: Vec<_> = errors.into_iter().filter_map(|(label, class, error)| Some((label, class, error?))).collect();
    let most = known.iter().map(|(_, _, error)| *error).filter(|error| error.is_finite()).fold(0.0, f64::max);
    let bar = |(label, class, error): (&str, &'static str, f64)| Bar {
        label: label.into(),
        class,
        value: short(error),
        width: share(error, most),
        whisker: None,
    };
    known.into_iter().map(bar).collect()
}

fn share(value: f64, most: f64) -> f64 {
    let percent = (1000.0 * value / most).round() / 10.0;
    if percent.is_finite() { percent.clamp(0.0, 100.0) } else { 0.0 }
}

/// A comparison ready for the template.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Compared {
    pub(crate) bars: Vec<Bar>,
    pub(crate) sentences: Vec<String>,
}

/// The methods as bars, and what they say about the nodes and the graph.
pub(crate) fn compared(comparison: &Comparison) -> Option<Compared> {
    if comparison.methods.is_empty() {
        return None;
    }
    let end = |method: &Method| method.error + method.standard_error.unwrap_or(0.0);
    let most = comparison.methods.iter().map(end).filter(|error| error.is_finite()).fold(0.0, f64::max);
    let bars = comparison.methods.iter().map(|method| method_bar(method, most)).collect();
    let sentences = [splits_words(comparison), nodes_words(comparison), shuffled_words(comparison)];
    Some(Compared { bars, sentences: sentences.into_iter().flatten().collect() })
}

fn method_bar(method: &Method, most: f64) -> Bar {
    let se = method.standard_error.filter(|se| se.is_finite());
    Bar {
        label: method.name.clone(),
        class: match method.kind {
            MethodKind::Networked => "strong",
            MethodKind::Shuffled => "hatched",
            _ => "other",
        },
        value: short(method.error) + &se.map(|se| format!(" ± {}", short(se))).unwrap_or_default(),
        width: share(method.error, most),
        whisker: se.map(|se| (share(method.error - se, most), share(method.error + se, most))),
    }
}

fn splits_words(comparison: &Comparison) -> Option<String> {
    let whiskers = comparison.methods.iter().any(|method| method.standard_error.is_some());
    let marks = if whiskers { "; the thin lines are ± one standard error" } else { "" };
    match comparison.splits {
        0 => Some(format!("Rows of folds that were held out in turn{marks}.")),
        1 => Some(format!("One random split{marks}.")),
        n => Some(format!("Means of {} random splits{marks}.", count(n))),
    }
}

fn nodes_words(comparison: &Comparison) -> Option<String> {
    let (gain, lose) = (comparison.nodes_gain, comparison.nodes_lose);
    let gains = if gain == 1 { "1 node gains".into() } else { format!("{} nodes gain", count(gain)) };
    let loses = if lose == 1 { "1 loses".into() } else { format!("{} lose", count(lose)) };
    (gain + lose > 0).then(|| format!("Against their own local-only model, {gains} and {loses}."))
}

fn shuffled_words(comparison: &Comparison) -> Option<String> {
    let better = comparison.splits_better_than_shuffled?;
    Some(format!(
        "The control is the same method on the same graph with its nodes shuffled: if it does as well, the gain comes from \
         sharing as such, not from this graph. The true graph is better in {} of {} splits.",
        count(better),
        count(comparison.splits)
    ))
}

/// The models of the largest clusters, as a heat map.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Models {
    pub(crate) names: Vec<String>,
    pub(crate) rows: Vec<ModelRow>,
    pub(crate) caption: String,
}

/// One cluster's model.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ModelRow {
    pub(crate) cluster: usize,
    pub(crate) colour: usize,
    pub(crate) size: String,
    pub(crate) cells: Vec<Cell>,
}

/// One parameter: its value, and where it stands among the clusters from -1 to 1.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Cell {
    pub(crate) value: String,
    pub(crate) tint: f64,
}

const MODELS_MAX: usize = 12;
const PARAMETERS_MAX: usize = 24;

/// The largest clusters with a model; the parameters that differ most if there are too many.
pub(crate) fn models(report: &Report, colours: &[usize]) -> Option<Models> {
    let mut order: Vec<usize> = (0..report.clusters.len()).filter(|&k| !report.clusters[k].model.is_empty()).collect();
    let known = order.len();
    order.sort_by(|&a, &b| report.clusters[b].size.cmp(&report.clusters[a].size).then(a.cmp(&b)));
    order.truncate(MODELS_MAX);
    if order.is_empty() || report.clusters.iter().all(|cluster| cluster.size == 1) {
        return None;
    }
    let column = |p: usize| order.iter().map(|&k| report.clusters[k].model[p]).collect::<Vec<f64>>();
    let columns: Vec<Vec<f64>> = (0..report.what.dim).map(column).collect();
    let shown = most_different(&columns);
    let row = |(r, &k): (usize, &usize)| ModelRow {
        cluster: k + 1,
        colour: colours[k],
        size: count(report.clusters[k].size),
        cells: shown.iter().map(|&p| Cell { value: short(columns[p][r]), tint: tint(&columns[p], r) }).collect(),
    };
    Some(Models {
        names: shown.iter().map(|&p| report.parameter_name(p)).collect(),
        rows: order.iter().enumerate().map(row).collect(),
        caption: models_caption(order.len(), known, shown.len(), report.what.dim),
    })
}

/// How far a coefficient differs between nodes that all have models of their own.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Spread {
    pub(crate) name: String,
    /// Smallest, quartiles with the median, largest.
    pub(crate) values: Vec<String>,
}

/// The spread of every coefficient where no two nodes share a model; those that differ most if there are too many.
pub(crate) fn spread(report: &Report) -> Option<Vec<Spread>> {
    let models: Vec<&Vec<f64>> =
        report.clusters.iter().map(|cluster| &cluster.model).filter(|model| !model.is_empty()).collect();
    if models.len() < 2 || report.clusters.iter().any(|cluster| cluster.size > 1) {
        return None;
    }
    let columns: Vec<Vec<f64>> = (0..report.what.dim)
        .map(|p| {
            let mut column: Vec<f64> = models.iter().map(|model| model[p]).collect();
            column.sort_by(f64::total_cmp);
            column
        })
        .collect();
    let at = |column: &[f64], share: f64| short(column[(share * (column.len() - 1) as f64).round() as usize]);
    let row = |p: usize| Spread {
        name: report.parameter_name(p),
        values: [0.0, 0.25, 0.5, 0.75, 1.0].iter().map(|share| at(&columns[p], *share)).collect(),
    };
    Some(most_different(&columns).into_iter().map(row).collect())
}

fn models_caption(clusters: usize, all_clusters: usize, parameters: usize, dim: usize) -> String {
    let mut caption = String::from("The common model of each cluster. ");
    if clusters > 1 {
        caption += "The shade compares the clusters within a column: blue below their mean, orange above. ";
    }
    if clusters < all_clusters {
        caption += &format!("The {clusters} largest of {} clusters. ", count(all_clusters));
    }
    if parameters < dim {
        caption += &format!("The {parameters} of {} parameters that differ most. ", count(dim));
    }
    caption.trim_end().into()
}

/// The columns to show, in their own order.
fn most_different(columns: &[Vec<f64>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by(|&a, &b| largest_deviation(&columns[b]).total_cmp(&largest_deviation(&columns[a])).then(a.cmp(&b)));
    order.truncate(PARAMETERS_MAX);
    order.sort_unstable();
    order
}

fn mean(column: &[f64]) -> f64 {
    column.iter().sum::<f64>() / column.len() as f64
}

fn largest_deviation(column: &[f64]) -> f64 {
    let mean = mean(column);
    column.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max)
}

fn tint(column: &[f64], r: usize) -> f64 {
    let tint = (column[r] - mean(column)) / largest_deviation(column);
    if tint.is_finite() { (tint * 100.0).round() / 100.0 } else { 0.0 }
}

/// The table of nodes as it is before the script takes over.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Nodes {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<NodeRow>,
    pub(crate) total: usize,
}

/// A column that has at least one value.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Column {
    pub(crate) key: &'static str,
    pub(crate) title: &'static str,
}

/// A node's texts, one per column after the name.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct NodeRow {
    pub(crate) name: String,
    pub(crate) colour: Option<usize>,
    pub(crate) cells: Vec<String>,
}

const STATIC_ROWS: usize = 50;

type Value = fn(&Node) -> Option<f64>;

const COLUMNS: [(&str, &str, Value); 7] = [
    ("cluster", "Cluster", |node| node.cluster.map(|k| (k + 1) as f64)),
    ("rows", "Rows", |node| Some(node.rows as f64)),
    ("train", "Training error", |node| node.train_error),
    ("validation", "Held-out error", |node| node.validation_error),
    ("local", "Local-only error", |node| node.local_error),
    ("global", "Global error", |node| node.global_error),
    ("gain", "Gain over local", Node::gain),
];

/// The first rows of the table; the script shows the others.
pub(crate) fn nodes(report: &Report, colours: &[usize]) -> Option<Nodes> {
    if report.nodes.is_empty() {
        return None;
    }
    let used = |value: &Value| report.nodes.iter().any(|node| value(node).is_some());
    let columns: Vec<_> = COLUMNS.iter().filter(|(_, _, value)| used(value)).collect();
    let row = |node: &Node| NodeRow {
        name: node.name.clone(),
        colour: node.cluster.map(|k| colours[k]),
        cells: columns.iter().map(|(key, _, value)| cell(key, value(node))).collect(),
    };
    let mut first: Vec<&Node> = report.nodes.iter().collect();
    first.sort_by_cached_key(|node| natural(&node.name));
    Some(Nodes {
        rows: first.into_iter().take(STATIC_ROWS).map(row).collect(),
        columns: columns.iter().map(|(key, title, _)| Column { key, title }).collect(),
        total: report.nodes.len(),
    })
}

fn cell(key: &str, value: Option<f64>) -> String {
    match (key, value) {
        (_, None) => "–".into(),
        ("cluster" | "rows", Some(n)) => count(n as usize),
        ("gain", Some(gain)) if gain > 0.0 => format!("+{}", percent(gain)),
        ("gain", Some(gain)) => percent(gain),
        (_, Some(error)) => short(error),
    }
}

/// From whom a node learnt, in words.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LessonRow {
    pub(crate) node: String,
    pub(crate) reward: String,
    pub(crate) teachers: String,
}

const TEACHERS_NAMED: usize = 5;

/// A row for every node that asked.
pub(crate) fn lessons(asking: &Asking) -> Vec<LessonRow> {
    let teachers = |all: &[(String, f64)]| {
        let mut words: Vec<String> =
            all.iter().take(TEACHERS_NAMED).map(|(name, share)| format!("{name} ({})", percent(*share))).collect();
        if all.len() > TEACHERS_NAMED {
            words.push(format!("{} more", count(all.len() - TEACHERS_NAMED)));
        }
        words.join(", ")
    };
    let row = |lesson: &Lesson| LessonRow {
        node: lesson.node.clone(),
        reward: short(lesson.reward),
        teachers: teachers(&lesson.teachers),
    };
    asking.lessons.iter().map(row).collect()
}

/// The legend of the clusters.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Legend {
    pub(crate) colour: usize,
    pub(crate) label: String,
    pub(crate) size: String,
}

/// The coloured clusters, largest first, then the others together.
pub(crate) fn legend(report: &Report, colours: &[usize]) -> Vec<Legend> {
    let mut coloured: Vec<usize> = (0..colours.len()).filter(|&k| colours[k] < COLOURS).collect();
    coloured.sort_by_key(|&k| colours[k]);
    let entry = |&k: &usize| Legend {
        colour: colours[k],
        label: format!("Cluster {}", k + 1),
        size: count(report.clusters[k].size),
    };
    let mut legend: Vec<Legend> = coloured.iter().map(entry).collect();
    legend.extend(grey_legend(report, colours));
    legend
}

/// The nodes without a colour: in small clusters, on their own, or in none.
fn grey_legend(report: &Report, colours: &[usize]) -> Option<Legend> {
    let small: Vec<usize> = (0..colours.len()).filter(|&k| colours[k] == COLOURS).collect();
    let outside = report.nodes.iter().filter(|node| node.cluster.is_none()).count();
    let nodes = outside + small.iter().map(|&k| report.clusters[k].size).sum::<usize>();
    if nodes == 0 || colours.is_empty() {
        return None;
    }
    let alone = small.iter().all(|&k| report.clusters[k].size == 1);
    let label = if alone { "on their own".into() } else { format!("{} other clusters", count(small.len())) };
    Some(Legend { colour: COLOURS, label, size: count(nodes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_teachers_are_named_and_the_others_counted() {
        let teachers = ["b", "c", "d", "e", "f", "g", "h"].map(|name| (name.to_owned(), 0.25));
        let lesson = Lesson { node: "a".into(), reward: 1.5, teachers: teachers.to_vec() };
        let few = Lesson { teachers: teachers[..1].to_vec(), ..lesson.clone() };
        let rows = lessons(&Asking { lessons: vec![lesson, few], ..Asking::default() });
        let one = format!("b ({})", percent(0.25));
        assert!(rows[0].teachers.starts_with(&one) && rows[0].teachers.ends_with(", 2 more"), "{}", rows[0].teachers);
        assert_eq!((rows[1].teachers.as_str(), rows[1].node.as_str()), (one.as_str(), "a"));
    }
    use crate::report::Cluster;

    #[test]
    fn columns_without_values_are_absent() {
        let node =
            Node { name: "a".into(), rows: 3, validation_error: Some(1.0), local_error: Some(2.0), ..Node::default() };
        let report = Report { nodes: vec![node, Node { name: "b".into(), ..Node::default() }], ..Report::default() };
        let table = nodes(&report, &[]).unwrap();
        let keys: Vec<_> = table.columns.iter().map(|column| column.key).collect();
        assert_eq!(keys, ["rows", "validation", "local", "gain"]);
        assert_eq!(table.rows[0].cells, ["3", "1", "2", "+50 %"]);
        assert_eq!(table.rows[1].cells, ["0", "–", "–", "–"]);
    }

    #[test]
    fn the_heat_map_compares_clusters_within_a_column() {
        let cluster = |size, a, b| Cluster { size, model: vec![a, b] };
        let mut report = Report { clusters: vec![cluster(2, 1.0, 5.0), cluster(3, 3.0, 5.0)], ..Report::default() };
        report.what.dim = 2;
        let models = models(&report, &[1, 0]).unwrap();
        assert_eq!(models.rows[0].cluster, 2, "the largest first");
        assert_eq!((models.rows[0].cells[0].tint, models.rows[1].cells[0].tint), (1.0, -1.0));
        assert_eq!(models.rows[0].cells[1].tint, 0.0);
    }

    #[test]
    fn models_of_their_own_are_told_by_their_spread() {
        let cluster = |size, a| Cluster { size, model: vec![a, 7.0] };
        let mut report =
            Report { clusters: [3.0, 1.0, 2.0, 5.0, 4.0].map(|a| cluster(1, a)).to_vec(), ..Report::default() };
        report.what.dim = 2;
        let spread = spread(&report).unwrap();
        assert_eq!(spread[0].values, ["1", "2", "3", "4", "5"]);
        assert_eq!(spread[1].values, ["7"; 5]);
        report.clusters[0].size = 2;
        assert!(super::spread(&report).is_none() && models(&report, &[0; 5]).is_some());
    }

    #[test]
    fn whiskers_and_bars_share_a_scale() {
        let method = |error, se| Method { error, standard_error: Some(se), ..Method::default() };
        let comparison =
            Comparison { methods: vec![method(8.0, 2.0), method(5.0, 1.0)], splits: 10, ..Comparison::default() };
        let bars = compared(&comparison).unwrap().bars;
        assert_eq!((bars[0].width, bars[0].whisker), (80.0, Some((60.0, 100.0))));
        assert_eq!(bars[1].width, 50.0);
    }
}
