//! A federation of real processes on this machine.

use std::process::Child;
use std::time::{Duration, Instant};

use crate::sandbox::{Sandbox, finish};

const FIT: &str = "nodes.csv --edges edges.csv --target y --lambda 0.3 --solver primal-dual --step-ratio 1";

#[test]
fn processes_over_tls_give_the_bits_of_one_machine() {
    let s = Sandbox::new();
    assert!([0, 1].contains(&s.run(&format!("fit {FIT} --rounds 80 --out one")).code));
    for (parts, more) in [(1, ""), (2, ""), (4, "--loopback-plaintext")] {
        let outcome = s.run(&format!("up {FIT} --rounds 80 --parts {parts} --out many{parts} {more}"));
        assert!([0, 1].contains(&outcome.code), "{}{}", outcome.stdout, outcome.stderr);
        assert_eq!(s.read(&format!("many{parts}/parameters.csv")), s.read("one/parameters.csv"), "{parts} parts");
        assert!(s.exists(&format!("many{parts}/report.html")));
    }
}

#[test]
fn a_lasso_has_the_same_bits_too() {
    let s = Sandbox::new();
    for loss in ["squared --ridge 0.01", "absolute"] {
        let fit = format!("{FIT} --lasso 0.2 --loss {loss} --rounds 60 --overwrite");
        assert!([0, 1].contains(&s.run(&format!("fit {fit} --out one")).code));
        let outcome = s.run(&format!("up {fit} --parts 3 --out many"));
        assert!([0, 1].contains(&outcome.code), "{}{}", outcome.stdout, outcome.stderr);
        assert_eq!(s.read("many/parameters.csv"), s.read("one/parameters.csv"), "{loss}");
    }
}

#[test]
fn a_common_mean_lives_in_one_part_and_gives_the_bits_of_one_machine() {
    let s = Sandbox::new();
    assert!([0, 1].contains(&s.run(&format!("fit {FIT} --hub 0.3 --rounds 80 --out one")).code));
    for parts in [1, 3] {
        let outcome = s.run(&format!("up {FIT} --hub 0.3 --rounds 80 --parts {parts} --out many{parts}"));
        assert!([0, 1].contains(&outcome.code), "{}{}", outcome.stdout, outcome.stderr);
        assert_eq!(s.read(&format!("many{parts}/parameters.csv")), s.read("one/parameters.csv"), "{parts} parts");
    }
}

const LEARNT: &str = "nodes.csv --edges edges.csv --target y --coupling learnt --solver primal-dual --step-ratio 1";

#[test]
fn parts_learn_the_coupling_with_the_bits_of_one_machine() {
    let s = Sandbox::new();
    for parts in [2, 4] {
        let outcome = s.run(&format!("fit {LEARNT} --rounds 80 --parts {parts} --out one{parts}"));
        assert!([0, 1].contains(&outcome.code), "{}{}", outcome.stdout, outcome.stderr);
        let outcome = s.run(&format!("up {LEARNT} --rounds 80 --parts {parts} --out many{parts}"));
        assert!([0, 1].contains(&outcome.code), "{}{}", outcome.stdout, outcome.stderr);
        for file in ["parameters.csv", "covariance.csv"] {
            assert_eq!(s.read(&format!("many{parts}/{file}")), s.read(&format!("one{parts}/{file}")), "{parts} {file}");
        }
    }
    let refused = s.run("up nodes.csv --edges edges.csv --target y --coupling learnt --loss absolute");
    assert!(refused.code == 2 && refused.stderr.contains("squared loss only"), "{}", refused.stderr);
    let refused = s.run("fit nodes.csv --edges edges.csv --target y --lambda 1 --parts 3");
    assert!(refused.code == 2 && refused.stderr.contains("--coupling learnt"), "{}", refused.stderr);
}

#[test]
fn parts_that_learn_the_coupling_stop_at_the_tolerance() {
    let s = Sandbox::new();
    let summary = s.json(&format!("up {LEARNT} --tolerance 1e-7 --parts 3"));
    assert_eq!(summary["status"], "converged", "{summary}");
    assert!(summary["coupling"]["rho"].as_f64().is_some(), "{summary}");
}

#[test]
fn a_federation_stops_by_itself_at_the_tolerance() {
    let s = Sandbox::new();
    let summary = s.json(&format!("up {FIT} --tolerance 1e-7 --parts 3"));
    assert_eq!(summary["status"], "converged");
    assert!(summary["kkt_residual"].as_f64().unwrap() < 1e-5, "{summary}");
    let rounds = summary["iterations"].as_u64().unwrap();
    assert!(rounds > 10 && rounds < 100_000, "{rounds}");
}

/// Starts part `k` of the folder `work`.
fn part(s: &Sandbox, k: usize, more: &str) -> Child {
    s.start(&format!("node --config work/part-000{k}/node.toml {more}"))
}

#[test]
fn a_killed_part_resumes_and_the_answer_is_the_same() {
    let s = Sandbox::new();
    assert!([0, 1].contains(&s.run(&format!("fit {FIT} --rounds 4000 --out one")).code));
    s.succeed(&format!("up {FIT} --rounds 4000 --parts 2 --work work --prepare"));
    let steady = part(&s, 0, "");
    let mut victim = part(&s, 1, "");
    let started = Instant::now();
    let slot = s.path("work/part-0001/state/checkpoint.1");
    while std::fs::metadata(&slot).map_or(0, |m| m.len()) == 0 {
        assert!(started.elapsed() < Duration::from_secs(30), "no checkpoint");
        std::thread::sleep(Duration::from_millis(5));
    }
    victim.kill().unwrap();
    victim.wait().unwrap();
    let refused = s.run("node --config work/part-0001/node.toml");
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("--resume"), "{}", refused.stderr);
    let again = finish(part(&s, 1, "--resume"), "resume");
    assert_eq!(again.code, 0, "{}", again.stderr);
    let steady = finish(steady, "steady");
    assert_eq!(steady.code, 0, "{}", steady.stderr);
    assert!(steady.stderr.contains("neighbour part-0001 cannot be reached"), "{}", steady.stderr);
    let one = s.table("one/parameters.csv");
    for k in 0..2 {
        let part = s.table(&format!("work/part-000{k}/state/result/parameters.csv"));
        for row in &part.rows {
            assert_eq!(part.of(&row[0]), one.of(&row[0]), "{}", row[0]);
        }
        let log = format!("work/part-000{k}/state/events.jsonl");
        assert!(s.succeed(&format!("audit-log verify {log}")).contains("unbroken"));
    }
    let log = s.read("work/part-0001/state/events.jsonl");
    s.write("changed.jsonl", log.replacen("\"resumed\":true", "\"resumed\":tru", 1));
    assert_eq!(s.run("audit-log verify changed.jsonl").code, 2);
}

#[test]
fn a_neighbour_that_never_comes_is_named_and_status_shows_it() {
    let s = Sandbox::new();
    s.succeed(&format!("up {FIT} --rounds 10 --parts 2 --work work --prepare"));
    let mut lonely = part(&s, 0, "");
    let started = Instant::now();
    let log = s.path("work/part-0000/state/events.jsonl");
    let named = |log: &std::path::Path| {
        std::fs::read_to_string(log).is_ok_and(|t| t.contains(r#"{"event":"not_admitted","neighbour":"part-0001"}"#))
    };
    while !named(&log) {
        assert!(started.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(50));
    }
    let status = s.succeed("status work/part-0000/node.toml");
    assert!(status.contains("not part-0001"), "{status}");
    // As service managers and containers stop a process.
    let term = std::process::Command::new("kill").args(["-TERM", &lonely.id().to_string()]).status().unwrap();
    assert!(term.success());
    assert_eq!(lonely.wait().unwrap().code(), Some(130));
    assert!(s.read("work/part-0000/state/events.jsonl").contains(r#"{"event":"stopped"}"#));
    assert_eq!(s.run("status work/part-0000/node.toml").code, 1);
}

#[test]
fn certificates_in_two_commands() {
    let s = Sandbox::new();
    s.succeed("certs init");
    let issued = s.succeed("certs issue east@10.0.0.1 north@b.example.org,10.0.0.2");
    assert!(issued.contains("east+1@") && issued.contains("north+1@"), "{issued}");
    s.succeed("certs revoke north");
    s.succeed("certs issue north@10.0.0.2 --days 3");
    let shown = s.succeed("certs show");
    assert!(shown.contains("revoked") && shown.contains("valid") && shown.contains("10.0.0.2"), "{shown}");
    for (command, word) in [
        ("certs init", "exists already"),
        ("certs issue a/b", "cannot be the name"),
        ("certs issue x --days 0", "--days"),
        ("certs revoke nobody", "no certificate was issued"),
        ("certs show --dir none", "certs init"),
    ] {
        let outcome = s.run(command);
        assert_eq!(outcome.code, 2, "{command}");
        assert!(outcome.stderr.contains(word), "{command}: {}", outcome.stderr);
    }
}

#[test]
fn files_of_parts_are_refused_with_the_place_and_the_reason() {
    let s = Sandbox::new();
    s.succeed(&format!("up {FIT} --rounds 10 --parts 2 --work work --prepare"));
    let good = s.read("work/part-0000/node.toml");
    let file = "work/part-0000/bad.toml";
    assert!(s.succeed("node --config work/part-0000/node.toml --check").contains("can be used"));
    for (from, to, word) in [
        ("name = \"part-0000\"", "name = 3", ":1: "),
        ("name = \"part-0000\"", "name = \"part-0001\"", "part-0001"),
        ("name = \"part-0000\"", "nam = \"part-0000\"", ":1: "),
        ("rounds = 10", "rounds = 0", "federation.rounds"),
        ("rounds = 10", "rounds = -1", "bad.toml:"),
        ("lambda = 0.3", "lambda = \"auto\"", "model.lambda"),
        ("lambda = 0.3", "lambda = 0.3\nstandardize = true", "model.standardize"),
        ("lambda = 0.3", "lambda = 0.3\npenalty = \"blocks\"", "model.penalty"),
        ("part = \"part-0001\"", "part = \"nobody\"", "is not a [[neighbour]]"),
        ("listen = \"127.0.0.1", "listen = \"127.0.0.1 ", "endpoint"),
        ("metrics = \"127.0.0.1", "metrics = \"0.0.0.0", "this machine"),
        ("rows.csv", "none.csv", "none.csv"),
        ("ca.pem", "none.pem", "none.pem"),
    ] {
        assert!(good.contains(from), "{from}\n{good}");
        s.write(file, good.replacen(from, to, 1));
        let outcome = s.run(&format!("node --config {file} --check"));
        assert_eq!(outcome.code, 2, "{to}: {}", outcome.stdout);
        assert!(outcome.stderr.contains(word), "{to}: {}", outcome.stderr);
    }
    let plain = s.run("node --config work/part-0000/node.toml --loopback-plaintext");
    assert!(plain.code == 2 && plain.stderr.contains("certificates"), "{}", plain.stderr);
    s.succeed(&format!("up {FIT} --rounds 10 --parts 2 --work plain --prepare --loopback-plaintext"));
    let open = s.read("plain/part-0000/node.toml").replace("127.0.0.1", "10.0.0.1");
    s.write("plain/part-0000/node.toml", open.replacen("metrics = \"10.0.0.1", "metrics = \"127.0.0.1", 1));
    let outcome = s.run("node --config plain/part-0000/node.toml --loopback-plaintext");
    assert!(outcome.code == 2 && outcome.stderr.contains("not an address of this machine"), "{}", outcome.stderr);
}

/// Where the program runs under another name (`python -m fedweave`), its processes must be started under that name, too.
#[test]
fn processes_are_started_the_way_the_program_was() {
    let s = Sandbox::new();
    let program = env!("CARGO_BIN_EXE_fedweave");
    s.write("wrapper.sh", format!("echo \"$1\" >> calls.txt\nexec '{program}' \"$@\"\n"));
    let up = |command: &str, out: &str| {
        let words = format!("up {FIT} --rounds 5 --parts 2 --out {out}");
        let mut up = std::process::Command::new(program);
        up.args(words.split_whitespace()).current_dir(s.path("")).env("FEDWEAVE_COMMAND", command);
        up.output().unwrap()
    };
    let wrapper = format!(r#"["/bin/sh", "{}"]"#, s.path("wrapper.sh").display());
    let outcome = up(&wrapper, "run");
    assert!(outcome.status.code() == Some(1), "{}", String::from_utf8_lossy(&outcome.stderr));
    let calls = s.read("calls.txt");
    assert!(calls.lines().count() >= 2 && calls.lines().all(|word| word == "node"), "{calls}");
    assert!(s.exists("run/parameters.csv"));
    for bad in ["no list", "[]", "[3]", r#"["/no/such/program"]"#] {
        let outcome = up(bad, "bad");
        assert_eq!(outcome.status.code(), Some(2), "{bad}: {}", String::from_utf8_lossy(&outcome.stderr));
        std::fs::remove_dir_all(s.path("bad")).ok();
    }
}

/// Out of step, processes stand still while they are judged, and end near the optimum that one machine finds.
#[test]
fn processes_out_of_step_stop_at_a_tolerance() {
    let s = Sandbox::new();
    let flags = "nodes.csv --edges edges.csv --target y --lambda 0.3 --penalty squared --ridge 0.1";
    s.succeed(&format!("fit {flags} --tolerance 1e-10 --out one"));
    s.succeed(&format!("up {flags} --tolerance 1e-7 --solver async-fedgd --parts 4 --out many --work work"));
    let (one, many) = (s.table("one/parameters.csv"), s.table("many/parameters.csv"));
    assert!(one.distance(&many) < 1e-4, "{}", one.distance(&many));
    for k in 0..4 {
        let summary = s.read(&format!("work/part-{k:04}/state/result/summary.json"));
        assert!(summary.contains("\"converged\""), "{summary}");
    }
}

#[test]
fn a_part_says_before_it_starts_what_its_neighbours_could_do() {
    let s = Sandbox::new();
    for (flags, word) in [("--ridge 0.1", "they could move our models by at most"), ("--penalty squared", "no bound")] {
        s.succeed(&format!("up {FIT} {flags} --rounds 5 --parts 4 --work work --prepare"));
        let outcome = s.run("node --config work/part-0000/node.toml --check");
        assert_eq!(outcome.code, 0);
        assert!(outcome.stderr.contains("is exposed") && outcome.stderr.contains(word), "{}", outcome.stderr);
        std::fs::remove_dir_all(s.path("work")).unwrap();
    }
}
