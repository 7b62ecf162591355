//! The tables and figures of the papers behind Fedweave, each as a function: generate the data from a seed, run every
//! method, and compare with what was printed.
//!
//! ```
//! use fedweave_experiments::{Setting, find};
//! let experiment = find("book-exercise-5").unwrap();
//! let outcome = experiment.run(&Setting { quick: true, ..Setting::default() }, &mut |_, _| ()).unwrap();
//! assert!(outcome.passes());
//! ```

mod active;
mod active_figures;
mod attack_bound;
mod attack_defences;
mod attack_networks;
mod attack_poison;
mod attack_table;
mod book_async;
mod book_exercise_5;
mod book_fmi;
mod catalogue;
mod cc_accuracy;
mod cc_models;
mod digit_figures;
mod digit_methods;
mod digits;
mod ellipses;
mod gtv_chain;
mod gtv_clusters;
mod gtv_failures;
mod gtv_table1;
mod measure;
mod outcome;
mod real_networks;
mod recover;
mod relax_clusters;
mod relax_mixed;
mod relax_mixtures;
mod relax_train;
mod relax_tree_figures;
mod relax_trees;
mod relax_variation;
mod rivals;
mod spread;
mod write;

use std::path::PathBuf;

use fedweave_io::IoError;

pub use catalogue::all;
pub use outcome::{Cell, Check, NamedFigure, Outcome, Table, short};
pub use write::write;

/// How to run an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Setting {
    /// Fewer repetitions and values: seconds instead of minutes.
    pub quick: bool,
    /// Everything random follows from it.
    pub seed: u64,
    /// Folder with datasets that do not come with the program.
    pub data: Option<PathBuf>,
}

/// Told how many pieces of work are done, and how many there are.
pub type Progress<'a> = dyn FnMut(usize, usize) + 'a;

/// One table or figure.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// By which it is called.
    pub name: &'static str,
    /// Where it is printed.
    pub source: &'static str,
    /// What is said there.
    pub claim: &'static str,
    run: Run,
}

type Run = fn(&Setting, &mut Progress) -> Result<Outcome, Error>;

/// Why an experiment could not be run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The mathematics refused.
    #[error(transparent)]
    Problem(#[from] fedweave::Error),
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] IoError),
}

impl Experiment {
    /// Runs it.
    pub fn run(&self, setting: &Setting, progress: &mut Progress) -> Result<Outcome, Error> {
        (self.run)(setting, progress)
    }
}

/// The one of this name.
pub fn find(name: &str) -> Option<Experiment> {
    all().into_iter().find(|experiment| experiment.name == name)
}
