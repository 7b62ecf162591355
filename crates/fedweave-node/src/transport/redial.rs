//! Which neighbours should long have been reached? Those whom we dial, who are not there, and at whose address somebody
//! accepts connections.

use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::settings::Neighbour;

/// The engine dials again within a second or two; after this time something is stuck. Doubled every time, up to the second.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(6), Duration::from_secs(60));
/// How long a look at an address may take.
const PROBE: Duration = Duration::from_millis(150);
/// How often to look.
const EVERY: Duration = Duration::from_millis(500);

/// Since when neighbours are missing.
#[derive(Debug)]
pub(super) struct Redial {
    /// For each neighbour: missing since, and patience with it. None for those who are there or have to dial us.
    missing: Vec<Option<(Instant, Duration)>>,
    dialled: Vec<bool>,
    looked: Instant,
}

impl Redial {
    pub fn new(neighbours: &[Neighbour]) -> Redial {
        let now = Instant::now();
        let dialled: Vec<bool> = neighbours.iter().map(|n| n.endpoint.is_some()).collect();
        Redial { missing: dialled.iter().map(|d| d.then_some((now, PATIENCE.0))).collect(), dialled, looked: now }
    }

    pub fn up(&mut self, place: usize) {
        self.missing[place] = None;
    }

    pub fn down(&mut self, place: usize) {
        if self.dialled[place] && self.missing[place].is_none() {
            self.missing[place] = Some((Instant::now(), PATIENCE.0));
        }
    }

    /// True if a neighbour has been missing for too long though its address answers.
    pub fn is_stuck(&mut self, neighbours: &[Neighbour]) -> bool {
        let now = Instant::now();
        if now.duration_since(self.looked) < EVERY {
            return false;
        }
        self.looked = now;
        let mut stuck = false;
        for (missing, neighbour) in self.missing.iter_mut().zip(neighbours) {
            let Some((since, patience)) = missing else { continue };
            if now.duration_since(*since) >= *patience {
                stuck |= neighbour.endpoint.as_deref().is_some_and(answers);
                *missing = Some((now, (*patience * 2).min(PATIENCE.1)));
            }
        }
        stuck
    }
}

fn answers(endpoint: &str) -> bool {
    let addresses = endpoint.to_socket_addrs().map(Iterator::collect::<Vec<_>>).unwrap_or_default();
    addresses.iter().any(|address| TcpStream::connect_timeout(address, PROBE).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_neighbour_whose_address_answers_is_stuck() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let open = listener.local_addr().unwrap().to_string();
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let neighbour = |endpoint: Option<&str>| Neighbour { name: "x".into(), endpoint: endpoint.map(String::from) };
        let neighbours = [neighbour(Some(&open)), neighbour(Some(&closed)), neighbour(None)];
        let mut redial = Redial::new(&neighbours);
        let long_ago = |redial: &mut Redial| {
            let then = Instant::now().checked_sub(Duration::from_secs(100)).expect("the machine runs for minutes");
            redial.looked = then;
            redial.missing.iter_mut().flatten().for_each(|(since, _)| *since = then);
        };
        assert!(!redial.is_stuck(&neighbours), "too early");
        long_ago(&mut redial);
        assert!(redial.is_stuck(&neighbours));
        redial.up(0);
        long_ago(&mut redial);
        assert!(!redial.is_stuck(&neighbours), "nobody answers at the other address");
        redial.down(0);
        long_ago(&mut redial);
        assert!(redial.is_stuck(&neighbours));
    }
}
