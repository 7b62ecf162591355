//! The two pieces of linear algebra every node needs: a Cholesky factor of a small matrix, and the solution of
//! regularised least squares through whichever of `X'X` and `XX'` is smaller; and one for all nodes together: Cholesky
//! factors of sparse matrices with the pattern of a graph.

pub mod block_system;
pub mod cholesky;
pub mod jacobi;
pub mod normal;
pub mod selected;
pub mod sparse;
