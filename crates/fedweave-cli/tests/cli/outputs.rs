//! What commands leave behind and print, and that the pieces fit together.

use std::io::Read;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::sandbox::{LABELS, NODES, Sandbox, Table, finish};

const FIT: &str = "fit nodes.csv --edges edges.csv --target y --lambda 0.1";

/// A network large enough for several threads and some hundred iterations.
fn network() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.succeed("generate data --network geometric --nodes 600 --neighbours 6 --dim 5 --rows 8 --noise 0.1");
    sandbox
}

const FIT_NETWORK: &str = "fit data/nodes.csv --edges data/edges.csv --target y --lambda 0.3";

#[test]
fn a_run_directory_holds_everything() {
    let sandbox = Sandbox::new();
    let printed = sandbox.json(&format!("{FIT} --out run"));
    let headers = [
        ("parameters.csv", "node,x1,x2,intercept"),
        ("clusters.csv", "node,cluster,size"),
        ("history.csv", "iteration,objective,certified_gap,kkt_residual,"),
    ];
    for (file, header) in headers {
        let text = sandbox.read(&format!("run/{file}"));
        assert!(text.starts_with(header), "{file}: {text}");
        assert!(text.lines().count() > 1, "{file} is empty");
    }
    assert_eq!(sandbox.table("run/parameters.csv").rows.len(), 4);
    assert_eq!(sandbox.table("run/clusters.csv").rows.len(), 4);
    assert_eq!(sandbox.read_json("run/summary.json"), printed);
    assert!(sandbox.read("run/report.html").to_lowercase().contains("<!doctype html>"));
    assert!(sandbox.read("run/config.toml").contains("lambda = 0.1"));
    assert!(!sandbox.exists("run/checkpoint.bin"));
}

#[test]
fn the_history_ends_with_the_summary() {
    let sandbox = Sandbox::new();
    let summary = sandbox.json(&format!("{FIT} --out run"));
    let history = sandbox.table("run/history.csv");
    let last = history.rows.last().unwrap();
    assert_eq!(last[0].parse::<u64>().ok(), summary["iterations"].as_u64());
    assert_eq!(last[1].parse::<f64>().ok(), summary["objective"].as_f64());
    assert_eq!(last[2].parse::<f64>().ok(), summary["certified_gap"].as_f64());
    assert_eq!(last[3].parse::<f64>().ok(), summary["kkt_residual"].as_f64());
}

#[test]
fn clusters_csv_agrees_with_the_count() {
    let sandbox = Sandbox::new();
    let summary = sandbox.json("fit nodes.csv --edges edges.csv --target y --lambda 0.5 --out run");
    let table = sandbox.table("run/clusters.csv");
    let mut ids: Vec<&String> = table.rows.iter().map(|row| &row[1]).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(summary["clusters"], ids.len());
    for row in &table.rows {
        let size = table.rows.iter().filter(|other| other[1] == row[1]).count();
        assert_eq!(row[2], size.to_string());
    }
}

#[test]
fn names_without_intercept_and_with_classes() {
    let sandbox = Sandbox::new();
    sandbox.write("classes.csv", LABELS.replace(",0\n", ",red\n").replace(",1\n", ",blue\n"));
    let cases = [
        ("fit nodes.csv --edges edges.csv --target y --lambda 0.1 --no-intercept", "node,x1,x2"),
        ("fit nodes.csv --edges edges.csv --loss point --drop y --lambda 0.1", "node,x1,x2"),
        (
            "fit classes.csv --edges edges.csv --target y --loss multinomial --ridge 0.01 --lambda 0.1",
            "node,blue:x1,blue:x2,blue:intercept,red:x1,red:x2,red:intercept",
        ),
    ];
    for (command, header) in cases {
        sandbox.succeed(&format!("{command} --out run --overwrite"));
        assert_eq!(sandbox.read("run/parameters.csv").lines().next(), Some(header), "{command}");
    }
}

#[test]
fn json_is_one_object_with_the_promised_keys() {
    let sandbox = Sandbox::new();
    let outcome = sandbox.run(&format!("{FIT} --json"));
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert_eq!(outcome.stdout.lines().count(), 1);
    let object: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let keys = [
        "status",
        "solver",
        "nodes",
        "edges",
        "dim",
        "lambda",
        "penalty",
        "loss",
        "objective",
        "certified_gap",
        "kkt_residual",
        "iterations",
        "seconds",
        "clusters",
        "train_error",
        "validation_error",
    ];
    for key in keys {
        assert!(object.get(key).is_some(), "no {key} in {object}");
    }
    assert_eq!((&object["nodes"], &object["edges"], &object["dim"]), (&4.into(), &3.into(), &3.into()));
    assert_eq!((&object["loss"], &object["penalty"]), (&"squared".into(), &"norm2".into()));
    assert_eq!((&object["status"], &object["lambda"]), (&"converged".into(), &0.1.into()));
    assert!(object["validation_error"].is_null());
    assert!(object["certified_gap"].as_f64().unwrap() >= 0.0);
}

#[test]
fn nothing_on_standard_error_where_nobody_watches() {
    let sandbox = network();
    for command in [
        format!("{FIT_NETWORK} --json"),
        "fit data/nodes.csv --edges data/edges.csv --target y --lambda-grid 0.1,1".into(),
        "compare data/nodes.csv --edges data/edges.csv --target y --lambda-grid 0.1,1".into(),
        "graph info data/edges.csv".into(),
    ] {
        let outcome = sandbox.run(&command);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{command}");
        assert!(!outcome.stdout.contains('\u{1b}'), "{command}: colours in a pipe");
    }
}

#[test]
fn threads_and_repetition_do_not_change_a_byte() {
    let sandbox = network();
    let mut first = None;
    for flags in ["--threads 1", "--threads 2", "--threads 1 --seed 0", "--threads 7", ""] {
        sandbox.succeed(&format!("{FIT_NETWORK} {flags} --out run --overwrite"));
        let parameters = sandbox.read("run/parameters.csv");
        assert_eq!(first.get_or_insert_with(|| parameters.clone()), &parameters, "{flags}");
    }
}

#[test]
fn a_chosen_lambda_depends_on_the_seed_alone() {
    let sandbox = Sandbox::new();
    let fit =
        "fit nodes.csv --edges edges.csv --target y --validation 1 --lambda-grid 0.01,0.1,1 --out run --overwrite";
    let of = |flags: &str| {
        sandbox.succeed(&format!("{fit} {flags}"));
        sandbox.read("run/parameters.csv") + &sandbox.read("run/lambda.csv")
    };
    assert_eq!(of("--seed 3 --threads 1"), of("--seed 3 --threads 2"));
    assert_ne!(of("--seed 3"), of("--seed 4"));
}

#[test]
fn the_config_of_a_run_runs_it_again() {
    let sandbox = Sandbox::new();
    let commands = [
        "fit nodes.csv --edges edges.csv --target y --lambda 0.1 --penalty norm1 --ridge 0.01 --loss huber --huber-delta 0.5",
        "fit nodes.csv --edges edges.csv --target y --validation 1 --seed 7 --standardize",
        "fit nodes.csv --node-info places.csv --knn 2 --by lat,lon --target y --drop x2 --lambda 0.2 --tolerance 1e-9",
    ];
    for command in commands {
        sandbox.succeed(&format!("{command} --out first --overwrite"));
        sandbox.succeed("fit --config first/config.toml --out second --overwrite");
        assert_eq!(sandbox.read("first/parameters.csv"), sandbox.read("second/parameters.csv"), "{command}");
        assert_eq!(sandbox.read("first/config.toml"), sandbox.read("second/config.toml"), "{command}");
    }
}

/// A strong lasso leaves nothing but intercepts, none of which it touches; the same from the config of the run.
#[test]
fn a_strong_lasso_leaves_intercepts_alone() {
    let sandbox = Sandbox::new();
    for more in ["", " --penalty squared", " --loss absolute --ridge 0.1", " --standardize --penalty norminf"] {
        let fit = "fit nodes.csv --edges edges.csv --target y --lambda 0.1 --lasso 1000";
        sandbox.succeed(&format!("{fit}{more} --out strong --overwrite"));
        let text = sandbox.read("strong/parameters.csv");
        let mut rows = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<String>>());
        let header = rows.next().unwrap();
        let mut nodes = 0;
        for row in rows {
            for (name, value) in header.iter().zip(&row).skip(1) {
                let value: f64 = value.parse().unwrap();
                assert_eq!(value == 0.0, name != "intercept", "{more}: {name} of {} is {value}", row[0]);
            }
            nodes += 1;
        }
        assert!(nodes > 2, "{text}");
        sandbox.succeed("fit --config strong/config.toml --out again --overwrite");
        assert_eq!(sandbox.read("again/parameters.csv"), text, "{more}");
    }
}

#[test]
fn flags_come_before_the_config() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "c.toml",
        "nodes = \"nodes.csv\"\nedges = \"edges.csv\"\ntarget = \"y\"\nlambda = 0.1\nridge = [0.01]\n",
    );
    let summary = sandbox.json("fit --config c.toml --lambda 0.7");
    assert_eq!(summary["lambda"], 0.7);
    assert_eq!(sandbox.json("fit --config c.toml")["lambda"], 0.1);
}

/// The long flags in the help of a command.
fn long_flags(help: &str) -> Vec<String> {
    let starts = help
        .lines()
        .filter_map(|line| line.trim_start().split("--").nth(1).filter(|_| line.trim_start().starts_with('-')));
    starts.map(|rest| rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect()).collect()
}

#[test]
fn every_flag_has_a_key_in_the_config() {
    let sandbox = Sandbox::new();
    let flags = long_flags(&sandbox.succeed("fit --help-all"));
    assert!(flags.len() > 40, "{flags:?}");
    for flag in flags.iter().filter(|flag| !["config", "help", "help-all"].contains(&flag.as_str())) {
        // A wrong type shows that the key is known without setting it.
        sandbox.write("c.toml", format!("{flag} = {{ odd = 1 }}\n"));
        let outcome = sandbox.run("fit --config c.toml");
        assert_eq!(outcome.code, 2, "{flag}");
        assert!(!outcome.stderr.contains("unknown field"), "{flag}: {}", outcome.stderr);
    }
}

#[test]
fn a_config_is_the_twin_of_the_flags() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "c.toml",
        "nodes = \"nodes.csv\"\nedges = \"edges.csv\"\ntarget = \"y\"\nfeatures = [\"x1\"]\nloss = \"quantile\"\n\
         quantile = 0.3\npenalty = \"squared\"\nlambda = 0.2\nridge = [0.01]\nno-intercept = true\nnode-weight = \"rows\"\n",
    );
    sandbox.succeed("fit --config c.toml --out first");
    sandbox.succeed(
        "fit nodes.csv --edges edges.csv --target y --features x1 --loss quantile --quantile 0.3 --penalty squared \
         --lambda 0.2 --ridge 0.01 --no-intercept --node-weight rows --out second",
    );
    assert_eq!(sandbox.read("first/parameters.csv"), sandbox.read("second/parameters.csv"));
}

#[test]
fn a_single_ridge_in_a_config_is_a_number_like_the_flag() {
    let sandbox = Sandbox::new();
    sandbox
        .write("c.toml", "nodes = \"nodes.csv\"\nedges = \"edges.csv\"\ntarget = \"y\"\nlambda = 0.2\nridge = 0.01\n");
    sandbox.succeed("fit --config c.toml");
}

#[test]
fn stopped_early_keeps_results_and_goes_on_later() {
    let sandbox = network();
    let outcome = sandbox.run(&format!("{FIT_NETWORK} --max-iterations 1 --json --out early"));
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    let early: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((&early["status"], &early["iterations"]), (&"iteration-limit".into(), &1.into()));
    for file in [
        "parameters.csv",
        "clusters.csv",
        "history.csv",
        "summary.json",
        "config.toml",
        "report.html",
        "checkpoint.bin",
    ] {
        assert!(sandbox.exists(&format!("early/{file}")), "{file}");
    }
    let resumed = sandbox.json(&format!("{FIT_NETWORK} --resume early --out late"));
    let direct = sandbox.json(FIT_NETWORK);
    assert_eq!(resumed["status"], "converged");
    assert_close(&resumed, &direct);
}

#[test]
fn a_run_may_replace_the_one_it_resumes() {
    let sandbox = network();
    assert_eq!(sandbox.run(&format!("{FIT_NETWORK} --max-iterations 100 --out run")).code, 1);
    let resumed = sandbox.json(&format!("{FIT_NETWORK} --resume run --out run --overwrite"));
    assert_close(&resumed, &sandbox.json(FIT_NETWORK));
    assert!(!sandbox.exists("run/checkpoint.bin"));
}

/// Objectives of two converged runs of one problem.
fn assert_close(left: &Value, right: &Value) {
    let (a, b) = (left["objective"].as_f64().unwrap(), right["objective"].as_f64().unwrap());
    assert!((a - b).abs() <= 2e-6 * b.abs().max(1.0), "{a} {b}");
}

/// Newton's method ends by itself when rounding stops its progress; the first-order iterations never do.
const ENDLESS: &str = "--tolerance 1e-300 --max-iterations 1000000000 --solver primal-dual";

/// Sends the interrupt of Ctrl-C once the run has begun.
fn interrupt(sandbox: &Sandbox, command: &str, out: &str) -> crate::sandbox::Outcome {
    let child = sandbox.start(&format!("{command} --out {out}"));
    let pid = child.id().to_string();
    let partial = sandbox.path(&format!(".{out}.partial-{pid}"));
    let started = Instant::now();
    while !partial.exists() && started.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(Duration::from_millis(500));
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    finish(child, command)
}

#[test]
fn ctrl_c_keeps_what_there_is() {
    let sandbox = network();
    let endless = format!("{FIT_NETWORK} {ENDLESS} --json");
    let outcome = interrupt(&sandbox, &endless, "run");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (130, ""));
    let summary: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(summary["status"], "interrupted");
    assert_eq!(sandbox.table("run/parameters.csv").rows.len(), 600);
    assert!(!sandbox.snapshot().iter().any(|(path, _)| path.to_string_lossy().contains(".partial")));
    let resumed = sandbox.json(&format!("{FIT_NETWORK} --resume run"));
    assert_eq!(resumed["status"], "converged");
    assert_close(&resumed, &sandbox.json(FIT_NETWORK));
}

#[test]
fn ctrl_c_while_lambda_is_chosen() {
    let sandbox = network();
    let endless = format!("fit data/nodes.csv --edges data/edges.csv --target y {ENDLESS} --lambda-grid 0.1,0.2");
    // Models of a lambda that was not chosen are not worth keeping, but they must not look finished.
    let outcome = interrupt(&sandbox, &endless, "run");
    assert_eq!(outcome.code, 130, "{}{}", outcome.stdout, outcome.stderr);
}

/// Predictions for [`NEW`] next to the scores x'w computed from parameters.csv.
fn predictions(sandbox: &Sandbox, fit: &str) -> Vec<(Vec<String>, Vec<f64>)> {
    sandbox.succeed(&format!("fit {fit} --out run --overwrite"));
    let parameters = sandbox.table("run/parameters.csv");
    let predicted = Table::parse(&sandbox.succeed("predict run new.csv"));
    let new = Table::parse(NEW);
    assert_eq!(predicted.rows.len(), new.rows.len());
    let pair = |(k, cells): (usize, &Vec<String>)| {
        assert_eq!(cells[0], new.rows[k][0]);
        let x: Vec<f64> = new.rows[k][1..3].iter().map(|cell| cell.parse().unwrap()).chain([1.0]).collect();
        let w = parameters.of(&cells[0]);
        let scores = w.chunks(3).map(|block| block.iter().zip(&x).map(|(w, x)| w * x).sum());
        (cells[1..].to_vec(), scores.collect())
    };
    predicted.rows.iter().enumerate().map(pair).collect()
}

const NEW: &str = "node,x1,x2,extra\nd,0.3,1,7\na,-2,0.5,7\nb,1.5,-0.25,7\na,0,0,7\nc,1,1,7\n";

fn with_new() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("new.csv", NEW);
    sandbox
}

fn close(cell: &str, expected: f64) {
    let found: f64 = cell.parse().unwrap();
    assert!((found - expected).abs() <= 1e-9 * (1.0 + expected.abs()), "{found} {expected}");
}

#[test]
fn predict_is_the_score_of_the_parameters() {
    let sandbox = with_new();
    for loss in ["squared", "absolute", "huber", "quantile", "squared --standardize", "squared --penalty squared"] {
        for (cells, scores) in
            predictions(&sandbox, &format!("nodes.csv --edges edges.csv --target y --lambda 0.1 --loss {loss}"))
        {
            close(&cells[0], scores[0]);
        }
    }
}

#[test]
fn predict_classes_and_counts() {
    let sandbox = with_new();
    let labels = "labels.csv --edges edges.csv --target y --lambda 0.1 --ridge 0.01 --loss";
    for (cells, scores) in predictions(&sandbox, &format!("{labels} logistic")) {
        assert_eq!(cells[0], u8::from(scores[0] > 0.0).to_string());
        close(&cells[1], 1.0 / (1.0 + (-scores[0]).exp()));
    }
    for (cells, scores) in predictions(&sandbox, &format!("{labels} squared-hinge")) {
        assert_eq!(cells[0], if scores[0] > 0.0 { "1" } else { "0" });
        close(&cells[1], scores[0]);
    }
    for (cells, scores) in predictions(&sandbox, &format!("{labels} poisson")) {
        close(&cells[0], scores[0].exp());
    }
}

#[test]
fn predict_several_classes() {
    let sandbox = with_new();
    let class = |(k, line): (usize, &str)| match k {
        0 => format!("{line}\n"),
        _ => format!("{},{}\n", &line[..line.rfind(',').unwrap()], ["red", "green", "blue"][k * 7 % 5 % 3]),
    };
    sandbox.write("classes.csv", NODES.lines().enumerate().map(class).collect::<String>());
    for (cells, scores) in
        predictions(&sandbox, "classes.csv --edges edges.csv --target y --lambda 0.1 --ridge 0.01 --loss multinomial")
    {
        let total: f64 = scores.iter().map(|s| s.exp()).sum();
        let best = (0..3).fold(0, |best, k| if scores[k] > scores[best] { k } else { best });
        assert_eq!(cells[0], ["blue", "green", "red"][best]);
        scores.iter().zip(&cells[1..]).for_each(|(score, cell)| close(cell, score.exp() / total));
    }
}

#[test]
fn predict_with_one_hot_columns() {
    let sandbox = Sandbox::new();
    let colour = |(k, line): (usize, &str)| {
        if k == 0 { format!("{line},colour\n") } else { format!("{line},{}\n", ["red", "blue"][k % 2]) }
    };
    sandbox.write("nodes.csv", NODES.lines().enumerate().map(colour).collect::<String>());
    sandbox.write("new.csv", "colour,node,x2,x1\nblue,a,0.5,2\nred,d,1,1\n");
    sandbox.succeed(&format!("{FIT} --one-hot colour --ridge 0.01 --out run"));
    let parameters = sandbox.table("run/parameters.csv");
    // The intercept stands for the first colour.
    assert_eq!(parameters.header, ["node", "x1", "x2", "colour=red", "intercept"]);
    let (a, d) = (parameters.of("a"), parameters.of("d"));
    let predicted = Table::parse(&sandbox.succeed("predict run new.csv"));
    let blue = 2.0 * a[0] + 0.5 * a[1] + a[3];
    let red = d[0] + d[1] + d[2] + d[3];
    close(&predicted.rows[0][1], blue);
    close(&predicted.rows[1][1], red);
}

#[test]
fn standardised_models_predict_as_well() {
    // Without coupling least squares does not care about units.
    let sandbox = with_new();
    let of = |flags: &str| {
        sandbox
            .succeed(&format!("fit nodes.csv --edges edges.csv --target y --lambda 0 {flags} --out run --overwrite"));
        Table::parse(&sandbox.succeed("predict run new.csv"))
    };
    let gap = of("").distance(&of("--standardize"));
    assert!(gap < 1e-8, "{gap:e}");
}

#[test]
fn predictions_into_a_file() {
    let sandbox = with_new();
    sandbox.succeed(&format!("{FIT} --out run"));
    let printed = sandbox.succeed("predict run new.csv");
    assert_eq!(sandbox.succeed("predict run new.csv --out p.csv"), "");
    assert_eq!(sandbox.read("p.csv"), printed);
    assert!(printed.starts_with("node,prediction\n"));
}

#[test]
fn overwrite_replaces_a_run_and_keeps_other_files() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&format!("{FIT} --out run"));
    sandbox.write("run/notes.txt", "mine");
    assert_eq!(sandbox.run(&format!("{FIT} --out run")).code, 2);
    sandbox.succeed("fit nodes.csv --edges edges.csv --target y --lambda 5 --out run --overwrite");
    assert_eq!(sandbox.read_json("run/summary.json")["lambda"], 5.0);
    assert_eq!(sandbox.read("run/notes.txt"), "mine");
    assert_eq!(sandbox.read("nodes.csv"), NODES);
}

#[test]
fn the_manual_page_names_every_command_and_flag() {
    let page = Sandbox::new().succeed("man");
    assert!(page.starts_with(".TH FEDWEAVE 1 "), "{}", &page[..80]);
    for words in [".SH FEDWEAVE FIT", ".SH FEDWEAVE GRAPH KNN", "\\-\\-cease\\-after N", "\\-o, \\-\\-out DIR"] {
        assert!(page.contains(words), "{words}");
    }
    // No line of text is taken for a request of roff.
    let requests = [".TH", ".SH", ".B", ".I", ".TP", ".PP", ".nf", ".fi"];
    let strange =
        page.lines().find(|line| line.starts_with('.') && !requests.iter().any(|known| line.starts_with(known)));
    assert_eq!(strange, None);
}

#[test]
fn completions() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let text = sandbox.succeed(&format!("completions {shell}"));
        assert!(text.contains("fedweave") && text.contains("huber-delta"), "{shell}: {} characters", text.len());
    }
}

/// Help that shows how to call the command, beyond its usage line.
fn teaches(command: &str) -> bool {
    let help = Sandbox::new().succeed(&format!("{command} --help"));
    let call = format!("fedweave {command}");
    help.lines().filter(|line| !line.starts_with("Usage:")).any(|line| line.contains(call.trim_end()))
}

#[test]
fn help_teaches_by_example() {
    for command in ["", "fit", "compare", "generate", "graph", "graph knn"] {
        assert!(teaches(command), "{command}");
    }
}

#[test]
fn help_of_the_other_commands_teaches_too() {
    let silent = ["predict", "report", "graph info", "completions", "demo"].map(|command| (command, teaches(command)));
    assert!(silent.iter().all(|(_, teaches)| *teaches), "{silent:?}");
}

/// Runs a command whose reader goes away before it prints.
fn closed_pipe(sandbox: &Sandbox, command: &str) -> (i32, String) {
    let mut child = sandbox.start(command);
    drop(child.stdout.take());
    let outcome = finish(child, command);
    (outcome.code, outcome.stderr)
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&format!("{FIT} --out run"));
    for command in [
        FIT,
        &format!("{FIT} --json"),
        "predict run nodes.csv",
        "graph info edges.csv",
        "report run --json",
        "graph knn places.csv -k 2 --by lat,lon",
        "compare nodes.csv --edges edges.csv --target y",
        "--help",
        "fit --help",
    ] {
        let (code, stderr) = closed_pipe(&sandbox, command);
        assert!(code == 0 && stderr.is_empty(), "{command}: exit code {code}: {stderr}");
    }
}

#[test]
fn a_closed_pipe_is_no_panic_for_completions() {
    let (code, stderr) = closed_pipe(&Sandbox::new(), "completions bash");
    assert!(code == 0 && stderr.is_empty(), "exit code {code}: {stderr}");
}

#[test]
fn one_line_of_many_is_enough_for_a_reader() {
    let sandbox = network();
    sandbox.succeed(&format!("{FIT_NETWORK} --out run"));
    let mut child = sandbox.start("predict run data/nodes.csv");
    let mut first = [0; 15];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"node,prediction");
    let outcome = finish(child, "predict | head");
    assert!(outcome.code == 0 && outcome.stderr.is_empty(), "exit code {}: {}", outcome.code, outcome.stderr);
}

#[test]
fn generated_files_fit_back() {
    let sandbox = Sandbox::new();
    let cases = [
        ("--nodes 20 --dim 3", "", 20),
        ("--network chain --nodes 12 --clusters 3 --dim 2", "", 12),
        ("--network geometric --nodes 30 --neighbours 4 --dim 2", "--node-info data/node_info.csv --by x,y", 30),
        ("--nodes 20 --dim 3 --labels logistic --mixing 0.3 --skew 1", "--loss logistic --ridge 0.01", 20),
        ("--nodes 20 --dim 3 --without-rows 0.2", "", 20),
    ];
    for (generate, fit, nodes) in cases {
        let _ = std::fs::remove_dir_all(sandbox.path("data"));
        sandbox.succeed(&format!("generate data {generate}"));
        let summary = sandbox.json(&format!("fit data/nodes.csv --edges data/edges.csv --target y --lambda 0.1 {fit}"));
        assert_eq!(summary["nodes"], nodes, "{generate}");
        assert_eq!(sandbox.table("data/truth.csv").rows.len(), nodes, "{generate}");
    }
}

#[test]
fn generated_data_depend_on_the_seed_alone() {
    let sandbox = Sandbox::new();
    for (folder, seed) in [("one", 1), ("again", 1), ("two", 2)] {
        sandbox.succeed(&format!("generate {folder} --nodes 20 --dim 2 --seed {seed}"));
    }
    let nodes =
        |folder: &str| sandbox.read(&format!("{folder}/nodes.csv")) + &sandbox.read(&format!("{folder}/edges.csv"));
    assert_eq!(nodes("one"), nodes("again"));
    assert_ne!(nodes("one"), nodes("two"));
}

#[test]
fn the_truth_is_found_again() {
    let sandbox = Sandbox::new();
    sandbox.succeed("generate data --nodes 40 --dim 3 --rows 10 --noise 0.001 --p-in 0.5 --p-out 0.02");
    let fit = "fit data/nodes.csv --edges data/edges.csv --target y --no-intercept --lambda 0.001 --out run";
    sandbox.succeed(fit);
    let (found, truth) = (sandbox.table("run/parameters.csv"), sandbox.table("data/truth.csv"));
    for row in &truth.rows {
        let w = found.of(&row[0]);
        let error = w.iter().zip(&row[2..]).map(|(w, t)| (w - t.parse::<f64>().unwrap()).abs()).fold(0.0, f64::max);
        assert!(error < 0.05, "{}: {error}", row[0]);
    }
}

#[test]
fn facts_about_a_known_graph() {
    let sandbox = Sandbox::new();
    // The path of three nodes has Laplacian eigenvalues 0, 1, 3; the triangle 0, 3, 3; weights multiply them.
    let cases = [
        ("a,b,1\nb,c,1\n", [3, 2, 1, 1, 2], 1.0, 3.0),
        ("a,b,2\nb,c,2\n", [3, 2, 1, 1, 2], 2.0, 6.0),
        ("a,b,1\nb,c,1\na,c,1\n", [3, 3, 1, 2, 2], 3.0, 3.0),
        ("a,b,1\nc,d,1\n", [4, 2, 2, 1, 1], 0.0, 2.0),
    ];
    for (edges, counts, lambda_2, lambda_n) in cases {
        sandbox.write("edges.csv", format!("source,target,weight\n{edges}"));
        let facts = sandbox.json("graph info edges.csv");
        let found =
            ["nodes", "edges", "components", "degree_min", "degree_max"].map(|key| facts[key].as_u64().unwrap());
        assert_eq!(found, counts, "{edges}");
        assert!((facts["lambda_2"].as_f64().unwrap() - lambda_2).abs() < 1e-8, "{edges}: {facts}");
        assert!((facts["lambda_n"].as_f64().unwrap() - lambda_n).abs() < 1e-8, "{edges}: {facts}");
        let words = sandbox.succeed("graph info edges.csv");
        assert!(
            words.contains(&format!("{} nodes, {} edges, {} component", counts[0], counts[1], counts[2])),
            "{words}"
        );
    }
}

#[test]
fn nearest_neighbours() {
    let sandbox = Sandbox::new();
    // By degrees c is nearer to a than b is; in kilometres it is the other way round, so far north.
    sandbox.write("p.csv", "node,lat,lon\na,80,0\nb,80,6\nc,85,0\nd,85.5,0\ne,-80,100\nf,-80,101\n");
    let joined =
        |flags: &str, pair: &str| sandbox.succeed(&format!("graph knn p.csv -k 1 --by lat,lon {flags}")).contains(pair);
    assert!(joined("", "a,b,1") && !joined("", "a,c,1"));
    assert!(joined("--metric euclidean", "a,c,1"));
    assert!(joined("", "e,f,1"));
    let words = sandbox.succeed("graph knn p.csv -k 2 --by lat,lon --out e.csv");
    assert!(words.starts_with("6 nodes, "), "{words}");
    assert!(sandbox.read("e.csv").starts_with("source,target,weight\n"));
    assert_eq!(sandbox.json("graph info e.csv")["nodes"], 6);
}

#[test]
fn fit_with_knn_equals_fit_with_its_edges() {
    let sandbox = Sandbox::new();
    sandbox.succeed("graph knn places.csv -k 2 --by lat,lon --out knn.csv");
    sandbox.succeed("fit nodes.csv --edges knn.csv --target y --lambda 0.1 --out first");
    sandbox.succeed("fit nodes.csv --node-info places.csv --knn 2 --by lat,lon --target y --lambda 0.1 --out second");
    assert_eq!(sandbox.read("first/parameters.csv"), sandbox.read("second/parameters.csv"));
}

#[test]
fn a_report_is_rendered_again() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&format!("{FIT} --out run"));
    let before = sandbox.read("run/report.html");
    std::fs::remove_file(sandbox.path("run/report.html")).unwrap();
    sandbox.succeed("report run");
    assert_eq!(sandbox.read("run/report.html"), before);
    sandbox.succeed("report run --out page.html");
    assert_eq!(sandbox.read("page.html"), before);
    let facts: Value = serde_json::from_str(&sandbox.succeed("report run --json")).unwrap();
    assert_eq!(facts["outcome"]["objective"], sandbox.read_json("run/summary.json")["objective"]);
}

#[test]
fn compare_tells_all_methods_apart() {
    let sandbox = Sandbox::new();
    sandbox.succeed("generate data --nodes 30 --dim 4 --rows 8 --noise 0.5 --p-in 0.5 --p-out 0.01");
    let compare = "compare data/nodes.csv --edges data/edges.csv --target y --splits 2 --lambda-grid 0.01,0.1,1";
    let facts = sandbox.json(&format!("{compare} --out run"));
    let error = |method: &str| facts[method]["test_error"].as_f64().unwrap_or_else(|| panic!("{method}: {facts}"));
    assert!(error("networked") < error("local"), "{facts}");
    assert!(error("networked") < error("global"), "{facts}");
    assert!(error("networked") < error("shuffled"), "{facts}");
    assert_eq!(facts["splits"], 2);
    assert!(facts["split"].as_str().unwrap().contains("random"), "{facts}");
    let gain = facts["networked"]["nodes_gain"].as_u64().unwrap() + facts["networked"]["nodes_lose"].as_u64().unwrap();
    assert!(gain > 0 && gain <= 30);

    let table = sandbox.table("run/compare.csv");
    assert_eq!(table.header[..5], ["node", "local", "global", "networked", "shuffled"]);
    assert_eq!(table.rows.len(), 30);
    assert_eq!(sandbox.read_json("run/summary.json"), facts);
    assert!(sandbox.exists("run/report.html") && sandbox.exists("run/config.toml"));
    sandbox.succeed("report run");

    let words = sandbox.succeed(compare);
    for word in ["local", "global", "networked", "shuffled", "split:"] {
        assert!(words.contains(word), "{word}: {words}");
    }
    assert_eq!(sandbox.succeed(compare), words);
}

#[test]
fn compare_judges_what_a_race_finds() {
    let sandbox = Sandbox::new();
    sandbox.succeed("generate data --nodes 20 --dim 3 --rows 10 --noise 0.5 --p-in 0.5 --p-out 0.01");
    let compare = "compare data/nodes.csv --edges data/edges.csv --target y --lambda-grid 0.1,1";
    let (plain, tuned) = (sandbox.json(compare), sandbox.json(&format!("{compare} --tune")));
    assert!(plain["tuned"].is_null(), "{plain}");
    let error = |method: &str| tuned[method]["test_error"].as_f64().unwrap_or_else(|| panic!("{method}: {tuned}"));
    assert!(error("tuned") < error("local"), "{tuned}");
    // Nobody else notices the race.
    for method in ["local", "global", "networked", "shuffled", "mixed model"] {
        assert_eq!(plain[method], tuned[method], "{method}");
    }
    let refused = sandbox.run(&format!("{compare} --tune --loss squared-hinge"));
    assert_eq!(refused.code, 2, "{}", refused.stdout);
    assert!(refused.stderr.contains("--tune does not know the loss"), "{}", refused.stderr);
}

#[test]
fn a_printed_recipe_predicts_the_same_to_the_last_bit() {
    let sandbox = Sandbox::new();
    sandbox.succeed("generate data --nodes 20 --dim 3 --rows 10 --noise 0.5 --p-in 0.5 --p-out 0.01");
    let fit = "fit data/nodes.csv --edges data/edges.csv --target y";
    let printed = sandbox.succeed(&format!("{fit} --tune --out raced"));
    let recipe = printed.split("--recipe '").nth(1).and_then(|rest| rest.split('\'').next()).unwrap();
    // The sandbox divides commands at spaces.
    sandbox.write(
        "same.toml",
        format!("recipe = [{}]", recipe.split(',').map(|part| format!("{part:?}")).collect::<Vec<_>>().join(", ")),
    );
    let again = sandbox.succeed(&format!("{fit} --config same.toml --out again"));
    assert!(again.matches("--recipe").count() <= 1, "{again}");
    let predict = |run: &str| sandbox.succeed(&format!("predict {run} data/nodes.csv --interval 0.9"));
    assert_eq!(predict("raced"), predict("again"), "{recipe}");
}

#[test]
fn compare_says_which_split_it_used() {
    let sandbox = Sandbox::new();
    let date =
        |(k, line): (usize, &str)| if k == 0 { format!("{line},date\n") } else { format!("{line},day{}\n", k % 4) };
    sandbox.write("nodes.csv", NODES.lines().enumerate().map(date).collect::<String>());
    let compare =
        "compare nodes.csv --edges edges.csv --target y --features x1 --lambda-grid 0.1,1 --validation 1 --test 1";
    for (flags, words) in
        [("", "at random"), ("--split last", "the last rows"), ("--split-by date", "same values of `date`")]
    {
        let printed = sandbox.succeed(&format!("{compare} {flags}"));
        assert!(printed.contains(words), "{flags}: {printed}");
    }
}

#[test]
fn the_demo_tells_its_story() {
    let sandbox = Sandbox::new();
    let words = sandbox.succeed("demo");
    let told = ["local", "mixed model", "boosted trees", "tuned", "split:", "fedweave-demo/report.html"];
    for word in told {
        assert!(words.contains(word), "{word}: {words}");
    }
    assert!(sandbox.read("fedweave-demo/report.html").contains("</html>"));
    let errors: Value = serde_json::from_str(&sandbox.read("fedweave-demo/summary.json")).unwrap();
    let error = |method: &str| errors[method]["test_error"].as_f64().unwrap();
    for method in ["local", "global", "networked", "mixed model", "learnt coupling"] {
        assert!(error("tuned") < 0.8 * error(method), "{method}: {errors}");
    }
    // What was written predicts, with intervals.
    let predicted = sandbox.succeed("predict fedweave-demo fedweave-demo/houses.csv.gz --interval 0.9");
    assert!(predicted.starts_with("node,prediction,lower,upper\n"), "{}", &predicted[..100]);
    // It replaces what it wrote itself.
    let words = sandbox.succeed("demo --weather");
    for word in ["local", "global", "networked", "split:", "fedweave-demo/report.html"] {
        assert!(words.contains(word), "{word}: {words}");
    }
    assert!(sandbox.read("fedweave-demo/report.html").contains("Finland"));
    // The network of the demo is a run like any other.
    assert!(words.contains("fedweave trust fedweave-demo/network"), "{words}");
    let found = sandbox.json("trust fedweave-demo/network --folds 2 --fits 1 --out trust.html");
    let [measured, items] = ["items_measured", "items"].map(|key| found[key].as_f64().unwrap());
    assert!(measured >= 0.7 * items, "{measured} of {items}");
}

#[test]
fn a_comparison_stopped_early_says_so() {
    let outcome = network().run("compare data/nodes.csv --edges data/edges.csv --target y --max-iterations 1");
    assert_eq!(outcome.code, 1, "{}", outcome.stdout);
}

#[test]
fn a_lambda_at_the_end_of_the_grid_is_noticed() {
    let sandbox = network();
    let fit = "fit data/nodes.csv --edges data/edges.csv --target y --lambda-grid 0.1,1";
    let notice = "the chosen lambda 0.100000 is the smallest tried";
    assert!(sandbox.succeed(&format!("{fit} --out run")).contains(notice));
    assert!(sandbox.json(fit)["lambda_notice"].as_str().unwrap().contains(notice));
    assert!(sandbox.read("run/report.json").contains(notice));
    let inside = "fit data/nodes.csv --edges data/edges.csv --target y";
    assert!(sandbox.json(inside)["lambda_notice"].is_null());
}
