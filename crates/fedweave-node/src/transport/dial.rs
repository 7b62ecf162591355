//! Dialling a neighbour, again and again: whenever it has no connection, after a pause that grows and is never twice the same.

use std::rc::Rc;
use std::time::Duration;

use rand::RngExt;
use tokio::time::{sleep, timeout};

use super::connection::{Arriving, HANDSHAKE, Shared, admit, carry};
use super::stream::Stream;

/// The pause before dialling again, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// Keeps a connection to the neighbour at `place`, which listens at `endpoint`.
pub async fn dial(shared: Rc<Shared>, place: usize, endpoint: String) {
    let mut changes = shared.changed.subscribe();
    let mut pause = PAUSE.0;
    while !shared.closing() {
        if shared.admission.borrow().sits(place) {
            // It came by itself, or through us: nothing to do until it goes.
            let _ = changes.changed().await;
            continue;
        }
        pause = match timeout(HANDSHAKE, attempt(&shared, place, &endpoint)).await {
            Ok(Ok(Some(admitted))) => {
                carry(shared.clone(), admitted).await;
                PAUSE.0
            }
            Ok(Ok(None)) => (2 * pause).min(PAUSE.1),
            Ok(Err(error)) => {
                shared.inbox.warn(format!("{} at {endpoint}: {error}", shared.neighbours[place].name));
                (2 * pause).min(PAUSE.1)
            }
            Err(_) => {
                shared.inbox.warn(format!(
                    "{} at {endpoint}: no answer in {} s",
                    shared.neighbours[place].name,
                    HANDSHAKE.as_secs()
                ));
                (2 * pause).min(PAUSE.1)
            }
        };
        // Parts that lost each other at one moment do not come back at one moment.
        sleep(pause.mul_f64(rand::rng().random_range(0.5..1.0))).await;
    }
}

async fn attempt(
    shared: &Shared,
    place: usize,
    endpoint: &str,
) -> std::io::Result<Option<super::connection::Admitted>> {
    let security = shared.security.borrow().clone();
    let (stream, peer) = Stream::dial(endpoint, security).await?;
    admit(shared, Arriving { stream, peer, address: endpoint.into(), dialled: Some(place) }).await
}
