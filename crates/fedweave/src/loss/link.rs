//! From scores to predictions: every loss of a linear score says here how its scores are meant.
//!
//! A model has one score `x'w` per row, softmax regression one per class. The link turns scores into what the loss estimates:
//! a number, the probabilities of classes, or a class without probabilities.

use super::Family;
use crate::matrix::dot;

/// What the scores of a row mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// The score is the prediction: a mean, a median or a quantile.
    Identity,
    /// The prediction is `exp(s)`: the mean of a count.
    Log,
    /// `1 / (1 + exp(-s))` is the probability of the second of two classes.
    Logit,
    /// `exp(s_k) / sum_l exp(s_l)` is the probability of class `k`.
    Softmax,
    /// The sign of the score tells the class; its size is no probability.
    Margin,
}

/// What a model says about a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Prediction {
    /// A number.
    Number(f64),
    /// The most probable class, the first of equals, and the probabilities of all.
    Class {
        /// Counted from 0.
        class: usize,
        /// One per class.
        probabilities: Vec<f64>,
    },
    /// One of two classes, and how clearly.
    Margin {
        /// 0 or 1.
        class: usize,
        /// Positive for class 1.
        score: f64,
    },
}

impl Link {
    /// True if classes are predicted.
    pub fn is_classifier(self) -> bool {
        match self {
            Link::Identity | Link::Log => false,
            Link::Logit | Link::Softmax | Link::Margin => true,
        }
    }

    /// True if classes are predicted with their probabilities.
    pub fn has_probabilities(self) -> bool {
        match self {
            Link::Identity | Link::Log | Link::Margin => false,
            Link::Logit | Link::Softmax => true,
        }
    }

    /// Scores become responses, in place: the expected number, the probability of class 1 of two, the probabilities of all
    /// classes. Margins stay what they are.
    pub fn respond(self, scores: &mut [f64]) {
        match self {
            Link::Identity | Link::Margin => {}
            Link::Log => scores.iter_mut().for_each(|s| *s = s.exp()),
            Link::Logit => scores.iter_mut().for_each(|s| *s = 1.0 / (1.0 + (-*s).exp())),
            Link::Softmax => {
                let top = largest(scores);
                let total: f64 = scores.iter().map(|s| (s - top).exp()).sum();
                scores.iter_mut().for_each(|s| *s = (*s - top).exp() / total);
            }
        }
    }

    /// The class that the scores of a row stand for, if they stand for one.
    pub fn class(self, scores: &[f64]) -> Option<usize> {
        match self {
            Link::Identity | Link::Log => None,
            Link::Logit | Link::Margin => Some(usize::from(scores[0] > 0.0)),
            Link::Softmax => {
                let top = largest(scores);
                Some(scores.iter().position(|s| *s == top).unwrap_or(0))
            }
        }
    }

    /// The prediction for the scores of a row.
    pub fn predict(self, mut scores: Vec<f64>) -> Prediction {
        let (class, score) = (self.class(&scores).unwrap_or(0), scores[0]);
        self.respond(&mut scores);
        match self {
            Link::Identity | Link::Log => Prediction::Number(scores[0]),
            Link::Logit => Prediction::Class { class, probabilities: vec![1.0 - scores[0], scores[0]] },
            Link::Softmax => Prediction::Class { class, probabilities: scores },
            Link::Margin => Prediction::Margin { class, score },
        }
    }
}

fn largest(scores: &[f64]) -> f64 {
    scores.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

impl Prediction {
    /// The class, where one is predicted.
    pub fn class(&self) -> Option<usize> {
        match self {
            Prediction::Number(_) => None,
            Prediction::Class { class, .. } | Prediction::Margin { class, .. } => Some(*class),
        }
    }

    /// The number that is nearest to a label: the number itself, or the class.
    pub fn number(&self) -> f64 {
        match self {
            Prediction::Number(value) => *value,
            Prediction::Class { class, .. } | Prediction::Margin { class, .. } => *class as f64,
        }
    }
}

impl Family {
    /// How scores are meant; `None` for the loss whose models are positions, which predicts no rows.
    pub fn link(self) -> Option<Link> {
        match self {
            Family::Squared | Family::Absolute | Family::Huber { .. } | Family::Quantile { .. } => Some(Link::Identity),
            Family::Poisson => Some(Link::Log),
            Family::Logistic => Some(Link::Logit),
            Family::Multinomial { .. } => Some(Link::Softmax),
            Family::SquaredHinge => Some(Link::Margin),
            Family::Point => None,
        }
    }

    /// `scores <-` those of a row `x` by the model `w`: one, or one per class. Panics if `w` is shorter than `x`.
    pub fn scores(self, x: &[f64], w: &[f64], scores: &mut Vec<f64>) {
        scores.clear();
        match self.link() {
            Some(Link::Softmax) => scores.extend(w.chunks_exact(x.len().max(1)).map(|block| dot(x, block))),
            _ => scores.push(dot(x, &w[..x.len()])),
        }
    }

    /// What the model `w` says about a row `x`; `None` for the loss that predicts no rows.
    pub fn predict(self, x: &[f64], w: &[f64]) -> Option<Prediction> {
        let (link, mut scores) = (self.link()?, Vec::new());
        self.scores(x, w, &mut scores);
        Some(link.predict(scores))
    }

    /// The class of a label: labels of two classes are 0 and 1, or -1 and 1.
    pub fn class_of(self, label: f64) -> Option<usize> {
        match self.link()? {
            Link::Identity | Link::Log => None,
            Link::Logit | Link::Margin => Some(usize::from(label > 0.0)),
            Link::Softmax => Some(label as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use crate::loss::{Loss, LossOptions};
    use crate::matrix::Matrix;

    fn loss_of_one_row(family: Family, x: f64, y: f64) -> Box<dyn Loss> {
        let data = Dataset::new(vec![0, 1], Matrix::from_rows(1, vec![x]), vec![y], vec![1.0]).unwrap();
        family.build(data, &LossOptions::default()).unwrap()
    }

    /// The response to a score is the label that it fits best: the slope of the loss vanishes there.
    #[test]
    fn a_response_is_the_label_that_its_score_fits_best() {
        for (family, score, label) in [(Family::Squared, 0.7, 0.7), (Family::Poisson, 5f64.ln(), 5.0)] {
            let Some(Prediction::Number(found)) = family.predict(&[1.0], &[score]) else { panic!("{family}") };
            let mut slope = [0.0];
            loss_of_one_row(family, 1.0, label).gradient(0, &[score], &mut slope);
            assert!((found - label).abs() < 1e-12 && slope[0].abs() < 1e-12, "{family}: {found} {slope:?}");
        }
    }

    /// Log-losses are minus the logarithm of the probability of the label.
    #[test]
    fn probabilities_are_those_of_the_loss() {
        for label in [0.0, 1.0] {
            let loss = loss_of_one_row(Family::Logistic, 2.0, label).value(0, &[0.3]);
            let Some(Prediction::Class { class, probabilities }) = Family::Logistic.predict(&[2.0], &[0.3]) else {
                panic!("a class")
            };
            assert_eq!(class, 1);
            assert!((loss + probabilities[label as usize].ln()).abs() < 1e-12);
        }
        let (family, w) = (Family::Multinomial { classes: 3 }, [0.3, -1.0, 0.5]);
        for label in 0..3 {
            let loss = loss_of_one_row(family, 2.0, label as f64).value(0, &w);
            let Some(Prediction::Class { class, probabilities }) = family.predict(&[2.0], &w) else {
                panic!("a class")
            };
            assert_eq!((class, probabilities.len()), (2, 3));
            assert!((loss + probabilities[label].ln()).abs() < 1e-12);
        }
    }

    #[test]
    fn probabilities_of_huge_scores_are_numbers() {
        assert_eq!(Link::Softmax.predict(vec![1e4, -1e4]).class(), Some(0));
        for s in [-1e4, 1e4] {
            let Prediction::Class { probabilities, .. } = Link::Logit.predict(vec![s]) else { panic!("a class") };
            assert!(probabilities.iter().all(|p| (0.0..=1.0).contains(p)));
        }
    }

    #[test]
    fn ties_and_margins() {
        assert_eq!(Link::Softmax.class(&[1.0, 2.0, 2.0]), Some(1));
        assert_eq!(Family::Logistic.predict(&[1.0], &[0.0]).unwrap().class(), Some(0));
        assert_eq!(
            Family::SquaredHinge.predict(&[1.0, 1.0], &[2.0, -0.5]),
            Some(Prediction::Margin { class: 1, score: 1.5 })
        );
        assert_eq!(Family::Point.predict(&[1.0], &[1.0]), None);
    }

    #[test]
    fn accuracy_counts_hits_of_both_ways_to_write_two_classes() {
        let x = Matrix::from_rows(1, vec![1.0, -1.0, 2.0, 3.0]);
        let w = Matrix::from_rows(1, vec![1.0, -1.0]);
        for negative in [0.0, -1.0] {
            let y = vec![1.0, negative, 1.0, negative];
            let data = Dataset::new(vec![0, 2, 4], x.clone(), y, vec![1.0; 4]).unwrap();
            assert_eq!(Family::Logistic.accuracy(&data, &w), Some(0.75));
            assert_eq!(Family::SquaredHinge.accuracy(&data, &w), Some(0.75));
            assert_eq!(Family::Squared.accuracy(&data, &w), None);
        }
    }
}
