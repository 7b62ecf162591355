//! Who watches a job: a terminal, and a page in the browser if one was asked for.

#[cfg(feature = "studio")]
use std::io::IsTerminal;

use anyhow::Result;
use fedweave_report::Report;
use fedweave_run::Observer;
#[cfg(feature = "studio")]
use fedweave_studio::Watching;

use crate::Exit;
#[cfg(feature = "studio")]
use crate::command;
use crate::progress::Terminal;
#[cfg(feature = "studio")]
use crate::progress::interrupted;
use crate::told;

/// Watches one job.
pub struct Watcher {
    terminal: Terminal,
    #[cfg(feature = "studio")]
    page: Option<Watching>,
}

impl Watcher {
    /// The address of the page goes to standard error: what is printed is the result.
    pub fn new(page: bool) -> Result<Watcher> {
        #[cfg(feature = "studio")]
        let page = page.then(|| Watching::open(&command())).transpose()?;
        #[cfg(feature = "studio")]
        if let Some(page) = &page {
            eprintln!("watch {}", page.address());
        }
        #[cfg(not(feature = "studio"))]
        anyhow::ensure!(!page, "--watch: this program was built without the feature `studio`");
        let terminal = Terminal::new();
        #[cfg(feature = "studio")]
        return Ok(Watcher { terminal, page });
        #[cfg(not(feature = "studio"))]
        Ok(Watcher { terminal })
    }

    /// The page, if there is one.
    #[cfg(feature = "studio")]
    pub fn page(&self) -> Option<&Watching> {
        self.page.as_ref()
    }

    /// Does the job; nothing is left on the terminal.
    pub fn watch<T, E>(&self, job: impl FnOnce(&dyn Observer) -> Result<T, E>) -> Result<T>
    where
        anyhow::Error: From<E>,
    {
        #[cfg(feature = "studio")]
        let outcome = match &self.page {
            Some(page) => job(&page.beside(&self.terminal)),
            None => job(&self.terminal),
        };
        #[cfg(not(feature = "studio"))]
        let outcome = job(&self.terminal);
        self.terminal.finish();
        let outcome = outcome.map_err(anyhow::Error::from);
        if let Err(error) = &outcome {
            self.fail(error);
        }
        outcome
    }

    /// The page says why there is no result.
    pub fn fail(&self, error: &anyhow::Error) {
        self.end(false, &told(error), None);
    }

    /// The page shows the result; on a terminal it stays until Ctrl-C, elsewhere until open tabs have it.
    pub fn show(&self, exit: Exit, report: impl FnOnce() -> fedweave_run::Result<Report>) {
        #[cfg(feature = "studio")]
        if self.page.is_some() {
            let words = match exit {
                Exit::Done => "Done",
                Exit::Unfinished => "Stopped before the tolerance",
                Exit::Interrupted => "Interrupted",
                #[cfg(feature = "federation")]
                Exit::Without => "Done, but not with all neighbours",
                #[cfg(feature = "federation")]
                Exit::PeerEnded => "Ended, because a neighbour had",
                Exit::Failure => "Failed",
            };
            self.end(exit == Exit::Done, words, report().ok().as_ref());
        }
        #[cfg(not(feature = "studio"))]
        let _ = (exit, report);
    }

    #[cfg(feature = "studio")]
    fn end(&self, good: bool, words: &str, report: Option<&Report>) {
        let Some(page) = &self.page else { return };
        page.end(good, words, report);
        let stay = std::io::stderr().is_terminal() && !interrupted();
        if stay {
            eprintln!("the page stays at {} until Ctrl-C", page.address());
        }
        page.farewell(stay, &interrupted);
    }

    #[cfg(not(feature = "studio"))]
    fn end(&self, _: bool, _: &str, _: Option<&Report>) {}
}
