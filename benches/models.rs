//! Our side of `benches/compare/models.py`: one iteration of FedRelax with trees, and epochs of a perceptron, on the arrays
//! that the script wrote to a folder. Prints one line of JSON; predictions go back to the folder.
//!
//! `cargo bench -p fedweave --bench models -- FOLDER`

use std::path::{Path, PathBuf};
use std::time::Instant;

use fedweave::Matrix;
use fedweave::matrix::Rows;
use fedweave::model::{LocalModel, Mlp, ModelSpec, Task, Workspace};
use rayon::prelude::*;
use serde_json::{Value, json};

fn main() {
    let Some(folder) = std::env::args().skip(1).find(|a| !a.starts_with('-')).map(PathBuf::from) else {
        return println!("a folder is needed; see benches/compare/models.py");
    };
    let about: Value = serde_json::from_str(&read_text(&folder.join("about.json"))).expect("about.json is JSON");
    let found = match about["kind"].as_str() {
        Some("relax") => Relax::read(&folder, &about).run(&folder),
        _ => epochs(&folder, &about),
    };
    println!("{found}");
}

/// Trees on local rows and on the neighbours' public rows, labelled by the neighbours.
struct Relax {
    nodes: usize,
    features: usize,
    local: Vec<f64>,
    labels: Vec<f64>,
    public: Vec<f64>,
    predicted: Vec<f64>,
    queries: Vec<f64>,
    neighbours: Vec<usize>,
    degree: usize,
    spec: ModelSpec,
    lambda: f64,
    repeat: usize,
}

/// Rows of one fit; reused from node to node.
#[derive(Default)]
struct Gathered {
    x: Vec<f64>,
    y: Vec<f64>,
    weight: Vec<f64>,
    work: Workspace,
}

impl Relax {
    fn read(folder: &Path, about: &Value) -> Self {
        let number = |name: &str| about[name].as_u64().expect("a whole number") as usize;
        let array = |name: &str| read_array(&folder.join(name));
        Relax {
            nodes: number("nodes"),
            features: number("features"),
            local: array("local"),
            labels: array("labels"),
            public: array("public"),
            predicted: array("predicted"),
            queries: array("queries"),
            neighbours: array("neighbours").into_iter().map(|n| n as usize).collect(),
            degree: number("degree"),
            spec: about["spec"].as_str().and_then(|s| s.parse().ok()).expect("a model"),
            lambda: about["lambda"].as_f64().expect("a number"),
            repeat: number("repeat"),
        }
    }

    fn run(&self, folder: &Path) -> Value {
        let (mut seconds, mut cpu) = (Vec::new(), Vec::new());
        let mut models = Vec::new();
        for _ in 0..self.repeat {
            models = self.models();
            let mut messages = vec![0.0; self.predicted.len()];
            let (start, before) = (Instant::now(), cpu_seconds());
            self.iterate(&mut models, &mut messages);
            seconds.push(start.elapsed().as_secs_f64());
            cpu.push(cpu_seconds() - before);
        }
        let per_node = self.queries.len() / self.nodes;
        let mut out = vec![0.0; self.queries.len() / self.features];
        for (i, out) in out.chunks_exact_mut(per_node / self.features).enumerate() {
            let x = Rows::new(self.features, &self.queries[i * per_node..(i + 1) * per_node]);
            models[i].predict(x, out).expect("a fitted model predicts");
        }
        write_array(&folder.join("ours"), &out);
        json!({ "seconds": seconds, "cpu": cpu })
    }

    fn models(&self) -> Vec<Box<dyn LocalModel>> {
        (0..self.nodes).map(|i| self.spec.build(Task::Regression, i as u64).expect("options in range")).collect()
    }

    /// Every node fits, then predicts its public rows for its neighbours.
    fn iterate(&self, models: &mut [Box<dyn LocalModel>], messages: &mut [f64]) {
        let rows = messages.len() / self.nodes;
        let nodes = models.par_iter_mut().zip(messages.par_chunks_exact_mut(rows)).enumerate();
        nodes.for_each_init(Gathered::default, |gathered, (i, (model, message))| {
            self.gather(i, gathered);
            let (x, y) = (Rows::new(self.features, &gathered.x), Rows::new(1, &gathered.y));
            model.fit(x, y, &gathered.weight, &mut gathered.work).expect("sound rows");
            model.predict(Rows::new(self.features, self.part(&self.public, i)), message).expect("sound rows");
        });
    }

    fn gather(&self, i: usize, to: &mut Gathered) {
        let (local, neighbours) = (self.part(&self.labels, i), self.part_of(&self.neighbours, i, self.degree));
        to.x.clear();
        to.y.clear();
        to.weight.clear();
        to.x.extend_from_slice(self.part(&self.local, i));
        to.y.extend_from_slice(local);
        to.weight.resize(local.len(), 1.0 / local.len() as f64);
        for &j in neighbours {
            let predicted = self.part(&self.predicted, j);
            to.x.extend_from_slice(self.part(&self.public, j));
            to.y.extend_from_slice(predicted);
            to.weight.resize(to.y.len(), self.lambda / predicted.len() as f64);
        }
    }

    fn part<'a>(&self, all: &'a [f64], i: usize) -> &'a [f64] {
        self.part_of(all, i, all.len() / self.nodes)
    }

    fn part_of<'a, T>(&self, all: &'a [T], i: usize, len: usize) -> &'a [T] {
        &all[i * len..(i + 1) * len]
    }
}

/// Epochs that are timed together.
const EPOCHS: usize = 20;

/// Seconds per epoch, and the loss the last one saw.
fn epochs(folder: &Path, about: &Value) -> Value {
    let number = |name: &str| about[name].as_u64().expect("a whole number") as usize;
    let (features, classes, repeat) = (number("features"), number("classes"), number("repeat"));
    let Ok(ModelSpec::Mlp(options)) = about["spec"].as_str().unwrap_or("").parse() else { panic!("a perceptron") };
    let task = Task::Classification { classes };
    let x = Matrix::from_rows(features, read_array(&folder.join("x")));
    let y = task.targets(&read_array(&folder.join("y"))).expect("classes");
    let mut mlp = Mlp::new(&options, task, features, 0).expect("options in range");
    mlp.set_parameters(&read_array(&folder.join("start"))).expect("a start for this network");
    let (weight, mut work) = (vec![1.0; x.rows()], Workspace::default());
    let (mut seconds, mut cpu, mut loss) = (Vec::new(), Vec::new(), 0.0);
    for _ in 0..repeat / EPOCHS {
        let (start, before) = (Instant::now(), cpu_seconds());
        loss = mlp.train(x.view(), y.view(), &weight, EPOCHS, None, &mut work).expect("training converges");
        seconds.push(start.elapsed().as_secs_f64() / EPOCHS as f64);
        cpu.push((cpu_seconds() - before) / EPOCHS as f64);
    }
    write_array(&folder.join("ours"), mlp.parameters());
    json!({ "seconds": seconds, "cpu": cpu, "loss": loss })
}

/// Time this process has had a processor, all threads together; NaN where the system does not say.
fn cpu_seconds() -> f64 {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return f64::NAN };
    let of = |thread: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    };
    threads.filter_map(of).sum::<f64>() / 1e9
}

fn read_text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn read_array(path: &Path) -> Vec<f64> {
    let path = path.with_extension("f64");
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
}

fn write_array(path: &Path, values: &[f64]) {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    std::fs::write(path.with_extension("f64"), bytes).expect("a folder to write to");
}
