//! Solvers that exchange messages in rounds.

use fedweave::Problem;
use fedweave::baseline::{Averaging, FedAvg, FedAvgOptions, Ifca, IfcaOptions, LocalUpdate, PFedMe, PFedMeOptions};
use fedweave::solve::{
    AsyncFedGd, AsyncOptions, Constraint, FedGd, FedRelax, FedSgd, Method, Order, Pdmm, PdmmOptions, PrimalDualRounds,
    Robust, RobustOptions, Schedule, Settings, SgdOptions, Subset,
};

use fedweave::trust::defence::Rule;

use super::settings::Reader;
use crate::error::{Result, refuse, require};

/// A solver that exchanges messages, and how long.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundsChoice {
    /// The solver with its settings.
    pub method: RoundsMethod,
    /// Exactly so many rounds; `None`: until the tolerance.
    pub count: Option<usize>,
}

/// The solver with its settings.
#[derive(Debug, Clone, PartialEq)]
pub enum RoundsMethod {
    /// Gradient descent, with this step or a safe one.
    FedGd(Option<f64>),
    /// The same, projected.
    Projected(Option<f64>, Constraint),
    /// Stochastic gradients.
    FedSgd(SgdOptions),
    /// Gradient descent out of step.
    AsyncFedGd(AsyncOptions),
    /// Block coordinate minimisation.
    FedRelax(Order),
    /// The primal-dual method of multipliers.
    Pdmm(PdmmOptions),
    /// Its own models after some rounds, without a judge that may find better ones.
    PrimalDual {
        /// Ratio of primal to dual steps.
        step_ratio: Option<f64>,
        /// Relaxation of the steps.
        relaxation: f64,
    },
    /// Gradient descent that distrusts neighbours.
    Robust(RobustOptions),
    /// One model, averaged by a server.
    FedAvg(FedAvgOptions),
    /// Several models, and every node takes the best for it.
    Ifca(IfcaOptions),
    /// Personal models around a common one.
    PFedMe(PFedMeOptions),
}

/// The names of `solver` that mean one of them.
pub const NAMES: [&str; 10] =
    ["fedgd", "fedsgd", "async-fedgd", "fedrelax", "pdmm", "projected-gradient", "robust", "fedavg", "ifca", "pfedme"];

impl RoundsChoice {
    /// The solver asked for, if it is one of these. Settings of other solvers stay unread.
    pub(super) fn read(reader: &Reader) -> Result<Option<RoundsChoice>> {
        let Some(name) = reader.text("solver") else { return Ok(None) };
        let by_message = NAMES.contains(&name);
        let counted = name == "primal-dual" && reader.has("rounds");
        if !by_message && !counted {
            return Ok(None);
        }
        for foreign in ["step-ratio", "relaxation"].into_iter().filter(|_| by_message) {
            require!(!reader.has(foreign), "--{foreign} does not go with --solver {name}");
        }
        Ok(Some(RoundsChoice { method: RoundsMethod::read(name, reader)?, count: reader.count("rounds") }))
    }

    /// The method on a problem.
    pub fn method<'p>(&self, problem: &'p Problem) -> Result<Box<dyn Method + 'p>> {
        Ok(match &self.method {
            RoundsMethod::FedGd(step) => Box::new(FedGd::new(problem, *step)?),
            RoundsMethod::Projected(step, constraint) => Box::new(FedGd::projected(problem, *step, *constraint)?),
            RoundsMethod::FedSgd(options) => Box::new(FedSgd::new(problem, *options)?),
            RoundsMethod::AsyncFedGd(options) => Box::new(AsyncFedGd::new(problem, options.clone())?),
            RoundsMethod::FedRelax(order) => Box::new(FedRelax::new(problem, *order)?),
            RoundsMethod::Pdmm(options) => Box::new(Pdmm::new(problem, *options)?),
            RoundsMethod::PrimalDual { step_ratio, relaxation } => {
                Box::new(PrimalDualRounds::new(problem, *step_ratio, *relaxation)?)
            }
            RoundsMethod::Robust(options) => Box::new(Robust::new(problem, *options)?),
            RoundsMethod::FedAvg(options) => Box::new(FedAvg::new(problem.loss(), *options)?),
            RoundsMethod::Ifca(options) => Box::new(Ifca::new(problem.loss(), *options)?),
            RoundsMethod::PFedMe(options) => Box::new(PFedMe::new(problem.loss(), *options)?),
        })
    }

    /// True if the method uses the graph.
    pub fn is_coupled(&self) -> bool {
        !matches!(self.method, RoundsMethod::FedAvg(_) | RoundsMethod::Ifca(_) | RoundsMethod::PFedMe(_))
    }
}

impl RoundsMethod {
    fn read(name: &str, reader: &Reader) -> Result<RoundsMethod> {
        let seed = reader.count("seed").unwrap_or(0) as u64;
        let step = || reader.number("step");
        Ok(match name {
            "fedgd" => RoundsMethod::FedGd(step()),
            "projected-gradient" => RoundsMethod::Projected(step(), constraint(reader)?),
            "fedsgd" => {
                let batch = reader.count("batch").unwrap_or(SgdOptions::default().batch);
                RoundsMethod::FedSgd(SgdOptions { batch, step: step(), schedule: schedule(reader)?, seed })
            }
            "async-fedgd" => RoundsMethod::AsyncFedGd(out_of_step(reader, seed)?),
            "fedrelax" => {
                let orders = [("in-turn", Order::InTurn), ("together", Order::Together)];
                RoundsMethod::FedRelax(reader.choice("order", &orders)?)
            }
            "primal-dual" => RoundsMethod::PrimalDual {
                step_ratio: reader.number("step-ratio"),
                relaxation: reader.number("relaxation").unwrap_or(Settings::default().relaxation),
            },
            "robust" => {
                let default = RobustOptions::default();
                let rule = if reader.has("rule") { reader.choice("rule", &Rule::NAMES)? } else { default.rule };
                let liars = reader.count("liars").unwrap_or(default.liars);
                RoundsMethod::Robust(RobustOptions { rule, liars, step: step() })
            }
            "fedavg" => RoundsMethod::FedAvg(FedAvgOptions { local: local_update(reader)?, step: step() }),
            "ifca" => RoundsMethod::Ifca(ifca(reader, seed)?),
            "pfedme" => RoundsMethod::PFedMe(PFedMeOptions {
                penalty: reader.number("gamma").unwrap_or(1.0),
                step: step(),
                steps: reader.count("local-steps").unwrap_or(1),
                mixing: 1.0,
            }),
            _ => RoundsMethod::Pdmm(pdmm(reader, seed)),
        })
    }
}

fn local_steps(reader: &Reader) -> usize {
    reader.count("local-steps").unwrap_or(5)
}

fn local_update(reader: &Reader) -> Result<LocalUpdate> {
    let (prox, steps) = (reader.flag("prox"), reader.has("local-steps"));
    require!(!(prox && steps), "give --prox or --local-steps, not both: a proximal step is one");
    Ok(if prox { LocalUpdate::Prox } else { LocalUpdate::Gradient { steps: local_steps(reader) } })
}

fn out_of_step(reader: &Reader, seed: u64) -> Result<AsyncOptions> {
    let default = AsyncOptions::default();
    let active = reader.number("active").map_or(default.active, |share| vec![share]);
    let delay_max = reader.count("delay-max").unwrap_or(default.delay_max);
    require!(delay_max <= 10_000, "--delay-max {delay_max}: at most 10000 rounds are kept");
    Ok(AsyncOptions { active, delay_max, step: reader.number("step"), seed })
}

fn ifca(reader: &Reader, seed: u64) -> Result<IfcaOptions> {
    if let Some(path) = reader.text("models") {
        refuse!("--models {path}: --solver ifca needs a number of models");
    }
    let (k, restarts) = (reader.count("models").unwrap_or(2), reader.count("restarts").unwrap_or(1));
    let averaging = Averaging::Models { steps: local_steps(reader) };
    Ok(IfcaOptions { k, averaging, step: reader.number("step"), restarts, seed, ..Default::default() })
}

fn schedule(reader: &Reader) -> Result<Schedule> {
    let known =
        [("inverse-root", Schedule::InverseRoot), ("inverse", Schedule::Inverse), ("constant", Schedule::Constant)];
    reader.choice("schedule", &known)
}

fn constraint(reader: &Reader) -> Result<Constraint> {
    match (reader.number("ball"), reader.numbers("box").as_deref()) {
        (Some(radius), None) => Ok(Constraint::Ball { radius }),
        (None, Some(&[low, high])) => Ok(Constraint::Box { low, high }),
        (None, Some(_)) => refuse!("--box takes two numbers: LOW,HIGH (inf and -inf are allowed)"),
        _ => refuse!("--solver projected-gradient needs a constraint: --ball RADIUS or --box LOW,HIGH"),
    }
}

fn pdmm(reader: &Reader, seed: u64) -> PdmmOptions {
    let default = PdmmOptions::default();
    PdmmOptions {
        rho: reader.number("rho"),
        eta: reader.number("eta"),
        tau: reader.number("tau"),
        nu: reader.number("nu"),
        subset: reader.number("users").map_or(default.subset, Subset::Users),
        as_printed: reader.flag("as-printed"),
        cease_after: reader.count("cease-after").map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
        seed,
    }
}
