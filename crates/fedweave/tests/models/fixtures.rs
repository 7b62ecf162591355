//! Predictions of scikit-learn on the same weighted rows, and steps of PyTorch's optimisers (`make_fixtures.py`).

use fedweave::Matrix;
use fedweave::matrix::Rows;
use fedweave::model::{Mlp, ModelSpec, Task, Workspace};
use serde::Deserialize;

#[derive(Deserialize)]
struct Fixtures {
    cases: Vec<Case>,
    optimisers: Vec<Steps>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    spec: String,
    classes: Option<usize>,
    features: usize,
    x: Vec<f64>,
    y: Vec<f64>,
    weight: Vec<f64>,
    queries: Vec<f64>,
    predictions: Vec<f64>,
    settled: Vec<bool>,
    tolerance: f64,
}

#[derive(Deserialize)]
struct Steps {
    name: String,
    spec: String,
    x: Vec<f64>,
    y: Vec<f64>,
    weight: Vec<f64>,
    start: Vec<f64>,
    end: Vec<f64>,
    epochs: usize,
}

fn fixtures() -> Fixtures {
    serde_json::from_str(include_str!("fixtures.json")).unwrap()
}

impl Case {
    fn predictions(&self) -> Vec<f64> {
        let task = self.classes.map_or(Task::Regression, |classes| Task::Classification { classes });
        let mut model = self.spec.parse::<ModelSpec>().unwrap().build(task, 0).unwrap();
        let (x, y) = (Rows::new(self.features, &self.x), task.targets(&self.y).unwrap());
        model.fit(x, y.view(), &self.weight, &mut Workspace::default()).unwrap();
        let mut out = vec![f64::NAN; self.predictions.len()];
        model.predict(Rows::new(self.features, &self.queries), &mut out).unwrap();
        out
    }
}

/// Every row is compared that scikit-learn itself predicts alike whatever it draws among equally good splits.
#[test]
fn predictions_equal_those_of_scikit_learn() {
    let fixtures = fixtures();
    assert!(fixtures.cases.len() > 50);
    for case in &fixtures.cases {
        let (found, outputs) = (case.predictions(), case.classes.unwrap_or(1));
        // An unlimited tree on numbers ends in single rows, where many splits are equally good.
        assert!(case.settled.iter().filter(|s| **s).count() >= 10, "{}: nothing to compare", case.name);
        for (row, _) in case.settled.iter().enumerate().filter(|(_, settled)| **settled) {
            for at in row * outputs..(row + 1) * outputs {
                let apart = (found[at] - case.predictions[at]).abs();
                let here = (found[at], case.predictions[at]);
                assert!(apart <= case.tolerance, "{}, query {row}: {here:?}", case.name);
            }
        }
    }
}

#[test]
fn optimisers_step_like_those_of_pytorch() {
    for steps in fixtures().optimisers {
        let ModelSpec::Mlp(options) = steps.spec.parse::<ModelSpec>().unwrap() else { panic!("not a perceptron") };
        let task = Task::Classification { classes: 2 };
        let mut mlp = Mlp::new(&options, task, 3, 0).unwrap();
        mlp.set_parameters(&steps.start).unwrap();
        let (x, y) = (Matrix::from_rows(3, steps.x.clone()), task.targets(&steps.y).unwrap());
        let mut work = Workspace::default();
        mlp.train(x.view(), y.view(), &steps.weight, steps.epochs, None, &mut work).unwrap();
        let moved = steps.start.iter().zip(&steps.end).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(moved > 0.01, "{}", steps.name);
        for (found, wanted) in mlp.parameters().iter().zip(&steps.end) {
            assert!((found - wanted).abs() < 1e-6, "{}: {found} {wanted}", steps.name);
        }
    }
}
