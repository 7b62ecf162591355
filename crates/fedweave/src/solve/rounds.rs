//! Methods that work in rounds, between which rows travel: over the edges of the graph, or to a server and back.

mod async_fedgd;
mod descent;
mod fedgd;
mod fedrelax;
mod fedsgd;
mod method;
mod noisy;
mod pdmm;
mod primal_dual;
mod projected;
mod robust;
mod round;
mod server;
mod watched;

pub use async_fedgd::{AsyncFedGd, AsyncOptions};
pub use descent::{GradientRound, add_pull, flows, safe_step};
pub use fedgd::FedGd;
pub use fedrelax::{FedRelax, JudgedOn, Order, RelaxRound, mean_of_neighbours};
pub use fedsgd::{FedSgd, Schedule, SgdOptions};
pub use method::{History, Method, RoundRecord, run_rounds, run_rounds_until};
pub use noisy::{NoisyRound, noisy_descent};
pub use pdmm::{Pdmm, PdmmOptions, Subset};
pub use primal_dual::{BalancedPrimalDual, PrimalDualRound, PrimalDualRounds};
pub use projected::Constraint;
pub use robust::{Robust, RobustOptions, RobustRound};
pub use round::Round;
pub use server::{ALONE_STEP, ProximalMethod, ServerRound};
pub use watched::{certify, solve_in_rounds};
