//! The revocation list: an ordinary X.509 list, signed by the authority.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::Path;

use time::OffsetDateTime;
use x509_parser::prelude::{CertificateRevocationList, FromDer, X509Certificate};

use super::credentials::shown;
use super::files::{read, read_pem, unreadable, write_secret};
use super::{CertError, Identity};

/// The serial numbers that no longer count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RevocationList {
    serials: BTreeSet<Vec<u8>>,
    number: u64,
}

impl RevocationList {
    /// Reads a list and checks that the authority has signed it.
    pub fn read(path: &Path, authority: &Path) -> Result<RevocationList, CertError> {
        let what = "revocation list";
        let signer = read_pem(authority, "authority certificate", "CERTIFICATE")?;
        let (_, signer) =
            X509Certificate::from_der(&signer).map_err(|e| unreadable(authority, "authority certificate", e))?;
        let list = read_pem(path, what, "X509 CRL")?;
        let (_, list) = CertificateRevocationList::from_der(&list).map_err(|e| unreadable(path, what, e))?;
        let wrong = |_| CertError::WrongAuthority { path: path.to_path_buf(), authority: authority.to_path_buf() };
        list.verify_signature(signer.public_key()).map_err(wrong)?;
        let until = list.next_update().map(|t| t.to_datetime());
        if let Some(until) = until.filter(|until| *until < OffsetDateTime::now_utc()) {
            return Err(CertError::ListExpired { path: path.to_path_buf(), on: shown(until) });
        }
        let number = list.crl_number().and_then(|n| u64::try_from(n.clone()).ok()).unwrap_or(0);
        let serials = list.iter_revoked_certificates().map(|c| c.raw_serial().to_vec()).collect();
        Ok(RevocationList { serials, number })
    }

    /// Refuses a list that is older than one seen before, whose number is in the file `memory`; remembers a newer one. An old
    /// list, signed like any other, would bring back what was revoked since.
    pub(super) fn check_newest(&self, path: &Path, memory: &Path) -> Result<(), CertError> {
        let seen = match memory.exists() {
            true => read(memory)?.trim().parse().map_err(|e| unreadable(memory, "number of a revocation list", e))?,
            false => 0,
        };
        match self.number.cmp(&seen) {
            Ordering::Less => Err(CertError::OlderList { path: path.to_path_buf(), number: self.number, seen }),
            Ordering::Equal => Ok(()),
            Ordering::Greater => write_secret(memory, &self.number.to_string()),
        }
    }

    /// True if the certificate of `identity` no longer counts.
    pub fn contains(&self, identity: &Identity) -> bool {
        self.serials.contains(&identity.serial()[..])
    }

    /// Number of revoked certificates.
    pub fn len(&self) -> usize {
        self.serials.len()
    }

    /// True if nothing was revoked.
    pub fn is_empty(&self) -> bool {
        self.serials.is_empty()
    }
}
