//! Who shaped a model, what shaped a prediction, and how well models agree with what their users expect.

pub mod guesses;
pub mod influence;
pub mod paths;
mod system;
pub(crate) use system::hessians;

pub use guesses::with_guesses;
pub use influence::{Influence, Shaped, Unexplained};
