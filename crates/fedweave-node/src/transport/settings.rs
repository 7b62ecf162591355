//! Where a part listens, whom it dials, and how it proves who it is.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::FRAME_BYTES_MAX;
use crate::certs::{CertError, Credentials, Identity, RevocationList};
use crate::plan::NO_AUTHORITY;

/// Alive signs are due so often; a frozen neighbour is noticed after this time.
const LEASE_MS: u64 = 2500;
/// A handshake that takes longer is given up.
const HANDSHAKE_MS: u64 = 2000;
/// How long to wait before dialling again, at first and at most.
const RETRY_MS: (u64, u64) = (200, 1000);
/// A frame waits so long for a full queue before it is lost; the state machine repeats it.
const WAIT_BEFORE_DROP_US: u64 = 20_000;

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

/// An environment variable and the value it must have when the process starts. The engine reads and writes a TLS connection in two tasks
/// that share it without a lock; on one thread they cannot get in each other's way, on two they corrupt memory.
pub const RUNTIME: (&str, &str) = ("ZENOH_RUNTIME", "(rx: (handover: tx))");

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
    /// Reading and writing are not on one thread.
    #[error("the environment variable {} must be `{}` when the process starts", RUNTIME.0, RUNTIME.1)]
    Runtime,
    /// The engine refused.
    #[error("cannot listen on {listen}: {detail}")]
    Engine {
        /// Where we wanted to listen.
        listen: String,
        /// What it said.
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

    pub(super) fn protocol(&self) -> &'static str {
        match self {
            Link::Tls(_) => "tls",
            Link::LoopbackPlaintext { .. } => "tcp",
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

/// The engine's configuration: no scouting of any kind, explicit endpoints, small frames, and access rules. Priorities stay on
/// though we use one only: without them the engine (1.10) never clears the mark of a congested queue.
pub(super) fn configuration(link: &Link, listen: &str, neighbours: &[Neighbour], access: Value) -> Value {
    let protocol = link.protocol();
    let dialled: Vec<String> =
        neighbours.iter().filter_map(|n| n.endpoint.as_ref()).map(|e| format!("{protocol}/{e}")).collect();
    json!({
        "mode": "peer",
        "listen": {
            "endpoints": [format!("{protocol}/{listen}#tls_handshake_timeout_ms={HANDSHAKE_MS}")],
            "timeout_ms": 0,
            "exit_on_failure": true,
        },
        "connect": {
            "endpoints": dialled,
            "timeout_ms": -1,
            "exit_on_failure": false,
            "retry": {
                "period_init_ms": RETRY_MS.0, "period_max_ms": RETRY_MS.1, "period_increase_factor": 2,
            },
        },
        "open": { "return_conditions": { "connect_scouted": false, "declares": false } },
        "scouting": { "multicast": { "enabled": false }, "gossip": { "enabled": false } },
        "access_control": access,
        "low_pass_filter": [{
            "id": "frames", "flows": ["ingress", "egress"], "messages": ["put", "delete", "query", "reply"],
            "key_exprs": ["**"], "size_limit": FRAME_BYTES_MAX,
        }],
        "transport": {
            "unicast": {
                "open_timeout": HANDSHAKE_MS, "accept_timeout": HANDSHAKE_MS, "max_links": 1,
                "qos": { "enabled": true },
            },
            "link": {
                "protocols": [protocol],
                "tx": {
                    "lease": LEASE_MS,
                    "keep_alive": 4,
                    "queue": { "congestion_control": { "drop": { "wait_before_drop": WAIT_BEFORE_DROP_US } } },
                },
                "rx": { "max_message_size": 2 * FRAME_BYTES_MAX },
                "tls": tls(link),
            },
            "shared_memory": { "enabled": false },
        },
        "adminspace": { "enabled": false },
    })
}

fn tls(link: &Link) -> Value {
    match link {
        Link::LoopbackPlaintext { .. } => json!({}),
        Link::Tls(c) => json!({
            "root_ca_certificate": c.authority,
            "listen_private_key": c.key,
            "listen_certificate": c.certificate,
            "connect_private_key": c.key,
            "connect_certificate": c.certificate,
            "enable_mtls": true,
            "verify_name_on_connect": true,
            "close_link_on_expiration": true,
        }),
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
