//! Solvers that exchange messages in rounds: which flags belong to which, and what they mean.

use anyhow::{Result, bail, ensure};
use fedweave::Problem;
use fedweave::baseline::{Averaging, FedAvg, FedAvgOptions, Ifca, IfcaOptions, LocalUpdate, PFedMe, PFedMeOptions};
use fedweave::solve::{
    AsyncFedGd, AsyncOptions, Constraint, FedGd, FedRelax, FedSgd, Method, Order, Pdmm, PdmmOptions, PrimalDualRounds,
    Schedule, Settings, SgdOptions, Subset,
};

use crate::config::{Models, RawConfig};
use crate::plan::choice;

/// A solver that exchanges messages, with its settings.
#[derive(Debug, Clone, PartialEq)]
pub enum Rounds {
    FedGd(Option<f64>),
    Projected(Option<f64>, Constraint),
    FedSgd(SgdOptions),
    AsyncFedGd(AsyncOptions),
    FedRelax(Order),
    Pdmm(PdmmOptions),
    /// Its own models after some rounds, without a judge that may find better ones.
    PrimalDual {
        step_ratio: Option<f64>,
        relaxation: f64,
    },
    FedAvg(FedAvgOptions),
    Ifca(IfcaOptions),
    PFedMe(PFedMeOptions),
}

/// The names of `--solver` that mean one of them.
pub const NAMES: [&str; 9] =
    ["fedgd", "fedsgd", "async-fedgd", "fedrelax", "pdmm", "projected-gradient", "fedavg", "ifca", "pfedme"];

impl Rounds {
    /// The solver asked for, if it is one of these. Flags of other solvers are refused.
    pub fn new(raw: &RawConfig) -> Result<Option<Rounds>> {
        let solver = raw.solver.as_deref();
        refuse_foreign_flags(raw, solver)?;
        let solver = solver.filter(|name| NAMES.contains(name) || (*name == "primal-dual" && raw.rounds.is_some()));
        let seed = raw.seed.unwrap_or(0);
        Ok(match solver {
            None => None,
            Some("fedgd") => Some(Rounds::FedGd(raw.step)),
            Some("projected-gradient") => Some(Rounds::Projected(raw.step, constraint(raw)?)),
            Some("fedsgd") => Some(Rounds::FedSgd(SgdOptions {
                batch: raw.batch.unwrap_or(SgdOptions::default().batch),
                step: raw.step,
                schedule: schedule(raw)?,
                seed,
            })),
            Some("async-fedgd") => {
                let default = AsyncOptions::default();
                let active = raw.active.map_or(default.active, |share| vec![share]);
                let delay_max = raw.delay_max.unwrap_or(default.delay_max);
                ensure!(delay_max <= 10_000, "--delay-max {delay_max}: at most 10000 rounds are kept");
                Some(Rounds::AsyncFedGd(AsyncOptions { active, delay_max, step: raw.step, seed }))
            }
            Some("fedrelax") => {
                let orders = [("in-turn", Order::InTurn), ("together", Order::Together)];
                Some(Rounds::FedRelax(choice("--order", raw.order.as_deref(), &orders)?))
            }
            Some("primal-dual") => {
                let relaxation = raw.relaxation.unwrap_or(Settings::default().relaxation);
                Some(Rounds::PrimalDual { step_ratio: raw.step_ratio, relaxation })
            }
            Some("fedavg") => {
                let local =
                    if raw.prox { LocalUpdate::Prox } else { LocalUpdate::Gradient { steps: local_steps(raw) } };
                Some(Rounds::FedAvg(FedAvgOptions { local, step: raw.step }))
            }
            Some("ifca") => {
                let k = match &raw.models {
                    Some(Models::Count(k)) => *k,
                    Some(Models::File(path)) => {
                        bail!("--models {}: --solver ifca needs a number of models", path.display())
                    }
                    None => 2,
                };
                let restarts = raw.restarts.unwrap_or(1);
                let averaging = Averaging::Models { steps: local_steps(raw) };
                Some(Rounds::Ifca(IfcaOptions { k, averaging, step: raw.step, restarts, seed, ..Default::default() }))
            }
            Some("pfedme") => {
                let (penalty, steps) = (raw.gamma.unwrap_or(1.0), raw.local_steps.unwrap_or(1));
                Some(Rounds::PFedMe(PFedMeOptions { penalty, step: raw.step, steps, mixing: 1.0 }))
            }
            Some(_) => Some(Rounds::Pdmm(pdmm(raw, seed))),
        })
    }

    /// The method on a problem.
    pub fn method<'p>(&self, problem: &'p Problem) -> Result<Box<dyn Method + 'p>> {
        Ok(match self {
            Rounds::FedGd(step) => Box::new(FedGd::new(problem, *step)?),
            Rounds::Projected(step, constraint) => Box::new(FedGd::projected(problem, *step, *constraint)?),
            Rounds::FedSgd(options) => Box::new(FedSgd::new(problem, *options)?),
            Rounds::AsyncFedGd(options) => Box::new(AsyncFedGd::new(problem, options.clone())?),
            Rounds::FedRelax(order) => Box::new(FedRelax::new(problem, *order)?),
            Rounds::Pdmm(options) => Box::new(Pdmm::new(problem, *options)?),
            Rounds::PrimalDual { step_ratio, relaxation } => {
                Box::new(PrimalDualRounds::new(problem, *step_ratio, *relaxation)?)
            }
            Rounds::FedAvg(options) => Box::new(FedAvg::new(problem.loss(), *options)?),
            Rounds::Ifca(options) => Box::new(Ifca::new(problem.loss(), *options)?),
            Rounds::PFedMe(options) => Box::new(PFedMe::new(problem.loss(), *options)?),
        })
    }

    /// True if the method uses the graph.
    pub fn is_coupled(&self) -> bool {
        !matches!(self, Rounds::FedAvg(_) | Rounds::Ifca(_) | Rounds::PFedMe(_))
    }
}

/// Every flag of these solvers, whether it is given, and the solvers it belongs to.
fn refuse_foreign_flags(raw: &RawConfig, solver: Option<&str>) -> Result<()> {
    let stepping = &["fedgd", "fedsgd", "async-fedgd", "projected-gradient", "fedavg", "ifca", "pfedme"][..];
    let with_rounds: Vec<&str> = NAMES.into_iter().chain(["primal-dual"]).collect();
    let flags: [(&str, bool, &[&str]); 21] = [
        ("--rounds", raw.rounds.is_some(), &with_rounds),
        ("--step", raw.step.is_some(), stepping),
        ("--batch", raw.batch.is_some(), &["fedsgd"]),
        ("--schedule", raw.schedule.is_some(), &["fedsgd"]),
        ("--active", raw.active.is_some(), &["async-fedgd"]),
        ("--delay-max", raw.delay_max.is_some(), &["async-fedgd"]),
        ("--order", raw.order.is_some(), &["fedrelax"]),
        ("--local-steps", raw.local_steps.is_some(), &["fedavg", "ifca", "pfedme"]),
        ("--prox", raw.prox, &["fedavg"]),
        ("--models", raw.models.is_some(), &["ifca"]),
        ("--restarts", raw.restarts.is_some(), &["ifca"]),
        ("--gamma", raw.gamma.is_some(), &["pfedme"]),
        ("--ball", raw.ball.is_some(), &["projected-gradient"]),
        ("--box", raw.box_.is_some(), &["projected-gradient"]),
        ("--rho", raw.rho.is_some(), &["pdmm"]),
        ("--eta", raw.eta.is_some(), &["pdmm"]),
        ("--tau", raw.tau.is_some(), &["pdmm"]),
        ("--nu", raw.nu.is_some(), &["pdmm"]),
        ("--users", raw.users.is_some(), &["pdmm"]),
        ("--as-printed", raw.as_printed, &["pdmm"]),
        ("--cease-after", raw.cease_after.is_some(), &["pdmm"]),
    ];
    for (flag, given, solvers) in flags {
        if given && !solver.is_some_and(|name| solvers.contains(&name)) {
            bail!("{flag} belongs to --solver {}", solvers.join(", "));
        }
    }
    ensure!(!(raw.prox && raw.local_steps.is_some()), "give --prox or --local-steps, not both: a proximal step is one");
    let others = [
        ("--step-ratio", raw.step_ratio.is_some()),
        ("--relaxation", raw.relaxation.is_some()),
        ("--resume", raw.resume.is_some()),
    ];
    let solver = solver.filter(|name| NAMES.contains(name));
    match (solver, others.iter().find(|(_, given)| *given)) {
        (Some(name), Some((flag, _))) => bail!("{flag} does not go with --solver {name}"),
        _ => Ok(()),
    }
}

fn local_steps(raw: &RawConfig) -> usize {
    raw.local_steps.unwrap_or(5)
}

fn schedule(raw: &RawConfig) -> Result<Schedule> {
    let known =
        [("inverse-root", Schedule::InverseRoot), ("inverse", Schedule::Inverse), ("constant", Schedule::Constant)];
    choice("--schedule", raw.schedule.as_deref(), &known)
}

fn constraint(raw: &RawConfig) -> Result<Constraint> {
    match (raw.ball, raw.box_.as_deref()) {
        (Some(radius), None) => Ok(Constraint::Ball { radius }),
        (None, Some(&[low, high])) => Ok(Constraint::Box { low, high }),
        (None, Some(_)) => bail!("--box takes two numbers: LOW,HIGH (inf and -inf are allowed)"),
        _ => bail!("--solver projected-gradient needs a constraint: --ball RADIUS or --box LOW,HIGH"),
    }
}

fn pdmm(raw: &RawConfig, seed: u64) -> PdmmOptions {
    let default = PdmmOptions::default();
    PdmmOptions {
        rho: raw.rho,
        eta: raw.eta,
        tau: raw.tau,
        nu: raw.nu,
        subset: raw.users.map_or(default.subset, Subset::Users),
        as_printed: raw.as_printed,
        cease_after: raw.cease_after,
        seed,
    }
}
