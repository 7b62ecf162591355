//! What the page of `up --watch` knows about a part: its own words, or that it has none any more.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fedweave_node::metrics::{Snapshot, TOKEN, ask};
use fedweave_studio::{Part, Watching};

/// How often a part is asked.
const PAUSE: Duration = Duration::from_millis(250);
/// A part that answered before and has not for so long is shown as lost.
const SILENCE: Duration = Duration::from_millis(1500);

/// Tells the page how far the part in a folder is, until all is over.
pub fn follow(page: &Watching, name: &str, address: &str, folder: &Path, over: &AtomicBool) {
    let Ok(address) = address.parse::<SocketAddr>() else { return };
    let mut part = Part { name: name.to_owned(), state: "starting".into(), ..Part::default() };
    page.part(part.clone());
    let mut heard: Option<Instant> = None;
    while !over.load(Ordering::Relaxed) {
        // The part makes its token when it starts.
        let token = fs::read_to_string(folder.join("state").join(TOKEN)).unwrap_or_default();
        match ask(address, &token) {
            Ok(snapshot) => {
                part = part_of(name, &snapshot);
                heard = Some(Instant::now());
                page.part(part.clone());
            }
            // One that is done closes its door.
            Err(_) if part.state == "done" => {}
            Err(_) => {
                let silent = heard.map(|heard| heard.elapsed()).filter(|silent| *silent > SILENCE);
                if let Some(silent) = silent {
                    part.lost = Some(format!("no answer for {:.0} s", silent.as_secs_f64()));
                    page.part(part.clone());
                }
            }
        }
        std::thread::sleep(PAUSE);
    }
}

fn part_of(name: &str, snapshot: &Snapshot) -> Part {
    let Snapshot { state, round, residual, neighbours, .. } = snapshot;
    Part {
        name: name.to_owned(),
        // Between two frames of neighbours a part that is under way always waits.
        state: if state == "waiting" && *round > 0 { "in rounds".into() } else { state.clone() },
        round: *round,
        residual: *residual,
        sent: neighbours.iter().map(|neighbour| neighbour.sent.1).sum(),
        received: neighbours.iter().map(|neighbour| neighbour.received.1).sum(),
        up: neighbours.iter().filter(|neighbour| neighbour.up).count(),
        neighbours: neighbours.len(),
        lost: None,
    }
}
