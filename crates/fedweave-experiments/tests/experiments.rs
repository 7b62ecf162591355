//! The experiments that take seconds, run as the program runs them.

use fedweave_experiments::{Cell, Outcome, Setting, all, find};

const QUICK: Setting = Setting { quick: true, seed: 0, data: None };

fn run(name: &str, setting: &Setting) -> Outcome {
    let (mut last, mut total) = (0, 0);
    let outcome = find(name).unwrap().run(setting, &mut |done, of| {
        assert!(done <= of && done >= last, "progress goes forward");
        (last, total) = (done, of);
    });
    assert!(total > 0, "{name} reports progress");
    outcome.unwrap()
}

fn deviations(outcome: &Outcome) -> Vec<&str> {
    outcome.checks.iter().filter(|check| !check.holds).map(|check| check.what.as_str()).collect()
}

#[test]
fn every_table_and_figure_is_there_once() {
    let names: Vec<&str> = all().iter().map(|experiment| experiment.name).collect();
    let expected = [
        "gtv-table1",
        "gtv-fig2",
        "gtv-fig3",
        "gtv-fig4",
        "gtv-fig5",
        "gtv-fig6",
        "gtv-fig7",
        "gtv-failures",
        "cc-fig2",
        "cc-fig3",
        "cc-fig5",
        "cc-fig6",
        "relax-fig1",
        "relax-fig2",
        "relax-fig3",
        "relax-fig4",
        "relax-fig5",
        "relax-mixed",
        "fmi-trees",
        "active-fig1",
        "active-fig2",
        "active-fig3",
        "book-fmi",
        "book-exercise-5",
        "book-async",
        "attack-table",
        "attack-poison",
        "attack-bound",
    ];
    assert_eq!(names, expected);
    assert!(find("nothing").is_none());
}

#[test]
fn weather_stations_have_the_numbers_of_the_reference() {
    let outcome = run("book-fmi", &QUICK);
    assert_eq!(deviations(&outcome), [""; 0]);
    assert_eq!(outcome.checks.len(), 79);
    let entries = [
        "h-connect",
        "h-const-k3",
        "h-fedgd-k3",
        "h-fedgd-var1",
        "h-fedgd-tol",
        "h-graph-avgtemp",
        "h-graph-grad",
        "h-clust-coord:",
        "h-clust-coord-203",
        "synth-geo",
        "h-privacy-loc",
        "h-privacy-pre",
        "d-graph",
        "d-fedgd",
        "d-closed-1",
    ];
    for entry in entries {
        assert!(outcome.checks.iter().any(|check| check.what.starts_with(entry)), "{entry}");
    }
}

#[test]
fn fast_experiments_agree_with_their_papers() {
    for name in ["book-exercise-5", "book-async", "cc-fig6"] {
        let outcome = run(name, &QUICK);
        assert_eq!(deviations(&outcome), [""; 0], "{name}");
        assert!(outcome.passes() && !outcome.figures.is_empty() && !outcome.tables.is_empty());
    }
}

#[test]
fn no_attack_moves_models_further_than_the_bound() {
    let outcome = run("attack-bound", &QUICK);
    assert_eq!(deviations(&outcome), [""; 0]);
    assert!(outcome.passes() && !outcome.tables.is_empty());
}

#[test]
fn active_sampling_agrees_with_its_paper() {
    let first = run("active-fig1", &QUICK);
    assert_eq!(deviations(&first), [""; 0]);
    let teachers = first.tables.iter().find(|table| table.name == "learnt_from").unwrap();
    assert!(!teachers.rows.is_empty(), "it is said whom a node learnt from");
}

#[test]
fn trees_at_weather_stations_gain_from_the_network() {
    let outcome = run("fmi-trees", &QUICK);
    let check = &outcome.checks[0];
    assert!(check.holds && check.what.contains("against local ones"), "{check:?}");
}

#[test]
fn perceptrons_learn_the_small_digits() {
    let outcome = run("gtv-fig5", &QUICK);
    let accuracy = outcome.tables.iter().find(|table| table.name == "accuracy").unwrap();
    let last = |row: &Vec<Cell>| if let Cell::Number(x) = row[3] { x } else { 0.0 };
    assert!(accuracy.rows.len() == 5 && accuracy.rows.iter().all(|row| last(row) > 0.9), "{:?}", accuracy.rows);
    assert!(outcome.notes.iter().any(|note| note.contains("come with the program")), "{:?}", outcome.notes);
}

#[test]
fn pdmm_converges_but_not_as_printed() {
    let outcome = run("cc-fig5", &QUICK);
    assert_eq!(deviations(&outcome), ["PDMM, as printed in (16), 40 % of the users: F(x) - F*"]);
    let printed = outcome.checks.iter().find(|check| !check.holds).unwrap();
    assert!(printed.cause.contains("lacks the terms"), "a deviation says why");
}

#[test]
fn norms_are_more_compact_than_squares_unless_lambda_is_tiny() {
    let outcome = run("cc-fig3", &QUICK);
    let found = deviations(&outcome);
    assert!(found.len() == 1 && found[0].ends_with("also below, down to 0.001"), "{found:?}");
}

#[test]
fn results_depend_on_the_seed_and_not_on_the_number_of_threads() {
    let on = |threads: usize, seed| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run("book-async", &Setting { quick: true, seed, data: None }))
    };
    assert_eq!(on(1, 0), on(3, 0));
    assert_ne!(on(1, 0), on(1, 1));
}

#[test]
fn an_outcome_without_checks_does_not_pass() {
    assert!(!Outcome::default().passes());
}
