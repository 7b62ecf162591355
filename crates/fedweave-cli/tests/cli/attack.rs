//! Attacks on the models of a fit, and its defences.

use serde_json::Value;

use crate::sandbox::Sandbox;

const BASE: &str = "nodes.csv --edges edges.csv --target y --ridge 0.1 --no-intercept";

/// Five nodes around one, all alike, with rows enough to hold some out.
fn star(sandbox: &Sandbox) {
    let mut rows = String::from("node,x1,x2,y\n");
    for node in 0..6 {
        for k in 0..12 {
            let (a, b) = (f64::from(k * 7 % 12) / 6.0 - 1.0, f64::from((k * 5 + node) % 12) / 6.0 - 1.0);
            let noise = f64::from((k * 11 + node * 3) % 7) / 10.0 - 0.3;
            rows += &format!("n{node},{a},{b},{}\n", a - 0.5 * b + noise);
        }
    }
    sandbox.write("nodes.csv", rows);
    sandbox.write("edges.csv", "source,target\nn0,n1\nn0,n2\nn0,n3\nn0,n4\nn0,n5\nn1,n2\nn2,n3\nn3,n4\nn4,n5\n");
}

fn raise(found: &Value) -> f64 {
    found["steps"].as_array().unwrap().last().unwrap()["raise"].as_f64().unwrap()
}

#[test]
fn labels_are_poisoned_without_limit_by_squares_and_within_the_bound_by_norms() {
    let sandbox = Sandbox::new();
    star(&sandbox);
    let attack = |flags: &str| sandbox.json(&format!("attack {BASE} --kind label --victim n0 --lambda {flags}"));
    let squared = attack("0.3 --penalty squared --shift 1000");
    assert_eq!((&squared["smallest_budget"], &squared["attackers"][0]), (&1.into(), &"n1".into()), "{squared}");
    assert!(raise(&squared) > 100.0, "{squared}");
    assert!(squared["steps"][0]["raise_max"].is_null() && squared["steps"][0]["no_bound"].is_string(), "{squared}");
    for (penalty, shift) in
        [("norm2", 10.0), ("norm2", 1e4), ("norm1", 1e4), ("norminf", 1e4), ("huber --reach 0.1", 1e4)]
    {
        let found = attack(&format!("0.3 --penalty {penalty} --shift {shift} --raise 1e9 --budget 3"));
        assert_eq!(found["smallest_budget"], Value::Null);
        for step in found["steps"].as_array().unwrap() {
            let (raise, most) = (step["raise"].as_f64().unwrap(), step["raise_max"].as_f64().unwrap());
            assert!(raise <= most, "{penalty} {shift}: {step}");
        }
    }
    // The bound rules out small budgets, and what is found is never smaller.
    let found = attack("0.02 --penalty norm2 --shift 100 --raise 0.8");
    let [smallest, possible] = ["smallest_budget", "smallest_not_ruled_out"].map(|key| found[key].as_u64().unwrap());
    assert!(possible == 1 && smallest > possible, "{found}");
    let none = attack("0.001 --penalty norm2 --shift 100 --raise 0.5 --budget 2");
    assert_eq!((&none["smallest_budget"], &none["smallest_not_ruled_out"]), (&Value::Null, &Value::Null), "{none}");
}

#[test]
fn lies_in_rounds_find_their_worst_and_rules_stand_against_them() {
    let sandbox = Sandbox::new();
    star(&sandbox);
    let attack = |flags: &str| sandbox.json(&format!("attack {BASE} --lambda 0.3 --victim n0 --budget 1 {flags}"));
    // A reflection that is amplified in every round has no end.
    let broken = attack("--kind model --penalty squared --solver robust --rule sum --raise 5");
    assert_eq!((&broken["smallest_budget"], &broken["steps"][0]["broken"]), (&1.into(), &true.into()), "{broken}");
    let step = &broken["steps"][0];
    assert!(step["factor"].as_f64().unwrap() >= 1.0 && step["lie"].is_string(), "{step}");
    for rule in ["median", "trimmed-mean", "clipped-gossip", "cs-plus"] {
        let found = attack(&format!("--kind model --penalty squared --solver robust --rule {rule} --raise 5"));
        assert_eq!(found["smallest_budget"], Value::Null, "{rule}: {found}");
        assert!(raise(&found) < 1.0, "{rule}: {found}");
    }
    let norm = attack("--kind model --penalty norm2 --raise 1e9");
    let step = &norm["steps"][0];
    assert!(step["raise"].as_f64().unwrap() <= step["raise_max"].as_f64().unwrap() + 1e-3, "{step}");
    let one = attack("--kind model --penalty norm2 --lie mimic --raise 1e9");
    assert!(raise(&one) <= raise(&norm) + 1e-12 && one["steps"][0]["lie"] == "mimic");
    let silent = attack("--kind dos --penalty norm2 --raise 1e9");
    assert!(["silence", "delay"].contains(&silent["steps"][0]["lie"].as_str().unwrap()), "{silent}");
}

#[test]
fn backdoors_open_and_clean_labels_stay_clean() {
    let sandbox = Sandbox::new();
    star(&sandbox);
    let attack = |flags: &str| sandbox.json(&format!("attack {BASE} --victim n0 {flags}"));
    let open = attack("--kind backdoor --trigger x1=6 --wanted 50 --penalty squared --lambda 3");
    let success = |found: &Value| found["steps"].as_array().unwrap().last().unwrap()["success"].as_f64().unwrap();
    assert!(success(&open) > 0.5, "{open}");
    let shut = attack("--kind backdoor --trigger x1=6 --wanted 50 --penalty norm2 --lambda 0.03 --budget 1");
    assert!(success(&shut) < 0.5 * success(&open), "{shut}");
    let clean = attack("--kind clean-label --penalty squared --lambda 3");
    assert!(raise(&clean) > 0.0, "{clean}");
    let moved = |flags: &str| attack(&format!("--kind feature --raise 1e9 {flags}"));
    let (near, far) = (moved("--penalty squared --lambda 3"), moved("--penalty squared --lambda 3 --shift 30"));
    assert!(raise(&near) > 0.0 && raise(&far) != raise(&near), "{near} {far}");
    // In words, and for all nodes.
    let words =
        sandbox.succeed(&format!("attack {BASE} --lambda 0.3 --kind label --shift 5 --penalty norm2 --budget 2"));
    assert!(words.contains("attack on all honest nodes by label") && words.contains("at most"), "{words}");
}

#[test]
fn screening_leaves_out_the_edges_of_a_node_that_is_off() {
    let sandbox = Sandbox::new();
    star(&sandbox);
    let shifted: String = sandbox
        .read("nodes.csv")
        .lines()
        .map(|line| match line.strip_prefix("n3,") {
            Some(rest) => {
                let (x, y) = rest.rsplit_once(',').unwrap();
                format!("n3,{x},{}\n", -20.0 * y.parse::<f64>().unwrap())
            }
            None => format!("{line}\n"),
        })
        .collect();
    sandbox.write("nodes.csv", shifted);
    let found = sandbox.json(&format!("fit {BASE} --lambda 0.3 --screen 20 --penalty norm2"));
    let left_out = found["screened"].as_array().unwrap();
    assert!(!left_out.is_empty() && found["edges"].as_u64().unwrap() + left_out.len() as u64 == 9, "{found}");
    for edge in left_out {
        assert!([&edge["node"], &edge["neighbour"]].contains(&&Value::from("n3")), "{edge}");
    }
    let without = sandbox.json(&format!("fit {BASE} --lambda 0.3 --penalty norm2"));
    assert!(without["screened"].is_null());
    let robust = sandbox
        .json(&format!("fit {BASE} --lambda 0.3 --penalty squared --solver robust --rule trimmed-mean --liars 1"));
    assert_eq!((&robust["solver"], &robust["status"]), (&"robust".into(), &"converged".into()), "{robust}");
    let sum = sandbox.json(&format!("fit {BASE} --lambda 0.3 --penalty squared --solver robust --rule sum"));
    let exact = sandbox.json(&format!("fit {BASE} --lambda 0.3 --penalty squared"));
    let objective = |found: &Value| found["objective"].as_f64().unwrap();
    assert!((objective(&sum) - objective(&exact)).abs() < 2e-6 * objective(&exact).max(1.0), "{sum}");
}

/// With the quadratic form one neighbour pulls without limit; bounded forms hold it, in rounds and where it poisons rows.
#[test]
fn a_learnt_coupling_with_a_limit_stands_where_the_quadratic_one_breaks() {
    let sandbox = Sandbox::new();
    star(&sandbox);
    let base = "nodes.csv --edges edges.csv --target y --coupling learnt --structure likelihood";
    let attack = |flags: &str| sandbox.json(&format!("attack {base} --victim n0 --budget 1 --raise 1e9 {flags}"));
    let quadratic = attack("--kind model --lie constant");
    assert_eq!((&quadratic["penalty"], &quadratic["lambda"]), (&"learnt, quadratic".into(), &Value::Null));
    for form in ["huber", "norm"] {
        let bounded = attack(&format!("--kind model --lie constant --coupling-penalty {form}"));
        assert!(raise(&bounded) < 0.2 * raise(&quadratic), "{form}: {bounded} {quadratic}");
        let why = bounded["steps"][0]["no_bound"].as_str().unwrap();
        assert!(why.contains("has a limit"), "{why}");
        let poisoned = attack(&format!("--kind label --shift 5 --coupling-penalty {form}"));
        assert_eq!(poisoned["penalty"], format!("learnt, {form}"));
        assert!(raise(&poisoned).is_finite(), "{poisoned}");
    }
}
