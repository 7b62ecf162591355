//! The best place to cut the sorted rows of a node.
//!
//! With `W` the weight of the node and `S` its weighted sum of targets, and `W_l`, `S_l` those of the first part, a cut
//! reduces `sum_r c_r |y_r - mean|^2` by `|W S_l - W_l S|^2 / (W W_l (W - W_l))`. Candidates are compared by cross
//! multiplication: no division per row.

use crate::unroll::known;

/// What a cut must leave on both sides.
#[derive(Debug, Clone, Copy)]
pub struct Sides {
    /// Rows.
    pub rows: usize,
    /// Weight.
    pub weight: f64,
}

/// A cut: the gain is `over / under`.
#[derive(Debug, Clone, Copy)]
pub struct SplitCut {
    /// The column.
    pub feature: usize,
    /// Rows of the first part.
    pub len: usize,
    over: f64,
    under: f64,
}

/// Candidates that are better by less than this share are equally good: the first one stays, whatever rounding says.
const TIE: f64 = 1.0 + 1e-10;

/// Gains below this share of the square of the node's weight are zero, up to rounding; targets are of size one.
const NOISE: f64 = 1e-26;

impl SplitCut {
    /// Worse than any cut.
    pub const NONE: SplitCut = SplitCut { feature: usize::MAX, len: 0, over: -1.0, under: 1.0 };

    /// Whether any cut was found.
    pub fn found(&self) -> bool {
        self.len > 0
    }

    /// Reduction of the sum of squares, times the node's weight.
    pub fn gain(&self) -> f64 {
        self.over / self.under
    }
}

/// Looks for a better cut than `best` in the rows of a node in the order of a feature. `stats` holds, for every row, its
/// weight and its weight times every target; `total` is their sum over the node. `left` is scratch of the same length.
#[inline(always)]
pub fn scan<const K: usize>(
    entries: &[u64],
    feature: usize,
    stats: &[f64],
    total: &[f64],
    sides: Sides,
    left: &mut [f64],
    best: &mut SplitCut,
) {
    let outputs = known::<K>(total.len() - 1);
    let mut fixed = [0.0; K];
    let sum: &mut [f64] = if K > 0 { &mut fixed } else { &mut left[..outputs] };
    sum.fill(0.0);
    let (mut weight, whole) = (0.0, total[0]);
    let targets = &total[1..=outputs];
    let floor = NOISE * whole * whole;
    let mut cut = *best;
    for i in 0..entries.len() - sides.rows {
        let row = entries[i] as u32 as usize;
        let stat = &stats[row * (outputs + 1)..(row + 1) * (outputs + 1)];
        weight += stat[0];
        for k in 0..outputs {
            sum[k] += stat[1 + k];
        }
        if entries[i] >> 32 == entries[i + 1] >> 32 || i + 1 < sides.rows {
            continue;
        }
        let (rest, mut over) = (whole - weight, 0.0);
        for k in 0..outputs {
            let off = whole * sum[k] - weight * targets[k];
            over += off * off;
        }
        let under = weight * rest;
        let better = over * cut.under > (cut.over * TIE + floor * cut.under) * under;
        if better && under > 0.0 && weight >= sides.weight && rest >= sides.weight {
            cut = SplitCut { feature, len: i + 1, over, under };
        }
    }
    *best = cut;
}
