//! The authority of a federation: a folder with its key, its certificate, the register of what it signed, and the
//! revocation list.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, RevocationReason, RevokedCertParams, SerialNumber,
};
use serde::{Deserialize, Serialize};
use time::{Duration, OffsetDateTime};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::files::{at, check_secret, read, read_pem, unreadable, write, write_secret};
use super::identity::{federation, hex};
use super::{CertError, Identity, check_name};

const DAYS_OF_AUTHORITY: i64 = 3650;
/// Clocks of hosts differ: a fresh certificate is good at once on one that is late.
const EARLY: Duration = Duration::minutes(10);

/// From when to when a certificate is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// The first moment.
    pub from: OffsetDateTime,
    /// The last moment.
    pub until: OffsetDateTime,
}

impl Validity {
    /// From now on, for some days.
    pub fn days(days: i64) -> Validity {
        let now = OffsetDateTime::now_utc();
        Validity { from: now - EARLY, until: now + Duration::days(days) }
    }
}

/// A line of the register.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issued {
    /// The part.
    pub name: String,
    /// 1 for its first certificate.
    pub issue: u32,
    /// Hosts and addresses under which it may be dialled.
    pub hosts: Vec<String>,
    /// SHA-256 of the certificate.
    pub fingerprint: String,
    /// First moment of validity, seconds since 1970.
    pub from: i64,
    /// Last moment of validity, seconds since 1970.
    pub until: i64,
    /// When it was revoked, seconds since 1970.
    pub revoked: Option<i64>,
}

impl Issued {
    /// What it is good for at a moment, in seconds since 1970: valid, revoked, expired, not yet valid.
    pub fn state(&self, now: i64) -> &'static str {
        match self {
            Issued { revoked: Some(_), .. } => "revoked",
            Issued { until, .. } if *until < now => "expired",
            Issued { from, .. } if *from > now => "not yet valid",
            _ => "valid",
        }
    }

    /// The last day on which it is good, year-month-day.
    pub fn last_day(&self) -> String {
        OffsetDateTime::from_unix_timestamp(self.until).map_or("?".into(), |moment| moment.date().to_string())
    }
}

/// The authority of a federation, opened for signing.
pub struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
    federation: String,
    register: Vec<Issued>,
}

impl Authority {
    /// Makes a new authority in `folder`.
    pub fn init(folder: &Path, title: &str) -> Result<Authority, CertError> {
        fs::create_dir_all(folder).map_err(at(folder))?;
        let (certificate, key) = (folder.join("ca.pem"), folder.join("ca.key"));
        for path in [&certificate, &key] {
            if path.exists() {
                return Err(CertError::Exists { path: path.clone() });
            }
        }
        let pair = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, title);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let validity = Validity::days(DAYS_OF_AUTHORITY);
        (params.not_before, params.not_after) = (validity.from, validity.until);
        write_secret(&key, &pair.serialize_pem())?;
        write(&certificate, &params.self_signed(&pair)?.pem())?;
        let authority = Authority::with(folder, pair, Vec::new())?;
        authority.save()?;
        Ok(authority)
    }

    /// Opens the authority in `folder`.
    pub fn open(folder: &Path) -> Result<Authority, CertError> {
        let key = folder.join("ca.key");
        let text = read(&key)?;
        check_secret(&key)?;
        let pair = KeyPair::from_pem(&text).map_err(|e| unreadable(&key, "private key", e))?;
        Authority::with(folder, pair, register(folder)?)
    }

    fn with(folder: &Path, pair: KeyPair, register: Vec<Issued>) -> Result<Authority, CertError> {
        let path = folder.join("ca.pem");
        let issuer =
            Issuer::from_ca_cert_pem(&read(&path)?, pair).map_err(|e| unreadable(&path, "authority certificate", e))?;
        let federation = federation_of(&path)?;
        Ok(Authority { folder: folder.to_path_buf(), issuer, federation, register })
    }

    /// The federation, as it stands in every certificate.
    pub fn federation(&self) -> &str {
        &self.federation
    }

    /// Everything that was issued, in order.
    pub fn register(&self) -> &[Issued] {
        &self.register
    }

    /// Issues a certificate for `name`, to be dialled under `hosts`, into `name.pem` and `name.key`.
    pub fn issue(&mut self, name: &str, hosts: &[String], validity: Validity) -> Result<Identity, CertError> {
        check_name(name)?;
        let of_name = || self.register.iter().filter(|i| i.name == name);
        let issue = 1 + of_name().map(|i| i.issue).max().unwrap_or(0);
        let identity = Identity { name: name.into(), issue, federation: self.federation.clone() };
        let pair = KeyPair::generate()?;
        let certificate = params(&identity, hosts, validity)?.signed_by(&pair, &self.issuer)?;
        write_secret(&self.folder.join(format!("{name}.key")), &pair.serialize_pem())?;
        write(&self.folder.join(format!("{name}.pem")), &certificate.pem())?;
        self.register.push(Issued {
            name: name.into(),
            issue,
            hosts: hosts.to_vec(),
            fingerprint: hex(ring::digest::digest(&ring::digest::SHA256, certificate.der()).as_ref()),
            from: validity.from.unix_timestamp(),
            until: validity.until.unix_timestamp(),
            revoked: None,
        });
        self.save()?;
        Ok(identity)
    }

    /// Puts the certificates of `name` issued so far onto the revocation list; their number.
    pub fn revoke(&mut self, name: &str) -> Result<usize, CertError> {
        let path = self.folder.join(REGISTER);
        let now = OffsetDateTime::now_utc().unix_timestamp();
        let mut of_name = self.register.iter_mut().filter(|i| i.name == name).peekable();
        if of_name.peek().is_none() {
            return Err(CertError::Unknown { path, name: name.into() });
        }
        let mut count = 0;
        for issued in of_name.filter(|i| i.revoked.is_none()) {
            issued.revoked = Some(now);
            count += 1;
        }
        self.save()?;
        Ok(count)
    }

    /// The list first: a revocation that was written is never forgotten.
    fn save(&self) -> Result<(), CertError> {
        write(&self.folder.join("crl.pem"), &self.revocation_list()?)?;
        let text = serde_json::to_string_pretty(&self.register).expect("a register is plain data");
        write(&self.folder.join(REGISTER), &text)
    }

    fn revocation_list(&self) -> Result<String, CertError> {
        let now = OffsetDateTime::now_utc();
        let revoked = |issued: &Issued| {
            let of = Identity { name: issued.name.clone(), issue: issued.issue, federation: self.federation.clone() };
            Some(RevokedCertParams {
                serial_number: SerialNumber::from_slice(&of.serial()),
                revocation_time: OffsetDateTime::from_unix_timestamp(issued.revoked?).unwrap_or(now),
                reason_code: Some(RevocationReason::Unspecified),
                invalidity_date: None,
            })
        };
        let params = CertificateRevocationListParams {
            this_update: now - EARLY,
            next_update: now + Duration::days(DAYS_OF_AUTHORITY),
            // Nanoseconds: two lists of one second have an order, too.
            crl_number: SerialNumber::from(now.unix_timestamp_nanos() as u64),
            issuing_distribution_point: None,
            revoked_certs: self.register.iter().filter_map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        Ok(params.signed_by(&self.issuer)?.pem()?)
    }
}

const REGISTER: &str = "register.json";

fn register(folder: &Path) -> Result<Vec<Issued>, CertError> {
    let path = folder.join(REGISTER);
    serde_json::from_str(&read(&path)?).map_err(|e| unreadable(&path, "register", e))
}

fn params(identity: &Identity, hosts: &[String], validity: Validity) -> Result<CertificateParams, CertError> {
    let host_of = |_| CertError::Host { host: hosts.join(",") };
    let mut params = CertificateParams::new(hosts.to_vec()).map_err(host_of)?;
    params.distinguished_name.push(DnType::CommonName, identity.to_string());
    params.serial_number = Some(SerialNumber::from_slice(&identity.serial()));
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    (params.not_before, params.not_after) = (validity.from, validity.until);
    Ok(params)
}

/// The federation of the authority with this certificate.
pub(super) fn federation_of(path: &Path) -> Result<String, CertError> {
    let what = "authority certificate";
    let der = read_pem(path, what, "CERTIFICATE")?;
    let (_, certificate) = X509Certificate::from_der(&der).map_err(|e| unreadable(path, what, e))?;
    Ok(federation(certificate.public_key().raw))
}
