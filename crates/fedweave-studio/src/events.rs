//! Tabs are told when something changes: the whole state, which is small, a few times a second at most.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::stream::{Stream, unfold};

use crate::session::Studio;

/// Pause between two messages.
const PAUSE: Duration = Duration::from_millis(80);

/// The state now, and again after every change.
pub fn stream(studio: Arc<Studio>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let changes = studio.listen();
    let events = unfold((studio, changes, true), |(studio, mut changes, first)| async move {
        if !first {
            changes.changed().await.ok()?;
            tokio::time::sleep(PAUSE).await;
        }
        changes.borrow_and_update();
        let event = Event::default().data(studio.state().to_string());
        Some((Ok(event), (studio, changes, false)))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}
