//! The name in a certificate: part, issue, federation.

use std::fmt;

use ring::digest::{SHA256, digest};

use super::CertError;

/// Longest name of a part.
pub const NAME_BYTES_MAX: usize = 40;

/// Whom a certificate is made out to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// The part.
    pub name: String,
    /// 1 for its first certificate.
    pub issue: u32,
    /// The authority, by a digest of its key.
    pub federation: String,
}

impl Identity {
    /// Reads `name+issue@federation`.
    pub fn parse(text: &str) -> Option<Identity> {
        let (rest, federation) = text.rsplit_once('@')?;
        let (name, issue) = rest.rsplit_once('+')?;
        let identity = Identity { name: name.into(), issue: issue.parse().ok()?, federation: federation.into() };
        // One identity has one spelling: `+1`, not `+01`.
        (check_name(name).is_ok() && identity.issue > 0 && identity.to_string() == text).then_some(identity)
    }

    /// The serial number of its certificate: a digest of the name, so that a revocation list of serial numbers can be
    /// asked about a name.
    pub(super) fn serial(&self) -> [u8; 16] {
        let hash = digest(&SHA256, self.to_string().as_bytes());
        let mut serial: [u8; 16] = hash.as_ref()[..16].try_into().expect("a digest has 32 bytes");
        // Positive and of full length, whatever the digest.
        serial[0] = serial[0] & 0x7f | 0x40;
        serial
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}@{}", self.name, self.issue, self.federation)
    }
}

/// Names stand in certificates, keys and file names: they must mean the same in all of them.
pub fn check_name(name: &str) -> Result<(), CertError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    match (1..=NAME_BYTES_MAX).contains(&name.len()) && name.chars().all(allowed) && !name.starts_with('.') {
        true => Ok(()),
        false => Err(CertError::Name { name: name.into() }),
    }
}

/// The federation of an authority with this public key.
pub(super) fn federation(public_key: &[u8]) -> String {
    hex(&digest(&SHA256, public_key).as_ref()[..8])
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_reads_back_and_has_one_spelling() {
        let east = Identity { name: "east-2.b_c".into(), issue: 12, federation: "0123456789abcdef".into() };
        assert_eq!(Identity::parse(&east.to_string()), Some(east));
        for bad in ["east", "east+1", "a+01@f", "a+0@f", "a+-1@f", "a b+1@f", "+1@f", "a/b+1@f", ".a+1@f", "a*+1@f"] {
            assert_eq!(Identity::parse(bad), None, "{bad}");
        }
        let long = format!("{}+1@f", "x".repeat(NAME_BYTES_MAX + 1));
        assert_eq!(Identity::parse(&long), None);
    }

    #[test]
    fn serial_numbers_differ_between_issues() {
        let of = |issue| Identity { name: "a".into(), issue, federation: "f".into() }.serial();
        assert_ne!(of(1), of(2));
        assert!((1..200).all(|issue| of(issue)[0] & 0xc0 == 0x40));
    }
}
