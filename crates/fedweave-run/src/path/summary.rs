//! A path as JSON: the summary of the chosen fit, and all points.

use fedweave::path::{Breakpoint, Conditions, Recovery};
use serde_json::{Value, json};

use super::PathResult;
use crate::error::Result;
use crate::fit::summary as fit_summary;

/// The one JSON object of `--json` and `summary.json`: that of the chosen fit, and the path.
pub fn summary(path: &PathResult) -> Result<Value> {
    let mut summary = fit_summary(&path.fit)?;
    let point = |k: usize| {
        let (p, e) = (&path.path.points[k], &path.errors[k]);
        json!({
            "lambda": p.lambda, "objective": p.objective, "certified_gap": p.certified_gap,
            "clusters": p.partition.len(), "train_error": e.train.mean(),
            "validation_error": e.validation.as_ref().and_then(|v| v.mean()),
            "iterations": p.iterations, "status": p.status.to_string(),
        })
    };
    let order = path.increasing();
    let breakpoint = |b: &Breakpoint| json!({ "below": b.below, "above": b.above, "clusters_below": b.clusters_below, "clusters_above": b.clusters_above });
    let asked = path.breakpoints_asked;
    summary["path"] = json!({
        "lambda_max": path.lambda_max.as_ref().map(|b| json!({ "below": b.below, "above": b.above, "proven": b.proven, "seconds": path.lambda_max_seconds })),
        "points": order.iter().map(|&k| point(k)).collect::<Vec<_>>(),
        "points_wanted": path.wanted,
        "chosen": order.iter().position(|&k| k == path.chosen),
        "chosen_because": path.why,
        "breakpoints": asked.then(|| path.path.breakpoints.iter().map(breakpoint).collect::<Vec<_>>()),
        "recovery": path.recovery.as_ref().map(recovery_json),
        "iterations": path.path.points.iter().map(|p| p.iterations).sum::<usize>(),
    });
    summary["lambda_notice"] = json!(path.end_of_grid());
    Ok(summary)
}

fn recovery_json(recovery: &Recovery) -> Value {
    let end = |c: &Conditions| json!({ "lambda": c.lambda, "lower": c.lower, "upper": c.upper, "certified_gap": c.certified_gap });
    match recovery {
        Recovery::Silent(why) => json!({ "applies": false, "why": why }),
        Recovery::Nowhere(best) => json!({ "applies": true, "found": false, "closest": end(best) }),
        Recovery::Between(low, high) => {
            json!({ "applies": true, "found": true, "from": low.lambda, "to": high.lambda, "ends": [end(low), end(high)] })
        }
    }
}
