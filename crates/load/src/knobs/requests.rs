//! What each request says, whatever it asks for.

use crate::behaviour::Body;
use crate::choices::Choices;
use crate::engine;
use crate::knob::Knob;
use crate::knob::values;
use crate::session::Method;
use crate::url;

const GROUP: &str = "What requests say";

pub(super) const HEADER: Knob<Choices> = Knob {
    name: "header",
    group: GROUP,
    value: "NAME: VALUE",
    reason: "sent with each request (-H); once for each of them",
    set: |choices, value| {
        choices.behaviour.headers.push(engine::header(value)?);
        Ok(())
    },
    show: |choices| match choices.behaviour.headers.as_slice() {
        [] => String::from(values::NONE),
        some => some.join("\n"),
    },
};

pub(super) const HOST: Knob<Choices> = Knob {
    name: "host",
    group: GROUP,
    value: "NAME[:PORT]",
    reason: "the host that requests name, for a server with several of them; by default the URL's",
    set: |choices, value| {
        if !url::is_authority(value) {
            return Err(String::from("has to be a host, as example.org or example.org:8080"));
        }
        choices.host = Some(value.into());
        Ok(())
    },
    show: |choices| choices.host.clone().unwrap_or_else(|| String::from("the URL's")),
};

pub(super) const METHOD: Knob<Choices> = Knob {
    name: "method",
    group: GROUP,
    value: "GET|HEAD|POST|PUT|DELETE|OPTIONS",
    reason: "how files are asked for (-m); by default the workload's own, mostly GET, and POST \
             with a --body",
    set: |choices, value| {
        choices.behaviour.method = Some(values::word(value, &Method::NAMES)?);
        Ok(())
    },
    show: |choices| {
        let method = choices.behaviour.method;
        method
            .map_or_else(|| String::from(OWN), |method| values::shown_word(&method, &Method::NAMES))
    },
};

pub(super) const BODY: Knob<Choices> = Knob {
    name: "body",
    group: GROUP,
    value: "FILE",
    reason: "what is in this file is sent as the content of each request for a file, 1 MiB at most",
    set: |choices, value| {
        choices.behaviour.body = Some(Body::read(value.into())?);
        Ok(())
    },
    show: |choices| match &choices.behaviour.body {
        None => String::from(values::NONE),
        Some(body) => body.file.display().to_string(),
    },
};

/// A default that the workload decides.
const OWN: &str = "its own";
