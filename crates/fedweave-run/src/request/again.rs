//! The same again by other means: what was said, as a command line and as Python.

use fedweave_io::Dialect;
pub use fedweave_io::quoted;

use super::keys::{GROUPS, Job, Kind, find};
use super::settings::{Settings, Value};

/// The command that carries out a job with these settings.
pub fn command(job: Job, settings: &Settings) -> String {
    let mut words = vec!["fedweave".to_owned(), job.name().to_owned()];
    for key in GROUPS.iter().flat_map(|(_, keys)| keys.iter()) {
        let Some(value) = settings.get(key.name) else { continue };
        if key.name == "nodes" {
            words.extend(texts(value).iter().map(|word| quoted(word)));
            continue;
        }
        let flag = format!("--{}", key.name);
        match (key.kind, value) {
            (Kind::Flag, _) => words.push(flag),
            (Kind::Paths, value) => {
                words.push(flag);
                words.extend(texts(value).iter().map(|word| quoted(word)));
            }
            (Kind::Repeated, value) => {
                texts(value).iter().for_each(|word| words.extend([flag.clone(), quoted(word)]));
            }
            (_, value) => words.extend([flag, quoted(&texts(value).join(","))]),
        }
    }
    words.join(" ")
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Flag(flag) => vec![flag.to_string()],
        Value::Count(count) => vec![count.to_string()],
        Value::Number(number) => vec![plain(*number)],
        Value::Text(text) => vec![text.clone()],
        Value::Numbers(numbers) => numbers.iter().map(|number| plain(*number)).collect(),
        Value::Texts(texts) => texts.clone(),
    }
}

/// All digits of a number, and no row of zeros.
fn plain(number: f64) -> String {
    match number.abs() {
        0.0 | 1e-4..1e12 => number.to_string(),
        _ => format!("{number:e}"),
    }
}

/// Keys that have an argument of their own in Python, and its name.
const ARGUMENTS: [(&str, &str); 10] = [
    ("loss", "loss"),
    ("penalty", "penalty"),
    ("lambda", "lam"),
    ("ridge", "ridge"),
    ("standardize", "standardize"),
    ("solver", "solver"),
    ("validation", "validation"),
    ("split", "split"),
    ("node-weight", "node_weight"),
    ("tolerance", "tol"),
];
/// Keys that are said in another way.
const ELSEWHERE: [&str; 25] = [
    "nodes",
    "edges",
    "graph",
    "discrepancy",
    "degree",
    "nearest",
    "edges-max",
    "fdr",
    "edge-weights",
    "knn",
    "by",
    "metric",
    "node",
    "target",
    "features",
    "drop",
    "one-hot",
    "weight",
    "missing",
    "no-intercept",
    "out",
    "overwrite",
    "json",
    "verbose",
    "watch",
];
/// What a learnt graph is told, and the argument in Python.
const GRAPH_LEARNT: [(&str, &str); 6] = [
    ("discrepancy", "by"),
    ("degree", "degree"),
    ("nearest", "nearest"),
    ("edges-max", "edges_max"),
    ("fdr", "fdr"),
    ("edge-weights", "edge_weights"),
];
/// Losses whose target is a class.
const CLASSES: [&str; 3] = ["logistic", "multinomial", "squared-hinge"];

/// The same fit in Python, for a table that is written like this; one-hot columns and row weights are prepared as the command line does.
pub fn python(settings: &Settings, dialect: Dialect) -> String {
    let text = |name: &str| settings.get(name).map(texts).and_then(|texts| texts.first().cloned());
    let class = text("loss").is_some_and(|loss| CLASSES.contains(&loss.as_str()));
    let estimator = if class { "GTVClassifier" } else { "GTVRegressor" };
    let node = text("node").unwrap_or_else(|| "node".into());
    let (graph, import, learn) = graph(settings, estimator, &node);
    let mut lines =
        vec!["import pandas as pd".to_owned(), format!("from fedweave import {estimator}{import}"), String::new()];
    lines.extend(frame(settings, dialect, &node));
    lines.push(format!("y = frame.pop({:?})", text("target").unwrap_or_default()));
    let weight = text("weight").map(|weight| {
        lines.push(format!("weight = frame.pop({weight:?})"));
        ", sample_weight=weight"
    });
    let one_hot = settings.get("one-hot").map(texts).unwrap_or_default();
    if !one_hot.is_empty() {
        lines.push(format!("frame = pd.get_dummies(frame, columns={one_hot:?}, drop_first=True, dtype=float)"));
    }
    lines.extend(learn);
    let mut arguments = vec![graph, format!("node={node:?}")];
    arguments
        .extend(ARGUMENTS.iter().filter_map(|(key, name)| Some(format!("{name}={}", literal(settings.get(key)?)))));
    arguments.extend(settings.has("no-intercept").then(|| "fit_intercept=False".into()));
    let options = options(settings);
    arguments.extend((!options.is_empty()).then(|| format!("options={{{}}}", options.join(", "))));
    lines.push(format!("model = {estimator}({})", arguments.join(", ")));
    lines.push(format!("model.fit(frame, y{})", weight.unwrap_or_default()));
    lines.push("model.coef_".into());
    lines.join("\n") + "\n"
}

/// Reads the columns that are used, and what is to become of missing cells.
fn frame(settings: &Settings, dialect: Dialect, node: &str) -> Vec<String> {
    let list = |name: &str| settings.get(name).map(texts).unwrap_or_default();
    let file = list("nodes").first().cloned().unwrap_or_default();
    let mut lines = if file.ends_with(".parquet") || file.ends_with(".pq") {
        vec![format!("frame = pd.read_parquet({file:?})"), format!("frame[{node:?}] = frame[{node:?}].astype(str)")]
    } else {
        let mut how = format!("dtype={{{node:?}: str}}");
        if dialect.separator != ',' {
            how += &format!(", sep={:?}", dialect.separator.to_string());
        }
        if dialect.decimal_commas {
            how += ", decimal=\",\"";
        }
        if settings.has("missing") {
            how += ", na_values=[\"?\", \"-\", \"--\"]";
        }
        vec![format!("frame = pd.read_csv({file:?}, {how})")]
    };
    if !list("features").is_empty() {
        let mut used = vec![node.to_owned()];
        for name in ["by", "features", "one-hot", "target", "weight"].into_iter().flat_map(list) {
            if !used.contains(&name) {
                used.push(name);
            }
        }
        lines.push(format!("frame = frame[{used:?}]"));
    } else if !list("drop").is_empty() {
        lines.push(format!("frame = frame.drop(columns={:?})", list("drop")));
    }
    match list("missing").first().map(String::as_str) {
        Some("drop") => lines.push("frame = frame.dropna()".into()),
        Some("mean") => {
            let target = list("target").first().cloned().unwrap_or_default();
            lines.push(format!("frame = frame.dropna(subset=[{node:?}, {target:?}])"));
            lines.push("frame = frame.fillna(frame.mean(numeric_only=True)).dropna()".into());
        }
        _ => {}
    }
    lines
}

/// The argument, what to import for it, and what to do before.
fn graph(settings: &Settings, estimator: &str, node: &str) -> (String, &'static str, Option<String>) {
    let words = |name: &str| settings.get(name).map(texts).unwrap_or_default();
    if let Some(edges) = words("edges").first() {
        return (format!("{edges:?}"), "", None);
    }
    if words("graph").first().is_some_and(|rule| rule == "learn") {
        let budget = GRAPH_LEARNT.iter().filter_map(|(key, name)| {
            let value = settings.get(key)?;
            Some(format!(", {name}={}", literal(value)))
        });
        let loss = settings.get("loss").map_or(String::new(), |loss| format!(", loss={}", literal(loss)));
        let how: String = budget.collect();
        let learn = format!("graph = learn_graph({estimator}(node={node:?}{loss}), frame, y{how})");
        return ("graph".into(), ", learn_graph", Some(learn));
    }
    let Some(k) = words("knn").first().cloned() else { return ("None".into(), "", None) };
    let metric = words("metric").first().map_or(String::new(), |metric| format!(", metric={metric:?}"));
    (format!("knn({k}, by={:?}{metric})", words("by")), ", knn", None)
}

fn options(settings: &Settings) -> Vec<String> {
    let keys = GROUPS.iter().flat_map(|(_, keys)| keys.iter());
    let other =
        keys.filter(|key| !ELSEWHERE.contains(&key.name) && ARGUMENTS.iter().all(|(name, _)| *name != key.name));
    other.filter_map(|key| Some(format!("{:?}: {}", key.name, literal(settings.get(key.name)?)))).collect()
}

/// A value as Python writes it.
fn literal(value: &Value) -> String {
    match value {
        Value::Flag(true) => "True".into(),
        Value::Flag(false) => "False".into(),
        Value::Count(count) => count.to_string(),
        Value::Number(number) => format!("{number:?}"),
        Value::Text(text) => format!("{text:?}"),
        Value::Numbers(numbers) if numbers.len() == 1 => format!("{:?}", numbers[0]),
        Value::Numbers(numbers) => format!("{numbers:?}"),
        Value::Texts(texts) => format!("{texts:?}"),
    }
}

/// True if the job knows the key.
pub fn knows(job: Job, name: &str) -> bool {
    find(name).is_some_and(|key| key.is_for(job))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said() -> Settings {
        let text = "nodes = \"my houses.csv\"\nnode = \"zip\"\ntarget = \"price\"\nknn = 5\nby = [\"lat\", \"lon\"]\n\
                    lambda = 0.25\nridge = 0.001\nstandardize = true\nseed = 3";
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_command_says_everything_once_and_in_words_of_a_shell() {
        assert_eq!(
            command(Job::Fit, &said()),
            "fedweave fit 'my houses.csv' --knn 5 --by lat,lon --node zip --target price --standardize --ridge 0.001 \
             --lambda 0.25 --seed 3"
        );
        let few =
            Settings::default().with("lambda", Value::Number(3.5e-24)).with("ridge", Value::Numbers(vec![1e-6, 2.0]));
        assert_eq!(command(Job::Fit, &few), "fedweave fit --ridge 1e-6,2 --lambda 3.5e-24");
        assert_eq!((quoted("it's"), quoted(""), quoted("a b")), ("'it'\\''s'".into(), "''".into(), "'a b'".into()));
    }

    #[test]
    fn python_says_the_same() {
        let text = python(&said(), Dialect::default());
        for words in [
            "frame = pd.read_csv(\"my houses.csv\", dtype={\"zip\": str})",
            "y = frame.pop(\"price\")",
            "GTVRegressor(knn(5, by=[\"lat\", \"lon\"]), node=\"zip\", lam=0.25, ridge=0.001, standardize=True, options={\"seed\": 3})",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
    }

    #[test]
    fn python_reads_other_tables_and_learns_graphs() {
        let text =
            "nodes = \"a.csv\"\ntarget = \"y\"\nfeatures = [\"x\"]\nmissing = \"mean\"\ngraph = \"learn\"\ndegree = 2";
        let written = Dialect { separator: ';', decimal_commas: true };
        let text = python(&toml::from_str(text).unwrap(), written);
        for words in [
            "from fedweave import GTVRegressor, learn_graph",
            "dtype={\"node\": str}, sep=\";\", decimal=\",\", na_values",
            "frame = frame[[\"node\", \"x\", \"y\"]]\nframe = frame.dropna(subset",
            "graph = learn_graph(GTVRegressor(node=\"node\"), frame, y, degree=2)\nmodel = GTVRegressor(graph, node=\"node\")",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
    }
}
