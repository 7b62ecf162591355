//! Who may say what: rules of the engine that name every key and every certificate, and deny all else.
//!
//! A frame from `a` to `b` travels on `fw/<federation>/frame/b/<identity of a>/<session>`, a sign of life of `a` on
//! `fw/<federation>/alive/<identity of a>/<session>`. A neighbour may publish under its own identity and towards us only,
//! so that the key tells who sent a frame.

use serde_json::{Value, json};

use super::settings::{Link, Neighbour};
use crate::certs::{Identity, RevocationList};

/// The keys of one federation.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    root: String,
}

impl Keys {
    pub fn new(federation: &str) -> Keys {
        Keys { root: format!("fw/{federation}") }
    }

    /// Frames to `to` from one session of `from`.
    pub fn frame(&self, to: &str, from: &Identity, session: &str) -> String {
        format!("{}/frame/{to}/{from}/{session}", self.root)
    }

    /// All frames to `to`.
    pub fn frames(&self, to: &str) -> String {
        format!("{}/frame/{to}/**", self.root)
    }

    /// The sign of life of one session.
    pub fn alive(&self, who: &Identity, session: &str) -> String {
        format!("{}/alive/{who}/{session}", self.root)
    }

    /// All signs of life.
    pub fn all_alive(&self) -> String {
        format!("{}/alive/**", self.root)
    }

    /// The sender in a key of a frame or a sign of life: the last two steps.
    pub fn sender<'k>(&self, key: &'k str) -> Option<(Identity, &'k str)> {
        let (rest, session) = key.rsplit_once('/')?;
        let (_, identity) = rest.rsplit_once('/')?;
        let plain = !session.is_empty() && session.bytes().all(|b| b.is_ascii_alphanumeric());
        plain.then_some((Identity::parse(identity)?, session))
    }
}

/// The rules of a part.
pub(super) fn rules(link: &Link, keys: &Keys, neighbours: &[Neighbour], revoked: &RevocationList) -> Value {
    let me = link.identity();
    let (mut rules, mut subjects, mut policies) = (Vec::new(), Vec::new(), Vec::new());
    for neighbour in neighbours {
        for identity in revoked.admissible(&neighbour.name, &me.federation) {
            let id = identity.to_string();
            let mut names = Vec::new();
            for (k, (flow, message, key)) in permissions(keys, &me, &identity).into_iter().enumerate() {
                names.push(format!("{id} {k}"));
                rules.push(json!({
                    "id": names[k], "permission": "allow", "flows": [flow], "messages": [message], "key_exprs": [key],
                }));
            }
            subjects.push(match link {
                Link::Tls(_) => json!({ "id": id, "cert_common_names": [id], "link_protocols": ["tls"] }),
                Link::LoopbackPlaintext { .. } => json!({ "id": id, "link_protocols": ["tcp"] }),
            });
            policies.push(json!({ "rules": names, "subjects": [id] }));
        }
    }
    json!({
        "enabled": true, "default_permission": "deny", "rules": rules, "subjects": subjects, "policies": policies,
    })
}

/// What may pass between us and `them`.
fn permissions(keys: &Keys, me: &Identity, them: &Identity) -> Vec<(&'static str, &'static str, String)> {
    let any = "*";
    vec![
        ("ingress", "put", keys.frame(&me.name, them, any)),
        ("ingress", "liveliness_token", keys.alive(them, any)),
        ("ingress", "declare_subscriber", keys.frames(&them.name)),
        ("ingress", "declare_liveliness_subscriber", keys.all_alive()),
        ("ingress", "liveliness_query", keys.all_alive()),
        ("egress", "put", keys.frame(&them.name, me, any)),
        ("egress", "liveliness_token", keys.alive(me, any)),
        ("egress", "declare_subscriber", keys.frames(&me.name)),
        ("egress", "declare_liveliness_subscriber", keys.all_alive()),
        ("egress", "liveliness_query", keys.all_alive()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sender_is_in_the_key_and_only_a_plain_key_has_one() {
        let keys = Keys::new("f");
        let east = Identity { name: "east".into(), issue: 2, federation: "f".into() };
        assert_eq!(keys.sender(&keys.frame("north", &east, "5e")), Some((east.clone(), "5e")));
        assert_eq!(keys.sender(&keys.alive(&east, "5e")), Some((east.clone(), "5e")));
        assert_eq!(keys.sender(&keys.frame("north", &east, "*")), None);
        assert_eq!(keys.sender("fw/f/frame/north/*/5e"), None);
        assert_eq!(keys.sender(""), None);
    }

    #[test]
    fn a_neighbour_may_publish_on_its_own_key_to_us_and_nowhere_else() {
        let (east, north) = (identity("east"), identity("north"));
        let puts: Vec<_> = permissions(&Keys::new("f"), &east, &north)
            .into_iter()
            .filter(|(flow, message, _)| (*flow, *message) == ("ingress", "put"))
            .map(|(_, _, key)| key)
            .collect();
        assert_eq!(puts, ["fw/f/frame/east/north+1@f/*"]);
    }

    fn identity(name: &str) -> Identity {
        Identity { name: name.into(), issue: 1, federation: "f".into() }
    }
}
