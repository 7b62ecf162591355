//! From a comparison to a fit: the command with all that was chosen.

use super::CompareResult;
use crate::request::again::{command, knows};
use crate::request::{Job, Settings, Value};

/// What a comparison was told that a fit is not, or that was chosen here.
const LEFT_OUT: [&str; 19] = [
    "split-file",
    "model",
    "validation",
    "split",
    "split-by",
    "time",
    "folds",
    "repeats",
    "lambda",
    "lambda-grid",
    "lambda-rule",
    "ridge",
    "tune",
    "tolerance",
    "out",
    "overwrite",
    "json",
    "verbose",
    "watch",
];
/// What a race finds by itself.
const FOUND_BY_RACE: [&str; 8] = [
    "penalty",
    "penalty-matrix",
    "block",
    "intercept-weight",
    "solver",
    "max-iterations",
    "step-ratio",
    "objective-decrease",
];
/// Rivals, and their names in a race.
const IN_A_RACE: [(&str, &str); 4] = [
    ("node effects", "node-effects:1"),
    ("mixed model", "mixed:1"),
    ("learnt coupling", "learnt:1"),
    ("boosted trees", "trunk:1"),
];

/// Commands that fit the network, and what had the smallest error if that is something else; none for rows in memory.
pub(super) fn commands(compared: &CompareResult) -> Vec<String> {
    let Some(first) = compared.outcomes.first().filter(|_| compared.input.is_of_files()) else { return Vec::new() };
    let settings = for_fit(&compared.request.naming.settings);
    let penalty = |name: &str| settings.clone().with("penalty", Value::Text(name.to_owned()));
    let settings = match compared.request.more_penalties.is_empty() {
        true => settings.clone(),
        false => penalty(compared.request.model.penalty.name()),
    };
    let coupled = |settings: &Settings, ridge: f64, lambda: f64| {
        let chosen = settings.clone().with("ridge", Value::Numbers(vec![ridge]));
        command(Job::Fit, &chosen.with("lambda", Value::Number(lambda)))
    };
    let linear = |ridge: f64, lambda: f64| coupled(&settings, ridge, lambda);
    let networked = &first.networked;
    let mut lines = vec![format!("to fit the network: {}", linear(networked.ridge, networked.lambda.unwrap_or(0.0)))];
    let best = compared.best().name;
    let raced = first.rivals.iter().find(|rival| rival.name == best && best == super::tuned::NAME);
    let recipe = raced.map(|rival| rival.chosen.as_str());
    let recipe = recipe.or(IN_A_RACE.iter().find(|(name, _)| *name == best).map(|(_, recipe)| *recipe));
    let words = match (best, recipe) {
        ("local", _) => Some(linear(first.local.ridge, 0.0)),
        _ if best.starts_with("networked, ") => first
            .more
            .iter()
            .find(|(name, _)| best.ends_with(name))
            .map(|(name, judged)| coupled(&penalty(name), judged.ridge, judged.lambda.unwrap_or(0.0))),
        _ if best.starts_with("--model") => first.rivals.iter().find(|rival| rival.name == best).map(|rival| {
            let lambda = rival.chosen.parse().unwrap_or_default();
            let own = settings.clone().without(&FOUND_BY_RACE).without(&["loss", "hub", "graph"]);
            let model = compared.request.naming.settings.get("model").cloned();
            let own = model.map_or(own.clone(), |model| own.with("model", model));
            command(Job::Fit, &own.with("lambda", Value::Number(lambda)))
        }),
        (_, Some(recipe)) => {
            let parts = recipe.split(',').map(str::to_owned).collect();
            let raced = settings.without(&FOUND_BY_RACE).with("recipe", Value::Texts(parts));
            Some(command(Job::Fit, &raced))
        }
        _ => None,
    };
    lines.extend(words.map(|words| format!("to fit what did best here ({best}): {words}")));
    lines
}

/// The settings of a comparison as those of a fit to all rows. Columns that told rows apart are still no features.
fn for_fit(settings: &Settings) -> Settings {
    let strange: Vec<&str> = settings.names().filter(|name| !knows(Job::Fit, name)).collect();
    let mut fit = settings.clone().without(&strange).without(&LEFT_OUT);
    let apart: Vec<String> = ["split-by", "time"]
        .iter()
        .filter_map(|key| match settings.get(key) {
            Some(Value::Text(column)) => Some(column.clone()),
            _ => None,
        })
        .collect();
    if !apart.is_empty() && !settings.has("features") {
        let mut dropped = match settings.get("drop") {
            Some(Value::Texts(columns)) => columns.clone(),
            _ => Vec::new(),
        };
        dropped.extend(apart);
        fit.set("drop", Value::Texts(dropped));
    }
    fit
}
