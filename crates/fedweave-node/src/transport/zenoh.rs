//! Neighbours over zenoh in peer mode: mutual TLS 1.3 between explicit endpoints, access rules by certificate name, signs of
//! life by liveliness tokens.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use zenoh::Wait;

use super::engine::{Engine, Raw};
use super::redial::Redial;
use super::settings::{Link, Neighbour, RUNTIME, TransportError, split};
use super::warnings::next_warning;
use super::{Admission, Arrival, FRAME_BYTES_MAX, Refusal, Transport};

/// How often the revocation list is looked at again.
const LIST_EVERY: Duration = Duration::from_secs(2);

/// A part's place in the network.
pub struct ZenohTransport {
    link: Link,
    listen: String,
    neighbours: Vec<Neighbour>,
    admission: Admission,
    ready: VecDeque<Arrival>,
    list_seen: Instant,
    list_written: Option<SystemTime>,
    redial: Redial,
    /// `None` only while it is being replaced.
    engine: Option<Engine>,
}

impl ZenohTransport {
    /// Listens at `listen` (`host:port`) and dials the neighbours that have an endpoint, for as long as it takes.
    pub fn open(link: Link, listen: &str, neighbours: &[Neighbour]) -> Result<ZenohTransport, TransportError> {
        if std::env::var(RUNTIME.0).as_deref() != Ok(RUNTIME.1) {
            return Err(TransportError::Runtime);
        }
        let endpoints = neighbours.iter().filter_map(|n| n.endpoint.as_deref()).chain([listen]);
        for endpoint in endpoints {
            split(endpoint)?;
            link.check(endpoint)?;
        }
        let revoked = link.revocation_list()?;
        let engine = Engine::open(&link, listen, neighbours, &revoked)?;
        let names = neighbours.iter().map(|n| n.name.clone()).collect();
        let mut transport = ZenohTransport {
            admission: Admission::new(names, link.identity().federation, revoked),
            link,
            listen: listen.into(),
            neighbours: neighbours.to_vec(),
            ready: VecDeque::new(),
            list_seen: Instant::now(),
            list_written: None,
            redial: Redial::new(neighbours),
            engine: Some(engine),
        };
        transport.list_written = transport.list_time();
        Ok(transport)
    }

    /// The engine sometimes forgets to dial again after a link broke at an unlucky moment: then it is replaced.
    fn look_at_links(&mut self) {
        let due = self.engine.is_none() || self.redial.is_stuck(&self.neighbours);
        if !due {
            return;
        }
        self.engine = None;
        let mut out = Vec::new();
        self.admission.clear(&mut out);
        let opened = match self.link.revocation_list() {
            Ok(revoked) => Engine::open(&self.link, &self.listen, &self.neighbours, &revoked),
            Err(error) => Err(error.into()),
        };
        match opened {
            Ok(engine) => self.engine = Some(engine),
            Err(error) => {
                out.push(Arrival::Warning(error.to_string()));
                // Tried again at the next call; not at full speed.
                std::thread::sleep(Duration::from_millis(200));
            }
        }
        self.remember(out);
    }

    fn remember(&mut self, out: Vec<Arrival>) {
        for arrival in &out {
            match arrival {
                Arrival::Up(place) => self.redial.up(*place),
                Arrival::Down(place) => self.redial.down(*place),
                _ => {}
            }
        }
        self.ready.extend(out);
    }

    fn take(&mut self, raw: Raw) {
        let mut out = Vec::new();
        match raw {
            Raw::Alive { identity, session, appeared: true } => {
                self.admission.appeared(identity, &session, &mut out);
            }
            Raw::Alive { identity, session, appeared: false } => {
                self.admission.vanished(&identity, &session, &mut out);
            }
            Raw::Frame { identity, session, bytes } => out.push(match self.admission.sender(&identity, &session) {
                Ok(from) => Arrival::Frame { from, bytes },
                Err(reason) => Arrival::Refused(Refusal { name: identity.name, reason }),
            }),
        }
        self.remember(out);
    }

    fn list_time(&self) -> Option<SystemTime> {
        let Link::Tls(credentials) = &self.link else { return None };
        let path: &PathBuf = credentials.revoked.as_ref()?;
        std::fs::metadata(path).and_then(|m| m.modified()).ok()
    }

    /// A revocation counts while we run, not only at the next start.
    fn look_at_list(&mut self) {
        if self.list_seen.elapsed() < LIST_EVERY {
            return;
        }
        self.list_seen = Instant::now();
        let written = self.list_time();
        if written == self.list_written {
            return;
        }
        self.list_written = written;
        let mut out = Vec::new();
        match self.link.revocation_list() {
            Ok(list) => self.admission.revoke(list, &mut out),
            // Half a list is no list: the old one stays in force.
            Err(error) => out.push(Arrival::Warning(error.to_string())),
        }
        self.remember(out);
    }
}

impl Transport for ZenohTransport {
    fn send(&mut self, to: usize, frame: &[u8]) {
        debug_assert!(frame.len() < FRAME_BYTES_MAX, "frames are small");
        if let Some(engine) = &self.engine {
            // A frame that cannot be sent is lost like any other; the state machine repeats it.
            let _ = engine.publishers[to].put(frame).wait();
        }
    }

    fn receive(&mut self, wait: Duration) -> Option<Arrival> {
        self.look_at_list();
        self.look_at_links();
        if let Some(arrival) = self.ready.pop_front() {
            return Some(arrival);
        }
        match self.engine.as_ref()?.inbox.recv_timeout(wait) {
            Ok(raw) => self.take(raw),
            Err(_) => return next_warning().map(Arrival::Warning),
        }
        self.ready.pop_front()
    }

    fn close(&mut self) {
        self.engine = None;
    }
}
