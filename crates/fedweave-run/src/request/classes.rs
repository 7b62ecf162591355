//! Classes as nodes: the model of a class tells its rows from all others, and learns with those of similar classes.

use fedweave::baseline::RIDGES;
use fedweave::folds::{FoldRule, FoldSpec};
use fedweave::loss::Family;
use fedweave_io::{InputSpec, TargetKind};

use super::data::input_spec;
use super::fit::FitRequest;
use super::folds::FoldChoice;
use super::keys::{Job, Key};
use super::settings::{Settings, Value};
use super::unread;
use crate::error::{Result, require};

/// Nearest classes that a class learns with, if nobody says how many.
const NEAREST: usize = 3;
/// Folds of rows that ridge and lambda are chosen on.
const FOLDS: usize = 5;

/// Fit one model for every class.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassesRequest {
    /// How the models of classes are fitted and coupled; rows are held out for all classes at once.
    pub fit: FitRequest,
    /// The column of classes.
    pub target: String,
    /// Every class learns with so many whose mean rows are nearest, unless there is a file of edges.
    pub nearest: usize,
    /// Ridges to choose from.
    pub ridges: Vec<f64>,
}

impl ClassesRequest {
    /// True if settings ask for it.
    pub fn is_meant(settings: &Settings) -> bool {
        settings.has("classes-as-nodes")
    }

    /// From files.
    pub fn of_files(settings: &Settings) -> Result<(ClassesRequest, InputSpec)> {
        settings.check_job(Job::Fit)?;
        let mut said = settings.clone().without(&["classes-as-nodes", "ridge", "folds"]);
        if !said.has("penalty") {
            said.set("penalty", Value::Text("squared".into()));
        }
        if !said.has("lambda") && !said.has("lambda-rule") {
            // What few rows say about lambda is noisy: of strengths that could be the best, the largest.
            said.set("lambda-rule", Value::Text("one-se".into()));
        }
        let all = settings.reader();
        let ridges = all.numbers_from("ridge", 0.0)?.unwrap_or_else(|| RIDGES.to_vec());
        let reader = said.reader();
        let mut fit = FitRequest::read(&said, &reader, None, Job::Fit)?;
        for key in ["knn", "fallback", "calibrate", "coupling", "graph", "validation", "split", "split-by", "weight"] {
            let learnt = key == "coupling" && reader.text(key) == Some("learnt");
            let told = reader.has(key) && key != "knn" && (key != "coupling" || learnt);
            require!(
                !told,
                "--{key} does not go with --classes-as-nodes: rows are held out in folds, for all classes at once"
            );
        }
        require!(
            fit.privacy.is_none(),
            "--dp-epsilon does not go with --classes-as-nodes: every row is at all nodes, and the noise is made for rows of one"
        );
        let known = matches!(fit.model.family, Family::Squared | Family::Logistic | Family::SquaredHinge);
        require!(
            known,
            "--classes-as-nodes tells a class from all others: give --loss squared, logistic or squared-hinge"
        );
        let count = all.count("folds").unwrap_or(FOLDS);
        require!(count >= 2, "--folds {count}: at least 2 are needed to hold out every row once");
        let spec = FoldSpec { rule: FoldRule::Groups, count, seed: fit.held_out.seed };
        fit.folds = Some(FoldChoice { spec, repeats: 1, by: Some("row".into()) });
        fit.naming.settings = settings.clone();
        let nearest = reader.count("knn").unwrap_or(NEAREST);
        require!(nearest > 0, "--knn 0: a class learns with at least one other");
        let spec = input_spec(&reader, TargetKind::Number, fit.model.intercept(), Vec::new())?;
        reader.finish(not_with_classes)?;
        let target = spec.target.clone().unwrap_or_default();
        let spec = InputSpec { node: target.clone(), target: None, target_kind: TargetKind::None, knn: None, ..spec };
        Ok((ClassesRequest { fit, target, nearest, ridges }, spec))
    }
}

fn not_with_classes(key: &Key) -> String {
    match key.with {
        "" => "does not go with --classes-as-nodes".into(),
        _ => unread(key),
    }
}
