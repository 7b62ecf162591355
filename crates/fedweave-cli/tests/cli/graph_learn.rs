//! Graphs learnt from rows, and nodes that fall back to their local models.

use std::collections::BTreeMap;

use crate::sandbox::{Sandbox, Table};

/// Twelve nodes with ten rows each; the first six have slope 2, the others -2.
fn planted() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    let mut state = 1u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let names: Vec<String> = (0..12).map(|i| format!("n{i:02}")).collect();
    let mut rows = String::from("node,x1,x2,y\n");
    for (i, name) in names.iter().enumerate() {
        let slope = if i < 6 { 2.0 } else { -2.0 };
        for _ in 0..10 {
            let (x1, x2) = (noise(), noise());
            rows += &format!("{name},{x1},{x2},{}\n", slope * x1 + 0.5 * x2 + 0.3 * noise());
        }
    }
    sandbox.write("big.csv", rows);
    (sandbox, names)
}

/// The weights of every node, added up.
fn degrees(edges: &Table) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    for row in &edges.rows {
        let weight: f64 = row[2].parse().unwrap();
        row[..2].iter().for_each(|end| *found.entry(end.clone()).or_default() += weight);
    }
    found
}

#[test]
fn budgets_are_met_and_edges_stay_inside_planted_clusters() {
    let (sandbox, names) = planted();
    for measure in ["gradient", "parameters", "wald", "pooled-fit", "joint"] {
        let found =
            sandbox.json(&format!("graph learn big.csv --target y --by {measure} --degree 2 --out {measure}.csv"));
        let edges = sandbox.table(&format!("{measure}.csv"));
        assert_eq!(edges.header, ["source", "target", "weight", "discrepancy", "probability"]);
        assert_eq!(found["edges"], edges.rows.len());
        let met = degrees(&edges);
        assert!(names.iter().all(|name| met[name] == 2.0), "{measure}: {met:?}");
        let cluster = |name: &str| names.iter().position(|known| known == name).unwrap() / 6;
        assert!(edges.rows.iter().all(|row| cluster(&row[0]) == cluster(&row[1])), "{measure}");
        if measure != "joint" {
            let (value, bound) = (found["total_discrepancy"].as_f64().unwrap(), found["lower_bound"].as_f64().unwrap());
            assert!((value - bound).abs() <= 1e-9 * value, "{found}");
        }
    }
    let tested = sandbox.json("graph learn big.csv --target y --fdr 0.1 --out tested.csv");
    assert!(tested["expected_wrong"].as_f64().unwrap() <= 0.1, "{tested}");
    assert_eq!(sandbox.json("graph learn big.csv --target y --edges-max 7")["edges"], 7);
    // What a budget buys: a graph that falls apart, and one that does not.
    let apart = sandbox.json("graph learn big.csv --target y --degree 2");
    assert!(apart["components"].as_u64().unwrap() > 1 && apart["lambda_2"].as_f64().unwrap() < 1e-9, "{apart}");
    let whole = sandbox.json("graph learn big.csv --target y --degree 11 --out whole.csv");
    let held = |key: &str| whole[key].as_f64().unwrap();
    // The complete graph of twelve nodes attains the bound.
    assert!((held("lambda_2") - 12.0).abs() < 1e-9 && (held("lambda_2_bound") - 12.0).abs() < 1e-9, "{whole}");
    assert!(held("degree_mean") == 11.0 && (held("degree_enough") - 12f64.ln()).abs() < 1e-12, "{whole}");
    assert!(sandbox.succeed("graph learn big.csv --target y --degree 11 --out whole.csv").contains("Prop. 7.1"));
    // Without a file, edges are what is printed.
    assert!(sandbox.succeed("graph learn big.csv --target y --nearest 1").starts_with("source,target,weight"));
}

#[test]
fn a_fit_with_a_learnt_graph_is_the_fit_with_its_edges() {
    let (sandbox, _) = planted();
    let fit = "fit big.csv --target y --lambda 0.3 --penalty squared --tolerance 1e-10";
    let found = sandbox.json(&format!("{fit} --graph learn --degree 3 --out own"));
    assert_eq!(found["learnt_graph"]["discrepancy"], "pooled-fit");
    sandbox.succeed("graph learn big.csv --target y --degree 3 --out edges.csv");
    assert_eq!(sandbox.read("own/edges.csv"), sandbox.read("edges.csv"));
    let page = sandbox.read("own/report.html");
    assert!(page.contains("Why these edges") && page.contains("discrepancy (pooled-fit)"));
    let told = &sandbox.read_json("own/report.json")["learnt"]["discrepancy"];
    let written: Vec<f64> = sandbox.table("own/edges.csv").rows.iter().map(|row| row[3].parse().unwrap()).collect();
    assert_eq!(told.as_array().unwrap().iter().map(|d| d.as_f64().unwrap()).collect::<Vec<_>>(), written);
    sandbox.succeed(&format!("{fit} --edges edges.csv --out given"));
    assert!(sandbox.table("own/parameters.csv").distance(&sandbox.table("given/parameters.csv")) < 1e-9);
}

#[test]
fn rows_that_are_held_out_have_no_say_in_the_graph() {
    let (sandbox, _) = planted();
    let lines: Vec<String> = sandbox.read("big.csv").lines().map(str::to_owned).collect();
    let changed = |(k, line): (usize, &String)| match k > 0 && k % 10 == 0 {
        true => format!("{},99", line.rsplit_once(',').unwrap().0),
        false => line.clone(),
    };
    sandbox.write("other.csv", lines.iter().enumerate().map(changed).collect::<Vec<_>>().join("\n"));
    for table in ["big", "other"] {
        let fit = format!("fit {table}.csv --target y --graph learn --lambda 0.3 --split last --validation 1");
        sandbox.succeed(&format!("{fit} --out {table}"));
    }
    assert_eq!(sandbox.read("big/edges.csv"), sandbox.read("other/edges.csv"));
    assert_eq!(sandbox.read("big/parameters.csv"), sandbox.read("other/parameters.csv"));
}

#[test]
fn nodes_that_the_network_hurts_keep_their_local_models() {
    let (sandbox, names) = planted();
    // The edge between n05 and n06 joins opposite models.
    let mut edges = String::from("source,target\n");
    (0..11).filter(|&i| i != 4 && i != 6).for_each(|i| edges += &format!("{},{}\n", names[i], names[i + 1]));
    sandbox.write("wrong.csv", edges);
    let fit = "fit big.csv --edges wrong.csv --target y --penalty squared --lambda 5 --validation 3 --tolerance 1e-11";
    let found = sandbox.json(&format!("{fit} --fallback 1 --out careful"));
    let plain = sandbox.json(&format!("{fit} --out plain"));
    let kept: Vec<&str> = found["fallback"]["nodes"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    assert!(kept.contains(&"n05") && kept.contains(&"n06") && kept.len() < 12, "{kept:?}");
    assert_eq!(plain["nodes_hurt"], kept.len());
    let better = found["fallback"]["validation_error"].as_f64().unwrap();
    assert!(better < plain["validation_error"].as_f64().unwrap() && better < plain["local_error"].as_f64().unwrap());
    let ridge = &found["fallback"]["ridge"];
    let alone = "fit big.csv --target y --lambda 0 --validation 3 --tolerance 1e-11";
    sandbox.succeed(&format!("{alone} --ridge {ridge} --out alone"));
    let [careful, plain, alone] =
        ["careful", "plain", "alone"].map(|run| sandbox.table(&format!("{run}/parameters.csv")));
    for name in &names {
        let wanted = if kept.contains(&name.as_str()) { alone.of(name) } else { plain.of(name) };
        let far = careful.of(name).iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far < 1e-6, "{name}: {far}");
    }
    let refused = sandbox.run("explain careful");
    assert!(refused.code == 2 && refused.stderr.contains("--fallback"), "{}", refused.stderr);
}

#[test]
fn a_comparison_learns_its_graph_and_falling_back_hurts_fewer() {
    let (sandbox, _) = planted();
    let found =
        sandbox.json("compare big.csv --target y --graph learn --degree 2 --fallback --rivals none --penalty squared");
    assert_eq!(found["learnt_graph"]["budget"], "--degree 2");
    let number = |method: &str, key: &str| found[method][key].as_f64().unwrap();
    assert!(number("networked", "test_error") < number("global", "test_error"));
    assert!(number("fallback", "nodes_lose") <= number("networked", "nodes_lose"));
    assert!(number("fallback", "test_error").is_finite());
}
