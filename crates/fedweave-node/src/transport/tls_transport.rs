//! Neighbours over TCP: one connection for each pair, mutual TLS 1.3, and one thread that serves all of them.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::sleep;

use super::connection::Shared;
use super::inbox::Inbox;
use super::link::SessionId;
use super::outbox::Outbox;
use super::settings::{Link, Neighbour, TransportError, split};
use super::tls::Security;
use super::{Admission, Arrival, FRAME_BYTES_MAX, Transport, dial, door};

/// After the last words the thread ends, whether they were heard or not.
const CLOSING: Duration = Duration::from_millis(1100);

/// A part's place in the network.
pub struct TlsTransport {
    inbox: Arc<Inbox>,
    outboxes: Vec<Arc<Outbox>>,
    closing: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl TlsTransport {
    /// Listens at `listen` (`host:port`) and dials the neighbours that have an endpoint, for as long as it takes.
    pub fn open(link: Link, listen: &str, neighbours: &[Neighbour]) -> Result<TlsTransport, TransportError> {
        let endpoints = neighbours.iter().filter_map(|n| n.endpoint.as_deref()).chain([listen]);
        for endpoint in endpoints {
            split(endpoint)?;
            link.check(endpoint)?;
        }
        let wrong = |error| TransportError::Listen { listen: listen.into(), error };
        let security = Security::of(&link)?;
        let names = neighbours.iter().map(|n| n.name.clone()).collect();
        let admission = Admission::new(link.identity(), names, link.revocation_list()?);
        let socket = std::net::TcpListener::bind(listen).map_err(wrong)?;
        socket.set_nonblocking(true).map_err(wrong)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(wrong)?;
        let inbox = Arc::new(Inbox::new(neighbours.len()));
        let outboxes: Vec<Arc<Outbox>> = neighbours.iter().map(|_| Arc::default()).collect();
        let (closing, _) = watch::channel(false);
        let (to_inbox, to_outboxes, changed) = (inbox.clone(), outboxes.clone(), closing.clone());
        let neighbours = neighbours.to_vec();
        let serve = move || {
            let shared = Rc::new(Shared {
                link: RefCell::new(link),
                security: RefCell::new(security),
                neighbours,
                session: session_id(),
                admission: RefCell::new(admission),
                inbox: to_inbox,
                outboxes: to_outboxes,
                changed,
            });
            LocalSet::new().block_on(&runtime, serve(shared, socket));
        };
        let thread = std::thread::Builder::new().name("network".into()).spawn(serve).map_err(wrong)?;
        Ok(TlsTransport { inbox, outboxes, closing, thread: Some(thread) })
    }
}

/// Door, dialling and watching, until the part closes.
async fn serve(shared: Rc<Shared>, socket: std::net::TcpListener) {
    let listener = match TcpListener::from_std(socket) {
        Ok(listener) => listener,
        Err(error) => return shared.inbox.warn(format!("nobody can connect: {error}")),
    };
    spawn_local(door::open(shared.clone(), listener));
    spawn_local(super::watch::watch(shared.clone()));
    for (place, neighbour) in shared.neighbours.iter().enumerate() {
        if let Some(endpoint) = &neighbour.endpoint {
            spawn_local(dial::dial(shared.clone(), place, endpoint.clone()));
        }
    }
    let mut changes = shared.changed.subscribe();
    while !shared.closing() {
        let _ = changes.changed().await;
    }
    let all_left = async {
        while (0..shared.neighbours.len()).any(|place| shared.admission.borrow().sits(place)) {
            sleep(Duration::from_millis(2)).await;
        }
    };
    let _ = tokio::time::timeout(CLOSING, all_left).await;
}

impl Transport for TlsTransport {
    fn send(&mut self, to: usize, frame: &[u8]) {
        debug_assert!(frame.len() < FRAME_BYTES_MAX, "frames are small");
        self.outboxes[to].put(frame);
    }

    fn receive(&mut self, wait: Duration) -> Option<Arrival> {
        self.inbox.next(wait)
    }

    fn pause(&mut self, from: usize, time: Duration) {
        self.inbox.pause(from, time);
    }

    fn close(&mut self) {
        self.closing.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for TlsTransport {
    fn drop(&mut self) {
        self.close();
    }
}

/// A name for this run of the process that nobody can guess.
fn session_id() -> SessionId {
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).expect("the operating system has random numbers");
    bytes
}
