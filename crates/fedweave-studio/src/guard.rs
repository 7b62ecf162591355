//! Who may ask. The page of another site can send requests to this machine, too, with the cookies of the browser: every request must come
//! to this address (a name that was made to point here is refused), from this page or from nowhere, and carry the secret that was printed.

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, LOCATION, ORIGIN, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};

/// What the page may load: itself. Styles stand in attributes, too: bars have widths.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Says where a request comes from; every browser of today sends it.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The secret of a studio and its address.
#[derive(Clone)]
pub struct Guard {
    token: String,
    port: u16,
}

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    Host,
    CrossSite,
    Token,
}

impl Guard {
    /// A new secret.
    pub fn new(port: u16) -> Self {
        Guard { token: format!("{:032x}", rand::random::<u128>()), port }
    }

    /// The address to open.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.port, self.token)
    }

    /// Cookies do not tell ports apart.
    fn cookie(&self) -> String {
        format!("fedweave-studio-{}", self.port)
    }

    fn judge(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let hosts = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{}", self.port));
        if !text(&HOST).is_some_and(|host| hosts.iter().any(|own| own == host)) {
            return Err(Refusal::Host);
        }
        let own = |origin: &str| hosts.iter().any(|host| origin == format!("http://{host}"));
        if text(&ORIGIN).is_some_and(|origin| !own(origin)) {
            return Err(Refusal::CrossSite);
        }
        let opened = method == Method::GET && uri.path() == "/";
        match text(&FETCH_SITE) {
            Some("same-origin") => {}
            // An address that was typed or clicked on opens the page, and does nothing else.
            Some("none") if method == Method::GET => {}
            Some(_) if opened => {}
            // Programs that are no browsers; what changes something then has to say where it comes from.
            None if method == Method::GET || text(&ORIGIN).is_some_and(own) => {}
            _ => return Err(Refusal::CrossSite),
        }
        let told = token_of(uri).or_else(|| cookie(headers, &self.cookie()));
        if told.is_some_and(|told| equal(told, &self.token)) { Ok(()) } else { Err(Refusal::Token) }
    }
}

/// The secret in the address.
fn token_of(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix("token="))
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let pairs = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok()).flat_map(|all| all.split(';'));
    pairs.filter_map(|pair| pair.trim().split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// In a time that does not tell how much was right.
fn equal(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

/// Refuses who may not ask, moves the secret from the address into a cookie, and says what pages may load.
pub async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let mut response = match guard.judge(request.method(), request.uri(), request.headers()) {
        Err(refusal) => refusal.into_response(),
        Ok(()) if request.uri().path() == "/" && token_of(request.uri()).is_some() => {
            let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", guard.cookie(), guard.token);
            (StatusCode::SEE_OTHER, [(LOCATION, "/".to_owned()), (SET_COOKIE, cookie)]).into_response()
        }
        Ok(()) => next.run(request).await,
    };
    let fixed = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in fixed {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (title, words) = match self {
            Refusal::Token => (
                "This address has no key, or an old one",
                "Open the address that <code>fedweave studio</code> printed in the terminal: it ends in \
                 <code>?token=…</code>. Every start of the studio has a new one.",
            ),
            Refusal::CrossSite => ("Refused", "This request came from another site. Nothing was done."),
            Refusal::Host => ("Refused", "This request was meant for another host. Nothing was done."),
        };
        let page = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
             <title>Fedweave studio</title><link rel=\"icon\" href=\"data:,\">\
             <body style=\"font:16px/1.5 system-ui;max-width:36em;margin:4em auto;padding:0 1em\"><main><h1>{title}</h1><p>{words}</p>\
             </main></body></html>"
        );
        (StatusCode::FORBIDDEN, Html(page)).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(method: Method, uri: &str, headers: &[(&'static str, &str)]) -> Result<(), Refusal> {
        let guard = Guard { token: "secret".into(), port: 7 };
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            all.insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        }
        guard.judge(&method, &uri.parse().unwrap(), &all)
    }

    const HERE: (&str, &str) = ("host", "127.0.0.1:7");
    const KEY: (&str, &str) = ("cookie", "other=1; fedweave-studio-7=secret");
    const SAME: (&str, &str) = ("sec-fetch-site", "same-origin");

    #[test]
    fn the_page_may_ask() {
        assert_eq!(judged(Method::GET, "/?token=secret", &[HERE, ("sec-fetch-site", "none")]), Ok(()));
        assert_eq!(judged(Method::POST, "/fit", &[HERE, KEY, SAME, ("origin", "http://127.0.0.1:7")]), Ok(()));
        assert_eq!(judged(Method::GET, "/events", &[HERE, KEY, SAME]), Ok(()));
    }

    #[test]
    fn no_other_site_starts_work() {
        let refused = Err(Refusal::CrossSite);
        let evil = ("origin", "https://evil.example");
        assert_eq!(judged(Method::POST, "/fit", &[HERE, KEY, evil]), refused);
        for site in ["cross-site", "same-site", "none"] {
            assert_eq!(judged(Method::POST, "/fit", &[HERE, KEY, ("sec-fetch-site", site)]), refused);
        }
        assert_eq!(judged(Method::GET, "/report.js", &[HERE, KEY, ("sec-fetch-site", "cross-site")]), refused);
        assert_eq!(judged(Method::POST, "/fit", &[HERE, KEY, ("origin", "null")]), refused);
        assert_eq!(
            judged(Method::POST, "/fit", &[HERE, KEY]),
            refused,
            "no browser, and no word of where it comes from"
        );
    }

    #[test]
    fn other_names_of_this_machine_and_wrong_secrets_are_refused() {
        assert_eq!(judged(Method::GET, "/", &[("host", "evil.example:7"), KEY]), Err(Refusal::Host));
        assert_eq!(judged(Method::GET, "/", &[("host", "127.0.0.1:8"), KEY]), Err(Refusal::Host));
        assert_eq!(judged(Method::GET, "/?token=guess", &[HERE]), Err(Refusal::Token));
        assert_eq!(judged(Method::GET, "/", &[HERE]), Err(Refusal::Token));
        assert_eq!(judged(Method::GET, "/", &[HERE, ("cookie", "fedweave-studio-8=secret")]), Err(Refusal::Token));
    }
}
