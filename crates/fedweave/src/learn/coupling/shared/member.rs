//! A part: it has rows, and answers with sums over its nodes.

use std::sync::Arc;

use super::super::likelihood::{Evaluation, Likelihood, Model};
use super::super::moments::{Moments, left_over, row_shares};
use super::super::network::Network;
use super::super::profile::Profile;
use super::super::regions::{is_large, without_borders};
use super::super::system::Plan;
use super::question::{Ask, Best, Common, Point, Question};
use crate::dataset::Dataset;
use crate::graph::Graph;
use crate::matrix::{axpy, dot};

/// The rows of a part and the edges between its nodes.
pub struct Member {
    graph: Graph,
    data: Dataset,
    prepared: Option<Prepared>,
}

/// Rows and graph in the units of the network.
struct Prepared {
    common: Arc<Common>,
    network: Network,
    moments: Moments,
    /// Eliminations, by the number of columns of the root.
    plans: Vec<(usize, Plan)>,
}

impl Member {
    /// A part with these nodes. A graph whose factor would be too expensive is cut into regions.
    pub fn new(graph: &Graph, data: Dataset) -> Self {
        let graph = if is_large(graph, data.dim()) { without_borders(graph).0 } else { graph.clone() };
        Member { graph, data, prepared: None }
    }

    /// The answer: as many numbers as the question wants, the first of them 1; all zero if there is no answer.
    pub fn answer(&mut self, question: &Question) -> Vec<f64> {
        let found = match &question.ask {
            Ask::Counts => Some(self.counts()),
            Ask::Spread { mean } => Some(self.spread(mean)),
            Ask::Sums { scaling } => Some(sums(&scaling.apply(&self.data))),
            Ask::LeftOver { scaling, pooled } => Some(vec![left_over(&scaling.apply(&self.data), pooled).iter().sum()]),
            // Without nodes there is nothing to add, and no matrix to factor.
            _ if self.graph.nodes() == 0 => Some(vec![0.0; question.numbers() - 1]),
            Ask::Level { common, kappa } => self.prepared(common).level(*kappa),
            Ask::Profile { common, point } => self.prepared(common).profile(point),
            Ask::Slopes { common, point, best } => self.prepared(common).slopes(point, best),
        };
        match found.filter(|numbers| numbers.iter().all(|x| x.is_finite())) {
            Some(numbers) => [1.0].into_iter().chain(numbers).collect(),
            None => vec![0.0; question.numbers()],
        }
    }

    fn counts(&self) -> Vec<f64> {
        let (graph, data) = (&self.graph, &self.data);
        let counts: Vec<f64> = (0..data.nodes()).map(|i| row_shares(data.weights(i)).0).collect();
        let with_rows = counts.iter().filter(|m| **m > 0.0).count();
        let degrees = (0..graph.nodes()).map(|i| graph.weighted_degree(i)).sum();
        let whole = [graph.nodes(), with_rows].map(|n| n as f64);
        let more = [counts.iter().sum(), data.len() as f64, graph.edges() as f64, degrees];
        let mut sums = vec![0.0; data.dim()];
        (0..data.len()).for_each(|r| axpy(1.0, data.x(r), &mut sums));
        whole.into_iter().chain(more).chain(sums).collect()
    }

    fn spread(&self, mean: &[f64]) -> Vec<f64> {
        let mut squares = vec![0.0; mean.len()];
        for r in 0..self.data.len() {
            let row = self.data.x(r).iter().zip(mean);
            squares.iter_mut().zip(row).for_each(|(s, (x, m))| *s += (x - m) * (x - m));
        }
        squares
    }

    fn prepared(&mut self, common: &Arc<Common>) -> &mut Prepared {
        let fits = |prepared: &&Prepared| Arc::ptr_eq(&prepared.common, common) || prepared.common == *common;
        if self.prepared.as_ref().filter(fits).is_none() {
            let scaled = common.scaling.apply(&self.data);
            self.prepared = Some(Prepared {
                network: Network::in_units(&self.graph, common.degree),
                moments: Moments::of_part(&scaled, &common.pooled, common.unit),
                common: common.clone(),
                plans: Vec::new(),
            });
        }
        self.prepared.as_mut().expect("made just now")
    }
}

/// `sum X'X`, `sum X'y`, `sum y'y`.
fn sums(scaled: &Dataset) -> Vec<f64> {
    let d = scaled.dim();
    let bare = Moments::of_part(scaled, &vec![0.0; d], 1.0);
    let squares = bare.yy.iter().sum::<f64>();
    bare.total_form().into_iter().chain(bare.total_right()).chain([squares]).collect()
}

impl Prepared {
    fn level(&self, kappa: f64) -> Option<Vec<f64>> {
        self.network.log_determinant_and_trace(kappa).map(|(log_determinant, trace)| vec![log_determinant, trace])
    }

    /// Plans for roots with this many columns; the model borrows them.
    fn plan(&mut self, p: usize) -> usize {
        let known = self.plans.iter().position(|(columns, _)| *columns == p);
        known.unwrap_or_else(|| {
            self.plans.push((p, Plan::of_part(&self.network, p)));
            self.plans.len() - 1
        })
    }

    fn model(&self, plan: usize) -> Model<'_, '_> {
        let Prepared { network, moments, plans, .. } = self;
        Model { network, moments, plan: &plans[plan].1, likelihood: Likelihood::default() }
    }

    fn profile(&mut self, point: &Point) -> Option<Vec<f64>> {
        let plan = self.plan(point.root.p);
        let Profile { system, targets, target_means, s, v, .. } =
            self.model(plan).profile(&point.root, point.precision)?;
        let explained = dot(&targets, &target_means);
        Some([system.log_determinant(), explained].into_iter().chain(v).chain(s).collect())
    }

    fn slopes(&mut self, point: &Point, best: &Best) -> Option<Vec<f64>> {
        let plan = self.plan(point.root.p);
        let model = self.model(plan);
        let Profile { system, solved, target_means, .. } = model.profile(&point.root, point.precision)?;
        let Best { mu, s2, mean_covariance, restricted } = best;
        let mut u = target_means;
        let np = u.len();
        mu.iter().zip(solved.chunks_exact(np)).for_each(|(mu, column)| axpy(-mu, column, &mut u));
        let mut at = Evaluation {
            deviance: f64::NAN,
            mu: mu.clone(),
            u,
            s2: *s2,
            means: solved,
            mean_covariance: mean_covariance.clone(),
            log_s: f64::NAN,
            system,
        };
        let slopes = model.slope_sums(&mut at, *restricted);
        Some(slopes.root.into_iter().chain([slopes.log_kappa]).chain(slopes.expected).collect())
    }
}
