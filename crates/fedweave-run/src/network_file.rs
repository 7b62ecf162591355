//! `network.json`: what a node that was not there at the fit needs to join: its problem, and where its neighbours are.

use fedweave::Dataset;
use fedweave::graph::great_circle_points;
use fedweave::learn::coupling::Field;
use fedweave::loss::{Family, LossOptions, LossSpec, NodeWeight};
use fedweave::matrix::{Matrix, axpy};
use fedweave::scaling::Scaling;
use fedweave::solve::{Anchor, join};
use fedweave_io::{Input, Metric};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, require};
use crate::fit::FitResult;
use crate::request::penalty::PenaltyForm;

/// The known neighbours of every new node: their positions among the models, and the weights of the edges.
pub type Neighbours = Vec<Vec<(usize, f64)>>;

/// The problem of one more node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkFile {
    /// Parameter of the Huber or the quantile loss.
    shape: Option<f64>,
    ridge: f64,
    #[serde(default)]
    lasso: f64,
    spare_last: bool,
    /// What a row weighs; without, a node weighs 1.
    row_unit: Option<f64>,
    scaling: Option<Scaling>,
    /// Problems whose answers are averaged; several only where the coupling was learnt.
    terms: Vec<Term>,
    places: Option<Places>,
    #[serde(default)]
    alike: Option<Alike>,
    /// How models change from place to place, where that was learnt; in the units of the solver.
    #[serde(default)]
    field: Option<Field>,
}

/// One problem and its share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Term {
    share: f64,
    lambda: f64,
    penalty: PenaltyForm,
    hub: Option<Hub>,
}

/// The common mean, in the units of the solver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Hub {
    share: f64,
    model: Vec<f64>,
}

/// Positions of the nodes, and with how many nearest a node is joined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Places {
    /// The columns.
    pub columns: Vec<String>,
    k: usize,
    metric: Metric,
    /// A row per node, in the order of the parameters.
    values: Vec<Vec<f64>>,
}

/// How a new node finds neighbours where nothing but its rows says who it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Alike {
    /// As many as nodes have on average.
    count: usize,
    /// Nodes whose models no row and no neighbour speaks for.
    nothing: Vec<usize>,
}

impl NetworkFile {
    /// What a fit leaves; `None` where a new node would have no problem of its own (losses differ, rows are protected, no coupling).
    pub fn of(fit: &FitResult) -> Result<Option<NetworkFile>> {
        let LossSpec::Same(family) = fit.loss else { return Ok(None) };
        let coupled = fit.request.rounds.as_ref().is_none_or(|rounds| rounds.is_coupled());
        if family == Family::Point || fit.protection.is_some() || !coupled {
            return Ok(None);
        }
        let options = match &fit.learnt {
            Some(_) => LossOptions { node_weight: NodeWeight::Unit(fit.problem.lambda()), ..Default::default() },
            None => fit.request.model.options,
        };
        Ok(Some(NetworkFile {
            shape: match family {
                Family::Huber { delta } => Some(delta),
                Family::Quantile { q } => Some(q),
                _ => None,
            },
            ridge: options.ridge,
            lasso: options.lasso,
            spare_last: options.spare_last,
            row_unit: match options.node_weight.resolved(&fit.training.scaled) {
                NodeWeight::Unit(unit) => Some(unit),
                _ => None,
            },
            scaling: fit.training.scaling.clone(),
            terms: terms(fit)?,
            places: Places::of(&fit.input),
            alike: Alike::of(&fit.input),
            field: field(fit),
        }))
    }

    /// Where nodes are, if they were joined by that.
    pub fn places(&self) -> Option<&Places> {
        self.places.as_ref()
    }

    /// Models of nodes at these places in the units of the input, from their rows and those of the nodes around them; `None` where it
    /// was not learnt how models change from place to place.
    pub fn at_places(&self, new: &Matrix, rows: &Dataset) -> Result<Option<Matrix>> {
        let (Some(field), Some(places)) = (&self.field, &self.places) else { return Ok(None) };
        let (known, new, scaled) = (places.known()?, places.points(new)?, self.scaled(rows));
        let model = |node: usize| field.model(&known, new.row(node), &scaled, node);
        let models: Vec<Vec<f64>> = (0..new.rows()).into_par_iter().map(model).collect();
        let mut models = Matrix::from_rows(rows.dim(), models.concat());
        self.scaling.iter().for_each(|s| s.restore(&mut models));
        Ok(Some(models))
    }

    /// Models of new nodes in the units of the input: their rows, and the neighbours of each (positions in `w`, and weights).
    pub fn join(&self, family: Family, w: &Matrix, rows: &Dataset, near: &[Vec<(usize, f64)>]) -> Result<Matrix> {
        let node_weight = self.row_unit.map_or(NodeWeight::Equal, NodeWeight::Unit);
        let options = LossOptions { ridge: self.ridge, lasso: self.lasso, spare_last: self.spare_last, node_weight };
        let loss = self.shaped(family).build(self.scaled(rows), &options)?;
        let (known, dim) = (self.converted(w), w.cols());
        let penalties = self.terms.iter().map(|term| term.penalty.build(dim)).collect::<Result<Vec<_>>>()?;
        let model = |node: usize| {
            let mut sum = vec![0.0; dim];
            // The sum does not depend on the order in which edges were given.
            let mut ends = near[node].clone();
            ends.sort_by_key(|end| end.0);
            for (term, penalty) in self.terms.iter().zip(&penalties) {
                let hub = term.hub.as_ref();
                let graph = term.lambda * (1.0 - hub.map_or(0.0, |hub| hub.share));
                let edge = |&(j, weight): &(usize, f64)| Anchor { weight: graph * weight, model: known.row(j) };
                let common = |hub: &'_ Hub| term.lambda * hub.share;
                let anchors: Vec<Anchor> = ends
                    .iter()
                    .map(edge)
                    .chain(hub.map(|hub| Anchor { weight: common(hub), model: &hub.model }))
                    .filter(|anchor| anchor.weight > 0.0)
                    .collect();
                axpy(term.share, &join(&*loss, node, &**penalty, &anchors), &mut sum);
            }
            sum
        };
        let models: Vec<Vec<f64>> = (0..rows.nodes()).into_par_iter().map(model).collect();
        let mut models = Matrix::from_rows(dim, models.concat());
        self.scaling.iter().for_each(|s| s.restore(&mut models));
        Ok(models)
    }

    /// Neighbours of new nodes by what their rows say: those whose models lose least on them. That is the pooled-fit test of a pair
    /// where the model of one end is certain. `None` where nodes are joined by something else; a node without rows has none.
    pub fn alike(&self, family: Family, w: &Matrix, rows: &Dataset) -> Result<Option<Neighbours>> {
        let Some(alike) = self.alike.as_ref().filter(|_| !self.has_hub()) else { return Ok(None) };
        let loss = self.shaped(family).build(self.scaled(rows), &LossOptions::default())?;
        let known = self.converted(w);
        let one = |node: usize| {
            if rows.rows(node).is_empty() {
                return Vec::new();
            }
            let others = (0..known.rows()).filter(|j| alike.nothing.binary_search(j).is_err());
            let mut all: Vec<(f64, usize)> = others.map(|j| (loss.value(node, known.row(j)), j)).collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            all.into_iter().take(alike.count).map(|(_, j)| (j, 1.0)).collect()
        };
        Ok(Some((0..rows.nodes()).into_par_iter().map(one).collect()))
    }

    fn shaped(&self, family: Family) -> Family {
        match (family, self.shape) {
            (Family::Huber { .. }, Some(delta)) => Family::Huber { delta },
            (Family::Quantile { .. }, Some(q)) => Family::Quantile { q },
            (family, _) => family,
        }
    }

    /// Rows in the units of the solver.
    fn scaled(&self, rows: &Dataset) -> Dataset {
        self.scaling.as_ref().map_or_else(|| rows.clone(), |s| s.apply(rows))
    }

    /// Models in the units of the solver.
    fn converted(&self, w: &Matrix) -> Matrix {
        let mut known = w.clone();
        self.scaling.iter().for_each(|s| s.convert(&mut known));
        known
    }

    /// True if a node without neighbours has somebody to learn from.
    pub fn has_hub(&self) -> bool {
        self.terms.iter().all(|term| term.hub.is_some())
    }
}

/// Where the coupling was learnt from rows with squared losses that are all here, and nodes were joined by their places. Where rows
/// are too few for that, the rule of edges is left.
fn field(fit: &FitResult) -> Option<Field> {
    let learnt = fit.learnt.as_ref()?;
    if !learnt.has_posterior() || learnt.family != Family::Squared || learnt.by_parts() {
        return None;
    }
    let known = Places::of(&fit.input)?.known().ok()?;
    Field::learn(&known, &fit.training.scaled, fit.request.model.intercept()).ok().flatten()
}

fn terms(fit: &FitResult) -> Result<Vec<Term>> {
    let (dim, lambda) = (fit.problem.dim(), fit.problem.lambda());
    if let Some(learnt) = &fit.learnt {
        let members = learnt.blend.members.iter().map(|member| Term {
            share: member.weight,
            lambda,
            penalty: PenaltyForm::quadratic(&member.coupling.penalty_matrix()),
            hub: Some(Hub { share: 1.0 - member.coupling.rho, model: member.coupling.mu.clone() }),
        });
        return Ok(members.collect());
    }
    let penalty = fit.request.model.penalty.form(&fit.input.features, dim)?;
    let model = || fit.solution.w.row(fit.input.names.len()).to_vec();
    let hub = fit.request.hub.map(|share| Hub { share, model: model() });
    Ok(vec![Term { share: 1.0, lambda, penalty, hub }])
}

impl Alike {
    /// Where nodes are joined by their places, rows need not say more.
    fn of(input: &Input) -> Option<Alike> {
        let (nodes, edges) = (input.names.len(), input.graph.edges());
        if edges == 0 || Places::of(input).is_some() {
            return None;
        }
        let alone = |&i: &usize| input.data.rows(i).is_empty() && input.graph.ends(i).is_empty();
        let nothing: Vec<usize> = (0..nodes).filter(alone).collect();
        let joined = (0..nodes).filter(|&i| !input.graph.ends(i).is_empty()).count();
        Some(Alike { count: (2.0 * edges as f64 / joined as f64).round().max(1.0) as usize, nothing })
    }
}

impl Places {
    fn of(input: &Input) -> Option<Places> {
        let ((k, metric), at) = input.nearest.zip(input.coordinates.as_ref())?;
        let values = (0..at.values.rows()).map(|i| at.values.row(i).to_vec()).collect();
        Some(Places { columns: at.names.clone(), k, metric, values })
    }

    /// The nodes that new ones are joined with, each with weight 1: its `k` nearest.
    pub fn nearest(&self, new: &Matrix) -> Result<Neighbours> {
        let (known, new) = (self.known()?, self.points(new)?);
        let one = |i: usize| {
            let far = |j: usize| -> f64 { new.row(i).iter().zip(known.row(j)).map(|(a, b)| (a - b) * (a - b)).sum() };
            let mut all: Vec<(f64, usize)> = (0..known.rows()).map(|j| (far(j), j)).collect();
            let k = self.k.min(all.len());
            if k < all.len() {
                all.select_nth_unstable_by(k, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            }
            all[..k].sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            all[..k].iter().map(|(_, j)| (*j, 1.0)).collect::<Vec<_>>()
        };
        Ok((0..new.rows()).into_par_iter().map(one).collect())
    }

    /// Where the nodes of the run are.
    fn known(&self) -> Result<Matrix> {
        self.points(&Matrix::from_rows(self.columns.len(), self.values.concat()))
    }

    /// Points between which straight lines have the order of the distances.
    fn points(&self, values: &Matrix) -> Result<Matrix> {
        if self.metric == Metric::Euclidean {
            return Ok(values.clone());
        }
        require!(self.columns.len() == 2, "network.json: great circles need a latitude and a longitude");
        let names = |name: &String| name.to_lowercase().starts_with("lon") || name.to_lowercase() == "lng";
        let swapped = names(&self.columns[0]);
        let flip = |row: &[f64]| if swapped { [row[1], row[0]] } else { [row[0], row[1]] };
        let latlon = (0..values.rows()).flat_map(|i| flip(values.row(i))).collect();
        great_circle_points(&Matrix::from_rows(2, latlon)).map_err(Error::Mathematics)
    }
}
