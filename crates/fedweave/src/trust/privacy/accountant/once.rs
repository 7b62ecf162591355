//! One release of a Poisson-sampled Gaussian mechanism, exactly: with `delta_0` that of the Gaussian mechanism,
//!
//! ```text
//! a row taken away:   delta(e) = q delta_0(log(1 + (e^e - 1) / q))
//! a row added:        delta(e) = b delta_0(log(q e^e / b)),  b = 1 - (1 - q) e^e;   0 where b <= 0
//! ```

use super::gaussian;
use super::sampled::Sampled;

/// The smallest `epsilon` at `delta` of one release.
pub fn epsilon(release: Sampled, delta: f64) -> f64 {
    let Sampled { sigma, rate } = release;
    let remove = (rate * gaussian::epsilon(1.0 / sigma, delta / rate).exp_m1()).ln_1p();
    let remove = if remove.is_finite() { remove } else { gaussian::epsilon(1.0 / sigma, delta / rate) };
    remove.max(add(release, delta))
}

fn add(Sampled { sigma, rate }: Sampled, delta: f64) -> f64 {
    let private = |epsilon: f64| {
        let rest = rate * epsilon.exp() - epsilon.exp_m1();
        rest <= 0.0 || rest.ln() + gaussian::log_delta(1.0 / sigma, epsilon + (rate / rest).ln()) <= delta.ln()
    };
    if private(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, -(-rate).ln_1p());
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if private(middle) { high = middle } else { low = middle }
    }
    high
}
