//! Models by name, with their options: `tree max-depth=5 min-samples-leaf=2`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::options::ModelOptions;
use super::{
    BoostingOptions, Fitted, ForestOptions, KernelRidgeOptions, LinearOptions, Local, LocalModel, LogisticOptions,
    MlpOptions, NearestOptions, SpecError, Task, TreeOptions,
};

/// A model class with its hyper-parameters. Defaults are those of scikit-learn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelSpec {
    /// Least squares, with `alpha |w|^2` added: `linear` for `alpha = 0`, else `ridge`.
    Linear(LinearOptions),
    /// Logistic regression.
    Logistic(LogisticOptions),
    /// A decision tree.
    Tree(TreeOptions),
    /// A random forest.
    Forest(ForestOptions),
    /// Gradient-boosted trees.
    Boosting(BoostingOptions),
    /// Nearest neighbours.
    Nearest(NearestOptions),
    /// Kernel ridge regression.
    KernelRidge(KernelRidgeOptions),
    /// A multilayer perceptron.
    Mlp(MlpOptions),
}

/// The names of all model classes.
pub const MODELS: [&str; 9] =
    ["linear", "ridge", "logistic", "tree", "forest", "boosting", "nearest", "kernel-ridge", "mlp"];

impl ModelSpec {
    /// A model class with default options.
    pub fn of(name: &str) -> Result<Self, SpecError> {
        Ok(match name {
            "linear" => ModelSpec::Linear(LinearOptions { alpha: 0.0, ..Default::default() }),
            "ridge" => ModelSpec::Linear(LinearOptions::default()),
            "logistic" => ModelSpec::Logistic(LogisticOptions::default()),
            "tree" => ModelSpec::Tree(TreeOptions::default()),
            "forest" => ModelSpec::Forest(ForestOptions::default()),
            "boosting" => ModelSpec::Boosting(BoostingOptions::default()),
            "nearest" => ModelSpec::Nearest(NearestOptions::default()),
            "kernel-ridge" => ModelSpec::KernelRidge(KernelRidgeOptions::default()),
            "mlp" => ModelSpec::Mlp(MlpOptions::default()),
            _ => return Err(SpecError::UnknownModel { name: name.into(), known: MODELS.join(", ") }),
        })
    }

    /// A model class by name with options given as `name=value`.
    pub fn parse<'a>(name: &str, options: impl IntoIterator<Item = &'a str>) -> Result<Self, SpecError> {
        let mut spec = ModelSpec::of(name)?;
        for option in options {
            spec.set(option)?;
        }
        Ok(spec)
    }

    /// The model class, as on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            ModelSpec::Linear(o) if o.alpha == 0.0 => "linear",
            ModelSpec::Linear(_) => "ridge",
            ModelSpec::Logistic(_) => "logistic",
            ModelSpec::Tree(_) => "tree",
            ModelSpec::Forest(_) => "forest",
            ModelSpec::Boosting(_) => "boosting",
            ModelSpec::Nearest(_) => "nearest",
            ModelSpec::KernelRidge(_) => "kernel-ridge",
            ModelSpec::Mlp(_) => "mlp",
        }
    }

    /// A model that is not fitted yet. All its random numbers come from `seed`.
    pub fn build(&self, task: Task, seed: u64) -> Result<Box<dyn LocalModel>, SpecError> {
        Ok(Box::new(Local::new(self.clone(), task, seed)?))
    }

    /// Options are in range and the model can do the task.
    pub fn check(&self, task: Task) -> Result<(), SpecError> {
        for (option, value) in self.options().values() {
            // What is printed can be read again, so reading it checks the ranges.
            self.clone().set(&format!("{option}={value}"))?;
        }
        let needs = match (self, task) {
            (_, Task::Classification { classes }) if classes < 2 => "2 or more classes",
            (ModelSpec::Logistic(_), Task::Regression) => "classes",
            _ => return Ok(()),
        };
        Err(SpecError::Task { model: self.name(), task: task.name(), needs })
    }

    /// Whether a fitted model is of this class.
    pub(super) fn describes(&self, fitted: &Fitted) -> bool {
        let name = self.name();
        fitted.name() == if name == "ridge" { "linear" } else { name }
    }

    fn set(&mut self, option: &str) -> Result<(), SpecError> {
        let model = self.name();
        let options = self.options_mut();
        let known = || options.values().iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let Some((name, value)) = option.split_once('=') else {
            return Err(SpecError::Malformed { model, found: option.into(), known: known() });
        };
        let (name, value) = (name.trim().replace('_', "-"), value.trim());
        if !options.values().iter().any(|(known, _)| *known == name) {
            return Err(SpecError::UnknownOption { model, option: name, known: known() });
        }
        options.set(&name, value).map_err(|needs| SpecError::Value { model, option: name, value: value.into(), needs })
    }

    fn options(&self) -> &dyn ModelOptions {
        match self {
            ModelSpec::Linear(o) => o,
            ModelSpec::Logistic(o) => o,
            ModelSpec::Tree(o) => o,
            ModelSpec::Forest(o) => o,
            ModelSpec::Boosting(o) => o,
            ModelSpec::Nearest(o) => o,
            ModelSpec::KernelRidge(o) => o,
            ModelSpec::Mlp(o) => o,
        }
    }

    fn options_mut(&mut self) -> &mut dyn ModelOptions {
        match self {
            ModelSpec::Linear(o) => o,
            ModelSpec::Logistic(o) => o,
            ModelSpec::Tree(o) => o,
            ModelSpec::Forest(o) => o,
            ModelSpec::Boosting(o) => o,
            ModelSpec::Nearest(o) => o,
            ModelSpec::KernelRidge(o) => o,
            ModelSpec::Mlp(o) => o,
        }
    }
}

/// A name, then options, with spaces, commas or semicolons between them.
impl FromStr for ModelSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut words = text.split([' ', '\t', ',', ';']).filter(|word| !word.is_empty());
        ModelSpec::parse(words.next().unwrap_or(""), words)
    }
}

/// The name and all options; [`FromStr`] reads it back.
impl fmt::Display for ModelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.options().values().iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_back() {
        for name in MODELS {
            let spec = ModelSpec::of(name).unwrap();
            assert_eq!(spec.to_string().parse::<ModelSpec>().unwrap(), spec, "{spec}");
            assert_eq!(spec.name(), name);
            let json = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<ModelSpec>(&json).unwrap(), spec, "{json}");
        }
    }

    #[test]
    fn every_option_can_be_set() {
        let read = |text: &str| text.parse::<ModelSpec>().unwrap().to_string();
        let texts = [
            "ridge alpha=0.25 intercept=false",
            "logistic c=10 intercept=false tolerance=0.001",
            "tree max-depth=5 min-samples-split=3 min-samples-leaf=2 min-weight-leaf=0.1 min-impurity-decrease=0.5 max-features=0.5",
            "nearest neighbours=3 share=0.2 weights=distance",
            "kernel-ridge alpha=0.1 gamma=2",
            "mlp hidden=64x32 activation=tanh optimiser=rmsprop learning-rate=0.01 momentum=0.5 alpha=0 batch=none epochs=7 \
             early-stopping=true validation=0.2 patience=3 tolerance=0 warm-start=true",
        ];
        for text in texts {
            assert_eq!(read(text), text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        assert!(
            read("forest trees=7, bootstrap=false; max-features=sqrt").starts_with("forest trees=7 bootstrap=false")
        );
        assert!(read("boosting trees=7 learning_rate=0.5 subsample=0.5 max-depth=none").contains("max-depth=none"));
    }

    #[test]
    fn models_say_what_they_cannot_do() {
        let error = ModelSpec::of("logistic").unwrap().build(Task::Regression, 0).err().unwrap();
        assert!(error.to_string().contains("needs classes"));
        let one = ModelSpec::of("tree").unwrap().build(Task::Classification { classes: 1 }, 0);
        assert!(matches!(one.err(), Some(SpecError::Task { .. })));
        let deep = ModelSpec::Tree(TreeOptions { min_samples_leaf: 0, ..Default::default() });
        assert!(matches!(deep.build(Task::Regression, 0).err(), Some(SpecError::Value { .. })));
    }

    #[test]
    fn unknown_names_and_options_list_what_exists() {
        let error = |text: &str| text.parse::<ModelSpec>().unwrap_err().to_string();
        for name in MODELS {
            assert!(error("perceptrons").contains(name));
        }
        assert!(error("").contains("known models"));
        assert!(error("ridge alpa=1").contains("alpha, intercept"));
        assert!(error("ridge alpha").contains("name=value"));
        assert!(error("ridge alpha=-1").contains("'-1'"));
        assert!(error("ridge alpha=much").contains("'much'"));
        assert!(error("linear intercept=perhaps").contains("true or false"));
    }
}
