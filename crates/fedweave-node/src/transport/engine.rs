//! A session of zenoh: what is declared in it, and what comes out of it.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use ring::rand::{SecureRandom, SystemRandom};
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;
use zenoh::sample::{Sample, SampleKind};
use zenoh::{Config, Session, Wait};

use super::access::{Keys, rules};
use super::settings::{Link, Neighbour, TransportError, configuration};
use crate::certs::{Identity, RevocationList};

/// Arrivals that may wait for us; what comes on top is lost, as on any network.
const INBOX: usize = 4096;

/// What comes out of a session, before it is judged.
pub enum Raw {
    Alive { identity: Identity, session: String, appeared: bool },
    Frame { identity: Identity, session: String, bytes: Vec<u8> },
}

/// A session of the engine, and what we declared in it.
pub struct Engine {
    pub inbox: Receiver<Raw>,
    pub publishers: Vec<Publisher<'static>>,
    token: Option<LivelinessToken>,
    _frames: Subscriber<()>,
    _alive: Subscriber<()>,
    session: Session,
}

impl Engine {
    /// Listens and dials; everything that comes ends in the inbox.
    pub fn open(
        link: &Link,
        listen: &str,
        neighbours: &[Neighbour],
        revoked: &RevocationList,
    ) -> Result<Engine, TransportError> {
        let me = link.identity();
        let keys = Keys::new(&me.federation);
        let configuration = configuration(link, listen, neighbours, rules(link, &keys, neighbours, revoked));
        let engine = |error: zenoh::Error| TransportError::Engine { listen: listen.into(), detail: error.to_string() };
        let config = Config::from_json5(&configuration.to_string()).map_err(engine)?;
        let session = zenoh::open(config).wait().map_err(engine)?;
        let id = session_id();
        let (to_inbox, inbox) = sync_channel(INBOX);
        let own = keys.alive(&me, &id);
        let frames = subscribe_frames(&session, &keys, &me.name, to_inbox.clone()).map_err(engine)?;
        let alive = subscribe_alive(&session, &keys, own.clone(), to_inbox).map_err(engine)?;
        let publisher = |n: &Neighbour| {
            let key = keys.frame(&n.name, &me, &id);
            session.declare_publisher(key).congestion_control(CongestionControl::Drop).express(true).wait()
        };
        let publishers = neighbours.iter().map(publisher).collect::<Result<_, _>>().map_err(engine)?;
        let token = session.liveliness().declare_token(own).wait().map_err(engine)?;
        Ok(Engine { inbox, publishers, token: Some(token), _frames: frames, _alive: alive, session })
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Some(token) = self.token.take() {
            let _ = token.undeclare().wait();
        }
        let _ = self.session.close().wait();
    }
}

fn subscribe_frames(
    session: &Session,
    keys: &Keys,
    name: &str,
    inbox: SyncSender<Raw>,
) -> Result<Subscriber<()>, zenoh::Error> {
    let own = keys.clone();
    let take = move |sample: Sample| {
        let sender = own.sender(sample.key_expr().as_str());
        if let (Some((identity, session)), SampleKind::Put) = (sender, sample.kind()) {
            let (session, bytes) = (session.to_owned(), sample.payload().to_bytes().into_owned());
            let _ = inbox.try_send(Raw::Frame { identity, session, bytes });
        }
    };
    session.declare_subscriber(keys.frames(name)).callback(take).wait()
}

fn subscribe_alive(
    session: &Session,
    keys: &Keys,
    own: String,
    inbox: SyncSender<Raw>,
) -> Result<Subscriber<()>, zenoh::Error> {
    let of = keys.clone();
    let take = move |sample: Sample| {
        let key = sample.key_expr().as_str();
        // Our own sign of life comes back to us.
        if let Some((identity, session)) = of.sender(key).filter(|_| key != own) {
            let appeared = sample.kind() == SampleKind::Put;
            let _ = inbox.try_send(Raw::Alive { identity, session: session.to_owned(), appeared });
        }
    };
    session.liveliness().declare_subscriber(keys.all_alive()).history(true).callback(take).wait()
}

/// A name for this run of the process that nobody can guess.
fn session_id() -> String {
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).expect("the operating system has random numbers");
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
