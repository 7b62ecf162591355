//! A comparison as a report.

use fedweave_report as report;
use fedweave_report::{MethodKind, Report};

use super::{CompareResult, GLOBAL, LOCAL, Method};
use crate::classes;
use crate::drawing::{blank, draw};
use crate::wording::notices_on;

impl CompareResult {
    /// The report of a comparison.
    pub fn report(&self) -> Report {
        let mut page = Report {
            what: self.what(),
            outcome: self.outcome(),
            notices: notices_on(&self.input, self.evidence.is_some()),
            ..blank(&self.request.naming, || "Does the network help?".into())
        };
        page.notices.push("a comparison: every split has its own models; lambda is that of the first split".into());
        page.notices.extend(self.graph_words().iter().map(|line| line.trim().to_owned()));
        self.put_into(&mut page);
        let leading = self.leading();
        page.confusion = self.confusion(leading).and_then(|found| classes::panel(&found, &self.input, leading.name));
        let node = |i: usize| report::Node {
            validation_error: self.node_error(self.leading(), i),
            local_error: self.node_error(LOCAL, i),
            global_error: self.node_error(GLOBAL, i),
            ..Default::default()
        };
        draw(&mut page, &self.input, &self.input.graph, node, |_| false);
        page
    }

    fn what(&self) -> report::What {
        let networked = &self.outcomes[0].networked;
        report::What {
            loss: self.request.model.family.to_string(),
            penalty: self.request.model.penalty.name().into(),
            lambda: networked.lambda.unwrap_or(f64::NAN),
            solver: "auto".into(),
            dim: networked.w.cols(),
            nodes: self.input.names.len(),
            edges: self.input.graph.edges(),
            rows: self.rows_trained,
            rows_held_out: self.input.data.len() - self.rows_trained,
            target: self.request.naming.target.clone(),
            split: self.request.held_out.describe(),
            ..Default::default()
        }
    }

    fn outcome(&self) -> report::Outcome {
        let error = |method: Method| Some(self.error(method).0);
        report::Outcome {
            status: if self.converged() { report::Status::Converged } else { report::Status::IterationLimit },
            tolerance: self.request.solve.tolerance,
            error_name: self.error_name().into(),
            local_error: error(LOCAL),
            global_error: error(GLOBAL),
            validation_error: error(self.leading()),
            objective: f64::NAN,
            ..Default::default()
        }
    }

    /// Adds the comparison to any report.
    pub fn put_into(&self, page: &mut Report) {
        let leading = self.leading();
        let (nodes_gain, nodes_lose) = self.gain_and_lose(leading);
        let method = |method: Method| {
            let (error, standard_error) = self.error(method);
            let kind = match (method.name == leading.name, method.kind) {
                (true, _) => MethodKind::Networked,
                (false, MethodKind::Networked) => MethodKind::Other,
                (false, kind) => kind,
            };
            report::Method {
                name: method.name.into(),
                kind,
                error,
                standard_error: Some(standard_error).filter(|e| e.is_finite()),
            }
        };
        page.comparison = Some(report::Comparison {
            methods: self.methods().into_iter().map(method).collect(),
            splits: self.outcomes.len(),
            nodes_gain,
            nodes_lose,
            splits_better_than_shuffled: self.has_control().then(|| self.better_than_shuffled()),
        });
    }
}
