//! From requests of the page to the session and its jobs, and back.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use fedweave::solve::{Status, Watch};
use fedweave_report::{live, render};
use fedweave_run::pull::pulls;
use fedweave_run::request::{Settings, Value};
use fedweave_run::{Error, Result};
use serde::Deserialize;
use serde_json::{Value as Data, json};

use crate::events;
use crate::guard::{Guard, guard};
use crate::job::{Task, Work, start};
use crate::session::{Models, Studio};

const PAGE: &str = include_str!("page/index.html");
pub const STYLE: &str = include_str!("page/studio.css");
const SCRIPT: &str = include_str!("page/studio.js");
const ATTACK_SCRIPT: &str = include_str!("page/attack.js");
/// The largest file that can be dropped on the page.
const FILE_BYTES_MAX: usize = 512 << 20;
/// The most seconds that models may follow lambda; what they are then is shown, and said to be unfinished.
const SLIDE_SECONDS_MAX: Duration = Duration::from_secs(3);

type Shared = State<Arc<Studio>>;

/// All that can be asked.
pub fn routes(studio: Arc<Studio>, keeper: Guard) -> Router {
    Router::new()
        .route("/", get(|| async { Html(PAGE) }))
        .route("/studio.css", get(|| async { ([(CONTENT_TYPE, "text/css")], STYLE) }))
        .route("/report.css", get(|| async { ([(CONTENT_TYPE, "text/css")], live::STYLE) }))
        .route("/studio.js", get(|| async { ([(CONTENT_TYPE, "text/javascript")], SCRIPT) }))
        .route("/attack.js", get(|| async { ([(CONTENT_TYPE, "text/javascript")], ATTACK_SCRIPT) }))
        .route("/report.js", get(report_script))
        .route(
            "/events",
            get(|State(studio): Shared| async move { events::stream(studio.listen(), move || studio.state()) }),
        )
        .route("/state", get(|State(studio): Shared| async move { Json(studio.state()) }))
        .route("/picture", get(|State(studio): Shared| async move { Html(studio.session().page()) }))
        .route("/node", get(node))
        .route("/report.html", get(report))
        .route("/open", post(open))
        .route("/upload", post(upload))
        .route("/choose", post(choose))
        .route("/fit", post(|State(studio): Shared| async move { told(start(&studio, Task::Fit)) }))
        .route("/compare", post(|State(studio): Shared| async move { told(start(&studio, Task::Compare)) }))
        .route("/attack", post(attack))
        .route("/export", post(export))
        .route("/cancel", post(cancel))
        .route("/slide", post(slide))
        .route("/redraw", post(redraw))
        .fallback(|| async { (StatusCode::NOT_FOUND, "there is nothing here") })
        .layer(DefaultBodyLimit::max(FILE_BYTES_MAX))
        .layer(middleware::from_fn_with_state(keeper, guard))
        .with_state(studio)
}

/// The script of reports as a module, so that every report that is shown has variables of its own.
pub async fn report_script() -> impl IntoResponse {
    let module =
        format!("{}\nexport {{ moved, choose, colourBy, data }};\nexport const shown = () => chosen;\n", live::SCRIPT);
    ([(CONTENT_TYPE, "text/javascript")], module)
}

fn told(outcome: Result<()>) -> Response {
    answered(outcome.map(|()| json!({})))
}

fn answered(outcome: Result<Data>) -> Response {
    match outcome {
        Ok(data) => Json(data).into_response(),
        Err(error) => (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({ "error": error.to_string() }))).into_response(),
    }
}

/// Work of more than a moment, beside the server.
async fn aside(work: impl FnOnce() -> Result<Data> + Send + 'static) -> Response {
    let outcome = tokio::task::spawn_blocking(work).await;
    answered(outcome.unwrap_or_else(|_| Err(Error::request("this should not have happened: see the terminal"))))
}

#[derive(Deserialize)]
struct Named {
    name: String,
    #[serde(default)]
    part: String,
}

async fn open(State(studio): Shared, Json(file): Json<Named>) -> Response {
    aside(move || {
        let path = studio.file(&file.name);
        take_over(&studio, path, &file.part);
        Ok(json!({}))
    })
    .await
}

async fn upload(State(studio): Shared, Query(file): Query<Named>, bytes: Bytes) -> Response {
    aside(move || {
        let kept = studio.keep(&file.name, &bytes);
        let path = kept.map_err(|error| Error::request(format!("{}: cannot be kept: {error}", file.name)))?;
        take_over(&studio, path, &file.part);
        Ok(json!({}))
    })
    .await
}

/// A file is a table, or the edges between its nodes.
fn take_over(studio: &Studio, path: PathBuf, part: &str) {
    if part == "edges" {
        let edges = Value::Text(path.to_string_lossy().into_owned());
        let settings = studio.session().settings.clone().without(&["knn", "metric"]).with("edges", edges);
        studio.choose(settings);
    } else {
        studio.open(&path);
    }
}

#[derive(Deserialize)]
struct Graph {
    /// No edges, although there is a file of them.
    #[serde(default)]
    alone: bool,
}

async fn choose(State(studio): Shared, Query(graph): Query<Graph>, Json(choices): Json<Settings>) -> Response {
    aside(move || {
        // Which files are read is not for a form to say.
        let kept = studio.session().settings.clone();
        let mut settings = choices.without(&["nodes", "out", "edges"]);
        for key in ["nodes", "edges"] {
            let wanted = key == "nodes" || !(settings.has("knn") || graph.alone);
            if let Some(value) = kept.get(key).filter(|_| wanted) {
                settings.set(key, value.clone());
            }
        }
        studio.choose(settings);
        Ok(json!({}))
    })
    .await
}

async fn attack(State(studio): Shared, Json(asked): Json<Settings>) -> Response {
    told(start(&studio, Task::Attack(asked)))
}

#[derive(Deserialize)]
struct Out {
    out: String,
}

async fn export(State(studio): Shared, Json(Out { out }): Json<Out>) -> Response {
    if out.trim().is_empty() {
        return told(Err(Error::request("name a folder for the run")));
    }
    told(start(&studio, Task::Export(out.trim().into())))
}

async fn cancel(State(studio): Shared) -> Response {
    studio.change(|session| session.work.iter_mut().for_each(Work::cancel));
    told(Ok(()))
}

#[derive(Deserialize)]
struct Lambda {
    lambda: f64,
}

async fn slide(State(studio): Shared, Json(Lambda { lambda }): Json<Lambda>) -> Response {
    aside(move || {
        let Some(fitted) = studio.session().fitted.clone() else { return Err(Error::request("fit first")) };
        let began = Instant::now();
        let in_time = |_: &_| match began.elapsed() > SLIDE_SECONDS_MAX {
            true => Watch::Stop(Status::TimeLimit),
            false => Watch::Continue,
        };
        {
            let mut models = fitted.models.lock().unwrap_or_else(PoisonError::into_inner);
            let Models::Sliding(slider) = &mut *models else {
                return Err(Error::request(fitted.fixed_because.unwrap_or("lambda cannot be moved")));
            };
            slider.slide(lambda, &mut { in_time })?;
        }
        let seconds = began.elapsed().as_secs_f64();
        let report = studio.report(&fitted)?;
        studio.change(|session| {
            let same = |now: &&mut crate::session::Fitted| Arc::ptr_eq(&now.models, &fitted.models);
            if let Some(now) = session.fitted.as_mut().filter(same) {
                (now.lambda, now.moved) = (lambda, true);
            }
        });
        let mut moved = live::moved(&report)?;
        moved["seconds"] = json!(seconds);
        moved["status"] = json!(report.outcome.status);
        Ok(moved)
    })
    .await
}

/// The whole page again, after lambda came to rest.
async fn redraw(State(studio): Shared) -> Response {
    aside(move || studio.show_fit().map(|()| json!({}))).await
}

/// Who shaped a node; nodes are looked up by name, since large networks are drawn in part.
async fn node(State(studio): Shared, Query(Named { name, .. }): Query<Named>) -> Response {
    aside(move || {
        let Some(fitted) = studio.session().fitted.clone() else { return Ok(json!({ "pulls": [] })) };
        let models = fitted.models.lock().unwrap_or_else(PoisonError::into_inner);
        let fit = models.fit();
        let found = fit.input.names.iter().position(|other| *other == name);
        let node = found.ok_or_else(|| Error::request(format!("there is no node `{name}`")))?;
        Ok(json!({ "pulls": pulls(fit, node), "degree": fit.input.graph.degree(node) }))
    })
    .await
}

async fn report(State(studio): Shared) -> Response {
    let Some(fitted) = studio.session().fitted.clone() else {
        return (StatusCode::NOT_FOUND, "there is no report yet: fit first").into_response();
    };
    let page = tokio::task::spawn_blocking(move || Ok(render(&studio.report(&fitted)?)?)).await;
    match page.unwrap_or_else(|_| Err(Error::request("the report could not be drawn"))) {
        Ok(page) => {
            ([(CONTENT_TYPE, "text/html"), (CONTENT_DISPOSITION, "attachment; filename=\"report.html\"")], page)
                .into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
