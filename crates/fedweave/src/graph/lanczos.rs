//! Lanczos iteration for one end of the spectrum of a symmetric operator, on the complement of the constant vector
//! (every eigenvector of a Laplacian but the known one lives there).
//!
//! The basis is not kept and not reorthogonalised: loss of orthogonality only repeats Ritz values that have already
//! converged, which does no harm at an end of the spectrum (Paige). The Ritz vector is summed in a second pass that
//! repeats the same arithmetic, so memory is three vectors whatever the number of steps.

use crate::matrix::{axpy, dot, norm2};

/// Ritz values are looked at once in so many steps; a look is cheap but not free.
const LOOK_EVERY: usize = 8;

/// Which end of the spectrum.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Side {
    Smallest,
    Largest,
}

/// When to stop: at `residual <= tolerance * |value|`, at the latest after `steps`.
#[derive(Clone, Copy)]
pub(super) struct LanczosEffort {
    pub tolerance: f64,
    pub steps: usize,
}

/// The approximation of an extreme eigenvalue from a Krylov space.
pub(super) struct Ritz {
    pub value: f64,
    /// Norm of `A v - value v` for the Ritz vector `v`, as the recurrence predicts it.
    pub residual: f64,
    pub converged: bool,
    /// The Ritz vector in the Lanczos basis.
    coefficients: Vec<f64>,
}

/// Approximates the extreme eigenvalue of `operator` on one side, from the Krylov space of `start`.
pub(super) fn extreme_ritz<A: Fn(&[f64], &mut [f64])>(
    operator: A,
    start: &[f64],
    side: Side,
    effort: LanczosEffort,
) -> Ritz {
    let mut process = Process::new(operator, start);
    let (mut alpha, mut beta, mut scale) = (Vec::new(), Vec::new(), 0.0_f64);
    loop {
        let (a, b) = process.step();
        alpha.push(a);
        beta.push(b);
        scale = scale.max(a.abs()).max(b);
        let exhausted = b <= f64::EPSILON * scale || alpha.len() == effort.steps;
        if exhausted || alpha.len().is_multiple_of(LOOK_EVERY) {
            let ritz = look(&alpha, &beta, side, effort.tolerance);
            if exhausted || ritz.converged {
                return ritz;
            }
        }
    }
}

/// The Ritz vector of unit length; `operator` and `start` must be those that gave `ritz`.
pub(super) fn ritz_vector<A: Fn(&[f64], &mut [f64])>(operator: A, start: &[f64], ritz: &Ritz) -> Vec<f64> {
    let mut process = Process::new(operator, start);
    let mut vector = vec![0.0; start.len()];
    for (j, &coefficient) in ritz.coefficients.iter().enumerate() {
        axpy(coefficient, &process.current, &mut vector);
        if j + 1 < ritz.coefficients.len() {
            process.step();
        }
    }
    normalize(&mut vector);
    vector
}

/// Removes the component along the constant vector and scales to unit length; returns the length there was.
pub(super) fn center_and_normalize(v: &mut [f64]) -> f64 {
    let mean = v.iter().sum::<f64>() / v.len() as f64;
    v.iter_mut().for_each(|x| *x -= mean);
    normalize(v)
}

fn normalize(v: &mut [f64]) -> f64 {
    let length = norm2(v);
    if length > 0.0 {
        v.iter_mut().for_each(|x| *x /= length);
    }
    length
}

/// The three-term recurrence `A q_j = beta_{j-1} q_{j-1} + alpha_j q_j + beta_j q_{j+1}`.
struct Process<A> {
    operator: A,
    previous: Vec<f64>,
    current: Vec<f64>,
    next: Vec<f64>,
    beta: f64,
}

impl<A: Fn(&[f64], &mut [f64])> Process<A> {
    fn new(operator: A, start: &[f64]) -> Self {
        let mut current = start.to_vec();
        center_and_normalize(&mut current);
        let zero = vec![0.0; start.len()];
        Process { operator, previous: zero.clone(), current, next: zero, beta: 0.0 }
    }

    /// Advances by one basis vector; returns `(alpha_j, beta_j)`.
    fn step(&mut self) -> (f64, f64) {
        (self.operator)(&self.current, &mut self.next);
        let alpha = dot(&self.current, &self.next);
        axpy(-alpha, &self.current, &mut self.next);
        axpy(-self.beta, &self.previous, &mut self.next);
        // Centring here, not in the operator: rounding errors along the constant vector would grow like Chebyshev
        // polynomials, because its eigenvalue 0 lies outside the rest of the spectrum.
        self.beta = center_and_normalize(&mut self.next);
        std::mem::swap(&mut self.previous, &mut self.current);
        std::mem::swap(&mut self.current, &mut self.next);
        (alpha, self.beta)
    }
}

fn look(alpha: &[f64], beta: &[f64], side: Side, tolerance: f64) -> Ritz {
    let (inner, last) = (&beta[..beta.len() - 1], beta[beta.len() - 1]);
    let flip = if side == Side::Largest { -1.0 } else { 1.0 };
    let diagonal: Vec<f64> = alpha.iter().map(|a| flip * a).collect();
    let (value, mut coefficients) = smallest_of_jacobi(&diagonal, inner);
    let residual = last * coefficients.last().copied().unwrap_or(0.0);
    if side == Side::Smallest {
        // Back from off-diagonals -beta to beta: every second entry changes sign.
        coefficients.iter_mut().skip(1).step_by(2).for_each(|c| *c = -*c);
    }
    let value = flip * value;
    Ritz { value, residual, converged: residual <= tolerance * value.abs(), coefficients }
}

/// Smallest eigenvalue and unit eigenvector of the symmetric tridiagonal matrix with off-diagonals `-beta <= 0`. Its
/// eigenvector is positive and the shifted inverse has no negative entry, so nothing cancels and even the tiny last
/// entry, which is the residual, is accurate.
fn smallest_of_jacobi(diagonal: &[f64], beta: &[f64]) -> (f64, Vec<f64>) {
    let k = diagonal.len();
    let off = |i: usize| beta.get(i).copied().unwrap_or(0.0);
    let radius = |i: usize| off(i) + if i > 0 { off(i - 1) } else { 0.0 };
    let gershgorin = (0..k).map(|i| diagonal[i] - radius(i)).fold(f64::INFINITY, f64::min);
    let mut high = diagonal.iter().copied().fold(f64::INFINITY, f64::min);
    // Large enough that a rounding unit of it is a normal number.
    let unit = f64::EPSILON * gershgorin.abs().max(high.abs()).max(f64::MIN_POSITIVE / f64::EPSILON);
    let mut low = gershgorin - unit;

    let mut pivots = vec![0.0; k];
    while high - low > 2.0 * unit {
        let middle = low + (high - low) / 2.0;
        match eliminate(diagonal, beta, middle, &mut pivots) {
            true => low = middle,
            false => high = middle,
        }
    }
    // Elimination just below the eigenvalue succeeds and makes inverse iteration converge at once.
    let mut margin = 0.0;
    while !eliminate(diagonal, beta, low - margin, &mut pivots) {
        margin = 2.0 * margin + unit;
    }
    let mut vector = vec![1.0; k];
    for _ in 0..3 {
        solve(&pivots, beta, &mut vector);
        normalize(&mut vector);
    }
    (low, vector)
}

/// Pivots of `T - shift I` without row exchanges; true if all are positive, that is if `shift` is below the spectrum.
fn eliminate(diagonal: &[f64], beta: &[f64], shift: f64, pivots: &mut [f64]) -> bool {
    for i in 0..diagonal.len() {
        let coupling = if i > 0 { beta[i - 1] * beta[i - 1] / pivots[i - 1] } else { 0.0 };
        pivots[i] = diagonal[i] - shift - coupling;
        if pivots[i] <= 0.0 {
            return false;
        }
    }
    true
}

fn solve(pivots: &[f64], beta: &[f64], v: &mut [f64]) {
    for i in 1..v.len() {
        v[i] += beta[i - 1] / pivots[i - 1] * v[i - 1];
    }
    for i in (0..v.len()).rev() {
        let coupling = if i + 1 < v.len() { beta[i] * v[i + 1] } else { 0.0 };
        v[i] = (v[i] + coupling) / pivots[i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tridiagonal matrices with a closed form: diagonal 2, off-diagonals -1, eigenvalues 2 - 2 cos(pi j / (k + 1)).
    #[test]
    fn smallest_of_jacobi_matches_the_closed_form() {
        for k in [1, 2, 3, 10, 500] {
            let (value, vector) = smallest_of_jacobi(&vec![2.0; k], &vec![1.0; k - 1]);
            let angle = std::f64::consts::PI / (k + 1) as f64;
            assert!((value - (2.0 - 2.0 * angle.cos())).abs() < 1e-14, "k = {k}");
            let sines: Vec<f64> = (1..=k).map(|j| (j as f64 * angle).sin()).collect();
            let scale = norm2(&sines);
            assert!(vector.iter().zip(&sines).all(|(v, s)| (v - s / scale).abs() < 1e-9), "k = {k}");
        }
    }

    #[test]
    fn both_ends_of_a_diagonal_operator_are_found_with_their_vectors() {
        let n = 400;
        let entry = |i: usize| 1.0 + i as f64 / n as f64 + if i == n - 1 { 1.0 } else { 0.0 };
        // Centred on both sides, so that it maps the complement of the constants to itself.
        let operator = |v: &[f64], out: &mut [f64]| {
            for i in 0..n {
                out[i] = entry(i) * v[i];
            }
            let mean = out.iter().sum::<f64>() / n as f64;
            out.iter_mut().for_each(|x| *x -= mean);
        };
        let start: Vec<f64> = (0..n).map(|i| ((i * 37) % 101) as f64).collect();
        let effort = LanczosEffort { tolerance: 1e-10, steps: 2_000 };
        for side in [Side::Smallest, Side::Largest] {
            let ritz = extreme_ritz(operator, &start, side, effort);
            let v = ritz_vector(operator, &start, &ritz);
            let mut residual = vec![0.0; n];
            operator(&v, &mut residual);
            axpy(-ritz.value, &v, &mut residual);
            assert!(ritz.converged && norm2(&residual) < 1e-9);
            // Interlacing: compression to a hyperplane keeps each eigenvalue between two neighbouring entries.
            match side {
                Side::Smallest => assert!((entry(0)..=entry(1)).contains(&ritz.value)),
                Side::Largest => assert!((entry(n - 2)..=entry(n - 1)).contains(&ritz.value)),
            }
        }
    }
}
