//! The book has all its pages, and links lead to pages and headings that are there.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::nothing_wrong;
use crate::page::{self, Page};

/// Pages for those who work on belljar, or with one of its libraries.
const OTHERS: [&str; 6] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "sdk/python/README.md",
    "sdk/typescript/README.md",
];

#[test]
fn every_page_is_in_the_summary() {
    let summary = Page::named("docs/SUMMARY.md");
    let listed: BTreeSet<String> = links(&summary).map(|target| format!("docs/{target}")).collect();
    let there: BTreeSet<String> =
        page::all().into_iter().map(|page| page.name).filter(|name| name.starts_with("docs/")).collect();
    let there: BTreeSet<String> = there.into_iter().filter(|name| name != "docs/SUMMARY.md").collect();
    assert_eq!(listed, there);
}

#[test]
fn links_lead_somewhere() {
    let pages: Vec<Page> = page::all().into_iter().chain(OTHERS.map(Page::named)).collect();
    let mut wrong = Vec::new();
    for page in &pages {
        for target in links(page).filter(|target| !target.contains("://")) {
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let folder = Path::new(&page.name).parent().unwrap_or(Path::new(""));
            let file = if path.is_empty() { PathBuf::from(&page.name) } else { plain(&folder.join(path)) };
            // The book is all that its readers have.
            if page.name.starts_with("docs/") && !file.starts_with("docs") {
                wrong.push(format!("{}: `{target}` leads out of the book", page.name));
            }
            if !page::repository().join(&file).is_file() {
                wrong.push(format!("{}: `{target}` leads nowhere", page.name));
                continue;
            }
            let known = pages.iter().find(|page| Path::new(&page.name) == file);
            if !anchor.is_empty() && !known.is_some_and(|page| anchors(page).contains(anchor)) {
                wrong.push(format!("{}: there is no heading for `{target}`", page.name));
            }
        }
    }
    nothing_wrong(&wrong);
}

/// Targets of links and pictures.
fn links(page: &Page) -> impl Iterator<Item = String> {
    let prose = page.prose().map(|line| line.split('`').step_by(2).collect::<Vec<_>>().join("`"));
    prose.flat_map(|line| {
        let markdown = line.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
        let html = line.split("src=\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()));
        markdown.chain(html).collect::<Vec<_>>()
    })
}

/// What headings are called in addresses, as forges and mdBook have it.
fn anchors(page: &Page) -> BTreeSet<String> {
    let headings = page.prose().filter_map(|line| line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' '));
    let letters = |heading: &str| {
        let kept =
            heading.to_lowercase().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>();
        kept.replace(' ', "-")
    };
    headings.map(letters).collect()
}

/// The same path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => plain.push(component),
        }
    }
    plain
}
