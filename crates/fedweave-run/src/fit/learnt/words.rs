//! What was learnt about a coupling, as JSON and in words.

use fedweave::learn::coupling::{FormScore, Member};
use fedweave::loss::Family;
use serde_json::{Value, json};

use super::LearntCoupling;
use crate::wording::number;

impl LearntCoupling {
    /// As JSON.
    pub(in crate::fit) fn summary(&self) -> Value {
        let c = self.blend.lead();
        let varies = self.features.iter().zip(&c.varies).filter(|(_, varies)| **varies);
        let member = |m: &Member| {
            json!({
                "weight": m.weight,
                "structure": m.coupling.structure.name(),
                "rho": m.coupling.rho,
                "noise_by_node": m.coupling.node_noise.is_some(),
                "error": m.error,
            })
        };
        let score =
            |s: &FormScore| json!({"penalty": s.form.name(), "reach": s.form.reach(), "error": s.errors.mean()});
        json!({
            "structure": c.structure.name(),
            "chosen_by": self.chosen_by,
            "rho": c.rho,
            "rho_interval": self.rho_interval.map(|i| [i.low, i.high]),
            "graph_p_value": self.p_value,
            "noise": (self.family == Family::Squared).then(|| c.s2.sqrt()),
            "varies": varies.map(|(name, _)| name).collect::<Vec<_>>(),
            "mean": self.mu,
            "log_likelihood": c.log_likelihood,
            "penalty": self.form.name(),
            "reach": self.form.reach(),
            "pull_max": self.pull_max,
            "penalties": self.forms.iter().map(score).collect::<Vec<_>>(),
            "members": self.blend.members.iter().map(member).collect::<Vec<_>>(),
        })
    }

    /// What was learnt, in words.
    pub(in crate::fit) fn text(&self) -> Vec<String> {
        let c = self.blend.lead();
        let named = |varies: bool| {
            let names = self.features.iter().zip(&c.varies).filter(|(_, v)| **v == varies);
            names.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let shared = match c.varies.iter().all(|v| *v) {
            true => String::new(),
            false => format!("; shared by all nodes: {}", named(false)),
        };
        let varying = if c.varies.iter().any(|v| *v) { named(true) } else { "nothing".into() };
        let noise = match self.family {
            Family::Squared => format!("; noise {}", number(c.s2.sqrt())),
            _ => String::new(),
        };
        let mut lines = self.average();
        let by = if lines.is_empty() { format!(", by {}", self.chosen_by) } else { String::new() };
        let which = if lines.is_empty() { "coupling learnt" } else { "its largest part" };
        lines.push(format!("{which} ({}{by}); varies between nodes: {varying}{shared}{noise}", c.structure.name()));
        lines.push(match (self.rho_interval, self.p_value) {
            (Some(i), p) => format!(
                "  of what varies, the graph explains the share rho {:.2} ({:.0} % interval {:.2} to {:.2}){}",
                c.rho,
                100.0 * i.level,
                i.low,
                i.high,
                p.map_or(String::new(), |p| format!("; that the graph matters: p = {p:.1e}"))
            ),
            (None, _) => "  the graph explains nothing beyond the common mean".into(),
        });
        lines.extend(self.limit());
        lines
    }

    /// How far the pull of a node goes, where that was a question.
    fn limit(&self) -> Option<String> {
        let (first, rest) = self.forms.split_first()?;
        let error = |s: &FormScore| s.errors.mean().map_or("unknown".into(), number);
        let Some(reach) = self.form.reach() else {
            return Some("  no bounded pull is better on folds by a standard error: quadratic, without a limit".into());
        };
        let chosen = rest.iter().find(|s| s.form == self.form)?;
        Some(format!(
            "  {} pull, which stops growing at {} deviations of what varies; a node pulls at all its neighbours together \
             with at most {} (error on folds {}, quadratic {})",
            self.form.name(),
            number(reach),
            self.pull_max.map_or("any force".into(), number),
            error(chosen),
            error(first)
        ))
    }

    /// The members of an average.
    fn average(&self) -> Vec<String> {
        let members = &self.blend.members;
        if members.len() == 1 {
            return Vec::new();
        }
        let part = |m: &Member| {
            let graph = if m.coupling.rho > 0.0 { "graph" } else { "no graph" };
            let noise = if m.coupling.node_noise.is_some() { ", noise by node" } else { "" };
            format!("{:.0} % {} ({graph}{noise})", 100.0 * m.weight, m.coupling.structure.name())
        };
        let parts: Vec<String> = members.iter().map(part).collect();
        vec![format!("coupling learnt, averaged by {}: {}", self.chosen_by, parts.join(", "))]
    }
}
