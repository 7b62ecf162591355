//! FedRelax on predictions: models of any class, coupled by what they say about public rows (fedrelax-model-agnostic,
//! Algorithm 1).
//!
//! ```text
//! F(h) = sum_i [ L_i(h_i) + lambda sum_{j in N(i)} A_ij mean_{x in P_j} delta(h_i(x), h_j(x)) ]
//! ```
//!
//! A node updates by one weighted fit: to its own rows, weight `1/m_i` each, and for every neighbour `j` to the rows of `P_j`
//! labelled by `h_j`, weight `lambda A_ij / |P_j|` each. That judges `h_i` on the public rows of the neighbours only, as the
//! paper does; judged on both, `h_i` is also fitted to `P_i` labelled by `h_j`, which minimises `F` over `h_i`: then `F` never
//! grows when nodes update in turn and models minimise exactly.
//!
//! The rows of a node are private to its [`Site`]. What crosses an edge is a [`Predictions`]: nothing else can be handed to a
//! neighbour's update.

mod measure;
mod options;
mod public;
mod site;

use rayon::prelude::*;

use crate::accounting::Traffic;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::matrix::{Matrix, Rows};
use crate::model::{FitError, LocalModel, ModelSpec, Task};
use crate::random::{Purpose, stream};
use crate::solve::{JudgedOn, Order};

pub use measure::Discrepancy;
pub use options::{ROUNDS, RelaxOptions, RelaxStart, RelaxStart as Start, Weighting};
pub use public::{PUBLIC_ROWS, PublicSource, SUMMARY_ROWS_MIN, sample_public};
pub use site::{Buffers, Predictions, PublicRows, Pull, Site};

/// A network of models in training.
pub struct Relax<'g> {
    graph: &'g Graph,
    public: Vec<PublicRows>,
    sites: Vec<Site>,
    sent: Vec<Sent>,
    options: RelaxOptions,
    task: Task,
    traffic: Traffic,
    round: usize,
}

/// What a node says in a round.
#[derive(Debug, Clone, Default)]
struct Sent {
    /// About its own public rows, to all neighbours.
    own: Predictions,
    /// About the public rows of each neighbour, in the order of its ends; only where both are judged on.
    theirs: Vec<Predictions>,
}

impl<'g> Relax<'g> {
    /// One model per node of `data`, of the class `specs` says (one for all, or one each), coupled on `public`: rows of one
    /// common dataset, or of each node.
    pub fn new(
        graph: &'g Graph,
        data: &Dataset,
        task: Task,
        specs: &[ModelSpec],
        public: Vec<PublicRows>,
        options: RelaxOptions,
    ) -> Result<Self> {
        let n = graph.nodes();
        let count = |what, found: usize, shared| match found == n || (shared && found == 1) {
            true => Ok(()),
            false => Err(Error::Size { what, expected: n, found }),
        };
        count("nodes of the dataset", data.nodes(), false)?;
        count("models, one for all nodes or one each", specs.len(), true)?;
        let build = |i: usize| {
            let seed = seed_of(options.seed, i);
            specs[if specs.len() == 1 { 0 } else { i }]
                .build(task, seed)
                .map_err(|e| Error::Spec { node: i, source: e })
        };
        let models = (0..n).map(build).collect::<Result<Vec<_>>>()?;
        Self::with_models(graph, data, task, models, public, options)
    }

    /// Like [`new`](Relax::new), with models of any origin.
    pub fn with_models(
        graph: &'g Graph,
        data: &Dataset,
        task: Task,
        models: Vec<Box<dyn LocalModel>>,
        public: Vec<PublicRows>,
        options: RelaxOptions,
    ) -> Result<Self> {
        let n = graph.nodes();
        options.check()?;
        check_public(&public, n, data.dim())?;
        let site = |(i, model): (usize, Box<dyn LocalModel>)| {
            let x = Rows::new(data.dim(), data.features(i));
            Site::new(task, x, data.labels(i), data.weights(i), model).map_err(|e| locate(i, e))
        };
        let mut sites = models.into_iter().enumerate().map(site).collect::<Result<Vec<_>>>()?;
        if options.start == RelaxStart::Local || options.lambda == 0.0 {
            sites.par_iter_mut().enumerate().try_for_each_init(Buffers::default, |buffers, (i, site)| {
                site.update(options.own_weight(site.rows()), &[], buffers).map_err(|e| locate(i, e))
            })?;
        }
        let mut relax = Relax {
            graph,
            public,
            sent: vec![Sent::default(); n],
            sites,
            options,
            task,
            traffic: Traffic::new(n),
            round: 0,
        };
        for i in (0..n).filter(|&i| graph.degree(i) == 0) {
            let own = options.own_weight(relax.sites[i].rows());
            relax.sites[i].update(own, &[], &mut Buffers::default()).map_err(|e| locate(i, e))?;
        }
        relax.publish_all()?;
        Ok(relax)
    }

    /// One round of Algorithm 1: every node tells its neighbours what it predicts, then updates.
    pub fn round(&mut self) -> Result<()> {
        self.round += 1;
        if self.options.lambda > 0.0 {
            match self.options.order {
                Order::Together => self.update_all()?,
                Order::InTurn => (0..self.sites.len()).try_for_each(|i| self.update_one(i))?,
            }
            for i in 0..self.sites.len() {
                let own = self.graph.degree(i) * self.sent[i].own.numbers();
                let theirs: usize = self.sent[i].theirs.iter().map(Predictions::numbers).sum();
                self.traffic.send_numbers(i, self.graph.degree(i), own + theirs);
            }
        }
        self.traffic.end_round();
        Ok(())
    }

    fn update_all(&mut self) -> Result<()> {
        let Relax { graph, public, sites, sent, options, round, .. } = self;
        sites.par_iter_mut().enumerate().try_for_each_init(Buffers::default, |buffers, (i, site)| {
            update(graph, public, sent, options, *round, i, site, buffers)
        })?;
        self.publish_all()
    }

    fn update_one(&mut self, i: usize) -> Result<()> {
        let Relax { graph, public, sites, sent, options, round, .. } = self;
        update(graph, public, sent, options, *round, i, &mut sites[i], &mut Buffers::default())?;
        self.sent[i] = publish(self.graph, &self.public, &self.options, i, &self.sites[i])?;
        Ok(())
    }

    fn publish_all(&mut self) -> Result<()> {
        let Relax { graph, public, sites, options, .. } = self;
        self.sent = sites
            .par_iter()
            .enumerate()
            .map(|(i, site)| publish(graph, public, options, i, site))
            .collect::<Result<Vec<_>>>()?;
        Ok(())
    }

    /// Number of rounds done.
    pub fn rounds(&self) -> usize {
        self.round
    }

    /// What is predicted.
    pub fn task(&self) -> Task {
        self.task
    }

    /// The model of a node.
    pub fn model(&self, node: usize) -> &dyn LocalModel {
        self.sites[node].model()
    }

    /// What was sent so far: predictions. Public rows are public before the first round and are not counted.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Predictions of the model of `node`, [`Task::outputs`] columns.
    pub fn predict(&self, node: usize, x: Rows) -> Result<Matrix> {
        self.sites[node].predict(x).map_err(|e| locate(node, e))
    }

    /// The objective `F`, with training errors and discrepancies measured by `discrepancy`.
    pub fn objective(&self, discrepancy: Discrepancy) -> Result<f64> {
        let (graph, lambda) = (self.graph, self.options.lambda);
        let term = |i: usize| -> Result<f64> {
            let site = &self.sites[i];
            let mut sum = site.loss(discrepancy).map_err(|e| locate(i, e))?.unwrap_or(0.0);
            for end in graph.ends(i) {
                let j = end.neighbour as usize;
                let mine = site.publish(rows_of(&self.public, j)).map_err(|e| locate(i, e))?;
                sum += lambda * graph.weight(end.edge as usize) * discrepancy.mean(&mine, &self.sent[j].own);
            }
            Ok(sum)
        };
        let terms = (0..graph.nodes()).into_par_iter().map(term).collect::<Result<Vec<f64>>>()?;
        Ok(terms.iter().sum())
    }

    /// Mean error of every node on its rows of `data`; `None` where it has none.
    pub fn errors(&self, data: &Dataset, discrepancy: Discrepancy) -> Result<Vec<Option<f64>>> {
        let error = |i: usize| {
            let x = Rows::new(data.dim(), data.features(i));
            self.sites[i].error(x, data.labels(i), data.weights(i), discrepancy).map_err(|e| locate(i, e))
        };
        (0..self.sites.len()).into_par_iter().map(error).collect()
    }
}

/// The seed of a node's model.
pub fn seed_of(seed: u64, node: usize) -> u64 {
    use rand::RngExt;
    stream(seed, Purpose::StartModels, node).random()
}

fn locate(node: usize, source: FitError) -> Error {
    Error::Fit { node, source }
}

/// The public rows of a node; one dataset serves all.
fn rows_of(public: &[PublicRows], node: usize) -> &PublicRows {
    &public[if public.len() == 1 { 0 } else { node }]
}

fn check_public(public: &[PublicRows], n: usize, dim: usize) -> Result<()> {
    if public.len() != 1 && public.len() != n {
        return Err(Error::Size {
            what: "public datasets, one for all nodes or one each",
            expected: n,
            found: public.len(),
        });
    }
    for rows in public {
        if rows.x().cols() != dim {
            return Err(Error::Size { what: "features of the public rows", expected: dim, found: rows.x().cols() });
        }
    }
    Ok(())
}

/// One fit: what the node sees of its neighbours are their predictions.
#[allow(clippy::too_many_arguments)]
fn update(
    graph: &Graph,
    public: &[PublicRows],
    sent: &[Sent],
    options: &RelaxOptions,
    round: usize,
    node: usize,
    site: &mut Site,
    buffers: &mut Buffers,
) -> Result<()> {
    if graph.degree(node) == 0 {
        return Ok(());
    }
    let mut pulls = Vec::with_capacity(2 * graph.degree(node) + 1);
    for end in graph.ends(node) {
        let (j, weight) = (end.neighbour as usize, graph.weight(end.edge as usize));
        let theirs = rows_of(public, j);
        pulls.push(Pull { rows: theirs, says: &sent[j].own, weight: options.row_weight(weight, theirs.len()) });
        if options.judged_on == JudgedOn::Both {
            let ours = rows_of(public, node);
            let place = graph.ends(j).partition_point(|e| (e.neighbour as usize) < node);
            pulls.push(Pull {
                rows: ours,
                says: &sent[j].theirs[place],
                weight: options.row_weight(weight, ours.len()),
            });
        }
    }
    let distilled = match options.distil {
        0 => None,
        rows => {
            // Fresh rows in every round, as in the paper.
            let rows =
                PublicRows::standard_normal(rows, site.features(), options.seed, Purpose::Distilled, node, round);
            let says = site.publish(&rows).map_err(|e| locate(node, e))?;
            Some((rows, says))
        }
    };
    if let Some((rows, says)) = &distilled {
        pulls.push(Pull { rows, says, weight: options.row_weight(1.0, rows.len()) });
    }
    site.update(options.own_weight(site.rows()), &pulls, buffers).map_err(|e| locate(node, e))
}

fn publish(graph: &Graph, public: &[PublicRows], options: &RelaxOptions, node: usize, site: &Site) -> Result<Sent> {
    let about = |j: usize| site.publish(rows_of(public, j)).map_err(|e| locate(node, e));
    let theirs = match options.judged_on {
        JudgedOn::Neighbours => Vec::new(),
        JudgedOn::Both => graph.ends(node).iter().map(|end| about(end.neighbour as usize)).collect::<Result<_>>()?,
    };
    let own = if graph.degree(node) == 0 { Predictions::default() } else { about(node)? };
    Ok(Sent { own, theirs })
}

#[cfg(test)]
mod tests;
