//! The page of `--watch`: who solves what at the moment, how far our solver is, and the results so far.

use std::io::IsTerminal;

use anyhow::Result;
use fedweave_run::{Observer, Unwatched};
use fedweave_studio::{Watched, Watching};

/// A page in the browser, or none.
pub struct Page(Option<Watching>);

/// Told of every step of a benchmark: a terminal, and the page if there is one.
pub struct Audience<'a> {
    page: Option<&'a Watching>,
    watched: Option<Watched<'a>>,
}

impl Page {
    /// Its address goes to standard error: what is printed is the result.
    pub fn open(wanted: bool) -> Result<Page> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let page = wanted.then(|| Watching::open(&format!("fedweave-bench {}", words.join(" ")))).transpose()?;
        page.iter().for_each(|page| eprintln!("watch {}", page.address()));
        Ok(Page(page))
    }

    /// Whom to tell.
    pub fn audience(&self) -> Audience<'_> {
        let page = self.0.as_ref();
        Audience { page, watched: page.map(|page| page.beside(&Unwatched)) }
    }

    /// It is over: on a terminal the page stays until Ctrl-C, elsewhere until open tabs have the end.
    pub fn end(&self, good: bool, words: &str) {
        let Some(page) = &self.0 else { return };
        page.end(good, words, None);
        let stay = std::io::stderr().is_terminal();
        if stay {
            eprintln!("the page stays at {} until Ctrl-C", page.address());
        }
        page.farewell(stay, &|| false);
    }
}

impl Audience<'_> {
    /// Who looks at the solver.
    pub fn observer(&self) -> &dyn Observer {
        match &self.watched {
            Some(watched) => watched,
            None => &Unwatched,
        }
    }

    /// A result.
    pub fn tell(&self, line: &str) {
        eprintln!("{line}");
        self.page.iter().for_each(|page| page.note(line));
    }
}
