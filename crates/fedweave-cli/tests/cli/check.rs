//! Theorems about a run.

use crate::sandbox::Sandbox;

const FIT: &str = "fit nodes.csv --edges edges.csv --target y";

#[test]
fn bounds_are_told_beside_what_is_there() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&format!("{FIT} --penalty squared --lambda 0.3 --out run"));
    let found = sandbox.json("check run --out bounds.csv");
    assert_eq!(found["violated"], 0, "{found}");
    let bounds = found["bounds"].as_array().unwrap();
    let of = |source: &str| bounds.iter().find(|bound| bound["source"] == source).unwrap_or_else(|| panic!("{source}"));
    for source in ["(4.6)-(4.10)", "(4.14)", "Prop. 2.1", "Prop. 3.1", "Prop. 5.2", "Prop. 6.1", "Prop. 8.1", "(8.9)"] {
        assert_eq!(of(source)["holds"], true);
    }
    // The weighted degree of a, the smallest: 1. Four nodes.
    let bound = of("Prop. 7.1")["bound"].as_f64().unwrap();
    assert!((bound - 4.0 / 3.0).abs() < 1e-12);
    let silent = found["silent"].as_array().unwrap();
    assert!(
        silent.iter().any(|s| s["source"] == "without assumptions" && s["because"].as_str().unwrap().contains("norms"))
    );
    let lines = sandbox.read("bounds.csv").lines().count();
    assert_eq!(lines, 1 + bounds.len() + silent.len());
    let told = sandbox.succeed("check run");
    assert!(told.contains("hold, ") && told.contains("clusters: two halves of the graph"), "{told}");
}

#[test]
fn clusters_may_be_given() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&format!("{FIT} --lambda 0.2 --ridge 0.1 --out run"));
    sandbox.write("clusters.csv", "node,cluster\na,1\nb,1\nc,2\nd,2\n");
    let found = sandbox.json("check run --partition clusters.csv");
    assert_eq!((&found["violated"], &found["clusters"]), (&0.into(), &"those of clusters.csv".into()));
    assert_eq!(sandbox.json("check run")["clusters"], "those that the fit found");
}

#[test]
fn what_cannot_be_checked_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&format!("{FIT} --lambda 0.2 --out run"));
    sandbox.write("clusters.csv", "node,cluster\na,1\nx,1\n");
    for (command, wanted) in [
        ("check nowhere", "nowhere"),
        ("check run --partition clusters.csv", "there is no node `x`"),
        ("check run --partition none.csv", "none.csv"),
    ] {
        let outcome = sandbox.run(command);
        assert!(outcome.code == 2 && outcome.stderr.contains(wanted), "{command}: {} {}", outcome.code, outcome.stderr);
    }
}
