//! `fedweave path`.

use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::sandbox::{Sandbox, finish};

const PATH: &str = "path nodes.csv --edges edges.csv --target y";

/// Two pairs of points on a complete graph: provably recovered from lambda 1 to 5.
fn pairs() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("points.csv", "node,x,kind\na,0,low\nb,1,low\nc,10,high\nd,11,high\n");
    sandbox.write("all.csv", "source,target\na,b\na,c\na,d\nb,c\nb,d\nc,d\n");
    sandbox
}

const PAIRS: &str = "path points.csv --edges all.csv --loss point";

#[test]
fn a_run_directory_holds_the_path() {
    let sandbox = Sandbox::new();
    let printed = sandbox.json(&format!("{PATH} --validation 0.25 --count 9 --breakpoints --out run"));
    let path = sandbox.table("run/path.csv");
    assert_eq!(path.header[..6], ["lambda", "objective", "gap", "clusters", "train", "validation"]);
    assert_eq!(path.rows.len(), 9);
    let lambdas: Vec<f64> = path.rows.iter().map(|row| row[0].parse().unwrap()).collect();
    assert!(lambdas.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!((path.rows[0][3].as_str(), path.rows[8][3].as_str()), ("4", "1"));
    let members = sandbox.table("run/membership.csv");
    assert_eq!((members.header.join(","), members.rows.len()), ("lambda,node,cluster".into(), 36));
    assert!(sandbox.read("run/breakpoints.csv").starts_with("lambda_low,lambda_high,clusters_low,clusters_high\n"));
    for file in ["parameters.csv", "clusters.csv", "history.csv", "config.toml", "report.html", "encoding.json"] {
        assert!(sandbox.exists(&format!("run/{file}")), "no {file}");
    }
    assert_eq!(sandbox.read_json("run/summary.json"), printed);
    assert_eq!((&printed["status"], printed["path"]["points"].as_array().unwrap().len()), (&"converged".into(), 9));
    let chosen = printed["path"]["chosen"].as_u64().unwrap() as usize;
    assert_eq!(printed["path"]["points"][chosen]["lambda"], printed["lambda"]);
    assert!(printed["path"]["lambda_max"]["proven"].as_bool().unwrap());
    let best = printed["path"]["points"].as_array().unwrap().iter().map(|p| p["validation_error"].as_f64().unwrap());
    assert_eq!(best.fold(f64::INFINITY, f64::min), printed["validation_error"].as_f64().unwrap());
    // The page is made again from what is kept, and the models predict.
    sandbox.succeed("report run");
    sandbox.succeed("predict run nodes.csv");
    sandbox.succeed("path --config run/config.toml --out run --overwrite");
}

#[test]
fn directions_agree() {
    let sandbox = Sandbox::new();
    let up = sandbox.json(&format!("{PATH} --count 6 --tolerance 1e-8"));
    let down = sandbox.json(&format!("{PATH} --count 6 --tolerance 1e-8 --direction down"));
    for k in 0..6 {
        let (a, b) = (&up["path"]["points"][k], &down["path"]["points"][k]);
        assert_eq!((&a["lambda"], &a["clusters"]), (&b["lambda"], &b["clusters"]));
        assert!((a["objective"].as_f64().unwrap() - b["objective"].as_f64().unwrap()).abs() < 1e-7);
    }
}

#[test]
fn a_grid_of_ones_own_and_penalties_without_lambda_max() {
    let sandbox = Sandbox::new();
    let own = sandbox.json(&format!("{PATH} --lambda-grid 1,0.1,0,1"));
    let lambdas: Vec<f64> =
        own["path"]["points"].as_array().unwrap().iter().map(|p| p["lambda"].as_f64().unwrap()).collect();
    assert_eq!(lambdas, [0.0, 0.1, 1.0]);
    let squared = sandbox.json(&format!("{PATH} --penalty squared --count 5"));
    assert!(squared["path"]["lambda_max"].is_null());
    assert_eq!(squared["path"]["points"].as_array().unwrap().len(), 5);
    let words = sandbox.succeed(&format!("{PATH} --penalty squared --count 5"));
    assert!(words.contains("no finite lambda"), "{words}");
}

#[test]
fn recovery_is_said_where_it_is_known() {
    let sandbox = pairs();
    let found = sandbox.json(&format!("{PAIRS} --partition kind"));
    let recovery = &found["path"]["recovery"];
    let end = |key: &str| recovery[key].as_f64().unwrap();
    assert!((end("from") - 1.0).abs() < 2e-3 && (end("to") - 5.0).abs() < 1e-2, "{recovery}");
    sandbox.write("kinds.csv", "node,cluster\na,1\nb,1\nc,2\nd,2\n");
    assert_eq!(sandbox.json(&format!("{PAIRS} --drop kind --partition kinds.csv"))["path"]["recovery"], *recovery);
    let words = sandbox.succeed(&format!("{PAIRS} --drop kind --count 20"));
    assert!(words.contains("the partition at the chosen lambda is provably recovered for lambda from"), "{words}");
    let words = sandbox.succeed("path points.csv --edges edges.csv --loss point --partition kind");
    assert!(words.contains("complete graph with unit weights"), "{words}");
}

#[test]
fn what_path_refuses() {
    let cases = [
        ("--lambda 1", "--lambda-grid"),
        ("--count 1", "at least 2"),
        ("--lambda-min-ratio 1", "between 0 and 1"),
        ("--direction sideways", "up or down"),
        ("--breakpoints 0", "--breakpoints 0"),
        ("--breakpoints soon", "invalid value"),
        ("--partition nowhere", "no column \"nowhere\""),
        ("--lambda-grid 1,2 --count 3", "leave out --count"),
        ("--resume run", "--resume"),
        ("--train 3", "--validation"),
        ("--partition kinds.csv", "no cluster"),
        ("--partition wrong.csv", "there is no node `z`"),
    ];
    for (flags, says) in cases {
        let sandbox = Sandbox::new();
        sandbox.write("kinds.csv", "node,cluster\na,1\nb,1\nc,2\n");
        sandbox.write("wrong.csv", "node,cluster\nz,1\n");
        let before = sandbox.snapshot();
        let outcome = sandbox.run(&format!("{PATH} {flags} --out run"));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{flags}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(says), "{flags}: {}", outcome.stderr);
        assert_eq!(before, sandbox.snapshot(), "{flags}");
    }
    let sandbox = Sandbox::new();
    for command in ["fit", "compare"] {
        let outcome = sandbox.run(&format!("{command} nodes.csv --edges edges.csv --target y --count 5"));
        assert_eq!(outcome.code, 2);
        assert!(outcome.stderr.contains("belongs to `fedweave path`"), "{}", outcome.stderr);
    }
}

/// The first value needs no iterations, the second one never ends.
const ENDLESS: &str =
    "--lambda-grid 0,0.3 --tolerance 1e-300 --solver primal-dual --max-iterations 1000000000 --out run --json";

fn check_first_part(sandbox: &Sandbox, status: &str) {
    let summary = sandbox.read_json("run/summary.json");
    assert_eq!((&summary["status"], &summary["path"]["points_wanted"]), (&status.into(), &2.into()));
    assert_eq!(summary["path"]["points"].as_array().unwrap().len(), 1);
    assert_eq!(sandbox.table("run/path.csv").rows.len(), 1);
    assert_eq!(sandbox.table("run/membership.csv").rows.len(), 4);
    assert!(sandbox.exists("run/report.html"));
}

#[test]
fn ctrl_c_keeps_the_values_that_are_finished() {
    let sandbox = Sandbox::new();
    let child = sandbox.start(&format!("{PATH} {ENDLESS}"));
    thread::sleep(Duration::from_secs(3));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let outcome = finish(child, "an interrupted path");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (130, ""));
    check_first_part(&sandbox, "interrupted");
}

#[test]
fn a_time_limit_keeps_the_values_that_are_finished() {
    let sandbox = Sandbox::new();
    let outcome = sandbox.run(&format!("{PATH} {ENDLESS} --time-limit 2"));
    assert_eq!((outcome.code, outcome.stderr.as_str()), (1, ""));
    check_first_part(&sandbox, "time-limit");
}
