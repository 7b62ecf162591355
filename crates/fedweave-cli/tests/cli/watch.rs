//! `--watch`: a job in the browser while it runs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::first_steps::sandbox;
use crate::sandbox::Sandbox;

/// A running command with its page.
struct Watched {
    child: Child,
    port: u16,
    token: String,
}

impl Watched {
    fn start(sandbox: &Sandbox, flags: &str) -> Watched {
        let mut command = sandbox.command(&format!("{flags} --watch"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        errors.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("watch http://127.0.0.1:").unwrap_or_else(|| panic!("{line}"));
        let (port, token) = address.split_once("/?token=").unwrap();
        let (port, token) = (port.parse().unwrap(), token.to_owned());
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        Watched { child, port, token }
    }

    /// The status line and the body.
    fn get(&self, path: &str) -> Option<(String, String)> {
        let mut text = String::new();
        self.open(path, &format!("fedweave-studio-{}={}", self.port, self.token))?.read_to_string(&mut text).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        Some((head.lines().next()?.to_owned(), body.to_owned()))
    }

    fn open(&self, path: &str, cookie: &str) -> Option<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
        let host = format!("127.0.0.1:{}", self.port);
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n").ok()?;
        Some(stream)
    }

    fn state(&self) -> Option<Value> {
        serde_json::from_str(&self.get("/state")?.1).ok()
    }

    /// The first state that is as wanted.
    fn until(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(30) {
            if let Some(state) = self.state().filter(&wanted) {
                return state;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the page never said so: {:?}", self.state());
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_watched_fit_has_the_same_bits_and_leaves_its_report_with_open_tabs() {
    let sandbox = sandbox();
    let flags = "fit rows.csv --edges chain.csv --target y --features x1,x2 --lambda 0.1";
    sandbox.succeed(&format!("{flags} --out plain"));
    let watched = Watched::start(&sandbox, &format!("{flags} --out seen"));
    // An open tab keeps the page up for some seconds, so that it can fetch the end.
    let cookie = format!("fedweave-studio-{}={}", watched.port, watched.token);
    let tab = watched.open("/events", &cookie).unwrap();
    let mut lines = BufReader::new(tab);
    let mut told = String::new();
    while !told.contains("\"ended\":{") {
        told.clear();
        assert!(lines.read_line(&mut told).unwrap() > 0, "the stream ended before the run");
    }
    let (status, page) = watched.get("/picture").unwrap();
    assert!(status.contains("200") && page.contains("id=\"net\""), "{status}");
    assert_eq!(watched.state().unwrap()["ended"]["words"], "Done");
    drop(lines);
    let mut watched = watched;
    assert!(watched.child.wait().unwrap().success());
    assert_eq!(sandbox.read("plain/parameters.csv"), sandbox.read("seen/parameters.csv"));
    assert!(!sandbox.read("seen/config.toml").contains("watch"), "the next run says for itself whether it is watched");
}

#[test]
fn a_watched_run_shows_the_solver_and_nobody_without_the_key_sees_it() {
    let sandbox = sandbox();
    let flags = "fit rows.csv --edges chain.csv --target y --features x1,x2 --lambda 0.1 --penalty squared --solver fedgd --rounds 30000000";
    let watched = Watched::start(&sandbox, flags);
    let state = watched.until(|state| state["iteration"].as_u64() > Some(0));
    assert!(state["objective"].as_f64().unwrap() > 0.0 && state["what"] == "fitting", "{state}");
    let later = watched.until(|now| now["iteration"].as_u64() > state["iteration"].as_u64());
    assert!(later["points"].as_u64() >= state["points"].as_u64());
    let mut text = String::new();
    watched.open("/state", "fedweave-studio=guess").unwrap().read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.0 403") && !text.contains("objective"), "{text}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_part_is_seen_within_three_seconds() {
    let sandbox = sandbox();
    let flags = "up rows.csv --edges chain.csv --target y --features x1,x2 --lambda 0.1 --parts 3 --rounds 5000000";
    let watched = Watched::start(&sandbox, flags);
    let running = |state: &Value| {
        let parts = state["parts"].as_array().unwrap();
        parts.len() == 3 && parts.iter().all(|part| part["round"].as_u64() > Some(10))
    };
    let state = watched.until(running);
    assert!(state["parts"][0]["sent"].as_u64() > Some(0) && state["parts"][0]["lost"].is_null(), "{state}");
    // A tab that looks sees the end before the program goes.
    let cookie = format!("fedweave-studio-{}={}", watched.port, watched.token);
    let mut tab = BufReader::new(watched.open("/events", &cookie).unwrap());
    let id = watched.child.id();
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
    let part = children.split_whitespace().next().expect("a process for every part");
    assert!(Command::new("kill").args(["-9", part]).status().unwrap().success());
    let (killed, mut told) = (Instant::now(), String::new());
    while !told.contains("signal: 9") {
        told.clear();
        assert!(tab.read_line(&mut told).unwrap() > 0, "the stream ended before it told of the part");
    }
    assert!(killed.elapsed() < Duration::from_secs(3), "{:?}", killed.elapsed());
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let told = sandbox()
        .run("up rows.csv --edges chain.csv --target y --features x1,x2 --lambda 1 --prepare --work w --watch");
    assert!(told.code == 2 && told.stderr.contains("--watch shows a run"), "{}", told.stderr);
}
