//! What is said about nodes that asked: on the terminal, as JSON, in the run directory, in the report.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use fedweave::graph::Graph;
use fedweave::split::Part;
use fedweave_io::RunWriter;
use fedweave_report as report;
use fedweave_report::Report;
use serde_json::{Value, json};

use super::{Ask, Lesson, Taught};
use crate::config::RawConfig;
use crate::models;
use crate::predict::Model;
use crate::story::{
    command, draw, error_name, loss_name, number, parameter_names, row_notices, shown, split_words, version,
    write_report,
};

/// So many nodes and teachers are named on the terminal.
const NAMED: usize = 10;
const TEACHERS: usize = 3;

impl Ask {
    fn error_name(&self) -> &'static str {
        match &self.taught {
            Taught::Parameters(loss, _) => error_name(loss),
            Taught::Models(_, task, _) => models::error_name(*task),
        }
    }

    /// The loss, or the class of models.
    fn kind(&self) -> (Option<String>, Option<String>) {
        match &self.taught {
            Taught::Parameters(loss, _) => (Some(loss_name(loss)), None),
            Taught::Models(spec, ..) => (None, Some(spec.to_string())),
        }
    }

    fn all_notices(&self) -> Vec<String> {
        let worse = self.lessons.iter().filter(|l| l.last > l.first).count();
        let grew = format!(
            "{worse} node(s) ended with a larger loss on their own rows than they began with: give a smaller --eta"
        );
        row_notices(&self.input).into_iter().chain(self.notices.clone()).chain((worse > 0).then_some(grew)).collect()
    }

    fn sent(&self) -> (u64, u64) {
        (self.lessons.iter().map(|l| l.messages).sum(), self.lessons.iter().map(|l| l.bytes).sum())
    }

    fn share(&self, rounds: usize) -> f64 {
        rounds as f64 / self.asking.rounds as f64
    }
}

/// The one JSON object of `--json` and `summary.json`.
pub fn summary(ask: &Ask, raw: &RawConfig, seconds: f64) -> Value {
    let ((loss, model), (messages, bytes), held) = (ask.kind(), ask.sent(), ask.held_out.as_ref());
    json!({
        "status": "done",
        "solver": "active sampling",
        "loss": loss,
        "model": model,
        "nodes": ask.input.names.len(),
        "askers": ask.lessons.len(),
        "candidates": ask.asking.candidates,
        "rounds": ask.asking.rounds,
        "eta": ask.eta,
        "seed": ask.asking.seed,
        "rows": ask.rows_trained,
        "messages": messages,
        "bytes": bytes,
        "seconds": seconds,
        "train_error": ask.train.mean(),
        "validation_error": held.and_then(|h| h.validation.mean()),
        "local_error": held.and_then(|h| h.local.mean()),
        "global_error": held.and_then(|h| h.global.as_ref()?.mean()),
        "error": ask.error_name(),
        "split": split_words(ask.split.as_ref(), raw.split_by.as_deref()),
        "notices": ask.all_notices(),
        "version": env!("CARGO_PKG_VERSION"),
    })
}

/// A few lines for people.
pub fn words(ask: &Ask, raw: &RawConfig, seconds: f64, written: Option<&Path>) -> String {
    let (loss, model) = ask.kind();
    let kind = loss.map(|l| format!("{l} loss")).or(model).unwrap_or_default();
    let (messages, bytes) = ask.sent();
    let mut lines = vec![format!(
        "{} nodes, {} rows; {} of them asked {} others in each of {} rounds",
        ask.input.names.len(),
        ask.rows_trained,
        ask.lessons.len(),
        ask.asking.candidates,
        ask.asking.rounds
    )];
    lines.push(format!("{kind}, eta {}: {messages} messages, {bytes} bytes, {seconds:.2} s", number(ask.eta)));
    lines.extend(ask.all_notices().iter().map(|notice| format!("note: {notice}")));
    lines.extend(ask.lessons.iter().take(NAMED).map(|lesson| learnt_from(ask, lesson)));
    if ask.lessons.len() > NAMED {
        lines.push(format!("  ... and {} more; teachers.csv names all", ask.lessons.len() - NAMED));
    }
    lines.push(format!("{}: {} on training rows", ask.error_name(), shown(ask.train.mean())));
    if let Some(held) = &ask.held_out {
        let (validation, local) = (shown(held.validation.mean()), shown(held.local.mean()));
        let global = held.global.as_ref().map(|g| format!(", global {}", shown(g.mean()))).unwrap_or_default();
        lines.push(format!("  held-out rows: after asking {validation}, local-only {local}{global}"));
        lines.push(format!("  split: {}", split_words(ask.split.as_ref(), raw.split_by.as_deref())));
    }
    lines.push(match written {
        Some(path) => format!("written to {0}, see {0}/report.html", path.display()),
        None => "nothing written; --out DIR keeps models, teachers and a report".into(),
    });
    lines.join("\n")
}

fn learnt_from(ask: &Ask, lesson: &Lesson) -> String {
    let name = |i: usize| &ask.input.names[i];
    let named = |t: &(usize, usize, f64)| format!("{} {:.0} %", name(t.0), 100.0 * ask.share(t.1));
    let mut words: Vec<String> = lesson.teachers.iter().take(TEACHERS).map(named).collect();
    if lesson.teachers.len() > TEACHERS {
        words.push(format!("{} more", lesson.teachers.len() - TEACHERS));
    }
    format!("  {} learnt from {}", name(lesson.node), words.join(", "))
}

/// Writes the run directory.
pub fn write_run(ask: &Ask, raw: &RawConfig, seconds: f64, writer: RunWriter) -> Result<PathBuf> {
    let name = |i: usize| ask.input.names[i].clone();
    let model = match &ask.taught {
        Taught::Parameters(loss, w) => {
            let askers: Vec<String> = ask.lessons.iter().map(|l| name(l.node)).collect();
            writer.write_parameters(&parameter_names(loss, &ask.input), &askers, w)?;
            Model::of(loss, &ask.input)
        }
        Taught::Models(_, _, file) => {
            writer.write_json("models.json", file)?;
            Model { loss: models::LOSS.into(), labels: Default::default(), encoding: ask.input.encoding.clone() }
        }
    };
    writer.write_json("encoding.json", &model)?;
    writer.write_text("config.toml", &raw.to_toml()?)?;
    let teachers = ask
        .lessons
        .iter()
        .flat_map(|l| l.teachers.iter().map(|t| [name(l.node), name(t.0), t.1.to_string(), t.2.to_string()]));
    writer.write_csv("teachers.csv", &["node", "candidate", "rounds", "reward"], teachers)?;
    if ask.lessons.iter().any(|l| !l.told.is_empty()) {
        let round = |l: &Lesson, k: usize| {
            let (chosen, asked) = &l.told[k];
            let row = |(c, reward): &(usize, f64)| {
                let taken = if c == chosen { "1" } else { "0" };
                [name(l.node), (k + 1).to_string(), name(*c), reward.to_string(), taken.into()]
            };
            asked.iter().map(row).collect::<Vec<_>>()
        };
        let rows = ask.lessons.iter().flat_map(|l| (0..l.told.len()).flat_map(move |k| round(l, k)));
        writer.write_csv("choices.csv", &["node", "round", "candidate", "reward", "taken"], rows)?;
    }
    let held = ask.held_out.as_ref();
    let errors = ask.lessons.iter().map(|l| {
        let i = l.node;
        let [train, validation, local] =
            [ask.train.by_node[i], held.and_then(|h| h.validation.by_node[i]), held.and_then(|h| h.local.by_node[i])]
                .map(|v| v.map_or(String::new(), |v| v.to_string()));
        [name(i), ask.input.data.rows(i).len().to_string(), train, validation, local]
    });
    writer.write_csv("errors.csv", &["node", "rows", "train_error", "validation_error", "local_error"], errors)?;
    writer.write_json("summary.json", &summary(ask, raw, seconds))?;
    write_report(&writer, &report_of(ask, raw, seconds)?)?;
    Ok(writer.finish()?)
}

/// Edges between those who asked and their teachers: shares of rounds, both ways together, and whether one of them is
/// more than chance.
fn edges(ask: &Ask) -> BTreeMap<(usize, usize), (f64, bool)> {
    let chance = 1.0 / (ask.input.names.len() - 1) as f64;
    let mut edges = BTreeMap::new();
    for lesson in &ask.lessons {
        for &(teacher, rounds, _) in &lesson.teachers {
            let ends = (lesson.node.min(teacher), lesson.node.max(teacher));
            let edge = edges.entry(ends).or_insert((0.0, false));
            *edge = (edge.0 + ask.share(rounds), edge.1 || ask.share(rounds) > chance);
        }
    }
    edges
}

fn report_of(ask: &Ask, raw: &RawConfig, seconds: f64) -> Result<Report> {
    let (input, held, edges) = (&ask.input, ask.held_out.as_ref(), edges(ask));
    let (loss, model) = ask.kind();
    let parameters = match &ask.taught {
        Taught::Parameters(loss, w) => Some((parameter_names(loss, input), w)),
        Taught::Models(..) => None,
    };
    let target = raw.target.clone().unwrap_or_default();
    let name = |i: usize| input.names[i].clone();
    let lesson = |l: &Lesson| report::Lesson {
        node: name(l.node),
        reward: l.first - l.last,
        teachers: l.teachers.iter().map(|t| (name(t.0), ask.share(t.1))).collect(),
    };
    let mut report = Report {
        title: raw.title.clone().unwrap_or_else(|| format!("{target}: who learnt from whom")),
        version: version(),
        command: command(),
        what: report::What {
            loss: loss.unwrap_or_default(),
            models: model,
            solver: "active sampling".into(),
            dim: parameters.as_ref().map_or(0, |p| p.1.cols()),
            nodes: input.names.len(),
            edges: edges.len(),
            rows: ask.rows_trained,
            rows_held_out: held.map_or(0, |h| h.split.part.iter().filter(|p| **p != Part::Train).count()),
            features: parameters.as_ref().map_or_else(|| input.features.clone(), |p| p.0.clone()),
            target: raw.target.clone(),
            split: split_words(ask.split.as_ref(), raw.split_by.as_deref()),
            ..Default::default()
        },
        outcome: report::Outcome {
            status: report::Status::Finished,
            iterations: ask.asking.rounds,
            seconds: Some(seconds),
            error_name: ask.error_name().into(),
            train_error: ask.train.mean(),
            validation_error: held.and_then(|h| h.validation.mean()),
            local_error: held.and_then(|h| h.local.mean()),
            global_error: held.and_then(|h| h.global.as_ref()?.mean()),
            ..Default::default()
        },
        notices: ask.all_notices(),
        sources: raw.source.iter().cloned().collect(),
        asking: Some(report::Asking {
            candidates: ask.asking.candidates,
            rounds: ask.asking.rounds,
            lessons: ask.lessons.iter().map(lesson).collect(),
        }),
        ..Report::default()
    };
    let row: BTreeMap<usize, usize> = ask.lessons.iter().enumerate().map(|(k, l)| (l.node, k)).collect();
    let node = |i: usize| report::Node {
        train_error: ask.train.by_node[i],
        validation_error: held.and_then(|h| h.validation.by_node[i]),
        local_error: held.and_then(|h| h.local.by_node[i]),
        global_error: held.and_then(|h| h.global.as_ref()?.by_node[i]),
        parameters: parameters.as_ref().and_then(|p| Some(p.1.row(*row.get(&i)?).to_vec())).unwrap_or_default(),
        ..Default::default()
    };
    let triples: Vec<_> = edges.iter().map(|((i, j), (share, _))| (*i, *j, *share)).collect();
    let strong: Vec<bool> = edges.values().map(|e| e.1).collect();
    // Edges of a graph are in the order of the map: by their ends.
    draw(&mut report, input, &Graph::new(input.names.len(), &triples)?, node, |e| !strong[e]);
    Ok(report)
}
