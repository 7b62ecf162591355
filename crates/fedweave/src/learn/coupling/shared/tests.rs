//! Parts against all rows at once: gradients, one part, several parts, and the way over numbers.

use super::super::tests::small;
use super::super::{CouplingOptions, learn};
use super::*;
use crate::graph::generate::grid;
use crate::matrix::{Matrix, dot};
use crate::random::{Purpose, stream};
use rand::RngExt;
use rand_distr::StandardNormal;

/// A grid of nodes whose models vary smoothly around a common one.
fn smooth(side: usize) -> (Graph, Dataset) {
    let graph = grid(side, side).unwrap();
    let mut rng = stream(11, Purpose::LocalData, 0);
    let mut normal = || -> f64 { rng.sample(StandardNormal) };
    let n = side * side;
    let mut models: Vec<[f64; 3]> = (0..n).map(|_| [2.0 * normal(), 0.0, 3.0 * normal()]).collect();
    for _ in 0..3 {
        for i in 0..n {
            let ends = graph.ends(i);
            for j in 0..3 {
                let around: f64 = ends.iter().map(|e| models[e.neighbour as usize][j]).sum();
                models[i][j] = 0.5 * models[i][j] + 0.5 * around / ends.len() as f64;
            }
        }
    }
    let (mut offsets, mut x, mut y) = (vec![0], Vec::new(), Vec::new());
    for model in &models {
        for _ in 0..6 {
            let row = [5.0 + 2.0 * normal(), 0.1 * normal(), 1.0];
            y.push(1.0 + dot(&row, model) + row[1] + 0.5 * normal());
            x.extend(row);
        }
        offsets.push(y.len());
    }
    let rows = y.len();
    (graph, Dataset::new(offsets, Matrix::from_rows(3, x), y, vec![1.0; rows]).unwrap())
}

/// One part that holds everything finds what is learnt from all rows.
#[test]
fn one_part_learns_what_one_machine_learns() {
    let (graph, data) = smooth(8);
    let shared = learn_in_parts(&graph, &data, &vec![0; graph.nodes()], true).unwrap();
    let options = CouplingOptions::default();
    let alone = learn(&graph, &shared.scaling.apply(&data), &options).unwrap().coupling;
    let (found, close) = (&shared.coupling, |a: f64, b: f64| (a - b).abs() <= 1e-4 * b.abs().max(1e-3));
    assert_eq!((found.structure, &found.varies), (alone.structure, &alone.varies));
    assert!(close(found.rho, alone.rho) && close(found.s2, alone.s2), "{found:?} {alone:?}");
    assert!(close(found.log_likelihood, alone.log_likelihood));
    assert!(found.mu.iter().zip(&alone.mu).all(|(a, b)| close(*a, *b)));
    let pairs = found.covariance.as_slice().iter().zip(alone.covariance.as_slice());
    assert!(
        pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-3 * alone.covariance.as_slice()[8]),
        "{found:?} {alone:?}"
    );
}

/// Edges between parts are left out of learning, so that several parts come close only.
#[test]
fn several_parts_come_close_and_have_a_graph() {
    let (graph, data) = smooth(10);
    let part: Vec<usize> = (0..100).map(|i| 2 * (i / 50) + usize::from(i % 10 >= 5)).collect();
    let shared = learn_in_parts(&graph, &data, &part, true).unwrap();
    let alone = learn_in_parts(&graph, &data, &[0; 100], true).unwrap();
    assert_eq!(shared.coupling.structure, alone.coupling.structure);
    assert!(shared.coupling.rho > 0.0 && (shared.coupling.s2 / alone.coupling.s2 - 1.0).abs() < 0.05);
    let problem = shared.problem(&graph, &data).unwrap();
    assert_eq!((problem.nodes(), problem.graph().edges()), (101, 180 + 100));
}

/// Nodes without rows, single rows, several components, a part without rows; the order of parts decides about bits alone.
#[test]
fn few_rows_and_empty_parts_are_fine() {
    let (graph, data) = small();
    for part in [[0, 0, 0, 0, 1, 2, 2, 2], [0, 1, 2, 3, 4, 5, 6, 7], [0, 0, 0, 0, 0, 0, 0, 0]] {
        let shared = learn_in_parts(&graph, &data, &part, true).unwrap();
        let numbers = shared.to_numbers();
        assert_eq!(numbers.len(), SharedCoupling::numbers(3));
        assert_eq!(SharedCoupling::from_numbers(&numbers, 3).unwrap(), shared);
        assert!(shared.problem(&graph, &data).is_ok());
    }
}

#[test]
fn numbers_that_are_no_coupling_are_refused() {
    let (graph, data) = small();
    let good = learn_in_parts(&graph, &data, &[0; 8], true).unwrap().to_numbers();
    for (place, value) in [(2, 1.0), (2, -0.1), (3, 0.0), (5, f64::NAN), (5, -1.0), (13, 0.0), (19, -1.0)] {
        let mut bad = good.clone();
        bad[place] = value;
        assert!(SharedCoupling::from_numbers(&bad, 3).is_err(), "{place} {value}");
    }
    assert!(SharedCoupling::from_numbers(&good[1..], 3).is_err());
}

/// What one part says is as long as promised, and a part that joins late walks the same path by the totals.
#[test]
fn answers_have_their_length_and_totals_are_enough() {
    let (graph, data) = small();
    let mut member = Member::new(&graph, data);
    let (mut first, mut late) = (Learner::new(1, 3, true), Learner::new(1, 3, true));
    let learnt = loop {
        match first.turn() {
            Turn::Ask(question) => {
                let answer = member.answer(&question);
                assert_eq!((answer.len(), answer[0]), (question.numbers(), 1.0));
                assert!(question.numbers() <= Question::numbers_max(3));
                first.answer(answer);
            }
            Turn::Learnt(learnt) => break learnt,
            Turn::Failed => panic!("it can be learnt"),
        }
    };
    for total in first.totals() {
        assert!(matches!(late.turn(), Turn::Ask(_)));
        late.answer(total.clone());
    }
    assert!(matches!(late.turn(), Turn::Learnt(same) if same == learnt));
}

#[test]
fn nothing_is_learnt_from_nothing() {
    let graph = grid(2, 2).unwrap();
    let none = Dataset::new(vec![0; 5], Matrix::from_rows(2, Vec::new()), Vec::new(), Vec::new()).unwrap();
    assert!(learn_in_parts(&graph, &none, &[0, 0, 1, 1], true).is_err());
    assert!(learn_in_parts(&graph, &none, &[0, 0, 1], true).is_err());
}
