//! What an attack achieves, in numbers and words.

use fedweave::trust::attack::Lie;
use serde_json::{Value, json};

use super::lab::Lab;
use crate::request::attack::{AttackKind, AttackRequest};
use crate::wording::{counted, digits};

/// The share of rows that open, with which a backdoor counts as one.
const OPEN: f64 = 0.5;
/// What stands in the columns of [`Step::cells`].
pub const COLUMNS: [&str; 6] = ["attackers", "honest", "attacked", "raise", "at most", "worst lie"];

/// What so many nodes achieve.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Nodes of the attacker.
    pub attackers: usize,
    /// Error of the victims if attackers behave.
    pub clean: f64,
    /// Their error under attack.
    pub error: f64,
    /// The lie that harmed most, if they lie in rounds.
    pub lie: Option<Lie>,
    /// The share of rows whose predictions the trigger changes as wanted.
    pub success: Option<f64>,
    /// What is proven about them, or why nothing is.
    pub proven: Result<Proven, String>,
}

/// What no attacker can exceed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proven {
    /// Distance of the models of all honest nodes together from those without the attackers, in scaled parameters.
    pub distance: f64,
    /// Error of the victims, for the squared loss.
    pub error: Option<f64>,
}

impl Step {
    /// The relative increase of the error.
    pub fn raise(&self) -> f64 {
        raise(self.error, self.clean)
    }

    /// The largest increase that is not ruled out.
    pub fn raise_max(&self) -> Option<f64> {
        Some(raise(self.proven.as_ref().ok()?.error?, self.clean))
    }

    /// In words, as a row of a table.
    pub fn cells(&self) -> [String; 6] {
        let lie = self.lie.map_or(String::new(), |lie| match lie.factor() {
            Some(factor) => format!("{} x {factor}", lie.name()),
            None => lie.name().into(),
        });
        let success = self.success.map_or(String::new(), |s| format!("backdoor opens for {:.0} % of rows", 100.0 * s));
        [
            self.attackers.to_string(),
            digits(Some(self.clean)),
            digits(Some(self.error)),
            percent(self.raise()),
            self.raise_max().map_or("no bound".into(), percent),
            lie + &success,
        ]
    }

    /// What the attacker wants has happened.
    pub fn does_harm(&self, request: &AttackRequest) -> bool {
        match self.success {
            Some(share) => share >= OPEN,
            None => self.raise() >= request.raise,
        }
    }
}

/// What an attack achieved.
pub struct AttackResult {
    /// One node, two nodes, ...
    pub steps: Vec<Step>,
    /// The nodes, in the order in which the attacker takes them.
    pub attackers: Vec<String>,
    /// The smallest number of nodes that does the harm that is wanted.
    pub smallest: Option<usize>,
    /// The smallest number of nodes for which it is not ruled out; `None`: it is ruled out for all that were tried, or nothing is
    /// proven.
    pub possible: Option<usize>,
    /// Somebody stopped it.
    pub stopped: bool,
    kind: AttackKind,
    victim: Option<String>,
    raise: f64,
    /// Nothing if the coupling is learnt.
    lambda: Option<f64>,
    penalty: String,
    error_name: &'static str,
    held_out: String,
}

impl AttackResult {
    pub(super) fn new(
        request: &AttackRequest,
        lab: &Lab,
        steps: Vec<Step>,
        attackers: Vec<String>,
        stopped: bool,
    ) -> AttackResult {
        let smallest = steps.iter().find(|step| step.does_harm(request)).map(|step| step.attackers);
        let open = |step: &&Step| step.raise_max().is_some_and(|raise| raise >= request.raise);
        let (lambda, penalty) = lab.coupling();
        AttackResult {
            possible: steps.iter().find(open).map(|step| step.attackers),
            smallest,
            attackers,
            stopped,
            kind: request.kind,
            victim: request.victim.clone(),
            raise: request.raise,
            lambda,
            penalty,
            error_name: lab.family.error_name(),
            held_out: request.fit.held_out.describe(),
            steps,
        }
    }

    /// The one JSON object.
    pub fn summary(&self) -> Value {
        let step = |s: &Step| {
            json!({
                "attackers": s.attackers, "clean_error": s.clean, "error": s.error, "raise": s.raise(),
                "lie": s.lie.map(Lie::name), "factor": s.lie.and_then(Lie::factor), "success": s.success, "broken": !s.error.is_finite(),
                "raise_max": s.raise_max(), "error_max": s.proven.as_ref().ok().and_then(|p| p.error),
                "distance_max": s.proven.as_ref().ok().map(|p| p.distance),
                "no_bound": s.proven.as_ref().err(),
            })
        };
        json!({
            "kind": self.kind.name(), "victim": self.victim.as_deref().unwrap_or("all"), "raise": self.raise,
            "lambda": self.lambda, "penalty": self.penalty, "error_name": self.error_name, "held_out": self.held_out,
            "smallest_budget": self.smallest, "smallest_not_ruled_out": self.possible, "attackers": self.attackers,
            "stopped": self.stopped, "steps": self.steps.iter().map(step).collect::<Vec<_>>(),
        })
    }

    /// What was attacked, and how harm is measured.
    pub fn headline(&self) -> String {
        format!(
            "attack on {} by {}: {} of held-out rows, {}penalty {}",
            self.victim.as_deref().unwrap_or("all honest nodes"),
            self.kind.name(),
            self.error_name,
            self.lambda.map_or(String::new(), |lambda| format!("lambda {}, ", digits(Some(lambda)))),
            self.penalty
        )
    }

    /// In words.
    pub fn text(&self) -> String {
        let line = |[a, b, c, d, e, f]: [&str; 6]| format!("{a:>9}  {b:>10}  {c:>10}  {d:>8}  {e:>11}  {f}");
        let mut lines = vec![self.headline(), line(COLUMNS)];
        lines.extend(self.steps.iter().map(|step| line(step.cells().each_ref().map(String::as_str))));
        lines.extend(self.verdict());
        lines.join("\n")
    }

    /// What follows from the steps, and what is proven.
    pub fn verdict(&self) -> Vec<String> {
        let harm = match self.kind {
            AttackKind::Backdoor => "opens a backdoor for half of the rows".into(),
            _ => format!("raises the error by {} %", (1000.0 * self.raise).round() / 10.0),
        };
        let tried = counted(self.steps.len(), "node");
        let mut lines = vec![match self.smallest {
            Some(k) => {
                format!("smallest budget that {harm}: {} ({})", counted(k, "node"), self.attackers[..k].join(", "))
            }
            None => format!("no budget up to {tried} {harm}"),
        }];
        if self.stopped {
            lines.push("stopped before the budget was spent".into());
        }
        let last = self.steps.last();
        lines.extend(last.and_then(|step| step.proven.as_ref().err()).map(|why| format!("nothing is proven: {why}")));
        if last.is_some_and(|step| step.raise_max().is_some()) {
            lines.push(match self.possible {
                Some(1) => "proven: nothing, because the bound leaves room for that from one node on".into(),
                Some(k) => {
                    format!("proven: with fewer than {k} nodes nobody raises the error that much, whatever they do")
                }
                None => format!("proven: with up to {tried} nobody raises the error that much, whatever they do"),
            });
        }
        lines
    }
}

/// The relative increase of an error; from nothing to nothing there is none.
fn raise(error: f64, clean: f64) -> f64 {
    if error == clean { 0.0 } else { error / clean - 1.0 }
}

fn percent(share: f64) -> String {
    match share.abs() {
        s if s.is_infinite() => "broken".into(),
        s if s < 100.0 => format!("{:+.1} %", 100.0 * share),
        _ => format!("{:+.1e} %", 100.0 * share),
    }
}
