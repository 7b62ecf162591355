//! Private fits and the commands about privacy.

use crate::sandbox::Sandbox;

const PRIVATE: &str = "fit nodes.csv --edges edges.csv --target y --lambda 1 --penalty squared --ridge 0.01 \
    --dp-range x1=-2:2 --dp-range x2=-2:2 --dp-range y=-3:3";

#[test]
fn epsilon_is_that_of_the_formula() {
    let sandbox = Sandbox::new();
    let found = sandbox.json("privacy epsilon --sigma 3.7306 --delta 1e-5");
    assert!((found["epsilon"].as_f64().unwrap() - 1.0).abs() < 1e-4, "{found}");
    assert_eq!(found["method"], "exact");
    let found = sandbox.json("privacy epsilon --sigma 1.1 --rate 0.01 --rounds 1000 --delta 1e-5");
    assert_eq!(found["method"], "loss-distribution");
    assert!(found["epsilon"].as_f64().unwrap() < found["renyi_epsilon"].as_f64().unwrap(), "{found}");
    assert!(sandbox.succeed("privacy epsilon --sigma 2 --delta 1e-6").contains("epsilon"));
    let found = sandbox.json("privacy epsilon --noise laplace --sigma 4 --rounds 2 --delta 0");
    assert_eq!((found["epsilon"].as_f64(), &found["method"]), (Some(0.5), &"exact".into()));
    let found = sandbox.json("privacy epsilon --noise laplace --sigma 20 --rounds 100 --delta 1e-6");
    assert!(found["epsilon"].as_f64().unwrap() < found["renyi_epsilon"].as_f64().unwrap(), "{found}");
}

#[test]
fn noise_shrinks_as_epsilon_grows_until_the_fit_is_the_plain_one() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&format!("{PRIVATE} --dp-epsilon 1e6 --dp-seed 1 --out loud"));
    sandbox.succeed("fit nodes.csv --edges edges.csv --target y --lambda 1 --penalty squared --ridge 0.01 --out plain");
    // The penalty is in units of ranges: half of what it is in the units of the data.
    let (a, b) = (sandbox.table("loud/parameters.csv"), sandbox.table("plain/parameters.csv"));
    assert!(a.distance(&b) < 0.6, "{}", a.distance(&b));
    let found = sandbox.json(&format!("{PRIVATE} --dp-epsilon 1"));
    assert_eq!(found["privacy"]["epsilon"], 1.0);
    assert_eq!(found["privacy"]["noise_source"], "operating system");
    assert!(found["validation_error"].is_null());
}

#[test]
fn noise_is_fresh_unless_a_seed_is_given_and_a_seed_is_said_aloud() {
    let sandbox = Sandbox::new();
    for (out, seed) in [("a", ""), ("b", ""), ("c", "--dp-seed 3"), ("d", "--dp-seed 3")] {
        let said = sandbox.succeed(&format!("{PRIVATE} --dp-epsilon 1 {seed} --out {out}"));
        assert_eq!(said.contains("protects nothing"), !seed.is_empty(), "{said}");
    }
    let parameters = |run: &str| sandbox.read(&format!("{run}/parameters.csv"));
    assert_ne!(parameters("a"), parameters("b"));
    assert_eq!(parameters("c"), parameters("d"));
}

#[test]
fn models_with_noise_tell_nothing_else_about_the_rows() {
    let sandbox = Sandbox::new();
    let command = "fit labels.csv --edges edges.csv --target y --loss logistic --lambda 0.1 --ridge 0.5 \
        --dp-range x1=-3:3 --dp-range x2=-3:3 --dp-epsilon 2";
    let found = sandbox.json(command);
    assert_eq!(found["privacy"]["method"], "output");
    for key in ["objective", "certified_gap", "train_error", "train_accuracy", "liar_bound"] {
        assert!(found[key].is_null(), "{key}: {}", found[key]);
    }
    sandbox.succeed(&format!("{command} --out run"));
    assert_eq!(sandbox.table("run/history.csv").rows.len(), 0);
    sandbox.succeed("predict run labels.csv --out predictions.csv");
}

#[test]
fn no_side_door_tells_about_protected_rows() {
    let sandbox = Sandbox::new();
    let (mut rows, mut fixed) = (String::from("node,x1,x2,y,lat,colour\n"), String::from("node,x1,x2,y,lat,colour\n"));
    for (i, k) in (0..4).flat_map(|i| (0..6).map(move |k| (i, k))) {
        let (x1, x2, colour) = (k as f64 / 5.0, (k * k % 5) as f64 / 5.0, ["red", "blue"][k % 2]);
        rows += &format!("n{i},{x1},{x2},{},{}.{k},{colour}\n", x1 - x2, i);
        fixed += &format!("n{i},{x1},{x2},{},{i},{colour}\n", x1 - x2);
    }
    sandbox.write("moving.csv", rows);
    sandbox.write("fixed.csv", fixed);
    let known = "--target y --lambda 1 --penalty squared --features x1,x2 --dp-epsilon 1 --dp-range x1=0:1 --dp-range x2=0:1 --dp-range y=-1:1";
    let doors = [
        // A step that follows from the rows would stand in the files of all parts.
        (format!("up nodes.csv --edges edges.csv {known} --solver fedgd"), "--step"),
        (format!("up nodes.csv --edges edges.csv {known} --solver async-fedgd --rounds 3"), "--step"),
        // The graph would follow from means over rows, columns from texts that occur.
        (format!("fit moving.csv --knn 1 --by lat {known}"), "--node-info"),
        (
            format!("fit fixed.csv --knn 1 --by lat {known} --one-hot colour --dp-range colour=red=0:1"),
            "which texts occur",
        ),
    ];
    for (command, says) in doors {
        let refused = sandbox.run(&command);
        assert!(refused.code == 2 && refused.stderr.contains(says), "{command}\n{}{}", refused.stdout, refused.stderr);
    }
    sandbox.succeed(&format!("fit fixed.csv --knn 1 --by lat {known} --out run"));
    for command in ["explain run", "check run", "stress run", "trust run --out page.html", "fairness run --group x1"] {
        let refused = sandbox.run(command);
        assert!(refused.code == 2 && refused.stderr.contains("--dp-epsilon"), "{command}\n{}", refused.stderr);
    }
}

#[test]
fn a_label_out_of_reach_pulls_no_harder_and_is_not_noticed() {
    let sandbox = Sandbox::new();
    let nodes = sandbox.read("nodes.csv");
    let last = nodes.trim_end().rsplit_once(',').expect("columns").0.to_owned();
    for (method, epsilon) in [("output", 2.0), ("objective", 8.0)] {
        for (label, run) in [("1e6", "near"), ("1e20", "far")] {
            sandbox.write("label.csv", format!("{last},{label}\n"));
            sandbox.succeed(&format!(
                "fit label.csv --edges edges.csv --target y --loss huber --lambda 0.1 --ridge 0.5 --dp-method {method} --dp-epsilon {epsilon} \
                 --dp-range x1=-3:3 --dp-range x2=-3:3 --dp-seed 3 --out {run} --overwrite"
            ));
        }
        let models = |run: &str| sandbox.table(&format!("{run}/parameters.csv"));
        assert!(
            models("near").distance(&models("far")) < 1e-3,
            "{method}: {}",
            models("near").distance(&models("far"))
        );
    }
}

#[test]
fn an_audit_does_not_refute_what_is_true() {
    for method in ["statistics", "gradients --rounds 3", "output"] {
        let found =
            Sandbox::new().json(&format!("privacy audit --epsilon 1 --canaries 50000 --seed 1 --method {method}"));
        assert_eq!(found["refuted"], false, "{found}");
        assert!(method.starts_with(found["method"].as_str().unwrap()), "{found}");
        assert!(found["eps_low"].as_f64().unwrap() > 0.6, "{found}");
    }
}

#[test]
fn parts_of_a_federation_spend_once_and_refuse_more() {
    let sandbox = Sandbox::new();
    let up = "up nodes.csv --edges edges.csv --target y --lambda 1 --penalty squared --ridge 0.1 --parts 2 --rounds 20 \
        --loopback-plaintext --work work --dp-range x1=-2:2 --dp-range x2=-2:2 --dp-range y=-3:3 --dp-epsilon 1 --out run";
    let said = sandbox.run(up);
    assert!(said.code <= 1, "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("private: epsilon 1"), "{}", said.stdout);
    let parts = ["part-0000", "part-0001"].map(|part| format!("work/{part}/node.toml"));
    let parts: Vec<&String> = parts.iter().filter(|path| sandbox.exists(path)).collect();
    assert!(!parts.is_empty(), "{:?}", sandbox.snapshot().iter().map(|(path, _)| path.clone()).collect::<Vec<_>>());
    let spent = sandbox.json(&format!("privacy ledger {}", parts[0]));
    let found = spent["parts"][0]["spent"].as_f64().unwrap();
    assert!(found <= 1.0 + 1e-9 && found > 0.99, "{spent}");
    // Rows change: the budget is for one release.
    let folder = parts[0].trim_end_matches("node.toml");
    let rows = sandbox.read(&format!("{folder}rows.csv"));
    let kept: Vec<&str> = rows.lines().take(rows.lines().count() - 1).collect();
    sandbox.write(&format!("{folder}rows.csv"), kept.join("\n") + "\n");
    std::fs::remove_dir_all(sandbox.path(&format!("{folder}state"))).unwrap();
    let refused = sandbox.run(&format!("node --config {} --loopback-plaintext", parts[0]));
    assert_eq!(refused.code, 2, "{}{}", refused.stdout, refused.stderr);
    assert!(refused.stderr.contains("the privacy of these rows is spent"), "{}", refused.stderr);
}

#[test]
fn features_hide_a_column_from_linear_guesses() {
    let sandbox = Sandbox::new();
    let found = sandbox.json("privacy features nodes.csv --private x1 --target y --out z.csv");
    let (hidden, target) = (&found["columns"][0], &found["columns"][1]);
    assert!(hidden["linear_after"].as_f64().unwrap() < 1e-9, "{found}");
    assert_eq!((&hidden["column"], &target["column"]), (&"x1".into(), &"y".into()));
    assert_eq!(sandbox.table("z.csv").header, ["node", "x2", "y"]);
    let funnel = found["funnel"].as_array().unwrap();
    assert_eq!(funnel.len(), 11);
    let leaks: Vec<f64> = funnel.iter().map(|point| point["leakage"].as_f64().unwrap()).collect();
    assert!(leaks.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12) && leaks[0] > 1.1 * leaks[5], "{leaks:?}");
    assert!(leaks[5] > leaks[10], "{leaks:?}");
    let said = sandbox.succeed("privacy features nodes.csv --private x1 --target y --out again.csv");
    assert!(said.contains("privacy funnel") && said.contains("  1.0"), "{said}");
}

const PUBLIC: &str = "x1,x2\n-1,-1\n-0.5,0.5\n0,0\n0.5,-0.5\n1,1\n0.2,0.8\n";

#[test]
fn models_of_any_class_learn_from_public_rows_that_teachers_label_with_noise() {
    let sandbox = Sandbox::new();
    sandbox.write("public.csv", PUBLIC);
    let tree = "nodes.csv --edges edges.csv --target y --model tree --lambda 1 --rounds 3 --public public.csv --dp-range y=-3:3";
    let found = sandbox.json(&format!("fit {tree} --dp-epsilon 2 --dp-teachers 4"));
    assert_eq!((&found["privacy"]["method"], found["privacy"]["teachers"].as_u64()), (&"votes".into(), Some(4)));
    // Every node with rows learns from the public rows, whatever its own are.
    assert_eq!(found["rows"].as_u64().unwrap() % 6, 0, "{found}");
    for (run, epsilon) in [("a", "--dp-epsilon 2"), ("b", "--dp-epsilon 2"), ("c", "--dp-epsilon 2 --dp-seed 1")] {
        let said = sandbox.succeed(&format!("fit {tree} {epsilon} --out {run}"));
        assert_eq!(said.contains("protects nothing"), run == "c", "{said}");
        assert!(said.contains("against the votes"), "{said}");
    }
    assert_ne!(sandbox.read("a/models.json"), sandbox.read("b/models.json"));
    sandbox.succeed("predict a nodes.csv --out predictions.csv");
    let refusals = [
        (tree.replace("--public public.csv", "") + " --dp-epsilon 2", "--public FILE"),
        (tree.replace("--dp-range y=-3:3", "") + " --dp-epsilon 2", "--dp-range y=LOW:HIGH"),
        (tree.replace("--lambda 1", "") + " --dp-epsilon 2", "--lambda NUMBER"),
        (format!("{tree} --dp-epsilon 2 --validation 0.2"), "--validation"),
        (format!("{tree} --dp-epsilon 2 --split-file split.csv"), "--split-file"),
        (format!("{tree} --dp-epsilon 2 --standardize"), "--standardize"),
        (format!("{tree} --dp-epsilon 2 --dp-method statistics"), "votes"),
        (format!("{tree} --dp-epsilon 2 --dp-clip 1"), "--dp-clip"),
    ];
    for (command, says) in refusals {
        let refused = sandbox.run(&format!("fit {command}"));
        assert!(refused.code == 2 && refused.stderr.contains(says), "{command}\n{}", refused.stderr);
    }
}

#[test]
fn parts_pay_for_votes_once() {
    let sandbox = Sandbox::new();
    sandbox.write("public.csv", PUBLIC);
    let up = "up nodes.csv --edges edges.csv --target y --model tree --lambda 1 --rounds 3 --public public.csv --dp-range y=-3:3 --dp-epsilon 2 \
        --parts 2 --loopback-plaintext --work work --out run";
    let said = sandbox.succeed(up);
    assert!(said.contains("private: epsilon 2"), "{said}");
    let found = sandbox.read_json("run/summary.json");
    assert!(found["privacy"]["method"] == "votes" && found["train_error"].is_null(), "{found}");
    let spent = sandbox.json("privacy ledger work/part-0000/node.toml");
    assert!((spent["parts"][0]["spent"].as_f64().unwrap() - 2.0).abs() < 1e-6, "{spent}");
    // The same release again, also for another start; other rows would be another one, which nobody paid for.
    let ledger = sandbox.read("work/part-0000/ledger.json");
    assert!(ledger.contains("labels"), "{ledger}");
    let rows = sandbox.read("work/part-0000/rows.csv");
    let kept: Vec<&str> = rows.lines().take(rows.lines().count() - 1).collect();
    sandbox.write("work/part-0000/rows.csv", kept.join("\n") + "\n");
    std::fs::remove_dir_all(sandbox.path("work/part-0000/state")).unwrap();
    let refused = sandbox.run("node --config work/part-0000/node.toml --loopback-plaintext");
    assert!(refused.code == 2 && refused.stderr.contains("is spent"), "{}{}", refused.stdout, refused.stderr);
}

#[test]
fn models_on_a_line_tell_where_they_are() {
    let sandbox = Sandbox::new();
    let (mut rows, mut edges) = (String::from("node,x,y,place\n"), String::from("source,target\n"));
    for i in 0..40 {
        (0..6).for_each(|k| rows += &format!("n{i:02},{k},{},{i}\n", i * k));
        edges += &if i > 0 { format!("n{:02},n{i:02}\n", i - 1) } else { String::new() };
    }
    sandbox.write("line.csv", rows);
    sandbox.write("line-edges.csv", edges);
    sandbox.succeed(
        "fit line.csv --edges line-edges.csv --target y --features x --lambda 0.001 --penalty squared --out run",
    );
    let found = sandbox.json("privacy leak run --table line.csv --attribute place");
    assert!(found["linear"]["r2"].as_f64().unwrap() > 0.99, "{found}");
    let refused = sandbox.run("privacy leak run --table nodes.csv --attribute x1");
    assert!(refused.code == 2 && refused.stderr.contains("at least 20"), "{}", refused.stderr);
}

const DESCENT: &str = "--lambda 1 --penalty squared --ridge 0.1 --dp-method gradients --dp-rounds 20 --dp-epsilon 4 \
    --dp-range x1=-2:2 --dp-range x2=-2:2";

#[test]
fn noisy_gradients_lead_processes_where_they_lead_one_machine() {
    let sandbox = Sandbox::new();
    for (name, extra) in [("all", ""), ("some", "--dp-sample 0.5")] {
        let seeded = format!("nodes.csv --edges edges.csv --target y {DESCENT} --dp-range y=-3:3 --dp-seed 5 {extra}");
        let said = sandbox.succeed(&format!("fit {seeded} --out {name}-fit"));
        assert!(said.contains("the gradients of every node in 20 rounds"), "{said}");
        sandbox.succeed(&format!("up {seeded} --parts 2 --loopback-plaintext --work {name}-work --out {name}-up"));
        let parameters = |run: &str| sandbox.read(&format!("{name}-{run}/parameters.csv"));
        assert_eq!(parameters("fit"), parameters("up"));
        let found: serde_json::Value = serde_json::from_str(&sandbox.read(&format!("{name}-up/summary.json"))).unwrap();
        assert_eq!(found["privacy"]["method"], "gradients");
        assert_eq!(found["privacy"]["adjacency"].as_str().unwrap().contains("left out"), name == "some");
        assert!(found["objective"].is_null() && found["train_error"].is_null(), "{found}");
        let spent = sandbox.json(&format!("privacy ledger {name}-work/part-0000/node.toml"));
        let part = &spent["parts"][0];
        assert_eq!((part["gradients_bought"].as_u64(), part["gradients_released"].as_u64()), (Some(20), Some(20)));
        assert!((part["spent"].as_f64().unwrap() - 4.0).abs() < 1e-6, "{spent}");
    }
    // Without a seed no two runs are the same.
    let fresh = format!("fit nodes.csv --edges edges.csv --target y {DESCENT} --dp-range y=-3:3");
    sandbox.succeed(&format!("{fresh} --out a"));
    sandbox.succeed(&format!("{fresh} --out b"));
    assert_ne!(sandbox.read("a/parameters.csv"), sandbox.read("b/parameters.csv"));
}

#[test]
fn a_part_that_lost_its_ledger_sends_nothing() {
    let sandbox = Sandbox::new();
    let up = format!(
        "up labels.csv --edges edges.csv --target y --loss logistic {DESCENT} --parts 2 --loopback-plaintext --work work"
    );
    sandbox.succeed(&format!("{up} --out run"));
    let folder = "work/part-0000";
    let log = std::fs::read_dir(sandbox.path(folder)).unwrap().map(|entry| entry.unwrap().path());
    let log = log.into_iter().find(|path| path.extension().is_some_and(|e| e == "rounds")).expect("a log of releases");
    // An older one.
    let records = std::fs::read(&log).unwrap();
    std::fs::write(&log, &records[..records.len() / 2]).unwrap();
    let refused = sandbox.run(&format!("node --config {folder}/node.toml --loopback-plaintext --resume"));
    assert_eq!(refused.code, 2, "{}{}", refused.stdout, refused.stderr);
    assert!(refused.stderr.contains("more releases than the ledger"), "{}", refused.stderr);
    // None at all, also for who starts anew without the state.
    std::fs::remove_file(log).unwrap();
    std::fs::rename(sandbox.path(&format!("{folder}/state")), sandbox.path("kept")).unwrap();
    let refused = sandbox.run(&format!("node --config {folder}/node.toml --loopback-plaintext --resume"));
    assert!(refused.code == 2 && refused.stderr.contains("which gradients were released"), "{}", refused.stderr);
    std::fs::remove_dir_all(sandbox.path(&format!("{folder}/state"))).unwrap();
    std::fs::rename(sandbox.path("kept"), sandbox.path(&format!("{folder}/state"))).unwrap();
    std::fs::remove_file(sandbox.path(&format!("{folder}/ledger.json"))).unwrap();
    let refused = sandbox.run(&format!("node --config {folder}/node.toml --loopback-plaintext --resume"));
    assert!(refused.code == 2 && refused.stderr.contains("lost or replaced"), "{}", refused.stderr);
}

#[test]
fn the_budget_pays_for_lambda_and_for_narrower_ranges() {
    let sandbox = Sandbox::new();
    let (mut rows, mut edges) = (String::from("node,x1,x2,y\n"), String::from("source,target\n"));
    for i in 0..12 {
        (0..10).for_each(|k| {
            rows +=
                &format!("n{i:02},{},{},{}\n", k as f64 / 5.0 - 1.0, (k * i % 7) as f64 / 7.0, (k + i) as f64 / 10.0)
        });
        edges += &if i > 0 { format!("n{:02},n{i:02}\n", i - 1) } else { String::new() };
    }
    sandbox.write("many.csv", rows);
    sandbox.write("many-edges.csv", edges);
    let auto = PRIVATE
        .replace("--lambda 1", "--lambda auto")
        .replace("edges.csv", "many-edges.csv")
        .replace("nodes.csv", "many.csv");
    let found = sandbox.json(&format!("{auto} --dp-epsilon 1000"));
    assert!(found["privacy"]["lambda"].as_str().unwrap().contains("exponential mechanism"), "{found}");
    assert!(found["lambda"].as_f64().is_some());
    let found = sandbox.json(&format!("{auto} --lambda-grid 0.5 --dp-epsilon 2 --standardize"));
    assert_eq!(found["lambda"], 0.5);
    assert!(found["privacy"]["scaling"].as_str().unwrap().contains("noisy moments"), "{found}");
    let refused = sandbox.run(
        "fit labels.csv --edges edges.csv --target y --loss logistic --lambda auto --ridge 0.5 --dp-epsilon 1 \
         --dp-range x1=-3:3 --dp-range x2=-3:3",
    );
    assert!(refused.code == 2 && refused.stderr.contains("a release of its own"), "{}", refused.stderr);
}

#[test]
fn noise_in_the_objective_vanishes_as_epsilon_grows() {
    let sandbox = Sandbox::new();
    let command = "fit labels.csv --edges edges.csv --target y --loss logistic --lambda 0.1 --penalty squared --ridge 0.5 \
        --dp-range x1=-3:3 --dp-range x2=-3:3 --dp-seed 2";
    for (run, method, epsilon) in [("a", "objective", 1e7), ("b", "output", 1e7), ("c", "objective", 2.0)] {
        let found = sandbox.json(&format!("{command} --dp-method {method} --dp-epsilon {epsilon} --out {run}"));
        assert_eq!(found["privacy"]["method"], method);
    }
    let models = |run: &str| sandbox.table(&format!("{run}/parameters.csv"));
    assert!(models("a").distance(&models("b")) < 1e-2, "{}", models("a").distance(&models("b")));
    assert!(models("a").distance(&models("c")) > 1e-2);
}

#[test]
fn rows_that_were_learnt_by_heart_are_told_from_others_and_moments_are_solved_for() {
    let sandbox = Sandbox::new();
    let (mut rows, mut others, mut edges) =
        (String::from("node,x,z,y\n"), String::from("node,x,z,y\n"), String::from("source,target\n"));
    let mut state = 7u64;
    let mut draw = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as f64 / f64::from(1u32 << 31) - 0.5
    };
    for i in 0..40 {
        // Three rows, three parameters: they are fitted exactly, and labels are chance.
        (0..3).for_each(|_| rows += &format!("n{i:02},{},{},{}\n", draw(), draw(), draw()));
        (0..6).for_each(|_| others += &format!("n{i:02},{},{},{}\n", draw(), draw(), draw()));
        edges += &if i > 0 { format!("n{:02},n{i:02}\n", i - 1) } else { String::new() };
    }
    for (file, text) in [("heart.csv", rows), ("others.csv", others), ("heart-edges.csv", edges)] {
        sandbox.write(file, text);
    }
    sandbox.succeed("fit heart.csv --edges heart-edges.csv --target y --lambda 0 --penalty squared --out run");
    let found = sandbox.json("privacy leak run --members heart.csv --others others.csv");
    let auc = &found["membership"]["auc"];
    assert!(auc["value"].as_f64().unwrap() > 0.7 && auc["low"].as_f64().unwrap() > 0.6, "{found}");
    assert!(found["membership"]["information"]["value"].as_f64().unwrap() > 0.05, "{found}");
    let found = sandbox.json("privacy leak run --members others.csv --others others.csv");
    assert!((found["membership"]["auc"]["value"].as_f64().unwrap() - 0.5).abs() < 1e-9, "{found}");
    let found = sandbox.json("privacy reconstruct heart.csv --target y --epsilon 1 --seed 1");
    assert_eq!(found["plain"]["known"], 1.0);
    assert!(found["plain"]["median_error"].as_f64().unwrap() < 1e-6, "{found}");
    assert!(found["noisy"]["known"] == 0.0 && found["noisy"]["median_error"].as_f64().unwrap() > 0.5, "{found}");
}
