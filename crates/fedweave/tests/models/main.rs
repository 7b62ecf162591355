//! Models of all classes: against other libraries' figures, on bad input, kept in files.

mod bad_input;
mod fixtures;
mod kept;
mod perceptron;
