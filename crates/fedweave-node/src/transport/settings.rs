//! Where a part listens, whom it dials, and how it proves who it is.

use std::net::IpAddr;

use crate::certs::{CertError, Credentials, Identity, RevocationList};
use crate::plan::NO_AUTHORITY;

/// A neighbouring part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// Its name, as in its certificate.
    pub name: String,
    /// `host:port` to dial; without it the neighbour has to dial us.
    pub endpoint: Option<String>,
}

/// How a part proves who it is.
#[derive(Debug, Clone)]
pub enum Link {
    /// Mutual TLS 1.3.
    Tls(Credentials),
    /// Nothing is proved or hidden: addresses of this machine only.
    LoopbackPlaintext {
        /// Our name.
        name: String,
    },
}

/// Why there is no transport.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// Something is wrong with the certificates.
    #[error(transparent)]
    Certificate(#[from] CertError),
    /// Without TLS only this machine may be reached.
    #[error(
        "`{endpoint}` is not an address of this machine; without certificates use 127.0.0.1:PORT, or set up certificates with `fedweave certs init`"
    )]
    NotLoopback {
        /// The endpoint.
        endpoint: String,
    },
    /// An endpoint that cannot be read.
    #[error("`{endpoint}` is not an endpoint; write HOST:PORT")]
    Endpoint {
        /// The endpoint.
        endpoint: String,
    },
    /// The operating system refuses the address.
    #[error("cannot listen on {listen}: {error}")]
    Listen {
        /// Where we wanted to listen.
        listen: String,
        /// What it said.
        error: std::io::Error,
    },
    /// Certificate and key are no use to TLS.
    #[error("{}: {detail}", path.display())]
    Tls {
        /// The certificate.
        path: std::path::PathBuf,
        /// What is wrong with it.
        detail: String,
    },
}

impl Link {
    /// Who we are.
    pub fn identity(&self) -> Identity {
        match self {
            Link::Tls(credentials) => credentials.identity.clone(),
            Link::LoopbackPlaintext { name } => {
                Identity { name: name.clone(), issue: 1, federation: NO_AUTHORITY.into() }
            }
        }
    }

    /// The revocation list as it is now.
    pub fn revocation_list(&self) -> Result<RevocationList, CertError> {
        match self {
            Link::Tls(credentials) => credentials.revocation_list(),
            Link::LoopbackPlaintext { .. } => Ok(RevocationList::default()),
        }
    }

    /// Refuses what cannot be reached safely.
    pub fn check(&self, endpoint: &str) -> Result<(), TransportError> {
        let (host, _) = split(endpoint)?;
        let loopback = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        match self {
            Link::LoopbackPlaintext { .. } if !loopback => {
                Err(TransportError::NotLoopback { endpoint: endpoint.into() })
            }
            _ => Ok(()),
        }
    }
}

/// Host and port; an IPv6 address stands in brackets.
pub(super) fn split(endpoint: &str) -> Result<(&str, u16), TransportError> {
    let wrong = || TransportError::Endpoint { endpoint: endpoint.into() };
    let (host, port) = endpoint.rsplit_once(':').ok_or_else(wrong)?;
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    let plain = |h: &str| !h.is_empty() && h.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
    let good = match bare {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => plain(host),
    };
    match (good, port.parse()) {
        (true, Ok(port)) => Ok((bare.unwrap_or(host), port)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plaintext_stays_on_this_machine() {
        let link = Link::LoopbackPlaintext { name: "a".into() };
        for good in ["127.0.0.1:7447", "localhost:1", "[::1]:9", "127.9.9.9:80"] {
            assert!(link.check(good).is_ok(), "{good}");
        }
        for bad in ["0.0.0.0:7447", "10.0.0.1:7447", "[::]:9", "example.org:80", "127.0.0.1.example.org:80"] {
            assert!(matches!(link.check(bad), Err(TransportError::NotLoopback { .. })), "{bad}");
        }
    }

    #[test]
    fn endpoints_are_host_and_port() {
        assert_eq!(split("[::1]:80").unwrap(), ("::1", 80));
        for bad in ["", "host", "host:", ":80", "host:70000", "host:80#x=1", "a b:80", "[::1:80", "host:80/x", "h;x:80"]
        {
            assert!(split(bad).is_err(), "{bad}");
        }
    }
}
