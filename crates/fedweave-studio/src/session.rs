//! What the studio shows, the same in every tab: kept here and not in a page, so that it survives a reload.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fedweave_report::{Report, live};
use fedweave_run::fit::{FitResult, report_of};
use fedweave_run::preview::{Preview, picture};
use fedweave_run::request::again::{command, knows, python};
use fedweave_run::request::{Job, Settings, Value};
use fedweave_run::slide::Slider;
use fedweave_run::{Error, Result};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::sync::watch;

use crate::attack::Attacked;
use crate::job::Work;

/// The session, and how tabs learn that it changed.
pub struct Studio {
    session: Mutex<Session>,
    changed: watch::Sender<u64>,
    uploads: TempDir,
}

/// What is open, chosen, running and found.
#[derive(Default)]
pub struct Session {
    folder: PathBuf,
    table: Option<(PathBuf, Preview)>,
    pub settings: Settings,
    /// Why the choices cannot be carried out, if they cannot.
    pub problem: Option<String>,
    words: String,
    notices: Vec<String>,
    /// Drawn last: its number and the fragment of a page.
    picture: (u64, String),
    pub work: Option<Work>,
    pub fitted: Option<Fitted>,
    /// The attack on the models of these choices that was made last.
    pub attacked: Option<Attacked>,
}

/// A finished fit.
#[derive(Clone)]
pub struct Fitted {
    /// What it was asked for.
    pub settings: Settings,
    /// Shared, so that a slow solve does not keep the session.
    pub models: Arc<Mutex<Models>>,
    /// Where lambda may go.
    pub range: Option<(f64, f64)>,
    /// Why not, if nowhere.
    pub fixed_because: Option<&'static str>,
    /// Lambda now.
    pub lambda: f64,
    /// It was moved since the fit.
    pub moved: bool,
    /// The comparison of the same data, if there was one.
    pub comparison: Option<fedweave_report::Comparison>,
}

/// Models whose lambda may be moved, or not.
#[allow(clippy::large_enum_variant)] // there is one
pub enum Models {
    /// It may.
    Sliding(Slider),
    /// It may not.
    Still(FitResult),
}

impl Models {
    /// The fit as it is now.
    pub fn fit(&self) -> &FitResult {
        match self {
            Models::Sliding(slider) => slider.fit(),
            Models::Still(fit) => fit,
        }
    }
}

/// Files that a table or a graph may be in.
const ENDINGS: [&str; 9] = [".csv", ".tsv", ".gz", ".parquet", ".pq", ".graphml", ".gml", ".adj", ".txt"];

impl Studio {
    /// Opens a file, or a folder to choose from.
    pub fn new(path: &Path) -> io::Result<Studio> {
        let folder = match path.is_dir() {
            true => path.to_path_buf(),
            false => path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")).into(),
        };
        let session = Session { folder, ..Session::default() };
        let (changed, _) = watch::channel(0);
        let studio = Studio { session: Mutex::new(session), changed, uploads: TempDir::new()? };
        if !path.is_dir() {
            studio.open(path);
        }
        Ok(studio)
    }

    /// The session, for a moment.
    pub fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the session and tells every tab.
    pub fn change<T>(&self, change: impl FnOnce(&mut Session) -> T) -> T {
        let outcome = change(&mut self.session());
        self.changed.send_modify(|revision| *revision += 1);
        outcome
    }

    /// Wakes whenever something changed.
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Keeps a file that was dropped on the page; its name stays.
    pub fn keep(&self, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let name = Path::new(name).file_name().unwrap_or("table.csv".as_ref());
        let path = self.uploads.path().join(name);
        std::fs::write(&path, bytes)?;
        Ok(path)
    }

    /// A file of the folder by its name.
    pub fn file(&self, name: &str) -> PathBuf {
        self.session().folder.join(Path::new(name).file_name().unwrap_or_default())
    }

    /// Opens a table: looks at its columns and guesses which part each plays.
    pub fn open(&self, path: &Path) {
        let preview = Preview::of_file(path);
        self.change(|session| {
            (session.fitted, session.attacked) = (None, None);
            match preview {
                Ok(preview) => {
                    session.settings = preview.guess.clone();
                    session.table = Some((path.to_path_buf(), preview));
                    session.problem = None;
                    // What was drawn of another table is not shown beside this one.
                    (session.words, session.notices) = (String::new(), Vec::new());
                    session.show(String::new());
                }
                Err(error) => session.problem = Some(self.without_uploads(&error.to_string())),
            }
        });
        if self.session().problem.is_none() {
            self.draw();
        }
    }

    /// Takes other choices over.
    pub fn choose(&self, settings: Settings) {
        self.change(|session| {
            session.settings = settings;
            (session.fitted, session.attacked) = (None, None);
        });
        self.draw();
    }

    /// Draws the network of the choices.
    fn draw(&self) {
        let settings = self.session().settings.clone();
        let drawn = for_fit(&settings).and_then(|settings| picture(&settings)).and_then(|picture| {
            let page = live::network(&picture.report)?;
            Ok((picture, page))
        });
        self.change(|session| match drawn {
            Ok((picture, page)) => {
                session.problem = None;
                (session.words, session.notices) = (picture.words, picture.notices);
                session.show(page);
            }
            Err(error) => session.problem = Some(self.without_uploads(&error.to_string())),
        });
    }

    /// Draws the report of a fit, if it still stands.
    pub fn show_fit(&self) -> Result<()> {
        let Some(fitted) = self.session().fitted.clone() else { return Ok(()) };
        let page = live::body(&self.report(&fitted)?)?;
        self.change(|session| session.show(page));
        Ok(())
    }

    /// The report of a fit as it is now.
    pub fn report(&self, fitted: &Fitted) -> Result<Report> {
        let models = fitted.models.lock().unwrap_or_else(PoisonError::into_inner);
        let mut report = report_of(models.fit())?;
        report.command = self.command(Job::Fit, &fitted.again());
        report.comparison = fitted.comparison.clone();
        Ok(report)
    }

    fn command(&self, job: Job, settings: &Settings) -> String {
        command(job, &self.named(settings))
    }

    /// Files that were dropped on the page are where the user has them.
    fn named(&self, settings: &Settings) -> Settings {
        let mut named = settings.clone();
        for key in ["nodes", "edges"] {
            let inside =
                settings.path(key).and_then(|path| path.strip_prefix(self.uploads.path()).ok().map(PathBuf::from));
            if let Some(name) = inside {
                named.set(key, Value::Text(name.to_string_lossy().into_owned()));
            }
        }
        named
    }

    /// Words without the place where dropped files are kept.
    pub fn without_uploads(&self, words: &str) -> String {
        words.replace(&format!("{}{}", self.uploads.path().display(), std::path::MAIN_SEPARATOR), "")
    }

    /// All that a page needs to know.
    pub fn state(&self) -> Json {
        let session = self.session();
        let again = session.fitted.as_ref().map_or_else(|| session.settings.clone(), Fitted::again);
        let named = self.named(&again);
        json!({
            "files": files(&session.folder),
            "table": session.table.as_ref().map(|(path, preview)| json!({
                "name": path.file_name().unwrap_or_default().to_string_lossy(),
                "rows": preview.rows,
                "columns": preview.columns,
                "warnings": preview.warnings,
            })),
            "settings": session.settings,
            "edges": self.named(&session.settings).path("edges"),
            "problem": session.problem,
            "words": session.words,
            "notices": session.notices.iter().map(|notice| self.without_uploads(notice)).collect::<Vec<_>>(),
            "picture": session.picture.0,
            "work": session.work.as_ref().map(Work::state),
            "fitted": session.fitted.as_ref().map(|fitted| json!({
                "lambda": fitted.lambda,
                "range": fitted.range,
                "fixed": fitted.fixed_because,
                "moved": fitted.moved,
            })),
            "attacked": session.attacked.as_ref().map(|a| a.state(&self.command(Job::Attack, &a.settings))),
            "command": session.table.is_some().then(|| self.command(Job::Fit, &again)),
            "python": session.table.as_ref().map(|(_, preview)| python(&named, preview.dialect)),
        })
    }
}

impl Session {
    /// Shows a fragment of a page.
    pub fn show(&mut self, page: String) {
        self.picture = (self.picture.0 + 1, page);
    }

    /// The fragment drawn last.
    pub fn page(&self) -> String {
        self.picture.1.clone()
    }
}

impl Fitted {
    /// What to say to get these models again.
    pub fn again(&self) -> Settings {
        match self.moved {
            true => self.settings.clone().with("lambda", Value::Number(self.lambda)).without(&["validation"]),
            false => self.settings.clone(),
        }
    }
}

/// Choices for a comparison are not for a fit.
pub fn for_fit(settings: &Settings) -> Result<Settings> {
    for_job(settings, Job::Fit)
}

/// The choices that a job knows.
pub fn for_job(settings: &Settings, job: Job) -> Result<Settings> {
    if settings.path("nodes").is_none() {
        return Err(Error::request("open a table first"));
    }
    let strange: Vec<&str> = settings.names().filter(|name| !knows(job, name)).collect();
    Ok(settings.clone().without(&strange))
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().filter(|entry| entry.path().is_file());
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| ENDINGS.iter().any(|end| name.ends_with(end))).collect();
    names.sort();
    names.truncate(500);
    names
}
