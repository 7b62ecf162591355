//! No theorem is violated, on problems with known optima and on a thousand random ones.

mod common;

use std::collections::BTreeMap;

use fedweave::cluster::clusters;
use fedweave::graph::generate::{chain, complete, erdos_renyi};
use fedweave::graph::partition::Partition;
use fedweave::loss::{Family, LossOptions};
use fedweave::penalty::named;
use fedweave::solve::{Settings, Solution, Watch, solve};
use fedweave::synthetic::{Labels, Network, Options, generate};
use fedweave::theory::{Outcome, Question, check};
use fedweave::{Dataset, Graph, Matrix, Problem};

/// How often a theorem spoke, and how loose it was.
#[derive(Default)]
struct Tally {
    looseness: BTreeMap<(&'static str, String), Vec<f64>>,
    silent: BTreeMap<&'static str, usize>,
}

impl Tally {
    fn ask(&mut self, name: &str, question: &Question) {
        for finding in check(question) {
            match &finding.outcome {
                Outcome::Silent(_) => *self.silent.entry(finding.source).or_default() += 1,
                Outcome::Compared(c) => {
                    assert!(c.holds(), "{name}: {} {}: {c:?}", finding.source, finding.claim);
                    // Numbers differ from problem to problem.
                    let claim = finding.claim.split(" length").next().unwrap().to_owned();
                    self.looseness.entry((finding.source, claim)).or_default().push(c.looseness());
                }
            }
        }
    }

    /// Printed with `--nocapture`: bound, how often it spoke, median and smallest factor.
    fn print(&mut self) {
        for ((source, claim), all) in &mut self.looseness {
            all.sort_by(f64::total_cmp);
            println!("{source:24} {:5} {:12.4} {:12.4}  {claim}", all.len(), all[all.len() / 2], all[0]);
        }
    }

    fn spoke(&self, source: &str) -> usize {
        self.looseness.iter().filter(|(key, _)| key.0 == source).map(|(_, all)| all.len()).sum()
    }
}

fn solved(problem: &Problem) -> Solution {
    let settings = Settings { tolerance: 1e-10, ..Settings::default() };
    solve(problem, &settings, None, &mut |_| Watch::Continue)
}

#[test]
fn no_bound_is_violated_by_golden_problems() {
    let mut tally = Tally::default();
    for golden in common::all() {
        let solution = solved(&golden.problem);
        let partition = clusters(&golden.problem, &solution.w, &solution.u).partition;
        tally.ask(&golden.name, &Question::new(&golden.problem, &solution, &partition));
    }
    tally.print();
    assert!(tally.spoke("without assumptions") >= 3 && tally.spoke("Prop. 7.1") >= 20);
}

/// A problem, the clusters that were planted, and the rows where they are behind a squared loss.
fn random(seed: u64) -> (Problem, Partition, Option<Dataset>) {
    let pick = |k: u64, of: u64| (seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(k as u32 * 7) >> 11) % of;
    let nodes = 4 + pick(1, 9) as usize;
    let dim = 1 + pick(2, 3) as usize;
    let lambda = 10f64.powf(pick(3, 1000) as f64 / 250.0 - 3.0);
    let penalty = ["squared", "squared", "norm2", "norm2", "norm1", "norminf"][pick(4, 6) as usize];
    let family = [
        Family::Squared,
        Family::Squared,
        Family::Logistic,
        Family::Point,
        Family::Huber { delta: 1.0 },
        Family::Poisson,
    ][pick(5, 6) as usize];
    let labels = if family == Family::Logistic { Labels::Logistic } else { Labels::Linear };
    let noise = [1e-3, 0.1, 1.0][pick(6, 3) as usize];
    let network = Network::Blocks { p_in: 1.0, p_out: [0.02, 0.1, 0.5][pick(7, 3) as usize] };
    let rows = 1 + pick(8, 6) as usize;
    let options =
        Options { network, nodes, clusters: 2, dim, rows, labels, noise, scale: 3.0, seed, ..Options::default() };
    let made = generate(&options).unwrap();
    let own = (made.graph.clone(), made.cluster.clone());
    let (graph, cluster): (Graph, Vec<usize>) = match pick(9, 4) {
        0 => (complete(nodes).unwrap(), made.cluster.clone()),
        1 => (chain(nodes).unwrap(), made.cluster.clone()),
        2 => (erdos_renyi(nodes, 0.5, seed).unwrap(), made.cluster.clone()),
        _ => own,
    };
    let data = match family {
        Family::Poisson => made.data.clone().map_labels(|y| y.abs().round().min(20.0)).map_features(|_, x| 0.2 * x),
        // Points around the prototypes of their clusters.
        Family::Point => {
            let entry =
                |i: usize, j: usize| made.truth.row(i)[j] + 0.1 * noise * made.data.x(made.data.rows(i).start)[j];
            let x = (0..nodes).flat_map(|i| (0..dim).map(move |j| (i, j))).map(|(i, j)| entry(i, j)).collect();
            Dataset::new((0..=nodes).collect(), Matrix::from_rows(dim, x), vec![0.0; nodes], vec![1.0; nodes]).unwrap()
        }
        _ => made.data.clone(),
    };
    let ridge = [0.0, 0.0, 0.05][pick(10, 3) as usize];
    let loss = family.build(data.clone(), &LossOptions { ridge, ..Default::default() }).unwrap();
    let problem = Problem::build(graph, loss, named(penalty).unwrap(), lambda).unwrap();
    (problem, Partition::of_labels(&cluster), (family == Family::Squared).then_some(data))
}

#[test]
fn no_bound_is_violated_by_a_thousand_random_problems() {
    let mut tally = Tally::default();
    for seed in 0..1000 {
        let (problem, planted, data) = random(seed);
        let solution = solved(&problem);
        let found = clusters(&problem, &solution.w, &solution.u).partition;
        // Planted clusters, and those that were found.
        let partition = if seed % 2 == 0 { &planted } else { &found };
        let question = Question { data: data.as_ref(), ..Question::new(&problem, &solution, partition) };
        tally.ask(&format!("seed {seed}"), &question);
    }
    tally.print();
    for source in [
        "(4.6)-(4.10)",
        "(4.8)",
        "(4.14)",
        "Prop. 2.1",
        "Prop. 3.1",
        "Prop. 5.1",
        "Prop. 5.2",
        "Prop. 6.1",
        "Prop. 6.1, sharper",
        "Prop. 7.1",
        "Prop. 8.1",
        "Prop. 8.1 with 1/m_i",
        "(8.9)",
        "FedRelax (25)",
        "GTV Theorem 2 (36)",
        "GTV Theorem 2 (37)",
        "without assumptions",
        "clustering Theorem 1",
        "clustering Theorem 2",
        "clustering Theorem 3",
        "clustering Theorem 4",
    ] {
        assert!(tally.spoke(source) >= 5, "{source} spoke {} times only", tally.spoke(source));
    }
}
