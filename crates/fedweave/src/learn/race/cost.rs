//! What a prediction costs, on the scale of the target: the number that candidates are judged by.

use crate::dataset::Dataset;
use crate::loss::{Family, Link};
use crate::tune::Errors;

/// Probabilities and rates are kept this far from where their cost is infinite.
const LEAST: f64 = 1e-9;

/// The cost of predicting `p` where the label is `y`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cost {
    /// `(y - p)^2`.
    Squared,
    /// `|y - p|`.
    Absolute,
    /// Huber's loss of `y - p`.
    Huber(f64),
    /// The pinball loss of `y - p`.
    Pinball(f64),
    /// Minus the logarithm of the probability that was given to the class.
    LogLoss,
    /// The deviance `2 (y log(y / p) - y + p)` of a count.
    Deviance,
}

impl Cost {
    /// The cost that belongs to a loss; `None` for losses that predict no number.
    pub fn of(family: Family) -> Option<Cost> {
        match family {
            Family::Squared => Some(Cost::Squared),
            Family::Absolute => Some(Cost::Absolute),
            Family::Huber { delta } => Some(Cost::Huber(delta)),
            Family::Quantile { q } => Some(Cost::Pinball(q)),
            Family::Logistic => Some(Cost::LogLoss),
            Family::Poisson => Some(Cost::Deviance),
            Family::Multinomial { .. } | Family::SquaredHinge | Family::Point => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Cost::Squared => "mean squared error",
            Cost::Absolute => "mean absolute error",
            Cost::Huber(_) => "mean Huber loss",
            Cost::Pinball(_) => "mean pinball loss",
            Cost::LogLoss => "mean log-loss",
            Cost::Deviance => "mean Poisson deviance",
        }
    }

    /// From a score to what is predicted.
    pub fn respond(self, score: f64) -> f64 {
        let mut response = [score];
        self.link().respond(&mut response);
        response[0]
    }

    fn link(self) -> Link {
        match self {
            Cost::Squared | Cost::Absolute | Cost::Huber(_) | Cost::Pinball(_) => Link::Identity,
            Cost::LogLoss => Link::Logit,
            Cost::Deviance => Link::Log,
        }
    }

    /// From what is predicted to a score.
    pub fn score(self, p: f64) -> f64 {
        let p = self.inside(p);
        match self.link() {
            Link::Log => p.ln(),
            Link::Logit => (p / (1.0 - p)).ln(),
            Link::Identity | Link::Softmax | Link::Margin => p,
        }
    }

    /// The cost of one row. Classes are labelled 0 or -1, and 1.
    pub fn value(self, y: f64, p: f64) -> f64 {
        let (r, p) = (y - p, self.inside(p));
        match self {
            Cost::Squared => r * r,
            Cost::Absolute => r.abs(),
            Cost::Huber(delta) if r.abs() <= delta => 0.5 * r * r,
            Cost::Huber(delta) => delta * (r.abs() - 0.5 * delta),
            Cost::Pinball(q) => (q * r).max((q - 1.0) * r),
            Cost::LogLoss => -if y > 0.0 { p } else { 1.0 - p }.ln(),
            Cost::Deviance => 2.0 * (if y > 0.0 { y * (y / p).ln() } else { 0.0 } - y + p),
        }
    }

    /// Its derivative by `p` (one of them, at a kink).
    pub fn slope(self, y: f64, p: f64) -> f64 {
        let (r, p) = (y - p, self.inside(p));
        match self {
            Cost::Squared => -2.0 * r,
            Cost::Absolute => -r.signum(),
            Cost::Huber(delta) => -r.clamp(-delta, delta),
            Cost::Pinball(q) => {
                if r > 0.0 {
                    -q
                } else {
                    1.0 - q
                }
            }
            Cost::LogLoss => {
                if y > 0.0 {
                    -1.0 / p
                } else {
                    1.0 / (1.0 - p)
                }
            }
            Cost::Deviance => 2.0 * (1.0 - y / p),
        }
    }

    /// Its second derivative by `p`; at a kink, that of the parabola that lies above the cost and touches it at `p`.
    fn curvature(self, y: f64, p: f64) -> f64 {
        let (r, p) = ((y - p).abs(), self.inside(p));
        match self {
            Cost::Squared => 2.0,
            Cost::Absolute => 1.0 / r.max(LEAST),
            Cost::Huber(delta) => (delta / r.max(LEAST)).min(1.0),
            Cost::Pinball(_) => 0.5 / r.max(LEAST),
            Cost::LogLoss => {
                let right = if y > 0.0 { p } else { 1.0 - p };
                1.0 / (right * right)
            }
            Cost::Deviance => 2.0 * y / (p * p),
        }
    }

    /// Cost, slope and curvature.
    pub fn curve(self, y: f64, p: f64) -> [f64; 3] {
        [self.value(y, p), self.slope(y, p), self.curvature(y, p)]
    }

    fn inside(self, p: f64) -> f64 {
        match self {
            Cost::LogLoss => p.clamp(LEAST, 1.0 - LEAST),
            Cost::Deviance => p.max(LEAST),
            _ => p,
        }
    }

    /// Mean cost of the predictions of every node; rows without a prediction (NaN) do not count.
    pub fn errors(self, data: &Dataset, predictions: &[f64]) -> Errors {
        let of = |node: usize| {
            let rows = data.rows(node).zip(data.weights(node)).filter(|(r, _)| !predictions[*r].is_nan());
            let costs = rows.map(|(r, weight)| (weight * self.value(data.y()[r], predictions[r]), *weight));
            let (cost, weight) = costs.fold((0.0, 0.0), |(c, w), (cost, weight)| (c + cost, w + weight));
            (weight > 0.0).then(|| cost / weight)
        };
        Errors { by_node: (0..data.nodes()).map(of).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [(Cost, f64, f64); 8] = [
        (Cost::Squared, 1.0, 0.3),
        (Cost::Absolute, 1.0, 0.3),
        (Cost::Huber(0.5), 1.0, 0.7),
        (Cost::Huber(0.5), 1.0, -0.7),
        (Cost::Pinball(0.8), 1.0, 1.4),
        (Cost::LogLoss, -1.0, 0.3),
        (Cost::LogLoss, 1.0, 0.3),
        (Cost::Deviance, 3.0, 1.7),
    ];

    #[test]
    fn slopes_are_finite_differences() {
        for (cost, y, p) in ALL {
            let h = 1e-6;
            let difference = (cost.value(y, p + h) - cost.value(y, p - h)) / (2.0 * h);
            assert!((cost.slope(y, p) - difference).abs() < 1e-6, "{cost:?}");
        }
    }

    /// What is not a kink has the second derivative of the cost; elsewhere the parabola lies above it.
    #[test]
    fn parabolas_lie_above_kinks() {
        for (cost, y, p) in ALL {
            let [value, slope, curvature] = cost.curve(y, p);
            let kinked = matches!(cost, Cost::Absolute | Cost::Huber(_) | Cost::Pinball(_));
            if !kinked {
                let h = 1e-5;
                let difference = (cost.slope(y, p + h) - cost.slope(y, p - h)) / (2.0 * h);
                assert!((curvature - difference).abs() < 1e-4 * curvature.max(1.0), "{cost:?}");
                continue;
            }
            for q in (-300..300).map(|k| 0.01 * f64::from(k)) {
                let parabola = value + slope * (q - p) + 0.5 * curvature * (q - p).powi(2);
                assert!(parabola >= cost.value(y, q) - 1e-12, "{cost:?} {q}");
            }
        }
    }

    #[test]
    fn the_best_prediction_costs_nothing_and_links_are_inverse() {
        for (cost, y, p) in ALL {
            assert!((cost.respond(cost.score(p.abs())) - p.abs()).abs() < 1e-12 || p.abs() > 1.0);
            assert!(cost == Cost::LogLoss || cost.value(y, y).abs() < 1e-12);
            assert!(cost.value(y, p) >= 0.0);
        }
        assert_eq!(Cost::Deviance.value(0.0, 2.0), 4.0);
        assert!(Cost::LogLoss.value(1.0, 0.0).is_finite() && Cost::Deviance.value(5.0, 0.0).is_finite());
    }
}
