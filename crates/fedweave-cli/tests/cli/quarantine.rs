//! A running federation with a part whose rows are poisoned: the others find it, note it, and go on without it.

use std::process::Child;
use std::time::{Duration, Instant};

use crate::sandbox::{Sandbox, finish};

const FIT: &str = "--target y --lambda 0.05 --ridge 0.05 --tolerance 1e-11 --max-iterations 20000000";
/// The last of six nodes, all joined with each other.
const POISONED: &str = "n5";

/// All edges between some of them.
fn edges(nodes: &[usize]) -> String {
    let pairs = nodes.iter().flat_map(|i| nodes.iter().filter(move |j| *j < i).map(move |j| format!("n{j},n{i}\n")));
    format!("source,target\n{}", pairs.collect::<String>())
}

struct Parts {
    s: Sandbox,
    all: Vec<usize>,
    guilty: usize,
    running: Vec<Option<Child>>,
}

impl Drop for Parts {
    fn drop(&mut self) {
        for child in self.running.iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Parts {
    fn new() -> Self {
        let s = Sandbox::new();
        let mut rows = String::from("node,x,y\n");
        for (i, k) in (0..6).flat_map(|i| (0..12).map(move |k| (i, k))) {
            let x = f64::from(k) / 6.0 - 1.0;
            let y = 2.0 * x + 0.1 * f64::from((7 * k + 3 * i) % 5);
            rows += &format!("n{i},{x},{}\n", if i == 5 { y + 1000.0 } else { y });
        }
        s.write("six.csv", rows);
        s.write("six-edges.csv", edges(&[0, 1, 2, 3, 4, 5]));
        // Short steps, so that there is time to look.
        let slow = "--step-ratio 0.003 --policy continue --parts 6 --work work --prepare";
        s.succeed(&format!("up six.csv --edges six-edges.csv {FIT} {slow}"));
        // A part that would hold no node has no folder.
        let all: Vec<usize> = (0..6).filter(|k| s.exists(&format!("work/part-000{k}/node.toml"))).collect();
        for k in &all {
            let file = format!("work/part-000{k}/node.toml");
            // Long enough for all to start, short enough to go on without one.
            let patient = s.read(&file).replace("[silence]", "[silence]\ndead-after-seconds = 3");
            s.write(&file, patient);
        }
        let poisoned = |k: &&usize| s.read(&format!("work/part-000{k}/rows.csv")).contains(&format!("{POISONED},"));
        let guilty = *all.iter().find(poisoned).expect("a part holds it");
        Parts { s, all, guilty, running: (0..6).map(|_| None).collect() }
    }

    fn honest(&self) -> Vec<usize> {
        self.all.iter().copied().filter(|k| *k != self.guilty).collect()
    }

    fn start(&mut self, guards: &[usize]) {
        for k in self.all.clone() {
            let more = if guards.contains(&k) { "--quarantine 5" } else { "" };
            self.running[k] = Some(self.s.start(&format!("node --config work/part-000{k}/node.toml {more}")));
        }
    }

    fn log(&self, k: usize) -> String {
        std::fs::read_to_string(self.s.path(&format!("work/part-000{k}/state/events.jsonl"))).unwrap_or_default()
    }

    fn wait_for(&self, k: usize, event: &str) {
        let started = Instant::now();
        while !self.log(k).contains(event) {
            assert!(started.elapsed() < Duration::from_secs(60), "part {k} does not tell of {event}: {}", self.log(k));
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The models of a part are those of one machine without the nodes of the guilty one.
    fn check(&self, judge: usize) {
        let theirs = self.s.read(&format!("work/part-000{}/rows.csv", self.guilty));
        let left: Vec<usize> = (0..6).filter(|i| !theirs.contains(&format!("n{i},"))).collect();
        let kept = |line: &&str| line.starts_with("node") || left.iter().any(|i| line.starts_with(&format!("n{i},")));
        let rows = self.s.read("six.csv");
        self.s.write("left.csv", rows.lines().filter(kept).collect::<Vec<_>>().join("\n") + "\n");
        self.s.write("left-edges.csv", edges(&left));
        self.s.succeed(&format!("fit left.csv --edges left-edges.csv {FIT} --out one --overwrite"));
        let found = self.s.table(&format!("work/part-000{judge}/state/result/parameters.csv"));
        let (one, node) = (self.s.table("one/parameters.csv"), &found.rows[0][0]);
        let off = found.of(node).iter().zip(&one.of(node)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-6, "{node} is {off} away");
    }
}

#[test]
fn a_part_with_poisoned_rows_is_found_noted_and_kept_out() {
    let mut parts = Parts::new();
    let (guilty, honest) = (format!("part-000{}", parts.guilty), parts.honest());
    parts.start(&honest);
    for k in &honest {
        parts.wait_for(*k, "quarantined");
        let log = parts.log(*k);
        let line = log.lines().find(|line| line.contains("\"quarantined\"")).expect("it is noted");
        assert!(line.contains(&guilty) && line.contains("score"), "{line}");
        assert!(log.contains("suspicions"), "{log}");
    }
    for k in &honest {
        let child = parts.running[*k].take().expect("it runs");
        let outcome = finish(child, &format!("part {k}"));
        // Nobody else is accused.
        assert_eq!(parts.log(*k).matches("\"quarantined\"").count(), 1, "{}", parts.log(*k));
        assert_eq!(outcome.code, 3, "{}{}", outcome.stdout, outcome.stderr);
        assert!(outcome.stdout.contains(&format!("without {guilty}")), "{}", outcome.stdout);
        parts.check(*k);
    }
}

#[test]
fn who_is_pardoned_is_let_in_again() {
    let mut parts = Parts::new();
    let judge = parts.honest()[0];
    parts.start(&[judge]);
    parts.wait_for(judge, "quarantined");
    let config = format!("work/part-000{judge}/node.toml");
    let refused = parts.s.run(&format!("node --config {config} --pardon nobody"));
    assert!(refused.code == 2 && refused.stderr.contains("no such neighbour"), "{}", refused.stderr);
    parts.s.succeed(&format!("node --config {config} --pardon part-000{}", parts.guilty));
    parts.wait_for(judge, "pardoned");
}

#[test]
fn a_quarantine_that_could_not_be_carried_out_is_refused() {
    let s = Sandbox::new();
    s.succeed("up nodes.csv --edges edges.csv --target y --lambda 0.3 --parts 2 --work work --prepare");
    let refused = s.run("node --config work/part-0000/node.toml --quarantine 5");
    assert!(refused.code == 2 && refused.stderr.contains("policy = \"continue\""), "{}", refused.stderr);
    let refused = s.run("node --config work/part-0000/node.toml --quarantine 0.5");
    assert!(refused.code == 2 && refused.stderr.contains("above 1"), "{}", refused.stderr);
}

#[test]
fn models_are_judged_by_unseen_rows_while_they_are_learnt() {
    let s = Sandbox::new();
    s.succeed("up nodes.csv --edges edges.csv --target y --lambda 0.3 --parts 1 --work work --prepare");
    // The rows that it trains with have the error that it trains to.
    let said = s.run("node --config work/part-0000/node.toml --unseen work/part-0000/rows.csv --json");
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let summary = s.read_json("work/part-0000/state/result/summary.json");
    s.succeed("fit nodes.csv --edges edges.csv --target y --lambda 0.3 --tolerance 1e-9 --out run");
    let (found, exact) =
        (summary["validation_error"].as_f64(), s.read_json("run/summary.json")["train_error"].as_f64());
    assert!((found.unwrap() - exact.unwrap()).abs() < 1e-3 * exact.unwrap(), "{found:?} {exact:?}");
    let refused = s.run("node --config work/part-0000/node.toml --unseen nowhere.csv --resume");
    assert!(refused.code == 2 && refused.stderr.contains("nowhere.csv"), "{}", refused.stderr);
}
