//! Privacy: accountant, noise, sensitivities, audit and attacks, against independent computations.

mod accountant;
mod laplace;
