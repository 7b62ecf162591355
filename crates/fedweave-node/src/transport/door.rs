//! The door: every connection is taken at once and proves who it is beside the others, under a deadline. When too many are at it, the one that
//! has taken longest goes, from the address with the most of them; addresses of neighbours last.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, spawn_local};
use tokio::time::{sleep, timeout};

use super::connection::{Arriving, HANDSHAKE, Shared, admit, carry};
use super::settings::split;
use super::stream::Stream;

/// Connections that may be at their handshake.
const STRANGERS: usize = 256;
/// A door that the operating system keeps shut (too many open files) is tried again after this time.
const SHUT: Duration = Duration::from_millis(100);

/// Those who have not yet proved who they are, oldest first.
#[derive(Default)]
struct Strangers {
    next: u64,
    at: BTreeMap<u64, (IpAddr, AbortHandle)>,
}

impl Strangers {
    /// Sends one away: of the address with the most, the oldest; of neighbours' addresses only if there is no other.
    fn send_one_away(&mut self, known: &HashSet<IpAddr>) {
        let mut count: BTreeMap<IpAddr, usize> = BTreeMap::new();
        self.at.values().for_each(|(ip, _)| *count.entry(*ip).or_default() += 1);
        let worst = count.iter().max_by_key(|(ip, n)| (!known.contains(ip), **n)).map(|(ip, _)| *ip);
        let oldest = self.at.iter().find(|(_, (ip, _))| Some(*ip) == worst).map(|(id, _)| *id);
        if let Some((_, task)) = oldest.and_then(|id| self.at.remove(&id)) {
            task.abort();
        }
    }
}

/// Takes connections until the part closes.
pub async fn open(shared: Rc<Shared>, listener: TcpListener) {
    let strangers = Rc::new(RefCell::new(Strangers::default()));
    let known: HashSet<IpAddr> = shared.neighbours.iter().filter_map(|n| address(n.endpoint.as_deref()?)).collect();
    let mut changes = shared.changed.subscribe();
    while !shared.closing() {
        let taken = tokio::select! {
            taken = listener.accept() => taken,
            _ = changes.changed() => continue,
        };
        match taken {
            Ok((socket, from)) => welcome(&shared, &strangers, &known, socket, from.ip()),
            Err(error) => {
                shared.inbox.warn(format!("connections cannot be taken: {error}"));
                strangers.borrow_mut().send_one_away(&known);
                sleep(SHUT).await;
            }
        }
    }
}

fn welcome(
    shared: &Rc<Shared>,
    strangers: &Rc<RefCell<Strangers>>,
    known: &HashSet<IpAddr>,
    socket: TcpStream,
    ip: IpAddr,
) {
    let mut all = strangers.borrow_mut();
    if all.at.len() >= STRANGERS {
        all.send_one_away(known);
    }
    let id = all.next;
    all.next += 1;
    let (shared, strangers) = (shared.clone(), strangers.clone());
    let task = spawn_local(async move {
        let proved = timeout(HANDSHAKE, prove(&shared, socket, ip)).await;
        strangers.borrow_mut().at.remove(&id);
        match proved {
            Ok(Ok(Some(admitted))) => carry(shared, admitted).await,
            Ok(Ok(None)) => {}
            // The address without its port: one who tries again and again is one line of the log.
            Ok(Err(error)) => shared.inbox.warn(format!("a connection from {ip} was refused: {error}")),
            Err(_) => shared.inbox.warn(format!("a connection from {ip} did not prove who it is in time")),
        }
    });
    all.at.insert(id, (ip, task.abort_handle()));
}

async fn prove(shared: &Shared, socket: TcpStream, ip: IpAddr) -> io::Result<Option<super::connection::Admitted>> {
    let security = shared.security.borrow().clone();
    let (stream, peer) = Stream::accept(socket, security).await?;
    admit(shared, Arriving { stream, peer, address: ip.to_string(), dialled: None }).await
}

/// The address of an endpoint that is written as one.
fn address(endpoint: &str) -> Option<IpAddr> {
    split(endpoint).ok()?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crowd_goes_before_the_single_one_and_neighbours_last() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let ip = |k: u8| IpAddr::from([10, 0, 0, k]);
            let mut strangers = Strangers::default();
            for (id, from) in [1, 2, 2, 3, 3, 3, 3].into_iter().enumerate() {
                let task = spawn_local(std::future::pending::<()>()).abort_handle();
                strangers.at.insert(id as u64, (ip(from), task));
            }
            let known = HashSet::from([ip(3)]);
            let mut gone = Vec::new();
            for _ in 0..4 {
                let before: Vec<u64> = strangers.at.keys().copied().collect();
                strangers.send_one_away(&known);
                gone.extend(before.into_iter().filter(|id| !strangers.at.contains_key(id)));
            }
            // First the pair's older one; then the single ones of unknown addresses, then neighbours'.
            assert_eq!((gone[0], gone[3]), (1, 3));
        });
    }
}
