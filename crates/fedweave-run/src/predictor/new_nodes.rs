//! Nodes that were not there at the fit: joined to those that were, whose models stay as they are.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use fedweave::Dataset;
use fedweave::matrix::Matrix;
use fedweave_io::{EdgeList, Rows as LoadedRows, load_positions, read_json};

use super::{Models, Predictor};
use crate::error::{Place, Result, refuse, require};
use crate::network_file::{Neighbours, NetworkFile, Places};
use crate::run_dir::NETWORK;
use crate::wording::counted;

/// How nodes that the models do not know are joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewNodes {
    /// Rows with labels of new nodes.
    pub rows: Option<PathBuf>,
    /// Edges between new nodes and known ones.
    pub edges: Option<PathBuf>,
    /// Positions of new nodes, where the rows do not have them.
    pub info: Option<PathBuf>,
}

/// What new nodes need of the run.
pub(super) struct Newcomers {
    network: NetworkFile,
    how: NewNodes,
}

impl Predictor {
    /// Also predicts rows of nodes that the models do not know: each gets a model from its own rows, if there are some, and from its
    /// neighbours, whose models stay as they are.
    pub fn with_new_nodes(mut self, run: &Path, how: NewNodes) -> Result<Predictor> {
        let Models::Parameters(Some(_), _) = &self.models else {
            refuse!(
                "--new-nodes: the models of {} are no parameters of one loss; fit without --tune, --recipe, --model and --loss-column",
                self.shown
            )
        };
        require!(
            self.interval.is_none(),
            "--interval: nothing is known about errors at new nodes; leave out --new-nodes"
        );
        let place = format!("--new-nodes: {} does not say how nodes join; fit again", self.shown);
        let network: NetworkFile = read_json(run, NETWORK).at(place)?;
        self.newcomers = Some(Newcomers { network, how });
        Ok(self)
    }

    /// Joins the unknown nodes of some rows; what was done, in words.
    pub(super) fn welcome(&mut self, rows: &LoadedRows, path: &Path) -> Result<Option<String>> {
        let Some(newcomers) = self.newcomers.take() else { return Ok(None) };
        let known: HashMap<String, usize> = self.names().enumerate().map(|(i, name)| (name.to_owned(), i)).collect();
        let names: BTreeSet<&String> = rows.node.iter().filter(|name| !known.contains_key(*name)).collect();
        let names: Vec<String> = names.into_iter().cloned().collect();
        if names.is_empty() {
            return Ok(None);
        }
        let data = self.rows_of_new(&newcomers.how, &names)?;
        let (models, by) = self.models_of_new(&newcomers, &names, &known, &data, path)?;
        let Models::Parameters(Some(_), parameters) = &mut self.models else { return Ok(None) };
        let (dim, w) = (parameters.w.cols(), [parameters.w.as_slice(), models.as_slice()].concat());
        parameters.w = Matrix::from_rows(dim, w);
        let with_rows = (0..names.len()).filter(|&i| !data.rows(i).is_empty()).count();
        let own = if with_rows > 0 { format!(", {with_rows} of them with rows of their own") } else { String::new() };
        let note =
            format!("{} joined {by}{own}; the models of the others stay as they are", counted(names.len(), "new node"));
        parameters.names.extend(names);
        Ok(Some(note))
    }

    /// The models of the new nodes, and by what they were joined.
    fn models_of_new(
        &self,
        newcomers: &Newcomers,
        names: &[String],
        known: &HashMap<String, usize>,
        rows: &Dataset,
        path: &Path,
    ) -> Result<(Matrix, String)> {
        let Newcomers { network, how } = newcomers;
        let places = network.places().filter(|_| how.edges.is_none());
        let at = places.map(|places| self.positions_of_new(places, how, names, path)).transpose()?;
        if let (Some(places), Some(at)) = (places, &at)
            && let Some(models) = network.at_places(at, rows)?
        {
            return Ok((models, format!("by {}, and the rows of those around", places.columns.join(", "))));
        }
        let near = at.zip(places).map(|(at, places)| places.nearest(&at)).transpose()?;
        let (near, by) = self.neighbours_of_new(newcomers, names, known, rows, near)?;
        let Models::Parameters(Some(family), parameters) = &self.models else { unreachable!("asked for before") };
        Ok((network.join(*family, &parameters.w, rows, &near)?, by))
    }

    /// Where the new nodes are.
    fn positions_of_new(&self, places: &Places, how: &NewNodes, names: &[String], path: &Path) -> Result<Matrix> {
        let file = how.info.as_deref().unwrap_or(path);
        require!(
            file != Path::new("-"),
            "--new-nodes reads the rows twice: give a file, or --node-info with positions"
        );
        let (ids, values) = load_positions(file, &self.scores.encoding.node, &places.columns)?;
        let row: HashMap<&str, usize> = ids.iter().enumerate().map(|(i, id)| (id.as_str(), i)).collect();
        let mut at = Matrix::zeros(names.len(), places.columns.len());
        for (i, name) in names.iter().enumerate() {
            let place = row.get(name.as_str()).map(|&r| values.row(r)).filter(|v| v.iter().all(|x| x.is_finite()));
            let Some(place) = place else {
                refuse!("{}: node `{name}` has no position ({})", file.display(), places.columns.join(", "))
            };
            at.row_mut(i).copy_from_slice(place);
        }
        Ok(at)
    }

    /// Rows with labels of the new nodes, in the order of `names`.
    fn rows_of_new(&self, how: &NewNodes, names: &[String]) -> Result<Dataset> {
        let dim = self.scores.encoding.dim();
        let mut own = vec![Vec::new(); names.len()];
        let rows = how.rows.as_ref().map(|path| self.read_rows(path, true).map(|rows| (rows, path))).transpose()?;
        if let Some((rows, path)) = &rows {
            require!(rows.y.is_some(), "--new-rows {}: rows need their target", path.display());
            for (r, node) in rows.node.iter().enumerate() {
                if let Ok(i) = names.binary_search(node) {
                    own[i].push(r);
                }
            }
        }
        let order: Vec<usize> = own.iter().flatten().copied().collect();
        let offsets = own.iter().scan(0, |sum, rows| {
            *sum += rows.len();
            Some(*sum)
        });
        let offsets: Vec<usize> = std::iter::once(0).chain(offsets).collect();
        let (mut x, mut y) = (Vec::new(), Vec::new());
        if let Some((rows, path)) = &rows {
            let labels = rows.y.as_deref().unwrap_or_default();
            for &r in &order {
                let line = rows.lines[r];
                require!(labels[r].is_finite(), "{}:{line}: a row of --new-rows without its target", path.display());
                x.extend_from_slice(rows.x.row(r));
                y.push(labels[r]);
            }
        }
        Ok(Dataset::new(offsets, Matrix::from_rows(dim, x), y, vec![1.0; order.len()])?)
    }

    /// Who is like the new nodes, as far as their rows tell; `None` where others say who their neighbours are.
    fn alike(&self, network: &NetworkFile, rows: &Dataset) -> Result<Option<Neighbours>> {
        match &self.models {
            Models::Parameters(Some(family), parameters) => network.alike(*family, &parameters.w, rows),
            _ => Ok(None),
        }
    }

    /// The known neighbours of every new node, and by what they were found.
    fn neighbours_of_new(
        &self,
        newcomers: &Newcomers,
        names: &[String],
        known: &HashMap<String, usize>,
        rows: &Dataset,
        nearest: Option<Neighbours>,
    ) -> Result<(Neighbours, String)> {
        let Newcomers { network, how } = newcomers;
        let mut near = vec![Vec::new(); names.len()];
        let mut by = "by nothing but the common mean".to_owned();
        if let Some(file) = &how.edges {
            by = format!("by the edges of {}", file.display());
            for (a, b, weight) in EdgeList::read(file)?.triples() {
                for (new, old) in [(a, b), (b, a)] {
                    if let (Ok(i), Some(&j)) = (names.binary_search_by(|n| n.as_str().cmp(new)), known.get(old)) {
                        near[i].push((j, weight));
                    }
                }
            }
        } else if let (Some(places), Some(nearest)) = (network.places(), nearest) {
            by = format!("by {}", places.columns.join(", "));
            near = nearest;
        } else if let Some(found) = self.alike(network, rows)? {
            by = "with those whose models say its rows best".to_owned();
            near = found;
        } else if !network.has_hub() {
            refuse!("--new-nodes: how are they joined? The graph came from a file: give --new-edges FILE");
        }
        if let Some(i) = near.iter().position(Vec::is_empty).filter(|_| !network.has_hub()) {
            let (name, run) = (&names[i], &self.shown);
            let rows = if network.places().is_some() { "" } else { ", or rows in --new-rows that say who is like it" };
            refuse!("--new-nodes: node `{name}` is joined to no node of {run}; give it an edge in --new-edges{rows}");
        }
        Ok((near, by))
    }
}
