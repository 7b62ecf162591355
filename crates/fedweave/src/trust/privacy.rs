//! Differential privacy for networks of datasets (chapter 9 of the book): how much a sequence of releases costs, the noise
//! itself, how far one row can move the models, and attempts to break all of it.
//!
//! Pure mathematics: randomness is passed in. Whoever calls decides where it comes from; in production that is the operating system,
//! never a seed.

pub mod accountant;
pub mod audit;
pub mod features;
pub mod mechanisms;
pub mod membership;
pub mod objective;
pub mod probe;
pub mod reconstruct;
pub mod rounds;
pub mod sensitivity;
pub mod spread;
pub mod statistics;
pub mod votes;
