//! Classes as nodes: a class with few rows learns its model with the models of similar classes.
//!
//! The node of a class has all rows: those of the class weigh as much together as all others. Models of classes that look alike are
//! coupled; a new row belongs to the class with the largest score.

mod words;

use fedweave::graph::k_nearest;
use fedweave::matrix::{Matrix, axpy};
use fedweave::{Dataset, Graph};
use fedweave_io::{Encoding, Input, RunEncoding, RunWriter, TargetKind};

use crate::error::{Result, refuse, require};
use crate::fit::{FitResult, fit};
use crate::request::ClassesRequest;
use crate::run_dir::{CONFIG, ENCODING, write_summary};
use crate::watch::Observer;
pub use words::{summary, text};

/// More numbers than this are not copied once for every class.
const NUMBERS_MAX: usize = 1 << 29;

/// One model for every class.
pub struct ClassesResult {
    /// What was asked for.
    pub request: ClassesRequest,
    /// Models of classes; its nodes are the classes.
    pub fit: FitResult,
    /// The ridge that was chosen.
    pub ridge: f64,
    /// Rows of every class.
    pub sizes: Vec<usize>,
}

/// Fits the models of all classes; ridge and lambda are those that predict rows left out best.
pub fn few_shot(request: ClassesRequest, input: &Input, observer: &dyn Observer) -> Result<ClassesResult> {
    let unfolded = unfold(input, request.nearest)?;
    let mut best: Option<(f64, FitResult, f64)> = None;
    for &ridge in &request.ridges {
        let mut one = request.fit.clone();
        one.model.options.ridge = ridge;
        one.model.ridges = vec![ridge];
        let found = fit(one, unfolded.clone(), observer)?;
        let error = found.held_out.as_ref().and_then(|held| held.validation.mean()).unwrap_or(f64::INFINITY);
        if best.as_ref().is_none_or(|best| error < best.0) {
            best = Some((error, found, ridge));
        }
        if observer.interrupted() {
            break;
        }
    }
    let (_, fit, ridge) = best.expect("there is a ridge");
    let sizes = (0..input.names.len()).map(|c| input.data.rows(c).len()).collect();
    Ok(ClassesResult { request, fit, ridge, sizes })
}

/// All rows at every class, `1` for its own and `-1` for the others; the same row is in the same group everywhere.
pub fn unfold(input: &Input, nearest: usize) -> Result<Input> {
    let (classes, n, d) = (input.names.len(), input.data.len(), input.data.dim());
    require!(classes > 1, "--classes-as-nodes: the target has one value only");
    if let Some(c) = (0..classes).find(|&c| input.data.rows(c).is_empty()) {
        refuse!("--classes-as-nodes: the edges name `{}`, a class without rows", input.names[c]);
    }
    require!(
        classes.saturating_mul(n).saturating_mul(d) <= NUMBERS_MAX,
        "--classes-as-nodes: {n} rows of {d} columns for {classes} classes are too many; give fewer rows"
    );
    let (mut x, mut y, mut weight) = (Vec::with_capacity(classes * n * d), Vec::new(), Vec::new());
    for c in 0..classes {
        let own = input.data.rows(c);
        let (inside, outside) = (n as f64 / (2 * own.len()) as f64, n as f64 / (2 * (n - own.len())) as f64);
        for r in 0..n {
            x.extend_from_slice(input.data.x(r));
            y.push(if own.contains(&r) { 1.0 } else { -1.0 });
            weight.push(if own.contains(&r) { inside } else { outside });
        }
    }
    let offsets = (0..=classes).map(|c| c * n).collect();
    let data = Dataset::new(offsets, Matrix::from_rows(d, x), y, weight)?;
    let graph = match input.graph.edges() {
        0 => similar(input, nearest)?,
        _ => input.graph.clone(),
    };
    let lines = (0..classes).flat_map(|_| input.lines.iter().copied()).collect();
    let mut unfolded = Input::in_memory(input.names.clone(), graph, data, lines, input.encoding.clone(), None);
    unfolded.groups = Some((0..classes).flat_map(|_| 0..n as u32).collect());
    Ok(unfolded)
}

/// Every class with those whose mean rows are nearest, each column in units of its deviation.
fn similar(input: &Input, nearest: usize) -> Result<Graph> {
    let (classes, n, d) = (input.names.len(), input.data.len() as f64, input.data.dim());
    let mut means = Matrix::zeros(classes, d);
    let (mut first, mut second) = (vec![0.0; d], vec![0.0; d]);
    for c in 0..classes {
        let rows = input.data.rows(c);
        let share = 1.0 / rows.len() as f64;
        for r in rows {
            axpy(share, input.data.x(r), means.row_mut(c));
            axpy(1.0 / n, input.data.x(r), &mut first);
            second.iter_mut().zip(input.data.x(r)).for_each(|(s, x)| *s += x * x / n);
        }
    }
    let deviation = |j: usize| (second[j] - first[j] * first[j]).max(0.0).sqrt();
    for c in 0..classes {
        let row = means.row_mut(c);
        (0..d).for_each(|j| row[j] = if deviation(j) > 1e-9 { row[j] / deviation(j) } else { 0.0 });
    }
    Ok(k_nearest(&means, nearest.min(classes - 1))?)
}

/// Writes the run directory; returns where it is. `fedweave predict` takes the class with the largest score.
pub fn write_run(result: &ClassesResult, writer: RunWriter) -> Result<std::path::PathBuf> {
    let input = &result.fit.input;
    let names: Vec<String> =
        input.names.iter().flat_map(|class| input.features.iter().map(move |f| format!("{class}:{f}"))).collect();
    let all = Matrix::from_rows(names.len(), result.fit.parameters.as_slice().to_vec());
    writer.write_parameters(&names, &[Encoding::EVERYBODY.to_owned()], &all)?;
    let encoding = Encoding {
        node: String::new(),
        target: Some(result.request.target.clone()),
        target_kind: TargetKind::Class,
        classes: input.names.clone(),
        ..input.encoding.clone()
    };
    writer.write_json(ENCODING, &RunEncoding { loss: "multinomial".into(), labels: Default::default(), encoding })?;
    writer.write_text(CONFIG, &result.request.fit.naming.config())?;
    write_summary(&writer, &summary(result))?;
    Ok(writer.finish()?)
}
