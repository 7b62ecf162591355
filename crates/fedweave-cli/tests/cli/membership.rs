//! Parts of a running federation that die, leave, come back and come new, as real processes over TLS. Those who are left must
//! end at the optimum that one machine finds for the network that is left.

use std::process::Child;
use std::time::{Duration, Instant};

use crate::sandbox::{NODES, Outcome, Sandbox, finish};

/// A ring of four with a chord: nobody is cut off when any one is gone.
const RING: &str = "source,target,weight\na,b,1\nb,c,0.5\nc,d,2\na,d,1\na,c,0.7\n";
const FIT: &str = "--target y --lambda 0.3 --ridge 0.05 --tolerance 1e-11 --max-iterations 2000000";
/// Short steps, so that there is time to go, and to come back: more than a hundred thousand rounds for the shorter ones.
const SLOW: f64 = 0.008;
const SLOWER: f64 = 0.0003;
/// Patience in seconds: more than starting and connecting takes. Who comes late must not give up the others meanwhile.
const DEAD_AFTER: u32 = 3;
const DEAD_AFTER_LATE: u32 = 30;

struct Federation {
    s: Sandbox,
    parts: Vec<usize>,
    running: Vec<Option<Child>>,
    /// A part with a single node, and that node.
    victim: usize,
    node: String,
}

impl Federation {
    /// Some parts, one of them with a single node; nobody is started yet.
    fn new(policy: &str, step_ratio: f64) -> Self {
        let s = Sandbox::new();
        s.write("ring.csv", RING);
        let flags = format!("{FIT} --step-ratio {step_ratio} --policy {policy}");
        s.succeed(&format!("up nodes.csv --edges ring.csv {flags} --parts 4 --work work --prepare"));
        // A part that would hold no node has no folder.
        let parts: Vec<usize> = (0..4).filter(|k| s.exists(&format!("work/part-000{k}/node.toml"))).collect();
        let mut alone = None;
        for &k in &parts {
            let mut nodes: Vec<String> =
                s.table(&format!("work/part-000{k}/rows.csv")).rows.iter().map(|row| row[0].clone()).collect();
            nodes.dedup();
            if nodes.len() == 1 {
                alone = Some((k, nodes.remove(0)));
            }
        }
        let (victim, node) = alone.expect("a part with one node");
        for k in &parts {
            let file = format!("work/part-000{k}/node.toml");
            let seconds = if *k == victim { DEAD_AFTER_LATE } else { DEAD_AFTER };
            let patient = s.read(&file).replace("[silence]", &format!("[silence]\ndead-after-seconds = {seconds}"));
            assert!(patient.contains("dead-after-seconds"), "{patient}");
            s.write(&file, patient);
        }
        Federation { s, parts, running: (0..4).map(|_| None).collect(), victim, node }
    }

    fn all(&self) -> Vec<usize> {
        self.parts.clone()
    }

    fn is_neighbour(&self, k: usize) -> bool {
        self.s.read(&format!("work/part-000{k}/node.toml")).contains(&format!("neighbour = \"{}\"", self.node))
    }

    /// A part next to the victim.
    fn neighbour(&self) -> usize {
        self.others().into_iter().find(|k| self.is_neighbour(*k)).expect("it has neighbours")
    }

    fn start_all(&mut self) {
        self.all().into_iter().for_each(|k| self.start(k, ""));
    }

    fn start(&mut self, k: usize, more: &str) {
        self.running[k] = Some(self.s.start(&format!("node --config work/part-000{k}/node.toml {more}")));
    }

    fn kill(&mut self, k: usize) {
        let mut child = self.running[k].take().expect("it runs");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn log(&self, k: usize) -> String {
        std::fs::read_to_string(self.s.path(&format!("work/part-000{k}/state/events.jsonl"))).unwrap_or_default()
    }

    /// Waits until the log of a part tells of an event.
    fn wait_for(&self, k: usize, event: &str) {
        let started = Instant::now();
        while !self.log(k).contains(event) {
            assert!(started.elapsed() < Duration::from_secs(20), "part {k} does not tell of {event}: {}", self.log(k));
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until a part is well into its rounds.
    fn wait_for_rounds(&self, k: usize) {
        let (started, slot) = (Instant::now(), self.s.path(&format!("work/part-000{k}/state/checkpoint.1")));
        while std::fs::metadata(&slot).map_or(0, |m| m.len()) == 0 {
            assert!(started.elapsed() < Duration::from_secs(20), "no rounds: {}", self.log(k));
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn finish(&mut self, k: usize) -> Outcome {
        // A busy machine takes its time over thousands of rounds.
        let (started, child) = (Instant::now(), self.running[k].as_mut().expect("it runs"));
        while child.try_wait().unwrap().is_none() && started.elapsed() < Duration::from_secs(240) {
            std::thread::sleep(Duration::from_millis(5));
        }
        finish(self.running[k].take().expect("it runs"), &format!("part {k}"))
    }

    fn others(&self) -> Vec<usize> {
        self.all().into_iter().filter(|k| *k != self.victim).collect()
    }

    /// The models of these parts are those of one machine, for the network without the victim or with it.
    fn check(&self, parts: &[usize], whole: bool) {
        let (row, ends) = (format!("{},", self.node), [format!("{},", self.node), format!(",{},", self.node)]);
        let keep = |text: &str, gone: &dyn Fn(&str) -> bool| {
            text.lines().filter(|line| whole || !gone(line)).collect::<Vec<_>>().join("\n") + "\n"
        };
        self.s.write("left.csv", keep(NODES, &|line| line.starts_with(&row)));
        self.s.write("left-edges.csv", keep(RING, &|line| line.starts_with(&ends[0]) || line.contains(&ends[1])));
        let exact = "--target y --lambda 0.3 --ridge 0.05 --tolerance 1e-13 --out one --overwrite";
        self.s.run(&format!("fit left.csv --edges left-edges.csv {exact}"));
        let (one, mut seen) = (self.s.table("one/parameters.csv"), 0);
        for k in parts {
            let part = self.s.table(&format!("work/part-000{k}/state/result/parameters.csv"));
            for row in &part.rows {
                let (found, exact) = (part.of(&row[0]), one.of(&row[0]));
                let off = found.iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(off < 1e-9, "node {} is {off:e} away", row[0]);
                seen += 1;
            }
        }
        assert_eq!(seen, if whole { 4 } else { 3 });
    }

    /// All of these end well, at the tolerance.
    /// The exit code tells whether a neighbour is missing.
    fn all_converge(&mut self, parts: &[usize]) {
        let all = parts.len() == self.parts.len();
        for &k in parts {
            let outcome = self.finish(k);
            let missing = outcome.stdout.contains(&format!(", without part-000{}", self.victim));
            assert_eq!(outcome.code, if missing { 3 } else { 0 }, "part {k}: {}{}", outcome.stdout, outcome.stderr);
            assert!(outcome.stdout.contains("converged"), "part {k}: {}{}", outcome.stdout, outcome.stderr);
            assert_eq!(missing, !all && self.is_neighbour(k), "part {k}: {}", outcome.stdout);
        }
    }
}

impl Drop for Federation {
    fn drop(&mut self) {
        for child in self.running.iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn with_continue_the_rest_ends_at_the_optimum_of_the_network_that_is_left() {
    let mut f = Federation::new("continue", SLOW);
    f.start_all();
    f.wait_for_rounds(f.victim);
    f.kill(f.victim);
    let others = f.others();
    f.all_converge(&others);
    f.check(&others, false);
    let name = format!("part-000{}", f.victim);
    assert!(others.iter().any(|k| f.log(*k).contains(&format!(r#"{{"event":"peer_dead","peer":"{name}""#))));
}

#[test]
fn with_stop_all_end_and_say_why() {
    let mut f = Federation::new("stop", SLOW);
    f.start_all();
    f.wait_for_rounds(f.victim);
    f.kill(f.victim);
    let mut named = 0;
    for k in f.others() {
        let outcome = f.finish(k);
        assert_eq!(outcome.code, 4, "part {k}: {}{}", outcome.stdout, outcome.stderr);
        assert!(outcome.stdout.contains("because a neighbour"), "{}", outcome.stdout);
        named += usize::from(outcome.stderr.contains(&format!("neighbour part-000{} is dead", f.victim)));
    }
    assert!(named >= 1, "nobody names the dead");
}

#[test]
fn a_part_takes_leave_and_the_rest_goes_on_whatever_its_patience() {
    let mut f = Federation::new("wait", SLOW);
    f.start_all();
    f.wait_for_rounds(f.victim);
    f.s.succeed(&format!("node --config work/part-000{}/node.toml --leave", f.victim));
    let left = f.finish(f.victim);
    assert!(left.code == 0 && left.stdout.contains(": left after"), "{}{}", left.stdout, left.stderr);
    let others = f.others();
    f.all_converge(&others);
    f.check(&others, false);
}

#[test]
fn a_new_part_joins_a_federation_that_is_under_way() {
    let mut f = Federation::new("continue", SLOWER);
    let others = f.others();
    others.iter().for_each(|k| f.start(*k, ""));
    f.wait_for(f.neighbour(), "edges_dropped");
    f.start(f.victim, "--join");
    f.wait_for(f.victim, r#""event":"joined""#);
    let all = f.all();
    f.all_converge(&all);
    f.check(&all, true);
}

#[test]
fn a_part_that_was_given_up_returns_and_takes_part_again() {
    let mut f = Federation::new("continue", SLOWER);
    f.start_all();
    f.wait_for_rounds(f.victim);
    f.kill(f.victim);
    f.wait_for(f.neighbour(), "edges_dropped");
    f.start(f.victim, "--resume");
    // It joins, or, where the others are not yet far ahead, only the edges are agreed anew.
    f.wait_for(f.neighbour(), r#""event":"peer_joins""#);
    let all = f.all();
    f.all_converge(&all);
    f.check(&all, true);
}
