//! A page of trust with made-up numbers and names that try to break it.

use fedweave_report::trust::{Heading, Item, Measure, Missing, Part, Requirement, TrustPage};

/// Seven requirements with two items each: one measured, one not.
pub fn page() -> TrustPage {
    let requirement = |k: usize| Requirement {
        code: format!("KR{k}"),
        name: format!("Requirement {k} with a name of some length"),
        items: vec![measured(k), open(k)],
    };
    TrustPage {
        title: "Sample <b>trust</b>".into(),
        version: "fedweave sample".into(),
        run: "run & <i>run</i>".into(),
        command: "fedweave trust run --group sex --out trust.html".into(),
        about: vec!["12 nodes with 120 rows of their own and 12 edges between them.".into()],
        requirements: (1..=7).map(requirement).collect(),
        annex: vec![Heading {
            number: "1.".into(),
            name: "General description".into(),
            items: vec!["1.1".into(), "4.1".into()],
            person: "intended purpose".into(),
        }],
    }
}

fn measured(k: usize) -> Item {
    let part = |name: &str, value: f64| Part {
        name: name.into(),
        value,
        interval: Some([value - 0.4, value + 0.4]),
        shown: format!("{value} ({} to {})", value - 0.4, value + 0.4),
    };
    let parts = vec![part("a group whose name is far too long to fit into its column", 2.0), part("</script>", 1.25)];
    let measure = Measure {
        name: "is the gap between the errors of groups".into(),
        value: 0.75,
        shown: "0.7500".into(),
        words: "Mean squared error of unseen rows, with 95 % intervals over nodes.".into(),
        command: format!("fedweave fairness run --group 'a very long column name {}' --folds 5", "x".repeat(80)),
        parts: if k % 2 == 1 { parts } else { Vec::new() },
    };
    let questions = vec!["Which difference would be unfair?".into()];
    Item {
        id: format!("{k}.1"),
        name: "Avoidance of unfair bias".into(),
        measures: vec![measure],
        missing: vec![],
        questions,
    }
}

fn open(k: usize) -> Item {
    let missing = Missing {
        what: "the privacy of a row, as epsilon".into(),
        why: "no noise was asked for.".into(),
        command: "fedweave fit --config run/config.toml --dp-epsilon 1".into(),
    };
    Item { id: format!("{k}.2"), name: "Privacy".into(), missing: vec![missing], ..Item::default() }
}
