//! The file of a part and its plan say the same, in both directions, and keys that a part cannot follow are refused with the
//! line and the remedy.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use fedweave::loss::{Family, LossOptions, LossSpec, NodeWeight};
use fedweave::model::Task;
use fedweave::model::relax::{PublicRows, seed_of};
use fedweave::{Dataset, Graph, Matrix};
use fedweave_node::config::{PartFile, PartSettings};
use fedweave_node::launch::{LaunchError, LaunchOptions, prepare};
use fedweave_node::{
    DeadPolicy, Hub, MethodSpec, Models, Network, Patience, PenaltyKind, Plan, PublicSets, joined_to_all,
};

/// Five nodes in a chain, two of them without rows; two features and an intercept.
fn network() -> Network {
    let names: Vec<String> = ["a", "b, quoted", "c", "d", "e"].map(String::from).to_vec();
    let graph = Graph::new(5, &[(0, 1, 1.0), (1, 2, 0.1 + 0.2), (2, 3, 1e-7), (3, 4, 2.0)]).unwrap();
    let x = vec![0.1, -1.0 / 3.0, 1.0, 5e-324, 1e300, 1.0, 2.5, 0.0, 1.0, -7.0, 1e-9, 1.0];
    let data = Dataset::new(
        vec![0, 1, 3, 4, 4, 4],
        Matrix::from_rows(3, x),
        vec![1.0, 0.0, 1.0, 0.0],
        vec![1.0, 0.7, 1.0 / 3.0, 2.0],
    );
    Network {
        names,
        graph,
        data: data.unwrap(),
        loss: LossSpec::Same(Family::Squared),
        loss_options: LossOptions { ridge: 0.0, lasso: 0.0, spare_last: true, node_weight: NodeWeight::Equal },
        penalty: PenaltyKind::Norm2,
        lambda: 0.3,
        method: MethodSpec::PrimalDual { step_ratio: 1.0, relaxation: 1.8 },
        rounds_max: 20,
        tolerance: None,
        patience: Patience::default(),
        models: None,
        hub: None,
    }
}

fn squared() -> LossOptions {
    network().loss_options
}

/// Networks that differ from each other in what all parts must agree on.
fn networks() -> Vec<Network> {
    let base = network;
    let loss = |family| Network { loss: LossSpec::Same(family), ..base() };
    let method = |method| Network { penalty: PenaltyKind::Squared, method, ..base() };
    let options = |loss_options| Network { loss_options, ..base() };
    let mut all = vec![
        base(),
        loss(Family::Logistic),
        loss(Family::Absolute),
        loss(Family::Huber { delta: 0.1 + 0.2 }),
        loss(Family::Huber { delta: 1.0 }),
        loss(Family::Quantile { q: 0.9 }),
        loss(Family::Poisson),
        loss(Family::SquaredHinge),
        loss(Family::Multinomial { classes: 2 }),
        loss(Family::Multinomial { classes: 3 }),
        options(LossOptions { ridge: 1.0 / 3.0, ..squared() }),
        options(LossOptions { lasso: 0.25, ..squared() }),
        options(LossOptions { spare_last: false, ..squared() }),
        options(LossOptions { node_weight: NodeWeight::Rows, ..squared() }),
        Network { penalty: PenaltyKind::Norm1, ..base() },
        Network { penalty: PenaltyKind::NormInf, ..base() },
        Network { lambda: 0.1 + 0.2, ..base() },
        Network { rounds_max: 21, ..base() },
        Network { tolerance: Some(1e-9), ..base() },
        method(MethodSpec::PrimalDual { step_ratio: 0.1, relaxation: 1.0 }),
        method(MethodSpec::FedGd { step: 0.01 }),
        method(MethodSpec::FedRelax),
        method(MethodSpec::AsyncFedGd { step: 0.01, staleness: 7 }),
        // Patience is each part's own: networks that differ in nothing else agree.
        Network {
            lambda: 0.31,
            patience: Patience { policy: DeadPolicy::Continue, dead_after_ms: 1234, retry_ms: 50 },
            ..base()
        },
    ];
    let point = LossOptions { spare_last: false, ..squared() };
    let data = base().data.map_labels(|_| 0.0);
    all.push(Network { loss_options: point, data, ..loss(Family::Point) });
    all.extend(on_predictions());
    all.extend(with_common_mean());
    all
}

fn on_predictions() -> Vec<Network> {
    let rows = |x: &[f64]| PublicRows::new(Matrix::from_rows(3, x.to_vec())).unwrap();
    let common = PublicSets::Common(rows(&[0.1 + 0.2, 1.0, -1.0, 3.0, 5e-324, 2.0]));
    let names = network().names;
    let own: BTreeMap<_, _> = names.iter().enumerate().map(|(i, n)| (n.clone(), rows(&[i as f64, 0.5, 1.5]))).collect();
    let specs = ["tree max-depth=3", "ridge alpha=0.1", "nearest neighbours=1", "forest trees=3", "mlp hidden=3"];
    let specs: Vec<_> = specs.iter().map(|text| text.parse().unwrap()).collect();
    let with = |public: PublicSets, task, both, plain| Network {
        loss_options: LossOptions::default(),
        penalty: PenaltyKind::Squared,
        method: MethodSpec::FedRelaxPredictions { both, plain },
        models: Some(Models {
            task,
            specs: specs.clone(),
            seeds: (0..5).map(|i| seed_of(SEED, i)).collect(),
            public: Arc::new(public),
        }),
        hub: None,
        ..network()
    };
    vec![
        with(common.clone(), Task::Regression, true, false),
        with(common.clone(), Task::Regression, false, true),
        with(common, Task::Classification { classes: 2 }, false, false),
        with(PublicSets::PerNode(own), Task::Regression, false, false),
    ]
}

/// A common mean with given weights, and one whose pull is learnt.
fn with_common_mean() -> Vec<Network> {
    let whole = |graph: Graph| Network {
        names: network().names.into_iter().chain(["~common mean".into()]).collect(),
        data: network().data.with_hub(),
        penalty: PenaltyKind::Squared,
        graph,
        ..network()
    };
    let plain = network().graph;
    let learnt = |change: Network| Network { lambda: 1.0, hub: Some(Hub::Learnt), ..change };
    let other_name = |mut network: Network| {
        network.names[5] = "~mean".into();
        network
    };
    vec![
        Network { lambda: 0.7, hub: Some(Hub::Given), ..whole(plain.with_hub(0.3).unwrap()) },
        learnt(whole(joined_to_all(&plain).unwrap())),
        other_name(learnt(whole(joined_to_all(&plain).unwrap()))),
    ]
}

const SEED: u64 = 9;

fn options(work: &Path, loopback_plaintext: bool) -> LaunchOptions {
    let seed = SEED;
    LaunchOptions { parts: 3, work: Some(work.into()), loopback_plaintext, seed, ..LaunchOptions::default() }
}

/// Every number of a plan, to the last bit.
fn shown(plan: &Plan) -> String {
    format!("{plan:?}")
}

#[test]
fn a_file_means_the_plan_it_was_written_from() {
    let folder = tempfile::tempdir().unwrap();
    let mut agreements = Vec::new();
    for (k, network) in networks().iter().enumerate() {
        let prepared = prepare(network, &options(&folder.path().join(k.to_string()), true)).unwrap();
        assert!(prepared.plans.len() > 1);
        for (plan, folder) in prepared.plans.iter().zip(&prepared.folders) {
            let read = PartSettings::read(&folder.join("node.toml"), true).unwrap();
            assert_eq!(shown(&read.plan), shown(plan), "network {k}");
            assert_eq!(read.features, network.features());
        }
        let first = prepared.plans[0].federation;
        assert!(prepared.plans.iter().all(|plan| plan.federation == first), "network {k}: parts disagree");
        agreements.push(first);
    }
    agreements.sort_unstable();
    agreements.dedup();
    assert_eq!(agreements.len(), networks().len(), "two federations with other settings have the same number");
}

#[test]
fn a_file_says_the_same_after_reading_and_writing_it() {
    let folder = tempfile::tempdir().unwrap();
    for (k, network) in networks().iter().enumerate() {
        let prepared = prepare(network, &options(&folder.path().join(k.to_string()), true)).unwrap();
        let path = prepared.folders[0].join("node.toml");
        let file = PartFile::read(&path).unwrap();
        assert_eq!(file.to_toml().unwrap(), std::fs::read_to_string(&path).unwrap());
    }
}

#[test]
fn federations_of_two_authorities_are_not_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str| {
        let prepared = prepare(&network(), &options(&folder.path().join(name), false)).unwrap();
        let settings = prepared.folders.iter().map(|f| PartSettings::read(&f.join("node.toml"), false).unwrap());
        let mut numbers: Vec<u64> = settings.map(|s| s.plan.federation).collect();
        numbers.dedup();
        assert_eq!(numbers.len(), 1, "parts of one authority disagree");
        numbers[0]
    };
    let (one, two) = (read("one"), read("two"));
    assert!(
        one != two
            && one != prepare(&network(), &options(&folder.path().join("none"), true)).unwrap().plans[0].federation
    );
}

#[test]
fn other_names_of_features_are_another_federation() {
    let folder = tempfile::tempdir().unwrap();
    let prepared = prepare(&network(), &options(&folder.path().join("work"), true)).unwrap();
    let path = prepared.folders[0].join("node.toml");
    let swapped = std::fs::read_to_string(&path).unwrap().replacen("\"x1\", \"x2\"", "\"x2\", \"x1\"", 1);
    let other = prepared.folders[0].join("swapped.toml");
    std::fs::write(&other, swapped).unwrap();
    let [one, two] = [&path, &other].map(|path| PartSettings::read(path, true).unwrap().plan.federation);
    assert_ne!(one, two);
}

#[test]
fn what_the_files_cannot_say_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let options = |name: &str| options(&folder.path().join(name), true);
    let families = vec![Family::Squared; 5];
    let mixed = Network { loss: LossSpec::PerNode(families), ..network() };
    assert!(matches!(prepare(&mixed, &options("mixed")), Err(LaunchError::SeveralLosses)));
    let other_seed = LaunchOptions { seed: SEED + 1, ..options("seed") };
    assert!(matches!(prepare(&on_predictions()[0], &other_seed), Err(LaunchError::Seed { .. })));
    let twos = Dataset::new(vec![0, 1, 1, 1, 1, 1], Matrix::from_rows(3, vec![1.0, 1.0, 2.0]), vec![1.0], vec![1.0]);
    let spared = Network { data: twos.unwrap(), ..network() };
    assert!(matches!(prepare(&spared, &options("spared")), Err(LaunchError::NoIntercept { node }) if node == "a"));
    let none = Network { rounds_max: 0, ..network() };
    assert!(matches!(prepare(&none, &options("none")), Err(LaunchError::NoRounds)));
    for parts in [0, 1001] {
        assert!(matches!(
            prepare(&network(), &LaunchOptions { parts, ..options("p") }),
            Err(LaunchError::Parts { .. })
        ));
    }
    prepare(&network(), &options("twice")).unwrap();
    assert!(matches!(prepare(&network(), &options("twice")), Err(LaunchError::WorkExists { .. })));
}

#[test]
fn keys_of_fit_are_refused_with_their_line_and_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let prepared = prepare(&network(), &options(&folder.path().join("work"), true)).unwrap();
    let good = std::fs::read_to_string(prepared.folders[0].join("node.toml")).unwrap();
    let path = prepared.folders[0].join("bad.toml");
    let line = 1 + good.lines().position(|line| line.starts_with("lambda =")).unwrap();
    for (key, words) in [
        ("knn = 5", "model.knn: write [[edge]] entries"),
        ("edges = \"edges.csv\"", "model.edges: write [[edge]] entries"),
        ("missing = \"mean\"", "model.missing = \"mean\": fill before: it needs the rows of all parts"),
        ("one-hot = [\"x1\"]", "model.one-hot: encode before"),
        ("ridge = [0.1, 1]", "model.ridge: one number"),
        ("penalty = \"quadratic\"", "model.penalty = \"quadratic\": a federation knows"),
        ("tolerance = 1e-3", "model.tolerance: write federation.tolerance"),
        ("public-rows = 5", "model.public-rows: all parts need the same public rows"),
        ("time-limit = 5", "unknown field `time-limit`"),
    ] {
        std::fs::write(&path, good.replacen("lambda =", &format!("{key}\nlambda ="), 1)).unwrap();
        let error = PartSettings::read(&path, true).err().unwrap().to_string();
        assert!(error.contains(&format!("bad.toml:{line}: {words}")), "{key}: {error}");
    }
    for (key, words) in [
        ("missing = \"often\"", "model.missing often: unknown; use error or drop"),
        ("ridge = -1", "model.ridge = -1: must be a finite number, at least 0"),
        ("loss = \"huber\"\nhuber-delta = 0", "model.huber-delta = 0: must be positive"),
        ("loss = \"quantile\"\nquantile = 1", "model.quantile = 1: must be between 0 and 1"),
        ("loss = \"cubic\"", "model.loss = \"cubic\": unknown"),
        ("loss = \"multinomial\"", "federation.classes: how many classes are there?"),
        ("node-weight = \"rows\"", "federation.row-unit: "),
        ("public = \"public.csv\"", "model.public belongs to method fedrelax-predictions"),
    ] {
        std::fs::write(&path, good.replacen("lambda =", &format!("{key}\nlambda ="), 1)).unwrap();
        let error = PartSettings::read(&path, true).err().unwrap().to_string();
        assert!(error.contains(&format!("bad.toml: {words}")), "{key}: {error}");
    }
}
