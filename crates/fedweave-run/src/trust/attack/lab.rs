//! Models of honest nodes with and without an attack, and their errors.

use fedweave::loss::{Family, Loss, LossOptions, LossSpec};
use fedweave::matrix::{Matrix, dot};
use fedweave::robustness::liars_bound;
use fedweave::solve::{PrimalDualRound, RobustRound, Round, Start, Watch, solve};
use fedweave::split::Part;
use fedweave::trust::attack::{Cast, DataAttack, Lie, Trigger, poisoned, rounds_under_attack};
use fedweave::trust::defence::screen::{Suspicion, screened, suspicions, suspicions_of};
use fedweave::tune::Errors;
use fedweave::{Dataset, Graph, Problem};
use fedweave_io::Input;
use rayon::prelude::*;

use super::learnt::LearntLab;
use super::result::{Proven, Step};
use super::rows::{data_attack, label_range};
use crate::checks::hold_out;
use crate::error::{Result, refuse, require};
use crate::fit;
use crate::request::FitRequest;
use crate::request::attack::AttackRequest;
use crate::request::coupling::CouplingChoice;
use crate::request::rounds::RoundsMethod;
use crate::training::TrainingRows;
use crate::watch::Observer;

/// Above this, an objective is solved again, to the accuracy of an objective of 1 ...
const OBJECTIVE_USUAL: f64 = 10.0;
/// ... but not beyond what rounding allows,
const TOLERANCE_MIN: f64 = 1e-14;
/// nor for ever.
const ITERATIONS_MAX: usize = 20_000;

/// Rows, an honest fit, and what to judge by.
pub struct Lab {
    pub input: Input,
    lambda: f64,
    pub family: Family,
    /// Error of held-out rows.
    pub test: Box<dyn Loss>,
    fit: FitRequest,
    loss: LossSpec,
    training: TrainingRows,
    test_rows: Dataset,
    /// What attackers do to rows, if that is what they do.
    attack: Option<DataAttack>,
    /// The coupling, if it is learnt.
    learnt: Option<LearntLab>,
    /// Ratio of steps that suits the honest problem.
    step_ratio: f64,
    honest: Matrix,
}

impl Lab {
    pub fn new(request: &AttackRequest, input: Input, observer: &dyn Observer) -> Result<Lab> {
        let Some(spec) = request.fit.held_out.spec else { refuse!("attacks hold out rows; give --validation") };
        let part = hold_out(&input, &request.fit.held_out, &spec, "give more rows")?;
        let graph = input.graph.clone();
        let fitted = fit::fit(request.fit.clone(), input, observer)?;
        // What the honest fit screened is not gone before the attack.
        let (lambda, input, loss) = (fitted.problem.lambda(), fitted.input.with_graph(graph), fitted.loss);
        let LossSpec::Same(family) = loss else { refuse!("attacks need one loss for all nodes") };
        require!(family != Family::Point, "attacks need a column that is predicted: not the point loss");
        let mut fit = fitted.request;
        // What is learnt is learnt in scaled features.
        fit.model.standardize |= fit.coupling == CouplingChoice::Learnt;
        let training = TrainingRows::new(&fit.model, input.data.select(&part.mask(Part::Train)));
        let test_rows = training.scale(&input.data.select(&part.mask(Part::Validation)));
        let test = loss.build(test_rows.clone(), &LossOptions::default())?;
        let attack = data_attack(request, &training, &input, family)?;
        let learnt = LearntLab::of(&fit, &input, &training.scaled)?;
        let mut lab = Lab {
            step_ratio: if learnt.is_some() { 1.0 } else { fitted.solution.step_ratio },
            learnt,
            honest: Matrix::zeros(0, 0),
            input,
            lambda,
            family,
            test,
            fit,
            loss,
            training,
            test_rows,
            attack,
        };
        let clean = lab.training.rows.clone();
        lab.honest = lab.models(&clean)?;
        Ok(lab)
    }

    /// What so many attackers achieve; `None` if no honest node can be judged.
    pub fn step(&self, request: &AttackRequest, attackers: &[usize], victim: Option<usize>) -> Result<Option<Step>> {
        let judged: Vec<usize> = match victim {
            Some(node) => vec![node],
            None => (0..self.input.names.len()).filter(|i| !attackers.contains(i) && self.test.has_rows(*i)).collect(),
        };
        if judged.is_empty() {
            return Ok(None);
        }
        let (attacked, clean, lie) = match (&self.attack, request.kind.is_in_rounds()) {
            (Some(attack), _) => {
                let spared = usize::from(self.fit.model.intercept());
                let rows = poisoned(&self.training.rows, attackers, attack, spared);
                (self.models(&rows)?, self.honest.clone(), None)
            }
            (None, _) => {
                let (attacked, clean, lie) = self.worst_lie(request, attackers, &judged)?;
                (attacked, clean, Some(lie))
            }
        };
        let success = match &self.attack {
            Some(DataAttack::Backdoor { trigger, label }) => self.success(&judged, &attacked, *trigger, *label),
            _ => None,
        };
        Ok(Some(Step {
            attackers: attackers.len(),
            clean: self.error(&judged, &clean),
            error: self.error(&judged, &attacked),
            lie,
            success,
            proven: self.proven(attackers, &judged)?,
        }))
    }

    /// The strength of the coupling, if it is given, and what the coupling is.
    pub fn coupling(&self) -> (Option<f64>, String) {
        match &self.learnt {
            Some(learnt) => (None, learnt.name()),
            None => (Some(self.lambda), self.fit.model.penalty.name().into()),
        }
    }

    /// What is minimised, in the parameters that rounds exchange.
    fn problem(&self, graph: Graph, rows: &Dataset) -> Result<Problem> {
        if let Some(learnt) = &self.learnt {
            return learnt.problem(&graph, &self.training.scale(rows));
        }
        let loss = self.loss.build(self.training.scale(rows), &self.fit.model.options)?;
        Ok(Problem::build(graph, loss, self.fit.model.penalty(&self.input)?, self.lambda)?)
    }

    /// Models of rows, with the defences of the fit.
    fn models(&self, rows: &Dataset) -> Result<Matrix> {
        if let Some(learnt) = &self.learnt {
            return learnt.models(&self.input.graph, &self.training.scale(rows), &self.fit.solve);
        }
        let problem = self.problem(self.input.graph.clone(), rows)?;
        let (w, u) = self.solved(&problem)?;
        let Some(factor) = self.fit.screen else { return Ok(w) };
        let (graph, _) = screened(problem.graph(), &suspicions(&problem, &w, &u), factor)?;
        Ok(self.solved(&self.problem(graph, rows)?)?.0)
    }

    fn solved(&self, problem: &Problem) -> Result<(Matrix, Matrix)> {
        match &self.fit.rounds {
            None => {
                let mut settings = self.fit.solve.clone();
                let first = solve(problem, &settings, None, &mut |_| Watch::Continue);
                // A tolerance relative to the losses of attackers, which may be huge, says nothing about honest models.
                if first.objective <= OBJECTIVE_USUAL {
                    return Ok((first.w, first.u));
                }
                settings.tolerance = (settings.tolerance / first.objective).max(TOLERANCE_MIN);
                settings.iterations_max = settings.iterations_max.min(ITERATIONS_MAX);
                let start = Start { w: first.w, u: first.u, step_ratio: first.step_ratio, clusters: None };
                let solution = solve(problem, &settings, Some(start), &mut |_| Watch::Continue);
                Ok((solution.w, solution.u))
            }
            Some(rounds) => {
                let mut method = rounds.method(problem)?;
                (0..rounds.count.unwrap_or(1_000)).for_each(|_| method.round());
                Ok((method.models().clone(), Matrix::zeros(0, problem.dim())))
            }
        }
    }

    /// The lie that harms most, its models, and those of honest rounds.
    fn worst_lie(
        &self,
        request: &AttackRequest,
        attackers: &[usize],
        judged: &[usize],
    ) -> Result<(Matrix, Matrix, Lie)> {
        let problem = self.problem(self.input.graph.clone(), &self.training.rows)?;
        let cast = Cast::new(problem.graph(), attackers)?;
        let run = |lie: Option<Lie>| self.rounds(&problem, &cast, lie, request.rounds);
        let clean = run(None)?;
        let variants: Vec<Lie> = request.lies.iter().flat_map(|lie| lie.variants()).collect();
        let tried: Vec<(f64, Matrix, Lie)> = variants
            .into_par_iter()
            .map(|lie| {
                let w = run(Some(lie))?;
                Ok((self.error(judged, &w), w, lie))
            })
            .collect::<Result<_>>()?;
        let worst = tried.into_iter().reduce(|a, b| if b.0 > a.0 { b } else { a });
        let Some((_, attacked, lie)) = worst else { refuse!("there is no lie to try") };
        Ok((attacked, clean, lie))
    }

    fn rounds(&self, problem: &Problem, cast: &Cast, lie: Option<Lie>, count: usize) -> Result<Matrix> {
        let once = |problem: &Problem| -> Result<(Matrix, Vec<Suspicion>)> {
            let (n, d) = (problem.nodes(), problem.dim());
            let (own, w) = ((0..n as u32).collect(), Matrix::zeros(n, d));
            let mut round: Box<dyn Round + '_> = match self.fit.rounds.as_ref().map(|rounds| &rounds.method) {
                Some(RoundsMethod::Robust(options)) => Box::new(RobustRound::new(problem, own, &w, *options)?),
                _ => {
                    let u = Matrix::zeros(problem.graph().edges(), d);
                    Box::new(PrimalDualRound::new(problem, own, &w, &u, self.step_ratio, 1.0))
                }
            };
            let heard = rounds_under_attack(&mut *round, cast, lie, count, &mut |_, _, _| true);
            Ok((round.models().clone(), suspicions_of(problem, &heard, &round.flows())))
        };
        let (w, suspicions) = once(problem)?;
        let w = match &self.learnt {
            Some(learnt) => learnt.restored(w, self.input.names.len()),
            None => w,
        };
        let Some(factor) = self.fit.screen else { return Ok(w) };
        let (graph, _) = screened(problem.graph(), &suspicions, factor)?;
        Ok(once(&self.problem(graph, &self.training.rows)?)?.0)
    }

    fn error(&self, judged: &[usize], w: &Matrix) -> f64 {
        let errors = Errors::of(&*self.test, w).by_node;
        let found: Vec<f64> = judged.iter().filter_map(|&i| errors[i]).collect();
        let mean = found.iter().sum::<f64>() / found.len().max(1) as f64;
        // Models that are no numbers any more are broken for good.
        if mean.is_nan() { f64::INFINITY } else { mean }
    }

    /// The largest error that the bound on liars leaves to honest nodes.
    fn proven(&self, attackers: &[usize], judged: &[usize]) -> Result<std::result::Result<Proven, String>> {
        let problem = self.problem(self.input.graph.clone(), &self.training.rows)?;
        let lies = |i: usize| attackers.contains(&i);
        if let Some(learnt) = &self.learnt {
            return Ok(Err(learnt.no_bound().into()));
        }
        if self.fit.screen.is_some() || self.fit.rounds.is_some() {
            return Ok(Err("there is no bound for screened edges and for rules in rounds, only for penalties".into()));
        }
        let distance = match liars_bound(&problem, lies) {
            Ok(distance) => distance,
            Err(why) => return Ok(Err(why.to_string())),
        };
        if self.family != Family::Squared {
            return Ok(Ok(Proven { distance, error: None }));
        }
        let graph = problem.graph();
        let kept = (0..graph.edges()).map(|e| (graph.nodes_of(e), graph.weight(e)));
        let kept = kept.filter(|((i, j), _)| !lies(*i) && !lies(*j));
        let edges: Vec<_> = kept.map(|((i, j), a)| (i, j, a)).collect();
        let removed = self.problem(Graph::new(graph.nodes(), &edges)?, &self.training.rows)?;
        let w = self.solved(&removed)?.0;
        // Half of the smoothness of the squared loss on test rows: the largest mean square of x'v for a unit vector v.
        let stretch = judged.iter().map(|&i| 0.5 * self.test.curvature(i).beta).fold(0.0, f64::max).sqrt();
        let root = self.error(judged, &w).sqrt() + stretch * distance / (judged.len() as f64).sqrt();
        Ok(Ok(Proven { distance, error: Some(root * root) }))
    }

    /// The share of held-out rows that do with the trigger what the attacker wants, of those that did not do it before.
    fn success(&self, judged: &[usize], attacked: &Matrix, trigger: Trigger, label: f64) -> Option<f64> {
        let scaled = self
            .training
            .scaling
            .as_ref()
            .map_or(trigger.value, |s| (trigger.value - s.mean()[trigger.feature]) / s.scale()[trigger.feature]);
        let rows = Trigger { value: scaled, ..trigger }.on(&self.test_rows);
        let (mut opened, mut all) = (0usize, 0usize);
        for &i in judged {
            for row in rows.rows(i) {
                let says = |w: &Matrix| self.says(rows.x(row), w.row(i));
                let (before, after) = (says(&self.honest), says(attacked));
                let done = match self.family.is_classifier() {
                    true if before == label => continue,
                    true => after == label,
                    false => (after - before) * (label - before).signum() >= 0.5 * (label - before).abs(),
                };
                all += 1;
                opened += usize::from(done);
            }
        }
        (all > 0).then(|| opened as f64 / all as f64)
    }

    /// A prediction in the units of labels: the class of a classifier.
    fn says(&self, x: &[f64], w: &[f64]) -> f64 {
        match self.family {
            Family::Multinomial { .. } => {
                let scores = w.chunks_exact(x.len()).map(|w| dot(x, w)).enumerate();
                scores.reduce(|a, b| if b.1 > a.1 { b } else { a }).map_or(0.0, |best| best.0 as f64)
            }
            Family::Logistic | Family::SquaredHinge => {
                let (low, high) = label_range(&self.training.rows);
                if dot(x, w) > 0.0 { high } else { low }
            }
            Family::Poisson => dot(x, w).exp(),
            _ => dot(x, w),
        }
    }
}
