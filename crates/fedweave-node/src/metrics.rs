//! What a part says about itself while it runs: OpenMetrics text at `/metrics`, JSON at `/status`, on a port of this machine
//! only, to who knows its token.

mod ask;
mod serve;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

pub use ask::ask;
pub use serve::{TOKEN, serve, token};

/// What a part knows about itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Name of the part.
    pub name: String,
    /// What it is doing: `connecting`, `running`, `done`, ...
    pub state: String,
    /// Rounds done.
    pub round: u64,
    /// Largest residual of the network, as far as it is known.
    pub residual: Option<f64>,
    /// Seconds since the start of the process.
    pub seconds: f64,
    /// Median and largest time of a round, in seconds.
    pub round_seconds: Option<(f64, f64)>,
    /// Its neighbours.
    pub neighbours: Vec<NeighbourSnapshot>,
    /// Frames turned away before they reached the state machine.
    pub refused: u64,
    /// Bytes written to checkpoints.
    pub checkpoint_bytes: u64,
    /// Seconds since the round in flight began.
    #[serde(default)]
    pub round_age_seconds: f64,
    /// Neighbours whose rows are waited for.
    #[serde(default)]
    pub awaited: Vec<String>,
    /// Mean error on the rows trained with, where models are judged.
    #[serde(default)]
    pub training_error: Option<f64>,
    /// Mean error on rows not trained with.
    #[serde(default)]
    pub validation_error: Option<f64>,
    /// Mean error on those of them that came since the process began.
    #[serde(default)]
    pub new_error: Option<f64>,
    /// When the certificate of the part expires, in seconds since 1970.
    #[serde(default)]
    pub certificate_expires: Option<i64>,
    /// Arrivals turned away, by reason.
    #[serde(default)]
    pub refusals: BTreeMap<String, u64>,
}

/// What a part knows about a neighbour.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NeighbourSnapshot {
    /// Its name.
    pub name: String,
    /// True if it can be reached.
    pub up: bool,
    /// Frames and bytes sent to it, before encryption.
    pub sent: (u64, u64),
    /// Frames and bytes received from it, before encryption.
    pub received: (u64, u64),
    /// Frames of it that the part refused.
    #[serde(default)]
    pub refused: u64,
    /// The same by reason.
    #[serde(default)]
    pub refusals: BTreeMap<String, u64>,
    /// True if its edges count, and it has not ended before this part.
    #[serde(default)]
    pub counted: bool,
    /// At the end: it has not said that it has the last rows.
    #[serde(default)]
    pub lacks: bool,
    /// How many times as badly as the median neighbour it predicts our rows, where neighbours are judged.
    #[serde(default)]
    pub suspicion: Option<f64>,
    /// It was found guilty and is kept out.
    #[serde(default)]
    pub quarantined: bool,
}

/// A snapshot that is shown while it changes.
pub type Shared = Arc<Mutex<Snapshot>>;

/// The snapshot as OpenMetrics text.
pub fn openmetrics(s: &Snapshot) -> String {
    let mut text = String::new();
    let part = format!("part=\"{}\"", escaped(&s.name));
    let mut family = |name: &str, kind: &str, help: &str, samples: Vec<(String, f64)>| {
        text.push_str(&format!("# TYPE fedweave_{name} {kind}\n# HELP fedweave_{name} {help}\n"));
        let suffix = if kind == "counter" { "_total" } else { "" };
        for (labels, value) in samples {
            text.push_str(&format!("fedweave_{name}{suffix}{{{labels}}} {value}\n"));
        }
    };
    let one = |value: f64| vec![(part.clone(), value)];
    let each = |value: fn(&NeighbourSnapshot) -> f64| -> Vec<(String, f64)> {
        s.neighbours.iter().map(|n| (format!("{part},neighbour=\"{}\"", escaped(&n.name)), value(n))).collect()
    };
    family("rounds", "counter", "Rounds done.", one(s.round as f64));
    if let Some(residual) = s.residual {
        family("residual", "gauge", "Largest residual of the network, as far as it is known.", one(residual));
    }
    let errors = [
        ("training_error", "Mean error on the rows trained with.", s.training_error),
        ("validation_error", "Mean error on rows not trained with.", s.validation_error),
        ("validation_error_new", "Mean error on those that came since the start.", s.new_error),
    ];
    for (name, help, error) in errors {
        error.into_iter().for_each(|error| family(name, "gauge", help, one(error)));
    }
    if let Some((median, largest)) = s.round_seconds {
        family("round_median_seconds", "gauge", "Median time of the last rounds.", one(median));
        family("round_max_seconds", "gauge", "Largest time of the last rounds.", one(largest));
    }
    family("uptime_seconds", "gauge", "Time since the start of the process.", one(s.seconds));
    family("round_age_seconds", "gauge", "Time since the round in flight began.", one(s.round_age_seconds));
    if let Some(expires) = s.certificate_expires {
        let help = "When the certificate expires, in seconds since 1970.";
        family("certificate_expiry_timestamp_seconds", "gauge", help, one(expires as f64));
    }
    let reasons = s.refusals.iter().map(|(why, n)| (format!("{part},reason=\"{}\"", escaped(why)), *n as f64));
    family("connections_refused", "counter", "Connections turned away, by reason.", reasons.collect());
    let awaited = |n: &NeighbourSnapshot| f64::from(s.awaited.contains(&n.name));
    let waits = s.neighbours.iter().map(|n| (format!("{part},neighbour=\"{}\"", escaped(&n.name)), awaited(n)));
    family("neighbour_awaited", "gauge", "1 if its rows of the round in flight are waited for.", waits.collect());
    family("refused", "counter", "Arrivals turned away before they reached the state machine.", one(s.refused as f64));
    family("checkpoint_bytes", "counter", "Bytes written to checkpoints.", one(s.checkpoint_bytes as f64));
    family("neighbour_up", "gauge", "1 if the neighbour can be reached.", each(|n| f64::from(n.up)));
    family("neighbour_counted", "gauge", "1 if the edges to the neighbour count.", each(|n| f64::from(n.counted)));
    let judged = s.neighbours.iter().filter_map(|n| Some((n, n.suspicion?)));
    let scores = judged.map(|(n, score)| (format!("{part},neighbour=\"{}\"", escaped(&n.name)), score)).collect();
    family(
        "neighbour_suspicion",
        "gauge",
        "How many times as badly as the median neighbour it predicts our rows.",
        scores,
    );
    family("neighbour_quarantined", "gauge", "1 if the neighbour is kept out.", each(|n| f64::from(n.quarantined)));
    let by_reason = s.neighbours.iter().flat_map(|n| n.refusals.iter().map(move |(why, times)| (n, why, *times)));
    let refused = by_reason.map(|(n, why, times)| {
        (format!("{part},neighbour=\"{}\",reason=\"{}\"", escaped(&n.name), escaped(why)), times as f64)
    });
    family("frames_refused", "counter", "Frames of the neighbour that were refused, by reason.", refused.collect());
    family("frames_sent", "counter", "Frames sent to the neighbour.", each(|n| n.sent.0 as f64));
    family("sent_bytes", "counter", "Bytes sent to the neighbour, before encryption.", each(|n| n.sent.1 as f64));
    family("frames_received", "counter", "Frames received from the neighbour.", each(|n| n.received.0 as f64));
    family("received_bytes", "counter", "Bytes received from the neighbour.", each(|n| n.received.1 as f64));
    text.push_str("# EOF\n");
    text
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Snapshot {
        let north = NeighbourSnapshot {
            name: "b\"ob".into(),
            up: true,
            sent: (3, 300),
            received: (2, 200),
            refusals: [("not_finite".to_string(), 4)].into(),
            ..Default::default()
        };
        Snapshot { name: "east".into(), round: 7, residual: Some(0.5), neighbours: vec![north], ..Default::default() }
    }

    #[test]
    fn metrics_are_openmetrics_text() {
        let text = openmetrics(&snapshot());
        assert!(text.contains("# TYPE fedweave_rounds counter\n"));
        assert!(text.contains("fedweave_rounds_total{part=\"east\"} 7\n"));
        assert!(text.contains("fedweave_sent_bytes_total{part=\"east\",neighbour=\"b\\\"ob\"} 300\n"));
        let refused = "fedweave_frames_refused_total{part=\"east\",neighbour=\"b\\\"ob\",reason=\"not_finite\"} 4\n";
        assert!(text.contains(refused), "{text}");
        assert!(text.ends_with("# EOF\n"));
    }
}
