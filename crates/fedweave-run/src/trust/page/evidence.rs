//! The evidence for every item, and what is missing.

mod fair;
mod robust;

use fedweave_report::trust::{Measure, Part};

use super::subject::Subject;
use super::{Found, TrustRequest, energy, shell};
use crate::intervals::Doubts;
use crate::trust::fairness::NodeFound;
use crate::trust::stress;
use crate::wording::{counted, digits};

/// Everything that was found, by item.
pub(super) fn all(request: &TrustRequest, subject: &Subject) -> Vec<(&'static str, Found)> {
    let on = Evidence { request, subject, run: shell(&request.run) };
    vec![
        ("1.1", on.agency()),
        ("1.2", on.oversight()),
        ("2.1", on.attack()),
        ("2.2", on.safety()),
        ("2.3", on.accuracy()),
        ("2.4", on.reliability()),
        ("3.1", on.privacy()),
        ("3.2", on.governance()),
        ("4.1", on.traceability()),
        ("4.2", on.explainability()),
        ("4.3", on.communication()),
        ("5.1", on.bias()),
        ("6.1", on.environment()),
        ("7.1", on.auditability()),
    ]
}

/// Who looks at what.
struct Evidence<'a> {
    request: &'a TrustRequest,
    subject: &'a Subject,
    /// The run, for a shell.
    run: String,
}

/// A number with four digits.
fn shown(value: f64) -> String {
    digits(Some(value))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn measure(name: &str, value: f64, shown: String, words: &str, command: &str) -> Measure {
    let (name, words, command) = (name.into(), words.into(), command.into());
    Measure { name, value, shown, words, command, parts: Vec::new() }
}

impl Evidence<'_> {
    /// The command that made the run, to be changed; nothing where a federation cannot do that.
    fn fit(&self, more: &str) -> String {
        let alone = ["--calibrate", "--guesses"].iter().any(|flag| more.contains(flag));
        let work = if self.subject.settings.has("work") { " --work AGAIN.parts" } else { "" };
        match self.subject.is_federated() {
            true if alone => String::new(),
            true => format!("fedweave up --config {}/config.toml{work} {more}", self.run),
            false => format!("fedweave fit --config {}/config.toml {more}", self.run),
        }
    }

    fn trust(&self) -> String {
        self.request.command(" --json")
    }

    fn agency(&self) -> Found {
        let mut found = Found::default();
        let rows = &self.subject.rows;
        let by_node = |of: fn(&crate::trust::cross::Row) -> f64| {
            let mut sums = vec![(0.0, 0usize); self.subject.refit.input.names.len()];
            rows.iter().for_each(|row| sums[row.node] = (sums[row.node].0 + of(row), sums[row.node].1 + 1));
            sums
        };
        let (ours, alone) = (by_node(|row| row.error), by_node(|row| row.alone));
        let judged = ours.iter().zip(&alone).filter(|((_, n), _)| *n > 0);
        let (hurt, nodes) = judged.fold((0, 0), |(h, n), (a, b)| (h + usize::from(a.0 > b.0), n + 1));
        found.add(measure(
            "nodes that are better off with a model of their own",
            hurt as f64,
            format!("{hurt} of {nodes}"),
            "Their rows, held out in turn, were predicted worse by the network than by a model of their rows alone; --fallback \
             lets such nodes keep that one.",
            &self.trust(),
        ));
        let models = self.subject.base.clusters.partition.len();
        let d = self.subject.base.parameters.cols();
        found.add(measure(
            "numbers in a model",
            d as f64,
            d.to_string(),
            &format!(
                "A prediction is a sum of that many terms; the network has {}.",
                counted(models, "different model")
            ),
            &format!("head -1 {}/parameters.csv", self.run),
        ));
        found
    }

    fn oversight(&self) -> Found {
        let mut found = Found::default();
        let command = format!("fedweave monitor {} NEW.csv", self.run);
        match &self.subject.refit.summary["calibration"] {
            serde_json::Value::Null => found.lacks(
                "whether an alarm for drift can be trusted",
                "the run keeps no scores of unseen rows to compare new ones with",
                &self.fit("--calibrate 10 --out WATCHED"),
            ),
            known => {
                let rows = known["rows"].as_f64().unwrap_or(f64::NAN);
                let words = "Scores of unseen rows that the run keeps; `monitor` compares new rows with them.";
                found.add(measure("rows that new ones are compared with", rows, format!("{rows}"), words, &command));
            }
        }
        let folds = self.request.folds;
        let error = &self.subject.fairness.all;
        found.add(measure(
            "validation error to be watched",
            error.value,
            shown(error.value),
            &format!(
                "{} of rows held out in turn in {folds} folds: what new rows should stay near.",
                self.subject.fairness.error_name
            ),
            &self.trust(),
        ));
        found
    }

    fn privacy(&self) -> Found {
        let mut found = Found::default();
        let base = &self.subject.base;
        let (n, d, edges) = (base.problem.nodes().max(1), base.parameters.cols(), base.problem.graph().edges());
        let sent = 2.0 * edges as f64 * d as f64 / n as f64;
        let words = match self.subject.parts() {
            Some(_) => "Models or flows, to neighbours in other parts; rows stay where they are.",
            None => {
                "What a node would tell its neighbours in a round; this run was made on one machine, where all rows lay together."
            }
        };
        found.add(measure(
            "numbers that a node tells in a round, on average",
            sent,
            shown(sent),
            words,
            &format!("fedweave graph info {}", self.graph()),
        ));
        found.lacks(
            "the privacy of a row, as epsilon",
            "no noise was asked for: models may tell about single rows",
            &self.fit("--dp-epsilon 1 --dp-range COLUMN=LOW:HIGH --out PRIVATE"),
        );
        if let Some(group) = &self.request.group {
            found.lacks(
                "whether models betray the group of a node",
                "it takes a table with a number for every node",
                &format!(
                    "fedweave privacy leak {} --table TABLE --attribute {}",
                    self.run,
                    crate::request::again::quoted(group)
                ),
            );
        }
        found
    }

    /// How the command line names the graph.
    fn graph(&self) -> String {
        match self.subject.settings.path("edges") {
            Some(edges) => format!("--edges {}", shell(&edges)),
            None => "--edges EDGES".into(),
        }
    }

    fn governance(&self) -> Found {
        let mut found = Found::default();
        let input = &self.subject.refit.input;
        let n = &input.notices;
        let kept = input.data.len() + n.rows_dropped;
        let again = self.fit("--json");
        found.add(measure(
            "rows that were left out",
            n.rows_dropped as f64,
            format!("{} of {kept}", n.rows_dropped),
            &format!(
                "Because of missing values; {} were filled with the mean of their column.",
                counted(n.cells_filled, "cell")
            ),
            &again,
        ));
        let mut sizes: Vec<usize> = (0..input.data.nodes()).map(|i| input.data.rows(i).len()).collect();
        sizes.sort_unstable();
        let (least, median, most) = (sizes[0], sizes[sizes.len() / 2], sizes[sizes.len() - 1]);
        found.add(measure(
            "rows of a node, median",
            median as f64,
            median.to_string(),
            &format!(
                "From {least} to {most}; {} without any learn from neighbours alone.",
                counted(n.nodes_without_rows.len(), "node")
            ),
            &again,
        ));
        let (idle, features) = self.idle_features();
        found.add(measure(
            "features that hardly matter",
            idle as f64,
            format!("{idle} of {features}"),
            "They move predictions by less than a hundredth of what models leave (root mean square): the data may not need them.",
            &self.trust(),
        ));
        found
    }

    /// Features that move scores by less than a hundredth of what models leave, of how many.
    fn idle_features(&self) -> (usize, usize) {
        let (base, data) = (&self.subject.base, &self.subject.base.training.rows);
        let d = base.input.features.len();
        let known = d - usize::from(base.request.model.intercept());
        let limit = 0.01 * self.subject.stress.residual;
        let moves = |j: usize| {
            let of = |i: usize| {
                let rows = data.rows(i);
                let (count, w) = (rows.len().max(1) as f64, base.parameters.row(i)[j]);
                let mean = rows.clone().map(|r| data.x(r)[j]).sum::<f64>() / count;
                w * w * rows.map(|r| (data.x(r)[j] - mean).powi(2)).sum::<f64>() / count
            };
            ((0..data.nodes()).map(of).sum::<f64>() / data.nodes().max(1) as f64).sqrt()
        };
        ((0..known).filter(|&j| moves(j) < limit).count(), known)
    }

    fn traceability(&self) -> Found {
        let mut found = Found::default();
        let settings = self.subject.settings.names().count();
        found.add(measure(
            "settings that are kept with the run",
            settings as f64,
            settings.to_string(),
            "`config.toml` has all that was said, `summary.json` what was found and by which version.",
            &self.fit("--out AGAIN"),
        ));
        let tables = ["nodes", "edges", "node-info"].map(|key| self.subject.settings.path(key));
        for table in tables.into_iter().flatten() {
            self.digest(&table, &mut found);
        }
        found
    }

    #[cfg(feature = "federation")]
    fn digest(&self, table: &std::path::Path, found: &mut Found) {
        let command = format!("sha256sum {}", shell(table));
        match std::fs::read(table) {
            Ok(bytes) => found.add(measure(
                &format!("bytes of {}", table.display()),
                bytes.len() as f64,
                bytes.len().to_string(),
                &format!("SHA-256 {}", fedweave_node::event_log::sha256(&bytes)),
                &command,
            )),
            Err(error) => found.lacks("the digest of a table", &error.to_string(), &command),
        }
    }

    #[cfg(not(feature = "federation"))]
    fn digest(&self, table: &std::path::Path, found: &mut Found) {
        found.lacks("the digest of a table", "this build has no digests", &format!("sha256sum {}", shell(table)));
    }

    fn explainability(&self) -> Found {
        let mut found = Found::default();
        let command = format!("fedweave explain {}", self.run);
        match &self.subject.shaped {
            Ok(shaped) => {
                let own: Vec<f64> = shaped.iter().enumerate().map(|(i, of)| of.shares[i]).collect();
                let mean = own.iter().sum::<f64>() / own.len().max(1) as f64;
                let words = "The share of a model that its node's rows made, on average; the rest is that of others and of the ridge.";
                found.add(measure("of a model is due to its own rows", mean, percent(mean), words, &command));
            }
            Err(why) => found.lacks("whose rows shaped a model", &why.to_string(), &command),
        }
        match self.subject.refit.summary["guess_error"].as_f64() {
            Some(error) => {
                let words = "How far models are from what users guessed they would say (8.11 of the book).";
                found.add(measure("error of users' guesses", error, shown(error), words, &self.fit("--json")));
            }
            None => found.lacks(
                "whether users can guess what a model will say",
                "nobody guessed",
                &self.fit("--guesses GUESSES.csv --out GUESSED"),
            ),
        }
        found
    }

    fn communication(&self) -> Found {
        let mut found = Found::default();
        let mut off: Vec<f64> =
            self.subject.rows.iter().map(|row| row.residual.abs()).filter(|r| r.is_finite()).collect();
        off.sort_by(f64::total_cmp);
        if !off.is_empty() {
            let at = off[((0.9 * off.len() as f64).ceil() as usize).clamp(1, off.len()) - 1];
            let words =
                "Nine of ten rows that models had not seen were predicted at least so closely: what users can be told.";
            found.add(measure("or less is what nine of ten predictions are off", at, shown(at), words, &self.trust()));
        }
        let known = Doubts::of_fit(&self.subject.base).intervals(0.9, &self.run).is_ok();
        if !known && self.subject.refit.summary["calibration"].is_null() {
            found.lacks(
                "intervals around single predictions",
                "the run was not calibrated",
                &self.fit("--calibrate 10 --out CALIBRATED"),
            );
        }
        found
    }

    fn environment(&self) -> Found {
        let mut found = Found::default();
        match energy(&self.subject.used, self.request.watts) {
            Some((joules, words)) => {
                let watt_hours = joules / 3600.0;
                let words = format!("{joules:.1e} joules for one fit with everything chosen, {words}.");
                found.add(measure("watt-hours for one fit", watt_hours, shown(watt_hours), &words, &self.trust()));
            }
            None => found.lacks("energy of a fit", "this system does not count processor time in a way known here", ""),
        }
        let bytes = self.subject.refit.summary["bytes"].as_f64();
        let words = match bytes {
            Some(_) => "All that parts sent each other, before encryption.",
            None => "The run was made on one machine: rows were brought together before, models went nowhere.",
        };
        let bytes = bytes.unwrap_or(0.0);
        found.add(measure(
            "bytes between machines or parts",
            bytes,
            format!("{bytes:.0}"),
            words,
            &format!("grep bytes {}/summary.json", self.run),
        ));
        found
    }

    #[cfg(feature = "federation")]
    fn auditability(&self) -> Found {
        let mut found = Found::default();
        let logs = &self.subject.logs;
        if logs.is_empty() {
            self.no_logs(&mut found);
            return found;
        }
        let (mut lines, mut parts) = (0.0, Vec::new());
        for log in logs {
            match fedweave_node::event_log::verify(log) {
                Ok(chain) => {
                    lines += chain.lines as f64;
                    let name =
                        log.iter().rev().nth(2).map_or(String::new(), |name| name.to_string_lossy().into_owned());
                    let shown = format!("{} lines, head {}…", chain.lines, &chain.head[..chain.head.len().min(12)]);
                    parts.push(Part { name, value: chain.lines as f64, interval: None, shown });
                }
                Err(error) => found.lacks(
                    "an event log",
                    &error.to_string(),
                    &format!("fedweave audit-log verify {}", shell(log)),
                ),
            }
        }
        if !parts.is_empty() {
            let words = "Lines of event logs whose chain of digests is unbroken; note the heads elsewhere, and a later change shows.";
            let command = format!("fedweave audit-log verify {}", shell(&logs[0]));
            found.add(Measure {
                parts,
                ..measure("lines of unbroken event logs", lines, format!("{lines:.0}"), words, &command)
            });
        }
        found
    }

    #[cfg(not(feature = "federation"))]
    fn auditability(&self) -> Found {
        let mut found = Found::default();
        match self.subject.logs.first() {
            None => self.no_logs(&mut found),
            Some(log) => found.lacks(
                "event logs",
                "this program was built without federations, whose logs they are",
                &format!("fedweave audit-log verify {}", shell(log)),
            ),
        }
        found
    }

    fn no_logs(&self, found: &mut Found) {
        let command = format!("fedweave trust {} --log PART/state/events.jsonl", self.run);
        found.lacks(
            "event logs",
            "a run on one machine keeps none; parts of a federation do (`fedweave up --work DIR`)",
            &command,
        );
    }
}

/// Nodes with the largest errors, as parts of a measure.
fn worst_nodes(nodes: &[NodeFound], count: usize) -> Vec<Part> {
    let mut order: Vec<&NodeFound> = nodes.iter().collect();
    order.sort_by(|a, b| b.error.total_cmp(&a.error));
    let part = |node: &&NodeFound| {
        let half = node.standard_error.map(|se| 1.959964 * se);
        let interval = half.map(|half| [node.error - half, node.error + half]);
        Part { name: node.name.clone(), value: node.error, interval, shown: shown(node.error) }
    };
    order.iter().take(count).map(part).collect()
}

/// The command that repeats the stress of the page.
fn stress_command(subject: &Subject) -> String {
    stress::command(&subject.stress_request)
}
