//! What is said about a fit: on the terminal, as JSON, in the run directory, in the report.

use std::path::{Path, PathBuf};

use anyhow::Result;
use fedweave::graph::Graph;
use fedweave::graph::partition::Partition;
use fedweave::loss::{Family, LossSpec};
use fedweave::solve::{RoundRecord, Status};
use fedweave::split::{Part, Share, SplitRule, SplitSpec};
use fedweave::tune::{Rule, Tuning};
use fedweave_io::{Input, RunWriter};
use fedweave_report as report;
use fedweave_report::{Report, render};
use serde_json::{Value, json};

use crate::fit::{Fit, checkpoint};
use crate::plan::Plan;
use crate::predict::Model;

/// Reports draw at most this many nodes; larger networks are sampled evenly.
const NODES_DRAWN: usize = 4000;

/// The one JSON object of `--json` and `summary.json`.
pub fn summary(fit: &Fit) -> Value {
    let s = &fit.solution;
    let notices = &fit.input.notices;
    json!({
        "status": status_name(s.status),
        "solver": s.choice.method,
        "solver_reason": s.choice.reason,
        "nodes": fit.input.names.len(),
        "edges": fit.input.graph.edges(),
        "rows": fit.rows_trained,
        "dim": s.w.cols(),
        "lambda": fit.lambda,
        "lambda_notice": end_of_tuning(fit),
        "penalty": fit.penalty,
        "loss": loss_name(&fit.loss),
        "objective": s.objective,
        "certified_gap": s.certified_gap,
        "kkt_residual": s.kkt.residual(),
        "tolerance": fit.plan.settings.tolerance,
        "iterations": s.iterations,
        "messages": fit.traffic.as_ref().map(|t| t.last().messages),
        "bytes": fit.traffic.as_ref().map(|t| t.last().bytes),
        "flops": fit.traffic.as_ref().map(|t| t.last().flops),
        "seconds": fit.seconds,
        "clusters": fit.clusters.partition.len(),
        "saturated_edges": fit.clusters.saturated.iter().filter(|s| **s).count(),
        "train_error": fit.train.mean(),
        "validation_error": fit.held_out.as_ref().and_then(|h| h.validation.mean()),
        "local_error": fit.held_out.as_ref().and_then(|h| h.local.mean()),
        "global_error": fit.held_out.as_ref().and_then(|h| h.global.as_ref()?.mean()),
        "train_accuracy": fit.accuracy,
        "error": error_name(&fit.loss),
        "split": split_words(fit.plan.split.as_ref(), fit.plan.raw.split_by.as_deref()),
        "step_ratio": s.step_ratio,
        "radius": fedweave::certificate::RADIUS * (1.0 + s.w.max_row_norm()),
        "nodes_without_rows": notices.nodes_without_rows.len(),
        "nodes_without_edges": notices.nodes_without_edges.len(),
        "liar_bound": fit.worst_liar.and_then(|w| w.ok()).map(|(_, bound)| bound),
        "undetermined_nodes": notices.nodes_with_neither,
        "rows_dropped": notices.rows_dropped,
        "cells_filled": notices.cells_filled,
        "version": env!("CARGO_PKG_VERSION"),
    })
}

/// A few lines for people.
pub fn words(fit: &Fit, written: Option<&Path>) -> String {
    let s = &fit.solution;
    let (n, e) = (fit.input.names.len(), fit.input.graph.edges());
    let mut lines = vec![format!("{n} nodes, {e} edges, {} rows, {} parameters a node", fit.rows_trained, s.w.cols())];
    lines.extend(notices(&fit.input).iter().map(|notice| format!("note: {notice}")));
    lines.push(format!(
        "{} loss, {} penalty, lambda {}{}",
        loss_name(&fit.loss),
        fit.penalty,
        number(fit.lambda),
        chosen(fit)
    ));
    lines.extend(end_of_tuning(fit).map(|words| format!("note: {words}")));
    let status = status_name(s.status);
    lines.push(format!(
        "{status}: objective {} after {} iterations, {:.2} s",
        number(s.objective),
        s.iterations,
        fit.seconds
    ));
    lines.extend(fit.traffic.as_ref().map(|t| sent(t.last())));
    lines.push(match s.certified_gap {
        Some(gap) => format!("certified: no models have an objective lower than this by more than {gap:.1e}"),
        None => format!("no certificate; KKT residual {:.1e}", s.kkt.residual()),
    });
    lines.push(clusters_in_words(&fit.clusters.partition.sizes()));
    lines.push(format!("{}: {} on training rows", error_name(&fit.loss), shown(fit.train.mean())));
    if let Some(held) = &fit.held_out {
        let global = held.global.as_ref().and_then(|g| g.mean());
        let (networked, local) = (shown(held.validation.mean()), shown(held.local.mean()));
        let alone = fit.plan.rounds.as_ref().is_some_and(|r| !r.is_coupled());
        let ours = if alone { s.choice.method.as_str() } else { "networked" };
        lines.push(format!("  held-out rows: {ours} {networked}, local-only {local}, global {}", shown(global)));
        lines.push(format!("  split: {}", split_words(fit.plan.split.as_ref(), fit.plan.raw.split_by.as_deref())));
    }
    lines.extend(liars_in_words(fit));
    if let (Some(path), true) = (written, s.status != Status::Converged && fit.traffic.is_none()) {
        let dir = path.display();
        lines.push(format!("to go on: fedweave fit --resume {dir} --max-iterations N --out {dir} --overwrite"));
    }
    lines.push(match written {
        Some(path) => format!("written to {0}, see {0}/report.html", path.display()),
        None => "nothing written; --out DIR keeps parameters, clusters and a report".into(),
    });
    lines.join("\n")
}

/// What one lying node could do to the others in a federation.
fn liars_in_words(fit: &Fit) -> Option<String> {
    Some(match fit.worst_liar? {
        Ok((_, 0.0)) => return None,
        Ok((node, bound)) => {
            let name = &fit.input.names[node];
            format!("one lying node could move all other models together by at most {} (`{name}`)", number(bound))
        }
        Err(why) => format!("no bound on what one lying node could do: {why}"),
    })
}

/// What a solver that exchanges messages sent.
fn sent(record: &RoundRecord) -> String {
    let RoundRecord { round, messages, bytes, .. } = record;
    format!("sent: {messages} messages, {bytes} bytes in {round} rounds")
}

/// Six digits, in powers of ten where that is shorter.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) { format!("{value:.6e}") } else { format!("{value:.6}") }
}

/// How many models are shared, and how many are not.
pub fn clusters_in_words(sizes: &[usize]) -> String {
    let shared = sizes.iter().filter(|s| **s > 1).count();
    let alone = sizes.len() - shared;
    let members: usize = sizes.iter().filter(|s| **s > 1).sum();
    format!("{} cluster(s): {members} node(s) share {shared} model(s), {alone} node(s) have their own", sizes.len())
}

fn chosen(fit: &Fit) -> &'static str {
    if fit.input.graph.edges() == 0 {
        " (without edges it has no effect)"
    } else if fit.tuning.is_some() {
        " (chosen on held-out rows, then fitted to all rows)"
    } else {
        ""
    }
}

pub fn shown(value: Option<f64>) -> String {
    value.map_or("-".into(), number)
}

/// Writes the run directory.
pub fn write_run(fit: &Fit, writer: RunWriter) -> Result<PathBuf> {
    write_models(fit, &writer)?;
    writer.write_json("summary.json", &summary(fit))?;
    if fit.solution.status != Status::Converged && fit.traffic.is_none() {
        writer.write_bytes("checkpoint.bin", &checkpoint(fit).to_bytes())?;
    }
    write_report(&writer, &report_of(fit))?;
    Ok(writer.finish()?)
}

/// Writes models, clusters, history and how to do it again.
pub fn write_models(fit: &Fit, writer: &RunWriter) -> Result<()> {
    let (input, s) = (&fit.input, &fit.solution);
    writer.write_parameters(&parameter_names(&fit.loss, &fit.input), &input.names, &fit.parameters)?;
    let cluster: Vec<usize> = (0..input.names.len()).map(|i| fit.clusters.partition.part(i) + 1).collect();
    writer.write_clusters(&input.names, &cluster)?;
    let mut header = vec![
        "iteration",
        "objective",
        "certified_gap",
        "kkt_residual",
        "stationarity",
        "feasibility",
        "complementarity",
        "step_ratio",
    ];
    header.extend(fit.traffic.iter().flat_map(|_| ["rounds", "messages", "bytes", "flops"]));
    let traffic = |k: usize| match &fit.traffic {
        Some(t) => {
            let t = &t.records[k];
            vec![t.round.to_string(), t.messages.to_string(), t.bytes.to_string(), t.flops.to_string()]
        }
        None => Vec::new(),
    };
    let history = s.history.iter().enumerate().map(|(place, r)| {
        let gap = r.certified_gap.map_or(String::new(), |g| g.to_string());
        let k = &r.kkt;
        let numbers =
            [k.residual(), k.stationarity, k.feasibility, k.complementarity, r.step_ratio].map(|v| v.to_string());
        [vec![r.iteration.to_string(), r.objective.to_string(), gap], numbers.to_vec(), traffic(place)].concat()
    });
    writer.write_csv("history.csv", &header, history)?;
    if let Some(tuning) = &fit.tuning {
        let rows = tuning.tried.iter().map(|t| {
            [Some(t.lambda), t.train.mean(), t.validation.mean(), t.validation.standard_error()]
                .map(|v| v.map_or(String::new(), |v| v.to_string()))
        });
        writer.write_csv("lambda.csv", &["lambda", "train_error", "validation_error", "standard_error"], rows)?;
    }
    writer.write_json("encoding.json", &Model::of(&fit.loss, &fit.input))?;
    writer.write_text("config.toml", &fit.plan.raw.to_toml()?)?;
    Ok(())
}

/// Writes `report.json` and the page made from it.
pub fn write_report(writer: &RunWriter, report: &Report) -> Result<()> {
    writer.write_json("report.json", report)?;
    writer.write_text("report.html", &render(report)?)?;
    Ok(())
}

/// Names of the parameters of a node; several classes have one set each.
pub fn parameter_names(loss: &LossSpec, input: &Input) -> Vec<String> {
    match loss {
        LossSpec::Same(Family::Multinomial { .. }) => {
            let of_class =
                |class: &String| input.features.iter().map(move |f| format!("{class}:{f}")).collect::<Vec<_>>();
            input.classes.iter().flat_map(of_class).collect()
        }
        _ => input.features.clone(),
    }
}

/// The report of a fit.
pub fn report_of(fit: &Fit) -> Report {
    let (input, s) = (&fit.input, &fit.solution);
    let held = fit.held_out.as_ref();
    let mut report = Report {
        title: fit.plan.raw.title.clone().unwrap_or_else(|| title(&fit.plan.raw.target, input.names.len())),
        version: version(),
        command: command(),
        what: what(fit),
        outcome: report::Outcome {
            status: report_status(s.status),
            objective: s.objective,
            certified_gap: s.certified_gap,
            kkt_residual: Some(s.kkt.residual()),
            tolerance: fit.plan.settings.tolerance,
            iterations: s.iterations,
            seconds: Some(fit.seconds),
            error_name: error_name(&fit.loss).into(),
            train_error: fit.train.mean(),
            validation_error: held.and_then(|h| h.validation.mean()),
            local_error: held.and_then(|h| h.local.mean()),
            global_error: held.and_then(|h| h.global.as_ref()?.mean()),
            baseline_error: None,
        },
        notices: notices(input),
        sources: fit.plan.raw.source.iter().cloned().collect(),
        history: s
            .history
            .iter()
            .enumerate()
            .map(|(k, r)| report::Step {
                iteration: r.iteration,
                objective: r.objective,
                gap: r.certified_gap,
                kkt: Some(r.kkt.residual()),
                bytes: fit.traffic.as_ref().map(|t| t.records[k].bytes),
            })
            .collect(),
        lambda_curve: lambda_curve(fit),
        ..Report::default()
    };
    draw(
        &mut report,
        input,
        &input.graph,
        |i| report::Node {
            cluster: Some(fit.clusters.partition.part(i)),
            train_error: fit.train.by_node[i],
            validation_error: held.and_then(|h| h.validation.by_node[i]),
            local_error: held.and_then(|h| h.local.by_node[i]),
            global_error: held.and_then(|h| h.global.as_ref()?.by_node[i]),
            parameters: fit.parameters.row(i).to_vec(),
            ..Default::default()
        },
        |e| !fit.clusters.fused[e],
    );
    let (sizes, models) = (fit.clusters.partition.sizes(), &fit.clusters.models);
    let cluster = |(c, &size): (usize, &usize)| report::Cluster { size, model: models.row(c).to_vec() };
    report.clusters = sizes.iter().enumerate().map(cluster).collect();
    report
}

/// Every how manyth of `n` nodes is drawn.
pub fn drawing_step(n: usize) -> usize {
    n.div_ceil(NODES_DRAWN).max(1)
}

/// Puts nodes, edges and coordinates into a report, sampled if there are too many to draw.
pub fn draw(
    report: &mut Report,
    input: &Input,
    graph: &Graph,
    node: impl Fn(usize) -> report::Node,
    differs: impl Fn(usize) -> bool,
) {
    let n = input.names.len();
    let step = drawing_step(n);
    if step > 1 {
        report.notices.push(format!("the picture and the table show every {step}th of the {n} nodes"));
    }
    let geographic = input.coordinates.as_ref().map(|c| c.geographic);
    report.coordinates = match (geographic, input.coordinates.as_ref().map(|c| c.values.cols())) {
        (Some(true), _) => report::Coordinates::Geographic,
        (Some(false), Some(2)) => report::Coordinates::Plane,
        _ => report::Coordinates::None,
    };
    let place = |i: usize| -> (Option<f64>, Option<f64>) {
        let Some(c) = input.coordinates.as_ref().filter(|c| c.values.cols() == 2) else { return (None, None) };
        let row = c.values.row(i);
        let known = |v: f64| v.is_finite().then_some(v);
        // Latitude comes first by custom, unless the columns say otherwise.
        let first_is_x =
            !c.geographic || c.names[0].to_lowercase().starts_with("lo") || c.names[0].to_lowercase().starts_with("ln");
        if first_is_x { (known(row[0]), known(row[1])) } else { (known(row[1]), known(row[0])) }
    };
    report.nodes = (0..n)
        .step_by(step)
        .map(|i| {
            let (x, y) = place(i);
            report::Node { name: input.names[i].clone(), rows: input.data.rows(i).len(), x, y, ..node(i) }
        })
        .collect();
    report.edges = (0..graph.edges())
        .filter_map(|e| {
            let (i, j) = graph.nodes_of(e);
            let drawn = i % step == 0 && j % step == 0;
            drawn.then(|| report::Edge { i: i / step, j: j / step, weight: graph.weight(e), differs: differs(e) })
        })
        .collect();
}

fn what(fit: &Fit) -> report::What {
    report::What {
        models: None,
        loss: loss_name(&fit.loss),
        penalty: fit.penalty.into(),
        lambda: fit.lambda,
        solver: fit.solution.choice.method.clone(),
        dim: fit.solution.w.cols(),
        nodes: fit.input.names.len(),
        edges: fit.input.graph.edges(),
        rows: fit.rows_trained,
        rows_held_out: fit.held_out.as_ref().map_or(0, |h| h.split.part.iter().filter(|p| **p != Part::Train).count()),
        refitted: fit.tuning.is_some(),
        features: parameter_names(&fit.loss, &fit.input),
        target: fit.plan.raw.target.clone(),
        split: split_words(fit.plan.split.as_ref(), fit.plan.raw.split_by.as_deref()),
    }
}

fn lambda_curve(fit: &Fit) -> Option<report::LambdaCurve> {
    let tuning = fit.tuning.as_ref()?;
    let point = |t: &fedweave::tune::Tried| report::LambdaPoint {
        lambda: t.lambda,
        train: t.train.mean(),
        validation: t.validation.mean(),
        standard_error: t.validation.standard_error(),
    };
    let rule = match fit.plan.rule {
        Rule::Minimum => "smallest error on held-out rows",
        Rule::OneStandardError => {
            "largest lambda whose error exceeds the smallest by at most one standard error of the difference"
        }
    };
    Some(report::LambdaCurve {
        points: tuning.tried.iter().map(point).collect(),
        chosen: fit.lambda,
        rule: end_of_tuning(fit).map_or(rule.into(), |words| format!("{rule} ({words})")),
    })
}

fn end_of_tuning(fit: &Fit) -> Option<String> {
    end_of_grid(fit.tuning.as_ref()?, &fit.plan)
}

/// What a choice at the end of the grid leaves open.
pub fn end_of_grid(tuning: &Tuning, plan: &Plan) -> Option<String> {
    let lambda = number(tuning.best().lambda);
    if tuning.at_low_end() {
        return Some(format!("the chosen lambda {lambda} is the smallest tried; a smaller one might do better"));
    }
    // The default grid of a norm begins where models agree: beyond, nothing changes.
    let complete = plan.raw.lambda_grid.is_none() && plan.penalty_is_norm();
    let largest = || format!("the chosen lambda {lambda} is the largest tried; a larger one might do better");
    (tuning.at_high_end() && !complete).then(largest)
}

/// Things the user should know about the data.
pub fn notices(input: &Input) -> Vec<String> {
    let n = &input.notices;
    let mut all = Vec::new();
    let components = Partition::components(&input.graph).len();
    let mut say = |count: usize, text: String| {
        if count > 0 {
            all.push(text);
        }
    };
    say(
        n.nodes_without_rows.len(),
        format!("{} node(s) have no rows and learn from their neighbours alone", n.nodes_without_rows.len()),
    );
    say(n.nodes_without_edges.len(), format!("{} node(s) have no edges and learn alone", n.nodes_without_edges.len()));
    let neither: Vec<&str> = n.nodes_with_neither.iter().take(5).map(String::as_str).collect();
    say(
        n.nodes_with_neither.len(),
        format!(
            "{} node(s) have neither rows nor edges; their models are undetermined and set to zero: {}",
            n.nodes_with_neither.len(),
            neither.join(", ")
        ),
    );
    let (edges, lonely) = (input.graph.edges(), n.nodes_without_edges.len() + n.nodes_with_neither.len());
    let pieces = components - lonely;
    say(usize::from(edges == 0), "there are no edges: give --edges FILE, or --knn K with --by COLUMNS".into());
    say(
        usize::from(edges > 0 && pieces > 1),
        format!("the graph has {pieces} components; nothing is shared between them"),
    );
    all.extend(row_notices(input));
    all
}

/// Those about rows and cells alone.
pub fn row_notices(input: &Input) -> Vec<String> {
    let n = &input.notices;
    let mut all = Vec::new();
    let mut say = |count: usize, text: String| {
        if count > 0 {
            all.push(text);
        }
    };
    say(n.rows_dropped, format!("{} row(s) with missing values were dropped", n.rows_dropped));
    say(
        n.cells_filled,
        format!(
            "{} missing value(s) were replaced by the mean of their column (over all rows, held-out ones included)",
            n.cells_filled
        ),
    );
    all
}

/// Which rows were held out: always said, because gains depend on it.
pub fn split_words(spec: Option<&SplitSpec>, by: Option<&str>) -> String {
    let Some(spec) = spec else { return "no rows were held out".into() };
    let share = |s: Share| match s {
        Share::Rows(rows) => format!("{rows}"),
        Share::Fraction(f) => format!("{:.0} % of the", f * 100.0),
    };
    let unit = if spec.rule == SplitRule::Groups { "groups" } else { "rows" };
    let mut parts = vec![format!("{} {unit} validate", share(spec.validation))];
    parts.extend(spec.train.map(|s| format!("{} {unit} train", share(s))));
    parts.extend(spec.test.map(|s| format!("{} {unit} test", share(s))));
    parts.push("the others ".to_owned() + if spec.train.is_some() { "test" } else { "train" });
    let how = match spec.rule {
        SplitRule::Random => {
            "drawn at random, separately for every node: neighbours may train with rows much like those held out here"
                .into()
        }
        SplitRule::Last => "the last rows of every node".into(),
        SplitRule::Groups => format!("the same values of `{}` for all nodes", by.unwrap_or("the group column")),
    };
    format!("{} ({how})", parts.join(", "))
}

pub fn loss_name(loss: &LossSpec) -> String {
    match loss {
        LossSpec::Same(family) => family.to_string(),
        LossSpec::PerNode(_) => "mixed".into(),
    }
}

pub fn error_name(loss: &LossSpec) -> &'static str {
    match loss {
        LossSpec::Same(family) => family.error_name(),
        LossSpec::PerNode(_) => "mean loss",
    }
}

pub fn status_name(status: Status) -> &'static str {
    match status {
        Status::Converged => "converged",
        Status::Stalled => "stalled",
        Status::IterationLimit => "iteration-limit",
        Status::TimeLimit => "time-limit",
        Status::Interrupted => "interrupted",
        Status::Diverged => "diverged",
    }
}

fn report_status(status: Status) -> report::Status {
    match status {
        Status::Converged => report::Status::Converged,
        Status::Stalled => report::Status::Stalled,
        Status::IterationLimit => report::Status::IterationLimit,
        Status::TimeLimit => report::Status::TimeLimit,
        Status::Interrupted => report::Status::Interrupted,
        Status::Diverged => report::Status::Diverged,
    }
}

fn title(target: &Option<String>, nodes: usize) -> String {
    match target {
        Some(target) => format!("{target} at {nodes} nodes"),
        None => format!("{nodes} nodes"),
    }
}

/// Name and version of this program.
pub fn version() -> String {
    format!("fedweave {}", env!("CARGO_PKG_VERSION"))
}

/// The command line that started this program, quoted for a shell.
pub fn command() -> String {
    let quote = |word: String| match word.chars().all(|c| c.is_alphanumeric() || "-_./,:=%+@".contains(c))
        && !word.is_empty()
    {
        true => word,
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    let words = crate::WORDS.get().cloned().unwrap_or_default();
    let rest: Vec<String> = words.into_iter().map(quote).collect();
    format!("fedweave {}", rest.join(" "))
}
