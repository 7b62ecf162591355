//! What the network is compared with: every node alone, one model for all, one per true cluster, one per cluster that is found; and the federated methods
//! with a server. The squared penalty (MOCHA) is a [`Problem`](crate::Problem), the shuffled graph is in
//! [`compare`](crate::compare).
//!
//! Methods with a server are [`Method`](crate::solve::Method)s: in a round the server sends models to all clients, the nodes
//! with rows, and they answer. Nodes without rows use what the server has.

mod clustered;
mod fedavg;
mod ifca;
mod kriging;
mod pfedme;
mod pick;
mod pooled;
mod server;

pub use clustered::{ClusterSearch, Clustering, embedding};
pub use fedavg::{FedAvg, FedAvgOptions, LocalUpdate};
pub use ifca::{Averaging, Ifca, IfcaOptions, IfcaStart};
pub use kriging::Kriging;
pub use pfedme::{PFedMe, PFedMeOptions};
pub use pick::{Picked, pick, step_grid};
pub use pooled::{RIDGES, global, local, oracle};
