//! Methods with a server, against exact minimisers and closed forms.

use super::{data, problem};
use fedweave::baseline::*;
use fedweave::graph::generate::chain;
use fedweave::loss::{Family, Loss, LossOptions};
use fedweave::matrix::norm2;
use fedweave::penalty::Norm2;
use fedweave::solve::{Method, run_rounds};
use fedweave::synthetic::{self, Network};
use fedweave::{Dataset, Matrix};

/// `L_i(w) = (H_i / 2) w^2 - b_i w + const` at three nodes with one parameter.
const H: [f64; 3] = [2.0, 8.0, 0.5];
const B: [f64; 3] = [2.0, -4.0, 3.0];

fn quadratics() -> Box<dyn Loss> {
    // (x w - y)^2 has H = 2 x^2 and b = 2 x y. The fourth node has no rows.
    let x: Vec<f64> = H.iter().map(|h| (h / 2.0).sqrt()).collect();
    let y = x.iter().zip(B).map(|(x, b)| b / (2.0 * x)).collect();
    let data = Dataset::new(vec![0, 1, 2, 3, 3], Matrix::from_rows(1, x), y, vec![1.0; 3]).unwrap();
    Family::Squared.build(data, &LossOptions::default()).unwrap()
}

/// The fixed point of averaging when client `i` goes a share `a_i` of the way to its own minimiser `b_i / H_i`.
fn fixed_point(share: impl Fn(usize) -> f64) -> f64 {
    let sum = |f: &dyn Fn(usize) -> f64| (0..3).map(f).sum::<f64>();
    sum(&|i| share(i) * B[i] / H[i]) / sum(&share)
}

fn run(method: &mut dyn Method, rounds: usize) -> Matrix {
    (0..rounds).for_each(|_| method.round());
    method.models().clone()
}

fn near(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 1e-10, "{found} is not {wanted}");
}

#[test]
fn the_fixed_points_of_federated_averaging() {
    let loss = quadratics();
    let end = |local: LocalUpdate, eta: f64| {
        let mut method = FedAvg::new(&*loss, FedAvgOptions { local, step: Some(eta) }).unwrap();
        let w = run(&mut method, 3000);
        assert!(w.as_slice().iter().all(|v| *v == w.row(0)[0]), "one model for all, also without rows");
        w.row(0)[0]
    };
    let pooled = B.iter().sum::<f64>() / H.iter().sum::<f64>();
    near(end(LocalUpdate::Gradient { steps: 1 }, 0.1), pooled);
    let several = end(LocalUpdate::Gradient { steps: 5 }, 0.1);
    near(several, fixed_point(|i| 1.0 - (1.0 - 0.1 * H[i]).powi(5)));
    let prox = end(LocalUpdate::Prox, 0.4);
    near(prox, fixed_point(|i| H[i] / (H[i] + 2.0 / 0.4)));
    assert!((several - pooled).abs() > 0.05 && (prox - pooled).abs() > 0.05, "{several}, {prox}, {pooled}");
}

#[test]
fn the_fixed_points_of_pfedme() {
    let (loss, gamma) = (quadratics(), 1.5);
    for (steps, eta, mixing) in [(1, 1.0 / gamma, 1.0), (1, 0.2, 0.5), (4, 0.3, 1.0)] {
        let options = PFedMeOptions { penalty: gamma, step: Some(eta), steps, mixing };
        let mut method = PFedMe::new(&*loss, options).unwrap();
        let theta = run(&mut method, 4000);
        // The envelope of a quadratic is a quadratic of curvature gamma H / (H + gamma) with the same minimiser.
        let envelope = |i: usize| gamma * H[i] / (H[i] + gamma);
        let w = fixed_point(|i| 1.0 - (1.0 - eta * envelope(i)).powi(steps as i32));
        near(method.common()[0], w);
        for i in 0..3 {
            let last = B[i] / H[i] + (1.0 - eta * envelope(i)).powi(steps as i32 - 1) * (w - B[i] / H[i]);
            near(theta.row(i)[0], (B[i] + gamma * last) / (H[i] + gamma));
        }
        near(theta.row(3)[0], w);
    }
}

/// Two clusters of planted models, `m` rows at each of `n` nodes.
fn planted(n: usize, rows: usize, noise: f64, seed: u64) -> (Dataset, Vec<usize>, Matrix) {
    let network = Network::Blocks { p_in: 0.5, p_out: 0.05 };
    let options =
        synthetic::Options { nodes: n, clusters: 2, rows, dim: 4, noise, seed, network, ..Default::default() };
    let made = synthetic::generate(&options).unwrap();
    (made.data, made.cluster, made.truth)
}

fn farthest(a: &Matrix, b: &Matrix) -> f64 {
    let off = |i: usize| norm2(&a.row(i).iter().zip(b.row(i)).map(|(a, b)| a - b).collect::<Vec<_>>());
    (0..a.rows()).map(off).fold(0.0, f64::max)
}

#[test]
fn averaging_single_gradient_steps_ends_at_the_pooled_models() {
    let options = LossOptions { ridge: 0.01, ..Default::default() };
    let (data, clusters, _) = planted(30, 6, 0.1, 3);
    let loss = Family::Squared.build(data.clone(), &options).unwrap();
    let single = FedAvgOptions { local: LocalUpdate::Gradient { steps: 1 }, step: None };
    let global = global(Family::Squared, &data, &options).unwrap();
    let global = Matrix::from_rows(4, global.repeat(30));
    assert!(farthest(&run(&mut FedAvg::new(&*loss, single).unwrap(), 5000), &global) < 1e-9);
    let oracle = oracle(Family::Squared, &data, &clusters, &options).unwrap();
    let mut clustered = FedAvg::clustered(&*loss, &clusters, single).unwrap();
    assert!(farthest(&run(&mut clustered, 5000), &oracle) < 1e-9);
    assert!(farthest(&oracle, &global) > 0.1);
}

#[test]
fn ifca_recovers_planted_clusters() {
    for averaging in [Averaging::Models { steps: 5 }, Averaging::Gradients] {
        let (data, clusters, w) = planted(40, 20, 0.01, 5);
        let loss = Family::Squared.build(data, &LossOptions::default()).unwrap();
        let options = IfcaOptions { averaging, restarts: 5, ..Default::default() };
        let mut method = Ifca::new(&*loss, options).unwrap();
        let models = run(&mut method, 2000);
        let same = |i: usize, j: usize| method.clusters()[i] == method.clusters()[j];
        assert!((1..40).all(|i| same(0, i) == (clusters[0] == clusters[i])), "{averaging:?}");
        assert!(farthest(&models, &w) < 0.02, "{averaging:?}: {}", farthest(&models, &w));
    }
}

/// Starts only add up: the best of several is at least as good as the first of them. One model is federated averaging.
#[test]
fn the_starts_of_ifca() {
    let (data, ..) = planted(20, 10, 0.5, 8);
    let loss = Family::Squared.build(data, &LossOptions::default()).unwrap();
    let end = |restarts: usize, start: IfcaStart| {
        let options = IfcaOptions { k: 3, restarts, start, ..Default::default() };
        let mut method = Ifca::new(&*loss, options).unwrap();
        run(&mut method, 100);
        let total: f64 = (0..20).map(|i| loss.value(i, method.models().row(i))).sum();
        assert!((method.training_loss() - total).abs() < 1e-12);
        total
    };
    for start in [IfcaStart::Normal(1.0), IfcaStart::Clients { steps: 20 }] {
        assert!(end(6, start) <= end(1, start));
    }
    let one = IfcaOptions { k: 1, start: IfcaStart::Normal(1e-9), ..Default::default() };
    let averaged = run(&mut FedAvg::new(&*loss, FedAvgOptions::default()).unwrap(), 500);
    assert!(farthest(&run(&mut Ifca::new(&*loss, one).unwrap(), 500), &averaged) < 1e-6);
}

#[test]
fn what_a_server_and_its_clients_send() {
    let loss = quadratics();
    let (three, rounds) = (3u64, 4u64);
    let mut fedavg = FedAvg::new(&*loss, FedAvgOptions::default()).unwrap();
    let mut pfedme = PFedMe::new(&*loss, PFedMeOptions::default()).unwrap();
    for method in [&mut fedavg as &mut dyn Method, &mut pfedme] {
        let history = run_rounds(method, rounds as usize, 1, &mut |w| w.row(0)[0]);
        assert_eq!((history.last().messages, history.last().bytes), (2 * three * rounds, 2 * three * rounds * 8));
        assert_eq!(method.traffic().bytes_by_node(), [32, 32, 32, 0]);
    }
    let options = IfcaOptions { k: 5, restarts: 2, ..Default::default() };
    let mut ifca = Ifca::new(&*loss, options).unwrap();
    ifca.round();
    // Five models down, one model and its number up, for both starts.
    assert_eq!(ifca.traffic().bytes(), 2 * three * (5 + 2) * 8);
}

#[test]
fn settings_are_picked_on_validation_rows() {
    let (data, clusters, _) = planted(30, 12, 1.0, 9);
    let odd: Vec<bool> = (0..data.len()).map(|r| r % 2 == 1).collect();
    let even: Vec<bool> = odd.iter().map(|o| !o).collect();
    let build = |keep: &[bool]| Family::Squared.build(data.select(keep), &LossOptions::default()).unwrap();
    let (train, validation) = (build(&odd), build(&even));
    let grid = [1e-3, 0.1, 1.0, 10.0, 1e3];
    let picked = pick(&grid, 200, &*validation, |&penalty| {
        Ok(Box::new(PFedMe::new(&*train, PFedMeOptions { penalty, ..Default::default() })?))
    })
    .unwrap();
    assert!(picked.tried.iter().all(|(_, error)| *error >= picked.error()) && picked.tried.len() == 5);
    assert_eq!(picked.models.rows(), clusters.len());
    // A step that diverges is tried, but not chosen.
    let local = LocalUpdate::Gradient { steps: 1 };
    let steps = pick(&[1e3, 0.1], 500, &*validation, |&step| {
        Ok(Box::new(FedAvg::new(&*train, FedAvgOptions { local, step: Some(step) })?))
    });
    assert_eq!(*steps.unwrap().setting(), 0.1);
    assert!(pick(&[] as &[f64], 1, &*validation, |_| unreachable!()).is_err());
}

#[test]
fn threads_change_no_bit_of_a_server() {
    let with = |threads: usize| -> Vec<Matrix> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let p = problem(chain(9000).unwrap(), Family::Logistic, 3, 4, Box::new(Norm2), 0.0);
            let prox = FedAvgOptions { local: LocalUpdate::Prox, step: None };
            let methods: [Box<dyn Method + '_>; 4] = [
                Box::new(FedAvg::new(p.loss(), FedAvgOptions::default()).unwrap()),
                Box::new(FedAvg::new(p.loss(), prox).unwrap()),
                Box::new(Ifca::new(p.loss(), IfcaOptions::default()).unwrap()),
                Box::new(PFedMe::new(p.loss(), PFedMeOptions::default()).unwrap()),
            ];
            methods.into_iter().map(|mut m| run(&mut *m, 5)).collect()
        })
    };
    assert!(with(1) == with(3));
}

#[test]
fn bad_options_are_named() {
    let loss = quadratics();
    let kinked = Family::Absolute.build(data(3, 2, 1, |r| r as f64), &LossOptions::default()).unwrap();
    let gradient = |steps, step| FedAvgOptions { local: LocalUpdate::Gradient { steps }, step };
    assert!(FedAvg::new(&*loss, gradient(0, None)).is_err() && FedAvg::new(&*loss, gradient(1, Some(-1.0))).is_err());
    assert!(FedAvg::new(&*kinked, gradient(1, Some(1.0))).is_err());
    assert!(FedAvg::new(&*kinked, FedAvgOptions { local: LocalUpdate::Prox, step: None }).is_ok());
    assert!(FedAvg::clustered(&*loss, &[0, 1], FedAvgOptions::default()).is_err());
    for options in [
        IfcaOptions { k: 0, ..Default::default() },
        IfcaOptions { restarts: 0, ..Default::default() },
        IfcaOptions { averaging: Averaging::Models { steps: 0 }, ..Default::default() },
        IfcaOptions { start: IfcaStart::Normal(0.0), ..Default::default() },
        IfcaOptions { k: 4, start: IfcaStart::Clients { steps: 1 }, ..Default::default() },
    ] {
        assert!(Ifca::new(&*loss, options).is_err(), "{options:?}");
    }
    for options in [
        PFedMeOptions { penalty: 0.0, ..Default::default() },
        PFedMeOptions { step: Some(2.0), ..Default::default() },
        PFedMeOptions { steps: 0, ..Default::default() },
        PFedMeOptions { mixing: 1.5, ..Default::default() },
    ] {
        assert!(PFedMe::new(&*loss, options).is_err(), "{options:?}");
    }
    assert!(oracle(Family::Squared, &data(3, 2, 1, |_| 0.0), &[0], &LossOptions::default()).is_err());
}
