//! Flavours of federated learning: columns at several parties, classes as nodes, clusters, nodes that nobody has seen, warm starts.

use std::fmt::Write as _;

use crate::sandbox::{Sandbox, Table};

/// Numbers between -1 and 1 that look random and are always the same.
fn noise(k: usize) -> f64 {
    ((k as f64 * 12.9898 + 4.1414).sin() * 43758.5453).fract()
}

/// Sixty rows of four columns, at one place and cut between parties; the order of rows differs, and each party has one of its own.
fn parties(sandbox: &Sandbox) {
    let row = |r: usize| {
        let x: Vec<f64> = (0..4).map(|j| noise(7 * r + j) + 0.5 * noise(7 * r)).collect();
        let y = 1.0 + x[0] - 2.0 * x[1] + 0.5 * x[3] + 0.3 * noise(1000 + r);
        (x, y, usize::from(y + 0.5 * noise(3000 + r) > 1.0))
    };
    let [mut all, mut labels, mut others, mut third] =
        ["node,a,b,c,d,y,class\n".to_owned(), "id,a,y,class\n".to_owned(), "b,id,c\n".to_owned(), "id,d\n".to_owned()];
    for r in 0..60 {
        let (x, y, class) = row(r);
        writeln!(all, "all,{},{},{},{},{y},{class}", x[0], x[1], x[2], x[3]).unwrap();
        writeln!(labels, "k{r},{},{y},{class}", x[0]).unwrap();
        let (x, ..) = row(59 - r);
        writeln!(others, "{},k{},{}", x[1], 59 - r, x[2]).unwrap();
        writeln!(third, "k{},{}", 59 - r, x[3]).unwrap();
    }
    others += "0.5,stranger,0.5\n";
    for (name, text) in [("all.csv", all), ("labels.csv", labels), ("others.csv", others), ("third.csv", third)] {
        sandbox.write(name, text);
    }
}

#[test]
fn parties_with_columns_find_the_optimum_of_the_pooled_rows() {
    let sandbox = Sandbox::new();
    parties(&sandbox);
    let cases = [("--loss squared --target y --drop class", "y"), ("--loss logistic --target class --drop y", "class")];
    for (flags, target) in cases {
        for scaled in ["", "--standardize"] {
            let options = format!("{flags} --ridge 0.01 {scaled} --overwrite");
            sandbox.succeed(&format!("fit all.csv --lambda 0 --tolerance 1e-12 --out pooled {options}"));
            let pooled = sandbox.table("pooled/parameters.csv");
            let found =
                sandbox.json(&format!("fit --vertical labels.csv others.csv third.csv --key id --out run {options}"));
            let parts = sandbox.table("run/parameters.csv");
            for (name, value) in pooled.header[1..].iter().zip(pooled.of("all")) {
                let at = parts.header.iter().position(|other| other == name).unwrap();
                let mine = parts.of("all")[at - 1];
                assert!((mine - value).abs() < 1e-7, "{target} {scaled} {name}: {mine} {value}");
            }
            assert_eq!((found["rows"].as_u64(), found["parties"][1]["rows_left_out"].as_u64()), (Some(60), Some(1)));
            let bytes: u64 = (0..3).map(|p| found["parties"][p]["bytes_sent"].as_u64().unwrap()).sum();
            assert_eq!(found["bytes"].as_u64(), Some(bytes));
            assert!(bytes > 60 * 8 && found["parties"][0]["labels"] == true);
            // Rows to predict have the columns of all parties, and no node.
            let [mine, theirs] =
                ["run", "pooled"].map(|run| Table::parse(&sandbox.succeed(&format!("predict {run} all.csv"))));
            assert_eq!(mine.rows.len(), 60);
            assert!(target != "y" || mine.distance(&theirs) < 1e-6);
        }
    }
    let judged = sandbox.json("fit --vertical labels.csv others.csv --key id --target y --drop class --validation 0.2");
    assert!(judged["validation_error"].as_f64().unwrap() > 0.0);
}

#[test]
fn parties_are_refused_what_they_cannot_do() {
    let sandbox = Sandbox::new();
    parties(&sandbox);
    sandbox.write("twice.csv", "id,e\nk1,1\nk1,2\n");
    sandbox.write("elsewhere.csv", "id,e\nz1,1\nz2,2\n");
    let cases = [
        ("fit --vertical labels.csv others.csv --target y --drop class", "--key"),
        ("fit --vertical labels.csv --key id --target y", "two parties"),
        ("fit --vertical others.csv third.csv --key id --target y", "exactly one party"),
        ("fit --vertical labels.csv labels.csv --key id --target y", "exactly one party"),
        ("fit --vertical labels.csv twice.csv --key id --target y --drop class", "2 rows have `id` k1"),
        ("fit --vertical labels.csv elsewhere.csv --key id --target y --drop class", "no value of `id`"),
        ("fit --vertical labels.csv others.csv --key id --target y --drop nonsense", "nonsense"),
        ("fit --vertical labels.csv others.csv --key id --target y --penalty squared", "--penalty"),
        ("fit --vertical labels.csv others.csv --key id --target y --knn 2 --by a", "--vertical"),
        ("fit --vertical labels.csv others.csv --key id --target y --loss absolute", "absolute"),
        ("fit all.csv --target y --key id", "--vertical"),
    ];
    for (words, said) in cases {
        let outcome = sandbox.run(words);
        assert!(outcome.code == 2 && outcome.stderr.contains(said), "{words}: {} {}", outcome.code, outcome.stderr);
    }
}

/// Six classes around six points, in two groups that look alike; one class has three rows.
fn classes(sandbox: &Sandbox) {
    let [mut train, mut test] = ["label,u,v,w\n".to_owned(), "u,v,w,label\n".to_owned()];
    for c in 0..6 {
        for r in 0..40 {
            let k = 100 * c + r;
            let (angle, size) = (c as f64, 1.2);
            let x = [size * angle.cos() + 0.7 * noise(k), size * angle.sin() + 0.7 * noise(k + 5000), noise(k + 9000)];
            match r {
                0..20 if c != 2 || r < 3 => writeln!(train, "c{c},{},{},{}", x[0], x[1], x[2]).unwrap(),
                20.. => writeln!(test, "{},{},{},c{c}", x[0], x[1], x[2]).unwrap(),
                _ => {}
            }
        }
    }
    sandbox.write("train.csv", train);
    sandbox.write("test.csv", test);
}

#[test]
fn classes_are_nodes_that_learn_with_similar_classes() {
    let sandbox = Sandbox::new();
    classes(&sandbox);
    let fit = "fit train.csv --target label --classes-as-nodes --standardize --overwrite";
    let found = sandbox.json(&format!("{fit} --knn 2 --out together"));
    assert_eq!(found["classes"].as_array().unwrap().len(), 6);
    assert_eq!(found["classes"][2]["rows"], 3);
    assert!(found["classes"][2]["learns_with"].as_array().unwrap().len() >= 2);
    assert!(found["validation_error"].as_f64().unwrap() <= found["alone_error"].as_f64().unwrap() * 1.02);
    let outcome = sandbox.run("predict together test.csv");
    assert!(outcome.code == 0 && outcome.stderr.contains("classes right"), "{}", outcome.stderr);
    let said = Table::parse(&outcome.stdout);
    assert_eq!((said.rows.len(), said.header[1].as_str()), (120, "prediction"));
    let right = said.rows.iter().enumerate().filter(|(r, row)| row[1] == format!("c{}", r / 20)).count();
    assert!(right > 70, "{right}");
    // Alone is the same without coupling; the edges may be given.
    sandbox.succeed(&format!("{fit} --lambda 0 --out alone"));
    sandbox.write("pairs.csv", "source,target\nc0,c1\nc2,c3\nc4,c5\n");
    let given = sandbox.json(&format!("{fit} --edges pairs.csv --lambda 0.1 --ridge 0.01"));
    assert_eq!(given["classes"][2]["learns_with"], serde_json::json!(["c3"]));
    for (words, said) in [("--loss absolute", "--loss"), ("--fallback", "--fallback"), ("--knn 0", "--knn 0")] {
        let outcome = sandbox.run(&format!("{fit} {words}"));
        assert!(outcome.code == 2 && outcome.stderr.contains(said), "{words}: {}", outcome.stderr);
    }
}

/// Twelve nodes on a line, in two clusters or along a slope.
fn line(sandbox: &Sandbox, slope: fn(usize) -> f64) {
    let mut text = "node,at,x,y\n".to_owned();
    for node in 0..12 {
        for r in 0..12 {
            let k = 50 * node + r;
            let x = noise(k);
            writeln!(text, "n{node:02},{node},{x},{}", slope(node) * x + 0.2 * noise(k + 7000)).unwrap();
        }
    }
    sandbox.write("line.csv", text);
}

#[test]
fn a_comparison_lists_clusters_that_others_would_look_for() {
    let sandbox = Sandbox::new();
    line(&sandbox, |node| if node < 6 { 2.0 } else { -2.0 });
    let found = sandbox
        .json("compare line.csv --target y --features x --knn 2 --by at --penalty squared --train 3 --validation 3");
    let error = |method: &str| found[method]["test_error"].as_f64().unwrap_or_else(|| panic!("{method}: {found}"));
    for method in ["k-means", "mixture", "ifca"] {
        assert!(error(method) < 0.5 * error("global"), "{method}: {found}");
    }
    assert!(error("spectral").is_finite() && found["k-means"]["share_hurt"].as_f64().unwrap() <= 1.0);
}

#[test]
fn whole_nodes_are_left_out_and_join() {
    let sandbox = Sandbox::new();
    line(&sandbox, |node| node as f64);
    let compare = "compare line.csv --target y --features x --knn 2 --by at --penalty squared --test 0.2";
    let found = sandbox.json(&format!("{compare} --leave-nodes 0.25 --out run"));
    assert_eq!(found["turns"], 4);
    let error = |method: &str| found[method]["test_error"].as_f64().unwrap_or_else(|| panic!("{method}: {found}"));
    assert!(error("networked") < 0.3 * error("global"), "{found}");
    assert!(error("interpolated") < 0.3 * error("global") && error("learnt coupling").is_finite());
    assert!(found["networked"]["better_than_global"].as_f64().unwrap() > 0.5);
    // Every node was left out once, and the same twice.
    let errors = sandbox.table("run/compare.csv");
    assert!(errors.rows.len() == 12 && errors.rows.iter().flatten().all(|cell| !cell.is_empty()));
    assert_eq!(found, sandbox.json(&format!("{compare} --leave-nodes 0.25 --threads 1")));
    let one = sandbox.json(&format!("{compare} --leave-nodes 1 --rivals none"));
    assert!(one["turns"] == 12 && one["learnt coupling"].is_null());
    for (words, said) in [
        ("--leave-nodes 0", "--leave-nodes"),
        ("--leave-nodes 0.1 --tune", "--tune"),
        ("--leave-nodes 12", "some nodes"),
    ] {
        let outcome = sandbox.run(&format!("{compare} {words}"));
        assert!(outcome.code == 2 && outcome.stderr.contains(said), "{words}: {}", outcome.stderr);
    }
}

/// A learnt graph has no place for a node without rows: new nodes show some, and are judged on the others.
#[test]
fn whole_nodes_are_left_out_of_a_learnt_graph() {
    let sandbox = Sandbox::new();
    line(&sandbox, |node| if node % 2 == 0 { 2.0 } else { -2.0 });
    let compare =
        "compare line.csv --target y --features x --graph learn --degree 2 --penalty squared --train 3 --validation 3";
    let found = sandbox.json(&format!("{compare} --leave-nodes 0.25"));
    assert!(found["turns"] == 4 && found["rows_shown"] == true, "{found}");
    let error = |method: &str| found[method]["test_error"].as_f64().unwrap_or_else(|| panic!("{method}: {found}"));
    // Its rows tell which of the two kinds of models it has; one model for all has neither.
    assert!(error("networked") < 0.3 * error("global") && error("local").is_finite(), "{found}");
    assert!(found["interpolated"].is_null() && found["learnt coupling"].is_null(), "{found}");
    assert_eq!(found, sandbox.json(&format!("{compare} --leave-nodes 0.25 --threads 1")));
    let said = sandbox.succeed(&format!("{compare} --leave-nodes 0.25"));
    assert!(said.contains("did not show") && !said.contains("--edges FILE"), "{said}");
}

/// Nobody shares a model: a learnt graph without edges is an answer, and nobody is told to give edges.
#[test]
fn a_learnt_graph_may_have_no_edges() {
    let sandbox = Sandbox::new();
    line(&sandbox, |node| 3.0 * node as f64);
    let learn = "line.csv --target y --features x --graph learn --fdr 0.01 --penalty squared";
    for job in ["fit", "compare"] {
        let said = sandbox.run(&format!("{job} {learn}"));
        let all = format!("{}{}", said.stdout, said.stderr);
        assert!(said.code == 0 && all.contains("learn alone"), "{job}: {all}");
        assert!(all.contains("--degree") && !all.contains("--edges FILE"), "{job}: {all}");
    }
}

/// The optimum of a fit that starts from the models of others is that of a fit from nothing, within what both certify.
#[test]
fn a_warm_fit_with_new_nodes_is_within_the_gap_of_a_full_one() {
    let sandbox = Sandbox::new();
    line(&sandbox, |node| if node < 6 { 2.0 } else { -2.0 });
    let old: String = sandbox
        .read("line.csv")
        .lines()
        .filter(|row| !row.starts_with("n03") && !row.starts_with("n11"))
        .map(|row| format!("{row}\n"))
        .collect();
    sandbox.write("old.csv", old);
    for penalty in ["norm2", "squared"] {
        let fit = format!(
            "--target y --features x --knn 2 --by at --standardize --penalty {penalty} --lambda 0.05 --tolerance 1e-9 --overwrite"
        );
        sandbox.succeed(&format!("fit old.csv {fit} --out old"));
        let warm = sandbox.json(&format!("fit line.csv {fit} --warm old --out warm"));
        let full = sandbox.json(&format!("fit line.csv {fit} --out full"));
        let number = |run: &serde_json::Value, key: &str| run[key].as_f64().unwrap_or_else(|| panic!("{key}: {run}"));
        // No objective is lower than either by more than its gap: the warm fit is no further above the full one than its own gap, and
        // no further below than that of the full one.
        let above = number(&warm, "objective") - number(&full, "objective");
        assert!(above <= number(&warm, "certified_gap") + 1e-14, "{penalty}: {above}, {warm}");
        assert!(-above <= number(&full, "certified_gap") + 1e-14, "{penalty}: {above}, {full}");
        assert!(
            sandbox.table("warm/parameters.csv").distance(&sandbox.table("full/parameters.csv")) < 1e-3,
            "{penalty}"
        );
    }
    for (words, said) in [
        ("--warm nowhere", "nowhere"),
        ("--warm old --hub 0.5", "--hub"),
        ("--warm old --no-intercept", "other parameters"),
    ] {
        let outcome =
            sandbox.run(&format!("fit line.csv --target y --features x --knn 2 --by at --lambda 0.1 {words}"));
        assert!(outcome.code == 2 && outcome.stderr.contains(said), "{words}: {}", outcome.stderr);
    }
}

#[test]
fn rows_without_labels_are_kept_apart_and_used() {
    let sandbox = Sandbox::new();
    line(&sandbox, |node| if node < 6 { 2.0 } else { -2.0 });
    // n03 has no label at all, the others miss every third.
    let (mut half, mut labelled) = (String::new(), String::new());
    for (k, row) in sandbox.read("line.csv").lines().enumerate() {
        let blank = k > 0 && (k % 3 == 0 || row.starts_with("n03"));
        let features = row.rsplit_once(',').map_or("", |parts| parts.0);
        half += &if blank { format!("{features},\n") } else { format!("{row}\n") };
        labelled += &if blank { String::new() } else { format!("{row}\n") };
    }
    sandbox.write("half.csv", half);
    sandbox.write("labelled.csv", labelled);
    let learn = "graph learn half.csv --target y --features x --nearest 2 --by";
    let refused = sandbox.run(&format!("{learn} moments"));
    assert!(refused.code == 2 && refused.stderr.contains('y'), "{}", refused.stderr);
    let joined = |by: &str| {
        let edges = Table::parse(&sandbox.succeed(&format!("{learn} {by} --unlabelled keep")));
        edges.rows.iter().any(|row| row[0] == "n03" || row[1] == "n03")
    };
    // Discrepancies of rows see them, those of labels do not.
    assert!(joined("moments") && joined("wasserstein") && joined("kl") && !joined("gradient"));
    let edges: String = (0..11).map(|i| format!("n{i:02},n{:02}\n", i + 1)).collect();
    sandbox.write("chain.csv", format!("source,target\n{edges}"));
    let fit = "--edges chain.csv --target y --features x --overwrite";
    let words = sandbox.succeed(&format!("fit half.csv {fit} --unlabelled keep --model tree --lambda 1 --out trees"));
    assert!(words.contains("rows without labels, each of its node"), "{words}");
    // Models that are coupled by parameters do as if they were not there.
    sandbox.succeed(&format!("fit half.csv {fit} --unlabelled keep --lambda 0.1 --out kept"));
    sandbox.succeed(&format!("fit labelled.csv {fit} --lambda 0.1 --out without"));
    assert_eq!(sandbox.read("kept/parameters.csv"), sandbox.read("without/parameters.csv"));
}
