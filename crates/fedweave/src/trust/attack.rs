//! Attacks, tried before others do: poisoned rows, hidden triggers, lies in rounds, silence; and how much it takes to do harm.

mod data;
mod lie;
mod rounds;
mod who;

pub use data::{DataAttack, Trigger, poisoned};
pub use lie::{Cast, FACTORS, Lie};
pub use rounds::{Heard, rounds_under_attack};
pub use who::{around, draw, has_honest_majority, spread};
