//! Seeds that must pass, bugs that must be found.

use super::world::World;
use super::*;
use crate::part::Mutant;
use crate::plan::{MethodSpec, PenaltyKind};

const SCENES: u64 = 12;

fn scenes() -> Vec<Scene> {
    (0..SCENES).map(|k| Scene::standard(k).unwrap()).collect()
}

/// So many seeds, or as many as `FEDWEAVE_SEEDS` says.
fn seeds(usual: u64) -> u64 {
    std::env::var("FEDWEAVE_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

#[test]
fn two_hundred_seeds_end_with_the_bits_of_one_machine() {
    let scenes = scenes();
    let mut sum = Tally::default();
    let started = std::time::Instant::now();
    for seed in 0..seeds(200) {
        let tally = simulate(&scenes[(seed % SCENES) as usize], &Limits::default(), seed);
        let tally = tally.unwrap_or_else(|failure| panic!("{failure}"));
        sum.lost += tally.lost;
        sum.doubled += tally.doubled;
        sum.crashes += tally.crashes;
        sum.damaged += tally.damaged;
        sum.frames += tally.frames;
        sum.events += tally.events;
    }
    println!("{sum:?} in {:?}", started.elapsed());
    // The faults did happen.
    assert!(sum.lost * 20 > sum.frames && sum.doubled * 10 > sum.frames && sum.crashes > 2_000 && sum.damaged > 500);
}

#[test]
fn the_seed_decides_everything() {
    let scene = Scene::standard(1).unwrap();
    assert_eq!(simulate(&scene, &Limits::default(), 5), simulate(&scene, &Limits::default(), 5));
    assert_ne!(simulate(&scene, &Limits::default(), 5), simulate(&scene, &Limits::default(), 6));
}

/// Parts that learn the coupling together, lose what they heard in crashes, and begin at different moments.
#[test]
fn learnt_couplings_end_with_the_bits_of_one_machine() {
    let scenes: Vec<Scene> = (0..SCENES).map(|k| Scene::coupling(k).unwrap()).collect();
    let (mut crashes, seeds) = (0, seeds(24));
    for seed in 0..seeds {
        let tally = simulate(&scenes[(seed % SCENES) as usize], &Limits::default(), seed);
        crashes += tally.unwrap_or_else(|failure| panic!("{failure}")).crashes;
    }
    assert!(crashes > 2 * seeds, "{crashes}");
    for mutant in [Mutant::AddsFromItselfOn, Mutant::NoRetransmission] {
        let found = (0..20).find_map(|seed| {
            let mut world = World::new(&scenes[(seed % SCENES) as usize], &Limits::default(), seed);
            world.mutant = Some(mutant);
            world.run().err()
        });
        println!("{mutant:?}: {}", found.unwrap_or_else(|| panic!("{mutant:?} was not found")));
    }
}

const MUTANTS: [Mutant; 19] = [
    Mutant::CheckpointAfterSend,
    Mutant::StaleRoundAccepted,
    Mutant::NoDedup,
    Mutant::WrongSignAtOneEnd,
    Mutant::DualFromWire,
    Mutant::NoRetransmission,
    Mutant::AckTooEarly,
    Mutant::ResendsNewestRows,
    Mutant::ForgetsOldRows,
    Mutant::ForgetsDuals,
    Mutant::SkipsRoundAfterRestore,
    Mutant::UpdatesNodesTwice,
    Mutant::NextRoundOverwrites,
    Mutant::AnswersFrames,
    Mutant::LeavesAtOnce,
    Mutant::DecidesTooSoon,
    Mutant::BelievesDamagedCheckpoints,
    Mutant::OverwritesGoodCheckpoint,
    Mutant::GoesOnWithoutDisk,
];

#[test]
fn every_planted_bug_is_found_within_500_seeds() {
    let scenes = scenes();
    for mutant in MUTANTS {
        let found = (0..500).find_map(|seed| {
            let mut world = World::new(&scenes[(seed % SCENES) as usize], &Limits::default(), seed);
            world.mutant = Some(mutant);
            world.run().err()
        });
        let failure = found.unwrap_or_else(|| panic!("{mutant:?} was not found"));
        println!("{mutant:?}: {failure}");
    }
}

/// Bugs in how parts come back, and in what they compare.
#[test]
fn planted_bugs_of_coming_back_are_found() {
    let mutants = [
        Mutant::WaitsForJoiners,
        Mutant::IgnoresRollback,
        Mutant::IgnoresEdges,
        Mutant::KeepsFlowsThatDiffer,
        Mutant::LeavesEdgesLost,
        Mutant::NeverAsksAgain,
    ];
    for mutant in mutants {
        let found = (0..100).find_map(|seed| {
            let scene = recovery::scene(seed).unwrap();
            let mut world = recovery::world(&scene, seed);
            world.mutant = Some(mutant);
            // Only what goes well without the bug tells of it.
            world.run().err().filter(|_| simulate_recovery(seed).is_ok())
        });
        println!("{mutant:?}: {}", found.unwrap_or_else(|| panic!("{mutant:?} was not found")));
    }
}

#[test]
fn parts_that_come_back_with_old_states_end_at_the_optimum() {
    let mut rollbacks = 0;
    for seed in 0..seeds(24) {
        rollbacks += simulate_recovery(seed).unwrap_or_else(|failure| panic!("{failure}")).rollbacks;
    }
    assert!(rollbacks > 10, "{rollbacks}");
}

/// Bugs that let a liar do more than pull.
#[test]
fn planted_bugs_that_help_liars_are_found() {
    let mutants = [
        Mutant::JoinsOnAWord,
        Mutant::EndsOnAWord,
        Mutant::EndsWithANeighbour,
        Mutant::BelievesTheFarthest,
        Mutant::TrustsConnections,
    ];
    for mutant in mutants {
        let found = (0..300).find_map(|seed| world::liars_world(seed, Some(mutant)).err());
        println!("{mutant:?}: {}", found.unwrap_or_else(|| panic!("{mutant:?} was not found")));
    }
}

#[test]
fn honest_nodes_stay_near_their_optimum_among_liars() {
    for seed in 0..seeds(40) {
        simulate_liars(seed).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// Out of step there are no bits to compare, but the optimum is the same.
#[test]
fn gradient_descent_out_of_step_comes_near_the_optimum() {
    for seed in 0..4 {
        let scene = Scene::trusting(seed, 1_000, |network| {
            network.penalty = PenaltyKind::Squared;
            network.loss_options.ridge = 0.2;
            let step = fedweave::solve::safe_step(&network.problem()?).unwrap();
            network.method = MethodSpec::AsyncFedGd { step, staleness: 1 + seed % 7 };
            Ok(())
        });
        let scene = scene.unwrap();
        let limits = Limits { crashes: 10, ..Default::default() };
        let mut world = World::new(&scene, &limits, seed);
        world.liars = Some(Liars::new(&scene, vec![None; 20], 0.0).unwrap());
        world.run().unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// Out of step parts stop at a tolerance that their models have, as one machine computes it: they stand still while they are judged.
#[test]
fn parts_out_of_step_stop_at_a_tolerance_that_they_have() {
    let limits = Limits { crashes: 20, ..Default::default() };
    let (mut crashes, mut damaged, seeds) = (0, 0, seeds(24));
    for seed in 0..seeds {
        let tally = simulate_out_of_step(&limits, seed).unwrap_or_else(|failure| panic!("{failure}"));
        (crashes, damaged) = (crashes + tally.crashes, damaged + tally.damaged);
    }
    assert!(crashes > 2 * seeds && damaged > seeds, "{crashes} {damaged}");
}

/// Releases are paid for before anything follows from them, once, and replays send the same bytes.
#[test]
fn noisy_gradients_stay_within_their_budget_whatever_happens() {
    let scenes: Vec<Scene> = (0..SCENES).map(|k| Scene::noisy(k).unwrap()).collect();
    let (mut sum, seeds) = (Tally::default(), seeds(60));
    for seed in 0..seeds {
        let tally = simulate(&scenes[(seed % SCENES) as usize], &Limits::default(), seed);
        let tally = tally.unwrap_or_else(|failure| panic!("{failure}"));
        (sum.crashes, sum.rollbacks) = (sum.crashes + tally.crashes, sum.rollbacks + tally.rollbacks);
    }
    assert!(sum.crashes > 5 * seeds && sum.rollbacks > seeds / 2, "{sum:?}");
    for mutant in [Mutant::SpendsNothing, Mutant::ForgetsReleases, Mutant::FreshNoise] {
        let found = (0..40).find_map(|seed| {
            let mut world = World::new(&scenes[(seed % SCENES) as usize], &Limits::default(), seed);
            world.mutant = Some(mutant);
            world.run().err()
        });
        println!("{mutant:?}: {}", found.unwrap_or_else(|| panic!("{mutant:?} was not found")));
    }
}

/// Models of any class, refitted after every crash from what was heard, say what those on one machine say.
#[test]
fn predictions_end_with_the_bits_of_one_machine() {
    let scenes: Vec<Scene> = (0..SCENES).map(|k| Scene::predictions(k).unwrap()).collect();
    let mut crashes = 0;
    let seeds = seeds(24);
    for seed in 0..seeds {
        let limits = Limits { crashes: 20, ..Default::default() };
        let tally = simulate(&scenes[(seed % SCENES) as usize], &limits, seed);
        crashes += tally.unwrap_or_else(|failure| panic!("{failure}")).crashes;
    }
    assert!(crashes > 2 * seeds, "{crashes}");
}
