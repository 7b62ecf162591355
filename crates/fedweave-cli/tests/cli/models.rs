//! `fit --model`: models of any class, coupled by predictions.

use crate::sandbox::{NODES, Sandbox};

const FIT: &str = "fit nodes.csv --edges edges.csv --target y --public-from normal";
const CLASSES: &str = "fit labels.csv --edges edges.csv --target y --task classification --public-from normal";
const MIXED: &str =
    "node,model,options\na,tree,max-depth=2\nb,forest,trees=5\nc,ridge,alpha=0.1\nd,nearest,neighbours=2\n";

/// The message of a command that fails; it writes nothing.
fn fails(sandbox: &Sandbox, command: &str) -> String {
    let before = sandbox.snapshot();
    let outcome = sandbox.run(command);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{command}\n{}", outcome.stderr);
    assert!(outcome.stderr.starts_with("error: ") && outcome.stderr.lines().count() == 1, "{}", outcome.stderr);
    assert_eq!(sandbox.snapshot(), before, "{command} writes nothing");
    outcome.stderr
}

#[test]
fn every_model_class_fits_is_kept_and_predicts_the_same_again() {
    let sandbox = Sandbox::new();
    let regression =
        ["linear", "ridge,alpha=0.1", "tree,max-depth=3", "forest,trees=5", "boosting,trees=5", "nearest,neighbours=2"];
    let more = ["kernel-ridge", "mlp,hidden=4,epochs=20"];
    for model in regression.into_iter().chain(more) {
        let summary = sandbox.json(&format!("{FIT} --model {model} --lambda 0.5 --out run --overwrite"));
        assert_eq!(summary["models"][0]["nodes"], 4, "{model}");
        assert!(summary["train_error"].as_f64().unwrap() < 4.0, "{model}: {}", summary["train_error"]);
        let predictions = sandbox.succeed("predict run nodes.csv");
        assert_eq!(predictions.lines().next(), Some("node,prediction"));
        // What the models predict from the file is what the run measured.
        let labels: Vec<f64> = NODES.lines().skip(1).map(|l| l.rsplit(',').next().unwrap().parse().unwrap()).collect();
        let values: Vec<f64> =
            predictions.lines().skip(1).map(|l| l.rsplit(',').next().unwrap().parse().unwrap()).collect();
        let error = values.iter().zip(&labels).map(|(p, y)| (p - y) * (p - y)).sum::<f64>() / 16.0;
        assert!((error - summary["train_error"].as_f64().unwrap()).abs() < 1e-12, "{model}: {error}");
    }
    for model in [
        "logistic",
        "tree",
        "forest,trees=5",
        "boosting,trees=5",
        "nearest,neighbours=2",
        "mlp,hidden=4,epochs=20",
        "ridge",
    ] {
        let summary = sandbox.json(&format!("{CLASSES} --model {model} --lambda 0.5 --out run --overwrite"));
        assert_eq!(summary["error"], "share of wrong classes");
        let predictions = sandbox.succeed("predict run labels.csv");
        assert_eq!(predictions.lines().next(), Some("node,prediction,probability:0,probability:1"));
        let sum = |l: &str| l.split(',').skip(2).map(|p| p.parse::<f64>().unwrap()).sum::<f64>();
        assert!(predictions.lines().skip(1).all(|l| (sum(l) - 1.0).abs() < 1e-9), "{model}");
    }
}

#[test]
fn a_mixed_network_is_described_judged_and_reported_by_class() {
    let sandbox = Sandbox::new();
    sandbox.write("models.csv", MIXED);
    let summary =
        sandbox.json(&format!("{FIT} --models models.csv --validation 1 --rounds 3 --lambda-grid 0.1,0.5,1 --out run"));
    let names: Vec<&str> = summary["models"].as_array().unwrap().iter().map(|m| m["model"].as_str().unwrap()).collect();
    assert_eq!(names, ["forest", "nearest", "ridge", "tree"]);
    assert!(summary["models"].as_array().unwrap().iter().all(|m| m["local_error"].is_number()));
    assert!([0.1, 0.5, 1.0].contains(&summary["lambda"].as_f64().unwrap()));
    assert!(summary["public"].as_str().unwrap().contains("standard normal"));
    // 2 ends of 3 edges, 100 predictions each, 3 rounds.
    assert_eq!((summary["messages"].as_u64(), summary["bytes"].as_u64()), (Some(18), Some(18 * 800)));
    for file in ["models.json", "errors.csv", "gains.csv", "lambda.csv", "history.csv", "config.toml", "report.html"] {
        assert!(sandbox.exists(&format!("run/{file}")), "{file}");
    }
    assert_eq!(sandbox.read("run/lambda.csv").lines().count(), 4);
    assert!(sandbox.read("run/report.html").contains("forest, local only"));
    // The config file is the same run.
    let again = sandbox.json("fit --config run/config.toml --out again");
    assert_eq!((&again["objective"], &again["lambda"]), (&summary["objective"], &summary["lambda"]));
    assert_eq!(sandbox.read("run/models.json"), sandbox.read("again/models.json"));
    // Threads do not matter.
    sandbox.succeed("fit --config run/config.toml --threads 3 --out threads");
    assert_eq!(sandbox.read("run/models.json"), sandbox.read("threads/models.json"));
}

#[test]
fn public_rows_come_from_a_file_for_all_or_for_each_node() {
    let sandbox = Sandbox::new();
    sandbox.write("all.csv", "x2,x1\n0.1,0.2\n1,2\n-1,0\n");
    let fit = "fit nodes.csv --edges edges.csv --target y --model ridge --lambda 1";
    let summary = sandbox.json(&format!("{fit} --public all.csv"));
    assert_eq!(summary["public"], "3 public rows of all.csv, the same for all nodes");
    let each: String = "abcd".chars().flat_map(|n| [format!("{n},0.1,0.2\n"), format!("{n},1,2\n")]).collect();
    sandbox.write("each.csv", format!("node,x1,x2\n{each}"));
    assert!(sandbox.json(&format!("{fit} --public each.csv"))["public"].as_str().unwrap().contains("each of its node"));
    let bad = |name: &str, text: &str| {
        sandbox.write(name, text);
        fails(&sandbox, &format!("{fit} --public {name} --out run"))
    };
    assert!(bad("columns.csv", "x1,z\n1,2\n").contains("columns.csv: no column \"x2\""));
    assert!(bad("text.csv", "x1,x2\n1,2\n1,blue\n").contains("text.csv:3:"));
    assert!(bad("node.csv", "node,x1,x2\na,1,2\nq,1,2\n").contains("node.csv:3: node `q`"));
    assert!(bad("few.csv", "node,x1,x2\na,1,2\n").contains("few.csv: node `b` has no public rows"));
    assert!(bad("empty.csv", "x1,x2\n").contains("empty.csv"));
    assert!(fails(&sandbox, &format!("{fit} --public all.csv --public-rows 5")).contains("leave out --public-rows"));
}

#[test]
fn bad_models_are_refused_where_they_stand() {
    let sandbox = Sandbox::new();
    let unknown = fails(&sandbox, &format!("{FIT} --model perceptrons --out run"));
    assert!(unknown.contains("unknown model 'perceptrons'") && unknown.contains("forest"), "{unknown}");
    assert!(fails(&sandbox, &format!("{FIT} --model tree,depth=x --out run")).contains("has no option 'depth'"));
    assert!(fails(&sandbox, &format!("{FIT} --model tree,max-depth=x --out run")).contains("max-depth is 'x'"));
    assert!(fails(&sandbox, &format!("{FIT} --model logistic --out run")).contains("cannot be used for regression"));
    let table = |text: &str| {
        sandbox.write("models.csv", text);
        fails(&sandbox, &format!("{FIT} --models models.csv --out run"))
    };
    assert!(table("node,model\na,tree\nb,shrub\n").contains("models.csv:3: unknown model 'shrub'"));
    assert!(table("node,model\na,tree\nz,tree\n").contains("models.csv:3: node `z`"));
    assert!(table("node,model\na,tree\na,tree\n").contains("models.csv:3: node `a` is named twice"));
    assert!(table("node,model\na,tree\n").contains("node `b` is not named"));
    assert!(table("node,kind\na,tree\n").contains("no column \"model\""));
    assert!(table("node,model,options\na,logistic,\n").contains("models.csv:2: model logistic cannot be used"));
    assert!(fails(&sandbox, &format!("{FIT} --model tree --models 3 --out run")).contains("belongs to --solver ifca"));
}

#[test]
fn flags_that_do_not_go_together_are_refused() {
    let sandbox = Sandbox::new();
    let cases = [
        ("--model tree --loss huber", "--loss does not go with --model"),
        ("--model tree --penalty norm1", "--penalty does not go"),
        ("--model tree --solver newton", "--solver does not go"),
        ("--model tree --lambda -1", "--lambda -1"),
        ("--model tree --lambda 1 --lambda-grid 1,2", "not both"),
        ("--model tree --task guess", "--task guess: unknown"),
        ("--model tree --judged-on me", "--judged-on me: unknown"),
        ("--model tree --row-weights heavy", "--row-weights heavy: unknown"),
        ("--model tree --public-from moon", "--public-from moon: unknown"),
        ("--model tree --public-rows 0", "--public-rows 0"),
        ("--model tree --count 3", "--count belongs to `fedweave path`"),
        ("--model tree --splits 3", "--splits belongs to `fedweave compare`"),
        ("--task classification", "--task belongs to `fedweave fit --model`"),
        ("--distil 3", "--distil belongs to"),
    ];
    for (flags, says) in cases {
        let from = if flags.contains("--public") || !flags.contains("--model") { "" } else { " --public-from normal" };
        let message = fails(&sandbox, &format!("fit nodes.csv --edges edges.csv --target y{from} {flags} --out run"));
        assert!(message.contains(says), "{flags}: {message}");
    }
    let compare = fails(&sandbox, "compare nodes.csv --edges edges.csv --target y --loss absolute --model tree");
    assert!(compare.contains("--model: models of any class are compared where the loss is squared"), "{compare}");
}

#[test]
fn labels_and_nodes_at_the_edge_of_sense() {
    let sandbox = Sandbox::new();
    // Text cannot be regressed on.
    sandbox.write("words.csv", "node,x1,y\na,1,yes\na,2,no\nb,1,yes\n");
    let words = fails(&sandbox, "fit words.csv --target y --model tree --lambda 0 --public-from normal");
    assert!(words.contains("words.csv:2:") && words.contains("\"yes\" is not a number"), "{words}");
    // One class for all is nothing to learn; absent at one node it is learnt from the neighbours, or never predicted.
    sandbox.write("one.csv", "node,x1,y\na,1,yes\nb,2,yes\n");
    let one =
        fails(&sandbox, "fit one.csv --target y --task classification --model tree --lambda 0 --public-from normal");
    assert!(one.contains("single class"), "{one}");
    sandbox.write("absent.csv", "node,x1,y\na,1,u\na,2,v\na,3,v\nb,1,u\nb,2,u\n");
    sandbox.write("ab.csv", "source,target\na,b\n");
    for model in [
        "tree",
        "logistic",
        "nearest,neighbours=1",
        "boosting,trees=3",
        "mlp,hidden=3,epochs=5",
        "forest,trees=3",
        "ridge",
    ] {
        let fit = "fit absent.csv --edges ab.csv --target y --task classification --public-from normal";
        sandbox.succeed(&format!("{fit} --model {model} --lambda 0 --out run --overwrite"));
        assert_eq!(sandbox.succeed("predict run absent.csv").lines().count(), 6, "{model}");
    }
    // A node with one row shares no summary of it.
    sandbox.write("row.csv", format!("{NODES}e,1,1,3\n"));
    let few = sandbox.json("fit row.csv --edges edges.csv --target y --model tree --lambda 1 --public-from normal");
    assert_eq!(few["nodes"], 5);
    let moments = fails(&sandbox, "fit row.csv --edges edges.csv --target y --model tree --lambda 1");
    assert!(moments.contains("at least 5 rows"), "{moments}");
}

#[test]
fn a_damaged_file_of_models_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&format!("{FIT} --model ridge --lambda 1 --out run"));
    let good = sandbox.read("run/models.json");
    for (from, to, says) in [
        ("\"version\": 1", "\"version\": 99", "version 99"),
        ("fedweave-models", "pickles", "its format is \"pickles\""),
        ("\"x1\"", "\"z\"", "its features are not those"),
    ] {
        assert!(good.contains(from), "{from}");
        sandbox.write("run/models.json", good.replace(from, to));
        let message = fails(&sandbox, "predict run nodes.csv");
        assert!(message.contains(says), "{message}");
    }
    for cut in [good.len() / 3, good.len() / 2, good.len() - 5] {
        sandbox.write("run/models.json", &good[..cut]);
        assert!(fails(&sandbox, "predict run nodes.csv").contains("models.json"));
    }
    sandbox.write("run/models.json", &good);
    sandbox.write("q.csv", "node,x1,x2\nq,1,2\n");
    assert!(fails(&sandbox, "predict run q.csv").contains("q.csv:2: node `q` is not in run"));
}
