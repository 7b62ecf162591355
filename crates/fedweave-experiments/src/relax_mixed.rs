//! Models of different classes in one network, and trees at weather stations: what the FedRelax paper promises for any model,
//! on real data.

use fedweave::model::ModelSpec;

use crate::real_networks::{Judged, RealNetwork};
use crate::spread::Spread;
use crate::{Check, Error, Outcome, Progress, Setting, short};

/// Five classes, dealt to the nodes one after another.
const CLASSES: [&str; 5] = [
    "ridge alpha=0.01",
    "tree max-depth=5",
    "forest trees=30",
    "nearest neighbours=3",
    "mlp hidden=16 epochs=150 learning-rate=0.01 batch=none",
];

fn specs(texts: &[&str], nodes: usize) -> Vec<ModelSpec> {
    (0..nodes).map(|i| texts[i % texts.len()].parse().expect("a known model")).collect()
}

pub fn mixed(setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let networks = [RealNetwork::hourly()?, RealNetwork::houses()?];
    let runs = if setting.quick { 1 } else { 5 };
    let mut found = Outcome::default();
    let mut errors = Spread::default();
    for (k, network) in networks.iter().enumerate() {
        let specs = specs(&CLASSES, network.data.nodes());
        for run in 0..runs {
            progress(k * runs + run, networks.len() * runs);
            let judged = network.judge(&specs, setting.seed + run as u64)?;
            record(&mut errors, network.name, &specs, &judged);
        }
        let mean = |how: &str, class: &str| errors.mean(&name(network.name, class, how));
        let all = [mean("networked", ALL), mean("local", ALL)];
        let words = format!("{} against {}", short(all[0]), short(all[1]));
        let what =
            format!("{}, {} nodes of five classes: test error with the network and alone", network.name, specs.len());
        found.checks.push(Check::new(what, "lower for any mix of models", words, all[0] < all[1]));
        for text in CLASSES {
            let class = text.split(' ').next().unwrap_or(text);
            let pair = [mean("networked", class), mean("local", class)];
            found.notes.push(format!(
                "{}: {class} nodes {} with the network, {} alone ({:+.0} %)",
                network.name,
                short(pair[0]),
                short(pair[1]),
                100.0 * (pair[0] / pair[1] - 1.0)
            ));
        }
    }
    progress(networks.len() * runs, networks.len() * runs);
    found.tables.push(errors.table("errors", &["setting", "mse_test", "deviation", "smallest", "largest"]));
    found.notes.push(format!(
        "rows drawn separately for every node: 10 train, 10 (houses: 5) choose lambda, the others test; 5 rounds. Public rows: \
         the 96 hours, which are no secret, for all stations; 100 rows a cell drawn from means and deviations of its houses. Means \
         of {runs} splits"
    ));
    Ok(found)
}

pub fn fmi_trees(setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let network = RealNetwork::daily()?;
    let runs = if setting.quick { 1 } else { 10 };
    let mut errors = Spread::default();
    let specs = specs(&["tree max-depth=5"], network.data.nodes());
    for run in 0..runs {
        progress(run, runs);
        let judged = network.judge(&specs, setting.seed + run as u64)?;
        record(&mut errors, network.name, &specs, &judged);
        errors.push(&name(network.name, ALL, "global"), judged.global);
    }
    progress(runs, runs);
    let mean = |how: &str| errors.mean(&name(network.name, ALL, how));
    let against = |what: &str, how: &str| {
        let words = format!("{} against {}", short(mean("networked")), short(mean(how)));
        Check::new(what, "lower", words, mean("networked") < mean(how))
    };
    let mut found = Outcome {
        checks: vec![
            against("test error of coupled trees against local ones", "local"),
            against("test error of coupled trees against one tree for all stations", "global")
                .because("one tree for all stations sees 192 times as many rows, and next day's maximum follows the same rule everywhere"),
        ],
        ..Outcome::default()
    };
    found.tables.push(errors.table("errors", &["setting", "mse_test", "deviation", "smallest", "largest"]));
    found.notes.push("contains observations of the Finnish Meteorological Institute, open data, CC BY 4.0".into());
    found
        .notes
        .push(format!("trees of depth 5; 6 rows of a station train, 2 choose lambda, 2 test; means of {runs} splits"));
    Ok(found)
}

const ALL: &str = "all";

fn name(network: &str, class: &str, how: &str) -> String {
    format!("{network}, {class}, {how}")
}

/// Means over the nodes of each class and over all.
fn record(errors: &mut Spread, network: &str, specs: &[ModelSpec], judged: &Judged) {
    let mut classes: Vec<&str> = specs.iter().map(ModelSpec::name).collect();
    classes.sort_unstable();
    classes.dedup();
    for class in classes.into_iter().chain([ALL]) {
        for (how, by_node) in [("networked", &judged.networked), ("local", &judged.local)] {
            let of: Vec<f64> = (0..specs.len())
                .filter(|&i| class == ALL || specs[i].name() == class)
                .filter_map(|i| by_node[i])
                .collect();
            errors.push(&name(network, class, how), of.iter().sum::<f64>() / of.len().max(1) as f64);
        }
    }
    errors.push(&name(network, ALL, "lambda"), judged.lambda);
}
