//! The same again by other means: what was said, as a command line and as Python.

use super::keys::{GROUPS, Job, Kind, find};
use super::settings::{Settings, Value};

/// A word as a shell wants it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,:=%+@".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

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
        Value::Number(number) => vec![number.to_string()],
        Value::Text(text) => vec![text.clone()],
        Value::Numbers(numbers) => numbers.iter().map(f64::to_string).collect(),
        Value::Texts(texts) => texts.clone(),
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
const ELSEWHERE: [&str; 18] = [
    "nodes",
    "edges",
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
/// Losses whose target is a class.
const CLASSES: [&str; 3] = ["logistic", "multinomial", "squared-hinge"];

/// The same fit in Python; missing values, one-hot columns and row weights are prepared as the command line does.
pub fn python(settings: &Settings) -> String {
    let text = |name: &str| settings.get(name).map(texts).and_then(|texts| texts.first().cloned());
    let list = |name: &str| settings.get(name).map(texts).unwrap_or_default();
    let class = text("loss").is_some_and(|loss| CLASSES.contains(&loss.as_str()));
    let estimator = if class { "GTVClassifier" } else { "GTVRegressor" };
    let (graph, imports) = graph(settings);
    let node = text("node").unwrap_or_else(|| "node".into());
    let mut lines =
        vec!["import pandas as pd".to_owned(), format!("from fedweave import {estimator}{imports}"), String::new()];
    let file = text("nodes").unwrap_or_default();
    let read = if file.ends_with(".parquet") || file.ends_with(".pq") { "read_parquet" } else { "read_csv" };
    lines.push(format!("frame = pd.{read}({file:?}, dtype={{{node:?}: str}})"));
    if text("missing").is_some_and(|rule| rule == "drop") {
        lines.push("frame = frame.dropna()".into());
    }
    let (one_hot, target) = (list("one-hot"), text("target").unwrap_or_default());
    lines.push(format!("y = frame.pop({target:?})"));
    let weight = text("weight").map(|weight| {
        lines.push(format!("weight = frame.pop({weight:?})"));
        ", sample_weight=weight"
    });
    let dropped = list("drop");
    if !list("features").is_empty() {
        let mut kept = vec![node.clone()];
        let more = list("by").into_iter().chain(list("features")).chain(one_hot.clone());
        more.for_each(|name| {
            if !kept.contains(&name) {
                kept.push(name)
            }
        });
        lines.push(format!("frame = frame[{kept:?}]"));
    } else if !dropped.is_empty() {
        lines.push(format!("frame = frame.drop(columns={dropped:?})"));
    }
    if !one_hot.is_empty() {
        lines.push(format!("frame = pd.get_dummies(frame, columns={one_hot:?}, drop_first=True, dtype=float)"));
    }
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

fn graph(settings: &Settings) -> (String, &'static str) {
    let words = |name: &str| settings.get(name).map(texts).unwrap_or_default();
    if let Some(edges) = words("edges").first() {
        return (format!("{edges:?}"), "");
    }
    let Some(k) = words("knn").first().cloned() else { return ("None".into(), "") };
    let metric = words("metric").first().map_or(String::new(), |metric| format!(", metric={metric:?}"));
    (format!("knn({k}, by={:?}{metric})", words("by")), ", knn")
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
        assert_eq!((quoted("it's"), quoted(""), quoted("a b")), ("'it'\\''s'".into(), "''".into(), "'a b'".into()));
    }

    #[test]
    fn python_says_the_same() {
        let text = python(&said());
        for words in [
            "frame = pd.read_csv(\"my houses.csv\", dtype={\"zip\": str})",
            "y = frame.pop(\"price\")",
            "GTVRegressor(knn(5, by=[\"lat\", \"lon\"]), node=\"zip\", lam=0.25, ridge=0.001, standardize=True, options={\"seed\": 3})",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
    }
}
