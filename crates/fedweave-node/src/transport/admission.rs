//! Who sits at the table: of every neighbour one session at a time, under a certificate that was not revoked.
//!
//! The engine has already checked certificates and keys. What it cannot see is decided here: that an identity comes
//! twice, and that a certificate was revoked while we run.

use serde::{Deserialize, Serialize};

use super::Arrival;
use crate::certs::{Identity, RevocationList};

/// Sessions of one neighbour that may queue while another one is seated.
const WAITING_MAX: usize = 16;

/// Why somebody was turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// No edge leads to this part.
    NotANeighbour,
    /// The certificate is on the revocation list.
    Revoked,
    /// Another process with the same certificate is connected.
    IdentityInUse,
    /// A frame from a session that was not admitted.
    NotAdmitted,
}

/// Somebody was turned away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The name in its certificate.
    pub name: String,
    /// Why.
    pub reason: Reason,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Session {
    identity: Identity,
    id: String,
}

#[derive(Debug, Default)]
struct Seat {
    now: Option<Session>,
    waiting: Vec<Session>,
}

/// The table.
#[derive(Debug)]
pub struct Admission {
    names: Vec<String>,
    federation: String,
    revoked: RevocationList,
    seats: Vec<Seat>,
}

impl Admission {
    /// Nobody sits yet.
    pub fn new(names: Vec<String>, federation: String, revoked: RevocationList) -> Admission {
        let seats = names.iter().map(|_| Seat::default()).collect();
        Admission { names, federation, revoked, seats }
    }

    /// A sign of life appeared.
    pub fn appeared(&mut self, identity: Identity, session: &str, out: &mut Vec<Arrival>) {
        let Some(place) = self.place(&identity, out) else { return };
        let seat = &mut self.seats[place];
        let comer = Session { identity, id: session.into() };
        match &seat.now {
            None => {
                seat.now = Some(comer);
                out.push(Arrival::Up(place));
            }
            Some(seated) if *seated == comer => {}
            Some(_) => {
                out.push(refused(&comer.identity, Reason::IdentityInUse));
                if seat.waiting.len() < WAITING_MAX && !seat.waiting.contains(&comer) {
                    seat.waiting.push(comer);
                }
            }
        }
    }

    /// A sign of life is gone.
    pub fn vanished(&mut self, identity: &Identity, session: &str, out: &mut Vec<Arrival>) {
        let Some(place) = self.names.iter().position(|n| *n == identity.name) else { return };
        let seat = &mut self.seats[place];
        let same = |s: &Session| s.identity == *identity && s.id == session;
        seat.waiting.retain(|s| !same(s));
        if seat.now.as_ref().is_some_and(same) {
            self.leave(place, out);
        }
    }

    /// The neighbour a frame comes from, if its session is seated.
    pub fn sender(&self, identity: &Identity, session: &str) -> Result<usize, Reason> {
        let place = self.names.iter().position(|n| *n == identity.name).ok_or(Reason::NotANeighbour)?;
        let seated = self.seats[place].now.as_ref();
        match seated.is_some_and(|s| s.identity == *identity && s.id == session) {
            true => Ok(place),
            false => Err(Reason::NotAdmitted),
        }
    }

    /// Uses a new revocation list; those on it leave.
    pub fn revoke(&mut self, list: RevocationList, out: &mut Vec<Arrival>) {
        self.revoked = list;
        for place in 0..self.seats.len() {
            let revoked = &self.revoked;
            self.seats[place].waiting.retain(|s| !revoked.contains(&s.identity));
            if let Some(session) = self.seats[place].now.clone().filter(|s| revoked.contains(&s.identity)) {
                out.push(refused(&session.identity, Reason::Revoked));
                self.leave(place, out);
            }
        }
    }

    /// Everybody leaves: the network is entered anew.
    pub fn clear(&mut self, out: &mut Vec<Arrival>) {
        for (place, seat) in self.seats.iter_mut().enumerate() {
            seat.waiting.clear();
            out.extend(seat.now.take().map(|_| Arrival::Down(place)));
        }
    }

    fn leave(&mut self, place: usize, out: &mut Vec<Arrival>) {
        let seat = &mut self.seats[place];
        out.push(Arrival::Down(place));
        seat.now = (!seat.waiting.is_empty()).then(|| seat.waiting.remove(0));
        if seat.now.is_some() {
            out.push(Arrival::Up(place));
        }
    }

    fn place(&self, identity: &Identity, out: &mut Vec<Arrival>) -> Option<usize> {
        let place = self.names.iter().position(|n| *n == identity.name);
        let reason = match place {
            None => Reason::NotANeighbour,
            Some(_) if identity.federation != self.federation => Reason::NotANeighbour,
            Some(_) if self.revoked.contains(identity) => Reason::Revoked,
            Some(place) => return Some(place),
        };
        out.push(refused(identity, reason));
        None
    }
}

fn refused(identity: &Identity, reason: Reason) -> Arrival {
    Arrival::Refused(Refusal { name: identity.name.clone(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(name: &str, issue: u32) -> Identity {
        Identity { name: name.into(), issue, federation: "f".into() }
    }

    fn table() -> Admission {
        Admission::new(vec!["north".into(), "west".into()], "f".into(), RevocationList::default())
    }

    #[test]
    fn the_first_session_sits_the_second_waits_for_it_to_leave() {
        let (mut table, mut out, north) = (table(), Vec::new(), identity("north", 1));
        table.appeared(north.clone(), "1", &mut out);
        table.appeared(north.clone(), "1", &mut out);
        table.appeared(north.clone(), "2", &mut out);
        let refusal = Refusal { name: "north".into(), reason: Reason::IdentityInUse };
        assert_eq!(out, [Arrival::Up(0), Arrival::Refused(refusal)]);
        assert_eq!(table.sender(&north, "1"), Ok(0));
        assert_eq!(table.sender(&north, "2"), Err(Reason::NotAdmitted));
        out.clear();
        table.vanished(&north, "1", &mut out);
        assert_eq!(out, [Arrival::Down(0), Arrival::Up(0)]);
        assert_eq!(table.sender(&north, "2"), Ok(0));
        assert_eq!(table.sender(&north, "1"), Err(Reason::NotAdmitted));
    }

    #[test]
    fn strangers_and_other_federations_do_not_sit() {
        let (mut table, mut out) = (table(), Vec::new());
        table.appeared(identity("stranger", 1), "1", &mut out);
        table.appeared(Identity { federation: "g".into(), ..identity("north", 1) }, "1", &mut out);
        assert!(out.iter().all(|a| matches!(a, Arrival::Refused(r) if r.reason == Reason::NotANeighbour)));
        assert_eq!((out.len(), table.sender(&identity("north", 1), "1")), (2, Err(Reason::NotAdmitted)));
    }

    #[test]
    fn the_queue_of_impostors_is_bounded() {
        let (mut table, mut out) = (table(), Vec::new());
        (0..1000).for_each(|k| table.appeared(identity("west", 1), &k.to_string(), &mut out));
        assert_eq!(table.seats[1].waiting.len(), WAITING_MAX);
    }
}
