//! Scales of nodes, between their own and the common one.

use super::quantile;

/// Rows that the common scale counts for; the last one stands for "all nodes are alike".
const PRIOR_ROWS: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, f64::INFINITY];

/// The scale of every node.
pub(super) struct Scales {
    /// With all rows of the node.
    pub of_node: Vec<f64>,
    /// With all but the row itself.
    without_row: Vec<Vec<f64>>,
}

impl Scales {
    /// The scales whose thresholds have the smallest pinball loss; of equals those that trust nodes least.
    pub fn choose(values: &[Vec<f64>], level: f64) -> Scales {
        let mut best: Option<(f64, Scales)> = None;
        for prior_rows in PRIOR_ROWS.into_iter().rev() {
            let scales = Scales::new(values, prior_rows);
            let q = scales.quantile(values, level, |_| true);
            let loss = scales.pinball(values, level, q);
            if best.as_ref().is_none_or(|(least, _)| loss < *least) {
                best = Some((loss, scales));
            }
        }
        best.expect("there are numbers to choose from").1
    }

    fn new(values: &[Vec<f64>], prior_rows: f64) -> Scales {
        let squares: Vec<f64> = values.iter().map(|of| of.iter().map(|s| s * s).sum()).collect();
        let (total, rows) = (squares.iter().sum::<f64>(), values.iter().map(Vec::len).sum::<usize>() as f64);
        let scale = |total: f64, rows: f64, own: f64, own_rows: f64| {
            let common = total / rows;
            let square = match prior_rows.is_finite() {
                true => (prior_rows * common + own) / (prior_rows + own_rows),
                false => 1.0,
            };
            // Without rows or errors there is nothing to divide by.
            if square > 0.0 { square.sqrt() } else { 1.0 }
        };
        let node = |i: usize| scale(total, rows, squares[i], values[i].len() as f64);
        let row = |i: usize, s: &f64| {
            let own = (squares[i] - s * s).max(0.0);
            scale((total - s * s).max(0.0), rows - 1.0, own, values[i].len() as f64 - 1.0)
        };
        Scales {
            of_node: (0..values.len()).map(node).collect(),
            without_row: (0..values.len()).map(|i| values[i].iter().map(|s| row(i, s)).collect()).collect(),
        }
    }

    /// The quantile of scaled scores over some nodes.
    pub fn quantile(&self, values: &[Vec<f64>], level: f64, of: impl Fn(usize) -> bool) -> f64 {
        let pairs = (0..values.len()).filter(|i| of(*i)).flat_map(|i| values[i].iter().zip(&self.without_row[i]));
        let mut scaled: Vec<f64> = pairs.map(|(value, scale)| value / scale).collect();
        scaled.sort_by(f64::total_cmp);
        quantile(&scaled, level)
    }

    /// The mean pinball loss of the thresholds `q` times the scale.
    fn pinball(&self, values: &[Vec<f64>], level: f64, q: f64) -> f64 {
        let pairs = values.iter().zip(&self.without_row).flat_map(|(values, scales)| values.iter().zip(scales));
        let loss = |(value, scale): (&f64, &f64)| {
            let over = value - q * scale;
            if over > 0.0 { level * over } else { (level - 1.0) * over }
        };
        let (sum, count) = pairs.map(loss).fold((0.0, 0.0), |(sum, count), loss| (sum + loss, count + 1.0));
        sum / f64::max(count, 1.0)
    }
}
