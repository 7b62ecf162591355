//! `predict --interval` for every loss and model, and `monitor`.

use crate::sandbox::{Sandbox, Table};

/// Numbers between 0 and 1 that look drawn.
fn noise(k: usize) -> f64 {
    (12.9898 * k as f64).sin().mul_add(43_758.545_3, 50_000.0).fract()
}

/// Rows of six nodes, 30 each: `y` is linear, `count` a whole number, `class` one of three, `sign` 0 or 1.
fn rows(first: usize, drift: f64) -> String {
    let mut text = "node,x,y,count,class,sign\n".to_owned();
    for node in 0..6 {
        for r in 0..30 {
            let k = first + 31 * (30 * node + r);
            let (x, e) = (2.0 * noise(k) - 1.0, noise(7 * k + 3) + noise(13 * k + 5) - 1.0);
            let shift = if node == 0 { drift } else { 0.0 };
            let (y, score) = (1.0 + x + 0.2 * node as f64 + e + shift * if r % 2 == 0 { 1.0 } else { -1.0 }, x + e);
            let class = if score < -0.4 {
                "low"
            } else if score < 0.4 {
                "middle"
            } else {
                "high"
            };
            let count = (2.0 * (x + e + 1.5)).max(0.0).floor();
            text += &format!("n{node},{x},{y},{count},{class},{}\n", u8::from(score > 0.0));
        }
    }
    text
}

const EDGES: &str = "source,target\nn0,n1\nn1,n2\nn2,n3\nn3,n4\nn4,n5\n";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("train.csv", rows(1, 0.0));
    sandbox.write("new.csv", rows(100_003, 0.0));
    sandbox.write("drifted.csv", rows(200_003, 6.0));
    sandbox.write("chain.csv", EDGES);
    sandbox
}

fn fit(target: &str, flags: &str) -> String {
    format!("fit train.csv --edges chain.csv --target {target} --features x {flags} --out run --overwrite")
}

/// Share of the 180 new rows inside.
fn inside(sandbox: &Sandbox, target: usize, holds: impl Fn(&[String], &str) -> bool) -> f64 {
    let said = Table::parse(&sandbox.succeed("predict run new.csv --interval 0.9"));
    let new = sandbox.table("new.csv");
    assert_eq!(said.rows.len(), 180);
    said.rows.iter().zip(&new.rows).filter(|(said, new)| holds(said, &new[target])).count() as f64 / 180.0
}

#[test]
fn intervals_of_every_loss_and_model_hold_about_as_often_as_they_say() {
    let sandbox = sandbox();
    let numbers = [
        ("y", 2, "--lambda 0.1 --calibrate 5"),
        ("y", 2, "--lambda 0.1 --validation 0.3"),
        ("y", 2, ""),
        ("y", 2, "--coupling learnt"),
        ("y", 2, "--coupling learnt --calibrate 5"),
        ("y", 2, "--coupling learnt --validation 0.3"),
        ("y", 2, "--loss absolute --lambda 0.1 --calibrate 5"),
        ("y", 2, "--loss huber --lambda 0.1 --calibrate 5"),
        ("y", 2, "--loss quantile --quantile 0.8 --lambda 0.1 --calibrate 5"),
        ("y", 2, "--lambda 0.1 --penalty squared --solver fedgd --rounds 300 --calibrate 3"),
        ("y", 2, "--hub 0.5 --lambda 0.1 --calibrate 3"),
        ("count", 3, "--loss poisson --lambda 0.1 --calibrate 5"),
        ("count", 3, "--loss poisson --coupling learnt --calibrate 5"),
        ("y", 2, "--model tree,max-depth=2 --lambda 0.1 --calibrate 5"),
        ("y", 2, "--model ridge --lambda 0.1 --validation 0.3"),
        ("y", 2, "--model ridge"),
    ];
    for (target, column, flags) in numbers {
        sandbox.succeed(&fit(target, flags));
        let header = sandbox.succeed("predict run new.csv --interval 0.9");
        assert!(header.starts_with("node,prediction,lower,upper\n"), "{flags}");
        let share = inside(&sandbox, column, |said, label| {
            let [low, high, y] = [&said[2], &said[3], label].map(|cell| cell.parse::<f64>().unwrap());
            low <= y && y <= high
        });
        assert!((0.82..=0.98).contains(&share), "{target} {flags}: {share}");
    }
    let classes = [
        ("sign", 5, "--loss logistic --ridge 0.001 --lambda 0.1 --calibrate 5"),
        ("sign", 5, "--loss squared-hinge --ridge 0.001 --lambda 0.1 --calibrate 5"),
        ("sign", 5, "--loss logistic --coupling learnt --calibrate 5"),
        ("class", 4, "--loss multinomial --ridge 0.001 --lambda 0.1 --calibrate 5"),
        ("class", 4, "--model tree,max-depth=2 --task classification --lambda 0.1 --calibrate 5"),
    ];
    for (target, column, flags) in classes {
        sandbox.succeed(&fit(target, flags));
        let share = inside(&sandbox, column, |said, label| said.last().unwrap().split('|').any(|class| class == label));
        assert!((0.82..=1.0).contains(&share), "{target} {flags}: {share}");
    }
}

#[test]
fn the_calibration_is_told_kept_and_drawn() {
    let sandbox = sandbox();
    let summary = sandbox.json(&fit("y", "--coupling learnt --calibrate 6"));
    let calibration = &summary["calibration"];
    assert_eq!((&calibration["rows"], &calibration["exact"]), (&180.into(), &false.into()));
    assert!(calibration["coverage"].as_f64().unwrap() > 0.8 && calibration["model_coverage"].as_f64().is_some());
    let kept = sandbox.read_json("run/calibration.json");
    assert_eq!(kept["nodes"][0]["node"], "n0");
    assert_eq!(kept["nodes"][0]["scores"].as_array().unwrap().len(), 30);
    assert!(sandbox.read("run/report.html").contains("id=\"calibration\""));
    let words = sandbox.succeed(&fit("y", "--lambda 0.1 --validation 0.2"));
    assert!(words.contains("intervals calibrated on 36 rows held out;"), "{words}");
    assert_eq!(sandbox.json(&fit("y", "--lambda 0.1 --validation 0.2"))["calibration"]["exact"], true);
    assert!(sandbox.json(&fit("y", "--lambda 0.1"))["calibration"].is_null());
    assert!(!sandbox.exists("run/calibration.json"));
}

#[test]
fn folds_do_not_depend_on_threads() {
    let sandbox = sandbox();
    let kept = |threads: usize| {
        sandbox.succeed(&fit("y", &format!("--coupling learnt --calibrate 4 --threads {threads}")));
        sandbox.read("run/calibration.json")
    };
    assert_eq!(kept(1), kept(2));
}

#[test]
fn monitor_tells_drift_by_its_exit_code() {
    let sandbox = sandbox();
    for flags in ["--lambda 0.1 --calibrate 5", "--coupling learnt --calibrate 5", "--model ridge --calibrate 5"] {
        sandbox.succeed(&fit("y", flags));
        let calm = sandbox.run("monitor run new.csv");
        assert_eq!(calm.code, 0, "{}", calm.stdout);
        assert!(calm.stdout.contains("no node drifted") && calm.stdout.contains("180 new rows"));
        let drift = sandbox.run("monitor run drifted.csv --json");
        let found: serde_json::Value = serde_json::from_str(&drift.stdout).unwrap();
        assert_eq!((drift.code, &found["drift"]), (1, &true.into()));
        assert_eq!(found["drifted"][0], "n0", "{flags}");
        let of = |k: usize| found["nodes"][k]["error_ratio"].as_f64().unwrap();
        assert!(of(0) > 3.0 && of(1) < 2.0);
    }
    let drift = sandbox.run("monitor run drifted.csv --out seen");
    assert!(drift.code == 1 && drift.stdout.contains(" drifted: larger errors"));
    let table = sandbox.table("seen/monitor.csv");
    assert_eq!((table.rows.len(), table.rows[0].last().unwrap().as_str()), (6, "1"));
    assert_eq!(sandbox.read_json("seen/summary.json")["drifted"][0], "n0");
}

#[test]
fn a_learnt_coupling_of_low_rank_has_intervals_too() {
    let sandbox = sandbox();
    let low_rank =
        "fit train.csv --edges chain.csv --target y --features x,count,sign --coupling learnt --structure low-rank";
    let summary = sandbox.json(&format!("{low_rank} --out run"));
    assert_eq!(summary["coupling"]["structure"], "diagonal and rank 1", "{}", summary["coupling"]);
    assert_eq!(summary["status"], "converged");
    let share = inside(&sandbox, 2, |said, new| {
        let number = |text: &str| text.parse::<f64>().unwrap();
        number(&said[2]) <= number(new) && number(new) <= number(&said[3])
    });
    assert!((0.8..1.0).contains(&share), "{share}");
}
