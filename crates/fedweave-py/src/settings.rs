//! What Python says, by key: the same table of keys as that of the command line.

use fedweave_run::request::keys::{Key, Kind, find};
use fedweave_run::request::{Settings, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

use crate::errors::plain;

/// Settings from a dictionary; keys are those of config files. What is None, or a flag that is off, was not said.
pub fn settings_of(said: &Bound<'_, PyDict>) -> PyResult<Settings> {
    let mut settings = Settings::default();
    for (name, value) in said.iter().filter(|(_, value)| !value.is_none()) {
        let name: String = name.extract()?;
        let Some(key) = find(&name) else {
            let message = format!("there is no option '{}'", name.replace('-', "_"));
            return Err(plain(said.py(), "ParameterError", &message));
        };
        match value_of(key, &value).ok_or_else(|| wrong(key, &value))? {
            Value::Flag(false) => {}
            value => settings.set(&name, value),
        }
    }
    Ok(settings)
}

fn value_of(key: &Key, value: &Bound<'_, PyAny>) -> Option<Value> {
    let numbers = || value.extract().ok().or_else(|| value.extract().ok().map(|number| vec![number]));
    match key.kind {
        Kind::Flag => value.extract().ok().map(Value::Flag),
        // True: given without a number.
        Kind::NumberOr(otherwise) if value.is_exact_instance_of::<PyBool>() => {
            Some(if value.extract().ok()? { Value::Number(otherwise) } else { Value::Flag(false) })
        }
        Kind::Number | Kind::NumberOr(_) => value.extract().ok().map(Value::Number),
        Kind::NumberOrAuto => match value.extract() {
            Ok(number) => Some(Value::Number(number)),
            Err(_) => value.extract().ok().filter(|word| word == "auto").map(Value::Text),
        },
        Kind::Count => value.extract().ok().map(Value::Count),
        Kind::CountOrFile => value.extract().map(Value::Count).or_else(|_| value.extract().map(Value::Text)).ok(),
        Kind::Text | Kind::Path => value.extract().ok().map(Value::Text),
        Kind::Numbers => numbers().map(Value::Numbers),
        Kind::Texts | Kind::Paths | Kind::Repeated => value.extract().ok().map(Value::Texts),
    }
}

fn wrong(key: &Key, value: &Bound<'_, PyAny>) -> PyErr {
    let expected = match key.kind {
        Kind::Flag => "True or False",
        Kind::Number | Kind::NumberOr(_) => "a number",
        Kind::NumberOrAuto => "a number or 'auto'",
        Kind::Count | Kind::CountOrFile => "a whole number of at least 0",
        Kind::Text | Kind::Path => "a text",
        Kind::Numbers => "a number or a list of numbers",
        Kind::Texts | Kind::Paths | Kind::Repeated => "a list of texts",
    };
    let shown = value.repr().map_or_else(|_| "something else".into(), |text| text.to_string());
    let message = format!("{}: expected {expected}, got {shown}", crate::errors::spoken(&format!("--{}", key.name)));
    plain(value.py(), "ParameterError", &message)
}
