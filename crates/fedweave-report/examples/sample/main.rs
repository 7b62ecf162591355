//! Sample reports with made-up numbers, for looking at and for the browser test:
//! `cargo run --release -p fedweave-report --example sample -- OUTDIR`.

mod noise;
mod path;
mod trust;

use fedweave_report::*;
use noise::Noise;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: sample OUTDIR")?;
    std::fs::create_dir_all(&folder)?;
    let samples = [
        ("stations-20", stations()),
        ("network-2000", large(2000, 14)),
        ("minimal", minimal()),
        ("hostile", with_path(hostile(), 2)),
        ("path-20", with_path(stations(), 4)),
        ("path-200", with_path(large(200, 8), 6)),
        ("path-2000", with_path(large(2000, 14), 10)),
    ];
    for (name, report) in samples {
        let file = std::path::Path::new(&folder).join(name);
        std::fs::write(file.with_extension("html"), render(&report)?)?;
        std::fs::write(file.with_extension("json"), serde_json::to_string(&report)?)?;
    }
    let page = trust::page();
    let file = std::path::Path::new(&folder).join("trust");
    std::fs::write(file.with_extension("html"), fedweave_report::trust::render_trust(&page)?)?;
    Ok(())
}

fn with_path(mut report: Report, steps: i32) -> Report {
    path::add_path(&mut report, steps);
    report
}

const PLACES: [(&str, f64, f64, usize); 20] = [
    ("Helsinki", 24.94, 60.17, 0),
    ("Espoo", 24.66, 60.21, 0),
    ("Turku", 22.27, 60.45, 0),
    ("Tampere", 23.76, 61.5, 0),
    ("Lahti", 25.66, 60.98, 0),
    ("Pori", 21.8, 61.48, 0),
    ("Kotka", 26.95, 60.47, 0),
    ("Lappeenranta", 28.19, 61.06, 1),
    ("Mikkeli", 27.27, 61.69, 1),
    ("Kuopio", 27.68, 62.89, 1),
    ("Joensuu", 29.76, 62.6, 1),
    ("Jyväskylä", 25.75, 62.24, 1),
    ("Vaasa", 21.62, 63.1, 2),
    ("Kokkola", 23.13, 63.84, 2),
    ("Oulu", 25.47, 65.01, 2),
    ("Kajaani", 27.73, 64.22, 1),
    ("Rovaniemi", 25.73, 66.5, 3),
    ("Sodankylä", 26.59, 67.42, 3),
    ("Ivalo (lentoasema)", 27.54, 68.66, 3),
    ("Kilpisjärvi", 20.79, 69.05, 4),
];

fn stations() -> Report {
    let mut noise = Noise(7);
    let models = [
        [-3.1, 0.82, -0.1, 1.4, 0.3],
        [-6.8, 0.61, 0.2, 1.1, 0.1],
        [-5.2, 0.9, 0.1, 0.7, 0.2],
        [-14.6, 1.7, -0.5, 0.4, -0.6],
        [-11.0, 2.6, -0.9, 0.1, -0.2],
    ];
    let nodes: Vec<Node> = PLACES
        .iter()
        .map(|&(name, x, y, cluster)| {
            let mut node = noisy_node(name, cluster, &models[cluster], &mut noise);
            (node.x, node.y) = (Some(x), Some(y));
            node
        })
        .collect();
    let edges = nearest(&nodes, 3);
    let mut report = fitted("Sample: winter temperature at 20 weather stations", nodes, edges, &models.map(Vec::from));
    report.coordinates = Coordinates::Geographic;
    report.what.features = ["intercept", "trend", "trend²", "cos hour", "sin hour"].map(String::from).into();
    report.what.target = Some("temperature".into());
    report.notices = vec![
        "The numbers of this sample are made up.".into(),
        "1 station has no rows: its model comes from its neighbours alone.".into(),
    ];
    report.nodes[17].rows = 0;
    (report.nodes[17].train_error, report.nodes[17].local_error) = (None, None);
    report.sources = vec!["Positions of Finnish towns; made-up temperatures".into()];
    report.lambda_curve = Some(lambda_curve());
    report.comparison = Some(comparison());
    report
}

/// Places in a square whose coordinates the report is not told; the layout has to find the shape again.
fn large(size: usize, groups: usize) -> Report {
    let mut noise = Noise(3);
    let centres: Vec<(f64, f64)> = (0..groups).map(|_| (noise.next() * 1.6, noise.next())).collect();
    let models: Vec<Vec<f64>> = centres.iter().map(|_| (0..10).map(|_| 4.0 * noise.next() - 2.0).collect()).collect();
    let place = |noise: &mut Noise| (noise.next() * 1.6, noise.next());
    let nodes: Vec<Node> = (0..size)
        .map(|i| {
            let (x, y) = place(&mut noise);
            let distance = |c: &(f64, f64)| (c.0 - x).hypot(c.1 - y);
            let cluster =
                (0..groups).min_by(|&a, &b| distance(&centres[a]).total_cmp(&distance(&centres[b]))).unwrap_or(0);
            let mut node = noisy_node(&format!("node-{i:04}"), cluster, &models[cluster], &mut noise);
            (node.x, node.y) = (Some(x / 0.45), Some(y));
            node
        })
        .collect();
    let edges = nearest(&nodes, 7);
    let mut report = fitted(&format!("Sample: {size} nodes without coordinates"), nodes, edges, &models);
    for node in &mut report.nodes {
        (node.x, node.y) = (None, None);
    }
    report.notices = vec!["The numbers of this sample are made up.".into()];
    report.lambda_curve = Some(lambda_curve());
    report
}

fn noisy_node(name: &str, cluster: usize, model: &[f64], noise: &mut Noise) -> Node {
    let error = 4.0 + 6.0 * noise.next() * noise.next();
    Node {
        name: name.into(),
        rows: 8 + (8.0 * noise.next()) as usize,
        cluster: Some(cluster),
        train_error: Some(error * (0.7 + 0.3 * noise.next())),
        validation_error: Some(error),
        local_error: Some(error * (0.85 + 1.1 * noise.next())),
        global_error: Some(error * (1.2 + 6.0 * noise.next())),
        parameters: model.to_vec(),
        ..Node::default()
    }
}

fn nearest(nodes: &[Node], k: usize) -> Vec<Edge> {
    let place = |node: &Node| (node.x.unwrap_or(0.0) * 0.45, node.y.unwrap_or(0.0));
    let mut edges = Vec::new();
    for i in 0..nodes.len() {
        let distance = |j: &usize| {
            let ((a, b), (c, d)) = (place(&nodes[i]), place(&nodes[*j]));
            (a - c).hypot(b - d)
        };
        let mut others: Vec<usize> = (0..nodes.len()).filter(|&j| j != i).collect();
        others.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
        edges.extend(others.into_iter().take(k).map(|j| (i.min(j), i.max(j))));
    }
    edges.sort_unstable();
    edges.dedup();
    edges.into_iter().map(|(i, j)| Edge { i, j, weight: 1.0, differs: false }).collect()
}

fn fitted(title: &str, nodes: Vec<Node>, mut edges: Vec<Edge>, models: &[Vec<f64>]) -> Report {
    for edge in &mut edges {
        edge.differs = nodes[edge.i].cluster != nodes[edge.j].cluster;
    }
    let size = |k| nodes.iter().filter(|node| node.cluster == Some(k)).count();
    let clusters =
        models.iter().enumerate().map(|(k, model)| Cluster { size: size(k), model: model.clone() }).collect();
    let mean = |value: fn(&Node) -> Option<f64>| {
        let known: Vec<f64> = nodes.iter().filter_map(value).collect();
        Some(known.iter().sum::<f64>() / known.len() as f64)
    };
    let rows = nodes.iter().map(|node| node.rows).sum();
    Report {
        title: title.into(),
        version: "fedweave 0.1.0".into(),
        command: "fedweave fit nodes.csv --edges edges.csv --target temperature --penalty norm2 --lambda auto --validation 0.2 --out run/".into(),
        what: What {
            loss: "squared".into(),
            penalty: "norm2".into(),
            lambda: 0.1,
            solver: "primal-dual".into(),
            dim: models[0].len(),
            nodes: nodes.len(),
            edges: edges.len(),
            rows,
            rows_held_out: rows / 4,
            split: "One row in five, drawn at random separately for every node (seed 0); the hours held out at one node may be fitted at its neighbours.".into(),
            ..What::default()
        },
        outcome: Outcome {
            objective: 161.803398,
            certified_gap: Some(1.4e-4),
            kkt_residual: Some(3.2e-7),
            tolerance: 1e-6,
            iterations: 840,
            seconds: Some(0.42),
            error_name: "mean squared error".into(),
            train_error: mean(|node| node.train_error),
            validation_error: mean(|node| node.validation_error),
            local_error: mean(|node| node.local_error),
            global_error: mean(|node| node.global_error),
            ..Outcome::default()
        },
        nodes,
        edges,
        clusters,
        history: history(),
        ..Report::default()
    }
}

fn history() -> Vec<Step> {
    let mut noise = Noise(11);
    (0..=84)
        .map(|k| {
            let decay = (-0.17 * k as f64).exp();
            Step {
                iteration: 10 * k,
                objective: 161.803398 + 800.0 * decay * decay * (0.7 + 0.3 * noise.next()),
                gap: (k > 0).then(|| 220.0 * decay * (0.6 + 0.8 * noise.next())),
                kkt: Some(0.6 * decay * (0.6 + 0.8 * noise.next())),
                bytes: None,
            }
        })
        .collect()
}

fn lambda_curve() -> LambdaCurve {
    let point = |k: i32| {
        let lambda = 10f64.powf(0.5 * f64::from(k));
        let share = lambda / (lambda + 0.08);
        LambdaPoint {
            lambda,
            train: Some(2.1 + 5.5 * share * share),
            validation: Some(5.4 + 4.8 * (1.0 - share).powi(2) + 3.9 * share.powi(4)),
            standard_error: Some(0.35 + 0.3 * (1.0 - share)),
        }
    };
    LambdaCurve {
        points: (-7..=4).map(point).collect(),
        chosen: 0.1,
        rule: "largest λ within one standard error of the smallest held-out error".into(),
    }
}

fn comparison() -> Comparison {
    let method = |name: &str, kind, error, se| Method { name: name.into(), kind, error, standard_error: Some(se) };
    Comparison {
        methods: vec![
            method("local only", MethodKind::Local, 10.2, 0.41),
            method("one global model", MethodKind::Global, 31.0, 0.22),
            method("networked", MethodKind::Networked, 7.19, 0.27),
            method("networked, nodes shuffled", MethodKind::Shuffled, 9.73, 0.38),
        ],
        splits: 10,
        nodes_gain: 17,
        nodes_lose: 2,
        splits_better_than_shuffled: Some(10),
    }
}

/// Everything optional absent, stopped early, no certificate.
fn minimal() -> Report {
    Report {
        title: "Sample: the least there can be".into(),
        version: "fedweave 0.1.0".into(),
        what: What {
            loss: "logistic".into(),
            penalty: "norm1".into(),
            lambda: 1.0,
            dim: 1,
            nodes: 2,
            rows: 2,
            ..What::default()
        },
        outcome: Outcome {
            status: Status::IterationLimit,
            kkt_residual: Some(0.02),
            tolerance: 1e-6,
            ..Outcome::default()
        },
        ..Report::default()
    }
}

/// Names that would break a page that trusts them.
fn hostile() -> Report {
    let names = [
        "</script><img src=x onerror=\"window.hacked=1\">",
        "<script>window.hacked=1</script>",
        "\"quotes\" & 'apostrophes'",
        "雪の観測所 (北) – ❄",
        "a very long name that goes on and on without ever coming to any point whatsoever, as names of machines do",
        "__proto__",
        "{{ 7 * 7 }}",
        " spaces  inside ",
    ];
    let mut noise = Noise(5);
    let nodes: Vec<Node> = names.iter().map(|name| noisy_node(name, 0, &[1.0, -1.0], &mut noise)).collect();
    let edges = (1..nodes.len()).map(|j| Edge { i: 0, j, weight: 1.0, differs: false }).collect();
    let mut report =
        fitted("Sample: </title><img src=x onerror=\"window.hacked=1\">", nodes, edges, &[vec![1.0, -1.0]]);
    report.what.features = vec!["<b>bold</b>".into(), "--></style>".into()];
    report.what.target = Some("<i>target</i>".into());
    report.command = "fedweave fit '</code></script><img src=x onerror=\"window.hacked=1\">.csv'".into();
    report.notices = vec!["</ul></script><img src=x onerror=\"window.hacked=1\">".into()];
    report
}
