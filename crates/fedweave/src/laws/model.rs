//! The laws of a model.

use rand::seq::SliceRandom;

use super::{Draw, Violation, at_most};
use crate::matrix::Matrix;
use crate::model::{FitError, LocalModel, Task, Workspace};

/// Which laws of weights a model obeys, and how closely. Those that are not named here hold for every model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelLaws {
    /// A row of weight `k` counts like `k` rows.
    pub copies: bool,
    /// The order of the rows does not matter.
    pub order: bool,
    /// How far predictions may be apart that should be equal, for targets of size one.
    pub tolerance: f64,
}

/// Checks a model on one random case: rows, targets and whole-numbered weights drawn from `seed`. Weight 0 equals removal,
/// fitting again changes nothing, predictions of a row do not depend on the others, probabilities are probabilities;
/// and the laws of [`ModelLaws`].
pub fn check_model(
    make: impl Fn() -> Box<dyn LocalModel>,
    laws: ModelLaws,
    features: usize,
    seed: u64,
) -> Result<(), Violation> {
    let mut draw = Draw::new(seed);
    let case = ModelCase::new(make().task(), features, laws, &mut draw);
    let plain = case.predictions(make(), &case.rows)?;
    case.is_sound(&plain)?;
    case.same("weight 0 equals removal", &plain, make(), &case.rows.with_absent_rows(&mut draw))?;
    if laws.copies {
        case.same("weight k equals k copies", &plain, make(), &case.rows.copied())?;
    }
    if laws.order {
        case.same("row order does not matter", &plain, make(), &case.rows.shuffled(&mut draw))?;
    }
    case.refit(make(), &plain, &mut draw)?;
    case.one_by_one(make())
}

#[derive(Clone)]
struct Table {
    x: Vec<Vec<f64>>,
    y: Vec<Vec<f64>>,
    weight: Vec<f64>,
}

struct ModelCase {
    task: Task,
    laws: ModelLaws,
    rows: Table,
    queries: Matrix,
}

impl ModelCase {
    fn new(task: Task, features: usize, laws: ModelLaws, draw: &mut Draw) -> Self {
        let rows = Table::draw(task, features, draw);
        let queries = Matrix::from_rows(features, draw.normal(20 * features, 1.0));
        ModelCase { task, laws, rows, queries }
    }

    fn fit(&self, model: &mut dyn LocalModel, table: &Table, work: &mut Workspace) -> Result<(), Violation> {
        let flat = |rows: &[Vec<f64>]| Matrix::from_rows(rows[0].len(), rows.concat());
        let (x, y) = (flat(&table.x), flat(&table.y));
        no_error(model.fit(x.view(), y.view(), &table.weight, work))
    }

    fn predict(&self, model: &dyn LocalModel) -> Result<Vec<f64>, Violation> {
        let mut out = vec![f64::NAN; self.queries.rows() * self.task.outputs()];
        no_error(model.predict(self.queries.view(), &mut out))?;
        Ok(out)
    }

    fn predictions(&self, mut model: Box<dyn LocalModel>, table: &Table) -> Result<Vec<f64>, Violation> {
        self.fit(&mut *model, table, &mut Workspace::default())?;
        self.predict(&*model)
    }

    fn same(
        &self,
        law: &'static str,
        wanted: &[f64],
        model: Box<dyn LocalModel>,
        table: &Table,
    ) -> Result<(), Violation> {
        at_most(law, farthest(wanted, &self.predictions(model, table)?), self.laws.tolerance)
    }

    /// Finite; probabilities are not negative and sum to one.
    fn is_sound(&self, predictions: &[f64]) -> Result<(), Violation> {
        at_most("predictions are finite", predictions.iter().fold(0.0, |a, v| a + 0.0 * v), 0.0)?;
        if self.task == Task::Regression {
            return Ok(());
        }
        for row in predictions.chunks_exact(self.task.outputs()) {
            at_most("probabilities sum to one", (row.iter().sum::<f64>() - 1.0).abs(), 1e-9)?;
            at_most("probabilities are not negative", row.iter().fold(0.0, |a: f64, p| a.max(-p)), 0.0)?;
        }
        Ok(())
    }

    /// The same rows again, the same buffers again, and other rows in between: the same predictions to the last bit.
    fn refit(&self, mut model: Box<dyn LocalModel>, wanted: &[f64], draw: &mut Draw) -> Result<(), Violation> {
        let mut work = Workspace::default();
        let other = Table::draw(self.task, self.queries.cols(), draw);
        self.fit(&mut *model, &self.rows, &mut work)?;
        self.fit(&mut *model, &self.rows, &mut work)?;
        at_most("fitting twice changes nothing", farthest(wanted, &self.predict(&*model)?), 0.0)?;
        self.fit(&mut *model, &other, &mut work)?;
        self.fit(&mut *model, &self.rows, &mut work)?;
        at_most("a fit forgets the one before", farthest(wanted, &self.predict(&*model)?), 0.0)
    }

    fn one_by_one(&self, mut model: Box<dyn LocalModel>) -> Result<(), Violation> {
        self.fit(&mut *model, &self.rows, &mut Workspace::default())?;
        let together = self.predict(&*model)?;
        let outputs = self.task.outputs();
        for r in 0..self.queries.rows() {
            let mut out = vec![f64::NAN; outputs];
            let row = Matrix::from_rows(self.queries.cols(), self.queries.row(r).to_vec());
            no_error(model.predict(row.view(), &mut out))?;
            let apart = farthest(&together[r * outputs..(r + 1) * outputs], &out);
            at_most("rows are predicted one by one", apart, 1e-12)?;
        }
        Ok(())
    }
}

impl Table {
    fn draw(task: Task, features: usize, draw: &mut Draw) -> Self {
        let rows = 6 + draw.below(20);
        let x: Vec<Vec<f64>> = (0..rows).map(|_| draw.normal(features, 1.0)).collect();
        let y = x.iter().map(|x| target(task, x[0], draw)).collect();
        Table { x, y, weight: (0..rows).map(|_| 1.0 + draw.below(3) as f64).collect() }
    }

    /// Other rows with weight 0 between the rows.
    fn with_absent_rows(&self, draw: &mut Draw) -> Self {
        let mut table = self.clone();
        for _ in 0..4 {
            let at = draw.below(table.weight.len() + 1);
            table.x.insert(at, draw.normal(self.x[0].len(), 3.0));
            table.y.insert(at, self.y[draw.below(self.y.len())].clone());
            table.weight.insert(at, 0.0);
        }
        table
    }

    fn picked(&self, rows: &[usize]) -> Self {
        let pick = |from: &[Vec<f64>]| rows.iter().map(|&r| from[r].clone()).collect();
        Table { x: pick(&self.x), y: pick(&self.y), weight: rows.iter().map(|&r| self.weight[r]).collect() }
    }

    /// As many rows as the weights say, of weight 1.
    fn copied(&self) -> Self {
        let rows: Vec<usize> =
            (0..self.weight.len()).flat_map(|r| std::iter::repeat_n(r, self.weight[r] as usize)).collect();
        Table { weight: vec![1.0; rows.len()], ..self.picked(&rows) }
    }

    fn shuffled(&self, draw: &mut Draw) -> Self {
        let mut rows: Vec<usize> = (0..self.weight.len()).collect();
        rows.shuffle(&mut draw.0);
        self.picked(&rows)
    }
}

/// A number, a class or, one time in three, a soft label that depends on the first feature.
fn target(task: Task, x: f64, draw: &mut Draw) -> Vec<f64> {
    let Task::Classification { classes } = task else { return vec![x + draw.normal(1, 0.5)[0]] };
    let mut y = vec![0.0; classes];
    if draw.below(3) == 0 {
        y.iter_mut().for_each(|p| *p = draw.normal(1, 1.0)[0].abs() + 0.01);
        let sum: f64 = y.iter().sum();
        y.iter_mut().for_each(|p| *p /= sum);
    } else {
        y[if x > 0.0 { draw.below(classes) } else { 0 }] = 1.0;
    }
    y
}

fn farthest(a: &[f64], b: &[f64]) -> f64 {
    // A NaN must not be lost.
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, |a, b| if a >= b { a } else { b })
}

fn no_error(result: Result<(), FitError>) -> Result<(), Violation> {
    let failed = f64::from(u8::from(result.is_err()));
    at_most("sound rows are fitted and predicted", failed, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelSpec;

    const ALL: ModelLaws = ModelLaws { copies: true, order: true, tolerance: 1e-9 };
    const TASKS: [Task; 3] =
        [Task::Regression, Task::Classification { classes: 2 }, Task::Classification { classes: 3 }];

    fn holds(text: &str, laws: ModelLaws, tasks: &[Task]) {
        let spec: ModelSpec = text.parse().unwrap();
        for &task in tasks {
            for seed in 0..25 {
                let features = 1 + seed as usize % 3;
                check_model(|| spec.build(task, 5).unwrap(), laws, features, seed)
                    .unwrap_or_else(|v| panic!("{text}, {task:?}, seed {seed}: {v}"));
            }
        }
    }

    #[test]
    fn linear_models() {
        holds("linear", ModelLaws { tolerance: 1e-7, ..ALL }, &TASKS);
        holds("ridge", ALL, &TASKS);
        holds("ridge intercept=false alpha=0.01", ALL, &TASKS);
        holds("logistic", ModelLaws { tolerance: 1e-6, ..ALL }, &TASKS[1..]);
        holds("kernel-ridge alpha=0.1", ALL, &TASKS);
    }

    #[test]
    fn trees() {
        holds("tree", ALL, &TASKS);
        holds("tree max-depth=2", ALL, &TASKS);
        holds("tree min-weight-leaf=0.2", ALL, &TASKS);
        // Rows are counted, whatever their weight.
        holds("tree min-samples-leaf=3", ModelLaws { copies: false, ..ALL }, &TASKS);
        // Features are drawn per split, whatever the rows.
        holds("tree max-features=1", ALL, &TASKS);
        holds("forest trees=5 bootstrap=false", ALL, &TASKS);
        // Rows are drawn by their place.
        holds("forest trees=5", ModelLaws { copies: false, order: false, ..ALL }, &TASKS);
        holds("boosting trees=20", ModelLaws { tolerance: 1e-7, ..ALL }, &TASKS);
        holds("boosting trees=5 subsample=0.5", ModelLaws { copies: false, order: false, ..ALL }, &TASKS);
    }

    #[test]
    fn neighbours() {
        // A copy takes the place of another neighbour.
        holds("nearest", ModelLaws { copies: false, ..ALL }, &TASKS);
        holds("nearest share=0.3", ALL, &TASKS);
        holds("nearest share=0.3 weights=distance", ALL, &TASKS);
    }

    #[test]
    fn perceptrons() {
        let text = "mlp hidden=8 activation=tanh batch=none epochs=30 learning-rate=0.01";
        // Rows pass the network in single precision.
        holds(text, ModelLaws { tolerance: 1e-4, ..ALL }, &TASKS);
        // Batches are drawn by the place of the rows.
        let text = "mlp hidden=4x3 batch=4 epochs=5";
        holds(text, ModelLaws { copies: false, order: false, ..ALL }, &TASKS);
        let text = "mlp hidden=4 optimiser=sgd early-stopping=true epochs=20";
        holds(text, ModelLaws { copies: false, order: false, ..ALL }, &TASKS);
    }

    /// A model that ignores the weights is caught, and so is one that remembers.
    #[test]
    fn false_models_are_caught() {
        struct Plain(Box<dyn LocalModel>);
        impl LocalModel for Plain {
            fn name(&self) -> &'static str {
                "plain"
            }
            fn task(&self) -> Task {
                self.0.task()
            }
            fn fit(
                &mut self,
                x: crate::matrix::Rows,
                y: crate::matrix::Rows,
                weight: &[f64],
                work: &mut Workspace,
            ) -> Result<(), FitError> {
                let ones: Vec<f64> = weight.iter().map(|w| w.min(1.0)).collect();
                self.0.fit(x, y, &ones, work)
            }
            fn predict(&self, x: crate::matrix::Rows, out: &mut [f64]) -> Result<(), FitError> {
                self.0.predict(x, out)
            }
        }
        let build = |text: &str| text.parse::<ModelSpec>().unwrap().build(Task::Regression, 0).unwrap();
        let unweighted = check_model(|| Box::new(Plain(build("ridge"))), ALL, 2, 1).unwrap_err();
        assert_eq!(unweighted.law, "weight k equals k copies");
        let text = "mlp hidden=3 batch=none epochs=5 warm-start=true";
        assert_eq!(check_model(|| build(text), ALL, 2, 1).unwrap_err().law, "fitting twice changes nothing");
        let none = ModelLaws { copies: false, ..ALL };
        assert_eq!(check_model(|| build("forest trees=3"), none, 2, 1).unwrap_err().law, "row order does not matter");
    }
}
