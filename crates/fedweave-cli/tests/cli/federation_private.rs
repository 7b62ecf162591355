//! What other users of a machine may see of a part, and what it says when the machine refuses.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::sandbox::{Sandbox, finish};

const FIT: &str = "nodes.csv --edges edges.csv --target y --lambda 0.3 --solver primal-dual --step-ratio 1";

/// Everything below a folder that others can read, but the folder's own content that was there before.
fn open_to_others(folder: &Path) -> Vec<String> {
    let mut open = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            let mode = entry.metadata().unwrap().permissions().mode();
            if mode & 0o077 != 0 {
                open.push(format!("{} {:o}", entry.path().display(), mode & 0o777));
            }
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    open
}

#[test]
fn files_of_parts_are_for_their_owner_alone() {
    let s = Sandbox::new();
    s.succeed(&format!("up {FIT} --rounds 20 --parts 2 --work work --prepare"));
    assert_eq!(open_to_others(&s.path("work")), Vec::<String>::new());
    assert_eq!(std::fs::metadata(s.path("work")).unwrap().permissions().mode() & 0o777, 0o700);
    let parts: Vec<_> = (0..2).map(|k| s.start(&format!("node --config work/part-000{k}/node.toml"))).collect();
    parts.into_iter().for_each(|part| assert_eq!(finish(part, "part").code, 0));
    assert!(s.exists("work/part-0000/state/result/parameters.csv"));
    assert_eq!(open_to_others(&s.path("work")), Vec::<String>::new());
}

/// `kill -9` leaves a folder with rows and keys, private; the next start removes it.
#[test]
fn the_next_start_removes_what_a_kill_left_behind() {
    let s = Sandbox::new();
    std::fs::create_dir(s.path("tmp")).unwrap();
    let up = |rounds: u64| {
        let words = format!("up {FIT} --rounds {rounds} --parts 2 --json");
        let mut command = Command::new(env!("CARGO_BIN_EXE_fedweave"));
        command.args(words.split_whitespace()).current_dir(s.path("")).env("TMPDIR", s.path("tmp"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let folders = || std::fs::read_dir(s.path("tmp")).unwrap().flatten().map(|e| e.path()).collect::<Vec<_>>();
    let mut killed = up(100_000_000).spawn().unwrap();
    let started = Instant::now();
    while !folders().iter().any(|f| f.join("part-0001/state/events.jsonl").exists()) {
        assert!(started.elapsed() < Duration::from_secs(30), "it does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let left = folders();
    assert!(
        left.len() == 1 && open_to_others(&s.path("tmp")).is_empty(),
        "{left:?} {:?}",
        open_to_others(&s.path("tmp"))
    );
    assert!(up(5).status().unwrap().code().is_some_and(|code| code <= 1));
    assert!(!left[0].exists());
}

#[test]
fn a_part_with_changed_rows_does_not_go_on() {
    let s = Sandbox::new();
    s.succeed(&format!("up {FIT} --rounds 20 --parts 2 --work work --prepare"));
    let parts: Vec<_> = (0..2).map(|k| s.start(&format!("node --config work/part-000{k}/node.toml"))).collect();
    parts.into_iter().for_each(|part| assert_eq!(finish(part, "part").code, 0));
    let rows = s.read("work/part-0000/rows.csv");
    let mut lines: Vec<&str> = rows.lines().collect();
    lines.pop();
    s.write("work/part-0000/rows.csv", lines.join("\n") + "\n");
    let outcome = s.run("node --config work/part-0000/node.toml --resume");
    assert!(outcome.code == 2 && outcome.stderr.contains("the rows of data have changed"), "{}", outcome.stderr);
}

#[test]
fn too_few_open_files_are_said_at_once() {
    let s = Sandbox::new();
    s.succeed(&format!("up {FIT} --rounds 20 --parts 2 --work work --prepare"));
    let mut shell = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_fedweave");
    shell.args(["-c", &format!("ulimit -n 24 && exec '{program}' node --config work/part-0000/node.toml")]);
    let child = shell.current_dir(s.path("")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let outcome = finish(child, "node");
    assert!(outcome.code == 2 && outcome.stderr.contains("ulimit -n"), "{} {}", outcome.code, outcome.stderr);
}

/// Weight 1 at one end of an edge and 5 at the other: both ends name the edge, and nobody computes anything.
#[test]
fn edges_that_differ_are_named_at_both_ends() {
    let s = Sandbox::new();
    s.succeed(&format!("up {FIT} --rounds 2000 --parts 2 --work work --prepare"));
    let file = "work/part-0000/node.toml";
    let text = s.read(file);
    let edge = text.find("part = \"part-0001\"").expect("an edge to the other part");
    let rest = &text[edge..];
    let end = rest.find("\n\n").unwrap_or(rest.len());
    let mut entry = rest[..end].to_string();
    entry = match entry.find("weight = ") {
        Some(at) => format!("{}weight = 77.5", &entry[..at]),
        None => format!("{}\nweight = 77.5", entry.trim_end()),
    };
    s.write(file, format!("{}{entry}{}", &text[..edge], &rest[end..]));
    let mut parts: Vec<_> = (0..2).map(|k| s.start(&format!("node --config work/part-000{k}/node.toml"))).collect();
    let log =
        |k: usize| std::fs::read_to_string(s.path(&format!("work/part-000{k}/state/events.jsonl"))).unwrap_or_default();
    let named = |k: usize| log(k).contains(r#""event":"disagreement""#) && log(k).contains("77.5");
    let started = Instant::now();
    while !(named(0) && named(1)) && started.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    for part in &mut parts {
        part.kill().unwrap();
        part.wait().unwrap();
    }
    assert!(named(0) && named(1), "{}\n{}", log(0), log(1));
    assert!(!s.exists("work/part-0000/state/result"));
}
