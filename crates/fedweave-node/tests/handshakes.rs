//! Who gets in: east listens and dials, others try. What must be refused is refused within three seconds, and no byte of it
//! comes out of the transport.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fedweave_node::certs::{Authority, Credentials, Identity, Validity};
use fedweave_node::transport::{Arrival, Link, Neighbour, Reason, TlsTransport, Transport};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tempfile::TempDir;
use time::{Duration as Span, OffsetDateTime};

/// Refusals must come within this time.
const LIMIT: Duration = Duration::from_secs(3);
const HOSTS: [&str; 2] = ["127.0.0.1", "localhost"];

/// A federation of east, north, west and stranger, and another one whose authority nobody here trusts.
struct World {
    folder: TempDir,
    federation: String,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let mut authority = Authority::init(&folder.path().join("ours"), "ours").unwrap();
        for name in ["east", "north", "west", "stranger"] {
            issue(&mut authority, name, Validity::days(1));
        }
        let mut other = Authority::init(&folder.path().join("other"), "other").unwrap();
        issue(&mut other, "north", Validity::days(1));
        World { federation: authority.federation().into(), folder }
    }

    fn ours(&self) -> PathBuf {
        self.folder.path().join("ours")
    }

    /// Credentials as the files of `folder` have them, without the checks of an honest part.
    fn claim(&self, name: &str, folder: &Path, file: &str) -> Credentials {
        Credentials {
            identity: Identity { name: name.into(), issue: 1, federation: self.federation.clone() },
            certificate: folder.join(format!("{file}.pem")),
            key: folder.join(format!("{file}.key")),
            authority: self.ours().join("ca.pem"),
            revoked: Some(self.ours().join("crl.pem")),
            list_number: None,
            until: OffsetDateTime::now_utc() + Span::days(1),
        }
    }

    fn honest(&self, name: &str) -> Credentials {
        self.claim(name, &self.ours(), name)
    }

    /// East, with these neighbours (and whom it dials).
    fn east(&self, port: u16, neighbours: &[(&str, Option<u16>)]) -> TlsTransport {
        part(self.honest("east"), port, neighbours)
    }
}

fn issue(authority: &mut Authority, name: &str, validity: Validity) {
    authority.issue(name, &HOSTS.map(String::from), validity).unwrap();
}

fn part(credentials: Credentials, port: u16, neighbours: &[(&str, Option<u16>)]) -> TlsTransport {
    let endpoint = |port: u16| format!("127.0.0.1:{port}");
    let neighbours: Vec<Neighbour> =
        neighbours.iter().map(|(n, p)| Neighbour { name: n.to_string(), endpoint: p.map(endpoint) }).collect();
    TlsTransport::open(Link::Tls(credentials), &endpoint(port), &neighbours).unwrap()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// What comes out of a transport in so much time; the others send to their first neighbour all the while.
fn listen(to: &mut TlsTransport, others: &mut [&mut TlsTransport], time: Duration) -> Vec<Arrival> {
    let (end, mut seen) = (Instant::now() + time, Vec::new());
    while Instant::now() < end {
        seen.extend(to.receive(Duration::from_millis(20)));
        for other in others.iter_mut() {
            other.send(0, b"a frame");
            while other.receive(Duration::ZERO).is_some() {}
        }
    }
    seen
}

fn nothing_came_in(seen: &[Arrival]) -> bool {
    !seen.iter().any(|a| matches!(a, Arrival::Up(_) | Arrival::Frame { .. }))
}

/// Enough to understand a failure.
fn brief(seen: &[Arrival]) -> &[Arrival] {
    &seen[..seen.len().min(5)]
}

fn refused(seen: &[Arrival], name: &str, reason: Reason) -> bool {
    seen.iter().any(|a| matches!(a, Arrival::Refused(r) if r.name == name && r.reason == reason))
}

/// A rogue who dials east as one of its neighbours.
fn dials(credentials: impl Fn(&World) -> Credentials) {
    let world = World::new();
    let (claim, port) = (credentials(&world), free_port());
    let mut east = world.east(port, &[("north", None), ("west", None)]);
    let mut rogue = part(claim, free_port(), &[("east", Some(port))]);
    let seen = listen(&mut east, &mut [&mut rogue], LIMIT);
    assert!(nothing_came_in(&seen), "{:?}", brief(&seen));
}

/// A rogue whom east dials as north.
fn is_dialled(credentials: impl Fn(&World) -> Credentials) {
    let world = World::new();
    let port = free_port();
    let mut rogue = part(credentials(&world), port, &[("east", None)]);
    let mut east = world.east(free_port(), &[("north", Some(port))]);
    let seen = listen(&mut east, &mut [&mut rogue], LIMIT);
    assert!(nothing_came_in(&seen), "{:?}", brief(&seen));
}

/// Credentials of north that are good but for the time, in a folder of their own.
fn bob_at(world: &World, from: i64, until: i64) -> Credentials {
    let now = OffsetDateTime::now_utc();
    let mut authority = Authority::open(&world.ours()).unwrap();
    // The first issue is dialled under; the file is overwritten by the second one, signed for another time.
    authority.revoke("north").unwrap();
    issue(&mut authority, "north", Validity { from: now + Span::hours(from), until: now + Span::hours(until) });
    let mut claim = world.honest("north");
    claim.identity.issue = 2;
    claim
}

#[test]
fn a_valid_certificate_is_accepted_both_ways() {
    let world = World::new();
    let (a, b) = (free_port(), free_port());
    let mut east = world.east(a, &[("north", Some(b)), ("west", None)]);
    let mut north = part(world.honest("north"), b, &[("east", None)]);
    let mut west = part(world.honest("west"), free_port(), &[("east", Some(a))]);
    let started = Instant::now();
    let mut seen = Vec::new();
    let all = |seen: &[Arrival]| {
        [0, 1].iter().all(|k| seen.contains(&Arrival::Frame { from: *k, bytes: b"a frame".to_vec() }))
    };
    while !all(&seen) && started.elapsed() < 2 * LIMIT {
        seen.extend(listen(&mut east, &mut [&mut north, &mut west], Duration::from_millis(50)));
    }
    assert!(all(&seen), "{:?}", brief(&seen));
    assert!(seen.contains(&Arrival::Up(0)) && seen.contains(&Arrival::Up(1)));
    drop(north);
    let seen = listen(&mut east, &mut [], LIMIT);
    assert!(seen.contains(&Arrival::Down(0)), "{:?}", brief(&seen));
}

#[test]
fn an_expired_certificate_is_refused() {
    dials(|world| bob_at(world, -48, -1));
}

#[test]
fn an_expired_certificate_is_refused_when_dialled() {
    is_dialled(|world| bob_at(world, -48, -1));
}

#[test]
fn a_certificate_that_is_not_yet_valid_is_refused() {
    dials(|world| bob_at(world, 1, 48));
}

#[test]
fn the_certificate_of_another_authority_is_refused() {
    dials(|world| world.claim("north", &world.folder.path().join("other"), "north"));
}

#[test]
fn the_certificate_of_another_authority_is_refused_when_dialled() {
    is_dialled(|world| world.claim("north", &world.folder.path().join("other"), "north"));
}

#[test]
fn a_self_signed_certificate_is_refused() {
    dials(|world| {
        let mut params = rcgen::CertificateParams::new(HOSTS.map(String::from)).unwrap();
        let name = format!("north+1@{}", world.federation);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let key = rcgen::KeyPair::generate().unwrap();
        let folder = world.folder.path().join("self");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("north.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
        std::fs::write(folder.join("north.key"), key.serialize_pem()).unwrap();
        world.claim("north", &folder, "north")
    });
}

#[test]
fn a_neighbour_cannot_take_the_name_of_another() {
    // West is a neighbour too, and its certificate is good: it may speak as west only.
    dials(|world| world.claim("north", &world.ours(), "west"));
}

#[test]
fn a_neighbour_cannot_answer_for_another_when_dialled() {
    is_dialled(|world| world.claim("north", &world.ours(), "stranger"));
}

#[test]
fn a_valid_certificate_of_a_stranger_is_refused() {
    dials(|world| world.honest("stranger"));
}

#[test]
fn a_revoked_certificate_is_refused() {
    dials(|world| {
        Authority::open(&world.ours()).unwrap().revoke("north").unwrap();
        world.honest("north")
    });
}

/// East, listening at a port, and north, which it has let in.
fn acquainted() -> (World, u16, TlsTransport, TlsTransport) {
    let (world, port) = (World::new(), free_port());
    let mut east = world.east(port, &[("north", None)]);
    let mut north = part(world.honest("north"), free_port(), &[("east", Some(port))]);
    let started = Instant::now();
    while !listen(&mut east, &mut [&mut north], Duration::from_millis(50)).contains(&Arrival::Up(0)) {
        assert!(started.elapsed() < 2 * LIMIT);
    }
    (world, port, east, north)
}

#[test]
fn a_certificate_revoked_while_we_run_is_refused_from_then_on() {
    let (world, _, mut east, mut north) = acquainted();
    Authority::open(&world.ours()).unwrap().revoke("north").unwrap();
    let seen = listen(&mut east, &mut [&mut north], LIMIT);
    assert!(refused(&seen, "north", Reason::Revoked) && seen.contains(&Arrival::Down(0)), "{:?}", brief(&seen));
    let seen = listen(&mut east, &mut [&mut north], Duration::from_millis(500));
    assert!(nothing_came_in(&seen), "{:?}", brief(&seen));
}

#[test]
fn the_same_identity_twice_is_refused_with_a_reason() {
    let (world, port, mut east, _north) = acquainted();
    // What north has sent already is its own.
    listen(&mut east, &mut [], Duration::from_millis(500));
    let mut twin = part(world.honest("north"), free_port(), &[("east", Some(port))]);
    let seen = listen(&mut east, &mut [&mut twin], LIMIT);
    assert!(refused(&seen, "north", Reason::IdentityInUse), "{:?}", brief(&seen));
    assert!(nothing_came_in(&seen), "{:?}", brief(&seen));
}

/// Speaks TLS to east without a certificate; true if it hangs up within the limit.
fn hangs_up(world: &World, port: u16, versions: &[&'static rustls::SupportedProtocolVersion]) -> bool {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(world.ours().join("ca.pem")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let server = ServerName::try_from("127.0.0.1").unwrap();
    let mut tls = rustls::ClientConnection::new(Arc::new(config), server).unwrap();
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(LIMIT)).unwrap();
    let started = Instant::now();
    let mut stream = rustls::Stream::new(&mut tls, &mut socket);
    let _ = stream.write_all(&[0x55; 200]);
    let ended = match stream.read(&mut [0; 1000]) {
        Ok(n) => n == 0,
        Err(e) => !matches!(e.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut),
    };
    ended && started.elapsed() < LIMIT
}

#[test]
fn no_certificate_and_tls_1_2_are_refused() {
    let world = World::new();
    let port = free_port();
    let mut east = world.east(port, &[("north", None)]);
    assert!(hangs_up(&world, port, &[&rustls::version::TLS13]), "no certificate");
    assert!(hangs_up(&world, port, &[&rustls::version::TLS12]), "TLS 1.2");
    let seen = listen(&mut east, &mut [], Duration::from_millis(300));
    assert!(nothing_came_in(&seen), "{:?}", brief(&seen));
}

#[test]
fn plaintext_is_refused() {
    let world = World::new();
    let port = free_port();
    let mut east = world.east(port, &[("north", None)]);
    let link = Link::LoopbackPlaintext { name: "north".into() };
    let neighbours = [Neighbour { name: "east".into(), endpoint: Some(format!("127.0.0.1:{port}")) }];
    let mut rogue = TlsTransport::open(link, &format!("127.0.0.1:{}", free_port()), &neighbours).unwrap();
    let seen = listen(&mut east, &mut [&mut rogue], LIMIT);
    assert!(nothing_came_in(&seen), "{:?}", brief(&seen));
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(LIMIT)).unwrap();
    socket.write_all(&[0x01; 200]).unwrap();
    let started = Instant::now();
    // An alert may come before the end.
    let mut rest = Vec::new();
    let _ = socket.read_to_end(&mut rest);
    assert!(started.elapsed() < LIMIT && rest.len() < 64, "{} bytes", rest.len());
}

/// East as it was, and a new north that dials it; the time until east hears of it.
fn time_to_meet(world: &World, east: &mut TlsTransport, port: u16) -> Duration {
    let started = Instant::now();
    let mut north = part(world.honest("north"), free_port(), &[("east", Some(port))]);
    while !listen(east, &mut [&mut north], Duration::from_millis(20)).contains(&Arrival::Up(0)) {
        assert!(started.elapsed() < Duration::from_secs(20), "north was locked out");
    }
    started.elapsed()
}

#[test]
fn five_hundred_idle_sockets_lock_nobody_out() {
    let (world, port) = (World::new(), free_port());
    let mut east = world.east(port, &[("north", None)]);
    let idle: Vec<TcpStream> = (0..500).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    let time = time_to_meet(&world, &mut east, port);
    assert!(time < Duration::from_secs(5), "{time:?} beside {} idle sockets", idle.len());
}

#[test]
fn garbage_at_two_hundred_connections_a_second_locks_nobody_out() {
    let (world, port) = (World::new(), free_port());
    let mut east = world.east(port, &[("north", None)]);
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let until = stop.clone();
    let attack = std::thread::spawn(move || {
        let mut kept = std::collections::VecDeque::new();
        while !until.load(std::sync::atomic::Ordering::Relaxed) {
            if let Ok(mut socket) = TcpStream::connect(("127.0.0.1", port)) {
                // Half of them say something, all stay.
                let _ = if kept.len() % 2 == 0 { socket.write_all(&[0x16, 3, 1, 0, 200]) } else { Ok(()) };
                kept.push_back(socket);
            }
            while kept.len() > 400 {
                kept.pop_front();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    std::thread::sleep(Duration::from_secs(2));
    let time = time_to_meet(&world, &mut east, port);
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    attack.join().unwrap();
    assert!(time < Duration::from_secs(5), "{time:?}");
}

#[test]
fn a_certificate_renewed_in_place_is_used_without_a_restart() {
    let (world, _, mut east, mut north) = acquainted();
    let mut authority = Authority::open(&world.ours()).unwrap();
    authority.revoke("north").unwrap();
    issue(&mut authority, "north", Validity::days(1));
    let (started, mut seen) = (Instant::now(), Vec::new());
    let again = |seen: &[Arrival]| {
        let down = seen.iter().position(|a| *a == Arrival::Down(0));
        down.is_some_and(|at| seen[at..].contains(&Arrival::Up(0)))
    };
    while !again(&seen) {
        assert!(started.elapsed() < 3 * LIMIT, "{:?}", brief(&seen));
        seen.extend(listen(&mut east, &mut [&mut north], Duration::from_millis(50)));
    }
}

#[test]
fn revocation_ends_a_session_within_a_second_at_both_ends() {
    let (world, _, mut east, mut north) = acquainted();
    Authority::open(&world.ours()).unwrap().revoke("north").unwrap();
    let seen = listen(&mut east, &mut [], Duration::from_secs(1));
    assert!(seen.contains(&Arrival::Down(0)), "{:?}", brief(&seen));
    let seen = listen(&mut north, &mut [], Duration::from_millis(200));
    assert!(seen.contains(&Arrival::Down(0)), "{:?}", brief(&seen));
    // It reads nothing from then on, either.
    let (end, mut read) = (Instant::now() + LIMIT, 0);
    while Instant::now() < end {
        east.send(0, b"for north alone");
        read += usize::from(matches!(north.receive(Duration::from_millis(20)), Some(Arrival::Frame { .. })));
    }
    assert_eq!(read, 0);
}

#[test]
fn a_copied_certificate_is_an_alarm_at_both_ends() {
    let (world, port, mut east, mut north) = acquainted();
    let mut thief = part(world.honest("north"), free_port(), &[("east", Some(port))]);
    let (end, mut at_east, mut at_north, mut at_thief) = (Instant::now() + LIMIT, Vec::new(), Vec::new(), Vec::new());
    while Instant::now() < end {
        east.send(0, b"for north alone");
        at_east.extend(east.receive(Duration::from_millis(5)));
        at_north.extend(north.receive(Duration::from_millis(5)));
        at_thief.extend(thief.receive(Duration::from_millis(5)));
    }
    assert!(refused(&at_east, "north", Reason::IdentityInUse), "{:?}", brief(&at_east));
    let warned =
        |seen: &[Arrival]| seen.iter().any(|a| matches!(a, Arrival::Warning(w) if w.contains("our certificate")));
    assert!(warned(&at_north) && warned(&at_thief));
    assert!(nothing_came_in(&at_thief), "the thief reads nothing");
}

/// A newer program says a newer version, and both speak ours; a version that nobody speaks any more is refused at the first word.
#[test]
fn two_versions_of_a_link_agree_on_the_older_one_or_part() {
    for (version, understood) in [(2u8, true), (3, true), (200, true), (1, false)] {
        let port = free_port();
        let link = Link::LoopbackPlaintext { name: "east".into() };
        let neighbours = [Neighbour { name: "north".into(), endpoint: None }];
        let mut east = TlsTransport::open(link, &format!("127.0.0.1:{port}"), &neighbours).unwrap();
        let mut north = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let identity = Link::LoopbackPlaintext { name: "north".into() }.identity().to_string();
        let body = [&[version][..], &[7; 8], identity.as_bytes()].concat();
        let hello = [&[1u8][..], &(body.len() as u32).to_le_bytes(), &body].concat();
        north.write_all(&hello).unwrap();
        north.set_read_timeout(Some(LIMIT)).unwrap();
        let mut answer = [0; 6];
        north.read_exact(&mut answer).unwrap();
        // A hello with our own version, or a bye that says "version".
        assert_eq!((answer[0], answer[5]), if understood { (1, 2) } else { (4, 4) }, "version {version}");
        let seen = listen(&mut east, &mut [], Duration::from_millis(300));
        assert_eq!(seen.contains(&Arrival::Up(0)), understood, "version {version}: {:?}", brief(&seen));
        assert_eq!(refused(&seen, "north", Reason::Version), !understood, "version {version}: {:?}", brief(&seen));
    }
}
