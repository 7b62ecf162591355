//! For whom models work, how stable they are, and the page that says so.

use std::fmt::Write;

use serde_json::Value;

use crate::sandbox::Sandbox;

const FIT: &str = "fit nodes.csv --edges edges.csv --target y --penalty squared --lambda 0.3 --tolerance 1e-11";

/// Twelve nodes on a ring, 10 rows each, of two groups; `g` earns 2 more for nothing, and group `b` is three times as noisy.
fn two_groups(sandbox: &Sandbox) {
    let (mut rows, mut edges) = (String::from("node,x,g,sex,y\n"), String::from("source,target,weight\n"));
    let mut state = 7u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 30) - 1.0
    };
    for i in 0..12 {
        writeln!(edges, "n{i:02},n{:02},1", (i + 1) % 12).unwrap();
        for r in 0..10 {
            let (x, second) = (draw(), r % 3 == 0);
            let (g, name, noise) = if second { (1.0, "b", 0.9) } else { (-1.0, "a", 0.3) };
            writeln!(rows, "n{i:02},{x},{g},{name},{}", 1.5 * x + g + noise * draw()).unwrap();
        }
    }
    sandbox.write("nodes.csv", rows);
    sandbox.write("edges.csv", edges);
}

/// What is said of a command that cannot be carried out.
fn refuse(sandbox: &Sandbox, arguments: &str) -> String {
    let found = sandbox.run(arguments);
    assert_eq!(found.code, 2, "{arguments}: {}{}", found.stdout, found.stderr);
    found.stderr
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn errors_by_group_average_to_the_error_and_the_gap_is_seen() {
    let sandbox = Sandbox::new();
    two_groups(&sandbox);
    sandbox.succeed(&format!("{FIT} --drop sex --out run"));
    let found = sandbox.json("fairness run --group sex --out fairness.csv");
    let groups = found["groups"].as_array().unwrap();
    let share = |g: &Value| number(&g["error"]["rows"]) / 120.0;
    let mean: f64 = groups.iter().map(|g| share(g) * number(&g["error"]["value"])).sum();
    assert!((mean - number(&found["error"]["value"])).abs() < 1e-9, "{found}");
    assert_eq!((found["gap"]["largest"].as_str(), groups.len()), (Some("b"), 2));
    let low = number(&found["gap"]["difference"]["interval"][0]);
    assert!(low > 0.0, "the noisier group is seen: {}", found["gap"]);
    // No feature is called `sex`, so nothing depends on it directly; `g` does stand for it.
    assert!(found["counterfactual_gap"].is_null());
    let direct = sandbox.json("fairness run --group g");
    assert!((number(&direct["counterfactual_gap"]["value"]) - 2.0).abs() < 0.3, "{}", direct["counterfactual_gap"]);
    let table = sandbox.read("fairness.csv");
    assert_eq!(table.lines().count(), 1 + 2 + 12);
    assert_eq!(
        sandbox.json("fairness run --group sex --threads 1"),
        sandbox.json("fairness run --group sex --threads 3")
    );
}

/// Rows of other groups, by hand: the augmentation is the same problem.
#[test]
fn swapped_rows_are_rows_that_were_added() {
    let sandbox = Sandbox::new();
    two_groups(&sandbox);
    sandbox.succeed(&format!("{FIT} --drop sex --fair g --fair-by swap --out fair"));
    let rows = sandbox.read("nodes.csv");
    let mut lines: Vec<String> = rows.lines().map(String::from).collect();
    let swapped = |line: &String| {
        let mut cells: Vec<String> = line.split(',').map(String::from).collect();
        cells[2] = (-cells[2].parse::<f64>().unwrap()).to_string();
        cells.join(",")
    };
    let copies: Vec<String> = lines.iter().skip(1).map(swapped).collect();
    lines.extend(copies);
    sandbox.write("both.csv", lines.join("\n") + "\n");
    sandbox.succeed(&format!("{} --drop sex --out by-hand", FIT.replace("nodes.csv", "both.csv")));
    let (a, b) = (sandbox.table("fair/parameters.csv"), sandbox.table("by-hand/parameters.csv"));
    assert!(a.distance(&b) < 1e-9, "{}", a.distance(&b));
    let found = sandbox.json("fairness fair --group g");
    assert!(number(&found["counterfactual_gap"]["value"]) < 1e-6, "{}", found["counterfactual_gap"]);
    let refused = refuse(&sandbox, "fairness fair --group sex");
    assert!(refused.contains("--fair g"), "{refused}");
}

#[test]
fn groups_with_larger_errors_count_more() {
    let sandbox = Sandbox::new();
    two_groups(&sandbox);
    let plain = sandbox.json(&format!("{FIT} --drop g,sex --fair sex --fair-strength 0"));
    let even = sandbox.json(&format!("{FIT} --drop g,sex --fair sex --fair-strength 4"));
    let group = |found: &Value, g: usize, what: &str| number(&found["fairness"]["groups"][g][what]);
    assert_eq!((group(&plain, 0, "weight"), group(&plain, 1, "weight")), (1.0, 1.0));
    assert_eq!(even["fairness"]["settled"], true);
    let ratio = (group(&even, 1, "train_error") / group(&even, 0, "train_error")).powi(4);
    let weights = group(&even, 1, "weight") / group(&even, 0, "weight");
    assert!((weights / ratio - 1.0).abs() < 1e-2, "{weights} {ratio}");
    let apart = |found: &Value| group(found, 1, "train_error") - group(found, 0, "train_error");
    assert!(apart(&even).abs() < apart(&plain).abs(), "{} {}", apart(&even), apart(&plain));
    sandbox.succeed(&format!("{FIT} --drop g,sex --out run"));
    let curve = sandbox.json("fairness run --group sex --curve errors --folds 3");
    let points = curve["curve"].as_array().unwrap();
    assert_eq!((points.len(), number(&points[0]["price"]["value"])), (5, 0.0));
    assert_eq!(points[0]["error"]["value"], curve["error"]["value"]);
}

#[test]
fn fairness_is_refused_where_it_means_nothing() {
    let sandbox = Sandbox::new();
    two_groups(&sandbox);
    let cases = [
        ("--drop sex --fair colour", "colour"),
        ("--drop sex --fair x", "values"),
        ("--drop g,sex --fair sex --fair-by swap", "not among the features"),
        ("--drop sex --fair g --fair-by swap --fair-strength 2", "from 0 to 1"),
        ("--drop sex --fair-strength 2", "--fair"),
        ("--drop sex --fair g --fair-by hope", "hope"),
    ];
    for (flags, words) in cases {
        let told = refuse(&sandbox, &format!("{FIT} {flags} --out run"));
        assert!(told.contains(words), "{flags}: {told}");
    }
    let told = refuse(
        &sandbox,
        &format!("{} --drop sex --fair g", FIT.replace("--penalty squared --lambda 0.3", "--coupling learnt")),
    );
    assert!(told.contains("--coupling learnt"), "{told}");
}

#[test]
fn stress_is_the_same_for_any_threads_and_nothing_for_none() {
    let sandbox = Sandbox::new();
    two_groups(&sandbox);
    sandbox.succeed(&format!("{FIT} --drop sex --out run"));
    let found = sandbox.json("stress run --fits 6 --threads 1 --out stress.csv");
    assert_eq!(found, sandbox.json("stress run --fits 6 --threads 3"));
    assert_ne!(found, sandbox.json("stress run --fits 6 --seed 1"));
    let kinds = found["kinds"].as_array().unwrap();
    let names: Vec<&str> = kinds.iter().map(|kind| kind["kind"].as_str().unwrap()).collect();
    assert_eq!(names, ["rows", "nodes", "weights", "labels"]);
    for kind in kinds {
        assert!(number(&kind["prediction_change"]) > 0.0 && number(&kind["worst_decile"]) > 0.0, "{kind}");
        assert!(kind["cluster_agreement"].is_null(), "squared differences fuse nothing");
    }
    assert_eq!(sandbox.read("stress.csv").lines().count(), 1 + 4 * 12);
    let still = sandbox.json("stress run --kind weights,labels --spread 0 --noise 0 --fits 2");
    for kind in still["kinds"].as_array().unwrap() {
        assert!(number(&kind["prediction_change"]) < 1e-7, "{kind}");
    }
    for (flags, words) in
        [("--kind hope", "hope"), ("--fits 0", "--fits"), ("--leave 1", "--leave"), ("--noise 11", "--noise")]
    {
        let told = refuse(&sandbox, &format!("stress run {flags}"));
        assert!(told.contains(words), "{told}");
    }
}

/// Of two clusters far apart, the partition stays whatever rows are drawn.
#[test]
fn clusters_that_are_clear_stay() {
    let sandbox = Sandbox::new();
    let (mut rows, mut edges) = (String::from("node,x,y\n"), String::from("source,target,weight\n"));
    for i in 0..8 {
        for r in 0..12 {
            let x = (f64::from(r) * 1.7 + f64::from(i)).sin();
            writeln!(rows, "n{i},{x},{}", if i < 4 { 3.0 * x + 2.0 } else { -3.0 * x - 2.0 }).unwrap();
        }
        // All of a cluster are joined, so that it stays one if a node leaves.
        for j in (0..i).filter(|j| (*j < 4) == (i < 4)) {
            writeln!(edges, "n{j},n{i},1").unwrap();
        }
    }
    edges += "n3,n4,1\n";
    sandbox.write("nodes.csv", rows);
    sandbox.write("edges.csv", edges);
    sandbox.succeed("fit nodes.csv --edges edges.csv --target y --lambda 0.05 --out run");
    let found = sandbox.json("stress run --fits 4");
    assert_eq!(found["clusters"], 2);
    for kind in found["kinds"].as_array().unwrap() {
        assert_eq!(number(&kind["cluster_agreement_least"]), 1.0, "{kind}");
    }
}

#[test]
fn the_page_has_numbers_with_commands_for_most_items() {
    let sandbox = Sandbox::new();
    two_groups(&sandbox);
    sandbox.succeed(&format!("{FIT} --drop sex --out run"));
    let found = sandbox.json("trust run --group sex --fits 2 --out trust.html");
    let (measured, items) = (number(&found["items_measured"]), number(&found["items"]));
    assert!(items == 19.0 && measured >= 0.7 * items, "{measured} of {items}");
    let requirements = found["requirements"].as_array().unwrap();
    assert_eq!(requirements.len(), 7);
    let all = || requirements.iter().flat_map(|r| r["items"].as_array().unwrap());
    for measure in all().flat_map(|item| item["measures"].as_array().unwrap()) {
        assert!(measure["value"].is_number() && !measure["shown"].as_str().unwrap().is_empty(), "{measure}");
        assert!(measure["command"].as_str().unwrap().len() > 5, "{measure}");
    }
    for item in all() {
        assert!(!item["questions"].as_array().unwrap().is_empty(), "{item}");
        assert!(item["missing"].as_array().unwrap().iter().all(|m| !m["why"].as_str().unwrap().is_empty()));
    }
    let page = sandbox.read("trust.html");
    assert!(page.starts_with("<!doctype html>") && !page.contains("http://") && !page.contains("https://"));
    // A number of the page is the number of the command beside it.
    let item = all().find(|item| item["id"] == "5.1").unwrap();
    let gap = &item["measures"][0];
    let command = gap["command"].as_str().unwrap().strip_prefix("fedweave ").unwrap();
    let again = sandbox.json(command);
    assert_eq!(again["gap"]["difference"]["value"], gap["value"]);
    let same = all().find(|item| item["id"] == "2.4").unwrap()["measures"][0].clone();
    assert_eq!(number(&same["value"]), 0.0, "{same}");
    let told = refuse(&sandbox, "trust run --group nothing");
    assert!(told.contains("nothing"), "{told}");
    let told = refuse(&sandbox, "trust nowhere");
    assert!(told.contains("nowhere"), "{told}");
}

/// Parts of a federation keep event logs, and their traffic is counted.
#[test]
fn the_page_of_a_federation_of_four_parts() {
    let sandbox = Sandbox::new();
    two_groups(&sandbox);
    sandbox.succeed(
        "up nodes.csv --edges edges.csv --target y --drop sex --penalty squared --lambda 0.3 --parts 4 --work parts --out run",
    );
    let found = sandbox.json("trust run --group sex --fits 2");
    let (measured, items) = (number(&found["items_measured"]), number(&found["items"]));
    assert!(measured >= 0.7 * items, "{measured} of {items}");
    assert!(found["about"][0].as_str().unwrap().contains("a federation of 4 parts"), "{}", found["about"]);
    let requirements = found["requirements"].as_array().unwrap();
    let item =
        |id: &str| requirements.iter().flat_map(|r| r["items"].as_array().unwrap()).find(|i| i["id"] == id).unwrap();
    let named = |id: &str, words: &str| {
        let all = item(id)["measures"].as_array().unwrap();
        all.iter().find(|m| m["name"].as_str().unwrap().contains(words)).unwrap_or_else(|| panic!("{words}: {all:?}"))
    };
    assert!(number(&named("6.1", "bytes")["value"]) > 1000.0);
    let logs = named("7.1", "event logs");
    assert_eq!(logs["parts"].as_array().unwrap().len(), 4);
    // The models that the parts found are those of one machine, up to their tolerance.
    assert!(number(&named("2.4", "fitted again")["value"]) < 1e-2);
    // Somebody changes a line of a log.
    let path = std::fs::read_dir(sandbox.path("parts")).unwrap().flatten().map(|e| e.path().join("state/events.jsonl"));
    let log = path.filter(|log| log.is_file()).min().unwrap();
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, text.replacen("\"time", "\"tyme", 1)).unwrap();
    let changed = sandbox.json("trust run --fits 2 --folds 2");
    let missing = changed["requirements"][6]["items"][0]["missing"].to_string();
    assert!(missing.contains("event log"), "{missing}");
}
