//! The page of trust: what was measured about a run for each of the seven key requirements, how to measure it again, what was not
//! measured, and what a person has to answer.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment};
use serde::Serialize;

use crate::ReportError;
use crate::page::STYLE;

/// Everything on the page.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TrustPage {
    /// What was fitted.
    pub title: String,
    /// The program.
    pub version: String,
    /// The run directory.
    pub run: String,
    /// The command that made this page.
    pub command: String,
    /// In a few sentences: what was fitted, from what.
    pub about: Vec<String>,
    /// The seven key requirements.
    pub requirements: Vec<Requirement>,
    /// Headings of technical documentation, and where they are answered.
    pub annex: Vec<Heading>,
}

/// A key requirement.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Requirement {
    /// `KR1` to `KR7`.
    pub code: String,
    /// Its name.
    pub name: String,
    /// Items of the Assessment List.
    pub items: Vec<Item>,
}

/// An item of the Assessment List.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Item {
    /// `2.3`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Evidence.
    pub measures: Vec<Measure>,
    /// What could be measured and was not.
    pub missing: Vec<Missing>,
    /// What no program can answer.
    pub questions: Vec<String>,
}

/// A measured number.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Measure {
    /// What was measured.
    pub name: String,
    /// The number.
    pub value: f64,
    /// The number with its unit.
    pub shown: String,
    /// What it means.
    pub words: String,
    /// The command that measures it again.
    pub command: String,
    /// Parts of it.
    pub parts: Vec<Part>,
}

/// A part of a measure, drawn as a point with an interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Part {
    /// Whose.
    pub name: String,
    /// The number.
    pub value: f64,
    /// Its interval.
    pub interval: Option<[f64; 2]>,
    /// The number in words.
    pub shown: String,
}

/// What was not measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Missing {
    /// What.
    pub what: String,
    /// Why not.
    pub why: String,
    /// The command that would.
    pub command: String,
}

/// A heading of technical documentation.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Heading {
    /// Its number.
    pub number: String,
    /// In short.
    pub name: String,
    /// Items of this page with evidence for it.
    pub items: Vec<String>,
    /// What has to be written by a person.
    pub person: String,
}

impl TrustPage {
    /// Items with at least one measured number, and all items.
    pub fn coverage(&self) -> (usize, usize) {
        let items = || self.requirements.iter().flat_map(|requirement| &requirement.items);
        (items().filter(|item| !item.measures.is_empty()).count(), items().count())
    }

    fn count(&self, of: impl Fn(&Item) -> usize) -> usize {
        self.requirements.iter().flat_map(|requirement| &requirement.items).map(of).sum()
    }
}

/// What the template places.
#[derive(Serialize)]
struct View<'a> {
    page: &'a TrustPage,
    facts: [(String, String, String); 4],
    charts: Vec<Vec<Vec<Option<Chart>>>>,
    data: String,
    style: String,
    script: &'static str,
}

/// Where parts of a measure are drawn, in per cent of the width.
#[derive(Serialize)]
struct Chart {
    rows: Vec<Whisker>,
    low: String,
    high: String,
}

#[derive(Serialize)]
struct Whisker {
    name: String,
    shown: String,
    at: f64,
    from: f64,
    width: f64,
}

/// Writes the page.
pub fn render_trust(page: &TrustPage) -> Result<String, ReportError> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    let template = concat!(
        include_str!("template/head.html"),
        include_str!("template/trust.html"),
        include_str!("template/foot.html")
    );
    environment.add_template("trust.html", template)?;
    Ok(environment.get_template("trust.html")?.render(Serde(view(page)?))?)
}

/// `head.html` and `foot.html` want these at the top.
#[derive(Serialize)]
struct Top<'a> {
    title: String,
    version: &'a str,
    #[serde(flatten)]
    view: View<'a>,
}

fn view(page: &TrustPage) -> Result<Top<'_>, ReportError> {
    let (measured, items) = page.coverage();
    let (numbers, missing) = (page.count(|item| item.measures.len()), page.count(|item| item.missing.len()));
    let questions = page.count(|item| item.questions.len());
    let share = if items == 0 { 0.0 } else { 100.0 * measured as f64 / items as f64 };
    let fact = |label: &str, value: String, note: &str| (label.to_owned(), value, note.to_owned());
    let facts = [
        fact(
            "Items with a measured number",
            format!("{measured} of {items}"),
            &format!("{share:.0} % of the Assessment List"),
        ),
        fact("Numbers", numbers.to_string(), "each with the command that measures it again"),
        fact("Not measured", missing.to_string(), "with the reason, and what would measure it"),
        fact("For a person", questions.to_string(), "no program can answer these"),
    ];
    let of_item = |item: &Item| item.measures.iter().map(|measure| chart(&measure.parts)).collect();
    let charts = page.requirements.iter().map(|requirement| requirement.items.iter().map(of_item).collect()).collect();
    // `</script>` must not end the data.
    let data = serde_json::to_string(page)?.replace('<', "\\u003c");
    let style = format!("{STYLE}{}", include_str!("template/trust.css"));
    let script = include_str!("template/trust.js");
    let view = View { page, facts, charts, data, style, script };
    Ok(Top { title: format!("Trust: {}", page.title), version: &page.version, view })
}

fn chart(parts: &[Part]) -> Option<Chart> {
    let ends = |part: &Part| part.interval.unwrap_or([part.value, part.value]);
    let known = || parts.iter().filter(|part| part.value.is_finite());
    let low = known().map(|part| ends(part)[0].min(0.0)).fold(0.0, f64::min);
    let high = known().map(|part| ends(part)[1].max(0.0)).fold(0.0, f64::max);
    let span = high - low;
    if span <= 0.0 || !span.is_finite() {
        return None;
    }
    let place = |x: f64| (100.0 * (x - low) / span).clamp(0.0, 100.0);
    let rows = known().map(|part| {
        let [from, to] = ends(part).map(place);
        Whisker { name: part.name.clone(), shown: part.shown.clone(), at: place(part.value), from, width: to - from }
    });
    Some(Chart { rows: rows.collect(), low: crate::number::short(low), high: crate::number::short(high) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_everything_and_believes_nothing() {
        let part = |name: &str, value, interval| Part { name: name.into(), value, interval, shown: "x".into() };
        let measure = Measure {
            name: "error".into(),
            value: 2.0,
            shown: "2.00".into(),
            command: "fedweave fairness 'a <b>'".into(),
            parts: vec![part("<script>alert(1)</script>", 2.0, Some([1.0, 4.0])), part("f", -1.0, None)],
            ..Measure::default()
        };
        let missing = Missing { what: "noise".into(), why: "none was asked for".into(), ..Missing::default() };
        let with = Item { id: "1.1".into(), measures: vec![measure], ..Item::default() };
        let without =
            Item { id: "1.2".into(), missing: vec![missing], questions: vec!["Who?".into()], ..Item::default() };
        let requirement = Requirement { code: "KR1".into(), name: "Agency".into(), items: vec![with, without] };
        let page = TrustPage { title: "</script><b>".into(), requirements: vec![requirement], ..TrustPage::default() };
        assert_eq!(page.coverage(), (1, 2));
        let html = render_trust(&page).unwrap();
        assert!(html.starts_with("<!doctype html>") && html.contains("1 of 2") && html.contains("none was asked for"));
        assert!(!html.contains("<script>alert") && !html.contains("</script><b>"));
        let drawn = chart(&page.requirements[0].items[0].measures[0].parts).unwrap();
        // From -1 to 4: a value of 2 stands at three fifths.
        assert!((drawn.rows[0].at - 60.0).abs() < 1e-9 && (drawn.rows[0].width - 60.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_to_draw_is_not_drawn() {
        assert!(chart(&[]).is_none());
        let zero = Part { value: 0.0, ..Part::default() };
        assert!(chart(&[zero.clone(), zero]).is_none());
    }
}
