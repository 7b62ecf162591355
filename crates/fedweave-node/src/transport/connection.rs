//! One connection, from the hello to the end.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::Arrival;
use super::admission::{Admission, Comer, Reason, Refusal, Verdict};
use super::inbox::Inbox;
use super::link::{self, Bye, LINK_VERSION, LINK_VERSION_OLDEST, Said, SessionId, listen};
use super::outbox::Outbox;
use super::settings::{Link, Neighbour};
use super::stream::{Peer, Stream};
use super::tls::Security;
use crate::certs::Identity;

/// A connection on which nothing was heard for so long is dead; a frozen neighbour is noticed after this time.
const LEASE: Duration = Duration::from_millis(3000);
/// Signs of life are due so often.
const ALIVE_EVERY: Duration = Duration::from_millis(600);
/// So many of them in a row are read as they come.
const SIGNS_MAX: u32 = 32;
/// Connection, handshake and hellos may take so long: several round trips of seconds.
pub const HANDSHAKE: Duration = Duration::from_secs(15);
/// The last words may take so long.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What all connections of a part share. They live on one thread.
pub struct Shared {
    pub link: RefCell<Link>,
    pub security: RefCell<Security>,
    pub neighbours: Vec<Neighbour>,
    pub session: SessionId,
    pub admission: RefCell<Admission>,
    pub inbox: Arc<Inbox>,
    pub outboxes: Vec<Arc<Outbox>>,
    /// Changes when seats, revocations or certificates do; true when the part closes.
    pub changed: watch::Sender<bool>,
}

impl Shared {
    pub fn closing(&self) -> bool {
        *self.changed.borrow()
    }

    /// Everybody looks again whether it may stay.
    pub fn look_again(&self) {
        self.changed.send_modify(|_| {});
    }

    fn refused(&self, identity: &Identity, reason: Reason, address: &str) {
        let refusal = Refusal { name: identity.name.clone(), reason, address: address.into() };
        self.inbox.event(Arrival::Refused(refusal));
    }
}

/// A connection between its handshake and its seat.
pub struct Arriving {
    pub stream: Stream,
    pub peer: Peer,
    /// Where it comes from, or where it was dialled.
    pub address: String,
    /// Whom we dialled.
    pub dialled: Option<usize>,
}

/// A connection with a seat.
pub struct Admitted {
    stream: BufReader<Stream>,
    peer: Peer,
    identity: Identity,
    address: String,
    place: usize,
    ticket: u64,
}

/// Hellos and admission; an error is a connection that broke, `None` one that was turned away.
pub async fn admit(shared: &Shared, arriving: Arriving) -> io::Result<Option<Admitted>> {
    let Arriving { stream, peer, address, dialled } = arriving;
    let mut stream = BufReader::new(stream);
    let hello = link::hello(&shared.link.borrow().identity(), shared.session);
    if dialled.is_some() {
        say(&mut stream, &hello).await?;
    }
    let (version, session, claimed) = match listen(&mut stream).await? {
        Said::Hello { version, session, identity } => (version, session, identity),
        Said::Bye(why) => {
            shared.inbox.warn(explain(why, &address));
            return Ok(None);
        }
        _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "it did not begin with a hello")),
    };
    let nobody = || io::Error::new(io::ErrorKind::InvalidData, "its hello names nobody");
    let identity = match &peer.identity {
        Some(identity) => identity.clone(),
        None => Identity::parse(&claimed).ok_or_else(nobody)?,
    };
    let verdict = match identity.to_string() == claimed {
        true => judge(shared, &identity, version, session, dialled),
        false => Verdict::Refused(Reason::WrongName),
    };
    let (why, place, ticket) = match verdict {
        Verdict::Seated { place, ticket, instead } => {
            if instead {
                shared.look_again();
            }
            (None, place, ticket)
        }
        Verdict::Twice => (Some(Bye::Twice), 0, 0),
        Verdict::Refused(reason) => {
            shared.refused(&identity, reason, &address);
            (Some(turn_away(shared, &identity, reason)), 0, 0)
        }
    };
    match why {
        Some(why) => {
            let _ = timeout(LAST_WORDS, say(&mut stream, &link::bye(why))).await;
            Ok(None)
        }
        None => {
            let admitted = Admitted { stream, peer, identity, address, place, ticket };
            answer(shared, admitted, dialled.is_some(), &hello).await.map(Some)
        }
    }
}

/// Whoever was dialled says hello last: then both know that they are admitted.
async fn answer(shared: &Shared, mut admitted: Admitted, dialled: bool, hello: &[u8]) -> io::Result<Admitted> {
    if !dialled && let Err(error) = say(&mut admitted.stream, hello).await {
        shared.admission.borrow_mut().left(admitted.place, admitted.ticket);
        return Err(error);
    }
    Ok(admitted)
}

fn judge(shared: &Shared, who: &Identity, version: u8, session: SessionId, dialled: Option<usize>) -> Verdict {
    if version.min(LINK_VERSION) < LINK_VERSION_OLDEST {
        return Verdict::Refused(Reason::Version);
    }
    if dialled.is_some_and(|place| shared.neighbours[place].name != who.name) {
        return Verdict::Refused(Reason::WrongName);
    }
    let comer = Comer { identity: who.clone(), session, dialled: dialled.is_some() };
    shared.admission.borrow_mut().appeared(comer)
}

/// What to say to somebody who is turned away. An identity that comes twice is told to both who claim it.
fn turn_away(shared: &Shared, identity: &Identity, reason: Reason) -> Bye {
    match reason {
        Reason::IdentityInUse => {
            if let Some(place) = shared.neighbours.iter().position(|n| n.name == identity.name) {
                shared.outboxes[place].warn_of_impostor();
            }
            Bye::IdentityInUse
        }
        Reason::Version => Bye::Version,
        _ => Bye::Refused,
    }
}

/// The words of a neighbour that turned us away.
fn explain(why: Bye, address: &str) -> String {
    match why {
        Bye::Closing | Bye::Twice => format!("{address} closed the connection"),
        Bye::Refused => format!("{address} refuses our certificate: revoked, or not a neighbour in its plan"),
        Bye::IdentityInUse => {
            format!(
                "{address} refuses us: another process is connected with our certificate; if it is not yours, revoke it"
            )
        }
        Bye::Version => format!("{address} speaks another version of the protocol"),
        Bye::Impostor => {
            format!("{address}: somebody else came with our certificate and was refused; if it was not you, revoke it")
        }
    }
}

/// Carries frames to and fro until the connection ends, and gives the seat back.
pub async fn carry(shared: Rc<Shared>, admitted: Admitted) {
    let Admitted { stream, peer, identity, address, place, ticket } = admitted;
    let (reader, mut writer) = tokio::io::split(stream);
    shared.outboxes[place].clear();
    shared.inbox.place(place, Arrival::Up(place));
    let end = tokio::select! {
        end = read(&shared, place, &address, reader) => end,
        end = write(&shared.outboxes[place], &mut writer) => end,
        why = must_leave(&shared, place, ticket) => {
            if let Some(reason) = why {
                shared.refused(&identity, reason, &address);
            }
            let mut last = Vec::new();
            shared.outboxes[place].drain(&mut last);
            last.extend(link::bye(if why.is_some() { Bye::Refused } else { Bye::Closing }));
            let _ = timeout(LAST_WORDS, say(&mut writer, &last)).await;
            let _ = timeout(LAST_WORDS, writer.shutdown()).await;
            Ok(())
        }
        () = sleep(peer.valid_for.min(Duration::from_secs(365 * 86_400))) => {
            shared.inbox.warn(format!("the certificate of {} has expired", identity.name));
            Ok(())
        }
    };
    if let Err(error) = end
        && error.kind() == io::ErrorKind::InvalidData
    {
        shared.inbox.warn(format!("{} at {address} sent nonsense: {error}", identity.name));
    }
    // A connection that was replaced leaves no empty seat behind.
    if shared.admission.borrow_mut().left(place, ticket) {
        shared.inbox.place(place, Arrival::Down(place));
        shared.look_again();
    }
}

async fn read(shared: &Shared, place: usize, address: &str, mut from: impl AsyncRead + Unpin) -> io::Result<()> {
    let mut signs = 0;
    loop {
        match timeout(LEASE, listen(&mut from)).await {
            Err(_) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(said) => match said? {
                Said::Frame(bytes) => {
                    signs = 0;
                    shared.inbox.frame(place, bytes).await;
                }
                // One that says nothing but that it is there, as fast as it can, is heard now and then.
                Said::Alive => {
                    signs += 1;
                    if signs > SIGNS_MAX {
                        sleep(ALIVE_EVERY / 60).await;
                    }
                }
                Said::Bye(Bye::Impostor) => shared.inbox.warn(explain(Bye::Impostor, address)),
                Said::Bye(_) => return Ok(()),
                Said::Hello { .. } => return Err(io::Error::new(io::ErrorKind::InvalidData, "a second hello")),
            },
        }
    }
}

async fn write(outbox: &Outbox, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        let quiet = timeout(ALIVE_EVERY, outbox.filled()).await.is_err();
        bytes.clear();
        outbox.drain(&mut bytes);
        if quiet && bytes.is_empty() {
            bytes = link::alive();
        }
        say(to, &bytes).await?;
    }
}

async fn say(to: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes).await?;
    to.flush().await
}

/// Waits until the connection has to end; a reason, if it is turned away.
async fn must_leave(shared: &Shared, place: usize, ticket: u64) -> Option<Reason> {
    let mut changes = shared.changed.subscribe();
    loop {
        if shared.closing() {
            return None;
        }
        if let Some(why) = shared.admission.borrow().must_leave(place, ticket) {
            return why;
        }
        if changes.changed().await.is_err() {
            return None;
        }
    }
}
