//! Certificates: who is who in a federation.
//!
//! One authority signs a certificate for every part. Its common name says all that others need to know,
//! `name+issue@federation`: the part, how often it got a certificate, and the authority (a digest of its key). Public
//! authorities cannot sign such a name, and access control compares it whole, so trusting another root by mistake admits
//! nobody. A part that lost its key gets a new issue; the old one goes onto the revocation list.

mod authority;
mod credentials;
mod error;
mod files;
mod identity;
mod revocation;

pub use authority::{Authority, Issued, Validity};
pub use credentials::{Credentials, peer_identity};
pub use error::CertError;
pub use identity::{Identity, NAME_BYTES_MAX, check_name};
pub use revocation::RevocationList;
