//! What can go wrong in a job: the request, the files, the mathematics.

use std::fmt::Display;

use fedweave::loss::Family;
use fedweave_io::IoError;

/// A job that cannot be done. The message says what is wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request contradicts itself, or the data.
    #[error("{0}")]
    Request(String),
    /// A file.
    #[error(transparent)]
    File(#[from] IoError),
    /// The mathematics refuses.
    #[error(transparent)]
    Mathematics(#[from] fedweave::Error),
    /// The mathematics refuses a row or column of the data, which `message` names.
    #[error("{message}")]
    Data {
        /// What is wrong, with its place in the file.
        message: String,
        /// The same without a place; not its source, or it would be told twice.
        cause: fedweave::Error,
    },
    /// A loss decreases for ever.
    #[error("the {family} loss has no minimiser at node `{name}` and those connected with it ({count} such): {}", runaway_remedy(*.ridge))]
    NoMinimiser {
        /// The loss of the node.
        family: Family,
        /// A node where it happens.
        node: usize,
        /// Its name.
        name: String,
        /// How many there are.
        count: usize,
        /// The ridge is positive.
        ridge: bool,
    },
    /// A model at a node.
    #[error("node `{name}`: {message}")]
    Node {
        /// The name of the node.
        name: String,
        /// What is wrong with it.
        message: String,
    },
    /// A page that cannot be drawn.
    #[error(transparent)]
    Report(#[from] fedweave_report::ReportError),
    /// Any of these, and where it happened.
    #[error("{place}: {source}")]
    At {
        /// Where.
        place: String,
        /// What.
        source: Box<Error>,
    },
}

fn runaway_remedy(ridge: bool) -> &'static str {
    match ridge {
        true => "all labels are alike, so the intercept grows without bound: give --no-intercept, or connect it",
        false => {
            "labels can be predicted perfectly, so parameters grow without bound: give a ridge, e.g. --ridge 0.001"
        }
    }
}

/// What jobs return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A request that cannot be carried out.
    pub fn request(message: impl Into<String>) -> Self {
        Error::Request(message.into())
    }
}

/// Says where an error happened.
pub(crate) trait Place<T> {
    fn at(self, place: impl Display) -> Result<T>;
}

impl<T, E: Into<Error>> Place<T> for std::result::Result<T, E> {
    fn at(self, place: impl Display) -> Result<T> {
        self.map_err(|error| Error::At { place: place.to_string(), source: Box::new(error.into()) })
    }
}

/// Returns a refusal of the request.
macro_rules! refuse {
    ($($words:tt)*) => { return Err($crate::Error::Request(format!($($words)*))) };
}

/// Refuses the request unless the condition holds.
macro_rules! require {
    ($condition:expr, $($words:tt)*) => {
        let holds: bool = $condition;
        if !holds {
            $crate::error::refuse!($($words)*)
        }
    };
}

pub(crate) use {refuse, require};
