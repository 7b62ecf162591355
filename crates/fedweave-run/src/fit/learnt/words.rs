//! What was learnt about a coupling, as JSON and in words.

use fedweave::learn::coupling::{FormScore, Member};
use fedweave::loss::Family;
use serde_json::{Value, json};

use super::LearntCoupling;
use crate::wording::number;

impl LearntCoupling {
    /// As JSON.
    pub(in crate::fit) fn summary(&self) -> Value {
        let (c, blend) = (self.blend.lead(), &self.blend);
        let varies = self.features.iter().enumerate().filter(|(j, _)| blend.varies(*j));
        let alone = blend.members.len() == 1 && c.log_likelihood.is_finite();
        let member = |m: &Member| {
            json!({
                "weight": m.weight,
                "structure": m.coupling.structure.name(),
                "rho": m.coupling.rho,
                "noise_by_node": m.coupling.node_noise.is_some(),
                "log_likelihood": m.coupling.log_likelihood.is_finite().then_some(m.coupling.log_likelihood),
                "error": m.error,
            })
        };
        let score =
            |s: &FormScore| json!({"penalty": s.form.name(), "reach": s.form.reach(), "error": s.errors.mean()});
        json!({
            "structure": c.structure.name(),
            "chosen_by": self.chosen_by,
            "rho": blend.rho(),
            "rho_interval": self.rho_interval.map(|i| [i.low, i.high]),
            "graph_p_value": self.p_value,
            "noise": (self.family == Family::Squared).then(|| blend.noise().sqrt()),
            "varies": varies.map(|(_, name)| name).collect::<Vec<_>>(),
            "mean": self.mu,
            "log_likelihood": alone.then_some(c.log_likelihood),
            "penalty": self.form.name(),
            "reach": self.form.reach(),
            "pull_max": self.pull_max,
            "penalties": self.forms.iter().map(score).collect::<Vec<_>>(),
            "members": self.blend.members.iter().map(member).collect::<Vec<_>>(),
        })
    }

    /// What was learnt, in words.
    pub(in crate::fit) fn text(&self) -> Vec<String> {
        let (c, rho) = (self.blend.lead(), self.blend.rho());
        let named = |varies: bool| {
            let names = self.features.iter().enumerate().filter(|(j, _)| self.blend.varies(*j) == varies);
            names.map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let some = |names: String| if names.is_empty() { "nothing".into() } else { names };
        let (varying, common) = (some(named(true)), named(false));
        let shared = if common.is_empty() { common } else { format!("; shared by all nodes: {common}") };
        let noise = match self.family {
            Family::Squared => format!("; noise {}", number(self.blend.noise().sqrt())),
            _ => String::new(),
        };
        let mut lines = self.average();
        let head = match lines.is_empty() {
            true => format!("coupling learnt ({}, by {}); varies", c.structure.name(), self.chosen_by),
            false => "  in most of it varies".into(),
        };
        lines.push(format!("{head} between nodes: {varying}{shared}{noise}"));
        lines.push(match (self.rho_interval, self.p_value) {
            (Some(i), p) => format!(
                "  of what varies, the graph explains the share rho {rho:.2} ({:.0} % interval {:.2} to {:.2}){}",
                100.0 * i.level,
                i.low,
                i.high,
                p.map_or(String::new(), |p| format!("; that the graph matters: p = {p:.1e}"))
            ),
            (None, _) if rho > 0.0 => {
                format!("  the graph has the share {rho:.2} of the pull, the common mean the rest")
            }
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
