//! What every feature contributes to a prediction: exact for linear models, along the path for trees.

use crate::model::Fitted;

/// Contributions that add up to a prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct Parts {
    /// What the model says without looking at any feature.
    pub base: f64,
    /// What each feature adds.
    pub features: Vec<f64>,
}

impl Parts {
    /// The prediction.
    pub fn total(&self) -> f64 {
        self.base + self.features.iter().sum::<f64>()
    }
}

/// A score `x'w` seen from the row `typical`: `typical'w + sum_j (x_j - typical_j) w_j`.
pub fn linear(w: &[f64], x: &[f64], typical: &[f64]) -> Parts {
    let base = w.iter().zip(typical).map(|(w, t)| w * t).sum();
    Parts { base, features: w.iter().zip(x.iter().zip(typical)).map(|(w, (x, t))| w * (x - t)).collect() }
}

/// Output `output` of a model for a row; `None` for classes of models whose predictions do not fall apart into features.
pub fn of_model(model: &Fitted, x: &[f64], typical: &[f64], output: usize) -> Option<Parts> {
    let outputs = model.task().outputs();
    match model {
        Fitted::Linear(fit) => {
            let parts = linear(&fit.coefficients[output * x.len()..][..x.len()], x, typical);
            Some(Parts { base: parts.base + fit.intercept[output], ..parts })
        }
        Fitted::Tree(fit) => Some(fit.tree.path(x, outputs, output)),
        Fitted::Forest(fit) => Some(mean(fit.trees.iter().map(|tree| tree.path(x, outputs, output)), x.len())),
        _ => None,
    }
}

fn mean(parts: impl ExactSizeIterator<Item = Parts>, features: usize) -> Parts {
    let scale = 1.0 / parts.len() as f64;
    let mut sum = Parts { base: 0.0, features: vec![0.0; features] };
    for one in parts {
        sum.base += scale * one.base;
        sum.features.iter_mut().zip(&one.features).for_each(|(sum, one)| *sum += scale * one);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{Matrix, Rows};
    use crate::model::{ModelSpec, Task, Workspace};
    use crate::random::{Purpose, stream};
    use rand::RngExt;

    #[test]
    fn parts_add_up_to_the_prediction() {
        let mut random = stream(1, Purpose::Trees, 0);
        let x = Matrix::from_rows(3, (0..120).map(|_| random.random::<f64>()).collect());
        let y: Vec<f64> = (0..40).map(|r| x.row(r)[0] + if x.row(r)[1] > 0.5 { 2.0 } else { 0.0 }).collect();
        for spec in ["linear", "tree max-depth=4", "forest trees=5", "nearest"] {
            let mut model = spec.parse::<ModelSpec>().unwrap().build(Task::Regression, 0).unwrap();
            model.fit(x.view(), Rows::new(1, &y), &[1.0; 40], &mut Workspace::default()).unwrap();
            let fitted = model.fitted().expect("it was fitted");
            let typical = [0.5, 0.5, 0.5];
            for r in 0..40 {
                let mut out = [0.0];
                fitted.predict(Rows::new(3, x.row(r)), &mut out).unwrap();
                match of_model(&fitted, x.row(r), &typical, 0) {
                    Some(parts) => assert!((parts.total() - out[0]).abs() < 1e-12),
                    None => assert_eq!(fitted.name(), "nearest"),
                }
            }
        }
    }
}
