//! What may change while we run: the revocation list, and our own certificate. Both count from the next look on, without a restart.

use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use tokio::time::sleep;

use super::connection::Shared;
use super::settings::Link;
use super::tls::Security;
use crate::certs::Credentials;

/// How often the files are looked at: a revocation ends connections within a second.
const EVERY: Duration = Duration::from_millis(400);

/// Looks until the part closes.
pub async fn watch(shared: Rc<Shared>) {
    let Link::Tls(credentials) = shared.link.borrow().clone() else { return };
    let (mut list, mut own) = (list_time(&credentials), own_times(&credentials));
    while !shared.closing() {
        sleep(EVERY).await;
        let (list_now, own_now) = (list_time(&credentials), own_times(&credentials));
        if list_now != list {
            list = list_now;
            new_list(&shared, &credentials);
        }
        // A certificate and its key are two files: half a renewal is tried again at the next look.
        if own_now != own && new_certificate(&shared, &credentials) {
            own = own_now;
        }
    }
}

fn new_list(shared: &Shared, credentials: &Credentials) {
    match credentials.revocation_list() {
        Ok(list) => {
            shared.admission.borrow_mut().revoke(list);
            shared.look_again();
        }
        // Half a list, or an older one, is no list: the one we have stays in force.
        Err(error) => shared.inbox.warn(format!("the revocation list stays as it was: {error}")),
    }
}

/// True if the files are as they should be.
fn new_certificate(shared: &Shared, old: &Credentials) -> bool {
    let revoked = old.revoked.as_deref();
    let loaded = Credentials::load(&old.identity.name, &old.certificate, &old.key, &old.authority, revoked);
    let link = match loaded {
        Ok(new) => Link::Tls(Credentials { list_number: old.list_number.clone(), ..new }),
        Err(error) => {
            shared.inbox.warn(format!("the certificate stays as it was: {error}"));
            return false;
        }
    };
    match Security::of(&link) {
        Ok(security) => {
            shared.inbox.warn(format!("the certificate was renewed: {}", link.identity()));
            *shared.security.borrow_mut() = security;
            *shared.link.borrow_mut() = link;
            true
        }
        Err(error) => {
            shared.inbox.warn(format!("the certificate stays as it was: {error}"));
            false
        }
    }
}

fn list_time(credentials: &Credentials) -> Option<SystemTime> {
    credentials.revoked.as_deref().and_then(written)
}

fn own_times(credentials: &Credentials) -> [Option<SystemTime>; 2] {
    [written(&credentials.certificate), written(&credentials.key)]
}

fn written(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|m| m.modified()).ok()
}
