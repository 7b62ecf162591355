//! Who sits at the table: of every neighbour one session at a time, under a certificate that was not revoked.

use serde::{Deserialize, Serialize};

use super::link::SessionId;
use crate::certs::{Identity, RevocationList};

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
    /// It answers where another neighbour was dialled, or says that it is somebody else than its certificate says.
    WrongName,
    /// It speaks another version.
    Version,
}

/// Somebody was turned away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The name in its certificate.
    pub name: String,
    /// Why.
    pub reason: Reason,
    /// Where it came from, or where it was dialled.
    pub address: String,
}

/// A connection that asks for a seat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comer {
    /// Who, by its certificate.
    pub identity: Identity,
    /// Which run of its process.
    pub session: SessionId,
    /// True if we dialled it.
    pub dialled: bool,
}

/// What becomes of a comer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It sits at `place`; the ticket is its own.
    Seated {
        /// The neighbour.
        place: usize,
        /// What it leaves with.
        ticket: u64,
        /// True if it takes the place of another connection of the same process, which has to end.
        instead: bool,
    },
    /// The same process has a connection already, which stays.
    Twice,
    /// It is turned away; if somebody sits in its place, that one should hear of it.
    Refused(Reason),
}

#[derive(Debug)]
struct Seated {
    comer: Comer,
    ticket: u64,
}

/// The table.
#[derive(Debug)]
pub struct Admission {
    me: Identity,
    names: Vec<String>,
    revoked: RevocationList,
    seats: Vec<Option<Seated>>,
    tickets: u64,
}

impl Admission {
    /// Nobody sits yet.
    pub fn new(me: Identity, names: Vec<String>, revoked: RevocationList) -> Admission {
        let seats = names.iter().map(|_| None).collect();
        Admission { me, names, revoked, seats, tickets: 0 }
    }

    /// A connection whose certificate was verified asks for a seat.
    pub fn appeared(&mut self, comer: Comer) -> Verdict {
        let place = match self.place(&comer.identity) {
            Ok(place) => place,
            Err(reason) => return Verdict::Refused(reason),
        };
        let instead = match &self.seats[place] {
            None => false,
            Some(seated) if seated.comer.session != comer.session => return Verdict::Refused(Reason::IdentityInUse),
            Some(seated) if !self.is_preferred(&comer, &seated.comer) => return Verdict::Twice,
            Some(_) => true,
        };
        self.tickets += 1;
        self.seats[place] = Some(Seated { comer, ticket: self.tickets });
        Verdict::Seated { place, ticket: self.tickets, instead }
    }

    /// A connection ended; true if it still had its seat.
    pub fn left(&mut self, place: usize, ticket: u64) -> bool {
        let sat = self.seats[place].as_ref().is_some_and(|s| s.ticket == ticket);
        if sat {
            self.seats[place] = None;
        }
        sat
    }

    /// True if the connection with this ticket has to end: replaced, or its certificate revoked.
    pub fn must_leave(&self, place: usize, ticket: u64) -> Option<Option<Reason>> {
        match &self.seats[place] {
            Some(seated) if seated.ticket == ticket => {
                self.revoked.contains(&seated.comer.identity).then_some(Some(Reason::Revoked))
            }
            _ => Some(None),
        }
    }

    /// True if the neighbour has a connection.
    pub fn sits(&self, place: usize) -> bool {
        self.seats[place].is_some()
    }

    /// Uses a new revocation list.
    pub fn revoke(&mut self, list: RevocationList) {
        self.revoked = list;
    }

    /// Of two connections of the same pair both ends keep the one dialled by the smaller name; a newer certificate wins.
    fn is_preferred(&self, comer: &Comer, seated: &Comer) -> bool {
        let by_smaller = |c: &Comer| c.dialled == (self.me.name < c.identity.name);
        match comer.identity.issue.cmp(&seated.identity.issue) {
            std::cmp::Ordering::Equal => by_smaller(comer) && !by_smaller(seated),
            order => order.is_gt(),
        }
    }

    fn place(&self, identity: &Identity) -> Result<usize, Reason> {
        let place = self.names.iter().position(|n| *n == identity.name).ok_or(Reason::NotANeighbour)?;
        match () {
            () if identity.federation != self.me.federation => Err(Reason::NotANeighbour),
            () if self.revoked.contains(identity) => Err(Reason::Revoked),
            () => Ok(place),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(name: &str, issue: u32) -> Identity {
        Identity { name: name.into(), issue, federation: "f".into() }
    }

    fn comer(name: &str, session: u8, dialled: bool) -> Comer {
        Comer { identity: identity(name, 1), session: [session; 8], dialled }
    }

    fn table() -> Admission {
        Admission::new(identity("east", 1), vec!["north".into(), "a".into()], RevocationList::default())
    }

    #[test]
    fn the_first_session_sits_the_second_is_refused_until_it_leaves() {
        let mut table = table();
        let first = table.appeared(comer("north", 1, false));
        assert_eq!(first, Verdict::Seated { place: 0, ticket: 1, instead: false });
        assert_eq!(table.appeared(comer("north", 2, false)), Verdict::Refused(Reason::IdentityInUse));
        assert!(table.left(0, 1) && !table.left(0, 1));
        assert!(matches!(table.appeared(comer("north", 2, false)), Verdict::Seated { place: 0, .. }));
    }

    #[test]
    fn two_connections_of_a_pair_become_the_one_dialled_by_the_smaller_name() {
        // East dials north: east < north, so the dialled one stays; a dials east, so its own stays.
        for (name, dialled) in [("north", true), ("a", false)] {
            let mut table = table();
            assert!(matches!(table.appeared(comer(name, 1, !dialled)), Verdict::Seated { instead: false, .. }));
            assert!(matches!(table.appeared(comer(name, 1, dialled)), Verdict::Seated { instead: true, .. }));
            assert_eq!(table.appeared(comer(name, 1, !dialled)), Verdict::Twice);
            assert_eq!(table.appeared(comer(name, 1, dialled)), Verdict::Twice);
        }
    }

    #[test]
    fn the_one_that_was_replaced_must_leave_and_frees_no_seat() {
        let mut table = table();
        table.appeared(comer("north", 1, false));
        table.appeared(comer("north", 1, true));
        assert_eq!((table.must_leave(0, 1), table.must_leave(0, 2)), (Some(None), None));
        assert!(!table.left(0, 1) && table.sits(0));
    }

    #[test]
    fn strangers_and_other_federations_do_not_sit() {
        let mut table = table();
        let other = Identity { federation: "g".into(), ..identity("north", 1) };
        for identity in [identity("stranger", 1), other] {
            let comer = Comer { identity, session: [1; 8], dialled: false };
            assert_eq!(table.appeared(comer), Verdict::Refused(Reason::NotANeighbour));
        }
    }
}
