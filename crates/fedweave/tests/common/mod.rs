//! Reads the golden problems: small instances with optima found by independent solvers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fedweave::loss::{Family, LossOptions};
use fedweave::penalty::{Norm1, Norm2, NormInf, Penalty, SquaredNorm};
use fedweave::{Dataset, Graph, Matrix, Problem};
use serde_json::Value;

#[allow(dead_code, reason = "not every test looks at all of it")]
pub struct Golden {
    pub name: String,
    pub problem: Problem,
    pub family: Family,
    pub objective: f64,
    pub w: Matrix,
    pub unique: Vec<bool>,
    pub clusters: Option<usize>,
}

pub fn all() -> Vec<Golden> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let entries = std::fs::read_dir(root).expect("tests/golden exists");
    let mut folders: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).filter(|p| p.is_dir()).collect();
    folders.sort();
    folders.iter().map(|f| read(f)).collect()
}

fn read(folder: &Path) -> Golden {
    let json = |name: &str| -> Value { serde_json::from_str(&text(folder, name)).unwrap() };
    let (spec, solution) = (json("problem.json"), json("solution.json"));
    let mut names: Vec<String> = spec["nodes"].as_array().unwrap().iter().map(|n| n.as_str().unwrap().into()).collect();
    names.sort();
    let index: BTreeMap<&str, usize> = names.iter().enumerate().map(|(i, n)| (n.as_str(), i)).collect();
    let params = &spec["loss_params"];
    let family = family(spec["loss"].as_str().unwrap(), params);
    let hinge = family == Family::SquaredHinge;
    let ridge = if hinge { params["c"].as_f64().unwrap() / 2.0 } else { params["ridge"].as_f64().unwrap_or(0.0) };
    let options = LossOptions { ridge, spare_last: hinge, ..Default::default() };
    let data = dataset(&text(folder, "nodes.csv"), &index, hinge);
    let edges: Vec<_> = records(&text(folder, "edges.csv"))
        .map(|f| (index[f[0].as_str()], index[f[1].as_str()], f[2].parse().unwrap()))
        .collect();
    let graph = Graph::new(names.len(), &edges).unwrap();
    let loss = family.build(data, &options).unwrap();
    let penalty = penalty(spec["penalty"].as_str().unwrap());
    let problem = Problem::build(graph, loss, penalty, spec["lambda"].as_f64().unwrap()).unwrap();
    let d = problem.dim();
    let mut w = Matrix::zeros(names.len(), d);
    for (i, name) in names.iter().enumerate() {
        for (j, v) in solution["w"][name].as_array().unwrap().iter().enumerate() {
            // The bias of the squared hinge is subtracted there and added here.
            w.row_mut(i)[j] = v.as_f64().unwrap() * if hinge && j + 1 == d { -1.0 } else { 1.0 };
        }
    }
    let loose: Vec<&str> =
        solution["nonunique_nodes"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
    let robust = solution["clusters_robust"].as_bool().unwrap();
    Golden {
        name: folder.file_name().unwrap().to_string_lossy().into(),
        unique: names.iter().map(|n| !loose.contains(&n.as_str())).collect(),
        objective: solution["objective"].as_f64().unwrap(),
        clusters: robust.then(|| solution["clusters"].as_u64().unwrap() as usize),
        problem,
        family,
        w,
    }
}

fn text(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn records(text: &str) -> impl Iterator<Item = Vec<String>> + '_ {
    text.lines().skip(1).map(|l| l.split(',').map(str::to_owned).collect())
}

fn dataset(text: &str, index: &BTreeMap<&str, usize>, intercept: bool) -> Dataset {
    let features = text.lines().next().unwrap().split(',').count() - 2;
    let (mut node, mut x, mut y) = (Vec::new(), Vec::new(), Vec::new());
    for record in records(text) {
        node.push(index[record[0].as_str()]);
        x.extend(record[1..=features].iter().map(|v| v.parse::<f64>().unwrap()));
        x.extend(intercept.then_some(1.0));
        y.push(record[features + 1].parse().unwrap());
    }
    let x = Matrix::from_rows(features + usize::from(intercept), x);
    Dataset::group(index.len(), &node, &x, &y, &vec![1.0; y.len()]).unwrap().0
}

fn family(name: &str, params: &Value) -> Family {
    match name {
        "squared" => Family::Squared,
        "absolute" => Family::Absolute,
        "huber" => Family::Huber { delta: params["delta"].as_f64().unwrap() },
        "logistic" => Family::Logistic,
        "squared_hinge" => Family::SquaredHinge,
        "poisson" => Family::Poisson,
        "point" => Family::Point,
        other => panic!("unknown loss {other}"),
    }
}

fn penalty(name: &str) -> Box<dyn Penalty> {
    match name {
        "norm2" => Box::new(Norm2),
        "norm1" => Box::new(Norm1),
        "norminf" => Box::new(NormInf),
        "squared" => Box::new(SquaredNorm),
        other => panic!("unknown penalty {other}"),
    }
}
