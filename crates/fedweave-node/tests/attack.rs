//! What a neighbour can find out. This is no bug but a limit of models that are sent as they are: `docs/threat-model.md` says so,
//! and the programs warn of it.

use fedweave::loss::{Family, LossOptions, LossSpec};
use fedweave::matrix::norm2;
use fedweave::{Dataset, Graph, Matrix};
use fedweave_node::wire::{Frame, Header, Kind, encode};
use fedweave_node::{Effect, Event, MethodSpec, Network, Part, Patience, PeerId, PenaltyKind, Plan, exposure};

const D: usize = 3;
const ETA: f64 = 0.8;
const LAMBDA: f64 = 5.0;
const RIDGE: f64 = 0.01;

/// Node `a` with these rows and its only neighbour `b`.
fn victim(x: &[f64], y: &[f64]) -> Plan {
    let (m, rows) = (y.len(), [x, &[0.0; D]].concat());
    let data = Dataset::new(vec![0, m, m + 1], Matrix::from_rows(D, rows), [y, &[0.0]].concat(), vec![1.0; m + 1]);
    let network = Network {
        names: vec!["a".into(), "b".into()],
        graph: Graph::new(2, &[(0, 1, 1.0)]).unwrap(),
        data: data.unwrap(),
        loss: LossSpec::Same(Family::Squared),
        loss_options: LossOptions { ridge: RIDGE, ..Default::default() },
        penalty: PenaltyKind::Norm2,
        lambda: LAMBDA,
        method: MethodSpec::PrimalDual { step_ratio: ETA, relaxation: 1.0 },
        rounds_max: 100,
        tolerance: None,
        patience: Patience::default(),
        models: None,
        hub: None,
    };
    network.plans(&[0, 1], 2).unwrap().remove(0)
}

/// Plays `b` against `a` for `d + 1` rounds and solves for `X'X / m` and `X'y / m`.
fn attack(plan: Plan) -> (Matrix, Vec<f64>) {
    let federation = plan.link_name(PeerId(0));
    let mut part = Part::new(plan).unwrap();
    let (mut w, mut u) = (vec![0.0; D], vec![0.0; D]);
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let mut effects = Vec::new();
    part.handle(Event::Tick { now: 0 }, &mut effects);
    for round in 1..=D as u64 + 1 {
        let came = effects.iter().find_map(|e| match e {
            Effect::Send { bytes, .. } => {
                let frame = Frame::decode(bytes).ok().filter(|f| f.header.round == round)?;
                Some((frame.numbers().collect::<Vec<_>>(), frame.header.flows))
            }
            _ => None,
        });
        // Who knows the flows knows their digest; here it is copied.
        let (came, flows) = came.expect("the rows of the round");
        // The neighbour knows w, u and tau: `came = 2 w+ - w`, and w+ solves `2 Q w+ - 2 q + 2 ridge w+ + (w+ - v) / tau = 0`.
        let next: Vec<f64> = came.iter().zip(&w).map(|(o, w)| (o + w) / 2.0).collect();
        let v = |j: usize| w[j] - ETA * u[j];
        right.push((0..D).map(|j| -(next[j] - v(j)) / (2.0 * ETA) - RIDGE * next[j]).collect::<Vec<f64>>());
        left.push([&next[..], &[-1.0]].concat());
        w = next;
        // It sends what makes the next equation a new one, and keeps its copy of the flow.
        let sent: Vec<f64> = (0..D).map(|j| ((7 * round as usize + 3 * j) as f64).sin() * 4.0).collect();
        (0..D).for_each(|j| u[j] += 0.5 / ETA * (came[j] - sent[j]));
        let size = norm2(&u);
        if size > LAMBDA {
            u.iter_mut().for_each(|u| *u *= LAMBDA / size);
        }
        let header =
            Header { kind: Kind::Rows, chunk: 0, chunks: 1, federation, round, received: round, residual: 0.0, flows };
        effects.clear();
        part.handle(Event::Frame { from: PeerId(0), bytes: &encode(&header, &sent) }, &mut effects);
    }
    let mut q_matrix = Matrix::zeros(D, D);
    let mut q = vec![0.0; D];
    for j in 0..D {
        let solution = solve(left.clone(), right.iter().map(|b| b[j]).collect());
        q_matrix.row_mut(j).copy_from_slice(&solution[..D]);
        q[j] = solution[D];
    }
    (q_matrix, q)
}

/// Gaussian elimination with pivots.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in 0..n {
            if i != k {
                let factor = a[i][k] / a[k][k];
                let row = a[k].clone();
                a[i].iter_mut().zip(&row).for_each(|(x, p)| *x -= factor * p);
                b[i] -= factor * b[k];
            }
        }
    }
    (0..n).map(|k| b[k] / a[k][k]).collect()
}

#[test]
fn the_only_neighbour_learns_the_moments_after_d_plus_1_rounds() {
    let (x, y) = ([1.0, 2.0, -0.5, 0.3, -1.0, 2.0, 1.5, 0.0, 0.7, -0.2, 0.9, 1.1], [1.0, -2.0, 0.5, 3.0]);
    let (moments, cross) = attack(victim(&x, &y));
    for j in 0..D {
        for k in 0..D {
            let truth = (0..4).map(|r| x[r * D + j] * x[r * D + k]).sum::<f64>() / 4.0;
            assert!((moments.row(j)[k] - truth).abs() < 1e-6, "{} {truth}", moments.row(j)[k]);
        }
        let truth = (0..4).map(|r| x[r * D + j] * y[r]).sum::<f64>() / 4.0;
        assert!((cross[j] - truth).abs() < 1e-6, "{} {truth}", cross[j]);
    }
}

#[test]
fn a_single_row_is_known_up_to_its_sign() {
    let (x, y) = ([1.25, -0.75, 2.0], [1.5]);
    let (moments, cross) = attack(victim(&x, &y));
    let size: Vec<f64> = (0..D).map(|j| moments.row(j)[j].sqrt()).collect();
    // The signs follow from the products with the first entry, which is positive up to the sign of the whole row.
    let guess: Vec<f64> = (0..D).map(|j| size[j].copysign(moments.row(0)[j])).collect();
    assert!(guess.iter().zip(&x).all(|(g, x)| (g - x).abs() < 1e-6), "{guess:?}");
    assert!((cross[0] / guess[0] - y[0]).abs() < 1e-6);
}

/// Largest error of the attacker's `X'X / m`, against the truth.
fn error_of(moments: &Matrix, x: &[f64], m: usize) -> f64 {
    let truth = |j: usize, k: usize| (0..m).map(|r| x[r * D + j] * x[r * D + k]).sum::<f64>() / m as f64;
    (0..D * D).map(|at| (moments.row(at / D)[at % D] - truth(at / D, at % D)).abs()).fold(0.0, f64::max)
}

#[test]
fn with_noise_the_only_neighbour_learns_noise() {
    use fedweave::random::{Purpose, stream};
    use fedweave::trust::privacy::accountant::noise;
    use fedweave::trust::privacy::statistics::{Ranges, Units, release, stand_ins};
    let (x, y) = ([1.0, 2.0, -0.5, 0.3, -1.0, 2.0, 1.5, 0.0, 0.7, -0.2, 0.9, 1.1], [1.0, -2.0, 0.5, 3.0]);
    let plan = victim(&x, &y);
    assert!(error_of(&attack(plan.clone()).0, &x, 4) < 1e-6);
    let ranges = Ranges::new(vec![(-2.0, 2.0); D], (-3.0, 3.0), None, false).unwrap();
    let multiplier = noise((1.0, 1e-5), 1.0, 1).unwrap();
    let mut errors: Vec<f64> = (0..20)
        .map(|k| {
            let mut rng = stream(k, Purpose::Noise, 0);
            let moments = [release(&plan.data, 0, &ranges, multiplier, &mut rng).unwrap()];
            let data = stand_ins(&moments, &ranges, Units::Data).unwrap();
            error_of(&attack(Plan { data, ..plan.clone() }).0, &x, 4)
        })
        .collect();
    errors.sort_unstable_by(f64::total_cmp);
    // Entries of X'X / m are at most 4; four rows at epsilon 1 leave nothing of them.
    assert!(errors[2] > 4.0, "{errors:?}");
}

#[test]
fn the_warning_names_who_is_exposed_and_why() {
    let warned = exposure(&victim(&[1.0, 2.0, 3.0], &[1.0]));
    assert_eq!(warned.len(), 1);
    let words = warned[0].to_string();
    assert!(
        words.contains("`a`") && words.contains("`b` is its only neighbour") && words.contains("1 row for"),
        "{words}"
    );
    // With three neighbours and many rows there is nothing to say.
    let n = 4;
    let rows = 2 * D;
    let data = Dataset::new(
        (0..=n).map(|i| i * rows).collect(),
        Matrix::zeros(n * rows, D),
        vec![0.0; n * rows],
        vec![1.0; n * rows],
    );
    let network = Network {
        names: (0..n).map(|i| format!("n{i}")).collect(),
        graph: fedweave::graph::generate::complete(n).unwrap(),
        data: data.unwrap(),
        loss: LossSpec::Same(Family::Squared),
        loss_options: LossOptions::default(),
        penalty: PenaltyKind::Norm2,
        lambda: 1.0,
        method: MethodSpec::PrimalDual { step_ratio: 1.0, relaxation: 1.0 },
        rounds_max: 1,
        tolerance: None,
        patience: Patience::default(),
        models: None,
        hub: None,
    };
    let plans = network.plans(&[0, 1, 2, 3], 4).unwrap();
    assert!(plans.iter().all(|plan| exposure(plan).is_empty()));
    // Inside one part nothing leaves.
    assert!(exposure(&network.plans(&[0; 4], 1).unwrap()[0]).is_empty());
}
