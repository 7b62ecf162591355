//! Predictions as cells of a table.

use fedweave::learn::conformal::Score;
use fedweave::loss::{Family, Link, Prediction};

use super::{Models, NewRow, Predictor};
use crate::intervals::Intervals;

impl Predictor {
    fn classes(&self) -> &[String] {
        let two = matches!(&self.models, Models::Parameters(Some(family), _) | Models::Blend(family, _)
            if matches!(family.link(), Some(Link::Logit | Link::Margin)));
        if two { &self.scores.labels } else { &self.scores.encoding.classes }
    }

    /// Names of the columns of a prediction.
    pub(super) fn columns(&self) -> Vec<String> {
        let ends: &[&str] = match self.interval.as_ref().map(|interval| interval.score) {
            None => &[],
            Some(Score::Class) => &["set"],
            Some(_) => &["lower", "upper"],
        };
        self.point_columns().into_iter().chain(ends.iter().map(|end| (*end).to_owned())).collect()
    }

    fn point_columns(&self) -> Vec<String> {
        let plain = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let classes = || {
            let probability = self.scores.encoding.classes.iter().map(|c| format!("probability:{c}"));
            std::iter::once("prediction".into()).chain(probability).collect()
        };
        let family = match &self.models {
            Models::Parameters(family, _) => *family,
            Models::Blend(family, _) => Some(*family),
            Models::AnyClass(_) => return classes(),
        };
        match family.map(Family::link) {
            // What a score means differs from node to node.
            None => plain(&["score"]),
            Some(Some(Link::Logit)) => plain(&["prediction", "probability"]),
            Some(Some(Link::Margin)) => plain(&["prediction", "score"]),
            Some(Some(Link::Softmax)) => classes(),
            Some(Some(Link::Identity | Link::Log) | None) => plain(&["prediction"]),
        }
    }

    pub(super) fn point_cells(&self, prediction: &Prediction) -> Vec<String> {
        let label = |class: usize| self.classes()[class].clone();
        match prediction {
            Prediction::Number(value) => vec![value.to_string()],
            Prediction::Margin { class, score } => vec![label(*class), score.to_string()],
            // Of two classes the probability of the second says all.
            Prediction::Class { class, probabilities } if self.scores.encoding.classes.is_empty() => {
                vec![label(*class), probabilities[1].to_string()]
            }
            Prediction::Class { class, probabilities } => {
                std::iter::once(label(*class)).chain(probabilities.iter().map(f64::to_string)).collect()
            }
        }
    }

    pub(super) fn interval_cells(&self, row: NewRow, prediction: &Prediction) -> Vec<String> {
        let Some(Intervals { score, thresholds }) = &self.interval else { return Vec::new() };
        match prediction {
            Prediction::Number(value) => {
                let scale = self.doubts.deviation(row.node, row.x, prediction);
                let (low, high) = score.interval(*value, scale, thresholds[row.node]);
                vec![low.to_string(), high.to_string()]
            }
            _ => {
                let classes = self.classes();
                let inside = score.set(prediction, classes.len(), thresholds[row.node]);
                vec![inside.into_iter().map(|k| classes[k].as_str()).collect::<Vec<_>>().join("|")]
            }
        }
    }
}
