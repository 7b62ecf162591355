//! One release of a Poisson-sampled Gaussian mechanism: every row takes part with probability `rate`, and the sum of at most 1
//! per row gets noise `sigma`. In units of the noise, and with the row (`M`) or without it (`N`),
//!
//! ```text
//! M = (1 - q) N(0, 1) + q N(1/sigma, 1),   N = N(0, 1),   L(z) = log dM/dN = log(1 - q + q e^y),   y = z/sigma - 1/(2 sigma^2)
//! ```
//!
//! Taking a row away compares `M` with `N` (the privacy loss is `L(z)`, `z ~ M`), adding one `N` with `M` (loss `-L(z)`, `z ~ N`).

use super::normal::{cdf, upper_quantile};

/// Which of the two datasets has the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The first one: a row is taken away.
    Remove,
    /// The second one: a row is added.
    Add,
}

/// Noise and sampling rate of a release.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampled {
    /// Noise, in multiples of the sensitivity.
    pub sigma: f64,
    /// Probability that a row takes part.
    pub rate: f64,
}

impl Sampled {
    /// `L(z)`.
    pub fn log_ratio(&self, z: f64) -> f64 {
        let y = (z - 0.5 / self.sigma) / self.sigma;
        if y > 30.0 {
            return y + (self.rate + (1.0 - self.rate) * (-y).exp()).ln();
        }
        (self.rate * y.exp_m1()).ln_1p()
    }

    /// The `z` with `L(z) = l`; minus infinity where there is none.
    pub fn inverse(&self, l: f64) -> f64 {
        let y = match l > 30.0 {
            true => l - self.rate.ln() + (-(1.0 - self.rate) * (-l).exp()).ln_1p(),
            false => {
                let excess = l.exp_m1() / self.rate;
                if excess <= -1.0 {
                    return f64::NEG_INFINITY;
                }
                excess.ln_1p()
            }
        };
        self.sigma * y + 0.5 / self.sigma
    }

    /// Probability under `M` that `z` exceeds `at`.
    fn tail(&self, at: f64) -> f64 {
        (1.0 - self.rate) * cdf(-at) + self.rate * cdf(1.0 / self.sigma - at)
    }

    /// A `z` that is exceeded with probability at most `p`.
    pub fn quantile(&self, direction: Direction, p: f64) -> f64 {
        if direction == Direction::Add {
            return upper_quantile(p);
        }
        let (mut low, mut high) = (0.0, 1.0 / self.sigma + upper_quantile(p));
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if self.tail(middle) <= p { high = middle } else { low = middle }
        }
        high
    }
}

/// `log E e^{theta loss}` of one release and its first two derivatives, with `z` between two bounds.
pub struct Moments {
    direction: Direction,
    /// `L(z)` and `log phi(z)`, up to a constant, at the points of a trapezoidal rule.
    points: Vec<(f64, f64)>,
    log_step: f64,
    /// Logarithms of the smallest and the largest tilt.
    tilts: (f64, f64),
}

/// Most points of the rule.
const POINTS_MAX: f64 = 8000.0;

impl Moments {
    /// Moments over an interval of `z`, on which the loss is at most `most`.
    pub fn new(release: Sampled, direction: Direction, (low, high): (f64, f64), most: f64) -> Self {
        // L has singularities at a distance of pi sigma from the real axis: the rule is exact to rounding with this step.
        let step = (0.5 * release.sigma).min(0.4).max((high - low) / POINTS_MAX);
        let count = ((high - low) / step).ceil();
        let step = (high - low) / count;
        let point = |k: usize| {
            let z = low + step * k as f64;
            (release.log_ratio(z), super::normal::log_density(z))
        };
        Moments {
            direction,
            points: (0..=count as usize).map(point).collect(),
            log_step: step.ln(),
            tilts: ((1e-9 / most).ln(), (1e3 / most).ln()),
        }
    }

    /// Moments of a loss with these values of `L` and logarithms of their probabilities without the row; it is at most `most`.
    pub fn of_points(points: Vec<(f64, f64)>, direction: Direction, most: f64) -> Self {
        Moments { direction, points, log_step: 0.0, tilts: ((1e-9 / most).ln(), (1e3 / most).ln()) }
    }

    /// Log-moment at `theta`, mean and variance of the loss where probabilities are tilted by `e^{theta loss}`.
    pub fn at(&self, theta: f64) -> (f64, f64, f64) {
        let (order, sign) = match self.direction {
            Direction::Remove => (1.0 + theta, 1.0),
            Direction::Add => (-theta, -1.0),
        };
        let exponent = |(ratio, density): &(f64, f64)| order * ratio + density;
        let largest = self.points.iter().map(exponent).fold(f64::NEG_INFINITY, f64::max);
        let (mut s0, mut s1, mut s2) = (0.0, 0.0, 0.0);
        for point in &self.points {
            let weight = (exponent(point) - largest).exp();
            s0 += weight;
            s1 += weight * point.0;
            s2 += weight * point.0 * point.0;
        }
        let mean = s1 / s0;
        (largest + s0.ln() + self.log_step, sign * mean, (s2 / s0 - mean * mean).max(0.0))
    }

    /// The largest tilt that is considered.
    pub fn tilt_max(&self) -> f64 {
        self.tilts.1.exp()
    }

    /// The tilt at which Chernoff's bound on the tail of a sum of `rounds` losses is `e^-exponent`; the bound is then on the
    /// probability of exceeding `rounds` times the tilted mean.
    pub fn tilt(&self, exponent: f64, rounds: f64) -> f64 {
        let goal = exponent / rounds;
        let rate = |theta: f64| {
            let (log_moment, mean, _) = self.at(theta);
            theta * mean - log_moment
        };
        bisect(self.tilts, |log| rate(log.exp()) < goal).exp()
    }

    /// The tilt at which the mean is `goal`; a hair above zero if it is larger without any.
    pub fn centre(&self, goal: f64) -> f64 {
        bisect(self.tilts, |log| self.at(log.exp()).1 < goal).exp()
    }

    /// A length `c` such that sums above `near + c` have a probability of at most `e^{-exponent - theta c}`, by Chernoff's bound.
    pub fn circle(&self, theta: f64, rounds: f64, near: f64, exponent: f64) -> f64 {
        let bound = |more: f64| {
            let tilt = theta * (1.0 + more);
            (rounds * self.at(tilt).0 - tilt * near + exponent) / (tilt - theta)
        };
        let found = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4].map(bound).into_iter().fold(f64::INFINITY, f64::min);
        if found.is_nan() { 0.0 } else { found }
    }

    /// Below the mean of the sum tilted by `theta`: a value that it falls short of with probability at most `e^-exponent`.
    pub fn low_end(&self, theta: f64, exponent: f64, rounds: f64) -> f64 {
        let (here, ..) = self.at(theta);
        let rate = |back: f64| {
            let (log_moment, mean, _) = self.at(theta - back);
            here - log_moment - back * mean
        };
        let back = bisect(self.tilts, |log| rate(log.exp()) < exponent / rounds).exp();
        rounds * self.at(theta - back).1
    }
}

/// Where `below` changes from true to false.
fn bisect((mut low, mut high): (f64, f64), below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..36 {
        let middle = 0.5 * (low + high);
        if below(middle) { low = middle } else { high = middle }
    }
    high
}
