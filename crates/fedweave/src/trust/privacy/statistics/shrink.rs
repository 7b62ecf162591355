//! Nodes lend each other strength: every noisy moment is drawn to the mean of all nodes, as far as the noise, which is known, and
//! the spread between nodes, which is estimated, say (empirical Bayes; DerSimonian and Laird 1986). It uses noisy numbers alone.

use super::NoisyMoments;

/// Draws the moments of all nodes towards their common mean.
pub fn shrink(moments: &mut [Option<NoisyMoments>]) {
    let Some(entries) = moments.iter().flatten().map(|m| m.matrix.len()).next() else { return };
    let n = entries.isqrt();
    for k in 0..entries {
        let share = if k / n == k % n { 1.0 } else { 0.5 };
        let known: Vec<(f64, f64)> =
            moments.iter().flatten().map(|m| (m.matrix[k], share * m.deviation * m.deviation)).collect();
        let spread = between(&known);
        let mean = weighted_mean(&known, spread);
        for m in moments.iter_mut().flatten() {
            let noise = share * m.deviation * m.deviation;
            m.matrix[k] = mean + spread / (spread + noise) * (m.matrix[k] - mean);
        }
    }
}

/// The mean of values with these variances and a common spread.
fn weighted_mean(known: &[(f64, f64)], spread: f64) -> f64 {
    let weight = |noise: f64| 1.0 / (noise + spread);
    let total: f64 = known.iter().map(|(_, noise)| weight(*noise)).sum();
    known.iter().map(|(value, noise)| weight(*noise) * value).sum::<f64>() / total
}

/// Variance between nodes, beyond the noise; not below zero.
fn between(known: &[(f64, f64)]) -> f64 {
    let mean = weighted_mean(known, 0.0);
    let (mut first, mut second, mut misfit) = (0.0, 0.0, 0.0);
    for (value, noise) in known {
        let weight = 1.0 / noise;
        first += weight;
        second += weight * weight;
        misfit += weight * (value - mean) * (value - mean);
    }
    let freedom = known.len() as f64 - 1.0;
    let scale = first - second / first;
    if scale > 0.0 { ((misfit - freedom) / scale).max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(value: f64, deviation: f64) -> Option<NoisyMoments> {
        Some(NoisyMoments { matrix: vec![value], deviation, rows: 1 })
    }

    #[test]
    fn loud_nodes_move_to_the_mean_and_quiet_ones_stay() {
        let mut loud = vec![node(-3.0, 10.0), node(4.0, 10.0), node(2.0, 10.0)];
        shrink(&mut loud);
        assert!(loud.iter().flatten().all(|m| (m.matrix[0] - 1.0).abs() < 1e-12));
        let mut quiet = vec![node(-3.0, 1e-3), None, node(4.0, 1e-3)];
        shrink(&mut quiet);
        assert!((quiet[0].as_ref().unwrap().matrix[0] + 3.0).abs() < 1e-6);
    }
}
