//! The revocation list: an ordinary X.509 list, signed by the authority.

use std::collections::BTreeSet;
use std::path::Path;

use x509_parser::prelude::{CertificateRevocationList, FromDer, X509Certificate};

use super::files::{read_pem, unreadable};
use super::{CertError, ISSUES_AHEAD, Identity};

/// The serial numbers that no longer count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RevocationList {
    serials: BTreeSet<Vec<u8>>,
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
        let serials = list.iter_revoked_certificates().map(|c| c.raw_serial().to_vec()).collect();
        Ok(RevocationList { serials })
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

    /// The identities under which `name` may come: those not revoked, up to [`ISSUES_AHEAD`] beyond the last revoked one.
    pub fn admissible(&self, name: &str, federation: &str) -> Vec<Identity> {
        let of = |issue| Identity { name: name.into(), issue, federation: federation.into() };
        let mut good = Vec::new();
        let mut ahead = 0;
        let mut issue = 1;
        while ahead < ISSUES_AHEAD {
            match self.contains(&of(issue)) {
                true => ahead = 0,
                false => {
                    good.push(of(issue));
                    ahead += 1;
                }
            }
            issue += 1;
        }
        good
    }
}
