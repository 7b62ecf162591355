//! Rows no model can be fitted to are errors that say so; odd rows that mean something are fitted.

use fedweave::Matrix;
use fedweave::model::spec::MODELS;
use fedweave::model::{FitError, LocalModel, ModelSpec, Task, Workspace};

const CLASSES: Task = Task::Classification { classes: 3 };

fn every_model(task: Task, test: impl Fn(Box<dyn LocalModel>)) {
    for name in MODELS.into_iter().filter(|name| task != Task::Regression || *name != "logistic") {
        test(ModelSpec::of(name).unwrap().build(task, 1).unwrap());
    }
}

fn fit(model: &mut dyn LocalModel, features: usize, x: &[f64], labels: &[f64], weight: &[f64]) -> Result<(), FitError> {
    let y = model.task().targets(labels).unwrap();
    model.fit(Matrix::from_rows(features, x.to_vec()).view(), y.view(), weight, &mut Workspace::default())
}

fn predict(model: &dyn LocalModel, features: usize, x: &[f64]) -> Vec<f64> {
    let mut out = vec![f64::NAN; x.len() / features * model.task().outputs()];
    model.predict(Matrix::from_rows(features, x.to_vec()).view(), &mut out).unwrap();
    out
}

#[test]
fn rows_that_are_no_numbers() {
    for task in [Task::Regression, CLASSES] {
        every_model(task, |mut model| {
            let fails = fit(&mut *model, 2, &[0.0, 1.0, 2.0, f64::NAN], &[0.0, 1.0], &[1.0; 2]);
            assert_eq!(fails, Err(FitError::NotFinite { row: 1, what: "feature 1".into() }));
            let weights = fit(&mut *model, 1, &[0.0, 1.0], &[0.0, 1.0], &[1.0, f64::INFINITY]);
            assert!(matches!(weights, Err(FitError::NotFinite { row: 1, .. })));
            let below = fit(&mut *model, 1, &[0.0, 1.0], &[0.0, 1.0], &[1.0, -1.0]);
            assert_eq!(below, Err(FitError::RowWeight { row: 1, weight: -1.0 }));
        });
    }
}

#[test]
fn nothing_to_fit_to() {
    for task in [Task::Regression, CLASSES] {
        every_model(task, |mut model| {
            let fails = fit(&mut *model, 1, &[0.0, 1.0], &[0.0, 1.0], &[0.0, 0.0]);
            assert_eq!(fails, Err(FitError::NoRows { model: model.name() }));
            // The model is as it was: not fitted.
            let wanted = if task == CLASSES { vec![1.0 / 3.0; 3] } else { vec![0.0] };
            assert_eq!(predict(&*model, 1, &[5.0]), wanted);
            assert!(model.fitted().is_none());
        });
    }
}

#[test]
fn sizes_that_do_not_agree() {
    every_model(CLASSES, |mut model| {
        let size = |result| assert!(matches!(result, Err(FitError::Size { .. })), "{}: {result:?}", model.name());
        let (x, work) = (Matrix::zeros(4, 2), &mut Workspace::default());
        let y = CLASSES.targets(&[0.0, 1.0, 2.0, 0.0]).unwrap();
        size(ModelSpec::of("tree").unwrap().build(CLASSES, 0).unwrap().fit(x.view(), x.view(), &[1.0; 4], work));
        let mut other = ModelSpec::of(model.name()).unwrap().build(CLASSES, 0).unwrap();
        size(other.fit(x.view(), y.view(), &[1.0; 3], work));
        size(other.fit(Matrix::zeros(3, 2).view(), y.view(), &[1.0; 3], work));
        model.fit(x.view(), y.view(), &[1.0; 4], work).unwrap();
        let mut out = [0.0; 3];
        let wide = model.predict(Matrix::zeros(1, 3).view(), &mut out);
        assert_eq!(wide, Err(FitError::Size { what: "features", expected: 2, found: 3 }));
        let short = model.predict(Matrix::zeros(2, 2).view(), &mut out);
        assert_eq!(short, Err(FitError::Size { what: "predictions", expected: 6, found: 3 }));
        let hole = model.predict(Matrix::from_rows(2, vec![f64::NAN, 0.0]).view(), &mut out);
        assert!(matches!(hole, Err(FitError::NotFinite { row: 0, .. })));
    });
}

#[test]
fn one_row_is_enough() {
    every_model(Task::Regression, |mut model| {
        fit(&mut *model, 2, &[1.0, -1.0], &[2.0], &[0.5]).unwrap();
        let found = predict(&*model, 2, &[1.0, -1.0])[0];
        // The ridge without intercept of kernels pulls to 0, and perceptrons are still on their way.
        let wanted = !matches!(model.name(), "kernel-ridge" | "mlp");
        assert!(found.is_finite() && (!wanted || (found - 2.0).abs() < 1e-9), "{}: {found}", model.name());
    });
    every_model(CLASSES, |mut model| {
        fit(&mut *model, 2, &[1.0, -1.0], &[2.0], &[0.5]).unwrap();
        let found = predict(&*model, 2, &[1.0, -1.0]);
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{}: {found:?}", model.name());
        assert!(found[2] >= found[0] && found[2] >= found[1] || model.name() == "mlp", "{}: {found:?}", model.name());
    });
}

/// A class that no row has is predicted with a probability near 0, whatever the others.
#[test]
fn an_absent_class() {
    every_model(CLASSES, |mut model| {
        let x: Vec<f64> = (0..20).map(f64::from).collect();
        let labels: Vec<f64> = (0..20).map(|r| f64::from(u8::from(r >= 10))).collect();
        fit(&mut *model, 1, &x, &labels, &[1.0; 20]).unwrap();
        let found = predict(&*model, 1, &[2.0, 17.0]);
        let limit = if model.name() == "mlp" { 0.5 } else { 0.01 };
        assert!(found[2] < limit && found[5] < limit, "{}: {found:?}", model.name());
        assert!(found[0] > found[1] && found[3] < found[4] || model.name() == "mlp", "{}: {found:?}", model.name());
    });
}

#[test]
fn features_that_do_not_vary() {
    for task in [Task::Regression, CLASSES] {
        every_model(task, |mut model| {
            fit(&mut *model, 2, &[3.0; 12], &[0.0, 1.0, 2.0, 0.0, 1.0, 2.0], &[1.0; 6]).unwrap();
            let found = predict(&*model, 2, &[3.0, 3.0, 100.0, -100.0]);
            assert!(found.iter().all(|v| v.is_finite()), "{}: {found:?}", model.name());
            let mean = [1.0, 1.0 / 3.0][usize::from(task == CLASSES)];
            let exact = !matches!(model.name(), "kernel-ridge" | "mlp" | "forest" | "nearest");
            assert!(!exact || (found[0] - mean).abs() < 1e-6, "{}: {found:?}", model.name());
        });
    }
}

/// Huge and tiny numbers are predicted or refused, never turned into something that is no number.
#[test]
fn numbers_of_any_size() {
    for (x_size, y_size) in [(1e150, 1.0), (1e-150, 1.0), (1.0, 1e150), (1.0, 1e-150), (1e-300, 1e300)] {
        every_model(Task::Regression, |mut model| {
            let x: Vec<f64> = (0..10).map(|r| x_size * f64::from(r)).collect();
            let y: Vec<f64> = (0..10).map(|r| y_size * f64::from(r % 3)).collect();
            match fit(&mut *model, 1, &x, &y, &[1.0; 10]) {
                Err(error) => assert!(matches!(error, FitError::Diverged { .. }), "{}: {error}", model.name()),
                Ok(()) => {
                    let found = predict(&*model, 1, &[x[4]])[0];
                    assert!(found.is_finite(), "{} at {x_size:e}, {y_size:e}: {found}", model.name());
                }
            }
        });
    }
}

/// Trees find the step whatever the scale of features, targets and weights.
#[test]
fn trees_do_not_care_about_scale() {
    for name in ["tree", "forest", "boosting"] {
        for size in [1e-200, 1e-9, 1.0, 1e9, 1e200] {
            let mut model = ModelSpec::of(name).unwrap().build(Task::Regression, 3).unwrap();
            let x: Vec<f64> = (0..40).map(|r| size * f64::from(r)).collect();
            let y: Vec<f64> = (0..40).map(|r| if r < 20 { 0.0 } else { size }).collect();
            fit(&mut *model, 1, &x, &y, &[size.min(1.0); 40]).unwrap();
            let found = predict(&*model, 1, &[size * 5.0, size * 35.0]);
            assert!(
                found[0].abs() < 0.01 * size && (found[1] - size).abs() < 0.01 * size,
                "{name} {size:e}: {found:?}"
            );
        }
    }
}
