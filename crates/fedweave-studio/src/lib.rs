//! The studio: a page in the browser of this machine that opens a table, draws its network, fits, and lets lambda be moved while the
//! models follow. It has no statistics: it maps requests of the page to jobs of `fedweave-run`, and shows their reports.
//!
//! [`Watching`] is the same for one job of the command line: it shows it while it runs.
//!
//! Who may ask is decided by `guard`; what is shown is one `Session`, the same in every tab.

mod attack;
mod events;
mod guard;
mod job;
mod progress;
mod routes;
mod session;
mod watch;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

use guard::Guard;
use session::Studio;
pub use watch::{Part, Watched, Watching};

/// What a studio begins with.
#[derive(Debug, Clone)]
pub struct Options {
    /// A table to open, or a folder to choose from.
    pub path: PathBuf,
    /// The port; 0 for any that is free.
    pub port: u16,
}

/// Serves the page on the loopback address until `stop` says so; `ready` gets the address to open, which holds a secret.
pub fn serve(options: &Options, ready: impl FnOnce(&str), stop: impl Fn() -> bool) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, options.port))).await?;
        let guard = Guard::new(listener.local_addr()?.port());
        let studio = Arc::new(Studio::new(&options.path)?);
        ready(&guard.address());
        let app = routes::routes(studio.clone(), guard);
        let ended = async {
            while !stop() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::select! {
            served = axum::serve(listener, app) => served,
            () = ended => Ok(()),
        }
    });
    // A job that still runs has nobody left to tell.
    runtime.shutdown_background();
    outcome
}
