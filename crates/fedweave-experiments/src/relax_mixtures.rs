//! Figure 3 of the FedRelax paper: local datasets that are mixtures of three linear models in different proportions (its
//! Algorithm 3), coupled by how much the mixtures overlap (21).

use fedweave::loss::{Family, LossOptions};
use fedweave::matrix::dot;
use fedweave::random::{Purpose, stream};
use fedweave::tune::Errors;
use fedweave::{Dataset, Graph, Matrix};
use fedweave_report::{Curve, Figure, Panel};
use rand::RngExt;
use rand_distr::StandardNormal;

use crate::relax_train::{ITERATIONS, Network};
use crate::spread::Spread;
use crate::{Check, Error, Outcome, Progress, Setting, short};

const NODES: usize = 150;
const PARTS: usize = 3;
const ROWS: usize = 10;
const VALIDATION_ROWS: usize = 100;
const ALPHAS: [f64; 3] = [0.0, 0.01, 0.05];
const DIMS: [usize; 3] = [2, 10, 50];
const SIGMAS: [f64; 3] = [0.0, 1.0, 5.0];

/// Local rows, validation rows, and the graph of overlaps.
struct Mixtures {
    graph: Graph,
    train: Dataset,
    validation: Dataset,
}

/// Algorithm 3.
fn draw(dim: usize, sigma: f64, seed: u64) -> Result<Mixtures, Error> {
    let mut rng = stream(seed, Purpose::Prototypes, 0);
    let weights = Matrix::from_rows(dim, (0..PARTS * dim).map(|_| rng.sample(StandardNormal)).collect());
    let shares: Vec<[f64; PARTS]> = (0..NODES).map(|i| softmax(seed, i)).collect();
    let rows = |purpose, count| rows(&weights, &shares, sigma, count, seed, purpose);
    Ok(Mixtures {
        graph: overlaps(&shares)?,
        train: rows(Purpose::LocalData, ROWS)?,
        validation: rows(Purpose::ValidationRows, VALIDATION_ROWS)?,
    })
}

/// Graph, local rows and validation rows of one draw.
pub fn draw_rows(dim: usize, sigma: f64, seed: u64) -> Result<(Graph, Dataset, Dataset), Error> {
    draw(dim, sigma, seed).map(|made| (made.graph, made.train, made.validation))
}

/// The mixing vector of a node: softmax of standard normal numbers.
fn softmax(seed: u64, node: usize) -> [f64; PARTS] {
    let mut rng = stream(seed, Purpose::MixingVectors, node);
    let powers: [f64; PARTS] = std::array::from_fn(|_| rng.sample::<f64, _>(StandardNormal).exp());
    powers.map(|p| p / powers.iter().sum::<f64>())
}

/// (21): `A_ij = sum_k min(rho_ik, rho_jk)`, which is never zero.
fn overlaps(shares: &[[f64; PARTS]]) -> Result<Graph, Error> {
    let overlap = |i: usize, j: usize| shares[i].iter().zip(&shares[j]).map(|(a, b)| a.min(*b)).sum::<f64>();
    let pairs = (0..shares.len()).flat_map(|i| (0..i).map(move |j| (j, i)));
    Ok(Graph::new(shares.len(), &pairs.map(|(j, i)| (j, i, overlap(i, j))).collect::<Vec<_>>())?)
}

/// `count` rows a node, of which part `k` makes its share, rounded so that they add up.
fn rows(
    weights: &Matrix,
    shares: &[[f64; PARTS]],
    sigma: f64,
    count: usize,
    seed: u64,
    purpose: Purpose,
) -> Result<Dataset, Error> {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for (node, share) in shares.iter().enumerate() {
        let mut rng = stream(seed, purpose, node);
        let (mut until, mut done) = (0.0, 0);
        for k in 0..PARTS {
            until += share[k] * count as f64;
            let end = if k + 1 == PARTS { count } else { until.round() as usize };
            for _ in done..end {
                let features: Vec<f64> = (0..weights.cols()).map(|_| rng.sample(StandardNormal)).collect();
                let noise: f64 = rng.sample(StandardNormal);
                y.push(dot(&features, weights.row(k)) + sigma * noise);
                x.extend(features);
            }
            done = end;
        }
    }
    let offsets = (0..=shares.len()).map(|i| i * count).collect();
    let weight = vec![1.0; y.len()];
    Ok(Dataset::new(offsets, Matrix::from_rows(weights.cols(), x), y, weight)?)
}

fn name(how: &str, d: usize, sigma: f64, alpha: f64) -> String {
    format!("{how}, d = {d}, sigma = {sigma}, alpha = {alpha}")
}

pub fn run(setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
    let runs = if setting.quick { 2 } else { 5 };
    let cases: Vec<(usize, f64)> =
        DIMS.map(|d| (d, 0.0)).into_iter().chain(SIGMAS[1..].iter().map(|&s| (10, s))).collect();
    let mut errors = Spread::default();
    for k in 0..runs {
        for (j, &(d, sigma)) in cases.iter().enumerate() {
            progress(k * cases.len() + j, runs * cases.len());
            measure(d, sigma, setting.seed + k as u64, setting.quick, &mut errors)?;
        }
    }
    let mut found = Outcome { checks: judge(&errors), ..Outcome::default() };
    found.tables.push(errors.table("mse", &["setting", "mse_validation", "deviation", "smallest", "largest"]));
    found.notes.push(format!(
        "RMSprop with learning rate 0.01, {ITERATIONS} iterations, as in the paper, unless called exact; means of {runs} runs; \
         validation rows carry the same noise as training rows"
    ));
    found.draw("figure3", figure(&errors));
    Ok(found)
}

fn measure(d: usize, sigma: f64, seed: u64, quick: bool, errors: &mut Spread) -> Result<(), Error> {
    let Mixtures { graph, train, validation } = draw(d, sigma, seed)?;
    let judge = Family::Squared.build(validation, &LossOptions::default())?;
    let error = |w: &Matrix| Errors::of(&*judge, w).mean().unwrap_or(f64::NAN);
    let network = Network::new(graph, train, seed)?;
    for alpha in ALPHAS {
        let w = network.rmsprop(alpha, ITERATIONS, |_, _| ())?;
        errors.push(&name("RMSprop", d, sigma, alpha), error(&w));
        if !quick || d <= 10 {
            errors.push(&name("exact", d, sigma, alpha), error(&network.exact(alpha)?));
        }
    }
    Ok(())
}

/// The error over that of local models.
fn normalised(errors: &Spread, how: &str, d: usize, sigma: f64, alpha: f64) -> f64 {
    errors.mean(&name(how, d, sigma, alpha)) / errors.mean(&name(how, d, sigma, 0.0))
}

fn judge(errors: &Spread) -> Vec<Check> {
    let mut checks = Vec::new();
    for d in DIMS {
        let [weak, strong] = [0.01, 0.05].map(|alpha| normalised(errors, "RMSprop", d, 0.0, alpha));
        let ours = format!("{} at alpha 0.01, {} at 0.05", short(weak), short(strong));
        let what = format!("validation error over that of local models, d/m = {}", d as f64 / ROWS as f64);
        checks.push(Check::new(what, "below 1 for both alpha", ours, weak < 1.0 && strong < 1.0));
    }
    let values = SIGMAS.map(|sigma| normalised(errors, "RMSprop", 10, sigma, 0.01));
    let ours =
        SIGMAS.iter().zip(values).map(|(s, v)| format!("{} at sigma {s}", short(v))).collect::<Vec<_>>().join(", ");
    checks.push(Check::new(
        "the same with noise, d/m = 1, alpha 0.01",
        "below 1",
        ours,
        values.iter().all(|v| *v < 1.0),
    ));
    checks
}

fn figure(errors: &Spread) -> Figure {
    let ratio = |d: usize| d as f64 / ROWS as f64;
    let by_dimension = [0.01, 0.05].map(|alpha| Curve {
        name: format!("alpha = {alpha}"),
        points: DIMS.map(|d| (ratio(d), normalised(errors, "RMSprop", d, 0.0, alpha))).into(),
        spread: vec![],
    });
    let by_noise = Curve {
        name: "alpha = 0.01".into(),
        points: SIGMAS.map(|s| (s, normalised(errors, "RMSprop", 10, s, 0.01))).into(),
        spread: vec![],
    };
    let y_title = "validation error over that of local models".to_owned();
    let panels = vec![
        Panel {
            title: "no noise".into(),
            x_title: "d/m".into(),
            y_title: y_title.clone(),
            x_log: true,
            curves: by_dimension.to_vec(),
            ..Panel::default()
        },
        Panel { title: "d/m = 1".into(), x_title: "sigma".into(), y_title, curves: vec![by_noise], ..Panel::default() },
    ];
    Figure { title: "Mixtures of three linear models at 150 nodes".into(), panels }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlaps_are_those_of_the_mixing_vectors_and_rows_add_up() {
        let made = draw(2, 0.0, 3).unwrap();
        assert_eq!(made.graph.edges(), NODES * (NODES - 1) / 2);
        assert!(made.graph.weights().iter().all(|a| *a > 0.0 && *a <= 1.0 + 1e-12));
        let same = overlaps(&[[0.2, 0.3, 0.5], [0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]).unwrap();
        assert_eq!((same.weight(0), same.weight(1)), (1.0, 0.2));
        assert_eq!((made.train.len(), made.validation.len()), (ROWS * NODES, VALIDATION_ROWS * NODES));
    }
}
