//! Stress as words, JSON and a table.

use fedweave::trust::stress::Stress;
use serde_json::{Value, json};

use super::{KindMoved, StressResult};
use crate::wording::{counted, digits};

impl StressResult {
    /// What a kind of stress does, in words.
    fn meaning(&self, kind: Stress) -> String {
        let request = &self.request;
        match kind {
            Stress::Rows => "the rows of every node drawn again, with replacement".into(),
            Stress::Nodes => format!("{:.0} % of the nodes leave", 100.0 * request.leave),
            Stress::Weights => format!("weights of edges multiplied by exp({} z), z normal", request.spread),
            Stress::Labels => format!("labels with noise of {} of what the models leave", request.noise),
        }
    }

    /// The one JSON object.
    pub fn summary(&self) -> Value {
        let kind = |found: &KindMoved| {
            let agreement = found.agreement();
            let node = |(name, moved): (&String, &super::NodeMoved)| json!({"node": name, "prediction_change": moved.prediction, "model_change": moved.model});
            json!({
                "kind": found.kind.name(), "meaning": self.meaning(found.kind),
                "prediction_change": found.prediction(), "worst_decile": found.worst(),
                "relative_to_residual": found.prediction().map(|p| p / self.residual).filter(|r| r.is_finite()),
                "model_change": found.model(), "cluster_agreement": agreement.map(|a| a.0),
                "cluster_agreement_least": agreement.map(|a| a.1), "clusters": found.clusters,
                "nodes": self.names.iter().zip(&found.nodes).map(node).collect::<Vec<_>>(),
            })
        };
        json!({
            "fits": self.request.fits, "seed": self.request.seed, "clusters": self.clusters,
            "residual": Some(self.residual).filter(|r| r.is_finite()), "left_out": self.left_out,
            "kinds": self.kinds.iter().map(kind).collect::<Vec<_>>(),
        })
    }

    /// In words.
    pub fn text(&self) -> String {
        let mut lines =
            vec![format!("{} of each kind, compared with the models of the run:", counted(self.request.fits, "fit"))];
        if self.residual.is_finite() {
            lines.push(format!("  (the models leave {} of a label, as root mean square)", digits(Some(self.residual))));
        }
        for found in &self.kinds {
            lines.push(format!("{}: {}", found.kind.name(), self.meaning(found.kind)));
            let share = |p: f64| match (p / self.residual).is_finite() {
                true => format!(" ({:.0} % of what the models leave)", 100.0 * p / self.residual),
                false => String::new(),
            };
            lines.push(format!(
                "  scores change by {}{}, at the worst tenth of the nodes by {}",
                digits(found.prediction()),
                found.prediction().map_or(String::new(), share),
                digits(found.worst()),
            ));
            let percent = found.model().map_or("-".into(), |change| format!("{:.1} %", 100.0 * change));
            lines.push(format!("  models change by {percent} of their size (median over nodes)"));
            if let Some((mean, least)) = found.agreement() {
                let (few, many) = (found.clusters.iter().min(), found.clusters.iter().max());
                let range = few.zip(many).map_or(String::new(), |(few, many)| format!("; {few} to {many} clusters"));
                let own = self.clusters.map_or(String::new(), |own| format!(", the run has {own}"));
                lines.push(format!(
                    "  clusters agree by {} on average, {} at least (adjusted Rand index){range}{own}",
                    digits(Some(mean)),
                    digits(Some(least)),
                ));
            }
        }
        lines.extend(self.left_out.iter().map(|why| format!("left out: {why}")));
        lines.join("\n")
    }

    /// Every node under every kind of stress.
    pub fn csv(&self) -> String {
        let mut text = String::from("kind,node,prediction_change,model_change\n");
        for found in &self.kinds {
            for (name, moved) in self.names.iter().zip(&found.nodes) {
                let cell = |value: Option<f64>| value.map_or(String::new(), |v| v.to_string());
                let numbers = [cell(moved.prediction), cell(moved.model)];
                text += &fedweave_io::csv_line([found.kind.name().to_owned(), name.clone()].into_iter().chain(numbers));
            }
        }
        text
    }
}
