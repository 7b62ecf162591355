//! What a part says about itself while it runs: OpenMetrics text at `/metrics`, JSON at `/status`, on a port of this machine
//! only.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Longest request, and longest wait for one.
const REQUEST_BYTES_MAX: u64 = 4096;
const PATIENCE: Duration = Duration::from_secs(1);

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
}

/// A snapshot that is shown while it changes.
pub type Shared = Arc<Mutex<Snapshot>>;

/// Serves `shared` at a loopback address for the life of the process; the address it listens on.
pub fn serve(address: SocketAddr, shared: Shared) -> std::io::Result<SocketAddr> {
    if !address.ip().is_loopback() {
        let what = format!("{address}: metrics are for this machine only; use 127.0.0.1:PORT");
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, what));
    }
    let listener = TcpListener::bind(address)?;
    let local = listener.local_addr()?;
    let answer_all = move || listener.incoming().flatten().for_each(|stream| drop(answer(stream, &shared)));
    std::thread::Builder::new().name("metrics".into()).spawn(answer_all)?;
    Ok(local)
}

/// Asks a running part for its snapshot.
pub fn ask(address: SocketAddr) -> std::io::Result<Snapshot> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /status HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut text = String::new();
    stream.take(1 << 20).read_to_string(&mut text)?;
    let wrong = |what: String| std::io::Error::new(std::io::ErrorKind::InvalidData, what);
    let (_, body) = text.split_once("\r\n\r\n").ok_or_else(|| wrong("not an answer of a part".into()))?;
    serde_json::from_str(body).map_err(|e| wrong(e.to_string()))
}

fn answer(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new((&stream).take(REQUEST_BYTES_MAX));
    let (mut first, mut line) = (String::new(), String::new());
    reader.read_line(&mut first)?;
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let snapshot = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (status, kind, body) = match first.split(' ').take(2).collect::<Vec<_>>()[..] {
        ["GET", "/metrics"] => {
            ("200 OK", "application/openmetrics-text; version=1.0.0; charset=utf-8", openmetrics(&snapshot))
        }
        ["GET", "/status"] => {
            ("200 OK", "application/json", serde_json::to_string(&snapshot).map_err(std::io::Error::other)?)
        }
        _ => ("404 Not Found", "text/plain", "ask for /metrics or /status\n".into()),
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(body.as_bytes())
}

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
    if let Some((median, largest)) = s.round_seconds {
        family("round_median_seconds", "gauge", "Median time of the last rounds.", one(median));
        family("round_max_seconds", "gauge", "Largest time of the last rounds.", one(largest));
    }
    family("uptime_seconds", "gauge", "Time since the start of the process.", one(s.seconds));
    family("refused", "counter", "Arrivals turned away before they reached the state machine.", one(s.refused as f64));
    family("checkpoint_bytes", "counter", "Bytes written to checkpoints.", one(s.checkpoint_bytes as f64));
    family("neighbour_up", "gauge", "1 if the neighbour can be reached.", each(|n| f64::from(n.up)));
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
        let north = NeighbourSnapshot { name: "b\"ob".into(), up: true, sent: (3, 300), received: (2, 200) };
        Snapshot { name: "east".into(), round: 7, residual: Some(0.5), neighbours: vec![north], ..Default::default() }
    }

    #[test]
    fn metrics_are_openmetrics_text() {
        let text = openmetrics(&snapshot());
        assert!(text.contains("# TYPE fedweave_rounds counter\n"));
        assert!(text.contains("fedweave_rounds_total{part=\"east\"} 7\n"));
        assert!(text.contains("fedweave_sent_bytes_total{part=\"east\",neighbour=\"b\\\"ob\"} 300\n"));
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn a_part_answers_on_this_machine_only() {
        let shared = Arc::new(Mutex::new(snapshot()));
        let address = serve("127.0.0.1:0".parse().unwrap(), shared.clone()).unwrap();
        assert_eq!(ask(address).unwrap(), snapshot());
        assert!(serve("0.0.0.0:0".parse().unwrap(), shared).is_err());
    }

    #[test]
    fn strange_requests_do_no_harm() {
        let address = serve("127.0.0.1:0".parse().unwrap(), Arc::new(Mutex::new(snapshot()))).unwrap();
        for request in [&b""[..], b"\r\n\r\n", b"GET", b"POST / HTTP/1.0\r\n\r\n", &[0xff; 9000]] {
            let mut stream = TcpStream::connect(address).unwrap();
            let _ = stream.write_all(request);
            drop(stream);
        }
        assert_eq!(ask(address).unwrap(), snapshot());
    }
}
