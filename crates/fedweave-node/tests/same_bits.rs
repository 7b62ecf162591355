//! The answer of a federation is that of the solver on one machine, bit for bit, however the network is cut.

use fedweave::Matrix;
use fedweave::loss::{Family, LossOptions, LossSpec, NodeWeight};
use fedweave::solve::{FedGd, FedRelax, Method, Order, PrimalDualRounds, safe_step};
use fedweave::synthetic::{Labels, Network as Shape, Options, generate};
use fedweave_node::{InStep, MethodSpec, Network, Part, Patience, PenaltyKind, Plan, Reason, in_process};

/// A random network: shape, loss, penalty and sizes follow from the seed.
fn network(seed: u64) -> Network {
    let n = 12 + (seed as usize * 7) % 30;
    let (loss, labels) = match seed % 4 {
        0 => (Family::Squared, Labels::Linear),
        1 => (Family::Logistic, Labels::Logistic),
        2 => (Family::Absolute, Labels::Linear),
        _ => (Family::Huber { delta: 0.5 }, Labels::Linear),
    };
    let shape = match seed % 3 {
        0 => Shape::Blocks { p_in: 0.6, p_out: 0.1 },
        1 => Shape::Geometric { neighbours: 3 },
        _ => Shape::Chain { between: 0.3 },
    };
    let dim = 1 + seed as usize % 9;
    let options = Options {
        network: shape,
        nodes: n,
        clusters: 3,
        dim,
        rows: 4,
        labels,
        without_rows: 0.2,
        seed,
        ..Default::default()
    };
    let made = generate(&options).unwrap();
    let kinds = [PenaltyKind::Norm2, PenaltyKind::Norm1, PenaltyKind::NormInf, PenaltyKind::Squared];
    Network {
        names: (0..n).map(|i| format!("node {i:03}")).collect(),
        graph: made.graph,
        data: made.data,
        loss: LossSpec::Same(loss),
        loss_options: LossOptions { ridge: 0.01, lasso: 0.0, spare_last: false, node_weight: NodeWeight::Rows },
        penalty: kinds[seed as usize / 2 % 4],
        lambda: 0.1 + 0.05 * (seed % 5) as f64,
        method: MethodSpec::PrimalDual {
            step_ratio: 0.5 + (seed % 3) as f64,
            relaxation: 1.0 + 0.1 * (seed % 9) as f64,
        },
        rounds_max: 40,
        tolerance: None,
        patience: Patience::default(),
        models: None,
        hub: None,
    }
}

/// Puts the rows of the parts together again.
fn gather(network: &Network, parts: &[Part], rows: impl Fn(usize) -> Matrix) -> Matrix {
    let mut all = Matrix::zeros(network.names.len(), rows(0).cols());
    for (k, part) in parts.iter().enumerate() {
        let own = rows(k);
        for (at, name) in part.plan().nodes.iter().enumerate() {
            let i = network.names.binary_search(name).unwrap();
            all.row_mut(i).copy_from_slice(own.row(at));
        }
    }
    all
}

fn bits(m: &Matrix) -> Vec<u64> {
    m.as_slice().iter().map(|x| x.to_bits()).collect()
}

#[test]
fn twenty_networks_in_one_two_eight_and_as_many_parts_as_nodes() {
    for seed in 0..20 {
        let mut network = network(seed);
        network.loss_options.lasso = if seed % 3 == 0 { 0.05 } else { 0.0 };
        let problem = network.problem().unwrap();
        let MethodSpec::PrimalDual { step_ratio, relaxation } = network.method else { unreachable!() };
        let mut reference = PrimalDualRounds::new(&problem, Some(step_ratio), relaxation).unwrap();
        (0..network.rounds_max).for_each(|_| reference.round());
        let n = network.names.len();
        for parts in [1, 2, 8, n] {
            // Neighbours in the list are apart, so nearly all edges are cut.
            let part_of: Vec<usize> = (0..n).map(|i| i % parts).collect();
            let plans = network.plans(&part_of, parts).unwrap();
            let mut parts: Vec<Part> = plans.into_iter().map(|plan| Part::new(plan).unwrap()).collect();
            let outcomes = in_process::run(&mut parts).expect("it ends");
            assert!(outcomes.iter().all(|o| o.reason == Reason::RoundLimit && o.round == network.rounds_max));
            let models = gather(&network, &parts, |k| outcomes[k].models.clone());
            assert_eq!(bits(&models), bits(reference.models()), "seed {seed}, {} parts", parts.len());
            for part in &parts {
                let status = part.status();
                assert!(status.peers.iter().all(|p| p.resent == 0 && p.refused == 0), "{status:?}");
            }
        }
    }
}

/// With a tolerance, all stop at the same round with the same residual, and the models are those of that round.
#[test]
fn all_parts_stop_at_the_same_round() {
    let mut whole = 0;
    for seed in 0..12 {
        let mut network = network(seed);
        (network.tolerance, network.rounds_max) = (Some(1e-3), 5_000);
        let problem = network.problem().unwrap();
        let n = network.names.len();
        let part_of: Vec<usize> = (0..n).map(|i| i * 6 / n).collect();
        let plans = network.plans(&part_of, 6).unwrap();
        let mut parts: Vec<Part> = plans.into_iter().map(|plan| Part::new(plan).unwrap()).collect();
        let outcomes = in_process::run(&mut parts).expect("it ends");
        let round = outcomes[0].round;
        let residuals: Vec<u64> = outcomes.iter().map(|o| o.residual.to_bits()).collect();
        let connected = problem.components().len() == 1;
        if connected {
            whole += 1;
            assert!(outcomes.iter().all(|o| o.round == round && o.reason == Reason::Converged), "seed {seed}");
            assert!(residuals.iter().all(|r| *r == residuals[0]) && outcomes[0].residual <= 1e-3);
            let MethodSpec::PrimalDual { step_ratio, relaxation } = network.method else { unreachable!() };
            let mut reference = PrimalDualRounds::new(&problem, Some(step_ratio), relaxation).unwrap();
            (0..round).for_each(|_| reference.round());
            let models = gather(&network, &parts, |k| outcomes[k].models.clone());
            assert_eq!(bits(&models), bits(reference.models()), "seed {seed}");
        }
    }
    assert!(whole >= 4, "{whole}");
}

/// Gradient descent and block minimisation, too.
#[test]
fn the_other_methods_in_step_have_the_bits_of_one_machine() {
    for seed in 0..12 {
        let mut network = network(seed);
        network.penalty = PenaltyKind::Squared;
        if matches!(network.loss, LossSpec::Same(Family::Absolute)) {
            network.loss = LossSpec::Same(Family::Squared);
        }
        let problem = network.problem().unwrap();
        let n = network.names.len();
        let part_of: Vec<usize> = (0..n).map(|i| i % 5).collect();
        for relaxes in [false, true] {
            let step = safe_step(&problem).unwrap();
            network.method = if relaxes { MethodSpec::FedRelax } else { MethodSpec::FedGd { step } };
            let mut reference: Box<dyn Method> = match relaxes {
                true => Box::new(FedRelax::new(&problem, Order::Together).unwrap()),
                false => Box::new(FedGd::new(&problem, Some(step)).unwrap()),
            };
            (0..network.rounds_max).for_each(|_| reference.round());
            let plans = network.plans(&part_of, 5).unwrap();
            let mut parts: Vec<Part> = plans.into_iter().map(|plan| Part::new(plan).unwrap()).collect();
            let outcomes = in_process::run(&mut parts).expect("it ends");
            let models = gather(&network, &parts, |k| outcomes[k].models.clone());
            assert_eq!(bits(&models), bits(reference.models()), "seed {seed}, {:?}", network.method);
        }
    }
}

#[test]
fn methods_that_do_not_fit_are_refused() {
    let mut network = network(2);
    network.penalty = PenaltyKind::Norm2;
    for (method, needs) in [
        (MethodSpec::FedRelax, "squared penalty"),
        (MethodSpec::FedGd { step: 0.1 }, "losses without kinks"),
        (MethodSpec::FedGd { step: 0.0 }, "positive"),
        (MethodSpec::AsyncFedGd { step: 0.1, staleness: 0 }, "at least 1"),
        (MethodSpec::PrimalDual { step_ratio: 1.0, relaxation: 2.0 }, "between 0 and 2"),
    ] {
        network.method = method;
        let plan = network.plans(&vec![0; network.names.len()], 1).unwrap().remove(0);
        let error = Part::new(plan).err().expect("it is refused").to_string();
        assert!(error.contains(needs), "{error}");
    }
}

/// Kept in step by hand, with every part stopped and restored from its checkpoint on the way.
#[test]
fn parts_in_step_by_call_have_the_bits_of_one_machine() {
    for seed in 0..8 {
        let network = network(seed);
        let problem = network.problem().unwrap();
        let MethodSpec::PrimalDual { step_ratio, relaxation } = network.method else { unreachable!() };
        let mut reference = PrimalDualRounds::new(&problem, Some(step_ratio), relaxation).unwrap();
        let n = network.names.len();
        let part_of: Vec<usize> = (0..n).map(|i| i % 4).collect();
        let plans = network.plans(&part_of, 4).unwrap();
        let mut parts: Vec<InStep> = plans.iter().map(|plan| InStep::new(plan.clone()).unwrap()).collect();
        let of_name = |name: &String| plans.iter().position(|plan| plan.name == *name).unwrap();
        let mut rows = Vec::new();
        for round in 0..20 {
            reference.round();
            if round == 10 {
                let again = |(part, plan): (&InStep, &Plan)| InStep::restore(plan.clone(), &part.checkpoint()).unwrap();
                parts = parts.iter().zip(&plans).map(again).collect();
            }
            parts.iter_mut().for_each(InStep::begin);
            for (k, plan) in plans.iter().enumerate() {
                for (at, name) in plan.peers.iter().enumerate() {
                    let other = of_name(name);
                    let back = plans[other].peers.iter().position(|p| *p == plan.name).unwrap();
                    parts[other].outgoing(back, &mut rows);
                    parts[k].incoming(at, &rows).unwrap();
                }
            }
            parts.iter_mut().for_each(InStep::complete);
        }
        for (part, plan) in parts.iter().zip(&plans) {
            assert_eq!(part.round(), 20);
            for (row, name) in plan.nodes.iter().enumerate() {
                let i = network.names.binary_search(name).unwrap();
                let (found, expected) = (part.models(), reference.models().row(i));
                assert!(
                    found.row(row).iter().zip(expected).all(|(a, b)| a.to_bits() == b.to_bits()),
                    "seed {seed}, {name}"
                );
            }
        }
        let wrong = parts[0].incoming(0, &[0.0; 10_001]).unwrap_err().to_string();
        assert!(wrong.contains("numbers from a neighbouring part"), "{wrong}");
    }
}
