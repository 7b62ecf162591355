//! Figures 2 and 4 of the FedRelax paper: decision trees of depth 5, coupled by what they predict on public rows.
//!
//! As in the paper: 150 nodes of 10 rows, 100 standard normal public rows a node, 100 more that each node labels itself before
//! every fit (20), five iterations, validation on 100 fresh rows a node.

use fedweave::matrix::Rows;
use fedweave::model::relax::{Discrepancy, PublicSource, Relax, RelaxOptions, Weighting, sample_public};
use fedweave::model::{ModelSpec, Task, Workspace};
use fedweave::{Dataset, Graph};
use fedweave_report::{Curve, Figure, Panel};

use crate::measure::mean_and_deviation;
use crate::spread::Spread;
use crate::{Error, Outcome, Progress, Setting};

/// Local rows of a node.
pub const ROWS: usize = 10;
/// Rounds of Algorithm 1.
pub const ROUNDS: usize = 5;
/// Public rows of a node, and rows it labels itself.
const PUBLIC: usize = 100;
/// Dimensions without noise, and noise at `d/m = 1`.
pub const DIMS: [usize; 3] = [2, 10, 50];
/// Noise levels.
pub const SIGMAS: [f64; 3] = [0.0, 1.0, 5.0];
/// How rows of neighbours are weighted, and by how much.
pub const COUPLINGS: [(Weighting, f64); 3] =
    [(Weighting::Plain, 0.01), (Weighting::Plain, 0.05), (Weighting::Means, 0.05)];

/// One draw of the data.
pub struct Draw {
    /// Who is coupled with whom.
    pub graph: Graph,
    /// Local rows.
    pub train: Dataset,
    /// Fresh rows.
    pub validation: Dataset,
    /// True clusters, where there are any.
    pub clusters: Option<Vec<usize>>,
}

/// Errors by setting, last and along the iterations.
#[derive(Default)]
pub struct Measured {
    /// After the last iteration; without coupling; of the oracle.
    pub errors: Spread,
    /// Along the iterations, divided by the oracle's, or by those of local models where there is no oracle.
    pub traces: Vec<(String, Vec<Vec<f64>>)>,
}

/// The name of a setting.
pub fn name(how: &str, d: usize, sigma: f64) -> String {
    format!("{how}, d = {d}, sigma = {sigma}")
}

/// The name of a coupling.
pub fn coupling((weighting, alpha): (Weighting, f64)) -> String {
    match weighting {
        Weighting::Plain => format!("alpha {alpha} a row"),
        Weighting::Means => format!("alpha {alpha}, means"),
    }
}

/// Runs all settings.
pub fn run_all(
    setting: &Setting,
    progress: &mut Progress,
    draw: impl Fn(usize, f64, u64) -> Result<Draw, Error>,
) -> Result<(Measured, usize), Error> {
    let (runs, dims) = if setting.quick { (1, &DIMS[..2]) } else { (5, &DIMS[..]) };
    let cases: Vec<(usize, f64)> =
        dims.iter().map(|&d| (d, 0.0)).chain(SIGMAS[1..].iter().map(|&sigma| (10, sigma))).collect();
    let mut measured = Measured::default();
    for k in 0..runs {
        for (j, &(d, sigma)) in cases.iter().enumerate() {
            progress(k * cases.len() + j, runs * cases.len());
            measured.one_case(&draw(d, sigma, setting.seed + k as u64)?, d, sigma, setting.seed + k as u64)?;
        }
    }
    progress(runs * cases.len(), runs * cases.len());
    Ok((measured, runs))
}

fn tree() -> ModelSpec {
    "tree max-depth=5".parse().expect("a known model")
}

impl Measured {
    fn one_case(&mut self, draw: &Draw, d: usize, sigma: f64, seed: u64) -> Result<(), Error> {
        let oracle = draw.clusters.as_ref().map(|c| oracle(draw, c)).transpose()?;
        if let Some(error) = oracle {
            self.errors.push(&name("oracle", d, sigma), error);
        }
        let public = sample_public(&draw.train, PublicSource::Normal, PUBLIC, seed)?;
        for how in COUPLINGS {
            let options = RelaxOptions { lambda: how.1, weighting: how.0, distil: PUBLIC, seed, ..Default::default() };
            let mut relax = Relax::new(&draw.graph, &draw.train, Task::Regression, &[tree()], public.clone(), options)?;
            let error = |relax: &Relax| validation_error(relax, &draw.validation);
            let local = error(&relax)?;
            let unit = oracle.unwrap_or(local);
            let mut trace = vec![local / unit];
            for _ in 0..ROUNDS {
                relax.round()?;
                trace.push(error(&relax)? / unit);
            }
            if how == COUPLINGS[0] {
                self.errors.push(&name("local", d, sigma), local);
            }
            self.errors.push(&name(&coupling(how), d, sigma), trace[ROUNDS] * unit);
            self.keep(&name(&coupling(how), d, sigma), trace);
        }
        Ok(())
    }

    fn keep(&mut self, name: &str, trace: Vec<f64>) {
        match self.traces.iter_mut().find(|t| t.0 == name) {
            Some(known) => known.1.push(trace),
            None => self.traces.push((name.to_owned(), vec![trace])),
        }
    }

    /// `(local, coupled)` errors over those of the oracle (1 where there is none).
    pub fn normalised(&self, how: &str, d: usize, sigma: f64) -> (f64, f64) {
        let mean = |what: &str| self.errors.mean(&name(what, d, sigma));
        let unit = if mean("oracle").is_nan() { mean("local") } else { mean("oracle") };
        (mean("local") / unit, mean(how) / unit)
    }

    /// The outcome without its checks.
    pub fn outcome(&self, runs: usize, file: &'static str, title: &str, over: &str) -> Outcome {
        let mut found = Outcome::default();
        found.tables.push(self.errors.table("mse", &["setting", "mse_validation", "deviation", "smallest", "largest"]));
        found.notes.push(format!(
            "depth 5, {ROUNDS} iterations, 100 self-labelled rows before every fit; means of {runs} runs. \"alpha a row\": every row of \
             a neighbour weighs alpha and every own row 1, as in the paper's experiments; \"means\": alpha over the number of public \
             rows, and 1 over the number of own rows, as in its objective (8)"
        ));
        let curve = |name: &str, traces: &Vec<Vec<f64>>| Curve {
            name: name.to_owned(),
            points: (0..=ROUNDS)
                .map(|k| (k as f64, mean_and_deviation(&traces.iter().map(|t| t[k]).collect::<Vec<_>>()).0))
                .collect(),
            spread: vec![],
        };
        let panel = |how: (Weighting, f64)| Panel {
            title: coupling(how),
            x_title: "iteration".into(),
            y_title: format!("validation error over that of {over}"),
            y_log: true,
            curves: self
                .traces
                .iter()
                .filter_map(|t| Some(curve(t.0.strip_prefix(&format!("{}, ", coupling(how)))?, &t.1)))
                .collect(),
            ..Panel::default()
        };
        found.draw(file, Figure { title: title.into(), panels: COUPLINGS.map(panel).into() });
        found
    }
}

/// Mean over nodes of the mean squared error on validation rows.
fn validation_error(relax: &Relax, validation: &Dataset) -> Result<f64, Error> {
    let errors: Vec<f64> = relax.errors(validation, Discrepancy::Squared)?.into_iter().flatten().collect();
    Ok(mean_and_deviation(&errors).0)
}

/// A tree for every true cluster, from all its rows.
fn oracle(draw: &Draw, clusters: &[usize]) -> Result<f64, Error> {
    let (train, validation, d) = (&draw.train, &draw.validation, draw.train.dim());
    let mut errors = Vec::new();
    for c in 0..=clusters.iter().copied().max().unwrap_or(0) {
        let members: Vec<usize> = (0..clusters.len()).filter(|&i| clusters[i] == c).collect();
        let x: Vec<f64> = members.iter().flat_map(|&i| train.features(i).to_vec()).collect();
        let y: Vec<f64> = members.iter().flat_map(|&i| train.labels(i).to_vec()).collect();
        let locate = |e| fedweave::Error::Fit { node: members[0], source: e };
        let mut model = tree().build(Task::Regression, 0).map_err(|e| fedweave::Error::Spec { node: 0, source: e })?;
        let fitted = model.fit(Rows::new(d, &x), Rows::new(1, &y), &vec![1.0; y.len()], &mut Workspace::default());
        fitted.map_err(locate)?;
        for &i in &members {
            let mut out = vec![0.0; validation.rows(i).len()];
            model.predict(Rows::new(d, validation.features(i)), &mut out).map_err(locate)?;
            let squares: f64 = out.iter().zip(validation.labels(i)).map(|(p, y)| (p - y) * (p - y)).sum();
            errors.push(squares / out.len() as f64);
        }
    }
    Ok(mean_and_deviation(&errors).0)
}
