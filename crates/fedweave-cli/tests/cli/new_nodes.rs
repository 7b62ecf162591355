//! `predict --new-nodes`: nodes that were not there at the fit.

use crate::sandbox::{Sandbox, Table};

/// Six nodes on a line; the slope of node `i` is `1 + i / 5`.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut text = "node,at,x,y\n".to_owned();
    for node in 0..6 {
        for r in 0..6 {
            let (x, slope) = (r as f64 - 2.0, 1.0 + 0.2 * node as f64);
            text += &format!("n{node},{node},{x},{}\n", slope * x + 0.1 * ((r * r) % 3) as f64);
        }
    }
    sandbox.write("train.csv", text);
    sandbox.write("new.csv", "node,at,x\nbetween,2.6,2\nn1,1,2\n");
    sandbox
}

const FIT: &str = "fit train.csv --target y --features x --penalty squared --lambda 0.5 --out run --overwrite";

fn predictions(sandbox: &Sandbox, flags: &str) -> Vec<f64> {
    let said = Table::parse(&sandbox.succeed(&format!("predict run new.csv --new-nodes {flags}")));
    (0..said.rows.len()).map(|row| said.numbers(row)[0]).collect()
}

/// The prediction for `x = 2` by a mean of models.
fn mean_of(sandbox: &Sandbox, names: &[&str]) -> f64 {
    let parameters = sandbox.table("run/parameters.csv");
    let one = |name: &&str| 2.0 * parameters.of(name)[0] + parameters.of(name)[1];
    names.iter().map(one).sum::<f64>() / names.len() as f64
}

#[test]
fn without_rows_a_new_node_has_the_mean_of_its_nearest() {
    let sandbox = sandbox();
    for flags in ["", "--standardize"] {
        sandbox.succeed(&format!("{FIT} --knn 2 --by at {flags}"));
        let found = predictions(&sandbox, "");
        assert!((found[0] - mean_of(&sandbox, &["n2", "n3"])).abs() < 1e-9, "{found:?}");
        assert!((found[1] - mean_of(&sandbox, &["n1"])).abs() < 1e-12, "known nodes keep their models: {found:?}");
    }
    sandbox.write("places.csv", "node,at\nbetween,4.4\n");
    let found = predictions(&sandbox, "--node-info places.csv");
    assert!((found[0] - mean_of(&sandbox, &["n4", "n5"])).abs() < 1e-9, "{found:?}");
}

#[test]
fn edges_and_rows_of_a_new_node_are_used() {
    let sandbox = sandbox();
    sandbox.write("chain.csv", "source,target\nn0,n1\nn1,n2\nn2,n3\nn3,n4\nn4,n5\n");
    sandbox.succeed(&format!("{FIT} --edges chain.csv"));
    sandbox.write("joins.csv", "source,target,weight\nbetween,n0,3\nn5,between,1\n");
    let alone = predictions(&sandbox, "--new-edges joins.csv")[0];
    let expected = 0.75 * mean_of(&sandbox, &["n0"]) + 0.25 * mean_of(&sandbox, &["n5"]);
    assert!((alone - expected).abs() < 1e-9, "{alone} {expected}");
    // Rows of its own, on y = 9 x: the model is that of a fit in which everybody else stays, and moves towards them.
    sandbox.write("rows.csv", "node,at,x,y\nbetween,0,1,9\nbetween,0,-1,-9\n");
    let moved = predictions(&sandbox, "--new-edges joins.csv --new-rows rows.csv")[0];
    // mean (y - s)^2 + 0.5 * 4 |w - m|^2 with s = w x: the slope is (2 * 9 + 4 m) / 6, the intercept stays between.
    let parameters = sandbox.table("run/parameters.csv");
    let m = |j: usize| 0.75 * parameters.of("n0")[j] + 0.25 * parameters.of("n5")[j];
    let expected = 2.0 * (9.0 + 2.0 * m(0)) / 3.0 + 2.0 * m(1) / 3.0;
    assert!((moved - expected).abs() < 1e-9, "{moved} {expected}");
}

#[test]
fn norms_and_learnt_couplings_join_too() {
    let sandbox = sandbox();
    sandbox.succeed("fit train.csv --target y --features x --penalty norm2 --lambda 0.01 --knn 3 --by at --out run");
    let found = predictions(&sandbox, "")[0];
    // Its nearest are n2, n3 and n4; the smallest sum of distances from three models nearly on a line is at the one in the middle.
    assert!((found - mean_of(&sandbox, &["n3"])).abs() < 1e-6, "{found}");
    sandbox.succeed("fit train.csv --target y --features x --coupling learnt --knn 2 --by at --out run --overwrite");
    let found = predictions(&sandbox, "")[0];
    let (low, high) = (mean_of(&sandbox, &["n0"]), mean_of(&sandbox, &["n5"]));
    assert!(low < found && found < high, "{low} {found} {high}");
}

/// A learnt coupling by places knows how models change from place to place: rows of all nodes around count, and its own.
#[test]
fn a_learnt_coupling_joins_by_the_rows_of_those_around() {
    let sandbox = Sandbox::new();
    let mut text = "node,at,x,y\n".to_owned();
    for node in 0..40 {
        for r in 0..3 {
            let (x, slope) = (((node * 7 + r * 5) % 11) as f64 / 5.0 - 1.0, 0.1 * node as f64);
            text +=
                &format!("n{node:02},{node},{x},{}\n", slope * x + 0.2 * (((node * 5 + r * 3) % 7) as f64 / 3.0 - 1.0));
        }
    }
    sandbox.write("train.csv", text);
    sandbox.write("new.csv", "node,at,x\na,10.5,1\nb,30.5,1\n");
    let fit = "fit train.csv --target y --features x --coupling learnt --out run --overwrite";
    sandbox.succeed(&format!("{fit} --knn 2 --by at"));
    assert!(sandbox.read_json("run/network.json")["field"].is_object());
    let found = predictions(&sandbox, "");
    assert!((found[0] - 1.05).abs() < 0.2 && (found[1] - 3.05).abs() < 0.2, "{found:?}");
    // Many rows of its own, on another line, count more than what others say.
    let own: String = (0..30).map(|r| format!("a,10.5,{0},{1}\n", r % 5 - 2, -2 * (r % 5 - 2))).collect();
    sandbox.write("rows.csv", format!("node,at,x,y\n{own}"));
    let moved = predictions(&sandbox, "--new-rows rows.csv");
    assert!(moved[0] < -1.0 && (moved[1] - found[1]).abs() < 1e-12, "{moved:?}");
    // Edges that are given have the last word; and without places there is no field.
    sandbox.write("joins.csv", "source,target,weight\na,n30,1\nb,n10,1\n");
    let said = predictions(&sandbox, "--new-edges joins.csv");
    assert!(said[0] > found[0] + 0.5 && said[1] < found[1] - 0.5, "{said:?}");
    sandbox.write(
        "chain.csv",
        (0..39).fold("source,target\n".to_owned(), |all, i| all + &format!("n{i:02},n{:02}\n", i + 1)),
    );
    sandbox.succeed(&format!("{fit} --edges chain.csv"));
    assert!(sandbox.read_json("run/network.json")["field"].is_null());
    sandbox.succeed(&format!("{fit} --knn 2 --by at --parts 2"));
    assert!(sandbox.read_json("run/network.json")["field"].is_null(), "parts keep their rows");
}

/// Without places and edges, its rows say whom a new node is like.
#[test]
fn rows_say_who_is_alike() {
    let sandbox = sandbox();
    sandbox.write("chain.csv", "source,target\nn0,n1\nn1,n2\nn2,n3\nn3,n4\nn4,n5\n");
    let learnt = "--graph learn --nearest 2 --discrepancy parameters --tolerance 1e-11";
    for graph in ["--edges chain.csv", learnt] {
        sandbox.succeed(&format!("{FIT} {graph}"));
        // Rows of the line of n4, which the models of n3 and n5 say next best: two neighbours, as many as nodes have on average.
        let p = sandbox.table("run/parameters.csv");
        let line = |x: f64| p.of("n4")[0] * x + p.of("n4")[1];
        let rows: Vec<String> = [-2.0, 1.0, 3.0].iter().map(|x| format!("between,0,{x},{}", line(*x))).collect();
        sandbox.write("rows.csv", format!("node,at,x,y\n{}\n", rows.join("\n")));
        let alike = predictions(&sandbox, "--new-rows rows.csv")[0];
        let count = sandbox.read_json("run/network.json")["alike"]["count"].as_u64().unwrap();
        let names: Vec<&str> = ["n4", "n5", "n3"][..count as usize].to_vec();
        let edges: String = names.iter().map(|name| format!("between,{name},1\n")).collect();
        sandbox.write("joins.csv", format!("source,target,weight\n{edges}"));
        let said = predictions(&sandbox, "--new-rows rows.csv --new-edges joins.csv")[0];
        assert!((alike - said).abs() < 1e-12, "{graph}: {alike} {said} {count}");
        let refused = sandbox.run("predict run new.csv --new-nodes");
        assert!(refused.code == 2 && refused.stderr.contains("--new-rows"), "{}", refused.stderr);
    }
}
