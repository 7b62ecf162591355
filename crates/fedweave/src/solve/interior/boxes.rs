//! Multipliers in boxes: `low < g < high`, with `p` and `q` the multipliers of the two sides. Of what they multiply, `r`, they
//! want `q - p = r`, and of each other `p (g - low) = q (high - g) = mu`.

/// All boxes of a problem, and the direction in which they move.
pub struct Boxes {
    low: Vec<f64>,
    high: Vec<f64>,
    pub g: Vec<f64>,
    p: Vec<f64>,
    q: Vec<f64>,
    /// `dg = c (pull + dr)`.
    pub c: Vec<f64>,
    pub pull: Vec<f64>,
    /// What the products of the two sides are to be.
    target: Vec<(f64, f64)>,
    pub dg: Vec<f64>,
    dp: Vec<f64>,
    dq: Vec<f64>,
}

impl Boxes {
    /// In the middle of the boxes `(low, high)`, with multipliers that fit `r`, and complementarity of at least `mu`.
    pub fn new(bounds: impl Iterator<Item = (f64, f64)>, r: &[f64], mu: f64) -> Self {
        let (low, high): (Vec<f64>, Vec<f64>) = bounds.unzip();
        let g = low.iter().zip(&high).map(|(l, h)| 0.5 * (l + h)).collect();
        let size = |k: usize| 2.0 * mu / (high[k] - low[k]);
        let p = r.iter().enumerate().map(|(k, r)| (-r).max(0.0) + size(k)).collect();
        let q = r.iter().enumerate().map(|(k, r)| r.max(0.0) + size(k)).collect();
        let zero = || vec![0.0; r.len()];
        Boxes {
            low,
            high,
            g,
            p,
            q,
            c: zero(),
            pull: zero(),
            target: vec![(0.0, 0.0); r.len()],
            dg: zero(),
            dp: zero(),
            dq: zero(),
        }
    }

    /// Number of boxes.
    pub fn len(&self) -> usize {
        self.g.len()
    }

    /// `sum p (g - low) + q (high - g)` after a step of this length.
    pub fn complementarity(&self, length: f64) -> f64 {
        let at = |k: usize| {
            let g = self.g[k] + length * self.dg[k];
            (self.p[k] + length * self.dp[k]) * (g - self.low[k])
                + (self.q[k] + length * self.dq[k]) * (self.high[k] - g)
        };
        (0..self.len()).map(at).sum()
    }

    /// Aims at complementarity `mu` for `r`; after a first direction, with its second order corrected for.
    pub fn aim(&mut self, mu: f64, corrected: bool, r: impl Fn(usize) -> f64) {
        for k in 0..self.len() {
            let (below, above) = (self.g[k] - self.low[k], self.high[k] - self.g[k]);
            let (low, high) = match corrected {
                true => (mu - self.dp[k] * self.dg[k], mu + self.dq[k] * self.dg[k]),
                false => (mu, mu),
            };
            self.target[k] = (low, high);
            self.c[k] = 1.0 / (self.p[k] / below + self.q[k] / above);
            self.pull[k] = r(k) + low / below - high / above;
        }
    }

    /// The direction, for the change `dr`.
    pub fn direct(&mut self, dr: impl Fn(usize) -> f64) {
        for k in 0..self.len() {
            let (below, above) = (self.g[k] - self.low[k], self.high[k] - self.g[k]);
            let (low, high) = self.target[k];
            let dg = self.c[k] * (self.pull[k] + dr(k));
            self.dp[k] = (low - self.p[k] * dg) / below - self.p[k];
            self.dq[k] = (high + self.q[k] * dg) / above - self.q[k];
            self.dg[k] = dg;
        }
    }

    /// The longest step that keeps everything positive.
    pub fn longest(&self) -> f64 {
        let mut longest = f64::INFINITY;
        for k in 0..self.len() {
            let (dg, below, above) = (self.dg[k], self.g[k] - self.low[k], self.high[k] - self.g[k]);
            for (value, change) in [(below, dg), (above, -dg), (self.p[k], self.dp[k]), (self.q[k], self.dq[k])] {
                if change < 0.0 {
                    longest = longest.min(-value / change);
                }
            }
        }
        longest
    }

    /// A step; rounding does not put anything on the boundary.
    pub fn step(&mut self, length: f64) {
        for k in 0..self.len() {
            let margin = 1e-15 * (self.high[k] - self.low[k]);
            self.g[k] = (self.g[k] + length * self.dg[k]).clamp(self.low[k] + margin, self.high[k] - margin);
            self.p[k] = (self.p[k] + length * self.dp[k]).max(1e-300);
            self.q[k] = (self.q[k] + length * self.dq[k]).max(1e-300);
        }
    }
}
