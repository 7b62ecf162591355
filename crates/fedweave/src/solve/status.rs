//! Why a loop ended, and what whoever watches it may ask for. One word for each status, in files, messages and reports.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Why the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The tolerance was reached.
    Converged,
    /// The objective no longer decreased by the asked amount.
    Stalled,
    /// `iterations_max` was reached.
    IterationLimit,
    /// The watcher's time was up.
    TimeLimit,
    /// The watcher was interrupted.
    Interrupted,
    /// A number left the range of f64.
    Diverged,
}

/// What the watcher wants after a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// Go on.
    Continue,
    /// Stop with this status.
    Stop(Status),
}

impl Status {
    /// All of them.
    pub const ALL: [Status; 6] = [
        Status::Converged,
        Status::Stalled,
        Status::IterationLimit,
        Status::TimeLimit,
        Status::Interrupted,
        Status::Diverged,
    ];

    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Status::Converged => "converged",
            Status::Stalled => "stalled",
            Status::IterationLimit => "iteration-limit",
            Status::TimeLimit => "time-limit",
            Status::Interrupted => "interrupted",
            Status::Diverged => "diverged",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that is no [`Status`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no status of a solver")]
pub struct UnknownStatus(pub String);

impl FromStr for Status {
    type Err = UnknownStatus;

    fn from_str(word: &str) -> Result<Self, UnknownStatus> {
        Self::ALL.into_iter().find(|status| status.name() == word).ok_or_else(|| UnknownStatus(word.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_each_wherever_it_is_written() {
        for status in Status::ALL {
            let word = status.to_string();
            assert_eq!(word.parse(), Ok(status));
            assert_eq!(serde_json::to_string(&status).unwrap(), format!("\"{word}\""));
            assert_eq!(serde_json::from_str::<Status>(&format!("\"{word}\"")).unwrap(), status);
        }
        assert_eq!("objective-decrease".parse::<Status>(), Err(UnknownStatus("objective-decrease".into())));
    }
}
