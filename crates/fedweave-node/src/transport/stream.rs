//! A connection as bytes, encrypted or not, and who is at its other end.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use time::OffsetDateTime;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;

use super::tls::{Security, server_name};
use crate::certs::{Identity, peer_identity};

/// Bytes to and from a neighbour.
pub enum Stream {
    Tls(Box<TlsStream<TcpStream>>),
    Plain(TcpStream),
}

/// The other end, as far as its certificate tells.
pub struct Peer {
    /// None without TLS: then its hello is believed.
    pub identity: Option<Identity>,
    /// How long its certificate counts.
    pub valid_for: Duration,
}

impl Stream {
    /// The handshake of the end that was dialled.
    pub async fn accept(socket: TcpStream, security: Security) -> io::Result<(Stream, Peer)> {
        socket.set_nodelay(true)?;
        match security {
            Security::Plain => Ok((Stream::Plain(socket), Peer::unknown())),
            Security::Tls { acceptor, .. } => Stream::proved(acceptor.accept(socket).await?.into()),
        }
    }

    /// The handshake of the end that dials.
    pub async fn dial(endpoint: &str, security: Security) -> io::Result<(Stream, Peer)> {
        let socket = TcpStream::connect(endpoint).await?;
        socket.set_nodelay(true)?;
        match security {
            Security::Plain => Ok((Stream::Plain(socket), Peer::unknown())),
            Security::Tls { connector, .. } => {
                let name = server_name(endpoint).ok_or(io::ErrorKind::InvalidInput)?;
                Stream::proved(connector.connect(name, socket).await?.into())
            }
        }
    }

    fn proved(stream: TlsStream<TcpStream>) -> io::Result<(Stream, Peer)> {
        let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
        let nobody = || io::Error::new(io::ErrorKind::InvalidData, "its certificate is not made out to a part");
        let (identity, until) = certificate.and_then(|c| peer_identity(c)).ok_or_else(nobody)?;
        let left = until - OffsetDateTime::now_utc();
        let peer = Peer { identity: Some(identity), valid_for: left.try_into().unwrap_or(Duration::ZERO) };
        Ok((Stream::Tls(Box::new(stream)), peer))
    }
}

impl Peer {
    fn unknown() -> Peer {
        Peer { identity: None, valid_for: Duration::MAX }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
