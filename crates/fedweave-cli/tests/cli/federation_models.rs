//! Models of any class in a federation of real processes: they exchange predictions on public rows, and nothing else.

use std::time::{Duration, Instant};

use crate::sandbox::{Sandbox, finish};

const PUBLIC: &str = "x1,x2\n0,0\n1,-1\n-1,0.5\n0.3,2\n2,1\n";
const CLASSES: &str = "node,model,options\na,tree,max-depth=2\nb,nearest,neighbours=2\nc,forest,trees=3\nd,logistic,\n";

#[test]
fn processes_end_with_the_models_of_one_machine() {
    let s = Sandbox::new();
    s.write("public.csv", PUBLIC);
    s.write("classes.csv", CLASSES);
    for (k, (flags, parts)) in [
        ("nodes.csv --model tree,max-depth=3 --public public.csv --judged-on both", 4),
        ("nodes.csv --model forest,trees=4 --seed 5 --public-from normal --public-rows 7 --standardize", 2),
        ("nodes.csv --model mlp,hidden=3,epochs=5 --public-from normal --row-weights plain", 1),
        ("labels.csv --task classification --models classes.csv --public public.csv", 3),
    ]
    .into_iter()
    .enumerate()
    {
        let flags = format!("{flags} --edges edges.csv --target y --lambda 0.8 --rounds 6");
        s.succeed(&format!("fit {flags} --out one{k}"));
        s.succeed(&format!("up {flags} --parts {parts} --out many{k}"));
        assert_eq!(s.read(&format!("many{k}/models.json")), s.read(&format!("one{k}/models.json")), "{flags}");
        let (one, many) = (s.read_json(&format!("one{k}/summary.json")), s.read_json(&format!("many{k}/summary.json")));
        for key in ["objective", "train_error", "iterations", "rows", "lambda"] {
            assert_eq!(one[key], many[key], "{key}");
        }
        assert!(s.exists(&format!("many{k}/report.html")));
    }
    assert_eq!(s.succeed("predict many3 labels.csv"), s.succeed("predict one3 labels.csv"));
}

/// Also when one is killed: it fits again to what it heard. Its checkpoints hold no row, though its model is rows.
#[test]
fn a_killed_part_fits_again_and_its_checkpoints_hold_no_row() {
    let s = Sandbox::new();
    let flags = "nodes.csv --edges edges.csv --target y --lambda 0.8 --model nearest,neighbours=3 --public-from normal --public-rows 8 --rounds 1500";
    s.succeed(&format!("fit {flags} --out one"));
    s.succeed(&format!("up {flags} --parts 2 --work work --prepare"));
    let part = |k: usize, more: &str| s.start(&format!("node --config work/part-000{k}/node.toml {more}"));
    let steady = part(0, "");
    let mut victim = part(1, "");
    let (started, slot) = (Instant::now(), s.path("work/part-0001/state/checkpoint.1"));
    while std::fs::metadata(&slot).map_or(0, |m| m.len()) == 0 {
        assert!(started.elapsed() < Duration::from_secs(30), "no checkpoint");
        std::thread::sleep(Duration::from_millis(5));
    }
    victim.kill().unwrap();
    victim.wait().unwrap();
    for outcome in [finish(part(1, "--resume"), "resume"), finish(steady, "steady")] {
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("no bound on what lying neighbours"), "{}", outcome.stderr);
    }
    let one = s.read_json("one/models.json");
    for k in 0..2 {
        let folder = format!("work/part-000{k}");
        let models = s.read_json(&format!("{folder}/state/result/models.json"));
        for model in models["nodes"].as_array().unwrap() {
            assert!(one["nodes"].as_array().unwrap().contains(model), "{}", model["node"]);
        }
        let cells: Vec<f64> = s
            .table(&format!("{folder}/rows.csv"))
            .rows
            .iter()
            .flat_map(|r| &r[1..4])
            .map(|c| c.parse().unwrap())
            .collect();
        let kept =
            ["checkpoint.0", "checkpoint.1"].map(|f| std::fs::read(s.path(&format!("{folder}/state/{f}"))).unwrap());
        let holds = |bytes: &[u8], v: &f64| bytes.windows(8).any(|w| w == v.to_le_bytes());
        // A part that is not a whole number: zeros and ones are everywhere.
        let telling: Vec<&f64> = cells.iter().filter(|v| v.fract() != 0.0 && v.fract().abs() != 0.5).collect();
        assert!(telling.len() > 5 && kept.iter().all(|bytes| bytes.len() > 300));
        assert!(kept.iter().all(|bytes| !telling.iter().any(|v| holds(bytes, v))), "a row is in a checkpoint");
    }
}

#[test]
fn parts_with_other_public_rows_do_not_talk() {
    let s = Sandbox::new();
    s.write("public.csv", PUBLIC);
    let flags = "nodes.csv --edges edges.csv --target y --lambda 0.8 --model ridge --public public.csv --rounds 5";
    s.succeed(&format!("up {flags} --parts 2 --work work --prepare"));
    s.write("work/other.csv", s.read("work/public.csv").replace("0.5", "0.6"));
    let file = "work/part-0001/node.toml";
    s.write(file, s.read(file).replace("../public.csv", "../other.csv"));
    let mut both = [0, 1].map(|k| s.start(&format!("node --config work/part-000{k}/node.toml")));
    let log = s.path("work/part-0000/state/events.jsonl");
    let named = || {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        text.contains(r#""event":"peer_misbehaved","peer":"part-0001""#)
            && text.contains("public rows that are not ours")
    };
    let started = Instant::now();
    while !named() && started.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    both.iter_mut().for_each(|child| {
        child.kill().unwrap();
        child.wait().unwrap();
    });
    assert!(named(), "{}", s.read("work/part-0000/state/events.jsonl"));
}

#[test]
fn what_a_federation_cannot_do_with_models_is_refused() {
    let s = Sandbox::new();
    let flags = "nodes.csv --edges edges.csv --target y --model ridge --public-from normal";
    for (more, word) in [
        ("", "--lambda"),
        ("--lambda 1 --distil 5", "--distil"),
        ("--lambda 1 --validation 0.2", "--validation"),
        ("--lambda 1 --order in-turn", "--order"),
        ("--lambda 1 --judged-on both", "--judged-on both"),
        ("--lambda 1 --solver fedgd", "--solver"),
        ("--lambda 1 --model mlp,warm-start=true", "error"),
    ] {
        let outcome = s.run(&format!("up {flags} {more}"));
        assert!(outcome.code == 2 && outcome.stderr.contains(word), "{more}: {}{}", outcome.stdout, outcome.stderr);
    }
    s.succeed(&format!("up {flags} --lambda 1 --parts 2 --work work --prepare"));
    let good = s.read("work/part-0000/node.toml");
    for (from, to, word) in [
        ("../public.csv", "../none.csv", "none.csv"),
        ("public = \"../public.csv\"", "", "model.public"),
        ("[[node]]", "[[node]]\nname = \"zz\"\n[[node]]", "not a node of this part"),
        ("model = \"ridge", "model = \"rigde", "rigde"),
        ("target = \"target\"", "target = \"target\"\nloss = \"huber\"", "--loss"),
        ("target = \"target\"", "target = \"target\"\ndistil = 3", "model.distil"),
        ("method = \"fedrelax-predictions\"", "method = \"fedrelax\"", "[[node]]"),
    ] {
        assert!(good.contains(from), "{from}\n{good}");
        s.write("work/part-0000/bad.toml", good.replacen(from, to, 1));
        let outcome = s.run("node --config work/part-0000/bad.toml --check");
        assert!(outcome.code == 2 && outcome.stderr.contains(word), "{to}: {}{}", outcome.stdout, outcome.stderr);
    }
}
