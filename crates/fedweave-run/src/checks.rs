//! What can be wrong with the data, while their places in the file are known.

use fedweave::Dataset;
use fedweave::loss::{Loss, LossOptions, LossSpec};
use fedweave::solve::nodes_without_minimiser;
use fedweave::split::{Part, Split, SplitSpec, split};
use fedweave_io::Input;

use crate::error::{Error, Result, refuse, require};
use crate::request::held_out::HeldOutChoice;
use crate::request::model::ModelChoice;
use crate::split_file;
use crate::training::TrainingRows;

/// All rows, and their loss: what was built to check them need not be built again.
pub struct Checked {
    /// The rows.
    pub rows: TrainingRows,
    /// Their loss.
    pub loss: Box<dyn Loss>,
}

/// Refuses data that the request cannot be carried out with.
pub fn check(model: &ModelChoice, input: &Input, loss: &LossSpec) -> Result<Checked> {
    if model.strict {
        refuse_lonely_nodes(input)?;
    }
    model.penalty(input)?;
    let rows = TrainingRows::new(model, input.data.clone());
    let built = loss.build(rows.scaled.clone(), &model.options).map_err(|error| with_place(error, input))?;
    if input.is_of_files() {
        refuse_taken_names(input)?;
    }
    Ok(Checked { rows, loss: built })
}

/// Names of features that the files of a run need themselves.
fn refuse_taken_names(input: &Input) -> Result<()> {
    let mut names: Vec<&str> = input.features.iter().map(String::as_str).chain(["node"]).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        let (table, name) = (input.table(), pair[0]);
        refuse!(
            "{table}: feature `{name}` has a name that parameters.csv needs itself; rename it or give --drop {name}"
        );
    }
    Ok(())
}

/// Adds the file and line of a row to an error of the mathematics.
pub fn with_place(error: fedweave::Error, input: &Input) -> Error {
    use fedweave::Error as E;
    let message = match &error {
        E::Label { row, label, loss, needs } => {
            format!("{}: label {label} does not fit the {loss} loss, which needs {needs}", input.place(*row))
        }
        E::NotFinite { row, what } => format!("{}: {what} is not a finite number", input.place(*row)),
        E::RowWeight { row, weight } => {
            format!("{}: row weight {weight}; weights must be zero or positive", input.place(*row))
        }
        E::Scale { column, size } => {
            let (what, remedy) = match input.features.get(*column) {
                Some(name) => (format!("column `{name}`"), "rescale the column or give --standardize"),
                None => ("the target".into(), "rescale it, e.g. by other units"),
            };
            format!(
                "{what} has entries of size {size:e}; squares of that leave the range of double precision: {remedy}"
            )
        }
        _ => return Error::Mathematics(error),
    };
    Error::Data { message, cause: error }
}

/// Nodes that lack rows or edges, where that is not wanted.
pub fn refuse_lonely_nodes(input: &Input) -> Result<()> {
    let notices = &input.notices;
    let lists = [
        (&notices.nodes_with_neither, "neither rows nor edges"),
        (&notices.nodes_without_rows, "no rows"),
        (&notices.nodes_without_edges, "no edges"),
    ];
    for (names, what) in lists {
        if let Some(first) = names.first() {
            let count = names.len();
            refuse!(
                "--strict: nodes that have {what}: {count}, the first is `{first}`; add what is missing or drop --strict"
            );
        }
    }
    Ok(())
}

/// Losses that decrease for ever are refused, not iterated for ever.
pub fn refuse_runaway(
    model: &ModelChoice,
    input: &Input,
    loss: &LossSpec,
    data: &Dataset,
    lambda: f64,
    options: &LossOptions,
) -> Result<()> {
    let penalty = model.penalty(input)?;
    let mut loose: Vec<usize> = penalty.loose().iter().map(|j| j % input.features.len()).collect();
    loose.dedup();
    let bad = nodes_without_minimiser(loss, data, &input.graph, lambda, &loose, options)?;
    let Some(&node) = bad.first() else { return Ok(()) };
    Err(Error::NoMinimiser {
        family: loss.family(node),
        node,
        name: input.names[node].clone(),
        count: bad.len(),
        ridge: options.ridge > 0.0,
    })
}

/// The ridge where a loss has no minimiser and nobody said which.
const TAMING_RIDGE: f64 = 1e-3;

/// Gives losses that decrease for ever a small ridge, on the intercept too, and says so; unless a ridge of 0 was asked for. True if
/// the options of the loss have changed.
pub fn tame_runaway(
    model: &mut ModelChoice,
    input: &mut Input,
    loss: &LossSpec,
    data: &Dataset,
    lambda: f64,
) -> Result<bool> {
    let least = model.ridges.iter().copied().fold(f64::INFINITY, f64::min);
    let found = refuse_runaway(model, input, loss, data, lambda, &LossOptions { ridge: least, ..model.options });
    let Err(Error::NoMinimiser { family, name, count, .. }) = &found else { return found.map(|()| false) };
    if model.ridge_told && least == 0.0 {
        return found.map(|()| false);
    }
    model.ridges.iter_mut().filter(|ridge| **ridge == 0.0).for_each(|ridge| *ridge = TAMING_RIDGE);
    model.options = LossOptions { ridge: model.ridges[0], spare_last: false, ..model.options };
    input.notices.reading.push(format!(
        "the {family} loss alone has no minimum at `{name}` and those connected with it ({count} such): labels are all alike or can \
         be predicted perfectly; a ridge of {} on all coefficients, the intercept too, keeps models finite (--ridge chooses it)",
        model.options.ridge
    ));
    Ok(true)
}

/// Splits the rows, or takes the split that was given; some must be held out.
pub fn hold_out(input: &Input, choice: &HeldOutChoice, spec: &SplitSpec, remedy: &str) -> Result<Split> {
    if let Some(file) = &choice.file {
        return split_file::read(file, input);
    }
    let split = split(&input.data, input.groups.as_deref(), spec)?;
    let held = split.part.contains(&Part::Validation);
    require!(held, "no row could be held out: every node has fewer than {} rows; {remedy}", spec.min_rows);
    Ok(split)
}
