//! Public rows: of a file, or drawn from what nodes share about their features.

use anyhow::{Result, bail};
use fedweave::Dataset;
use fedweave::matrix::Matrix;
use fedweave::model::relax::{PublicRows, sample_public};
use fedweave::scaling::Scaling;
use fedweave_io::{Input, load_unlabelled};

use super::plan::ModelPlan;

/// The rows, in the features of the models, and where they come from, in words.
pub fn rows(
    plan: &ModelPlan,
    input: &Input,
    train: &Dataset,
    scaling: Option<&Scaling>,
) -> Result<(Vec<PublicRows>, String)> {
    if plan.raw.public.is_some() {
        return of_file(plan, input, scaling);
    }
    let rows = sample_public(train, plan.source, plan.public_rows, plan.options.seed)?;
    Ok((rows, plan.source.describe(train, plan.public_rows)))
}

fn of_file(plan: &ModelPlan, input: &Input, scaling: Option<&Scaling>) -> Result<(Vec<PublicRows>, String)> {
    let path = plan.raw.public.as_deref().expect("asked for");
    let mut found = load_unlabelled(path, &input.encoding)?;
    if let Some(scaling) = scaling {
        scaling.apply_rows(&mut found.x);
    }
    let shown = path.display();
    let Some(nodes) = &found.node else {
        let words = format!("{} public rows of {shown}, the same for all nodes", found.x.rows());
        return Ok((vec![PublicRows::new(found.x)?], words));
    };
    let mut of_node: Vec<Vec<f64>> = vec![Vec::new(); input.names.len()];
    for (r, name) in nodes.iter().enumerate() {
        match input.names.binary_search(name) {
            Ok(i) => of_node[i].extend_from_slice(found.x.row(r)),
            Err(_) => {
                bail!("{shown}:{}: node `{name}` is in no other file; remove the row or correct it", found.lines[r])
            }
        }
    }
    let cols = found.x.cols();
    let rows = |(i, x): (usize, Vec<f64>)| match x.is_empty() {
        true => bail!(
            "{shown}: node `{}` has no public rows; add some, or leave the node column out to share all rows",
            input.names[i]
        ),
        false => Ok(PublicRows::new(Matrix::from_rows(cols, x))?),
    };
    let words = format!("{} public rows of {shown}, each of its node", found.x.rows());
    Ok((of_node.into_iter().enumerate().map(rows).collect::<Result<_>>()?, words))
}
