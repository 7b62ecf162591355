//! Problems with known optima, run as a user would run them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::Sandbox;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden")
}

/// A golden problem, its known solution, and what the program makes of it.
struct Golden {
    name: String,
    problem: Value,
    optimum: Value,
    sandbox: Sandbox,
    found: Value,
}

impl Golden {
    fn solve(name: &str) -> Self {
        let sandbox = Sandbox::new();
        for file in ["nodes.csv", "edges.csv", "problem.json", "solution.json"] {
            std::fs::copy(folder().join(name).join(file), sandbox.path(file)).unwrap();
        }
        let (problem, optimum) = (sandbox.read_json("problem.json"), sandbox.read_json("solution.json"));
        let found = sandbox.json(&format!(
            "fit nodes.csv --edges edges.csv {} --solver primal-dual --tolerance 1e-6 --out run",
            flags(&problem)
        ));
        Golden { name: name.into(), problem, optimum, sandbox, found }
    }

    fn loss(&self) -> &str {
        self.problem["loss"].as_str().unwrap()
    }

    /// Absolute and squared-hinge losses without full ridge may go without a certificate; all others may not.
    fn must_be_certified(&self) -> bool {
        let certifiable = ["squared", "point", "logistic", "huber", "poisson"];
        certifiable.contains(&self.loss()) || self.problem["loss_params"].get("ridge").is_some()
    }

    fn complaints(&self) -> Vec<String> {
        let best = self.optimum["objective"].as_f64().unwrap();
        let scale = best.abs().max(1.0);
        let excess = self.found["objective"].as_f64().unwrap() - best;
        let mut wrong = Vec::new();
        let mut check = |good: bool, what: String| {
            if !good {
                wrong.push(format!("{}: {what}", self.name))
            }
        };
        check(self.found["status"] == "converged", format!("status {}", self.found["status"]));
        check(excess.abs() <= 1e-5 * scale, format!("objective off by {excess:e}"));
        match self.found["certified_gap"].as_f64() {
            Some(gap) => {
                check(gap >= excess - 1e-8 * best.abs(), format!("certified {gap:e} but the error is {excess:e}"));
                check(gap <= 1e-4 * scale, format!("certified gap {gap:e} is too coarse"));
            }
            None => check(!self.must_be_certified(), "no certificate".into()),
        }
        check(
            self.found["nodes"] == self.problem["nodes"].as_array().unwrap().len(),
            format!("{} nodes", self.found["nodes"]),
        );
        check(self.found["dim"] == self.problem["dim"], format!("dim {}", self.found["dim"]));
        let (error, size) = self.distance();
        check(error <= 1e-2 * size, format!("parameters off by {error:e} at scale {size:e}"));
        wrong
    }

    /// Largest distance of a model from the known one, where that is unique, and the size of the largest model.
    fn distance(&self) -> (f64, f64) {
        let parameters = self.sandbox.table("run/parameters.csv");
        let unsure: Vec<&str> =
            self.optimum["nonunique_nodes"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let (mut worst, mut size) = (0.0f64, 0.0f64);
        for (node, known) in self.optimum["w"].as_object().unwrap() {
            let known: Vec<f64> = known.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
            size = size.max(known.iter().map(|v| v * v).sum::<f64>().sqrt());
            if unsure.contains(&node.as_str()) {
                continue;
            }
            let mut found = parameters.of(node);
            if self.loss() == "squared_hinge" {
                // The golden predictor is <w, x> - b.
                *found.last_mut().unwrap() *= -1.0;
            }
            assert_eq!(found.len(), known.len());
            worst = worst.max(found.iter().zip(&known).map(|(f, k)| (f - k).powi(2)).sum::<f64>().sqrt());
        }
        (worst, size)
    }
}

fn flags(problem: &Value) -> String {
    let params = &problem["loss_params"];
    let loss = problem["loss"].as_str().unwrap();
    let mut flags = format!("--loss {} --penalty {}", loss.replace('_', "-"), problem["penalty"].as_str().unwrap());
    flags += &format!(" --lambda {}", problem["lambda"]);
    flags += if loss == "point" { " --drop y" } else { " --target y" };
    match params["c"].as_f64() {
        Some(c) => flags += &format!(" --ridge {}", c / 2.0),
        None => flags += " --no-intercept",
    }
    if let Some(ridge) = params["ridge"].as_f64() {
        flags += &format!(" --ridge {ridge}");
    }
    if let Some(delta) = params["delta"].as_f64() {
        flags += &format!(" --huber-delta {delta}");
    }
    flags
}

#[test]
fn all_golden_problems_are_solved_and_certified() {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> =
        entries.filter(|e| e.path().is_dir()).map(|e| e.file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names.len(), 26);
    let wrong: Vec<String> = names.iter().flat_map(|name| Golden::solve(name).complaints()).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn clusters_of_a_tightly_solved_problem_are_the_known_ones() {
    // Near the optimum the count settles; looser runs may still hold a node apart.
    for name in ["p04_sbm30_d5_sq_norm2", "p07_grid5x6_d2_logistic01_norm2", "p13_complete30_d2_point_norm2"] {
        let golden = Golden::solve(name);
        let tight = golden
            .sandbox
            .json(&format!("fit nodes.csv --edges edges.csv {} --tolerance 1e-9", flags(&golden.problem)));
        assert_eq!(tight["clusters"], golden.optimum["clusters"], "{name}");
    }
}
