//! How much the models of a run hang on the rows, nodes and edges that happened to be there: fitted again and again with something
//! drawn anew.

mod words;

use std::path::PathBuf;

use fedweave::Dataset;
use fedweave::graph::partition::Partition;
use fedweave::trust::stress::{Moved, Stress, leaving, moved, resampled, reweighted, with_noise, without};
use fedweave_io::Input;

use super::refit::{Refit, side_by_side};
use crate::error::{Result, require};
use crate::fit::FitResult;
use crate::request::coupling::CouplingChoice;
use crate::watch::Observer;

/// What is drawn anew, and how often.
#[derive(Debug, Clone, PartialEq)]
pub struct StressRequest {
    /// The run directory.
    pub run: PathBuf,
    /// What is drawn anew.
    pub kinds: Vec<Stress>,
    /// Fits of each kind.
    pub fits: usize,
    /// Share of the nodes that leave.
    pub leave: f64,
    /// Deviation of the logarithm of an edge's weight.
    pub spread: f64,
    /// Deviation of the noise on labels, in units of what the models leave.
    pub noise: f64,
    /// Seed of all that is drawn.
    pub seed: u64,
}

impl StressRequest {
    /// With the defaults.
    pub fn new(run: impl Into<PathBuf>) -> Self {
        let kinds = Stress::ALL.to_vec();
        StressRequest { run: run.into(), kinds, fits: 20, leave: 0.1, spread: 0.5, noise: 0.5, seed: 0 }
    }

    fn check(&self) -> Result<()> {
        require!((1..=10_000).contains(&self.fits), "--fits {}: must be from 1 to 10000", self.fits);
        require!(self.leave > 0.0 && self.leave < 1.0, "--leave {}: must be between 0 and 1, e.g. 0.1", self.leave);
        let sizes = [("spread", self.spread), ("noise", self.noise)];
        for (flag, value) in sizes {
            require!((0.0..=10.0).contains(&value), "--{flag} {value}: must be from 0 to 10, e.g. 0.5");
        }
        Ok(())
    }
}

/// A node under one kind of stress, over all fits.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeMoved {
    /// Root of the mean squared change of its predictions, over rows and fits; `None` if it has no rows, or left every time.
    pub prediction: Option<f64>,
    /// The mean relative change of its model.
    pub model: Option<f64>,
}

/// One kind of stress.
#[derive(Debug, Clone, PartialEq)]
pub struct KindMoved {
    /// What was drawn anew.
    pub kind: Stress,
    /// Every node.
    pub nodes: Vec<NodeMoved>,
    /// The adjusted Rand index of each fit's clusters with those of the run; nothing where models do not fuse.
    pub rand: Vec<f64>,
    /// Number of clusters of each fit.
    pub clusters: Vec<usize>,
}

/// What was found.
pub struct StressResult {
    /// What was asked for.
    pub request: StressRequest,
    /// Names of the nodes.
    pub names: Vec<String>,
    /// Kinds of stress, in the order asked for.
    pub kinds: Vec<KindMoved>,
    /// Clusters of the run itself; `None` where models do not fuse.
    pub clusters: Option<usize>,
    /// The deviation of what the models leave on the rows trained with: what changes of predictions are measured against.
    pub residual: f64,
    /// Kinds that say nothing here, and why.
    pub left_out: Vec<String>,
}

impl StressRequest {
    /// Fits again and again.
    pub fn run(&self, observer: &dyn Observer) -> Result<StressResult> {
        self.check()?;
        let refit = Refit::of(&self.run, None)?;
        let base = refit.fit(refit.input.clone(), observer)?;
        self.on(&refit, &base, observer)
    }

    /// The same for a fit that was repeated already.
    pub(crate) fn on(&self, refit: &Refit, base: &FitResult, observer: &dyn Observer) -> Result<StressResult> {
        self.check()?;
        let residual = residual(base);
        let (kinds, left_out): (Vec<Stress>, Vec<_>) =
            self.kinds.iter().copied().partition(|kind| silent(*kind, refit, residual).is_none());
        let pieces: Vec<(Stress, usize)> =
            kinds.iter().flat_map(|kind| (0..self.fits).map(move |run| (*kind, run))).collect();
        let found = side_by_side("fitting under stress", pieces.len(), observer, |k| {
            self.one(refit, base, residual.unwrap_or(0.0), pieces[k], observer)
        })?;
        let n = refit.input.names.len();
        let fuses = !base.problem.penalty().is_smooth() && base.learnt.is_none();
        let kinds = kinds.iter().zip(found.chunks(self.fits));
        Ok(StressResult {
            names: refit.input.names.clone(),
            kinds: kinds.map(|(kind, found)| summed(*kind, found, n, fuses)).collect(),
            clusters: fuses.then(|| base.clusters.partition.len()),
            residual: residual.unwrap_or(f64::NAN),
            left_out: left_out.into_iter().filter_map(|kind| silent(kind, refit, residual)).collect(),
            request: self.clone(),
        })
    }

    fn one(
        &self,
        refit: &Refit,
        base: &FitResult,
        residual: f64,
        (kind, run): (Stress, usize),
        observer: &dyn Observer,
    ) -> Result<(Moved, usize)> {
        let (input, seed) = (&refit.input, self.seed);
        let mut leaves = vec![false; input.names.len()];
        let drawn = match kind {
            Stress::Rows => with_rows(input, resampled(&input.data, seed, run)),
            Stress::Weights => input.clone().with_graph(reweighted(&input.graph, self.spread, seed, run)),
            Stress::Labels => with_rows(input, with_noise(&input.data, self.noise * residual, seed, run)),
            Stress::Nodes => {
                leaves = leaving(input.names.len(), self.leave, seed, run);
                let stay: Vec<bool> = (0..leaves.len())
                    .flat_map(|i| input.data.rows(i).map(|_| !leaves[i]).collect::<Vec<_>>())
                    .collect();
                input.select(&stay).with_graph(without(&input.graph, &leaves))
            }
        };
        let again = refit.fit(drawn, observer)?;
        let parts: (&Partition, &Partition) = (&base.clusters.partition, &again.clusters.partition);
        let found = moved(&input.data, (&base.parameters, &again.parameters), parts, &leaves);
        let stayed = (0..leaves.len()).filter(|i| !leaves[*i]).map(|i| parts.1.part(i));
        let clusters = stayed.collect::<std::collections::BTreeSet<_>>().len();
        Ok((found, clusters))
    }
}

/// The same nodes and graph with other rows.
fn with_rows(input: &Input, data: Dataset) -> Input {
    let mut changed = input.clone();
    changed.data = data;
    changed
}

/// Why a kind of stress says nothing here.
fn silent(kind: Stress, refit: &Refit, residual: Option<f64>) -> Option<String> {
    let learns = refit.request.graph.is_some();
    let why = match kind {
        Stress::Weights if learns => "the graph is learnt from the rows each time",
        Stress::Nodes if learns => "the graph is learnt from the rows each time",
        Stress::Weights if refit.input.graph.edges() == 0 => "there are no edges",
        Stress::Nodes if refit.input.names.len() < 2 => "there is one node",
        Stress::Rows if refit.request.coupling == CouplingChoice::Learnt && refit.request.parts.is_some() => {
            "parts learn the coupling from unweighted rows"
        }
        Stress::Labels if residual.is_none() => "labels are no numbers",
        _ => return None,
    };
    Some(format!("{}: {why}", kind.name()))
}

/// The deviation of label less prediction, every node counting the same; `None` where labels are no numbers.
fn residual(base: &FitResult) -> Option<f64> {
    use fedweave::loss::{Family, LossSpec, Prediction};
    let numeric = |family: &Family| {
        matches!(family, Family::Squared | Family::Absolute | Family::Huber { .. } | Family::Quantile { .. })
    };
    let family = match &base.loss {
        LossSpec::Same(family) if numeric(family) => *family,
        _ => return None,
    };
    let data = &base.training.rows;
    let of = |i: usize| {
        let squares = data.rows(i).map(|r| match family.predict(data.x(r), base.parameters.row(i)) {
            Some(Prediction::Number(said)) => (data.y()[r] - said).powi(2),
            _ => f64::NAN,
        });
        (!data.rows(i).is_empty()).then(|| squares.sum::<f64>() / data.rows(i).len() as f64)
    };
    let means: Vec<f64> = (0..data.nodes()).filter_map(of).collect();
    Some((means.iter().sum::<f64>() / means.len().max(1) as f64).sqrt())
}

/// All fits of one kind together.
fn summed(kind: Stress, found: &[(Moved, usize)], nodes: usize, fuses: bool) -> KindMoved {
    let known = |of: &dyn Fn(&Moved) -> f64| -> Option<Vec<f64>> {
        let all: Vec<f64> = found.iter().map(|(moved, _)| of(moved)).filter(|v| v.is_finite()).collect();
        (!all.is_empty()).then_some(all)
    };
    let mean = |all: Vec<f64>| all.iter().sum::<f64>() / all.len() as f64;
    let node = |i: usize| NodeMoved {
        prediction: known(&|moved| moved.scores[i].powi(2)).map(|all| mean(all).sqrt()),
        model: known(&|moved| moved.models[i]).map(mean),
    };
    KindMoved {
        kind,
        nodes: (0..nodes).map(node).collect(),
        rand: if fuses { found.iter().map(|(moved, _)| moved.rand).collect() } else { Vec::new() },
        clusters: if fuses { found.iter().map(|(_, clusters)| *clusters).collect() } else { Vec::new() },
    }
}

impl KindMoved {
    /// Root of the mean over nodes of squared changes of predictions.
    pub fn prediction(&self) -> Option<f64> {
        let squares: Vec<f64> = self.nodes.iter().filter_map(|node| node.prediction).map(|p| p * p).collect();
        (!squares.is_empty()).then(|| (squares.iter().sum::<f64>() / squares.len() as f64).sqrt())
    }

    /// The mean of the tenth of the nodes whose predictions change most.
    pub fn worst(&self) -> Option<f64> {
        let all = self.nodes.iter().filter_map(|node| node.prediction);
        fedweave::trust::fairness::worst_decile(all).map(|found| found.0)
    }

    /// The median over nodes of the relative change of models.
    pub fn model(&self) -> Option<f64> {
        let mut all: Vec<f64> = self.nodes.iter().filter_map(|node| node.model).collect();
        all.sort_by(f64::total_cmp);
        (!all.is_empty()).then(|| all[all.len() / 2])
    }

    /// The mean agreement of clusters, and the smallest.
    pub fn agreement(&self) -> Option<(f64, f64)> {
        let least = self.rand.iter().copied().fold(f64::INFINITY, f64::min);
        (!self.rand.is_empty()).then(|| (self.rand.iter().sum::<f64>() / self.rand.len() as f64, least))
    }
}

/// Kinds by name.
pub fn kinds(names: &[String]) -> Result<Vec<Stress>> {
    let known = Stress::ALL.map(|kind| (kind.name(), kind));
    names.iter().map(|name| crate::request::settings::choice("--kind", Some(name), &known)).collect()
}

/// The command that repeats the job on a run of these settings.
pub(crate) fn command(request: &StressRequest) -> String {
    let run = crate::request::again::quoted(&request.run.to_string_lossy());
    format!("fedweave stress {run} --fits {} --seed {}", request.fits, request.seed)
}
