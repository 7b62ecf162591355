//! For whom models work.

use fedweave::trust::fairness::Estimate;
use fedweave_report::trust::{Measure, Part};

use super::{Evidence, measure, percent, shown, worst_nodes};
use crate::request::again::quoted;
use crate::trust::fairness::{GroupFound, with_interval};
use crate::trust::page::Found;

impl Evidence<'_> {
    pub(super) fn bias(&self) -> Found {
        let mut found = Found::default();
        let fairness = &self.subject.fairness;
        let Some(group) = &self.request.group else {
            let name = "spread of errors over nodes";
            let errors: Vec<f64> = fairness.nodes.iter().map(|node| node.error).collect();
            let mean = errors.iter().sum::<f64>() / errors.len() as f64;
            let spread = (errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / errors.len() as f64).sqrt();
            let words = "Deviation over nodes; the network may be of use to some more than to others. The worst:";
            let parts = worst_nodes(&fairness.nodes, 5);
            found.add(Measure { parts, ..measure(name, spread, shown(spread), words, &self.trust()) });
            let command = format!("fedweave trust {} --group COLUMN", self.run);
            found.lacks("differences between groups", "no column was named that tells groups apart", &command);
            return found;
        };
        let command = format!("fedweave fairness {} --group {}{}", self.run, quoted(group), self.folds());
        self.gap(&command, &mut found);
        self.lean(&command, &mut found);
        match &fairness.counterfactual {
            Some(gap) => {
                let words = format!(
                    "What a prediction would change, on average, if its row were of another group and all else the same: {}.",
                    with_interval(gap)
                );
                found.add(measure(
                    "is what the group itself changes in a prediction",
                    gap.value,
                    shown(gap.value),
                    &words,
                    &command,
                ));
            }
            None => found.add(measure(
                "features tell the group",
                0.0,
                "0".into(),
                "Predictions do not depend on the group directly; other features may still stand for it.",
                &command,
            )),
        }
        self.representation(&command, &mut found);
        let price = format!("{command} --curve errors");
        found.lacks("what evening out the groups would cost", "it takes fits of several strengths", &price);
        found
    }

    fn folds(&self) -> String {
        let (folds, seed) = (self.request.folds, self.request.seed);
        let folds = if folds == crate::trust::fairness::FOLDS { String::new() } else { format!(" --folds {folds}") };
        if seed == 0 { folds } else { format!("{folds} --seed {seed}") }
    }

    fn parts(&self, of: fn(&GroupFound) -> Option<Estimate>) -> Vec<Part> {
        let part = |group: &GroupFound| {
            let found = of(group)?;
            let name = format!("{} = {}", self.subject.fairness.column, group.name);
            Some(Part { name, value: found.value, interval: found.interval(), shown: with_interval(&found) })
        };
        self.subject.fairness.groups.iter().filter_map(part).collect()
    }

    fn gap(&self, command: &str, found: &mut Found) {
        let fairness = &self.subject.fairness;
        let Some((worst, best, gap)) = &fairness.gap else {
            found.lacks("the gap between groups", "fewer than two groups have rows that could be held out", command);
            return;
        };
        let names = (&fairness.groups[*worst].name, &fairness.groups[*best].name);
        let words = format!(
            "{} of unseen rows is larger for `{}` than for `{}` by {} (95 % interval over nodes).",
            fairness.error_name,
            names.0,
            names.1,
            with_interval(gap)
        );
        let parts = self.parts(|group| group.error);
        found.add(Measure {
            parts,
            ..measure("is the gap between the errors of groups", gap.value, shown(gap.value), &words, command)
        });
    }

    /// Do predictions lean to one side for a group?
    fn lean(&self, command: &str, found: &mut Found) {
        let parts = self.parts(|group| group.bias);
        let largest = parts.iter().map(|part| part.value).fold(f64::NEG_INFINITY, f64::max);
        let smallest = parts.iter().map(|part| part.value).fold(f64::INFINITY, f64::min);
        if parts.len() > 1 {
            let words =
                "Prediction less label, on average, by group: models say too much of one, too little of another.";
            let apart = largest - smallest;
            found.add(Measure {
                parts,
                ..measure(
                    "is how far apart groups are in what is said less what is seen",
                    apart,
                    shown(apart),
                    words,
                    command,
                )
            });
        }
    }

    fn representation(&self, command: &str, found: &mut Found) {
        let input = &self.subject.refit.input;
        let Some(groups) = input.data.groups() else { return };
        let levels = &self.subject.fairness.groups;
        let mut count = vec![0usize; levels.len()];
        groups.iter().for_each(|&g| count[g as usize] += 1);
        let total = groups.len() as f64;
        let part = |(group, count): (&GroupFound, &usize)| {
            let value = *count as f64 / total;
            Part { name: group.name.clone(), value, interval: None, shown: format!("{count} rows, {}", percent(value)) }
        };
        let parts: Vec<Part> = levels.iter().zip(&count).map(part).collect();
        let least = parts.iter().map(|part| part.value).fold(f64::INFINITY, f64::min);
        found.add(Measure {
            parts,
            ..measure(
                "of the rows belong to the smallest group",
                least,
                percent(least),
                "Rows of every group.",
                command,
            )
        });
    }
}
