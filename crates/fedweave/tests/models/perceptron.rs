//! The perceptron: gradient, proximal training, layers, early stopping.

use fedweave::Matrix;
use fedweave::model::{Mlp, MlpOptions, ModelSpec, Prox, Task, Workspace};

fn options(text: &str) -> MlpOptions {
    let ModelSpec::Mlp(options) = format!("mlp {text}").parse().unwrap() else { unreachable!() };
    options
}

fn wave(rows: usize, cols: usize, phase: f64) -> Matrix {
    Matrix::from_rows(cols, (0..rows * cols).map(|k| (1.7 * k as f64 + phase).sin()).collect())
}

fn targets(task: Task, rows: usize) -> Matrix {
    let mut y = wave(rows, task.outputs(), 0.4);
    if task != Task::Regression {
        for r in 0..rows {
            let row = y.row_mut(r);
            row.iter_mut().for_each(|v| *v = v.abs() + if r % 2 == 0 { 0.0 } else { 0.1 });
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|v| *v /= sum);
        }
    }
    y
}

/// Central differences of the objective, for all terms, depths and activations.
#[test]
fn gradients_agree_with_differences() {
    for task in [Task::Regression, Task::Classification { classes: 2 }, Task::Classification { classes: 4 }] {
        for text in [
            "hidden=none alpha=0.3",
            "hidden=5 activation=tanh",
            "hidden=6x4 alpha=0.1",
            "hidden=3x3x3 activation=tanh",
        ] {
            let mut mlp = Mlp::new(&options(text), task, 3, 7).unwrap();
            let (x, y) = (wave(9, 3, 0.0), targets(task, 9));
            let weight: Vec<f64> = (0..9).map(|r| f64::from(r % 4)).collect();
            let toward: Vec<f64> = (0..mlp.parameters().len()).map(|k| (k as f64).cos()).collect();
            for prox in [None, Some(Prox { toward: &toward, tau: 0.7 })] {
                let mut work = Workspace::default();
                let theta = mlp.parameters().to_vec();
                let mut gradient = vec![0.0; theta.len()];
                let mut scratch = gradient.clone();
                mlp.gradient(x.view(), y.view(), &weight, prox, &mut gradient, &mut work).unwrap();
                for k in 0..theta.len() {
                    let h = 1e-5;
                    let mut value = |t: f64| {
                        let mut moved = theta.clone();
                        moved[k] = t;
                        mlp.set_parameters(&moved).unwrap();
                        mlp.gradient(x.view(), y.view(), &weight, prox, &mut scratch, &mut work).unwrap()
                    };
                    let slope = (value(theta[k] + h) - value(theta[k] - h)) / (2.0 * h);
                    assert!(
                        (slope - gradient[k]).abs() < 1e-6 * (1.0 + slope.abs()),
                        "{text} {k}: {slope} {}",
                        gradient[k]
                    );
                }
                mlp.set_parameters(&theta).unwrap();
            }
        }
    }
}

/// Without hidden layers the objective is quadratic: training ends at the proximal point, which has a closed form for rows
/// x = 1 and x = -1 with y = 2x.
#[test]
fn proximal_training_finds_the_proximal_point() {
    let text = "hidden=none alpha=0 batch=none optimiser=sgd learning-rate=0.1 momentum=0";
    let mut mlp = Mlp::new(&options(text), Task::Regression, 1, 1).unwrap();
    let (x, y) = (Matrix::from_rows(1, vec![1.0, -1.0]), Matrix::from_rows(1, vec![2.0, -2.0]));
    let (toward, tau) = ([-1.0, 3.0], 0.25);
    let prox = Some(Prox { toward: &toward, tau });
    mlp.train(x.view(), y.view(), &[1.0; 2], 500, prox, &mut Workspace::default()).unwrap();
    // (w - 2)^2 + (w + 1)^2 / (2 tau) and b^2 + (b - 3)^2 / (2 tau): zero derivatives.
    let wanted = [(2.0 * 2.0 - 1.0 / tau) / (2.0 + 1.0 / tau), 3.0 / tau / (2.0 + 1.0 / tau)];
    for (found, wanted) in mlp.parameters().iter().zip(wanted) {
        // Training is in single precision.
        assert!((found - wanted).abs() < 1e-6, "{found} {wanted}");
    }
}

#[test]
fn layers_cover_the_parameters() {
    let mlp = Mlp::new(&options("hidden=5x4"), Task::Classification { classes: 3 }, 7, 0).unwrap();
    assert_eq!(mlp.layers(), [0..40, 40..64, 64..79]);
    assert_eq!(mlp.parameters().len(), 79);
    assert!(Mlp::new(&MlpOptions { epochs: 0, ..Default::default() }, Task::Regression, 1, 0).is_err());
}

/// All optimisers learn a curve that no line fits, from mini-batches.
#[test]
fn perceptrons_learn_a_curve() {
    let x = Matrix::from_rows(1, (0..200).map(|k| f64::from(k) / 50.0 - 2.0).collect());
    let y = Matrix::from_rows(1, x.as_slice().iter().map(|x| x * x).collect());
    let error = |text: &str| {
        let mut model = text.parse::<ModelSpec>().unwrap().build(Task::Regression, 2).unwrap();
        model.fit(x.view(), y.view(), &[1.0; 200], &mut Workspace::default()).unwrap();
        let mut out = vec![0.0; 200];
        model.predict(x.view(), &mut out).unwrap();
        out.iter().zip(y.as_slice()).map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / 200.0
    };
    let line = error("linear");
    for text in ["sgd learning-rate=0.01", "rmsprop learning-rate=0.003", "adam learning-rate=0.01"] {
        for more in ["", "early-stopping=true", "activation=tanh"] {
            let found = error(&format!("mlp hidden=20 batch=20 optimiser={text} {more}"));
            assert!(found < 0.05 * line, "{text} {more}: {found} against {line}");
        }
    }
}

/// A fit with a rate that is too large is an error that says what to do; the model stays as it was.
#[test]
fn divergence_is_an_error() {
    let mut model = "mlp optimiser=sgd learning-rate=1e9 hidden=5"
        .parse::<ModelSpec>()
        .unwrap()
        .build(Task::Regression, 0)
        .unwrap();
    let (x, y) = (wave(20, 2, 0.0), wave(20, 1, 1.0));
    let error = model.fit(x.view(), y.view(), &[1.0; 20], &mut Workspace::default()).unwrap_err();
    assert!(error.to_string().contains("learning-rate"), "{error}");
    assert!(model.fitted().is_none());
}

/// A warm start goes on where the last fit ended.
#[test]
fn warm_starts_go_on() {
    let (x, y) = (wave(30, 2, 0.0), wave(30, 1, 1.0));
    let mut model = "mlp epochs=5 hidden=5 batch=none warm-start=true"
        .parse::<ModelSpec>()
        .unwrap()
        .build(Task::Regression, 0)
        .unwrap();
    let mut error = || {
        model.fit(x.view(), y.view(), &[1.0; 30], &mut Workspace::default()).unwrap();
        let mut out = vec![0.0; 30];
        model.predict(x.view(), &mut out).unwrap();
        out.iter().zip(y.as_slice()).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
    };
    let errors: Vec<f64> = (0..10).map(|_| error()).collect();
    assert!(errors.windows(2).all(|pair| pair[1] < pair[0]), "{errors:?}");
}
