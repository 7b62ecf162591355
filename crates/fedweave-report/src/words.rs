//! The sentences and key numbers of a report. What is proven is said to be proven; nothing else is.

use crate::compared;
use crate::number::{count, duration, number, percent, plural, short};
use crate::report::{Outcome, Report, Status, What};
use serde::Serialize;

/// A key number with what it is and what it means.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Fact {
    pub(crate) label: String,
    pub(crate) value: String,
    pub(crate) note: String,
}

/// The certificate, or its absence, in words.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Certificate {
    pub(crate) certified: bool,
    pub(crate) headline: String,
    pub(crate) text: String,
}

/// What was fitted, in one sentence.
pub(crate) fn lead(report: &Report) -> String {
    let what = &report.what;
    let target = what.target.as_ref().map(|target| format!(" of {target}")).unwrap_or_default();
    let models = match what.nodes {
        1 => format!("One model{target}"),
        n => format!("A personal model{target} for each of {} nodes", count(n)),
    };
    let coupling = match what.edges {
        0 => "not coupled: there are no edges".into(),
        m if what.models.is_some() => {
            let edges = plural(m, "edge");
            format!("coupled along {edges} by their predictions on public rows with λ = {}", short(what.lambda))
        }
        m => {
            let edges = plural(m, "edge");
            format!("coupled along {edges} by the {} penalty with λ = {}", what.penalty, short(what.lambda))
        }
    };
    let size = plural(what.dim, "parameter");
    let rows = plural(what.rows, "row");
    if let Some(asking) = &report.asking {
        let kind = what.models.clone().unwrap_or_else(|| format!("{size}, {} loss", what.loss));
        return format!(
            "Personal models{target} ({kind}) for {} of {} nodes with {rows}, without a graph: in each of {} a node asked {} and \
             took the answer that helped most on its own rows.",
            count(asking.lessons.len()),
            count(what.nodes),
            plural(asking.rounds, "round"),
            plural(asking.candidates, "other"),
        );
    }
    if let Some(winners) = what.models.as_ref().filter(|_| what.lambda.is_nan()) {
        let edges = plural(what.edges, "edge");
        return format!("{models}, predicted by {winners}: the winners of a race on {rows} and {edges}.");
    }
    if let Some(classes) = &what.models {
        return format!("{models} ({classes}), fitted to {rows} and {coupling}.");
    }
    if let Some(comparison) = compared::of(report) {
        return format!(
            "{} compared on {}: each is fitted to {rows} with the {} loss, and judged on {} that it has not seen; the network \
             has {} and the {} penalty.",
            plural(comparison.methods.len(), "method"),
            plural(comparison.splits, "split"),
            what.loss,
            plural(what.rows_held_out, "row"),
            plural(what.edges, "edge"),
            what.penalty,
        );
    }
    format!("{models}, {size} each, fitted to {rows} with the {} loss and {coupling}.", what.loss)
}

/// Which rows were held out; always said, if only that it is not known.
pub(crate) fn held_out(what: &What) -> String {
    let number = match what.rows_held_out {
        0 => String::new(),
        n if what.refitted => {
            format!("{} of {} rows, to validate; the final models use all rows. ", count(n), count(what.rows))
        }
        n => format!("{} of {} rows. ", count(n), count(n + what.rows)),
    };
    let split = if what.split.is_empty() { "How the rows were chosen is not recorded." } else { &what.split };
    number + split
}

/// How the solver ended, in a few words.
pub(crate) fn status(outcome: &Outcome) -> String {
    match outcome.status {
        Status::Converged => format!("Reached its tolerance of {}", short(outcome.tolerance)),
        Status::Finished => format!("Did its {}", plural(outcome.iterations, "round")),
        Status::Stalled => "Stopped because the objective hardly changed any more, before the tolerance".into(),
        Status::IterationLimit => "Stopped at the iteration limit, before the tolerance".into(),
        Status::TimeLimit => "Stopped at the time limit, before the tolerance".into(),
        Status::Interrupted => "Interrupted before the tolerance".into(),
        Status::Diverged => "Diverged: these models are not a solution".into(),
    }
}

/// Four to six key numbers.
pub(crate) fn facts(report: &Report) -> Vec<Fact> {
    if let Some(comparison) = compared::of(report) {
        let best = compared::best(comparison);
        let best = best.map(|best| fact("Best method", best.name.clone(), format!("error {}", short(best.error))));
        let facts = [Some(nodes_fact(report)), validation_fact(&report.outcome), best];
        return facts.into_iter().flatten().collect();
    }
    let facts = [
        Some(nodes_fact(report)),
        clusters_fact(report),
        validation_fact(&report.outcome),
        train_fact(&report.outcome),
        hurt_fact(report),
        report.asking.is_none().then(|| optimality_fact(&report.outcome)),
        Some(effort_fact(report)),
    ];
    facts.into_iter().flatten().collect()
}

fn fact(label: &str, value: String, note: String) -> Fact {
    Fact { label: label.into(), value, note }
}

fn nodes_fact(report: &Report) -> Fact {
    let edges = plural(report.what.edges, "edge");
    fact("Nodes", count(report.what.nodes), format!("{edges}, {}", plural(report.what.rows, "row")))
}

fn clusters_fact(report: &Report) -> Option<Fact> {
    let largest = report.clusters.iter().map(|cluster| cluster.size).max()?;
    let note = match (report.clusters.len(), largest) {
        (1, _) => "all nodes share one model".into(),
        (_, 1) => "every node has its own model".into(),
        (_, n) => format!("the largest has {}", plural(n, "node")),
    };
    Some(fact(if report.clusters.len() == 1 { "Cluster" } else { "Clusters" }, count(report.clusters.len()), note))
}

fn validation_fact(outcome: &Outcome) -> Option<Fact> {
    let error = outcome.validation_error?;
    // Shares of errors that may be negative mean nothing.
    let local = outcome.local_error.filter(|local| *local > 0.0 && error >= 0.0);
    let against = local.map(|local| 1.0 - error / local).filter(|gain| gain.is_finite());
    let note = match against {
        Some(gain) if gain >= 0.005 => format!("{} below local-only models", percent(gain)),
        Some(gain) if gain <= -0.005 => format!("{} above local-only models", percent(-gain)),
        Some(_) => "level with local-only models".into(),
        None => outcome.error_name.clone(),
    };
    Some(fact("Held-out error", short(error), note))
}

/// The share of the nodes that would be better off alone, as far as held-out rows tell.
fn hurt_fact(report: &Report) -> Option<Fact> {
    let judged = report.nodes.iter().filter_map(|node| Some((node.validation_error?, node.local_error?)));
    let (hurt, all) = judged.fold((0, 0), |(hurt, all), (ours, alone)| (hurt + usize::from(ours > alone), all + 1));
    let note = format!("{} of {}, on held-out rows", count(hurt), plural(all, "node"));
    (all > 0).then(|| fact("Worse than alone", percent(hurt as f64 / all as f64), note))
}

fn train_fact(outcome: &Outcome) -> Option<Fact> {
    let note = if outcome.validation_error.is_some() { outcome.error_name.clone() } else { "no rows held out".into() };
    Some(fact("Training error", short(outcome.train_error?), note))
}

fn optimality_fact(outcome: &Outcome) -> Fact {
    match (certified(outcome), outcome.kkt_residual) {
        (Some(gap), _) => fact("Certified gap", short(gap), format!("objective {}", number(outcome.objective, 5))),
        (None, Some(kkt)) => fact("KKT residual", short(kkt), "no certificate".into()),
        (None, None) => fact("Objective", number(outcome.objective, 5), "no certificate".into()),
    }
}

fn effort_fact(report: &Report) -> Fact {
    let time = report.outcome.seconds.map(|seconds| format!(" in {}", duration(seconds))).unwrap_or_default();
    fact("Iterations", count(report.outcome.iterations), format!("{}{time}", report.what.solver))
}

fn certified(outcome: &Outcome) -> Option<f64> {
    outcome.certified_gap.filter(|gap| gap.is_finite() && outcome.objective.is_finite())
}

/// What is known about how far from optimal the models are.
pub(crate) fn certificate(outcome: &Outcome) -> Certificate {
    match certified(outcome) {
        Some(gap) => proven(outcome.objective, gap.max(0.0)),
        None => not_proven(outcome),
    }
}

fn proven(objective: f64, gap: f64) -> Certificate {
    let digits = digits_to_show(objective, gap);
    let share = match gap / objective.abs() {
        share if !share.is_finite() => String::new(),
        share if share < 1e-4 => format!(", {} times the objective", short(share)),
        share => format!(", {} of the objective", percent(share)),
    };
    Certificate {
        certified: true,
        headline: format!("No other choice of models can have an objective below {}.", number(objective - gap, digits)),
        text: format!(
            "The models here reach {}; the certified gap between the two is {}{share}. The bound comes from the dual problem \
             and holds however the models were found, up to rounding. It is about the objective only: \
             how well the models predict is told by the held-out errors.",
            number(objective, digits),
            short(gap)
        ),
    }
}

/// Enough digits for the objective and its lower bound to differ, and no more than a double has.
fn digits_to_show(objective: f64, gap: f64) -> usize {
    let ratio = objective.abs() / gap.max(1e-300);
    (ratio.max(1.0).log10().ceil() as usize + 2).clamp(5, 15)
}

fn not_proven(outcome: &Outcome) -> Certificate {
    let residual = match outcome.kkt_residual.filter(|kkt| kkt.is_finite()) {
        Some(kkt) => format!(
            "The optimality conditions are violated by at most {} (the KKT residual, relative; {} was asked for). A small \
             residual suggests that the models are close to optimal, but it is not a proof, and it does not bound how much \
             lower the objective could be.",
            short(kkt),
            short(outcome.tolerance)
        ),
        None => "There is no KKT residual either, so nothing is known about how close to optimal they are.".into(),
    };
    Certificate { certified: false, headline: "There is no certificate for these models.".into(), text: residual }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_gives_a_bound_that_differs_from_the_objective() {
        let outcome = Outcome { objective: 123.456789, certified_gap: Some(1e-6), ..Outcome::default() };
        let certificate = certificate(&outcome);
        assert!(certificate.certified);
        assert!(certificate.headline.contains("123.456788"), "{}", certificate.headline);
        assert!(certificate.text.contains("123.456789"), "{}", certificate.text);
    }

    #[test]
    fn without_a_gap_nothing_is_claimed() {
        let mut outcome = Outcome { objective: 1.0, kkt_residual: Some(1e-7), tolerance: 1e-6, ..Outcome::default() };
        for gap in [None, Some(f64::INFINITY), Some(f64::NAN)] {
            outcome.certified_gap = gap;
            let certificate = certificate(&outcome);
            assert!(!certificate.certified && certificate.text.contains("not a proof"));
        }
        outcome.kkt_residual = None;
        assert!(certificate(&outcome).text.contains("nothing is known"));
    }

    #[test]
    fn nodes_that_are_hurt_are_counted() {
        let node = |ours, alone| crate::Node { validation_error: ours, local_error: alone, ..Default::default() };
        let nodes = vec![
            node(Some(2.0), Some(1.0)),
            node(Some(1.0), Some(1.0)),
            node(None, Some(1.0)),
            node(Some(0.0), Some(1.0)),
        ];
        let report = Report { nodes, ..Report::default() };
        let hurt = facts(&report).into_iter().find(|fact| fact.label == "Worse than alone").unwrap();
        assert_eq!((hurt.value.as_str(), hurt.note.as_str()), ("33 %", "1 of 3 nodes, on held-out rows"));
        assert!(facts(&Report::default()).iter().all(|fact| fact.label != "Worse than alone"));
    }

    #[test]
    fn held_out_rows_are_counted() {
        let what = What { rows: 80, rows_held_out: 20, split: "Every fifth row.".into(), ..What::default() };
        assert_eq!(held_out(&what), "20 of 100 rows. Every fifth row.");
        assert!(
            held_out(&What { rows: 100, refitted: true, ..what })
                .starts_with("20 of 100 rows, to validate; the final models use all rows")
        );
        assert!(held_out(&What::default()).contains("not recorded"));
    }

    #[test]
    fn the_lead_names_the_problem() {
        let what = What {
            loss: "squared".into(),
            penalty: "norm2".into(),
            lambda: 0.1,
            dim: 6,
            nodes: 207,
            edges: 560,
            rows: 2070,
            target: Some("temperature".into()),
            ..Default::default()
        };
        let mut report = Report { what, ..Report::default() };
        assert_eq!(
            lead(&report),
            "A personal model of temperature for each of 207 nodes, 6 parameters each, fitted to 2,070 rows with the squared \
             loss and coupled along 560 edges by the norm2 penalty with λ = 0.1."
        );
        let lessons = vec![crate::Lesson::default(); 3];
        report.asking = Some(crate::Asking { candidates: 20, rounds: 100, lessons });
        assert_eq!(
            lead(&report),
            "Personal models of temperature (6 parameters, squared loss) for 3 of 207 nodes with 2,070 rows, without a graph: in \
             each of 100 rounds a node asked 20 others and took the answer that helped most on its own rows."
        );
        assert!(facts(&report).iter().all(|fact| fact.label != "Objective"));
    }
}
