//! The items of the Assessment List, in our own words, and the headings of technical documentation.

use fedweave_report::trust::Heading;

/// An item: its number, its name, and what a person has to answer.
type Entry = (&'static str, &'static str, &'static [&'static str]);

/// The key requirements and their items.
pub(super) const LIST: [(&str, &str, &[Entry]); 7] = [
    (
        "KR1",
        "Human agency and oversight",
        &[
            (
                "1.1",
                "Human agency and autonomy",
                &["Do those who get a prediction know that a model made it, and can they decide otherwise?"],
            ),
            (
                "1.2",
                "Human oversight",
                &["Who looks at the numbers below, how often, and who may stop the use of a model?"],
            ),
        ],
    ),
    (
        "KR2",
        "Technical robustness and safety",
        &[
            (
                "2.1",
                "Resilience to attack and security",
                &["Who could gain by changing rows or models, and what would they have to reach?"],
            ),
            ("2.2", "General safety", &["What harm does a wrong prediction do, and how large may an error be?"]),
            ("2.3", "Accuracy", &["Are the held-out rows like those that will be predicted?"]),
            ("2.4", "Reliability, fall-back plans and reproducibility", &["What is done while no model can be used?"]),
        ],
    ),
    (
        "KR3",
        "Privacy and data governance",
        &[
            ("3.1", "Privacy", &["Are rows personal data, and what allows their use?"]),
            ("3.2", "Data governance", &["Who is responsible for the data, and is an impact assessment needed?"]),
        ],
    ),
    (
        "KR4",
        "Transparency",
        &[
            ("4.1", "Traceability", &["Where did the rows come from before they were in this file?"]),
            ("4.2", "Explainability", &["Do users understand the explanations that they get?"]),
            ("4.3", "Communication", &["Are users told what the models are for, and how far off they may be?"]),
        ],
    ),
    (
        "KR5",
        "Diversity, non-discrimination and fairness",
        &[
            (
                "5.1",
                "Avoidance of unfair bias",
                &["Which groups matter here, and which difference between them would be unfair?"],
            ),
            (
                "5.2",
                "Accessibility and universal design",
                &["Can everybody concerned use what is built on the models?"],
            ),
            ("5.3", "Participation of those concerned", &["Were those whom the predictions are about asked?"]),
        ],
    ),
    (
        "KR6",
        "Societal and environmental well-being",
        &[
            (
                "6.1",
                "Environmental well-being",
                &["Is the use worth what it costs, and where does the energy come from?"],
            ),
            ("6.2", "Impact on work and skills", &["Whose work changes, and were they heard?"]),
            ("6.3", "Impact on society and democracy", &["What happens if many people rely on these predictions?"]),
        ],
    ),
    (
        "KR7",
        "Accountability",
        &[
            ("7.1", "Auditability", &["Who may audit, and where is what was found kept?"]),
            ("7.2", "Risk management", &["Who answers for harm, and how do those concerned complain?"]),
        ],
    ),
];

/// The headings of Annex IV of Regulation (EU) 2024/1689, in short.
pub(super) fn annex() -> Vec<Heading> {
    let heading = |(number, name, items, person): (&str, &str, &[&str], &str)| Heading {
        number: number.into(),
        name: name.into(),
        items: items.iter().map(ToString::to_string).collect(),
        person: person.into(),
    };
    let all: [(&str, &str, &[&str], &str); 9] = [
        (
            "1.",
            "General description of the system",
            &["4.1"],
            "intended purpose, provider, versions, how it reaches its users",
        ),
        (
            "2.",
            "Elements and process of development",
            &["2.3", "2.4", "3.2", "4.1", "4.2"],
            "design choices and their reasons, human oversight, security measures",
        ),
        (
            "3.",
            "Monitoring, functioning and control",
            &["1.2", "2.2", "4.3", "5.1"],
            "foreseeable unintended outcomes, instructions for those who oversee",
        ),
        ("4.", "Appropriateness of the performance metrics", &["2.3", "5.1"], "why these metrics suit the purpose"),
        ("5.", "Risk management system", &["7.2"], "the system itself"),
        ("6.", "Changes during the lifecycle", &["4.1", "7.1"], "what was changed, when and why"),
        ("7.", "Standards applied", &[], "the list, or what was done instead"),
        ("8.", "Declaration of conformity", &[], "a copy"),
        ("9.", "Monitoring after the system is in use", &["1.2", "7.1"], "the plan"),
    ];
    all.into_iter().map(heading).collect()
}
