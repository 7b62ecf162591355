//! The jobs of Fedweave: `request + Input + Observer -> result`, and from a result to words, JSON, a run directory and a report.
//!
//! ```text
//! Settings (flags, config file, Python) --request/--> FitRequest --fit--> FitResult --> text | summary | write_run
//! ```
//!
//! Every face of the program (the command line, Python, a federation, a page in the browser) calls these; none has statistics of
//! its own. There is no terminal, no clock and no socket here: an [`Observer`] has them.

pub mod again;
pub mod ask;
pub mod blend_file;
pub mod calibration;
pub mod checks;
mod classes;
pub mod compare;
mod drawing;
pub mod error;
pub mod few_shot;
pub mod fit;
pub mod graph;
pub mod held_out;
pub mod intervals;
pub mod learnt_graph;
mod model_file;
pub mod monitor;
pub mod network_file;
pub mod path;
pub mod predictor;
pub mod preview;
pub mod privacy;
pub mod pull;
pub mod relax;
pub mod request;
pub mod run_dir;
pub mod slide;
mod split_file;
pub mod theory;
pub mod training;
pub mod trust;
pub mod tune;
#[cfg(feature = "federation")]
pub mod up;
pub mod vertical;
pub mod watch;
pub mod wording;

pub use error::{Error, Result};
pub use watch::{Observer, Stage, Unwatched};
