//! `c'x + x'Hx / 2 + sum_j l_j |x_j|` with a positive definite `H`, exactly: the signs of `x` are searched for (Lee, Battle, Raina and
//! Ng, "Efficient sparse coding algorithms"). For given signs the rest is one linear system; every step lowers the value.

use crate::linalg::cholesky::{self, packed_len, row};

/// Scratch space for so many parameters.
pub fn work_len(d: usize) -> usize {
    3 * d + packed_len(d)
}

/// A slope this little outside its bound, relative to what it is made of, is inside.
const ROUNDING: f64 = 1e-14;

/// Improves `x` to the minimiser; `h` holds the lower triangle of `H` row after row.
pub fn minimise(h: &[f64], c: &[f64], l: &[f64], x: &mut [f64], work: &mut [f64]) {
    let d = x.len();
    let (sign, work) = work.split_at_mut(d);
    let (y, work) = work.split_at_mut(d);
    let (slope, matrix) = work.split_at_mut(d);
    sign.iter_mut().zip(x.iter()).for_each(|(s, x)| *s = if *x == 0.0 { 0.0 } else { x.signum() });
    let mut entered = None;
    for _ in 0..20 + 10 * d {
        let length = towards_the_minimum(h, c, l, sign, x, y, matrix);
        if length < 1.0 {
            // A parameter that wants to leave as it enters was let in by rounding.
            if length == 0.0 && entered.is_some_and(|j: usize| sign[j] == 0.0) {
                return;
            }
            continue;
        }
        cholesky::symmetric_product(h, x, slope);
        let excess = |j: usize| {
            let size = c[j].abs() + slope[j].abs() + l[j];
            (c[j] + slope[j]).abs() - l[j] - ROUNDING * size
        };
        let idle = (0..d).filter(|&j| l[j] > 0.0 && sign[j] == 0.0);
        let Some(worst) = idle.max_by(|&a, &b| excess(a).total_cmp(&excess(b))).filter(|&j| excess(j) > 0.0) else {
            return;
        };
        sign[worst] = -(c[worst] + slope[worst]).signum();
        entered = Some(worst);
    }
}

/// Moves towards the minimum for these signs, until a parameter is zero: that one is left there. Returns the share of the way.
fn towards_the_minimum(
    h: &[f64],
    c: &[f64],
    l: &[f64],
    sign: &mut [f64],
    x: &mut [f64],
    y: &mut [f64],
    matrix: &mut [f64],
) -> f64 {
    let d = x.len();
    let mut k = 0;
    for i in (0..d).filter(|&i| l[i] == 0.0 || sign[i] != 0.0) {
        let (from, to) = (row(h, i), &mut matrix[packed_len(k)..packed_len(k + 1)]);
        let active = (0..=i).filter(|&j| l[j] == 0.0 || sign[j] != 0.0);
        to.iter_mut().zip(active).for_each(|(to, j)| *to = from[j]);
        y[k] = -c[i] - l[i] * sign[i];
        k += 1;
    }
    cholesky::factor(&mut matrix[..packed_len(k)], k);
    cholesky::solve(matrix, &mut y[..k]);
    let crosses = |i: usize, y: f64| l[i] > 0.0 && sign[i] * y <= 0.0;
    let share = |i: usize, y: f64| if crosses(i, y) && x[i] != y { x[i] / (x[i] - y) } else { 1.0 };
    let active = || (0..d).filter(|&i| l[i] == 0.0 || sign[i] != 0.0);
    let length = active().zip(y.iter()).map(|(i, y)| share(i, *y)).fold(1.0, f64::min);
    let mut wanted = y.iter();
    for i in 0..d {
        if l[i] > 0.0 && sign[i] == 0.0 {
            continue;
        }
        let to = *wanted.next().expect("a place for every active parameter");
        let leaves = l[i] > 0.0 && sign[i] * to <= 0.0 && (x[i] == to || x[i] / (x[i] - to) <= length);
        if leaves {
            (x[i], sign[i]) = (0.0, 0.0);
        } else if length == 1.0 {
            x[i] = to;
        } else {
            x[i] += length * (to - x[i]);
        }
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::Draw;
    use crate::matrix::dot;

    /// The conditions of optimality hold, from any start.
    #[test]
    fn finds_the_minimum() {
        for seed in 0..2000 {
            let mut draw = Draw::new(seed);
            let (d, rows) = (1 + draw.below(9), 1 + draw.below(12));
            let a = draw.normal(rows * d, 1.0);
            let column = |j: usize| -> Vec<f64> { (0..rows).map(|r| a[r * d + j]).collect() };
            let entry = |i: usize, j: usize| dot(&column(i), &column(j)) + if i == j { 1e-3 } else { 0.0 };
            let h: Vec<f64> = (0..d).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|(i, j)| entry(i, j)).collect();
            let c = draw.normal(d, 2.0);
            let l: Vec<f64> = (0..d).map(|_| [0.0, 0.3, 1.0, 3.0][draw.below(4)]).collect();
            let mut x = if seed % 2 == 0 { vec![0.0; d] } else { draw.normal(d, 1.0) };
            minimise(&h, &c, &l, &mut x, &mut vec![0.0; work_len(d)]);
            let mut slope = vec![0.0; d];
            cholesky::symmetric_product(&h, &x, &mut slope);
            for j in 0..d {
                let g = c[j] + slope[j];
                let off = if x[j] == 0.0 { g.abs() - l[j] } else { (g + l[j] * x[j].signum()).abs() };
                assert!(off <= 1e-9 * (1.0 + slope[j].abs()), "seed {seed}: {off} at {j}");
            }
        }
    }
}
