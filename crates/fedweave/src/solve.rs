//! Finding the minimiser: methods, and what decides which of them runs for how long.
//!
//! - `auto`: the solver of one machine, [`solve`], picks a method and hands over from one to the next;
//! - `primal_dual`, `newton` and `interior`: the methods it picks from;
//! - `join`: one more node in a network whose models stay as they are;
//! - `judge`: keeps the best models and the best bound, decides when to stop;
//! - `rounds`: methods that exchange messages in rounds, on one machine, over parts of a network or at a server.
//!
//! Methods own their iterates; the loops own the rest. There is no clock here: whoever calls may look at one in [`Watch`] and
//! ask the loop to stop.

mod auto;
mod interior;
mod join;
mod judge;
pub(crate) mod newton;
mod primal_dual;
mod rounds;
mod settings;
mod solution;
mod status;
mod tuning;

pub use auto::{minimise_local, nodes_without_minimiser, solve};
pub use join::{Anchor, join};
pub use primal_dual::PrimalDual;
pub use rounds::*;
pub use settings::{Settings, Solver};
pub use solution::{Choice, Record, Solution, Start};
pub use status::{Status, UnknownStatus, Watch};

use auto::{iteration_cost, minimise_node, quiet_iterations};
