//! Legal but extreme: no panic, no NaN, and an honest exit code.

use crate::sandbox::{NODES, Outcome, Sandbox};

/// Runs a fit that may end early (exit code 1) but must leave finite models and a finite objective.
fn survive(name: &str, sandbox: &Sandbox, fit: &str) -> Outcome {
    let outcome = sandbox.run(&format!("{fit} --json --out run --overwrite"));
    assert!(outcome.code == 0 || outcome.code == 1, "{name}: exit code {}: {}", outcome.code, outcome.stderr);
    assert_eq!(outcome.stderr, "", "{name}");
    let summary: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    for key in ["objective", "kkt_residual", "lambda", "train_error"] {
        assert!(summary[key].is_number(), "{name}: {key} is {}", summary[key]);
    }
    let converged = summary["status"] == "converged";
    assert_eq!(converged, outcome.code == 0, "{name}: {}", summary["status"]);
    let parameters = sandbox.table("run/parameters.csv");
    for row in 0..parameters.rows.len() {
        assert!(parameters.numbers(row).iter().all(|v| v.is_finite()), "{name}: {:?}", parameters.rows[row]);
    }
    for file in ["run/history.csv", "run/summary.json", "run/report.json"] {
        assert!(!sandbox.read(file).contains("NaN"), "{name}: {file}");
    }
    outcome
}

/// Like [`survive`], and the tolerance must be reached.
fn converge(name: &str, sandbox: &Sandbox, fit: &str) {
    let outcome = survive(name, sandbox, fit);
    assert_eq!(outcome.code, 0, "{name}: {}", outcome.stdout);
}

const FIT: &str = "fit nodes.csv --edges edges.csv --target y --lambda 0.1";

#[test]
fn small_and_disconnected_networks() {
    let one = "node,x1,x2,y\na,1,0.5,1.1\na,2,-0.3,1.9\na,0.5,1.5,0.2\n";
    let cases = [
        ("one node", one, "fit nodes.csv --target y --lambda 0.1"),
        ("one node, one row", "node,x1,y\na,1,2\n", "fit nodes.csv --target y --lambda 0.1"),
        ("no edges", NODES, "fit nodes.csv --target y --lambda 0.1"),
        ("isolated nodes", NODES, "fit nodes.csv --edges one.csv --target y --lambda 0.1"),
        ("several components", NODES, "fit nodes.csv --edges two.csv --target y --lambda 0.1"),
        ("edges to nowhere", NODES, "fit nodes.csv --edges strangers.csv --target y --lambda 0.1"),
        ("intercept only", NODES, "fit nodes.csv --edges edges.csv --target y --drop x1,x2 --lambda 0.1"),
        ("d = 1", NODES, "fit nodes.csv --edges edges.csv --target y --features x1 --no-intercept --lambda 0.1"),
        ("one point", one, "fit nodes.csv --drop y --loss point --lambda 0.1"),
        ("lambda chosen without edges", NODES, "fit nodes.csv --target y"),
        ("lambda chosen for one node", one, "fit nodes.csv --target y"),
    ];
    for (name, nodes, fit) in cases {
        let sandbox = Sandbox::new();
        sandbox.write("nodes.csv", nodes);
        sandbox.write("one.csv", "source,target\na,b\n");
        sandbox.write("two.csv", "source,target\na,b\nc,d\n");
        sandbox.write("strangers.csv", "source,target\np,q\nq,r\na,b\n");
        converge(name, &sandbox, fit);
    }
}

#[test]
fn strength_of_the_coupling() {
    for penalty in ["norm2", "norm1", "norminf", "squared"] {
        let fit =
            |lambda: &str| format!("fit nodes.csv --edges edges.csv --target y --penalty {penalty} --lambda {lambda}");
        for lambda in ["0", "1e-300", "1e-12", "1e3", "1e6"] {
            converge(&format!("lambda {lambda}, {penalty}"), &Sandbox::new(), &fit(lambda));
        }
        survive(&format!("lambda 1e12, {penalty}"), &Sandbox::new(), &fit("1e12"));
    }
}

#[test]
fn a_huge_lambda_means_one_model_and_zero_means_local_models() {
    let sandbox = Sandbox::new();
    sandbox.succeed("fit nodes.csv --edges edges.csv --target y --lambda 1e6 --tolerance 1e-9 --out run");
    let table = sandbox.table("run/parameters.csv");
    let (a, d) = (table.of("a"), table.of("d"));
    a.iter().zip(&d).for_each(|(a, d)| assert!((a - d).abs() < 1e-6, "{a} {d}"));
    let local = sandbox.json("fit nodes.csv --edges edges.csv --target y --lambda 0");
    let alone = sandbox.json("fit nodes.csv --target y --lambda 0.1");
    let (local, alone) = (local["objective"].as_f64().unwrap(), alone["objective"].as_f64().unwrap());
    assert!((local - alone).abs() < 1e-6, "{local} {alone}");
}

/// A table of 4 nodes and 4 rows whose feature and target are functions of the row number.
fn made(x: impl Fn(usize) -> f64, z: impl Fn(usize) -> f64, y: impl Fn(usize) -> f64) -> Sandbox {
    let row = |k: usize| format!("{},{:e},{:e},{:e}\n", ["a", "b", "c", "d"][k / 4], x(k), z(k), y(k));
    let sandbox = Sandbox::new();
    sandbox.write("nodes.csv", "node,x1,x2,y\n".to_owned() + &(0..16).map(row).collect::<String>());
    sandbox
}

/// Numbers between -1 and 1 without a pattern.
fn wave(k: usize) -> f64 {
    (1.7 * k as f64 + 0.3).sin()
}

fn other_wave(k: usize) -> f64 {
    (2.9 * k as f64 + 1.1).cos()
}

#[test]
fn columns_without_information() {
    for loss in ["squared", "absolute", "huber", "quantile"] {
        let fit = format!("{FIT} --loss {loss}");
        converge(&format!("constant column, {loss}"), &made(wave, |_| 3.0, other_wave), &fit);
        converge(&format!("zero column, {loss}"), &made(wave, |_| 0.0, other_wave), &fit);
        converge(&format!("equal columns, {loss}"), &made(wave, wave, other_wave), &fit);
        converge(&format!("constant target, {loss}"), &made(wave, other_wave, |_| 2.0), &fit);
        converge(&format!("all zero, {loss}"), &made(|_| 0.0, |_| 0.0, |_| 0.0), &fit);
    }
    converge("constant column, standardised", &made(wave, |_| 3.0, other_wave), &format!("{FIT} --standardize"));
}

#[test]
fn condition_number_1e12() {
    let nearly_equal = || made(wave, |k| wave(k) + 1e-6 * other_wave(k), |k| wave(k) + 0.1 * other_wave(k));
    let scaled_apart = || made(wave, |k| 1e-6 * other_wave(k), |k| wave(k) + 0.1 * other_wave(k));
    for penalty in ["norm2", "squared"] {
        let fit = format!("{FIT} --penalty {penalty} --max-iterations 20000");
        survive(&format!("nearly equal columns, {penalty}"), &nearly_equal(), &fit);
        survive(&format!("scaled apart, {penalty}"), &scaled_apart(), &fit);
        converge(&format!("scaled apart, standardised, {penalty}"), &scaled_apart(), &format!("{fit} --standardize"));
    }
}

#[test]
fn scales() {
    for exponent in [-30, -10, 10, 30] {
        let scale = 10f64.powi(exponent);
        for loss in ["squared", "huber", "absolute"] {
            let fit = format!("{FIT} --loss {loss} --max-iterations 5000");
            let feature = made(|k| scale * wave(k), other_wave, |k| wave(k + 3));
            survive(&format!("feature scaled 1e{exponent}, {loss}"), &feature, &fit);
            let target = made(wave, other_wave, |k| scale * wave(k + 3));
            survive(&format!("target scaled 1e{exponent}, {loss}"), &target, &fit);
        }
    }
    for weight in ["1e-30", "1e30"] {
        let sandbox = Sandbox::new();
        sandbox.write("edges.csv", format!("source,target,weight\na,b,{weight}\nb,c,1\nc,d,1\n"));
        survive(&format!("edge weight {weight}"), &sandbox, &format!("{FIT} --max-iterations 5000"));
    }
}

#[test]
fn labels_and_counts_at_extreme_scales() {
    let label = |k: usize| f64::from(wave(k + 3) > 0.0);
    for exponent in [-30, -5, 5, 30] {
        let scale = 10f64.powi(exponent);
        for loss in ["logistic", "squared-hinge", "poisson"] {
            let fit = format!("{FIT} --loss {loss} --ridge 0.01 --max-iterations 2000");
            survive(
                &format!("feature scaled 1e{exponent}, {loss}"),
                &made(|k| scale * wave(k), other_wave, label),
                &fit,
            );
        }
    }
}

/// Squares of 1e150 and 1e-150 leave the range of double precision: a clear error is as good as an answer.
#[test]
fn scales_beyond_squares() {
    for exponent in [-150, 150] {
        let scale = 10f64.powi(exponent);
        let cases = [
            ("feature", made(|k| scale * wave(k), other_wave, wave)),
            ("target", made(wave, other_wave, |k| scale * wave(k))),
            ("everything", made(|k| scale * wave(k), |k| scale * other_wave(k), |k| scale * wave(k))),
        ];
        for (what, sandbox) in cases {
            let name = format!("{what} scaled 1e{exponent}");
            let outcome = sandbox.run(&format!("{FIT} --json --out probe"));
            if outcome.code == 2 {
                assert!(
                    outcome.stderr.starts_with("error:") && outcome.stderr.len() < 600,
                    "{name}: {}",
                    outcome.stderr
                );
                assert!(outcome.stderr.contains("rescale"), "{name}: {}", outcome.stderr);
                assert!(!sandbox.exists("probe"), "{name}");
            } else {
                survive(&name, &sandbox, FIT);
            }
        }
    }
}

#[test]
fn standardising_rescues_large_columns() {
    for exponent in [-100, 100] {
        let sandbox = made(|k| 10f64.powi(exponent) * wave(k), other_wave, |k| wave(k) + 0.1 * wave(3 * k));
        converge(&format!("1e{exponent}"), &sandbox, &format!("{FIT} --standardize"));
    }
}

#[test]
fn limits() {
    let sandbox = Sandbox::new();
    for limit in ["--time-limit 0", "--max-iterations 0", "--max-iterations 1"] {
        // A tolerance out of reach: so small a problem is otherwise certified before the limit is looked at.
        let outcome = survive(limit, &sandbox, &format!("{FIT} --tolerance 1e-300 {limit}"));
        assert_eq!(outcome.code, 1, "{limit}: {}", outcome.stdout);
    }
    for limit in
        ["--max-iterations 18446744073709551615", "--time-limit 1e9", "--threads 64", "--seed 18446744073709551615"]
    {
        converge(limit, &sandbox, &format!("{FIT} {limit}"));
    }
}

#[test]
fn a_time_limit_beyond_all_clocks_is_no_panic() {
    let outcome = Sandbox::new().run(&format!("{FIT} --time-limit 1e300 --json"));
    assert!(outcome.code == 0 || outcome.code == 2, "exit code {}: {}", outcome.code, outcome.stderr);
}

#[test]
fn the_largest_seed_works_wherever_a_seed_does() {
    let seed = "--seed 18446744073709551615";
    let sandbox = Sandbox::new();
    for command in [
        format!("fit nodes.csv --edges edges.csv --target y {seed}"),
        format!("compare nodes.csv --edges edges.csv --target y --splits 2 {seed}"),
        format!("generate data --nodes 5 --clusters 1 {seed}"),
    ] {
        sandbox.succeed(&command);
    }
}

#[test]
fn many_rows_and_many_columns() {
    // Fewer rows than columns: the least squares fit is not unique, the models must still be finite.
    let sandbox = Sandbox::new();
    sandbox.succeed("generate data --nodes 6 --clusters 1 --p-in 1 --dim 200 --rows 3");
    converge("wide", &sandbox, "fit data/nodes.csv --edges data/edges.csv --target y --lambda 0.1");
    sandbox.succeed("generate tall --nodes 3 --clusters 1 --p-in 1 --dim 1 --rows 3000");
    converge("tall", &sandbox, "fit tall/nodes.csv --edges tall/edges.csv --target y --lambda 0.1");
}

#[test]
fn strengths_at_the_end_of_the_range() {
    for flags in ["--lambda 1e308", "--lambda 1 --ridge 1e308"] {
        let sandbox = Sandbox::new();
        let fit = format!("fit nodes.csv --edges edges.csv --target y {flags}");
        match sandbox.run(&fit).code {
            2 => {}
            _ => drop(survive(flags, &sandbox, &fit)),
        }
    }
}
