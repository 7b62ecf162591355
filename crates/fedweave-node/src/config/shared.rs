//! What all parts of a federation agree on, and the patience of each: sections of the file <-> fields of the plan.

use fedweave::loss::{Family, LossOptions, LossSpec, NodeWeight};
use fedweave::model::Task;
use fedweave::model::relax::{RelaxOptions, Weighting};
use fedweave::solve::JudgedOn;

use super::error::{Checked, ConfigFault, choice, out_of_range};
use super::file::{EdgeEntry, FederationSection, SilenceSection};
use super::model::ModelSection;
use crate::plan::{DeadPolicy, MethodSpec, ON_PREDICTIONS, Patience, PeerId, Plan, PlanEdge, StopRule};

impl FederationSection {
    /// What a plan of a federation of `parts` parts says in this section.
    pub fn of(plan: &Plan, parts: u32) -> Self {
        let section = FederationSection {
            parts,
            rounds: plan.stop.rounds_max,
            tolerance: plan.stop.tolerance,
            diameter: Some(plan.stop.diameter),
            classes: match (&plan.models, &plan.loss) {
                (Some(models), _) => Some(models.task.outputs()).filter(|_| models.task != Task::Regression),
                (None, LossSpec::Same(Family::Multinomial { classes })) => Some(*classes),
                _ => None,
            },
            row_unit: match plan.loss_options.node_weight {
                NodeWeight::Unit(unit) => Some(unit),
                _ => None,
            },
            method: Some(plan.method.name().into()),
            ..FederationSection::default()
        };
        match plan.method {
            MethodSpec::PrimalDual { step_ratio, relaxation } => {
                FederationSection { step_ratio: Some(step_ratio), relaxation: Some(relaxation), ..section }
            }
            MethodSpec::FedGd { step } | MethodSpec::NoisyFedGd { step } => {
                FederationSection { step: Some(step), ..section }
            }
            MethodSpec::FedRelax | MethodSpec::FedRelaxPredictions { .. } => section,
            MethodSpec::AsyncFedGd { step, staleness } => {
                FederationSection { step: Some(step), staleness: Some(staleness), ..section }
            }
        }
    }

    /// True if models of any class exchange predictions.
    pub(super) fn on_predictions(&self) -> bool {
        self.method.as_deref() == Some(ON_PREDICTIONS)
    }

    /// The method with its options.
    pub(super) fn method(&self, model: &ModelSection) -> Checked<MethodSpec> {
        let name = self.method.as_deref().unwrap_or("primal-dual");
        let given = [
            ("federation.step-ratio", self.step_ratio.is_some(), &["primal-dual"][..]),
            ("federation.relaxation", self.relaxation.is_some(), &["primal-dual"]),
            ("federation.step", self.step.is_some(), &["fedgd", "noisy-fedgd", "async-fedgd"]),
            ("federation.staleness", self.staleness.is_some(), &["async-fedgd"]),
        ];
        if let Some((key, _, of)) = given.into_iter().find(|(_, given, of)| *given && !of.contains(&name)) {
            return Err(ConfigFault::Belongs { key, owner: format!("method {}", of.join(", ")) });
        }
        let no_step = ConfigFault::Missing {
            key: "federation.step",
            remedy: "gradient methods need one that all parts agree on",
        };
        Ok(match name {
            "primal-dual" => MethodSpec::PrimalDual {
                step_ratio: self.step_ratio.unwrap_or(1.0),
                relaxation: self.relaxation.unwrap_or(1.8),
            },
            "fedgd" => MethodSpec::FedGd { step: self.step.ok_or(no_step)? },
            "noisy-fedgd" => MethodSpec::NoisyFedGd { step: self.step.ok_or(no_step)? },
            "fedrelax" => MethodSpec::FedRelax,
            ON_PREDICTIONS => on_predictions(model)?,
            "async-fedgd" => {
                MethodSpec::AsyncFedGd { step: self.step.ok_or(no_step)?, staleness: self.staleness.unwrap_or(5) }
            }
            other => {
                let known =
                    "unknown; use primal-dual, fedgd, noisy-fedgd, fedrelax, fedrelax-predictions or async-fedgd";
                return Err(out_of_range("federation.method", format!("{other:?}"), known));
            }
        })
    }

    /// When to stop.
    pub(super) fn stop(&self) -> Checked<StopRule> {
        for (key, count) in [("federation.parts", u64::from(self.parts)), ("federation.rounds", self.rounds)] {
            if count == 0 {
                return Err(out_of_range(key, 0, "at least 1"));
            }
        }
        match self.tolerance {
            Some(t) if !(t > 0.0 && t.is_finite()) => Err(out_of_range("federation.tolerance", t, "must be positive")),
            tolerance => {
                let diameter = self.diameter.unwrap_or(self.parts - 1);
                Ok(StopRule { rounds_max: self.rounds, tolerance, diameter })
            }
        }
    }

    /// The loss, with its number of classes.
    pub(super) fn loss(&self, family: Family) -> Checked<LossSpec> {
        let (key, owner) = ("federation.classes", "the multinomial loss");
        Ok(LossSpec::Same(match (family, self.classes()?) {
            (Family::Multinomial { .. }, Some(classes)) => Family::Multinomial { classes },
            (Family::Multinomial { .. }, None) => {
                let remedy = "how many classes are there? Labels are then 0, 1, ...";
                return Err(ConfigFault::Missing { key, remedy });
            }
            (_, Some(_)) => return Err(ConfigFault::Belongs { key, owner: owner.into() }),
            (other, None) => other,
        }))
    }

    /// The number of classes, if there are any.
    pub(super) fn classes(&self) -> Checked<Option<usize>> {
        match self.classes {
            Some(classes) if !(2..=100_000).contains(&classes) => {
                Err(out_of_range("federation.classes", classes, "at least 2"))
            }
            classes => Ok(classes),
        }
    }

    /// Options of the loss, with what a unit of row weight counts.
    pub(super) fn loss_options(&self, options: LossOptions) -> Checked<LossOptions> {
        let key = "federation.row-unit";
        let node_weight = match (options.node_weight, self.row_unit) {
            (NodeWeight::Equal, None) => NodeWeight::Equal,
            (NodeWeight::Equal, Some(_)) => {
                return Err(ConfigFault::Belongs { key, owner: "model.node-weight = \"rows\"".into() });
            }
            (_, Some(unit)) if unit > 0.0 && unit.is_finite() => NodeWeight::Unit(unit),
            (_, Some(unit)) => return Err(out_of_range(key, unit, "must be positive")),
            (_, None) => {
                let remedy = "node-weight \"rows\" needs it: one over the mean number of rows";
                return Err(ConfigFault::Missing { key, remedy });
            }
        };
        Ok(LossOptions { node_weight, ..options })
    }
}

fn on_predictions(model: &ModelSection) -> Checked<MethodSpec> {
    let judged_on = choice("model.judged-on", model.judged_on.as_deref(), &RelaxOptions::JUDGED_ON)?;
    let weighting = choice("model.row-weights", model.row_weights.as_deref(), &RelaxOptions::WEIGHTINGS)?;
    Ok(MethodSpec::FedRelaxPredictions { both: judged_on == JudgedOn::Both, plain: weighting == Weighting::Plain })
}

impl SilenceSection {
    /// What a plan says in this section; what is the default may be left out.
    pub fn of(patience: &Patience) -> Self {
        let default = Patience::default();
        let seconds = patience.dead_after_ms as f64 / 1000.0;
        SilenceSection {
            policy: Some(patience.policy.name().into()),
            dead_after_seconds: (patience.dead_after_ms != default.dead_after_ms).then_some(seconds),
            retry_ms: (patience.retry_ms != default.retry_ms).then_some(patience.retry_ms),
        }
    }

    /// Patience with silent neighbours.
    pub(super) fn patience(&self) -> Checked<Patience> {
        let default = Patience::default();
        let seconds = self.dead_after_seconds.unwrap_or(default.dead_after_ms as f64 / 1000.0);
        if !(0.1..=1e7).contains(&seconds) {
            return Err(out_of_range("silence.dead-after-seconds", seconds, "between 0.1 and 10000000"));
        }
        let retry_ms = self.retry_ms.unwrap_or(default.retry_ms);
        if !(1..=60_000).contains(&retry_ms) {
            return Err(out_of_range("silence.retry-ms", retry_ms, "between 1 and 60000"));
        }
        Ok(Patience {
            policy: choice("silence.policy", self.policy.as_deref(), &DeadPolicy::NAMES)?,
            dead_after_ms: (seconds * 1000.0).round() as u64,
            retry_ms,
        })
    }
}

impl EdgeEntry {
    /// What a plan says about an edge; `peers` are the names of the neighbouring parts.
    pub fn of(edge: &PlanEdge, peers: &[String]) -> Self {
        EdgeEntry {
            node: edge.node.clone(),
            neighbour: edge.neighbour.clone(),
            part: edge.peer.map(|peer| peers[peer.0 as usize].clone()),
            weight: (edge.weight != 1.0).then_some(edge.weight),
        }
    }

    /// Edge `k` of the part `own`.
    pub(super) fn edge(&self, k: usize, own: &str, peers: &[String]) -> Checked<PlanEdge> {
        let (node, neighbour) = (self.node.clone(), self.neighbour.clone());
        let find = |part: &str| -> Checked<PeerId> {
            let unknown =
                || ConfigFault::NotANeighbour { edge: k + 1, node: self.neighbour.clone(), part: part.into() };
            let place = peers.iter().position(|peer| peer == part).ok_or_else(unknown)?;
            Ok(PeerId(place as u32))
        };
        let peer = self.part.as_deref().filter(|part| *part != own).map(find).transpose()?;
        Ok(PlanEdge { node, neighbour, peer, weight: self.weight.unwrap_or(1.0) })
    }
}
