//! The loss of one release on a grid, from above.

use std::sync::LazyLock;

use super::super::fft::{self, Complex};
use super::super::laplace::Laplace;
use super::super::normal::log_density;
use super::super::quadrature::gauss_legendre;
use super::super::sampled::Direction;
use super::plan::{Plan, Window};
use super::sum::Sum;

/// Relative error of a mass, and error of the share of a cell that moves up.
pub const MASS_ERROR: f64 = 1e-12;
const SHARE_ERROR: f64 = 1e-10;
/// A panel is this wide at most, in units of the length over which the integrand changes by a factor e: five points are then
/// exact to 1e-15.
const PANEL: f64 = 0.5;
/// Up to this width three are.
const NARROW: f64 = 0.05;
static THREE: LazyLock<[(f64, f64); 3]> = LazyLock::new(gauss_legendre::<3>);
static FIVE: LazyLock<[(f64, f64); 5]> = LazyLock::new(gauss_legendre::<5>);
/// A cell is wider than a step where losses are more than this many steps: rare and large ones need no finer grid.
const STEPS_OF_LOSS: f64 = 200.0;
/// Coefficients that fall below e to the minus this are left out.
const NEGLIGIBLE: f64 = 60.0;

/// The loss of one release: grid indices, from the smallest, and their probabilities.
pub struct Single {
    /// In increasing order.
    pub atoms: Vec<(i64, f64)>,
}

impl Single {
    pub fn new(plan: &Plan) -> Self {
        let (release, z, step, sign) = (plan.release, plan.z, plan.window.step, plan.sign());
        let ends = [sign * release.log_ratio(z.0), sign * release.log_ratio(z.1)];
        let mut at = (ends[0].min(ends[1]) / step).floor() as i64;
        let end = ((ends[0].max(ends[1]) / step).ceil() as i64).max(at + 1);
        let place = |index: i64| release.inverse(sign * index as f64 * step).clamp(z.0, z.1);
        let (mut atoms, mut stays, mut from) = (Vec::new(), 0.0, place(at));
        while at < end {
            let width = ((at.abs() as f64 / STEPS_OF_LOSS) as i64).clamp(1, end - at);
            let to = place(at + width);
            let (total, up) = cell(plan, (from.min(to), from.max(to)), at as f64 * step);
            let up = (up / -(-step * width as f64).exp_m1() + SHARE_ERROR * total).clamp(0.0, total);
            atoms.push((at, (stays + total - up) * (1.0 + MASS_ERROR)));
            // What lies below the bounds moves up to the second point.
            stays = up + if atoms.len() == 1 { plan.tail_below } else { 0.0 };
            (at, from) = (at + width, to);
        }
        atoms.push((at, stays * (1.0 + MASS_ERROR)));
        Single { atoms }
    }

    /// The same for Laplace noise, whose losses are bounded.
    pub fn laplace(release: &Laplace, direction: Direction, window: &Window) -> Self {
        let (step, (least, most)) = (window.step, release.losses(direction));
        let mut at = (least / step).floor() as i64;
        let end = ((most / step).ceil() as i64).max(at + 1);
        let (mut atoms, mut stays) = (Vec::new(), 0.0);
        while at < end {
            let width = ((at.abs() as f64 / STEPS_OF_LOSS) as i64).clamp(1, end - at);
            let (floor, ceiling) = (at as f64 * step, (at + width) as f64 * step);
            // The ends hold all the probability that is there.
            let low = if atoms.is_empty() { f64::NEG_INFINITY } else { floor };
            let high = if at + width == end { f64::INFINITY } else { ceiling };
            let (total, other) = release.of_losses(direction, low, high);
            let range = -(floor - ceiling).exp_m1();
            let rounding = SHARE_ERROR + 8.0 * f64::EPSILON / range;
            let up = ((total - floor.exp() * other) / range + rounding * total).clamp(0.0, total);
            atoms.push((at, (stays + total - up) * (1.0 + MASS_ERROR)));
            stays = up;
            at += width;
        }
        atoms.push((at, stays * (1.0 + MASS_ERROR)));
        Single { atoms }
    }

    /// `log sum mass e^{theta loss}`.
    fn log_moment(&self, window: &Window, theta: f64) -> f64 {
        let exponent = |index: i64| theta * index as f64 * window.step;
        let largest = exponent(self.largest());
        largest + self.atoms.iter().map(|(k, mass)| mass * (exponent(*k) - largest).exp()).sum::<f64>().ln()
    }

    fn largest(&self) -> i64 {
        self.atoms.last().expect("two atoms at least").0
    }

    /// Chernoff's bound on the probability of a sum above the window.
    fn above(&self, window: &Window) -> f64 {
        if window.high >= window.rounds * self.largest() as f64 * window.step {
            return 0.0;
        }
        let bound = |theta: f64| (window.rounds * self.log_moment(window, theta) - theta * window.high).exp();
        [0.6, 0.8, 1.0].map(|share| bound(share * window.theta_high)).into_iter().fold(1.0, f64::min)
    }

    /// The sum of the losses of all rounds.
    pub fn compose(&self, window: &Window) -> Sum {
        let (n, rounds) = (window.length, window.rounds);
        let log_moment = self.log_moment(window, window.theta);
        let tilt = |(index, mass): &(i64, f64)| mass * (window.theta * *index as f64 * window.step - log_moment).exp();
        let mean: f64 = self.atoms.iter().map(|atom| atom.0 as f64 * tilt(atom)).sum();
        // Centred, so that the angles of large coefficients are small.
        let centre = mean.round() as i64;
        let mut x = vec![0.0; n];
        for atom in &self.atoms {
            x[(atom.0 - centre).rem_euclid(n as i64) as usize] += tilt(atom);
        }
        let norm = x.iter().map(|p| p * p).sum::<f64>().sqrt();
        let (relative, root) = (fft::relative_error(n), (n as f64).sqrt());
        let mut x = fft::pack(&x);
        fft::of_real(&mut x);
        let (errors, squares) = raise(&mut x, rounds, relative * root * norm);
        fft::to_real(&mut x);
        let error = (errors + relative * root * squares.sqrt()) / n as f64;
        let beyond = rounds * window.tail_above + self.above(window);
        Sum { x, error, offset: centre as f64 * rounds, log_scale: rounds * log_moment, beyond }
    }
}

/// Probability of the losses of a cell of `z` whose smallest is `floor`, and `E[1 - e^{floor - loss}]` over it.
fn cell(plan: &Plan, z: (f64, f64), floor: f64) -> (f64, f64) {
    let width = (z.1 - z.0) * (z.0.abs().max(z.1.abs()) + 1.0 + 1.0 / plan.release.sigma);
    if width <= 0.0 {
        return (0.0, 0.0);
    }
    if width <= NARROW {
        return panel(plan, z, floor, &*THREE);
    }
    let panels = (width / PANEL).ceil();
    let length = (z.1 - z.0) / panels;
    let part = |k: usize| panel(plan, (z.0 + length * k as f64, z.0 + length * (k + 1) as f64), floor, &*FIVE);
    (0..panels as usize).map(part).fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
}

fn panel(plan: &Plan, z: (f64, f64), floor: f64, rule: &[(f64, f64)]) -> (f64, f64) {
    let (middle, half, sign) = (0.5 * (z.0 + z.1), 0.5 * (z.1 - z.0), plan.sign());
    let (mut total, mut up) = (0.0, 0.0);
    for (x, weight) in rule {
        let z = middle + half * x;
        let ratio = plan.release.log_ratio(z);
        // With the row, the density is that of the noise times e^L.
        let p = weight * (log_density(z) + if sign > 0.0 { ratio } else { 0.0 }).exp();
        total += p;
        up += p * -(floor - sign * ratio).exp_m1();
    }
    (half * total, half * up)
}

/// Raises the first half of the coefficients of a real sequence to a power. Returns a bound on the sum of the errors of all of them, if the errors before had a
/// norm of at most `error`, and the sum of their squares.
///
/// A coefficient of size `s` that is off by `e` is off by at most `power (s + error)^(power - 1) e` afterwards; the sum of these is at most the norm of
/// the factors times that of the errors (Cauchy and Schwarz).
fn raise(x: &mut [Complex], power: f64, error: f64) -> (f64, f64) {
    let least = (-NEGLIGIBLE / power).exp();
    let (mut slopes, mut rounding, mut squares) = (0.0, 0.0, 0.0);
    for coefficient in x {
        let r = coefficient.norm_squared().sqrt() + error;
        let mut raised = Complex::default();
        if r < least {
            rounding += 2.0 * (-NEGLIGIBLE).exp();
        } else {
            raised = coefficient.power(power);
            let most = (power * r.ln()).exp();
            slopes += 2.0 * (power * most / r).powi(2);
            rounding += 2.0 * most * power * 8.0 * f64::EPSILON;
        }
        squares += 2.0 * raised.norm_squared();
        *coefficient = raised;
    }
    (error * slopes.sqrt() + rounding, squares)
}
