//! What somebody said, by key: read from flags, a config file or Python, and written back as a config file.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde::{Deserialize, de};

use super::keys::{GROUPS, Job, Key, Kind, find};
use crate::error::{Error, Result, refuse};

/// A value, of the kind its key asks for.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Value {
    /// Given.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// A word, a file, or `auto`.
    Text(String),
    /// Several numbers.
    Numbers(Vec<f64>),
    /// Several words.
    Texts(Vec<String>),
}

impl Value {
    /// Reads one word of a command line, or several for keys that take several.
    pub fn parse(kind: Kind, words: &[&str]) -> Result<Value, String> {
        let word = words.first().copied().unwrap_or_default();
        let number = |word: &str| word.parse().map_err(|_| format!("`{word}` is not a number"));
        let count = |word: &str| word.parse().map_err(|_| format!("`{word}` is not a whole number of at least 0"));
        Ok(match kind {
            Kind::Flag => Value::Flag(true),
            Kind::NumberOr(otherwise) if words.is_empty() => Value::Number(otherwise),
            Kind::Number | Kind::NumberOr(_) => Value::Number(number(word)?),
            Kind::NumberOrAuto if word == "auto" => Value::Text(word.into()),
            Kind::NumberOrAuto => {
                Value::Number(word.parse().map_err(|_| format!("`{word}` is neither a number nor `auto`"))?)
            }
            Kind::Count => Value::Count(count(word)?),
            Kind::CountOrFile => word.parse().map_or_else(|_| Value::Text(word.into()), Value::Count),
            Kind::Text | Kind::Path => Value::Text(word.into()),
            Kind::Numbers => Value::Numbers(words.iter().map(|word| number(word)).collect::<Result<_, _>>()?),
            Kind::Texts | Kind::Paths | Kind::Repeated => Value::Texts(words.iter().map(ToString::to_string).collect()),
        })
    }
}

/// What was said, by key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    values: BTreeMap<&'static str, Value>,
}

/// Keys that say where results go, which is up to the next run.
const NOT_REPEATED: [&str; 7] = ["out", "overwrite", "json", "verbose", "watch", "resume", "warm"];

impl Settings {
    /// Says something; a later word replaces an earlier one.
    ///
    /// # Panics
    /// If there is no such key: faces take their keys from the table.
    pub fn set(&mut self, name: &str, value: Value) {
        let key = find(name).unwrap_or_else(|| panic!("there is no key `{name}`"));
        self.values.insert(key.name, value);
    }

    /// The same, as a new value: `Settings::default().with("lambda", Value::Number(0.1))`.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.set(name, value);
        self
    }

    /// Forgets what was said.
    #[must_use]
    pub fn without(mut self, names: &[&str]) -> Self {
        self.values.retain(|name, _| !names.contains(name));
        self
    }

    /// These settings, where `over` says nothing else.
    #[must_use]
    pub fn under(mut self, over: Settings) -> Settings {
        self.values.extend(over.values);
        self
    }

    /// True if the key was said.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// All keys that were said.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.values.keys().copied()
    }

    /// What was said about a key.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// A file or folder that was named.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        match self.values.get(name) {
            Some(Value::Text(text)) => Some(text.into()),
            _ => None,
        }
    }

    /// Refuses keys of other jobs.
    pub fn check_job(&self, job: Job) -> Result<()> {
        let foreign = self.values.keys().filter_map(|name| find(name)).find(|key| !key.is_for(job));
        foreign.map_or(Ok(()), |key| Err(Error::Request(not_of_job(key, job))))
    }

    /// The settings as a config file, without where results go.
    pub fn to_toml(&self) -> String {
        let again = self.clone().without(&NOT_REPEATED);
        toml::to_string(&again).expect("settings are a flat table of plain values")
    }

    /// Reads a config file. Errors name the line and what is wrong there.
    pub fn read(path: &Path) -> Result<Settings> {
        let shown = path.display();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => refuse!("{shown}: cannot be read: {error}"),
        };
        toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| 1 + text.bytes().take(span.start).filter(|b| *b == b'\n').count());
            let what = error.message().lines().next().unwrap_or_default();
            Error::Request(format!(
                "{shown}:{line}: {what}; keys are the long flags of `fedweave fit --help` without the dashes"
            ))
        })
    }

    /// To be read key by key.
    pub fn reader(&self) -> Reader<'_> {
        Reader { settings: self, read: RefCell::default() }
    }
}

/// Why a job refuses a key.
pub fn not_of_job(key: &Key, job: Job) -> String {
    let why = match job {
        Job::Ask => ", which needs no graph and has models of one kind: leave it out",
        Job::Compare => ", which has one loss for all nodes and trains every model anew",
        Job::Up => ", whose parts work together, with all rows",
        Job::Fit | Job::Path | Job::Attack if ["train", "test"].contains(&key.name) => "; use --validation",
        Job::Fit | Job::Path | Job::Learn | Job::Attack => "",
    };
    format!("--{} belongs to {}, not to `fedweave {}`{why}", key.name, key.jobs(), job.name())
}

/// Reads settings and remembers which were read: what nobody read has no effect, and is refused.
pub struct Reader<'a> {
    settings: &'a Settings,
    read: RefCell<BTreeSet<&'static str>>,
}

impl Reader<'_> {
    fn get(&self, name: &'static str) -> Option<&Value> {
        debug_assert!(find(name).is_some(), "there is no key `{name}`");
        self.read.borrow_mut().insert(name);
        self.settings.values.get(name)
    }

    /// True if the key was said; it counts as read.
    pub fn has(&self, name: &'static str) -> bool {
        self.get(name).is_some()
    }

    /// Was it said?
    pub fn flag(&self, name: &'static str) -> bool {
        matches!(self.get(name), Some(Value::Flag(true)))
    }

    /// A number.
    pub fn number(&self, name: &'static str) -> Option<f64> {
        match self.get(name)? {
            Value::Number(number) => Some(*number),
            Value::Count(count) => Some(*count as f64),
            _ => None,
        }
    }

    /// A number, at least `least` and finite.
    pub fn number_from(&self, name: &'static str, least: f64) -> Result<Option<f64>> {
        self.number(name).map(|value| at_least(name, value, least)).transpose()
    }

    /// A number above zero and finite.
    pub fn positive(&self, name: &'static str) -> Result<Option<f64>> {
        match self.number(name) {
            Some(value) if !(value > 0.0 && value.is_finite()) => refuse!("--{name} {value}: must be positive"),
            value => Ok(value),
        }
    }

    /// A whole number.
    pub fn count(&self, name: &'static str) -> Option<usize> {
        match self.get(name)? {
            Value::Count(count) => Some(usize::try_from(*count).unwrap_or(usize::MAX)),
            _ => None,
        }
    }

    /// A word.
    pub fn text(&self, name: &'static str) -> Option<&str> {
        match self.get(name)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A word of one's own.
    pub fn string(&self, name: &'static str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    /// A file or folder.
    pub fn path(&self, name: &'static str) -> Option<PathBuf> {
        self.text(name).map(PathBuf::from)
    }

    /// Words.
    pub fn texts(&self, name: &'static str) -> Option<Vec<String>> {
        match self.get(name)? {
            Value::Texts(texts) => Some(texts.clone()),
            _ => None,
        }
    }

    /// Numbers, at least one, each at least `least` and finite.
    pub fn numbers_from(&self, name: &'static str, least: f64) -> Result<Option<Vec<f64>>> {
        let numbers = self.numbers(name);
        if numbers.as_ref().is_some_and(Vec::is_empty) {
            refuse!("--{name} needs at least one number");
        }
        numbers.iter().flatten().try_for_each(|value| at_least(name, *value, least).map(drop))?;
        Ok(numbers)
    }

    /// Numbers.
    pub fn numbers(&self, name: &'static str) -> Option<Vec<f64>> {
        match self.get(name)? {
            Value::Numbers(numbers) => Some(numbers.clone()),
            _ => None,
        }
    }

    /// The value a word stands for; the first one if nothing was said.
    pub fn choice<T: Copy>(&self, name: &'static str, known: &[(&str, T)]) -> Result<T> {
        choice(&format!("--{name}"), self.text(name), known)
    }

    /// Refuses what was said and never read.
    pub fn finish(&self, why: impl Fn(&Key) -> String) -> Result<()> {
        let read = self.read.borrow();
        let unread = self.settings.values.keys().find(|name| !read.contains(*name));
        match unread.and_then(|name| find(name)) {
            Some(key) => refuse!("--{} {}", key.name, why(key)),
            None => Ok(()),
        }
    }
}

/// A number that is at least `least` and finite.
pub fn at_least(name: &str, value: f64, least: f64) -> Result<f64> {
    match value >= least && value.is_finite() {
        true => Ok(value),
        false => refuse!("--{name} {value}: must be a finite number, at least {least}"),
    }
}

/// The value a word stands for; the first one if there is no word.
pub fn choice<T: Copy>(what: &str, word: Option<&str>, known: &[(&str, T)]) -> Result<T> {
    let Some(word) = word else { return Ok(known[0].1) };
    let names = || known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" or ");
    let found = known.iter().find(|(name, _)| *name == word);
    found.map(|(_, value)| *value).ok_or_else(|| Error::Request(format!("{what} {word}: unknown; use {}", names())))
}

impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.values.len()))?;
        for key in GROUPS.iter().flat_map(|(_, keys)| keys.iter()) {
            if let Some(value) = self.values.get(key.name) {
                map.serialize_entry(key.name, value)?;
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Keys)
    }
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Settings;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a table of settings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Settings, A::Error> {
        let mut settings = Settings::default();
        while let Some(name) = map.next_key::<Name>()? {
            let value = map.next_value_seed(OfKey(name.0))?;
            // `standardize = false` is what it is without the line.
            if value != Value::Flag(false) {
                settings.values.insert(name.0.name, value);
            }
        }
        Ok(settings)
    }
}

/// The name of a key.
struct Name(&'static Key);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        find(&name).map(Name).ok_or_else(|| D::Error::custom(format!("unknown field `{name}`")))
    }
}

/// The value of a key.
struct OfKey(&'static Key);

impl<'de> DeserializeSeed<'de> for OfKey {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let value = Loose::deserialize(deserializer).map_err(|_| self.wrong::<D::Error>())?;
        self.fitting(value).ok_or_else(|| self.wrong())
    }
}

impl OfKey {
    /// The value as its key wants it.
    fn fitting(&self, value: Loose) -> Option<Value> {
        use Loose as L;
        let count = |n: i64| u64::try_from(n).ok();
        Some(match (self.0.kind, value) {
            (Kind::Flag, L::Flag(flag)) => Value::Flag(flag),
            (Kind::Number | Kind::NumberOr(_) | Kind::NumberOrAuto, L::Whole(n)) => Value::Number(n as f64),
            (Kind::Number | Kind::NumberOr(_) | Kind::NumberOrAuto, L::Number(x)) => Value::Number(x),
            (Kind::NumberOrAuto, L::Text(word)) if word == "auto" => Value::Text(word),
            (Kind::Count | Kind::CountOrFile, L::Whole(n)) => Value::Count(count(n)?),
            (Kind::CountOrFile | Kind::Text | Kind::Path, L::Text(text)) => Value::Text(text),
            (Kind::Numbers, L::Whole(n)) => Value::Numbers(vec![n as f64]),
            (Kind::Numbers, L::Number(x)) => Value::Numbers(vec![x]),
            (Kind::Numbers, L::Numbers(list)) => Value::Numbers(list),
            (Kind::Texts | Kind::Paths | Kind::Repeated, L::Texts(list)) => Value::Texts(list),
            // An empty list is a list of anything.
            (Kind::Texts | Kind::Paths | Kind::Repeated, L::Numbers(list)) if list.is_empty() => {
                Value::Texts(Vec::new())
            }
            _ => return None,
        })
    }

    fn wrong<E: de::Error>(&self) -> E {
        let expected = match self.0.kind {
            Kind::Flag => "true or false",
            Kind::Number | Kind::NumberOr(_) => "a number",
            Kind::NumberOrAuto => "a number or \"auto\"",
            Kind::Count => "a whole number of at least 0",
            Kind::CountOrFile => "a number or a file name",
            Kind::Text | Kind::Path => "a text in quotes",
            Kind::Numbers => "a number or a list of numbers",
            Kind::Texts | Kind::Paths | Kind::Repeated => "a list of texts",
        };
        E::custom(format!("`{}`: expected {expected}", self.0.name))
    }
}

/// What may stand in a file, before its key is considered.
#[derive(Deserialize)]
#[serde(untagged)]
enum Loose {
    Flag(bool),
    Whole(i64),
    Number(f64),
    Text(String),
    Numbers(Vec<f64>),
    Texts(Vec<String>),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said() -> Settings {
        let text =
            "nodes = \"a.csv\"\nridge = 1\nlambda = \"auto\"\nfeatures = [\"x\", \"y\"]\nstandardize = true\nknn = 3";
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_config_file_reads_back_as_itself() {
        assert_eq!(toml::from_str::<Settings>(&said().to_toml()).unwrap(), said());
    }

    #[test]
    fn what_nobody_reads_is_refused() {
        let settings = said();
        let reader = settings.reader();
        assert_eq!((reader.count("knn"), reader.flag("standardize")), (Some(3), true));
        assert_eq!(reader.numbers("ridge"), Some(vec![1.0]));
        for name in ["nodes", "lambda"] {
            assert!(reader.has(name));
        }
        let refused = reader.finish(|_| "means nothing here".into()).unwrap_err();
        assert_eq!(refused.to_string(), "--features means nothing here");
    }

    #[test]
    fn values_of_another_kind_are_refused_with_what_is_expected() {
        for (text, words) in [
            ("knn = 2.5", "`knn`: expected a whole number"),
            ("lambda = \"many\"", "a number or \"auto\""),
            ("strict = 1", "true or false"),
            ("penguin = 1", "unknown field `penguin`"),
        ] {
            let error = toml::from_str::<Settings>(text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn names_are_unique_and_every_key_has_a_job() {
        let all: Vec<&Key> = GROUPS.iter().flat_map(|(_, keys)| keys.iter()).collect();
        for (place, key) in all.iter().enumerate() {
            assert!(all[..place].iter().all(|other| other.name != key.name), "{} is there twice", key.name);
            assert!(Job::ALL.iter().any(|job| key.is_for(*job)), "{} is for nobody", key.name);
        }
    }
}
