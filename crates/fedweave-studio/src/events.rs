//! Tabs are told when something changes: the whole state, which is small, a few times a second at most.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::stream::{Stream, unfold};
use serde_json::Value;
use tokio::sync::watch::Receiver;

/// Pause between two messages.
const PAUSE: Duration = Duration::from_millis(80);

/// The state now, and again after every change.
pub fn stream(
    changes: Receiver<u64>,
    state: impl Fn() -> Value + Send + 'static,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let events = unfold((state, changes, true), |(state, mut changes, first)| async move {
        if !first {
            changes.changed().await.ok()?;
            tokio::time::sleep(PAUSE).await;
        }
        changes.borrow_and_update();
        let event = Event::default().data(state().to_string());
        Some((Ok(event), (state, changes, false)))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}
