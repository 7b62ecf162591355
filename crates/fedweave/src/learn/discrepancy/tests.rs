use super::*;
use crate::loss::LossOptions;
use crate::random::{Purpose, stream};
use rand::RngExt;
use rand_distr::StandardNormal;

/// Nodes `(shift of x, slope)` with `m` rows each and an intercept.
fn nodes(of: &[(f64, f64)], m: usize, noise: f64, seed: u64) -> NodeRows {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for (i, (shift, slope)) in of.iter().enumerate() {
        let mut rng = stream(seed, Purpose::LocalData, i);
        for _ in 0..m {
            let value = shift + rng.sample::<f64, _>(StandardNormal);
            x.extend([value, 1.0]);
            y.push(slope * value + noise * rng.sample::<f64, _>(StandardNormal));
        }
    }
    let offsets = (0..=of.len()).map(|i| i * m).collect();
    let data = Dataset::new(offsets, Matrix::from_rows(2, x), y.clone(), vec![1.0; y.len()]).unwrap();
    NodeRows::scaled(&data, Family::Squared, true, 0)
}

#[test]
fn all_measures_are_symmetric_and_see_what_they_are_for() {
    // Nodes 0 and 1 are alike; node 2 has other features and another slope.
    let rows = nodes(&[(0.0, 1.0), (0.0, 1.0), (2.0, -1.0), (2.0, -1.0), (0.0, 1.0), (2.0, -1.0)], 200, 0.1, 1);
    for measure in Measure::ALL {
        let found = measure.compare(&rows).unwrap();
        let mut work = Vec::new();
        let (near, far) = (found.between(0, 1, &mut work), found.between(0, 2, &mut work));
        assert!(2.0 * near < far, "{}: {near} {far}", measure.name());
        assert!((found.between(2, 0, &mut work) - far).abs() <= 1e-9 * far, "{}", measure.name());
        assert_eq!(Measure::named(measure.name()), Some(measure));
        assert!(measure.sent(2, 200).bytes >= 16);
    }
}

#[test]
fn divergences_of_two_gaussians_are_about_the_formula() {
    // x shifted by 1 deviation inside nodes, label independent: symmetric KL is 1/2.
    let rows = nodes(&[(0.0, 0.0), (1.0, 0.0)], 2_000, 1.0, 5);
    let kl = Measure::Kl.compare(&rows).unwrap().between(0, 1, &mut Vec::new()).powi(2);
    assert!((kl - 0.5).abs() < 0.12, "{kl}");
}

#[test]
fn sharing_costs_what_two_separate_fits_say() {
    let rows = nodes(&[(0.0, 1.0), (0.5, 1.4), (1.0, 0.2), (-1.0, 2.0)], 50, 0.5, 2);
    let gaussian = Gaussian::of(&rows).unwrap();
    // The slow twin: the determinant and the quadratic form of the marginal covariance of all rows of a pair.
    let loss = Family::Squared.build(rows.data.clone(), &LossOptions::default()).unwrap();
    let mut work = Vec::new();
    for (i, j) in [(0, 1), (0, 2), (1, 3)] {
        let odds = gaussian.log_odds(i, j, &mut work);
        assert!((gaussian.log_odds(j, i, &mut work) - odds).abs() < 1e-9 * odds.abs());
    }
    assert!(gaussian.log_odds(0, 3, &mut work) < gaussian.log_odds(0, 1, &mut work));
    // A gradient at the pooled model is that of finite differences.
    let w = [0.3, -0.2];
    let gradients = gradients_at(&*loss, &w);
    for j in 0..2 {
        let (mut up, mut down) = (w, w);
        (up[j], down[j]) = (w[j] + 1e-6, w[j] - 1e-6);
        let slope = (loss.value(2, &up) - loss.value(2, &down)) / 2e-6;
        assert!((gradients.row(2)[j] - slope).abs() < 1e-6);
    }
}

#[test]
fn tests_of_pairs_need_a_likelihood() {
    let mut rows = nodes(&[(0.0, 1.0), (0.0, 1.0)], 5, 0.1, 1);
    rows.family = Family::Absolute;
    assert!(matches!(Measure::Wald.compare(&rows), Err(Error::Method { .. })));
    assert!(Measure::Gradient.compare(&rows).is_ok());
}
