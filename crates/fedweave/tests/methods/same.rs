//! Methods that must agree, do, bit for bit; threads change nothing.

use super::{problem, small};
use fedweave::graph::generate::chain;
use fedweave::loss::{Family, LossOptions};
use fedweave::penalty::{Norm2, Penalty, SquaredNorm};
use fedweave::solve::*;
use fedweave::{Dataset, Matrix, Problem};
use rayon::prelude::*;

#[test]
fn full_batches_and_no_delays_are_gradient_descent() {
    for family in [Family::Squared, Family::Logistic, Family::Point] {
        let p = small(family, Box::new(SquaredNorm));
        let full = SgdOptions { batch: 5, schedule: Schedule::Constant, ..Default::default() };
        let prompt = AsyncOptions { active: vec![1.0], delay_max: 0, ..Default::default() };
        let mut methods: [Box<dyn Method + '_>; 3] = [
            Box::new(FedGd::new(&p, None).unwrap()),
            Box::new(FedSgd::new(&p, full).unwrap()),
            Box::new(AsyncFedGd::new(&p, prompt).unwrap()),
        ];
        methods.iter_mut().for_each(|m| (0..50).for_each(|_| m.round()));
        assert!(methods[0].models().max_row_norm() > 0.0);
        for m in &methods[1..] {
            assert_eq!((m.models(), m.traffic()), (methods[0].models(), methods[0].traffic()), "{family} {}", m.name());
        }
    }
}

#[test]
fn seeds_decide() {
    let p = small(Family::Squared, Box::new(SquaredNorm));
    let sgd = |seed| {
        let mut m = FedSgd::new(&p, SgdOptions { batch: 2, seed, ..Default::default() }).unwrap();
        (0..30).for_each(|_| m.round());
        m.models().clone()
    };
    let late = |seed| {
        let mut m = AsyncFedGd::new(&p, AsyncOptions { seed, ..Default::default() }).unwrap();
        (0..30).for_each(|_| m.round());
        m.models().clone()
    };
    let pdmm = |seed| {
        let mut m = Pdmm::new(&p, PdmmOptions { seed, ..Default::default() }).unwrap();
        (0..30).for_each(|_| m.round());
        m.models().clone()
    };
    assert!(sgd(1) == sgd(1) && sgd(1) != sgd(2));
    assert!(late(1) == late(1) && late(1) != late(2));
    assert!(pdmm(1) == pdmm(1) && pdmm(1) != pdmm(2));
}

/// Tasks of a loop ask for the same constants of a loss, which a loop computes when they are first asked for. None waits for ever for a
/// thread that waits for it.
#[test]
fn loops_inside_loops_end() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(8).build().unwrap();
    pool.install(|| {
        for _ in 0..40 {
            let p = problem(chain(4000).unwrap(), Family::Squared, 3, 4, Box::new(SquaredNorm), 0.3);
            let hessian = |node: usize| {
                let loss = p.loss().second_order().unwrap();
                let (mut out, mut work) = (vec![0.0; loss.hessian_len(node)], vec![0.0; p.loss().work_len()]);
                loss.hessian(node, &vec![0.0; p.dim()], &mut out, &mut work);
                out[0]
            };
            let all: Vec<f64> = (0..64).into_par_iter().with_max_len(1).map(hessian).collect();
            assert!(all.iter().all(|curvature| *curvature > 0.0));
        }
    });
}

/// Large enough to be cut into blocks.
#[test]
fn threads_change_no_bit() {
    let with = |threads: usize| -> Vec<Matrix> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let p = problem(chain(9000).unwrap(), Family::Logistic, 3, 4, Box::new(SquaredNorm), 0.3);
            let poisson = problem(chain(9000).unwrap(), Family::Poisson, 3, 4, Box::new(SquaredNorm), 0.3);
            let lasso = problem(chain(9000).unwrap(), Family::Squared, 3, 4, Box::new(Norm2), 0.3);
            let methods: [Box<dyn Method + '_>; 7] = [
                Box::new(FedGd::new(&p, None).unwrap()),
                Box::new(FedGd::projected(&poisson, None, Constraint::Ball { radius: 0.3 }).unwrap()),
                Box::new(FedSgd::new(&p, SgdOptions { batch: 2, ..Default::default() }).unwrap()),
                Box::new(AsyncFedGd::new(&p, AsyncOptions::default()).unwrap()),
                Box::new(FedRelax::new(&p, Order::Together).unwrap()),
                Box::new(PrimalDualRounds::new(&lasso, None, 1.8).unwrap()),
                Box::new(Pdmm::new(&lasso, PdmmOptions::default()).unwrap()),
            ];
            let run = |mut m: Box<dyn Method + '_>| {
                (0..12).for_each(|_| m.round());
                m.models().clone()
            };
            methods.into_iter().map(run).collect()
        })
    };
    assert!(with(1) == with(3));
}

/// The problem as a server knows it: without rows.
fn without_rows(p: &Problem, penalty: Box<dyn Penalty>) -> Problem {
    let (n, d) = (p.nodes(), p.dim());
    let data = Dataset::new(vec![0; n + 1], Matrix::zeros(0, d), vec![], vec![]).unwrap();
    let loss = Family::Squared.build(data, &LossOptions::default()).unwrap();
    Problem::build(p.graph().clone(), loss, penalty, p.lambda()).unwrap()
}

/// Nodes that take their proximal steps themselves, for a server: the models are those of one machine.
#[test]
fn rounds_of_a_server_are_those_of_one_machine() {
    let lasso = small(Family::Squared, Box::new(Norm2));
    let ridge = small(Family::Squared, Box::new(SquaredNorm));
    let everybody = PdmmOptions { rho: Some(1.0), subset: Subset::ALL, ..Default::default() };
    let blind = || without_rows(&lasso, Box::new(Norm2));
    let pairs: [(&Problem, Box<dyn Method + '_>, ServerRound); 4] = [
        (
            &lasso,
            Box::new(PrimalDualRounds::new(&lasso, None, 1.8).unwrap()),
            ServerRound::primal_dual(blind(), None, 1.8).unwrap(),
        ),
        (
            &lasso,
            Box::new(PrimalDualRounds::new(&lasso, Some(2.0), 1.0).unwrap()),
            ServerRound::primal_dual(blind(), Some(2.0), 1.0).unwrap(),
        ),
        (&lasso, Box::new(Pdmm::new(&lasso, everybody).unwrap()), ServerRound::pdmm(blind(), everybody).unwrap()),
        (
            &ridge,
            Box::new(FedRelax::new(&ridge, Order::Together).unwrap()),
            ServerRound::fedrelax(without_rows(&ridge, Box::new(SquaredNorm))).unwrap(),
        ),
    ];
    for (p, mut here, mut server) in pairs {
        let mut work = vec![0.0; p.loss().work_len()];
        assert_eq!(server.residual(), f64::INFINITY);
        for _ in 0..40 {
            here.round();
            server.begin();
            for i in 0..p.nodes() {
                let (mut w, tau) = (server.outgoing(i).to_vec(), server.steps()[i]);
                p.loss().prox(i, tau, &mut w, &mut work);
                server.incoming(i).copy_from_slice(&w);
            }
            server.complete();
        }
        let largest = |it: &mut dyn Iterator<Item = f64>| it.fold(0.0, |a: f64, b| a.max(b.abs()));
        let both = here.models().as_slice().iter().zip(server.models().as_slice());
        let off = largest(&mut both.map(|(a, b)| a - b));
        assert!(off <= 1e-9 * largest(&mut here.models().as_slice().iter().copied()), "{} {off:e}", here.name());
        // A round in which nobody answers changes no model.
        let before = server.models().clone();
        server.begin();
        server.complete();
        assert_eq!((server.models(), server.residual()), (&before, 0.0));
    }
}
