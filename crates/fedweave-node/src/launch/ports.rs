//! Where parts listen.

use std::net::TcpListener;

use rand::{RngExt, SeedableRng};

use super::error::LaunchError;
use super::prepare::LaunchOptions;

const LOCAL: &str = "127.0.0.1";
/// The first port, where hosts are named and ports are not.
const PORT: u16 = 7447;

/// The addresses of a part.
pub struct Seat {
    /// Its host.
    pub host: String,
    /// `host:port` to listen on.
    pub endpoint: String,
    /// `127.0.0.1:port` for metrics.
    pub metrics: String,
}

/// The addresses of all parts.
pub fn seats(options: &LaunchOptions, parts: usize) -> Result<Vec<Seat>, LaunchError> {
    let hosts = hosts(options, parts)?;
    let ports = ports(options, &hosts)?;
    let seat = |(host, (port, metrics)): (String, (u16, u16))| Seat {
        endpoint: format!("{}:{port}", if host.contains(':') { format!("[{host}]") } else { host.clone() }),
        metrics: format!("{LOCAL}:{metrics}"),
        host,
    };
    Ok(hosts.into_iter().zip(ports).map(seat).collect())
}

fn hosts(options: &LaunchOptions, parts: usize) -> Result<Vec<String>, LaunchError> {
    let given = options.hosts.clone().unwrap_or_else(|| vec![LOCAL.into()]);
    match given.len() {
        1 => Ok(vec![given[0].clone(); parts]),
        n if n == parts => Ok(given),
        hosts => Err(LaunchError::Hosts { hosts, parts }),
    }
}

/// For each part a port to listen on and one for metrics.
fn ports(options: &LaunchOptions, hosts: &[String]) -> Result<Vec<(u16, u16)>, LaunchError> {
    let local = hosts.iter().all(|host| host == LOCAL);
    if options.port.is_none() && local {
        return free_ports(2 * hosts.len()).map(|ports| ports.chunks(2).map(|pair| (pair[0], pair[1])).collect());
    }
    let first = options.port.unwrap_or(PORT);
    let last = first.checked_add(2 * hosts.len() as u16).ok_or(LaunchError::Port { port: first })?;
    let middle = last - hosts.len() as u16;
    Ok((0..hosts.len() as u16).map(|k| (first + k, middle + k)).collect())
}

/// Ports on which nobody listens now, below those that the system hands out to dialling processes.
fn free_ports(count: usize) -> Result<Vec<u16>, LaunchError> {
    let no_ports = || LaunchError::NoPorts { count };
    let mut random = rand_chacha::ChaCha8Rng::try_from_rng(&mut rand::rngs::SysRng).map_err(|_| no_ports())?;
    let mut held: Vec<TcpListener> = Vec::new();
    for _ in 0..200 * count {
        if held.len() == count {
            break;
        }
        held.extend(TcpListener::bind((LOCAL, random.random_range(10_000..32_000))));
    }
    let ports: Vec<u16> = held.iter().filter_map(|listener| Some(listener.local_addr().ok()?.port())).collect();
    if ports.len() == count { Ok(ports) } else { Err(no_ports()) }
}
