//! Laplace noise: the accountant against sums over the losses of few releases, and discrete noise against its probabilities.

use fedweave::trust::privacy::accountant::laplace::{Laplace, epsilon};
use fedweave::trust::privacy::accountant::{Method, rdp};

/// `delta(epsilon)` of `rounds` releases by convolution of losses on a fine grid: from below (losses rounded down) and from above.
fn slow_delta(release: Laplace, rounds: usize, goal: f64, up: bool) -> f64 {
    let (most, cells) = (1.0 / release.scale, 3000usize);
    let step = 2.0 * most / cells as f64;
    let q = release.rate;
    // Probabilities without and with the row, by integrating the densities over small steps of x.
    let fine = 200_000;
    let (from, width) = (-40.0 * release.scale, (1.0 + 80.0 * release.scale) / fine as f64);
    let mut single = vec![0.0; cells + 2];
    for k in 0..fine {
        let x = from + (k as f64 + 0.5) * width;
        let density = |at: f64| (-(x - at).abs() / release.scale).exp() / (2.0 * release.scale);
        let ratio = (x.abs() - (x - 1.0).abs()) / release.scale;
        let loss = (1.0 - q + q * ratio.exp()).ln();
        let place = (loss + most) / step;
        let place = if up { place.ceil() } else { place.floor() } as usize;
        single[place.min(cells + 1)] += width * ((1.0 - q) * density(0.0) + q * density(1.0));
    }
    let mut sum = single.clone();
    for _ in 1..rounds {
        let mut next = vec![0.0; sum.len() + single.len()];
        for (i, a) in sum.iter().enumerate().filter(|(_, a)| **a > 0.0) {
            single.iter().enumerate().for_each(|(j, b)| next[i + j] += a * b);
        }
        sum = next;
    }
    let value = |k: usize| k as f64 * step - rounds as f64 * most;
    sum.iter().enumerate().map(|(k, p)| p * (-(goal - value(k)).exp_m1()).max(0.0)).sum()
}

#[test]
fn few_releases_match_sums_over_their_losses() {
    for (scale, rate, rounds, delta) in
        [(1.0, 1.0, 2, 1e-3), (2.0, 1.0, 4, 1e-5), (0.7, 0.3, 3, 1e-3), (3.0, 0.1, 4, 1e-4), (5.0, 0.5, 2, 1e-2)]
    {
        let release = Laplace { scale, rate };
        let found = epsilon(release, rounds as u64, delta);
        let (below, above) = (
            slow_delta(release, rounds, found.epsilon * 1.005 + 1e-3, false),
            slow_delta(release, rounds, found.epsilon * 0.995 - 1e-3, true),
        );
        // Within half a percent of where the sums put it, on both sides.
        assert!(below <= delta && above >= delta, "{release:?} {rounds} {delta}: {found:?} {below} {above}");
    }
}

#[test]
fn formulas_and_limits() {
    let at = |scale, rate, rounds, delta| epsilon(Laplace { scale, rate }, rounds, delta).epsilon;
    assert_eq!(at(2.0, 1.0, 3, 0.0), 1.5);
    assert!((at(2.0, 1.0, 1, 0.01) - (0.5 + 2.0 * 0.99f64.ln())).abs() < 1e-15);
    assert_eq!([at(1.0, 1.0, 0, 0.0), at(f64::INFINITY, 1.0, 9, 0.0), at(1.0, 0.0, 9, 0.0)], [0.0; 3]);
    assert_eq!(at(0.0, 1.0, 1, 0.1), f64::INFINITY);
    // Sampling: log(1 + q (e^(1/b) - 1)), exactly.
    assert!((at(1.0, 0.1, 1, 0.0) - (1.0 + 0.1 * 1f64.exp_m1()).ln()).abs() < 1e-15);
}

#[test]
fn never_above_what_other_proofs_give_and_never_decreasing() {
    let mut k = 0u64;
    let mut next = || {
        k = k.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (k >> 11) as f64 / (1u64 << 53) as f64
    };
    for _ in 0..200 {
        let scale = (-1.5 + 6.0 * next()).exp();
        let rate = if next() < 0.3 { 1.0 } else { (-7.0 * next()).exp() };
        let (rounds, delta) = ((9.0 * next()).exp() as u64, (-25.0 * next()).exp() * 0.1);
        let release = Laplace { scale, rate };
        let here = epsilon(release, rounds, delta);
        let what = format!("{release:?} {rounds} {delta}: {here:?}");
        assert!(here.epsilon >= 0.0 && here.epsilon <= rounds as f64 * release.pure(), "{what}");
        if rate == 1.0 {
            let renyi = rdp::epsilon(|order| rounds as f64 * rdp::laplace(scale, order), delta);
            assert!(here.epsilon <= renyi, "{what}");
        }
        let more = [
            epsilon(Laplace { scale: 0.9 * scale, rate }, rounds, delta),
            epsilon(Laplace { scale, rate: (1.1 * rate).min(1.0) }, rounds, delta),
            epsilon(release, 2 * rounds, delta),
            epsilon(release, rounds, 0.5 * delta),
        ];
        assert!(more.iter().all(|m| m.epsilon >= here.epsilon * (1.0 - 1e-3)), "{what} {more:?}");
    }
    assert_eq!(epsilon(Laplace { scale: 20.0, rate: 1.0 }, 300, 1e-6).method, Method::LossDistribution);
}
