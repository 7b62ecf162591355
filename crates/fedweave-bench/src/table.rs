//! The results as Markdown.

use std::fmt::Write as _;

use crate::Line;
use crate::ours::Ours;
use crate::rivals::{Outcome, Raced, Report};
use crate::sets::SetName;

/// Everything about a set: summary, side by side, growth, details, versions, machine.
pub fn markdown(name: &str, lines: &[Line], machine: &str, versions: &[(String, Option<String>)]) -> String {
    let mut text = format!("Set `{name}`. {machine}.\n\n{}\n\n", software(versions));
    summary(&mut text, lines);
    if name == SetName::Growth.name() {
        growth(&mut text, lines);
    }
    if lines.iter().any(|line| !line.raced.is_empty()) {
        if name == SetName::Losses.name() {
            ratios(&mut text, lines);
        }
        side_by_side(&mut text, lines);
        details(&mut text, lines);
    }
    text.trim_end().to_owned()
}

fn software(versions: &[(String, Option<String>)]) -> String {
    let mut all = vec![format!("fedweave {}", env!("CARGO_PKG_VERSION"))];
    all.extend(versions.iter().map(|(name, version)| match version {
        Some(version) => format!("{name} {version}"),
        None => format!("{name} not installed"),
    }));
    all.join(", ")
}

fn summary(text: &mut String, lines: &[Line]) {
    head(
        text,
        &[
            "problem",
            "nodes",
            "dim",
            "edges",
            "tolerance",
            "fedweave",
            "runs",
            "certified gap",
            "with reading",
            "CPU",
            "peak memory",
            "fastest competitor",
            "its time",
            "ratio",
        ],
    );
    for line in lines {
        let o = &line.ours;
        let fastest = fastest(line);
        let (rival, time, ratio) = match fastest {
            Some((raced, report)) => (raced.title.clone(), seconds(report.seconds), ratio(report.seconds, o)),
            None if line.raced.is_empty() => ("not raced".into(), String::new(), String::new()),
            None => ("none reached the tolerance".into(), String::new(), String::new()),
        };
        let memory = o.peak_memory.map_or("?".into(), |m| format!("{m:.0} MiB"));
        row(
            text,
            &[
                line.case.name.clone(),
                o.nodes.to_string(),
                o.dim.to_string(),
                o.edges.to_string(),
                format!("{:.0e}", line.case.tolerance),
                our_cell(o),
                o.runs.to_string(),
                o.gap.map_or("none".into(), |gap| format!("{gap:.1e}")),
                seconds(o.with_reading),
                o.cpu.map_or("?".into(), seconds),
                memory,
                rival,
                time,
                ratio,
            ],
        );
    }
    text.push('\n');
}

/// Our time, or how far we came.
pub fn our_cell(ours: &Ours) -> String {
    match ours.converged {
        true => seconds(ours.seconds),
        false => format!("not reached in {}", seconds(ours.seconds)),
    }
}

fn fastest(line: &Line) -> Option<(&Raced, &Report)> {
    let reached = line.raced.iter().filter_map(|raced| match &raced.outcome {
        Outcome::Reached(report) => Some((raced, report)),
        _ => None,
    });
    reached.min_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds))
}

/// Times of sizes of one family, as factors from one to the next.
fn growth(text: &mut String, lines: &[Line]) {
    let family = |line: &Line| line.case.name.split("_n").next().unwrap_or_default().to_owned();
    let comparable = |a: &Line, b: &Line| {
        family(a) == family(b)
            && a.ours.dim == b.ours.dim
            && a.case.tolerance == b.case.tolerance
            && a.ours.nodes < b.ours.nodes
            && a.ours.converged
            && b.ours.converged
    };
    let pairs: Vec<_> = lines.windows(2).filter(|pair| comparable(&pair[0], &pair[1])).collect();
    if pairs.is_empty() {
        return;
    }
    head(text, &["from", "to", "nodes x", "edges x", "seconds x", "exponent"]);
    for pair in pairs {
        let factor = |f: fn(&Ours) -> f64| f(&pair[1].ours) / f(&pair[0].ours);
        let (nodes, edges, time) = (factor(|o| o.nodes as f64), factor(|o| o.edges as f64), factor(|o| o.seconds));
        let exponent = time.ln() / nodes.ln();
        let cells = [nodes, edges, time, exponent].map(|v| format!("{v:.2}"));
        row(text, &[&[pair[0].case.name.clone(), pair[1].case.name.clone()], &cells[..]].concat());
    }
    text.push('\n');
}

/// The smallest and the median ratio to each competitor, and to the fastest on each problem.
fn ratios(text: &mut String, lines: &[Line]) {
    head(text, &["competitor", "reached the tolerance", "smallest ratio", "where", "median ratio"]);
    let converged = || lines.iter().filter(|line| line.ours.converged);
    let mut titles: Vec<&str> = lines.iter().flat_map(|line| line.raced.iter().map(|r| r.title.as_str())).collect();
    titles.sort_unstable();
    titles.dedup();
    let time = |line: &Line, title: &str| {
        let raced = line.raced.iter().find(|raced| raced.title == title)?;
        if let Outcome::Reached(report) = &raced.outcome { Some(report.seconds) } else { None }
    };
    for title in titles {
        let raced = |line: &&Line| {
            let there = |raced: &&Raced| raced.title == title && !matches!(raced.outcome, Outcome::NotForThis);
            line.raced.iter().any(|raced| there(&raced))
        };
        let of = converged().filter(raced).map(|line| (line.case.name.as_str(), time(line, title), &line.ours));
        ratio_row(text, title, of.collect());
    }
    let fastest = converged().map(|line| (line.case.name.as_str(), fastest(line).map(|f| f.1.seconds), &line.ours));
    ratio_row(text, "the fastest of them", fastest.collect());
    text.push('\n');
}

/// What did not reach the tolerance counts as infinitely slow, and is counted.
fn ratio_row(text: &mut String, title: &str, times: Vec<(&str, Option<f64>, &Ours)>) {
    let of = |seconds: Option<f64>, ours: &Ours| seconds.map_or(f64::INFINITY, |s| s / ours.seconds);
    let mut all: Vec<(f64, &str)> = times.iter().map(|(name, seconds, ours)| (of(*seconds, ours), *name)).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some(&(smallest, place)) = all.first() else { return };
    let show = |ratio: f64| if ratio.is_finite() { format!("{ratio:.2}x") } else { "-".to_owned() };
    let reached = times.iter().filter(|(_, seconds, _)| seconds.is_some()).count();
    let (count, median) = (format!("{reached} of {}", times.len()), all[(all.len() - 1) / 2].0);
    row(text, &[title.to_owned(), count, show(smallest), place.to_owned(), show(median)]);
}

fn side_by_side(text: &mut String, lines: &[Line]) {
    text.push_str("Seconds, and how many times ours:\n\n");
    let names: Vec<&str> = lines.iter().map(|line| line.case.name.as_str()).collect();
    head(text, &[&["competitor"], &names[..]].concat());
    let ours = lines.iter().map(|line| our_cell(&line.ours));
    row(text, &std::iter::once("**Fedweave**".to_owned()).chain(ours).collect::<Vec<_>>());
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for raced in lines.iter().flat_map(|line| &line.raced) {
        if !seen.iter().any(|(name, _)| *name == raced.name) {
            seen.push((&raced.name, &raced.title));
        }
    }
    for (name, title) in seen {
        let cells = lines.iter().map(|line| {
            let raced = line.raced.iter().find(|raced| raced.name == name);
            raced.map_or_else(String::new, |raced| cell(&raced.outcome, &line.ours, line.best))
        });
        row(text, &std::iter::once(title.to_owned()).chain(cells).collect::<Vec<_>>());
    }
    text.push('\n');
}

/// A competitor's time beside ours.
pub fn cell(outcome: &Outcome, ours: &Ours, best: f64) -> String {
    let at = |report: &Report| report.objective.map_or(String::new(), |f| format!(", at {}", distance(f, best)));
    match outcome {
        Outcome::Reached(report) => format!("{} ({})", seconds(report.seconds), ratio(report.seconds, ours)),
        Outcome::Limit(limit, report) => format!("> {limit} s{}", report.as_ref().map_or(String::new(), at)),
        Outcome::Inaccurate(report) => format!("inaccurate after {}{}", seconds(report.seconds), at(report)),
        Outcome::Failed(reason) => format!("failed: {}", reason.replace('|', "/")),
        Outcome::NotInstalled => "not installed".into(),
        Outcome::NotForThis => "–".into(),
    }
}

fn details(text: &mut String, lines: &[Line]) {
    text.push_str("Every race; `own` is what the solver inside a modelling layer says it took itself:\n\n");
    head(
        text,
        &["problem", "competitor", "seconds", "CPU seconds", "own seconds", "above best", "iterations", "settings"],
    );
    for line in lines {
        for raced in &line.raced {
            let Some(report) = raced.outcome.report() else { continue };
            let settings: Vec<String> = report.settings.iter().map(|(key, value)| format!("{key} {value}")).collect();
            row(
                text,
                &[
                    line.case.name.clone(),
                    raced.title.clone(),
                    format!("{:.4}", report.seconds),
                    format!("{:.4}", report.cpu_seconds),
                    report.own_seconds.map_or(String::new(), |s| format!("{s:.4}")),
                    report.objective.map_or("?".into(), |f| distance(f, line.best)),
                    report.iterations.map_or(String::new(), |k| k.to_string()),
                    if settings.is_empty() { "default".into() } else { settings.join(", ") },
                ],
            );
        }
    }
    text.push('\n');
}

/// Relative distance of an objective from the best.
fn distance(objective: f64, best: f64) -> String {
    format!("{:.1e}", (objective - best).max(0.0) / best.abs().max(1.0))
}

/// How many times our seconds; where we did not get there, there is nothing to compare.
fn ratio(theirs: f64, ours: &Ours) -> String {
    if !ours.converged {
        return "ours not reached".into();
    }
    let ratio = theirs / ours.seconds;
    if ratio >= 10.0 { format!("{ratio:.0}x") } else { format!("{ratio:.2}x") }
}

/// Three digits.
fn seconds(s: f64) -> String {
    let digits = (2.0 - s.max(1e-9).log10().floor()).clamp(0.0, 5.0) as usize;
    format!("{s:.digits$} s")
}

fn head(text: &mut String, cells: &[&str]) {
    let _ = writeln!(text, "| {} |\n|{}", cells.join(" | "), "---|".repeat(cells.len()));
}

fn row(text: &mut String, cells: &[String]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}
