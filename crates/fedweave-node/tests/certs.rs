//! A federation's certificates: issued, read back, refused when they should be.

use std::path::Path;

use fedweave_node::certs::{Authority, CertError, Credentials, RevocationList, Validity};
use time::{Duration, OffsetDateTime};

fn hosts() -> Vec<String> {
    vec!["127.0.0.1".into(), "east.example.org".into()]
}

fn load(folder: &Path, name: &str) -> Result<Credentials, CertError> {
    let (certificate, key) = (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key")));
    Credentials::load(name, &certificate, &key, &folder.join("ca.pem"), Some(&folder.join("crl.pem")))
}

#[test]
fn a_part_is_added_without_touching_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut authority = Authority::init(folder.path(), "test").unwrap();
    authority.issue("east", &hosts(), Validity::days(5)).unwrap();
    let before = std::fs::read(folder.path().join("east.pem")).unwrap();
    drop(authority);
    let mut authority = Authority::open(folder.path()).unwrap();
    let north = authority.issue("north", &hosts(), Validity::days(5)).unwrap();
    assert_eq!(std::fs::read(folder.path().join("east.pem")).unwrap(), before);
    assert_eq!(load(folder.path(), "north").unwrap().identity, north);
    assert_eq!(load(folder.path(), "east").unwrap().identity.federation, north.federation);
    assert_eq!(authority.register().len(), 2);
}

#[cfg(unix)]
#[test]
fn private_keys_are_for_the_owner_alone_and_open_ones_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mut authority = Authority::init(folder.path(), "test").unwrap();
    authority.issue("east", &hosts(), Validity::days(5)).unwrap();
    for name in ["ca.key", "east.key"] {
        let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let key = folder.path().join("east.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(load(folder.path(), "east"), Err(CertError::OpenKey { mode: 0o640, .. })));
}

#[test]
fn revoked_issues_are_listed_and_a_new_issue_is_good() {
    let folder = tempfile::tempdir().unwrap();
    let mut authority = Authority::init(folder.path(), "test").unwrap();
    let first = authority.issue("east", &hosts(), Validity::days(5)).unwrap();
    authority.issue("north", &hosts(), Validity::days(5)).unwrap();
    assert_eq!(authority.revoke("east").unwrap(), 1);
    assert!(matches!(load(folder.path(), "east"), Err(CertError::Revoked { .. })));
    let second = authority.issue("east", &hosts(), Validity::days(5)).unwrap();
    assert_eq!(second.issue, 2);
    assert_eq!(load(folder.path(), "east").unwrap().identity, second);
    let list = RevocationList::read(&folder.path().join("crl.pem"), &folder.path().join("ca.pem")).unwrap();
    assert_eq!((list.len(), list.contains(&first), list.contains(&second)), (1, true, false));
    assert!(matches!(authority.revoke("west"), Err(CertError::Unknown { .. })));
}

#[test]
fn an_older_revocation_list_is_refused_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("crl.pem");
    let mut authority = Authority::init(folder.path(), "test").unwrap();
    authority.issue("north", &hosts(), Validity::days(5)).unwrap();
    authority.issue("east", &hosts(), Validity::days(5)).unwrap();
    let old = std::fs::read(&list).unwrap();
    let mut credentials = load(folder.path(), "east").unwrap();
    credentials.list_number = Some(folder.path().join("number"));
    assert!(credentials.revocation_list().unwrap().is_empty());
    authority.revoke("north").unwrap();
    assert_eq!(credentials.revocation_list().unwrap().len(), 1);
    std::fs::write(&list, old).unwrap();
    assert!(matches!(credentials.revocation_list(), Err(CertError::OlderList { .. })));
}

#[test]
fn a_revocation_list_of_another_authority_is_refused() {
    let (ours, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    Authority::init(ours.path(), "same title").unwrap();
    Authority::init(other.path(), "same title").unwrap();
    let read = RevocationList::read(&other.path().join("crl.pem"), &ours.path().join("ca.pem"));
    assert!(matches!(read, Err(CertError::WrongAuthority { .. })));
}

#[test]
fn wrong_certificates_are_named_before_anybody_dials() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut authority = Authority::init(folder.path(), "test").unwrap();
    let mut foreign = Authority::init(other.path(), "test").unwrap();
    let now = OffsetDateTime::now_utc();
    let hours =
        |from: i64, until: i64| Validity { from: now + Duration::hours(from), until: now + Duration::hours(until) };
    authority.issue("east", &hosts(), Validity::days(5)).unwrap();
    authority.issue("north", &hosts(), Validity::days(5)).unwrap();
    authority.issue("old", &hosts(), hours(-9, -1)).unwrap();
    authority.issue("new", &hosts(), hours(1, 9)).unwrap();
    foreign.issue("east", &hosts(), Validity::days(5)).unwrap();
    assert!(matches!(load(folder.path(), "old"), Err(CertError::Expired { .. })));
    assert!(matches!(load(folder.path(), "new"), Err(CertError::NotYetValid { .. })));
    let at = |name: &str| folder.path().join(name);
    let with =
        |name: &str, certificate: &Path, key: &Path| Credentials::load(name, certificate, key, &at("ca.pem"), None);
    let wrong_name = with("north", &at("east.pem"), &at("east.key"));
    assert!(matches!(wrong_name, Err(CertError::WrongName { found, .. }) if found.starts_with("east+1@")));
    assert!(matches!(with("east", &at("east.pem"), &at("north.key")), Err(CertError::WrongKey { .. })));
    let foreign = with("east", &other.path().join("east.pem"), &other.path().join("east.key"));
    assert!(matches!(foreign, Err(CertError::WrongAuthority { .. })));
    assert!(matches!(with("east", &at("east.key"), &at("east.key")), Err(CertError::Unreadable { .. })));
    assert!(matches!(with("east", &at("none.pem"), &at("east.key")), Err(CertError::File { .. })));
    std::fs::write(at("junk.pem"), [0xff, 0, 1, 2]).unwrap();
    assert!(with("east", &at("junk.pem"), &at("east.key")).is_err());
}

#[test]
fn an_authority_is_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    Authority::init(folder.path(), "test").unwrap();
    assert!(matches!(Authority::init(folder.path(), "test"), Err(CertError::Exists { .. })));
}

#[test]
fn names_and_hosts_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let mut authority = Authority::init(folder.path(), "test").unwrap();
    for name in ["", "a b", "a/b", "../a", "a+1", "a@b", &"x".repeat(41)] {
        assert!(matches!(authority.issue(name, &hosts(), Validity::days(5)), Err(CertError::Name { .. })), "{name}");
    }
    assert!(matches!(authority.issue("east", &["ä".into()], Validity::days(5)), Err(CertError::Host { .. })));
}
