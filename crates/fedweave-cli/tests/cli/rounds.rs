//! Solvers that exchange messages, as a user runs them.

use crate::sandbox::Sandbox;

const SQUARED: &str = "fit nodes.csv --edges edges.csv --target y --lambda 0.1 --penalty squared";
const NORM2: &str = "fit nodes.csv --edges edges.csv --target y --lambda 0.1";

/// All end at the objective of the default solver, say what they sent, and prove it.
#[test]
fn every_solver_reaches_the_same_objective() {
    let sandbox = Sandbox::new();
    let squared = sandbox.json(SQUARED)["objective"].as_f64().unwrap();
    let norm2 = sandbox.json(NORM2)["objective"].as_f64().unwrap();
    // Three edges, three parameters: 2 x 3 messages of 24 bytes a round.
    let cases = [
        (SQUARED, "fedgd", "", squared, Some(6)),
        (SQUARED, "fedsgd", "--batch 4 --schedule constant", squared, Some(6)),
        (SQUARED, "async-fedgd", "--active 0.7 --delay-max 3 --seed 4", squared, None),
        (SQUARED, "fedrelax", "", squared, Some(6)),
        (SQUARED, "fedrelax", "--order together", squared, Some(6)),
        (SQUARED, "projected-gradient", "--ball 100", squared, Some(6)),
        (SQUARED, "pdmm", "", squared, None),
        (NORM2, "pdmm", "--users 0.5 --tau 0.8 --nu 0.2", norm2, None),
        (NORM2, "pdmm", "--users 1 --as-printed", norm2, None),
    ];
    for (fit, solver, flags, wanted, messages) in cases {
        let found = sandbox.json(&format!("{fit} --solver {solver} {flags} --out run --overwrite"));
        let what = format!("{solver} {flags}: {found}");
        assert_eq!((&found["status"], &found["solver"]), (&"converged".into(), &solver.into()), "{what}");
        assert!((found["objective"].as_f64().unwrap() - wanted).abs() <= 2e-6 * wanted.abs().max(1.0), "{what}");
        let (rounds, sent) = (found["iterations"].as_u64().unwrap(), found["messages"].as_u64().unwrap());
        assert_eq!(found["bytes"].as_u64().unwrap(), 24 * sent, "{what}");
        assert!(messages.is_none_or(|m| sent == m * rounds) && sent > 0, "{what}");
        let history = sandbox.table("run/history.csv");
        assert_eq!(&history.header[8..], ["rounds", "messages", "bytes", "flops"], "{what}");
        let last = history.rows.last().unwrap();
        assert_eq!((&last[8], &last[10]), (&rounds.to_string(), &(24 * sent).to_string()), "{what}");
        assert!(sandbox.read("run/report.html").contains("bytes sent"));
    }
}

#[test]
fn a_number_of_rounds_is_kept_exactly() {
    let sandbox = Sandbox::new();
    let outcome = sandbox.run(&format!("{SQUARED} --solver fedgd --rounds 5 --json"));
    let found: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((outcome.code, &found["iterations"], &found["bytes"]), (1, &5.into(), &720.into()));
    let found = sandbox.json(&format!("{SQUARED} --solver fedgd --rounds 5000"));
    assert_eq!((&found["iterations"], &found["status"]), (&5000.into(), &"converged".into()));
    // Algorithm 1 with the steps of its paper.
    let found = sandbox.json(&format!("{NORM2} --solver primal-dual --step-ratio 1 --relaxation 1 --rounds 3000"));
    let wanted = sandbox.json(NORM2)["objective"].as_f64().unwrap();
    assert_eq!((&found["bytes"], &found["status"]), (&(3000 * 6 * 24).into(), &"converged".into()));
    assert!((found["objective"].as_f64().unwrap() - wanted).abs() < 2e-6, "{found}");
}

/// Every flag has its twin in the config file, and a run can be repeated from its own.
#[test]
fn settings_come_from_files_too() {
    let sandbox = Sandbox::new();
    let flags = "--solver fedsgd --batch 2 --schedule inverse --step 0.01 --rounds 40 --seed 3";
    sandbox.run(&format!("{SQUARED} {flags} --out first"));
    let config = sandbox.read("first/config.toml");
    for key in ["batch = 2", "schedule = \"inverse\"", "step = 0.01", "rounds = 40"] {
        assert!(config.contains(key), "{key} is missing in {config}");
    }
    sandbox.run("fit --config first/config.toml --out second");
    assert_eq!(sandbox.read("first/parameters.csv"), sandbox.read("second/parameters.csv"));
    sandbox.write("box.toml", "nodes = \"nodes.csv\"\nedges = \"edges.csv\"\ntarget = \"y\"\nlambda = 0.1\npenalty = \"squared\"\nsolver = \"projected-gradient\"\nbox = [-0.2, 0.2]\n");
    sandbox.succeed("fit --config box.toml --out third");
    let parameters = sandbox.table("third/parameters.csv");
    let all: Vec<f64> = (0..4).flat_map(|i| parameters.numbers(i)).collect();
    assert!(all.iter().all(|v| v.abs() <= 0.2) && all.iter().any(|v| v.abs() == 0.2), "{all:?}");
}

/// With a server: one model for all, a few, or one each near a common one; lambda has no part in it.
#[test]
fn methods_with_a_server() {
    let sandbox = Sandbox::new();
    let fit = "fit nodes.csv --edges edges.csv --target y";
    let cases = [("fedavg", "", 1), ("fedavg", "--prox", 1), ("ifca", "--models 2 --restarts 3", 2), ("pfedme", "", 4)];
    for (solver, flags, models) in cases {
        let found = sandbox.json(&format!("{fit} --solver {solver} {flags} --out run --overwrite"));
        assert_eq!((&found["status"], &found["lambda"]), (&"converged".into(), &0.0.into()), "{found}");
        let mut rows: Vec<Vec<String>> = sandbox.table("run/parameters.csv").rows;
        rows.iter_mut().for_each(|row| drop(row.remove(0)));
        rows.sort();
        rows.dedup();
        assert_eq!(rows.len(), models, "{solver} {flags}: {rows:?}");
    }
    // Held-out rows judge the models of the solver asked for: federated averaging is near the global model.
    let found = sandbox.json(&format!("{fit} --solver fedavg --local-steps 1 --validation 0.25 --tolerance 1e-9"));
    let (own, global) = (found["validation_error"].as_f64().unwrap(), found["global_error"].as_f64().unwrap());
    assert!((own - global).abs() < 1e-6 && (own - found["local_error"].as_f64().unwrap()).abs() > 1e-3, "{found}");
    // One gradient step a round is gradient descent on the pooled loss: the same as consensus.
    let pooled = sandbox.json(&format!("{fit} --solver fedavg --local-steps 1 --tolerance 1e-9"));
    let consensus = sandbox.json(&format!("{fit} --lambda 100"));
    let objective = |v: &serde_json::Value| v["objective"].as_f64().unwrap();
    assert!((objective(&pooled) - objective(&consensus)).abs() < 1e-6, "{pooled}\n{consensus}");
}

/// Lambda is chosen by the default solver, the final fit is by the one asked for.
#[test]
fn lambda_can_be_chosen() {
    let sandbox = Sandbox::new();
    let chosen = sandbox.json("fit nodes.csv --edges edges.csv --target y --penalty squared");
    let found = sandbox.json("fit nodes.csv --edges edges.csv --target y --penalty squared --solver fedrelax");
    assert_eq!((&found["lambda"], &found["solver"]), (&chosen["lambda"], &"fedrelax".into()));
}

#[test]
fn what_does_not_fit_is_refused() {
    let sandbox = Sandbox::new();
    let before = sandbox.snapshot();
    let cases = [
        (NORM2, "--solver fedgd", "fedgd needs a smooth penalty"),
        (NORM2, "--solver fedrelax", "fedrelax needs the squared"),
        (NORM2, "--solver async-fedgd", "async-fedgd needs a smooth penalty"),
        (SQUARED, "--loss absolute --solver fedgd", "fedgd needs losses without kinks"),
        (SQUARED, "--solver fedgd --batch 3", "--batch belongs to --solver fedsgd"),
        (SQUARED, "--step 0.1", "--step belongs to --solver fedgd, fedsgd"),
        (SQUARED, "--rounds 3", "--rounds belongs to --solver"),
        (SQUARED, "--solver fedgd --step -1", "step is -1"),
        (SQUARED, "--solver fedgd --step-ratio 1", "--step-ratio does not go with --solver fedgd"),
        (SQUARED, "--solver fedsgd --batch 0", "batch is 0"),
        (SQUARED, "--solver fedsgd --schedule quick", "--schedule quick: unknown; use inverse-root"),
        (SQUARED, "--solver async-fedgd --active 0", "active is 0"),
        (SQUARED, "--solver async-fedgd --delay-max 1000000000", "--delay-max"),
        (SQUARED, "--solver projected-gradient", "needs a constraint: --ball RADIUS or --box"),
        (SQUARED, "--solver projected-gradient --box 1", "--box takes two numbers"),
        (SQUARED, "--solver projected-gradient --box 1,0", "upper bound is 0"),
        (SQUARED, "--solver pdmm --users 2", "subset is 2"),
        (SQUARED, "--solver pdmm --rho 0", "rho is 0"),
        (SQUARED, "--solver fedavg --prox --local-steps 2", "give --prox or --local-steps"),
        (SQUARED, "--solver fedgd --gamma 2", "--gamma belongs to --solver pfedme"),
        (SQUARED, "--solver ifca --models 0", "k is 0"),
        (SQUARED, "--solver pfedme --gamma 0", "penalty is 0"),
        (SQUARED, "--solver sgd", "--solver sgd: unknown; use auto"),
        (
            "compare nodes.csv --edges edges.csv --target y",
            "--solver fedgd",
            "--solver fedgd belongs to `fedweave fit`",
        ),
        ("path nodes.csv --edges edges.csv --target y", "--solver pdmm", "--solver pdmm belongs to `fedweave fit`"),
    ];
    for (command, flags, says) in cases {
        let outcome = sandbox.run(&format!("{command} {flags} --out run"));
        assert_eq!(outcome.code, 2, "{flags}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(says), "{flags}: {}", outcome.stderr);
        assert!(!outcome.stderr.contains("panicked"), "{flags}: {}", outcome.stderr);
    }
    assert!(sandbox.snapshot() == before, "something was written");
}

/// A step that is too long ends with a status and the last models that were numbers.
#[test]
fn divergence_is_reported() {
    let sandbox = Sandbox::new();
    let outcome = sandbox.run(&format!("{SQUARED} --solver fedgd --step 100 --out run --json"));
    let found: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((outcome.code, &found["status"]), (1, &"diverged".into()));
    assert!(sandbox.exists("run/parameters.csv"));
}

/// The commands of the guide run, and print what the guide says.
#[test]
fn the_guide_is_true() {
    let sandbox = Sandbox::new();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    sandbox.succeed("generate demo --nodes 60 --clusters 3 --dim 4 --rows 12 --noise 0.1 --seed 1");
    for file in ["nodes.csv", "edges.csv"] {
        sandbox.write(file, sandbox.read(&format!("demo/{file}")));
    }
    let pages = "fedgd fedsgd async-fedgd fedrelax projected-gradient primal-dual pdmm fedavg ifca pfedme";
    let mut commands = 0;
    for page in pages.split(' ') {
        let text = std::fs::read_to_string(root.join(format!("{page}.md"))).unwrap().replace("\\\n        ", "");
        let mut printed = String::new();
        for line in text.lines().filter_map(|line| line.strip_prefix("    ")) {
            if let Some(arguments) = line.strip_prefix("fedweave ") {
                // What is far to the right is a remark.
                let arguments = arguments.split("          ").next().unwrap();
                let outcome = sandbox.run(arguments);
                assert!([0, 1].contains(&outcome.code), "{page}: {arguments}\n{}", outcome.stderr);
                (printed, commands) = (outcome.stdout, commands + 1);
            } else if ["converged:", "iteration-limit:", "sent:", "certified:"].iter().any(|w| line.starts_with(w)) {
                let told = line.rsplit_once("s, ").filter(|_| line.contains("iterations")).map_or(line, |t| t.0);
                assert!(printed.contains(told), "{page}: {told}\nis not in\n{printed}");
            }
        }
    }
    assert_eq!(commands, 12);
}
