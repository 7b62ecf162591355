//! Fitted models survive a file, and a damaged file is an error rather than a crash.

use fedweave::Matrix;
use fedweave::model::spec::MODELS;
use fedweave::model::{Fitted, Local, LocalModel, ModelSpec, Task, Workspace};

fn fitted(name: &str, task: Task) -> (ModelSpec, Box<dyn LocalModel>, Matrix) {
    let spec = ModelSpec::of(name).unwrap();
    let mut model = spec.build(task, 4).unwrap();
    let x = Matrix::from_rows(2, (0..60).map(|k| f64::from(k * 7 % 31) / 10.0).collect());
    let labels: Vec<f64> = (0..30).map(|r| f64::from(r * r % 3)).collect();
    model.fit(x.view(), task.targets(&labels).unwrap().view(), &[0.1; 30], &mut Workspace::default()).unwrap();
    (spec, model, x)
}

fn predictions(model: &dyn LocalModel, x: &Matrix) -> Vec<f64> {
    let mut out = vec![0.0; x.rows() * model.task().outputs()];
    model.predict(x.view(), &mut out).unwrap();
    out
}

#[test]
fn models_come_back_from_text() {
    for task in [Task::Regression, Task::Classification { classes: 2 + 1 }] {
        for name in MODELS.into_iter().filter(|name| task != Task::Regression || *name != "logistic") {
            let (spec, model, x) = fitted(name, task);
            let text = serde_json::to_string(&(&spec, model.fitted().unwrap())).unwrap();
            let (spec, kept): (ModelSpec, Fitted) = serde_json::from_str(&text).unwrap();
            assert_eq!((kept.features(), kept.task()), (2, task));
            let back = Local::load(spec, 4, kept).unwrap();
            assert_eq!(predictions(&back, &x), predictions(&*model, &x), "{name}");
        }
    }
}

/// Every number of a kept model is replaced by others in turn: loading fails, or predicting does not.
#[test]
fn damaged_models_do_not_crash() {
    let task = Task::Classification { classes: 3 };
    for name in MODELS {
        let (spec, model, x) = fitted(name, task);
        let text = serde_json::to_string(&model.fitted().unwrap()).unwrap();
        let numbers: Vec<(usize, &str)> =
            text.match_indices([':', ',', '[']).map(|(at, _)| (at + 1, &text[at + 1..])).collect();
        let (mut refused, mut tried) = (0, 0);
        for (at, rest) in numbers.iter().step_by(1 + numbers.len() / 200) {
            let len = rest.find([',', ']', '}']).unwrap_or(0);
            for other in ["0", "1", "7", "4294967295", "99999999999", "-1", "1e300", "[]"] {
                let damaged = format!("{}{other}{}", &text[..*at], &text[at + len..]);
                let Ok(kept) = serde_json::from_str::<Fitted>(&damaged) else { continue };
                tried += 1;
                match Local::load(spec.clone(), 0, kept) {
                    Ok(model) => {
                        let mut out = vec![0.0; x.rows() * model.task().outputs()];
                        // An error for other sizes is fine.
                        let _ = model.predict(x.view(), &mut out);
                    }
                    Err(_) => refused += 1,
                }
            }
        }
        assert!(refused > 0 && tried > refused, "{name}: {refused} of {tried} refused");
    }
}

#[test]
fn options_of_another_class_are_an_error() {
    let (_, model, _) = fitted("tree", Task::Regression);
    let other = ModelSpec::of("forest").unwrap();
    let error = Local::load(other, 0, model.fitted().unwrap()).unwrap_err();
    assert!(error.to_string().contains("another class"), "{error}");
    let (ridge, model, _) = fitted("ridge", Task::Regression);
    assert!(Local::load(ridge, 0, model.fitted().unwrap()).is_ok());
}
