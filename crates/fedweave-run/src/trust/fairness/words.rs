//! Fairness as words, JSON and tables.

use fedweave::trust::fairness::Estimate;
use serde_json::{Value, json};

use super::{CurvePoint, FairnessResult, GroupFound, NodeFound};
use crate::wording::{counted, digits};

/// An estimate as an object.
pub(crate) fn estimate(found: &Estimate) -> Value {
    json!({
        "value": found.value, "interval": found.interval(), "standard_error": found.standard_error,
        "rows": found.rows, "nodes": found.nodes,
    })
}

/// An estimate with its interval.
pub(crate) fn with_interval(found: &Estimate) -> String {
    match found.interval() {
        Some([low, high]) => format!("{} ({} to {})", digits(Some(found.value)), digits(Some(low)), digits(Some(high))),
        None => digits(Some(found.value)),
    }
}

impl FairnessResult {
    /// The one JSON object.
    pub fn summary(&self) -> Value {
        let group = |found: &GroupFound| {
            json!({
                "group": found.name, "error": found.error.as_ref().map(estimate),
                "bias": found.bias.as_ref().map(estimate), "prediction": found.said.as_ref().map(estimate),
            })
        };
        let node = |found: &NodeFound| json!({"node": found.name, "error": found.error, "standard_error": found.standard_error, "rows": found.rows});
        let gap = self.gap.as_ref().map(|(worst, best, gap)| {
            json!({"largest": self.groups[*worst].name, "smallest": self.groups[*best].name, "difference": estimate(gap)})
        });
        json!({
            "column": self.column, "error_name": self.error_name, "folds": self.folds, "error": estimate(&self.all),
            "groups": self.groups.iter().map(group).collect::<Vec<_>>(), "gap": gap,
            "worst_decile": {"error": self.worst.0, "nodes": self.worst.1},
            "counterfactual_gap": self.counterfactual.as_ref().map(estimate),
            "nodes": self.nodes.iter().map(node).collect::<Vec<_>>(),
            "curve": self.curve.iter().map(CurvePoint::summary).collect::<Vec<_>>(),
        })
    }

    /// In words.
    pub fn text(&self) -> String {
        let of = |found: &Option<Estimate>| found.as_ref().map_or("-".into(), with_interval);
        let mut lines = vec![
            format!(
                "{} on rows that models have not seen, in {} folds; 95 % intervals over nodes",
                self.error_name, self.folds
            ),
            format!(
                "  all: {}, {} at {}",
                with_interval(&self.all),
                counted(self.all.rows, "row"),
                counted(self.all.nodes, "node")
            ),
        ];
        for group in &self.groups {
            let size = group.error.map_or(String::new(), |found| {
                format!(", {} at {}", counted(found.rows, "row"), counted(found.nodes, "node"))
            });
            let bias =
                group.bias.as_ref().map_or(String::new(), |bias| format!("; said less seen {}", with_interval(bias)));
            lines.push(format!("  {}={}: {}{size}{bias}", self.column, group.name, of(&group.error)));
        }
        if let Some((worst, best, gap)) = &self.gap {
            let (worst, best) = (&self.groups[*worst].name, &self.groups[*best].name);
            lines.push(format!("gap between groups: {}, {worst} above {best}", with_interval(gap)));
        }
        lines.push(match &self.counterfactual {
            Some(found) => format!("a prediction changes by {} if a row were of another group", with_interval(found)),
            None => format!(
                "no feature tells the groups of `{}` apart: predictions do not depend on it directly",
                self.column
            ),
        });
        let (worst, count) = (digits(Some(self.worst.0)), counted(self.worst.1, "node"));
        lines.push(format!("worst tenth of the nodes ({count}): {worst}"));
        lines.extend(self.curve_lines());
        lines.join("\n")
    }

    fn curve_lines(&self) -> Vec<String> {
        let Some(first) = self.curve.first() else { return Vec::new() };
        let rule = first.rule.name();
        let mut lines = vec![format!("evened out with --fair {} --fair-by {rule} --fair-strength ...", self.column)];
        for point in &self.curve {
            let gap = point.gap.as_ref().map_or("-".into(), with_interval);
            let apart = point
                .counterfactual
                .map_or(String::new(), |found| format!(", a prediction changes by {}", digits(Some(found.value))));
            let (price, error) = point.price;
            lines.push(format!(
                "  {:>4}: error {}, dearer by {} (se {}), gap {gap}{apart}",
                point.strength,
                digits(Some(point.error.value)),
                digits(Some(price)),
                digits(Some(error)),
            ));
        }
        lines
    }

    /// All nodes and groups as a table.
    pub fn csv(&self) -> String {
        let mut text = String::from("what,name,rows,error,standard_error,bias\n");
        let cell = |value: Option<f64>| value.filter(|v| v.is_finite()).map_or(String::new(), |v| v.to_string());
        for group in &self.groups {
            let Some(error) = group.error else { continue };
            let bias = cell(group.bias.map(|bias| bias.value));
            let numbers = [error.rows.to_string(), error.value.to_string(), cell(error.standard_error), bias];
            text += &fedweave_io::csv_line(["group".to_owned(), group.name.clone()].into_iter().chain(numbers));
        }
        for node in &self.nodes {
            let numbers = [node.rows.to_string(), node.error.to_string(), cell(node.standard_error), String::new()];
            text += &fedweave_io::csv_line(["node".to_owned(), node.name.clone()].into_iter().chain(numbers));
        }
        text
    }
}

impl CurvePoint {
    fn summary(&self) -> Value {
        let groups: Vec<Option<f64>> = self.groups.iter().map(|group| group.map(|found| found.value)).collect();
        json!({
            "by": self.rule.name(), "strength": self.strength, "error": estimate(&self.error),
            "price": {"value": self.price.0, "standard_error": self.price.1}, "groups": groups,
            "gap": self.gap.as_ref().map(estimate), "counterfactual_gap": self.counterfactual.as_ref().map(estimate),
        })
    }
}
