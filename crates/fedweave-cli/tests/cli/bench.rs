//! `fedweave bench` without Python: our own half of the comparison.

use crate::sandbox::Sandbox;

const ABOUT: &str = r#"{"loss": "squared", "loss_params": {}, "penalty": "norm2", "lambda": 0.1, "dim": 2,
    "nodes": ["a", "b", "c", "d"]}"#;
const OURS: &str = "bench --work problems --problems tiny --only fedweave";

/// The small good files as a benchmark problem.
fn with_problem() -> Sandbox {
    let sandbox = Sandbox::new();
    for file in ["nodes.csv", "edges.csv"] {
        sandbox.write(&format!("problems/tiny/{file}"), sandbox.read(file));
    }
    sandbox.write("problems/tiny/problem.json", ABOUT);
    sandbox
}

#[test]
fn bench_help_teaches_by_example() {
    let help = Sandbox::new().succeed("bench --help");
    for word in ["benches/compare/setup", "--set", "--only", "--time-limit", "headline", "growth"] {
        assert!(help.contains(word), "{word} is not in\n{help}");
    }
}

#[test]
fn ours_alone_needs_no_python() {
    let text = with_problem().succeed(&format!("{OURS} --python /nonexistent/python"));
    assert!(text.contains("| tiny | 4 | 2 | 3 | 1e-6 |"), "{text}");
    assert!(text.contains("not raced"), "{text}");
}

#[test]
fn a_section_of_a_file_is_replaced() {
    let sandbox = with_problem();
    sandbox.write("b.md", "before\n<!-- bench:problems begin -->\nold\n<!-- bench:problems end -->\nafter\n");
    sandbox.succeed(&format!("{OURS} --out b.md"));
    let text = sandbox.read("b.md");
    assert!(text.starts_with("before\n") && text.ends_with("\nafter\n"), "{text}");
    assert!(text.contains("| tiny |") && !text.contains("old"), "{text}");
}

#[test]
fn a_missing_python_is_named_with_the_remedy() {
    let sandbox = with_problem();
    sandbox.write("benches/compare/race.py", "");
    for arguments in [
        "bench --work problems --problems tiny --python nowhere/python",
        "bench --work problems --problems other --only fedweave --python nowhere/python",
    ] {
        let outcome = sandbox.run(arguments);
        assert_eq!(outcome.code, 2, "{arguments}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("nowhere/python"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("benches/compare/setup"), "{}", outcome.stderr);
    }
}

#[test]
fn outside_the_repository_there_are_no_competitors() {
    let outcome = with_problem().run("bench --work problems --problems tiny");
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("inside the repository"), "{}", outcome.stderr);
}

#[test]
fn bad_arguments_and_files_are_refused() {
    let sandbox = with_problem();
    let outcome = sandbox.run("bench --work problems --problems tiny --only fedweave --repeat 0");
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("--repeat"), "{}", outcome.stderr);
    sandbox.write("problems/tiny/problem.json", "{}");
    let outcome = sandbox.run(OURS);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("problem.json: not a problem"), "{}", outcome.stderr);
}
