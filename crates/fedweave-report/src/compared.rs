//! What a comparison says: the diagnosis, status and facts of a page that is about several methods and no single fit.

use crate::diagnose::{Diagnosis, Verdict};
use crate::number::{count, percent, plural, short};
use crate::report::{Comparison, Method, MethodKind, Report};

/// The comparison, if the page is about nothing else.
pub(crate) fn of(report: &Report) -> Option<&Comparison> {
    report.comparison.as_ref().filter(|_| report.outcome.objective.is_nan())
}

/// How it ended.
pub(crate) fn status(comparison: &Comparison, converged: bool) -> String {
    let methods = plural(comparison.methods.len(), "method");
    let unfinished = if converged { "" } else { "; some solves stopped before their tolerance" };
    let on = match comparison.splits {
        0 => "folds".into(),
        n => plural(n, "split"),
    };
    format!("{methods} compared on {on}{unfinished}")
}

fn of_kind(comparison: &Comparison, kind: MethodKind) -> Option<&Method> {
    comparison.methods.iter().find(|method| method.kind == kind).filter(|method| method.error.is_finite())
}

/// The method with the smallest error.
pub(crate) fn best(comparison: &Comparison) -> Option<&Method> {
    let known = comparison.methods.iter().filter(|method| method.error.is_finite());
    known.min_by(|a, b| a.error.total_cmp(&b.error))
}

/// Does the network help? A difference counts if it is larger than the larger of the two standard errors.
pub(crate) fn diagnosis(comparison: &Comparison) -> Diagnosis {
    let (Some(ours), Some(local)) =
        (of_kind(comparison, MethodKind::Networked), of_kind(comparison, MethodKind::Local))
    else {
        return Diagnosis {
            verdict: Verdict::Unknown,
            headline: "There is nothing to compare the network with.".into(),
            reasons: Vec::new(),
            advice: Vec::new(),
        };
    };
    let known = |method: &Method| method.standard_error.filter(|error| error.is_finite()).unwrap_or(0.0);
    let doubt = |other: &Method| known(ours).max(known(other));
    let better = |other: &Method| other.error - ours.error > doubt(other);
    let worse = |other: &Method| ours.error - other.error > doubt(other);
    let (verdict, headline) = if better(local) {
        (Verdict::Fine, "The network helps.")
    } else if worse(local) {
        (Verdict::ModelTooSmall, "The network hurts: nodes alone do better.")
    } else {
        (Verdict::Unknown, "The network makes no clear difference.")
    };
    let mut reasons = vec![against(ours, local, "every node alone")];
    reasons.extend(of_kind(comparison, MethodKind::Global).map(|global| against(ours, global, "one model for all")));
    reasons.push(format!(
        "{} better than alone, {} worse.",
        match comparison.nodes_gain {
            1 => "1 node does".into(),
            n => format!("{} nodes do", count(n)),
        },
        count(comparison.nodes_lose)
    ));
    let mut advice = Vec::new();
    if let Some(shuffled) = of_kind(comparison, MethodKind::Shuffled) {
        reasons.push(against(ours, shuffled, "the same graph with its nodes shuffled"));
        if better(local) && !better(shuffled) {
            advice.push(
                "A shuffled graph does as well: the gain comes from sharing at all, not from these edges.".into(),
            );
        }
    }
    if let Some(best) = best(comparison).filter(|best| best.name != ours.name && worse(best)) {
        advice.push(format!("The smallest error is that of {} ({}).", best.name, short(best.error)));
    }
    Diagnosis { verdict, headline: headline.into(), reasons, advice }
}

fn against(ours: &Method, other: &Method, what: &str) -> String {
    let change = ours.error / other.error - 1.0;
    let words = match change {
        c if !c.is_finite() || c.abs() < 0.005 => "level with".into(),
        c if c < 0.0 => format!("{} below", percent(-c)),
        c => format!("{} above", percent(c)),
    };
    format!("Its error on test rows ({}) is {words} that of {what} ({}).", short(ours.error), short(other.error))
}
