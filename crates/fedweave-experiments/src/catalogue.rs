//! Every experiment by name, with what the paper says.

use crate::{Experiment, Run, book_exercise_5, book_fmi};

/// All of them, paper by paper.
pub fn all() -> Vec<Experiment> {
    [book()].concat()
}

/// A. Jung, *Federated Learning: From Theory to Practice*, and its assignments.
fn book() -> Vec<Experiment> {
    vec![
        entry(
            "book-fmi",
            "book, weather-station assignments",
            "graphs, FedGD and closed-form models of Finnish weather stations have the numbers of the reference solutions",
            book_fmi::run,
        ),
        entry(
            "book-exercise-5",
            "book, section 5.2, exercise",
            "at a fixed learning rate a larger alpha slows FedGD down for some local datasets and speeds it up for others",
            book_exercise_5::run,
        ),
    ]
}

fn entry(name: &'static str, source: &'static str, claim: &'static str, run: Run) -> Experiment {
    Experiment { name, source, claim, run }
}
