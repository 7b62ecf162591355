//! Links between pages, and the contents of the site.

use std::path::{Component, Path, PathBuf};

use crate::{pages, root};

/// Where `scripts/site` puts the reference of the Rust crates: not a file of the repository.
const MADE_BY_SITE: &str = "docs/rust/";

#[test]
fn every_link_leads_to_a_file() {
    let mut wrong = Vec::new();
    for page in pages() {
        let text = std::fs::read_to_string(root().join(&page)).unwrap();
        for link in links(&text) {
            let target = link.split('#').next().unwrap();
            let path = plain(&Path::new(&page).parent().unwrap().join(target));
            let outside = link.contains("://") || target.is_empty() || path.starts_with(MADE_BY_SITE);
            if !outside && !root().join(&path).exists() {
                wrong.push(format!("{page}: {link}"));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
}

#[test]
fn every_page_is_in_the_contents_of_the_site() {
    let contents = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let listed: Vec<PathBuf> = links(&contents).iter().map(|link| Path::new("docs").join(link)).collect();
    let in_docs = pages().into_iter().filter(|page| page.starts_with("docs/") && page != "docs/SUMMARY.md");
    let missing: Vec<String> = in_docs.filter(|page| !listed.contains(&PathBuf::from(page))).collect();
    assert!(missing.is_empty(), "add to docs/SUMMARY.md: {missing:?}");
}

/// What stands in the brackets of `[text](link)`, outside code.
fn links(text: &str) -> Vec<String> {
    let prose: Vec<&str> = text.split("```").step_by(2).collect();
    let mut found = Vec::new();
    for part in prose.iter().flat_map(|part| part.split("](").skip(1)) {
        let link = part.split(')').next().unwrap_or("");
        if !link.contains(char::is_whitespace) {
            found.push(link.to_owned());
        }
    }
    found
}

/// A path without `..` in it.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}
