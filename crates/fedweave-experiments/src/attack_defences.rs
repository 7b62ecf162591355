//! What honest nodes do against attackers, and the models that they end with.

use std::sync::Arc;

use fedweave::learn::coupling::{Coupling, CouplingOptions, Form, Whitening, learn};
use fedweave::loss::{Family, LossOptions, NodeWeight};
use fedweave::penalty::{HuberNorm, Norm2, Penalty, SquaredNorm};
use fedweave::solve::{PrimalDualRound, RobustOptions, RobustRound, Round, Settings, Watch, solve};
use fedweave::trust::attack::{Cast, Lie, rounds_under_attack};
use fedweave::trust::defence::Rule;
use fedweave::trust::defence::screen::{Suspicion, screened, suspicions, suspicions_of};
use fedweave::tune::Errors;
use fedweave::{Dataset, Graph, Matrix, Problem};

use crate::Error;
use crate::attack_networks::AttackedNetwork;

/// Keeps all losses strongly convex.
const RIDGE: f64 = 0.01;
const LAMBDAS: [f64; 6] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0];
/// Rounds under attack, fewer if nothing moves any more; a learnt metric, with its common mean, takes longer.
const ROUNDS: usize = 400;
const ROUNDS_LEARNT: usize = 4_000;
/// Relative to the objective, of which the losses of attackers may be nearly all.
const TOLERANCE: f64 = 1e-11;
/// Edges with a larger score are left out.
const SCREEN: f64 = 2.0;

/// A way to learn with neighbours some of whom lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Defence {
    Squared,
    Norm2,
    Huber,
    HuberLoss,
    Screened,
    LearntQuadratic,
    LearntHuber,
    LearntNorm,
    Rule(Rule),
    /// CS+, after which neighbours are judged, and CS+ again without those found guilty.
    ClippedScreened,
}

impl Defence {
    /// All of them; the first is none.
    pub const ALL: [Defence; 13] = [
        Defence::Squared,
        Defence::Norm2,
        Defence::Huber,
        Defence::HuberLoss,
        Defence::Screened,
        Defence::LearntQuadratic,
        Defence::LearntHuber,
        Defence::LearntNorm,
        Defence::Rule(Rule::Median),
        Defence::Rule(Rule::TrimmedMean),
        Defence::Rule(Rule::ClippedGossip),
        Defence::Rule(Rule::ClippedSum),
        Defence::ClippedScreened,
    ];
    /// Those that are compared with the others.
    pub const RIVALS: [Defence; 3] =
        [Defence::Rule(Rule::TrimmedMean), Defence::Rule(Rule::ClippedGossip), Defence::Rule(Rule::ClippedSum)];

    pub fn name(self) -> String {
        match self {
            Defence::Squared => "squared (none)".into(),
            Defence::Norm2 => "norm2".into(),
            Defence::Huber => "huber".into(),
            Defence::HuberLoss => "huber loss, norm2".into(),
            Defence::Screened => "norm2, screened".into(),
            Defence::LearntQuadratic => "learnt".into(),
            Defence::LearntHuber => "learnt, huber".into(),
            Defence::LearntNorm => "learnt, norm".into(),
            Defence::Rule(rule) => rule.name().into(),
            Defence::ClippedScreened => "cs-plus, screened".into(),
        }
    }

    fn is_learnt(self) -> bool {
        matches!(self, Defence::LearntQuadratic | Defence::LearntHuber | Defence::LearntNorm)
    }

    fn is_screened(self) -> bool {
        matches!(self, Defence::Screened | Defence::ClippedScreened)
    }

    /// The rule that takes the place of the pull, if one does.
    fn rule(self) -> Option<Rule> {
        match self {
            Defence::Rule(rule) => Some(rule),
            Defence::ClippedScreened => Some(Rule::ClippedSum),
            _ => None,
        }
    }

    fn family(self) -> Family {
        match self {
            Defence::HuberLoss => Family::Huber { delta: 0.5 },
            _ => Family::Squared,
        }
    }

    fn penalty(self, reach: f64) -> Result<Box<dyn Penalty>, Error> {
        Ok(match self {
            Defence::Huber => Box::new(HuberNorm::new(reach)?),
            Defence::Norm2 | Defence::HuberLoss | Defence::Screened => Box::new(Norm2),
            _ => Box::new(SquaredNorm),
        })
    }
}

/// A defence with everything that was chosen in peace.
#[derive(Debug, Clone)]
pub struct Tuned {
    pub defence: Defence,
    lambda: f64,
    reach: f64,
    liars: usize,
    /// The coupling of rows that nobody has touched, for attackers that lie in rounds only.
    honest: Option<Arc<Coupling>>,
}

/// Models, and what honest nodes think of their neighbours.
pub struct Outcome {
    pub w: Matrix,
    pub suspicions: Vec<Suspicion>,
}

impl Tuned {
    /// Chooses lambda on validation rows of the network without the attackers. `reach` is a usual distance of neighbours.
    pub fn in_peace(
        defence: Defence,
        net: &AttackedNetwork,
        peace: &Graph,
        judged: &[usize],
        reach: f64,
        liars: usize,
    ) -> Result<Tuned, Error> {
        let honest = match defence.is_learnt() {
            true => Some(Arc::new(learn(&net.graph, &net.train, &CouplingOptions::default())?.coupling)),
            false => None,
        };
        let plain = Tuned { defence, lambda: LAMBDAS[0], reach, liars, honest };
        let mut best = (f64::INFINITY, plain.clone());
        for lambda in LAMBDAS.into_iter().take(if defence.is_learnt() { 1 } else { LAMBDAS.len() }) {
            let tuned = Tuned { lambda, ..plain.clone() };
            let error = mean_error(&net.validation, &tuned.models(peace, &net.train, None)?.w, judged)?;
            if error < best.0 {
                best = (error, tuned);
            }
        }
        Ok(best.1)
    }

    /// The models of rows on a graph, in rounds with liars or without any.
    pub fn models(&self, graph: &Graph, data: &Dataset, attack: Option<(&Cast, Lie)>) -> Result<Outcome, Error> {
        if self.defence.is_learnt() {
            return self.learnt(graph, data, attack);
        }
        let problem = self.problem(graph, data)?;
        let first = self.run(&problem, attack)?;
        if !self.defence.is_screened() {
            return Ok(first);
        }
        let (kept, _) = screened(graph, &first.suspicions, SCREEN)?;
        Ok(Outcome { w: self.run(&self.problem(&kept, data)?, attack)?.w, ..first })
    }

    fn problem(&self, graph: &Graph, data: &Dataset) -> Result<Problem, Error> {
        let options = LossOptions { ridge: RIDGE, lasso: 0.0, spare_last: false, node_weight: NodeWeight::Equal };
        let loss = self.defence.family().build(data.clone(), &options)?;
        Ok(Problem::build(graph.clone(), loss, self.defence.penalty(self.reach)?, self.lambda)?)
    }

    fn run(&self, problem: &Problem, attack: Option<(&Cast, Lie)>) -> Result<Outcome, Error> {
        let (n, d) = (problem.nodes(), problem.dim());
        let (own, w) = ((0..n as u32).collect(), Matrix::zeros(n, d));
        let mut round: Box<dyn Round + '_> = match (self.defence.rule(), attack) {
            (Some(rule), _) => {
                let options = RobustOptions { rule, liars: self.liars, step: None };
                Box::new(RobustRound::new(problem, own, &w, options)?)
            }
            (_, None) => {
                let settings = Settings { tolerance: TOLERANCE, ..Settings::default() };
                let found = solve(problem, &settings, None, &mut |_| Watch::Continue);
                let suspicions = suspicions(problem, &found.w, &found.u);
                return Ok(Outcome { w: found.w, suspicions });
            }
            _ => {
                let u = Matrix::zeros(problem.graph().edges(), d);
                Box::new(PrimalDualRound::new(problem, own, &w, &u, 1.0, 1.0))
            }
        };
        let peace;
        let (cast, lie) = match attack {
            Some((cast, lie)) => (cast, Some(lie)),
            None => {
                peace = Cast::new(problem.graph(), &[])?;
                (&peace, None)
            }
        };
        let mut see = |k: usize, round: &dyn Round, _: &Matrix| !k.is_multiple_of(20) || round.residual() > 1e-6;
        let rounds = if self.defence.is_learnt() { ROUNDS_LEARNT } else { ROUNDS };
        let heard = rounds_under_attack(&mut *round, cast, lie, rounds, &mut see);
        let suspicions = suspicions_of(problem, &heard, &round.flows());
        Ok(Outcome { w: round.models().clone(), suspicions })
    }

    /// What a difference of models costs with a learnt coupling.
    fn form(&self, coupling: &Coupling, graph: &Graph, data: &Dataset) -> Result<Form, Error> {
        let usual = coupling.usual_distance(graph, &coupling.posterior(graph, data)?);
        Ok(match self.defence {
            Defence::LearntHuber => Form::Huber(usual),
            Defence::LearntNorm => Form::Norm(usual),
            _ => Form::Quadratic,
        })
    }

    /// The coupling is learnt from the rows as they are, poisoned ones too.
    fn learnt(&self, graph: &Graph, data: &Dataset, attack: Option<(&Cast, Lie)>) -> Result<Outcome, Error> {
        let coupling = match (&self.honest, attack) {
            (Some(honest), Some(_)) => honest.clone(),
            _ => Arc::new(learn(graph, data, &CouplingOptions::default())?.coupling),
        };
        let problem = coupling.bounded_problem(graph, data, self.form(&coupling, graph, data)?)?;
        // The common mean is one node more, and honest.
        let cast = attack.map(|(cast, lie)| Ok::<_, Error>((Cast::new(problem.graph(), &cast.attackers)?, lie)));
        let cast = cast.transpose()?;
        let mut found = self.run(&problem, cast.as_ref().map(|(cast, lie)| (cast, *lie)))?;
        Whitening::of(&coupling).restore(&mut found.w);
        let n = data.nodes();
        let w = Matrix::from_rows(found.w.cols(), found.w.as_slice()[..n * found.w.cols()].to_vec());
        found.suspicions.retain(|s| s.node < n && s.neighbour < n);
        Ok(Outcome { w, ..found })
    }
}

/// The mean squared error of some nodes.
pub fn mean_error(rows: &Dataset, w: &Matrix, judged: &[usize]) -> Result<f64, Error> {
    let loss = Family::Squared.build(rows.clone(), &LossOptions::default())?;
    let errors = Errors::of(&*loss, w).by_node;
    let found: Vec<f64> = judged.iter().filter_map(|&i| errors[i]).collect();
    Ok(found.iter().sum::<f64>() / found.len().max(1) as f64)
}

/// The median distance of the models of neighbours, with the squared penalty and a moderate lambda.
pub fn usual_distance(net: &AttackedNetwork, graph: &Graph) -> Result<f64, Error> {
    let tuned = Tuned { defence: Defence::Squared, lambda: 0.1, reach: 1.0, liars: 0, honest: None };
    let w = tuned.models(graph, &net.train, None)?.w;
    let distance = |e: usize| {
        let (i, j) = graph.nodes_of(e);
        w.row(i).iter().zip(w.row(j)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    };
    let mut all: Vec<f64> = (0..graph.edges()).map(distance).collect();
    all.sort_by(f64::total_cmp);
    Ok(all.get(all.len() / 2).copied().filter(|d| *d > 0.0).unwrap_or(1.0))
}
