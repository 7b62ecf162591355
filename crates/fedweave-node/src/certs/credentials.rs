//! A part's own certificate, checked before it is used: what others would refuse is refused here, with the reason.

use std::path::{Path, PathBuf};

use rcgen::{KeyPair, PublicKeyData};
use time::OffsetDateTime;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::authority::federation_of;
use super::files::{check_secret, read, read_pem, unreadable};
use super::{CertError, Identity, RevocationList};

/// Certificate, key, authority and revocation list of a part.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// Whom the certificate is made out to.
    pub identity: Identity,
    /// The certificate.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authority's certificate.
    pub authority: PathBuf,
    /// Where the revocation list lies, if there is one.
    pub revoked: Option<PathBuf>,
    /// Where the highest number of a revocation list that was seen is remembered, so that an older list is refused.
    pub list_number: Option<PathBuf>,
    /// Last moment of validity.
    pub until: OffsetDateTime,
}

impl Credentials {
    /// Reads and checks the certificate of `name`.
    pub fn load(
        name: &str,
        certificate: &Path,
        key: &Path,
        authority: &Path,
        revoked: Option<&Path>,
    ) -> Result<Credentials, CertError> {
        let what = "certificate";
        let der = read_pem(certificate, what, "CERTIFICATE")?;
        let (_, parsed) = X509Certificate::from_der(&der).map_err(|e| unreadable(certificate, what, e))?;
        let identity = identity(certificate, &parsed, name)?;
        check_authority(certificate, &parsed, authority, &identity)?;
        check_key(certificate, &parsed, key)?;
        let path = certificate.to_path_buf();
        let (from, until) = (parsed.validity().not_before.to_datetime(), parsed.validity().not_after.to_datetime());
        let now = OffsetDateTime::now_utc();
        if now < from {
            return Err(CertError::NotYetValid { path, from: shown(from) });
        }
        if now > until {
            return Err(CertError::Expired { path, name: name.into(), on: shown(until) });
        }
        let credentials = Credentials {
            certificate: path,
            key: key.to_path_buf(),
            authority: authority.to_path_buf(),
            revoked: revoked.map(Path::to_path_buf),
            list_number: None,
            identity,
            until,
        };
        match credentials.revocation_list()?.contains(&credentials.identity) {
            true => Err(CertError::Revoked { path: credentials.certificate, name: name.into() }),
            false => Ok(credentials),
        }
    }

    /// The revocation list as it is now, not older than any that was seen before; empty if there is none.
    pub fn revocation_list(&self) -> Result<RevocationList, CertError> {
        let Some(path) = &self.revoked else { return Ok(RevocationList::default()) };
        let list = RevocationList::read(path, &self.authority)?;
        if let Some(memory) = &self.list_number {
            list.check_newest(path, memory)?;
        }
        Ok(list)
    }
}

/// Whom the certificate of a peer is made out to, and its last moment.
pub fn peer_identity(der: &[u8]) -> Option<(Identity, OffsetDateTime)> {
    let (_, parsed) = X509Certificate::from_der(der).ok()?;
    let common = parsed.subject().iter_common_name().next().and_then(|cn| cn.as_str().ok())?;
    Some((Identity::parse(common)?, parsed.validity().not_after.to_datetime()))
}

fn identity(path: &Path, certificate: &X509Certificate, name: &str) -> Result<Identity, CertError> {
    let common = certificate.subject().iter_common_name().next().and_then(|cn| cn.as_str().ok()).unwrap_or_default();
    let wrong = || CertError::WrongName { path: path.into(), expected: name.into(), found: common.into() };
    Identity::parse(common).filter(|i| i.name == name).ok_or_else(wrong)
}

fn check_authority(
    path: &Path,
    certificate: &X509Certificate,
    authority: &Path,
    identity: &Identity,
) -> Result<(), CertError> {
    let der = read_pem(authority, "authority certificate", "CERTIFICATE")?;
    let (_, signer) = X509Certificate::from_der(&der).map_err(|e| unreadable(authority, "authority certificate", e))?;
    let signed = certificate.verify_signature(Some(signer.public_key())).is_ok();
    match signed && federation_of(authority)? == identity.federation {
        true => Ok(()),
        false => Err(CertError::WrongAuthority { path: path.into(), authority: authority.into() }),
    }
}

fn check_key(path: &Path, certificate: &X509Certificate, key: &Path) -> Result<(), CertError> {
    check_secret(key)?;
    let pair = KeyPair::from_pem(&read(key)?).map_err(|e| unreadable(key, "private key", e))?;
    match certificate.public_key().raw == pair.subject_public_key_info() {
        true => Ok(()),
        false => Err(CertError::WrongKey { path: key.into(), certificate: path.into() }),
    }
}

/// A moment, to the second.
pub(super) fn shown(moment: OffsetDateTime) -> String {
    let (date, time) = (moment.date(), moment.time());
    format!("{date} {:02}:{:02}:{:02} UTC", time.hour(), time.minute(), time.second())
}
