//! Parts that die, return, join and leave: the rest goes on to the optimum of the network that is left, and of the whole one
//! when it is whole again.

mod desk;

use desk::{DEAD, Desk, PARTS, SLOW, network, optimum};
use fedweave::matrix::norm2;
use fedweave_node::{DeadPolicy, Event, MethodSpec, Note, Part, PenaltyKind, Reason, State};

#[test]
fn the_rest_goes_on_without_a_dead_part() {
    let network = network(DeadPolicy::Continue);
    let mut desk = Desk::new(&network, None);
    desk.run(|d| d.round(DEAD) >= 20);
    desk.kill(DEAD);
    desk.run(|d| d.all_done(Some(DEAD)));
    desk.check(&optimum(&network, Some(DEAD)), Some(DEAD));
    let name = &desk.plans[DEAD].name;
    assert!(desk.notes.iter().any(|(_, n)| matches!(n, Note::PeerDead { peer, .. } if peer == name)), "told by name");
}

#[test]
fn a_part_that_returns_takes_part_again() {
    let mut network = network(DeadPolicy::Continue);
    network.method = SLOW;
    let mut desk = Desk::new(&network, None);
    desk.run(|d| d.round(DEAD) >= 20);
    desk.kill(DEAD);
    let neighbour = (0..PARTS).find(|k| desk.plans[*k].peers.contains(&desk.plans[DEAD].name)).unwrap();
    let left = desk.round(neighbour);
    desk.run(|d| d.round(neighbour) >= left + 30);
    desk.parts[DEAD] = Some(Part::restore(desk.plans[DEAD].clone(), &desk.saved[DEAD]).unwrap());
    desk.announce(DEAD, true);
    desk.run(|d| d.all_done(None));
    desk.check(&optimum(&network, None), None);
    assert!(desk.notes.iter().any(|(k, n)| *k == DEAD && matches!(n, Note::Joined { .. })));
}

#[test]
fn a_new_part_starts_from_its_neighbours() {
    let mut network = network(DeadPolicy::Continue);
    network.method = SLOW;
    let mut desk = Desk::new(&network, Some(DEAD));
    let other = (0..PARTS).find(|k| *k != DEAD).unwrap();
    desk.run(|d| d.round(other) >= 40);
    desk.parts[DEAD] = Some(Part::joining(desk.plans[DEAD].clone(), None).unwrap());
    assert_eq!(desk.parts[DEAD].as_ref().unwrap().status().state, State::Joining);
    desk.announce(DEAD, true);
    desk.run(|d| d.notes.iter().any(|(k, n)| *k == DEAD && matches!(n, Note::Joined { .. })));
    // Nearer to the model of a neighbour than to zero.
    let goal = optimum(&network, None);
    let models = |k: usize| desk.parts[k].as_ref().unwrap().models().row(0).to_vec();
    let (model, peers) = (models(DEAD), &desk.plans[DEAD].peers);
    let off = |k: usize| norm2(&model.iter().zip(models(k)).map(|(a, b)| a - b).collect::<Vec<_>>());
    let is_near = |k: usize| peers.contains(&desk.plans[k].name) && off(k) < norm2(&model);
    assert!((0..PARTS).any(is_near), "{model:?}");
    desk.run(|d| d.all_done(None));
    desk.check(&goal, None);
}

/// A part that was given up and joins again goes on at other models: what it releases there is paid for, and when nothing is left it stops.
#[test]
fn a_part_that_joins_again_pays_for_what_it_releases() {
    use fedweave::trust::privacy::rounds::GradientNoise;
    use fedweave_node::noise::NoisePlan;
    for (seed, spare) in [(1u8, 40), (2, 40), (3, 0)] {
        let mut network = network(DeadPolicy::Continue);
        network.penalty = PenaltyKind::Squared;
        network.method = MethodSpec::FedGd { step: 0.05 };
        (network.rounds_max, network.tolerance) = (600, None);
        let mut desk = Desk::new(&network, Some(DEAD));
        let settings = GradientNoise { row_norm: 10.0, clip: 0.5, multiplier: 1.0, rate: 1.0 };
        // Less than the rounds that are left after it has joined.
        let budget = 100 + spare;
        for k in 0..PARTS {
            let releases = if k == DEAD { budget } else { network.rounds_max };
            desk.plans[k].method = MethodSpec::NoisyFedGd { step: 0.05 };
            desk.plans[k].noise = Some(NoisePlan::new(settings, [seed; 32], releases));
            desk.parts[k] = Some(Part::new(desk.plans[k].clone()).unwrap());
        }
        (0..PARTS).for_each(|k| desk.announce(k, true));
        desk.run(|d| d.round(DEAD) >= 20 + u64::from(seed));
        desk.kill(DEAD);
        let other = (0..PARTS).find(|k| *k != DEAD).unwrap();
        let before = desk.spent[DEAD].len();
        desk.run(|d| d.round(other) >= 100);
        let mut plan = desk.plans[DEAD].clone();
        // Without its ledger it does not start.
        assert!(Part::restore(plan.clone(), &desk.saved[DEAD]).is_err());
        assert!(plan.noise.as_mut().unwrap().recall(&desk.spent[DEAD].concat()));
        desk.parts[DEAD] = Some(Part::restore(plan, &desk.saved[DEAD]).unwrap());
        desk.announce(DEAD, true);
        desk.run(|d| d.all_done(None));
        let spent = &desk.spent[DEAD];
        assert!(before >= 20 && spent.len() as u64 <= budget, "{before} {}", spent.len());
        let marks: std::collections::BTreeSet<_> = spent.iter().map(|record| record[8..24].to_vec()).collect();
        assert_eq!(marks.len(), spent.len(), "the same gradients were paid for twice");
        let rejoined = desk.notes.iter().any(|(k, n)| *k == DEAD && matches!(n, Note::Joined { .. }));
        assert!(rejoined, "it did not join again");
        assert_eq!(desk.outcomes[DEAD].as_ref().unwrap().reason, Reason::Spent);
    }
}

#[test]
fn a_part_that_leaves_is_missed_by_nobody() {
    let network = network(DeadPolicy::Continue);
    let mut desk = Desk::new(&network, None);
    desk.run(|d| d.round(DEAD) >= 20);
    desk.handle(DEAD, Event::Leave);
    desk.run(|d| d.outcomes[DEAD].is_some() && d.parts[DEAD].as_ref().unwrap().status().settled);
    assert_eq!(desk.outcomes[DEAD].as_ref().unwrap().reason, Reason::Left);
    desk.parts[DEAD] = None;
    desk.run(|d| d.all_done(Some(DEAD)));
    desk.check(&optimum(&network, Some(DEAD)), Some(DEAD));
}

/// Who comes when all others have finished is told so.
#[test]
fn a_part_that_returns_too_late_ends_as_well() {
    let network = network(DeadPolicy::Continue);
    let mut desk = Desk::new(&network, None);
    desk.run(|d| d.round(DEAD) >= 20);
    desk.kill(DEAD);
    desk.run(|d| d.all_done(Some(DEAD)));
    desk.parts[DEAD] = Some(Part::restore(desk.plans[DEAD].clone(), &desk.saved[DEAD]).unwrap());
    desk.announce(DEAD, true);
    desk.run(|d| d.all_done(None));
    assert_eq!(desk.outcomes[DEAD].as_ref().unwrap().reason, Reason::PeerFinished);
}

#[test]
fn with_the_policy_stop_a_death_ends_the_run_of_its_neighbours() {
    let network = network(DeadPolicy::Stop);
    let mut desk = Desk::new(&network, None);
    desk.run(|d| d.round(DEAD) >= 20);
    desk.kill(DEAD);
    desk.run(|d| d.all_done(Some(DEAD)));
    let reasons: Vec<Reason> = desk.outcomes.iter().flatten().map(|o| o.reason).collect();
    assert!(reasons.contains(&Reason::PeerLost), "{reasons:?}");
    assert!(reasons.iter().all(|r| matches!(r, Reason::PeerLost | Reason::PeerFinished)), "{reasons:?}");
}

#[test]
fn with_the_policy_wait_nobody_runs_ahead() {
    let network = network(DeadPolicy::Wait);
    let mut desk = Desk::new(&network, None);
    desk.run(|d| d.round(DEAD) >= 20);
    desk.kill(DEAD);
    let until = desk.now + 5_000;
    desk.run(|d| d.now >= until);
    assert!((0..PARTS).filter(|k| *k != DEAD).all(|k| desk.round(k) <= 20 + PARTS as u64));
    desk.parts[DEAD] = Some(Part::restore(desk.plans[DEAD].clone(), &desk.saved[DEAD]).unwrap());
    desk.announce(DEAD, true);
    desk.run(|d| d.all_done(None));
    desk.check(&optimum(&network, None), None);
}
