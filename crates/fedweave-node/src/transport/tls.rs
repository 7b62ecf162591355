//! TLS 1.3 with certificates on both sides: what rustls needs, from the files of a part.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::settings::{Link, TransportError, split};
use crate::certs::Credentials;

/// How connections begin, at either end.
#[derive(Clone)]
pub enum Security {
    /// Mutual TLS 1.3.
    Tls {
        /// At the end that was dialled.
        acceptor: TlsAcceptor,
        /// At the end that dials.
        connector: TlsConnector,
    },
    /// Nothing is proved or hidden.
    Plain,
}

impl Security {
    /// Reads certificate, key and authority.
    pub fn of(link: &Link) -> Result<Security, TransportError> {
        match link {
            Link::LoopbackPlaintext { .. } => Ok(Security::Plain),
            Link::Tls(credentials) => {
                let wrong = |detail: String| TransportError::Tls { path: credentials.certificate.clone(), detail };
                tls(credentials).map_err(wrong)
            }
        }
    }
}

fn tls(credentials: &Credentials) -> Result<Security, String> {
    let said = |e: &dyn std::fmt::Display| e.to_string();
    let chain = || CertificateDer::from_pem_file(&credentials.certificate).map(|c| vec![c]).map_err(|e| said(&e));
    let key = || PrivateKeyDer::from_pem_file(&credentials.key).map_err(|e| said(&e));
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_file(&credentials.authority).map_err(|e| said(&e))?;
    roots.add(authority).map_err(|e| said(&e))?;
    let roots = Arc::new(roots);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = [&rustls::version::TLS13];
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone());
    let mut server = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&versions)
        .map_err(|e| said(&e))?
        .with_client_cert_verifier(verifier.build().map_err(|e| said(&e))?)
        .with_single_cert(chain()?, key()?)
        .map_err(|e| said(&e))?;
    // Every connection proves anew who it is.
    server.session_storage = Arc::new(NoServerSessionStorage {});
    server.send_tls13_tickets = 0;
    let mut client = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions)
        .map_err(|e| said(&e))?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain()?, key()?)
        .map_err(|e| said(&e))?;
    client.resumption = Resumption::disabled();
    Ok(Security::Tls { acceptor: Arc::new(server).into(), connector: Arc::new(client).into() })
}

/// The name under which a certificate must answer at `endpoint`.
pub fn server_name(endpoint: &str) -> Option<ServerName<'static>> {
    let (host, _) = split(endpoint).ok()?;
    ServerName::try_from(host.to_owned()).ok()
}
