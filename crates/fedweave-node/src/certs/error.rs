//! What can be wrong with certificates, with the place and the remedy.

use std::path::PathBuf;

/// What is wrong, where, and (in its text) what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertError {
    /// A file could not be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        error: std::io::Error,
    },
    /// A file exists that would be replaced.
    #[error("{}: exists already; a new authority would end the federation of the old one: choose another folder", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file is not what it should be.
    #[error("{}: not a usable {what}: {detail}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What it should be.
        what: &'static str,
        /// What the reader said.
        detail: String,
    },
    /// A name that cannot stand in a certificate.
    #[error("`{name}` cannot be the name of a part: use 1 to 40 of the characters a-z, A-Z, 0-9, `.`, `_` and `-`")]
    Name {
        /// The name.
        name: String,
    },
    /// A host that cannot stand in a certificate.
    #[error("`{host}` is neither a host name nor an address")]
    Host {
        /// The host.
        host: String,
    },
    /// No certificate of this name was issued.
    #[error("{}: no certificate was issued for `{name}`", path.display())]
    Unknown {
        /// The register.
        path: PathBuf,
        /// The name asked for.
        name: String,
    },
    /// A revocation list that its authority has not renewed in time.
    #[error("{}: this revocation list has expired on {on}; get a new one from the authority", path.display())]
    ListExpired {
        /// The list.
        path: PathBuf,
        /// Its last moment.
        on: String,
    },
    /// A revocation list older than one that was seen.
    #[error("{}: revocation list number {number}, but number {seen} was seen before; get the newest one from the authority", path.display())]
    OlderList {
        /// The list.
        path: PathBuf,
        /// Its number.
        number: u64,
        /// The highest number seen.
        seen: u64,
    },
    /// The certificate was signed by another authority.
    #[error("{}: not signed by the authority {}", path.display(), authority.display())]
    WrongAuthority {
        /// The certificate.
        path: PathBuf,
        /// The authority's certificate.
        authority: PathBuf,
    },
    /// The certificate is for somebody else.
    #[error("{}: made out to `{found}`, not to `{expected}`", path.display())]
    WrongName {
        /// The certificate.
        path: PathBuf,
        /// The name asked for.
        expected: String,
        /// The name in it.
        found: String,
    },
    /// The private key belongs to another certificate.
    #[error("{}: not the private key of the certificate {}", path.display(), certificate.display())]
    WrongKey {
        /// The key.
        path: PathBuf,
        /// The certificate.
        certificate: PathBuf,
    },
    /// The certificate is too old.
    #[error("{}: expired on {on}; issue a new one: fedweave certs issue {name}", path.display())]
    Expired {
        /// The certificate.
        path: PathBuf,
        /// Whose it is.
        name: String,
        /// The last day.
        on: String,
    },
    /// The certificate is too new, or the clock is wrong.
    #[error("{}: not valid before {from}; is the clock of this machine right?", path.display())]
    NotYetValid {
        /// The certificate.
        path: PathBuf,
        /// The first moment.
        from: String,
    },
    /// The certificate was revoked.
    #[error("{}: revoked; issue a new one: fedweave certs issue {name}", path.display())]
    Revoked {
        /// The certificate.
        path: PathBuf,
        /// Whose it is.
        name: String,
    },
    /// Others may read the private key.
    #[error("{}: readable by others (mode {mode:o}); do: chmod 600 {}", path.display(), path.display())]
    OpenKey {
        /// The key.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The generator failed.
    #[error("cannot make a certificate: {0}")]
    Generator(#[from] rcgen::Error),
}
