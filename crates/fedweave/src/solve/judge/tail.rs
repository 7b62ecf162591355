//! How many iterations are missing, guessed from how fast the gap shrinks.

/// Looks from which the rate is taken.
const LOOKS: usize = 3;

/// The gaps seen so far, in units of what is allowed.
#[derive(Default)]
pub struct Tail {
    seen: Vec<(usize, f64)>,
}

impl Tail {
    pub fn see(&mut self, iteration: usize, gap: f64) {
        self.seen.push((iteration, gap));
    }

    /// Iterations until the gap is as small as allowed; infinite without progress, `None` where too little was seen.
    pub fn length(&self) -> Option<f64> {
        let (&(now, gap), &(before, larger)) = (self.seen.last()?, self.seen.iter().nth_back(LOOKS - 1)?);
        let rate = (larger / gap).ln() / (now - before) as f64;
        Some(if rate > 0.0 { gap.ln().max(0.0) / rate } else { f64::INFINITY })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_geometric_tail_is_known_exactly() {
        let mut tail = Tail::default();
        assert_eq!(tail.length(), None);
        for k in 0..5 {
            tail.see(10 * k, 1e6 * 0.1f64.powi(k as i32));
        }
        // 100 times too large at iteration 40, and ten times less every ten iterations.
        assert!((tail.length().unwrap() - 20.0).abs() < 1e-9);
        (5..9).for_each(|k| tail.see(10 * k, 100.0));
        assert_eq!(tail.length(), Some(f64::INFINITY));
    }
}
