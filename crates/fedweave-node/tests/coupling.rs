//! A coupling learnt by parts: the same bits as on one machine, whatever the parts are, and no row on the wire.

use fedweave::Matrix;
use fedweave::solve::{Method, PrimalDualRounds};
use fedweave_node::simulator::Scene;
use fedweave_node::{MethodSpec, Network, Part, Reason, in_process};

fn network(k: u64) -> Network {
    Scene::coupling(k).unwrap().network
}

fn reference(network: &Network, part: &[usize]) -> Matrix {
    let (_, problem) = network.learn(part).unwrap();
    let MethodSpec::PrimalDual { step_ratio, relaxation } = network.method else { unreachable!() };
    let mut method = PrimalDualRounds::new(&problem, Some(step_ratio), relaxation).unwrap();
    (0..network.rounds_max).for_each(|_| method.round());
    method.models().clone()
}

#[test]
fn parts_learn_and_solve_with_the_bits_of_one_machine() {
    // As many parts as nodes have no edges inside: then only the common mean is left.
    for (k, counts) in [(0, &[1, 2, 4, 24][..]), (1, &[1, 4]), (2, &[4]), (3, &[3])] {
        let network = network(k);
        for &parts in counts {
            let part = network.cut(parts).part;
            let expected = reference(&network, &part);
            let plans = network.plans(&part, parts).unwrap();
            let mut parts: Vec<Part> = plans.into_iter().map(|plan| Part::new(plan).unwrap()).collect();
            let outcomes = in_process::run(&mut parts).expect("it ends");
            assert!(outcomes.iter().all(|o| o.reason == Reason::RoundLimit && o.round == network.rounds_max));
            for (part, outcome) in parts.iter().zip(&outcomes) {
                for (at, name) in part.plan().nodes.iter().enumerate() {
                    let i = network.names.binary_search(name).unwrap();
                    let same = outcome
                        .models
                        .row(at)
                        .iter()
                        .map(|x| x.to_bits())
                        .eq(expected.row(i).iter().map(|x| x.to_bits()));
                    assert!(same, "scene {k}, {} parts, node {name}", parts.len());
                }
            }
        }
    }
}
