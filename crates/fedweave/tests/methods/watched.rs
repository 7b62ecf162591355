//! Methods under the eyes of the stop rules.

use super::{common, optimum, small};
use fedweave::loss::Family;
use fedweave::penalty::{Norm2, SquaredNorm};
use fedweave::solve::*;

fn tight() -> Settings {
    Settings { iterations_max: 20_000, ..Settings::default() }
}

fn watched(
    p: &fedweave::Problem,
    m: &mut dyn Method,
    settings: &Settings,
    exactly: Option<usize>,
) -> (Solution, History) {
    solve_in_rounds(p, m, settings, exactly, &mut |_| Watch::Continue)
}

/// The run ends at the tolerance, and every bound on the way holds.
#[test]
fn certificates_hold_and_end_the_run() {
    for g in common::all().iter().filter(|g| ["p05", "p08", "p12", "p13", "p25", "p26"].contains(&&g.name[..3])) {
        let p = &g.problem;
        let mut methods: Vec<Box<dyn Method + '_>> = vec![
            Box::new(PrimalDualRounds::new(p, None, 1.8).unwrap()),
            Box::new(Pdmm::new(p, PdmmOptions { subset: Subset::ALL, ..Default::default() }).unwrap()),
        ];
        if p.penalty().is_smooth() {
            methods.push(Box::new(FedGd::new(p, None).unwrap()));
            methods.push(Box::new(FedRelax::new(p, Order::InTurn).unwrap()));
        }
        for mut m in methods {
            let (s, history) = watched(p, &mut *m, &tight(), None);
            let scale = g.objective.abs().max(1.0);
            println!("{}: {} {} rounds, gap {:?}", g.name, m.name(), s.iterations, s.certified_gap);
            assert_eq!(s.status, Status::Converged, "{}: {} {:?}", g.name, m.name(), s.certified_gap);
            assert!(s.objective - g.objective <= 1e-5 * scale, "{}: {}", g.name, m.name());
            assert_eq!((&s.w, s.iterations), (m.models(), m.traffic().rounds() as usize));
            assert_eq!((s.history.len(), history.last().bytes), (history.records.len(), m.traffic().bytes()));
            for record in &s.history {
                let error = record.objective - g.objective;
                assert!(record.certified_gap.is_none_or(|gap| gap >= error - 1e-8 * scale), "{}: {record:?}", g.name);
            }
        }
    }
}

#[test]
fn rounds_limits_and_watchers_end_the_run() {
    let p = small(Family::Squared, Box::new(SquaredNorm));
    let new = || FedGd::new(&p, None).unwrap();
    let (s, _) = watched(&p, &mut new(), &tight(), Some(3));
    assert_eq!((s.status, s.iterations), (Status::IterationLimit, 3));
    // More than needed, when exactly so many are asked for.
    let (free, _) = watched(&p, &mut new(), &tight(), None);
    let (s, history) = watched(&p, &mut new(), &tight(), Some(free.iterations + 500));
    assert_eq!(
        (s.status, s.iterations, history.last().round),
        (Status::Converged, free.iterations + 500, s.iterations)
    );
    let stop = |r: &Record| if r.iteration >= 7 { Watch::Stop(Status::Interrupted) } else { Watch::Continue };
    let (s, _) = solve_in_rounds(&p, &mut new(), &tight(), None, &mut { stop });
    assert_eq!((s.status, s.iterations), (Status::Interrupted, 7));
    let lazy = Settings { objective_decrease: Some(1e-2), ..tight() };
    assert_eq!(watched(&p, &mut new(), &lazy, None).0.status, Status::Stalled);
}

/// A step that is too long: the last models that were numbers are kept.
#[test]
fn divergence_is_a_status() {
    let p = small(Family::Squared, Box::new(SquaredNorm));
    let (s, _) = watched(&p, &mut FedGd::new(&p, Some(1e6)).unwrap(), &tight(), None);
    assert_eq!(s.status, Status::Diverged);
    assert!(s.objective.is_finite() && s.w.as_slice().iter().all(|v| v.is_finite()));
}

/// A constraint keeps the objective above the free optimum; the run ends where the models no longer move.
#[test]
fn a_constrained_run_ends_at_its_fixed_point() {
    let p = small(Family::Squared, Box::new(SquaredNorm));
    let mut m = FedGd::projected(&p, None, Constraint::Ball { radius: 0.3 }).unwrap();
    let (s, _) = watched(&p, &mut m, &tight(), None);
    assert_eq!(s.status, Status::Converged);
    assert!(s.kkt.residual() <= 1e-6 && s.objective > optimum(&p) + 1e-3 && s.w.max_row_norm() <= 0.3 + 1e-12);
    assert!(s.certified_gap.is_none_or(|gap| gap >= s.objective - optimum(&p)));
}

/// A method that leads elsewhere ends where it no longer moves, and the certificate says how far from the optimum that is.
#[test]
fn other_fixed_points_are_not_called_optimal() {
    use fedweave::baseline::{FedAvg, Ifca, PFedMe};
    let p = small(Family::Squared, Box::new(Norm2));
    let methods: [Box<dyn Method + '_>; 3] = [
        Box::new(FedAvg::new(p.loss(), Default::default()).unwrap()),
        Box::new(Ifca::new(p.loss(), Default::default()).unwrap()),
        Box::new(PFedMe::new(p.loss(), Default::default()).unwrap()),
    ];
    for mut m in methods {
        let (s, _) = watched(&p, &mut *m, &tight(), None);
        assert_eq!((s.status, s.kkt.residual() <= 1e-6), (Status::Converged, true), "{}", m.name());
        let before = m.models().clone();
        (0..100).for_each(|_| m.round());
        let still = before.as_slice().iter().zip(m.models().as_slice()).all(|(a, b)| (a - b).abs() < 1e-4);
        let gap = s.objective - optimum(&p);
        assert!(still && gap > 0.01 && s.certified_gap.is_none_or(|c| c >= gap - 1e-9), "{}: {gap}", m.name());
    }
}

/// Models and flows that a method found are judged alike, by whoever asks.
#[test]
fn certified_answers_are_those_of_the_run() {
    let p = small(Family::Squared, Box::new(Norm2));
    let mut m = PrimalDualRounds::new(&p, None, 1.8).unwrap();
    (0..300).for_each(|_| m.round());
    let (seen, _) = watched(&p, &mut m, &tight(), Some(0));
    let given = certify(&p, m.models().clone(), m.flows(), tight().tolerance);
    assert_eq!((given.status, given.objective, given.kkt), (seen.status, seen.objective, seen.kkt));
    assert_eq!((given.certified_gap, &given.w, &given.u), (seen.certified_gap, &seen.w, &seen.u));
    assert!(given.certified_gap.is_some_and(|gap| gap <= 1e-6));
    let broken = certify(&p, fedweave::Matrix::from_rows(3, vec![f64::NAN; 18]), None, 1e-6);
    assert_eq!((broken.status, broken.certified_gap), (Status::Diverged, None));
    let far = certify(&p, fedweave::Matrix::from_rows(3, vec![1.0; 18]), None, 1e-6);
    assert_eq!(far.status, Status::IterationLimit);
    assert!(far.certified_gap.is_none_or(|gap| gap >= far.objective - optimum(&p)));
}
