//! The part each column of the node table plays.

use super::spec::{InputSpec, TargetKind};
use crate::error::IoError;
use crate::fault::{Example, Fault};
use crate::table::{Kind, Table};

/// Columns of the node table, by the part they play.
pub(super) struct Roles {
    pub node: usize,
    pub target: Option<usize>,
    pub weight: Option<usize>,
    pub group: Option<usize>,
    pub time: Option<usize>,
    pub features: Vec<FeatureColumn>,
}

pub(super) struct FeatureColumn {
    pub column: usize,
    pub one_hot: bool,
}

/// How to read the column `name`.
pub(super) fn kind(spec: &InputSpec, name: &str) -> Kind {
    let is = |role: &Option<String>| role.as_deref() == Some(name);
    let among = |names: &[String]| names.iter().any(|n| n == name);
    if name == spec.node || is(&spec.group) || is(&spec.time) || among(&spec.one_hot) || among(&spec.per_node) {
        return Kind::Text;
    }
    if is(&spec.target) {
        return target_kind(spec.target_kind);
    }
    let named = is(&spec.weight) || among(&spec.by);
    let feature = !among(&spec.drop) && spec.features.as_ref().is_none_or(|features| among(features));
    match named || feature {
        true => Kind::Number,
        false if is(&spec.protected) => Kind::Text,
        false => Kind::Skip,
    }
}

fn target_kind(kind: TargetKind) -> Kind {
    match kind {
        TargetKind::Number => Kind::Number,
        TargetKind::Class | TargetKind::Binary => Kind::Text,
        TargetKind::None => Kind::Skip,
    }
}

impl Roles {
    /// Finds every column the request names and checks that the features are numbers.
    pub(super) fn assign(spec: &InputSpec, table: &Table) -> Result<Self, IoError> {
        let optional = |name: &Option<String>| name.as_deref().map(|name| table.find(name)).transpose();
        let node = table.find_node(&spec.node)?;
        spec.drop.iter().try_for_each(|name| table.find(name).map(drop))?;
        let target = if spec.target_kind == TargetKind::None { &None } else { &spec.target };
        let roles = Roles {
            node,
            target: optional(target)?,
            weight: optional(&spec.weight)?,
            group: optional(&spec.group)?,
            time: optional(&spec.time)?,
            features: features(spec, table)?,
        };
        roles.check_numbers(table)?;
        Ok(roles)
    }

    /// Features that are numbers as they stand.
    pub(super) fn numeric(&self) -> impl Iterator<Item = usize> {
        self.features.iter().filter(|f| !f.one_hot).map(|f| f.column)
    }

    /// One message names every text column, so that one edit of the command cures them all.
    fn check_numbers(&self, table: &Table) -> Result<(), IoError> {
        let examples: Vec<Example> = self.numeric().filter_map(|column| example(table, column)).collect();
        if !examples.is_empty() {
            return Err(table.file().fault(Fault::TextFeatures { examples }));
        }
        self.numeric().try_for_each(|column| table.finite(column).map(drop))
    }
}

/// The first cell of a column that is no number.
fn example(table: &Table, column: usize) -> Option<Example> {
    let numbers = table.numbers(column);
    let cell = numbers.stray.clone()?;
    Some(Example {
        column: table.names()[column].clone(),
        after_numbers: cell.row > numbers.missing,
        place: table.place(cell.row),
        value: cell.value,
    })
}

fn features(spec: &InputSpec, table: &Table) -> Result<Vec<FeatureColumn>, IoError> {
    let columns = match &spec.features {
        Some(features) => listed(spec, table, features)?,
        None => all_others(spec, table)?,
    };
    if columns.is_empty() && !spec.intercept {
        return Err(table.file().fault(Fault::NoFeatures));
    }
    let one_hot = |column: usize| spec.one_hot.contains(&table.names()[column]);
    Ok(columns.into_iter().map(|column| FeatureColumn { column, one_hot: one_hot(column) }).collect())
}

/// The listed columns in their order, then one-hot columns not among them; dropped ones are dropped all the same.
fn listed(spec: &InputSpec, table: &Table, features: &[String]) -> Result<Vec<usize>, IoError> {
    let mut columns = Vec::new();
    for name in features.iter().chain(&spec.one_hot) {
        let column = feature(spec, table, name)?;
        if !columns.contains(&column) && !spec.drop.contains(name) {
            columns.push(column);
        }
    }
    Ok(columns)
}

/// Every column without another part, in the order of the file.
fn all_others(spec: &InputSpec, table: &Table) -> Result<Vec<usize>, IoError> {
    for name in &spec.one_hot {
        feature(spec, table, name)?;
    }
    let taken = |name: &str| spec.exclusive().any(|(_, n)| n == name) || spec.reserved().any(|n| n == name);
    let free = |name: &String| spec.one_hot.contains(name) || !taken(name);
    Ok((0..table.names().len()).filter(|&column| free(&table.names()[column])).collect())
}

fn feature(spec: &InputSpec, table: &Table, name: &str) -> Result<usize, IoError> {
    match spec.exclusive().find(|&(_, n)| n == name) {
        Some((role, _)) => Err(table.file().fault(Fault::RoleConflict { column: name.into(), role })),
        None => table.find(name),
    }
}
