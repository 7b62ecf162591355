//! The server: axum on a thread of its own. Every connection has a deadline and there is room for a few only, so that one who asks
//! slowly, or often, takes nothing from others.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

use super::{Shared, Snapshot, openmetrics};
use crate::private;

/// The file in the state folder with the token.
pub const TOKEN: &str = "metrics-token";
/// A connection lives so long at most.
const DEADLINE: Duration = Duration::from_secs(5);
/// So many at once.
const CONNECTIONS_MAX: usize = 32;

/// The token of a part: that of its last run, or a new one, in a file that nobody else can read.
pub fn token(state: &Path) -> io::Result<String> {
    let path = state.join(TOKEN);
    if let Ok(token) = fs::read_to_string(&path)
        && !token.trim().is_empty()
    {
        return Ok(token.trim().into());
    }
    let mut bytes = [0; 24];
    SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("no random numbers"))?;
    let token: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    private::write(&path, token.as_bytes())?;
    Ok(token)
}

/// Serves `shared` at a loopback address for the life of the process; the address it listens on.
pub fn serve(address: SocketAddr, shared: Shared, token: String) -> io::Result<SocketAddr> {
    if !address.ip().is_loopback() {
        let what = format!("{address}: metrics are for this machine only; use 127.0.0.1:PORT");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    let socket = std::net::TcpListener::bind(address)?;
    socket.set_nonblocking(true)?;
    let local = socket.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let router = axum::Router::new()
        .route("/metrics", get(metrics))
        .route("/status", get(status))
        .fallback(|| async { (StatusCode::NOT_FOUND, "ask for /metrics or /status\n") })
        .with_state(Known { shared, token: token.into() });
    let run = move || {
        runtime.block_on(async {
            let Ok(listener) = TcpListener::from_std(socket) else { return };
            let door = Door { listener, room: Arc::new(Semaphore::new(CONNECTIONS_MAX)) };
            let _ = axum::serve(door, router).await;
        });
    };
    std::thread::Builder::new().name("metrics".into()).spawn(run)?;
    Ok(local)
}

#[derive(Clone)]
struct Known {
    shared: Shared,
    token: Arc<str>,
}

impl Known {
    /// An answer made from the snapshot, for who has the token.
    fn answer(&self, headers: &HeaderMap, make: impl FnOnce(Snapshot) -> Response) -> Response {
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
        // Digests are compared: how long it takes says nothing about the token.
        let digest = |text: &str| ring::digest::digest(&ring::digest::SHA256, text.trim().as_bytes());
        if digest(given).as_ref() != digest(&self.token).as_ref() {
            let what =
                "the token in the file metrics-token of the state folder is needed: Authorization: Bearer TOKEN\n";
            return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], what).into_response();
        }
        make(self.shared.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

async fn metrics(State(known): State<Known>, headers: HeaderMap) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")];
    known.answer(&headers, |shown| (kind, openmetrics(&shown)).into_response())
}

async fn status(State(known): State<Known>, headers: HeaderMap) -> Response {
    known.answer(&headers, |shown| Json(shown).into_response())
}

/// Takes connections while there is room.
struct Door {
    listener: TcpListener,
    room: Arc<Semaphore>,
}

impl axum::serve::Listener for Door {
    type Io = Limited;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Limited, SocketAddr) {
        loop {
            let place = self.room.clone().acquire_owned().await;
            match (self.listener.accept().await, place) {
                (Ok((stream, from)), Ok(place)) => {
                    return (Limited { stream, deadline: Box::pin(sleep(DEADLINE)), _place: place }, from);
                }
                _ => sleep(Duration::from_millis(100)).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection with a deadline and a place in the room.
struct Limited {
    stream: TcpStream,
    deadline: Pin<Box<Sleep>>,
    _place: OwnedSemaphorePermit,
}

impl Limited {
    fn is_over(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        self.deadline.as_mut().poll(context).map(|()| io::ErrorKind::TimedOut.into())
    }
}

impl AsyncRead for Limited {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Poll::Ready(error) = self.is_over(context) {
            return Poll::Ready(Err(error));
        }
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Limited {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if let Poll::Ready(error) = self.is_over(context) {
            return Poll::Ready(Err(error));
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::sync::Mutex;

    use super::super::ask;
    use super::*;

    fn served() -> (SocketAddr, Snapshot) {
        let snapshot = Snapshot { name: "east".into(), round: 7, ..Default::default() };
        let shared = Arc::new(Mutex::new(snapshot.clone()));
        (serve("127.0.0.1:0".parse().unwrap(), shared, "secret".into()).unwrap(), snapshot)
    }

    #[test]
    fn a_part_answers_on_this_machine_only_and_to_who_has_the_token() {
        let (address, snapshot) = served();
        assert_eq!(ask(address, "secret\n").unwrap(), snapshot);
        assert!(ask(address, "guess").unwrap_err().to_string().contains("metrics-token"));
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 401") && !text.contains("east"), "{text}");
        assert!(serve("0.0.0.0:0".parse().unwrap(), Shared::default(), "t".into()).is_err());
    }

    #[test]
    fn strange_requests_do_no_harm() {
        let (address, snapshot) = served();
        for request in [&b""[..], b"\r\n\r\n", b"GET", b"POST / HTTP/1.0\r\n\r\n", &[0xff; 9000]] {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            let _ = stream.write_all(request);
            drop(stream);
        }
        assert_eq!(ask(address, "secret").unwrap(), snapshot);
    }

    /// Those who drip a byte now and then do not keep others from an answer, and are gone after the deadline.
    #[test]
    fn dripping_clients_blind_nobody() {
        let (address, snapshot) = served();
        let mut dripping: Vec<_> = (0..8).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
        for _ in 0..3 {
            dripping.iter_mut().for_each(|stream| stream.write_all(b"G").unwrap());
            assert_eq!(ask(address, "secret").unwrap(), snapshot);
        }
    }

    #[test]
    fn a_token_is_made_once_and_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let made = token(folder.path()).unwrap();
        assert_eq!((token(folder.path()).unwrap(), made.len()), (made, 48));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(folder.path().join(TOKEN)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}
