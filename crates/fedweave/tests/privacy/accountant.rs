//! The accountant against values of other programs: `epsilon.json` holds the Gaussian formula in 60 digits (mpmath), and sampled
//! mechanisms by dp-accounting 0.6 with grids fine enough for each (a thirtieth of the deviation of a loss).

use fedweave::trust::privacy::accountant::{Method, Sampled, epsilon, gaussian, noise, normal, rdp};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

fn reference(kind: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("epsilon.json")).unwrap();
    all[kind].as_array().unwrap().clone()
}

fn log_uniform(rng: &mut ChaCha8Rng, low: f64, high: f64) -> f64 {
    (low.ln() + (high / low).ln() * rng.random::<f64>()).exp()
}

#[test]
fn the_gaussian_mechanism_is_exact_to_ten_digits() {
    for point in reference("gaussian") {
        let [mu, delta, expected] = ["mu", "delta", "epsilon"].map(|key| point[key].as_f64().unwrap());
        let found = gaussian::epsilon(mu, delta);
        assert!((found / expected - 1.0).abs() < 1e-10, "{point}: {found}");
        let back = gaussian::log_delta(mu, expected);
        assert!((back - delta.ln()).abs() < 1e-10 * (1.0 + expected / mu), "{point}: {back}");
        assert!((gaussian::mu(expected, delta) / mu - 1.0).abs() < 1e-10, "{point}");
    }
}

#[test]
fn textbook_noise() {
    for (goal, expected) in [(1.0, 3.7306), (0.5, 7.0318)] {
        assert!((noise((goal, 1e-5), 1.0, 1).unwrap() - expected).abs() < 1e-4);
    }
    let sigma = noise((1.0, 1e-5), 0.01, 1000).unwrap();
    let spent = epsilon(Sampled { sigma, rate: 0.01 }, 1000, 1e-5).epsilon;
    assert!(spent <= 1.0 && spent > 0.999, "{spent}");
}

#[test]
fn sampled_mechanisms_are_close_from_above() {
    for point in reference("sampled") {
        let [sigma, rate, delta, expected] =
            ["sigma", "rate", "delta", "epsilon"].map(|key| point[key].as_f64().unwrap());
        let found = epsilon(Sampled { sigma, rate }, point["rounds"].as_u64().unwrap(), delta);
        // The other program is above the truth too, by less than 1e-4.
        let ratio = found.epsilon / expected;
        assert!((0.9999..1.001).contains(&ratio), "{point}: {found:?}");
    }
}

/// Where a loss has a deviation of a few steps only, the usual grid (a step of 1e-4) makes the other program say up to a fifth more than it does on a finer
/// one: what is below its value is not below the truth.
#[test]
fn coarse_grids_are_above_the_truth_and_we_are_not_below_it() {
    for point in reference("grids") {
        let [sigma, rate, delta, fine, coarse] =
            ["sigma", "rate", "delta", "epsilon", "coarse"].map(|key| point[key].as_f64().unwrap());
        let found = epsilon(Sampled { sigma, rate }, point["rounds"].as_u64().unwrap(), delta).epsilon;
        assert!(found >= fine * 0.9999 && found < 1.001 * fine && coarse > 1.01 * fine, "{point}: {found}");
    }
}

#[test]
fn no_formula_gives_negative_or_decreasing_values() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..20_000 {
        let (mu, delta) = (log_uniform(&mut rng, 1e-9, 1e4), log_uniform(&mut rng, 1e-18, 0.999));
        // Closer neighbours differ by less than an ulp of epsilon.
        let by = 1.0 + log_uniform(&mut rng, 1e-6, 1.0);
        let here = gaussian::epsilon(mu, delta);
        let (more, less) = (gaussian::epsilon(mu * by, delta), gaussian::epsilon(mu, (delta * by).min(1.0)));
        assert!(
            here >= 0.0 && here.is_finite() && more >= here && less <= here,
            "{mu} {delta} {by}: {here} {more} {less}"
        );
    }
}

#[test]
fn compositions_are_finite_and_grow() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for k in 0..400 {
        let (sigma, rate) = (log_uniform(&mut rng, 0.2, 300.0), log_uniform(&mut rng, 1e-6, 0.999));
        let (rounds, delta) = (log_uniform(&mut rng, 1.0, 1e6) as u64, log_uniform(&mut rng, 1e-14, 0.1));
        let by = 1.0 + log_uniform(&mut rng, 1e-2, 1.0);
        let here = epsilon(Sampled { sigma, rate }, rounds, delta).epsilon;
        let more = match k % 4 {
            0 => epsilon(Sampled { sigma: sigma / by, rate }, rounds, delta),
            1 => epsilon(Sampled { sigma, rate: (rate * by).min(1.0) }, rounds, delta),
            2 => epsilon(Sampled { sigma, rate }, (rounds as f64 * by).ceil() as u64, delta),
            _ => epsilon(Sampled { sigma, rate }, rounds, delta / by),
        };
        let what = format!("{k}: sigma {sigma} rate {rate} rounds {rounds} delta {delta} by {by}");
        assert!(here >= 0.0 && here.is_finite() && more.epsilon >= here, "{what}: {here} {more:?}");
        let whole = gaussian::epsilon((rounds as f64).sqrt() / sigma, delta);
        assert!(here <= whole * (1.0 + 1e-12), "{what}: {here} {whole}");
    }
}

/// `delta(x)` of one release, of taking a row away: for negative `x` from what adding one costs.
fn delta_of_one(Sampled { sigma, rate }: Sampled, x: f64) -> f64 {
    let plain = |epsilon: f64| gaussian::delta(1.0 / sigma, epsilon);
    if x >= 0.0 {
        return rate * plain((x.exp_m1() / rate).ln_1p());
    }
    let rest = 1.0 - (1.0 - rate) * (-x).exp();
    let added = if rest > 0.0 { rest * plain((rate * (-x).exp() / rest).ln()) } else { 0.0 };
    -x.exp_m1() + x.exp() * added
}

/// Where one release can cost as much as all, two of them are the integral of one over the losses of the other.
#[test]
fn two_releases_with_rare_large_losses_match_their_integral() {
    for (sigma, rate, delta) in [(0.5966, 3.2e-7, 1.9e-14), (0.4, 1e-5, 1e-10), (0.7, 1e-4, 1e-12), (1.0, 1e-6, 1e-13)]
    {
        let release = Sampled { sigma, rate };
        let found = epsilon(release, 2, delta).epsilon;
        let h = 1e-4;
        let at = |k: i32| {
            let z = (f64::from(k) + 0.5) * h;
            let ratio = release.log_ratio(z);
            h * (normal::log_density(z) + ratio).exp() * delta_of_one(release, found - ratio)
        };
        let truth: f64 = (-120_000..200_000).map(at).sum();
        assert!(truth <= delta * (1.0 + 1e-6) && truth > 0.999 * delta, "{release:?}: {found}, {truth} of {delta}");
    }
}

#[test]
fn rare_large_losses_cost_more_in_more_rounds() {
    let at = |rounds| epsilon(Sampled { sigma: 0.5966, rate: 3.2e-7 }, rounds, 1.9e-14).epsilon;
    let found: Vec<f64> = (1..=12).map(at).collect();
    assert!(found.windows(2).all(|pair| pair[1] > pair[0] && pair[1] < 1.5 * pair[0]), "{found:?}");
    // Many rounds on a grid that is too coarse for them.
    let at = |rate| epsilon(Sampled { sigma: 0.07206, rate }, 242_557, 2e-17).epsilon;
    let found = [0.7, 0.76, 0.8, 0.86].map(at);
    assert!(found.windows(2).all(|pair| pair[1] > 1.03 * pair[0]), "{found:?}");
}

/// Little noise and few rows: nearly all releases cost nothing, and those that cost something cost much.
#[test]
fn extremes_are_answered() {
    for sigma in [0.02, 0.03, 0.05, 0.1, 1e3] {
        for rate in [1e-12, 1e-7, 1e-3, 0.999_999] {
            for rounds in [2, 1000, 1_000_000] {
                for delta in [1e-18, 1e-5, 0.5] {
                    let found = epsilon(Sampled { sigma, rate }, rounds, delta).epsilon;
                    let whole = gaussian::epsilon((rounds as f64).sqrt() / sigma, delta);
                    assert!(found >= 0.0 && found <= whole, "{sigma} {rate} {rounds} {delta}: {found} {whole}");
                }
            }
        }
    }
}

#[test]
fn an_answer_of_zero_stays_zero_with_a_larger_delta() {
    let at = |delta| epsilon(Sampled { sigma: 0.7026225897194349, rate: 3.201821315627202e-5 }, 319_907, delta).epsilon;
    assert_eq!([0.0205, 0.0229, 0.02336, 0.05].map(at), [0.0; 4]);
    assert!(at(0.015) > 0.0);
}

#[test]
fn almost_everybody_sampled_is_everybody() {
    let whole = epsilon(Sampled { sigma: 8.0, rate: 1.0 }, 50, 1e-6);
    let almost = epsilon(Sampled { sigma: 8.0, rate: 1.0 - 1e-9 }, 50, 1e-6);
    assert_eq!(whole.method, Method::Exact);
    assert!(almost.epsilon <= whole.epsilon && almost.epsilon > 0.999 * whole.epsilon, "{almost:?} {whole:?}");
}

#[test]
fn nothing_released_costs_nothing_and_no_noise_costs_everything() {
    let at = |sigma, rate, rounds, delta| epsilon(Sampled { sigma, rate }, rounds, delta).epsilon;
    assert_eq!([at(1.0, 1.0, 0, 1e-5), at(1.0, 0.0, 9, 1e-5), at(f64::INFINITY, 1.0, 9, 1e-5)], [0.0; 3]);
    assert_eq!([at(0.0, 1.0, 1, 1e-5), at(1.0, 0.5, 1, 0.0), at(f64::NAN, 1.0, 1, 1e-5)], [f64::INFINITY; 3]);
}

/// `log E (dM/dN)^n` of the sampled mechanism by the binomial theorem: the slow twin at integer orders.
fn binomial_moment(sigma: f64, rate: f64, order: u32) -> f64 {
    let terms: Vec<f64> = (0..=order)
        .map(|k| {
            let choose: f64 = (1..=k).map(|i| (f64::from(order - k + i) / f64::from(i)).ln()).sum();
            let (k, rest) = (f64::from(k), f64::from(order - k));
            choose + rest * (1.0 - rate).ln() + k * rate.ln() + k * (k - 1.0) / (2.0 * sigma * sigma)
        })
        .collect();
    let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    largest + terms.iter().map(|t| (t - largest).exp()).sum::<f64>().ln()
}

#[test]
fn renyi_divergences_match_their_sums_and_integrals() {
    for (sigma, rate, order) in [(0.6, 0.01, 2), (1.1, 0.01, 17), (4.0, 0.3, 5), (30.0, 0.001, 256)] {
        let slow = binomial_moment(sigma, rate, order) / f64::from(order - 1);
        let found = rdp::sampled(Sampled { sigma, rate }, f64::from(order));
        assert!((found - slow).abs() <= 1e-11 + 1e-9 * slow, "{sigma} {rate} {order}: {found} {slow}");
    }
    // All rows: the plain Gaussian mechanism, at fractional orders too.
    for order in [1.3, 2.5, 40.0] {
        let found = rdp::sampled(Sampled { sigma: 2.0, rate: 1.0 }, order);
        assert!((found / rdp::gaussian(2.0, order) - 1.0).abs() < 1e-9, "{order}: {found}");
    }
    // Laplace: the integral of p^a q^(1-a) in small steps.
    for (b, order) in [(1.0, 2.0), (3.0, 1.5), (0.5, 7.25)] {
        let step = 1e-4 * b;
        let density = |x: f64| (-x.abs() / b).exp() / (2.0 * b);
        let term = |k: i64| {
            let x = (k as f64 + 0.5) * step;
            step * density(x).powf(order) * density(x - 1.0).powf(1.0 - order)
        };
        let integral: f64 = (-400_000..600_000).map(term).sum();
        let slow = integral.ln() / (order - 1.0);
        assert!((rdp::laplace(b, order) - slow).abs() < 1e-6, "{b} {order}: {slow}");
    }
}

#[test]
fn renyi_bounds_lie_above_the_truth() {
    for (mu, delta) in [(0.1, 1e-5), (1.0, 1e-6), (5.0, 1e-9)] {
        let (truth, renyi) =
            (gaussian::epsilon(mu, delta), rdp::epsilon(|order| rdp::gaussian(1.0 / mu, order), delta));
        assert!(renyi >= truth && renyi < 1.2 * truth, "{mu}: {truth} {renyi}");
    }
}

#[test]
fn hardly_any_noise_is_answered_at_once_and_from_above() {
    for sigma in [1e-300, 1e-8, 1e-4, 1e-3, 0.01, 0.019] {
        for (rate, rounds) in [(1e-5, 2), (0.01, 1000), (0.99, 1_000_000)] {
            let release = Sampled { sigma, rate };
            let found = epsilon(release, rounds, 1e-6).epsilon;
            // At least what one round costs, at most what all of them cost without sampling.
            let (one, whole) =
                (epsilon(release, 1, 1e-6).epsilon, gaussian::epsilon((rounds as f64).sqrt() / sigma, 1e-6));
            assert!(found >= one * (1.0 - 1e-12) && found <= whole, "{release:?}: {found} {one} {whole}");
            let renyi = rdp::epsilon(|order| rounds as f64 * rdp::sampled(release, order), 1e-6);
            assert!(renyi >= one * (1.0 - 1e-9), "{release:?}: {renyi} {one}");
        }
    }
}
