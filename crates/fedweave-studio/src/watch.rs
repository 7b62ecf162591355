//! A running job in the browser: the page of `--watch`. It shows and cannot change anything.

mod board;
mod part;

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::Html;
use axum::routing::get;
use axum::{Router, middleware};
use fedweave::solve::{Record, Watch};
use fedweave_report::{Report, live};
use fedweave_run::{Observer, Stage};
use tokio::net::TcpListener;

use crate::events;
use crate::guard::{Guard, guard};
use crate::progress::Gauge;
use crate::routes::{STYLE, report_script};
use board::Board;
pub use part::Part;

const PAGE: &str = include_str!("page/watch.html");
const SCRIPT: &str = include_str!("page/watch.js");
/// How long open tabs may take to fetch the end of a run.
const FAREWELL: Duration = Duration::from_secs(3);
/// How long a run that was over at once waits for a tab that is about to open.
const OPENING: Duration = Duration::from_millis(300);
const LOOK: Duration = Duration::from_millis(20);

/// A page that shows a job while it runs, served by a thread of its own.
pub struct Watching {
    board: Arc<Board>,
    address: String,
}

impl Watching {
    /// Serves the page of a command at a free port of this machine.
    pub fn open(command: &str) -> io::Result<Watching> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let keeper = Guard::new(listener.local_addr()?.port());
        let (board, address) = (Arc::new(Board::new(command)), keeper.address());
        let app = routes(board.clone(), keeper);
        let serve = move || runtime.block_on(async { axum::serve(listener, app).await });
        std::thread::Builder::new().name("watch".into()).spawn(serve)?;
        Ok(Watching { board, address })
    }

    /// The address to open; it holds a secret.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// An observer that also tells the page.
    pub fn beside<'a>(&'a self, other: &'a dyn Observer) -> Watched<'a> {
        Watched { board: &self.board, other, gauge: Gauge::new() }
    }

    /// Where a process of a federation stands.
    pub fn part(&self, part: Part) {
        self.board.part(part);
    }

    /// A process of a federation is gone.
    pub fn lose(&self, name: &str, why: &str) {
        self.board.lose(name, why);
    }

    /// A result on the way, in words.
    pub fn note(&self, line: &str) {
        self.board.note(line);
    }

    /// The job is over; the report takes the place of what was shown.
    pub fn end(&self, good: bool, words: &str, report: Option<&Report>) {
        self.board.end(good, words, report);
    }

    /// Waits until no tab looks any more, which is when all have what they show from now on; or, if the page is to stay, until
    /// somebody has had enough.
    pub fn farewell(&self, stay: bool, enough: &dyn Fn() -> bool) {
        let began = Instant::now();
        let open = || match stay {
            true => !enough(),
            false if self.board.was_visited() => self.board.tabs() > 0 && began.elapsed() < FAREWELL,
            false => began.elapsed() < OPENING,
        };
        while open() {
            std::thread::sleep(LOOK);
        }
    }
}

type Shared = State<Arc<Board>>;

fn routes(board: Arc<Board>, keeper: Guard) -> Router {
    Router::new()
        .route("/", get(|| async { Html(PAGE) }))
        .route("/studio.css", get(|| async { ([(CONTENT_TYPE, "text/css")], STYLE) }))
        .route("/report.css", get(|| async { ([(CONTENT_TYPE, "text/css")], live::STYLE) }))
        .route("/watch.js", get(|| async { ([(CONTENT_TYPE, "text/javascript")], SCRIPT) }))
        .route("/report.js", get(report_script))
        .route("/state", get(|State(board): Shared| async move { axum::Json(board.state()) }))
        .route("/picture", get(|State(board): Shared| async move { Html(board.picture()) }))
        .route(
            "/events",
            get(|State(board): Shared| async move {
                let look = board.look();
                events::stream(board.listen(), move || look.state())
            }),
        )
        .fallback(|| async { (StatusCode::NOT_FOUND, "there is nothing here") })
        .layer(middleware::from_fn_with_state(keeper, guard))
        .with_state(board)
}

/// Tells the page, and somebody else who decides.
pub struct Watched<'a> {
    board: &'a Board,
    other: &'a dyn Observer,
    gauge: Gauge,
}

impl Observer for Watched<'_> {
    fn begin(&self, stage: Stage) {
        self.other.begin(stage.clone());
        self.gauge.begin(stage, |progress| self.board.tell(progress));
    }

    fn see(&self, record: &Record) -> Watch {
        self.gauge.see(record, |progress| self.board.tell(progress));
        self.other.see(record)
    }

    fn advance(&self, what: &str, done: usize, total: usize) {
        self.gauge.advance(what, done, total, |progress| self.board.tell(progress));
        self.other.advance(what, done, total);
    }

    fn interrupted(&self) -> bool {
        self.other.interrupted()
    }

    fn seconds(&self) -> f64 {
        self.other.seconds()
    }
}
