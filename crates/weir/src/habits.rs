//! Names that other programs have for what is a flag, an argument or a document here.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use config::keys;

/// What such a name leads to.
#[derive(Clone, Copy)]
enum Ours {
    /// The name that it has here.
    Name(&'static str),
    /// How it is done where there is no flag for it.
    Words(&'static str),
}

use Ours::{Name, Words};

/// Letters in which a name may differ from the one that was meant: a guess that is wrong costs more
/// than none.
pub(crate) const DIFFER_MAX: usize = 2;

/// Names, and what they lead to.
type Habit = (&'static [&'static str], Ours);

/// The names of `weir serve`'s flags in nginx, Caddy, static-web-server and the servers of Python
/// and Node. A letter on which these disagree is left out.
const OF_SERVE: &[Habit] = &[
    (&["--port", "-p", "--bind", "--address", "--addr", "-a", "-l", "--host"], Name("--listen")),
    (&["--directory", "--dir", "--root", "-r"], Name("DIR")),
    (&["--workers", "--worker-processes", "--jobs"], Name("--processes")),
    (&["--worker-connections", "--max-connections", "--maxconn"], Name("--connections-max")),
    (&["--browse", "--autoindex", "--directory-listing"], Name("--listing")),
    (&["--config-file", "-c", "--conf"], Name("--config")),
    (&["--spa", "-s", "--try-files", "--page-fallback"], Name("--fallback")),
    (&["--rate-limit", "--limit-req"], Name("--address-requests-per-s")),
    (&["--limit-conn"], Name("--address-connections-max")),
    (&["--log", "--log-file"], Name("--access-log")),
    (&["--timeout", "--keepalive-timeout", "--keep-alive"], Name("--idle-timeout-ms")),
    (
        &["--tls", "--tls-cert", "--tls-key", "--cert", "--key", "--https", "--ssl", "--domain"],
        Words("a proxy in front ends TLS: docs/host.md#https"),
    ),
    (
        &["--gzip", "--compress", "--compression", "--brotli"],
        Words(
            "a file beside the first, such as a.css.gz, is sent to clients that take it: \
             docs/configuration.md",
        ),
    ),
    (
        &["--auth", "--basic-auth", "--basicauth"],
        Words("a rule asks for passwords: docs/configuration.md#passwords"),
    ),
    (&["--cors"], Words("`cors` in a rule permits other origins: docs/configuration.md")),
    (
        &["--header", "--headers", "-H"],
        Words("`field` in a rule adds a header field: docs/configuration.md"),
    ),
    (
        &["--daemon", "--background"],
        Words("a service manager keeps it in the background: docs/host.md#systemd"),
    ),
    (&["--proxy", "--upstream"], Words("it serves files, and passes no request on")),
    (&["--index"], Words("the page of a directory is its index.html")),
];

/// The names of `weir load`'s flags in wrk, wrk2, ab, hey, oha, vegeta and k6. A letter on which
/// these disagree is left out.
const OF_LOAD: &[Habit] = &[
    (&["--port", "-p"], Name("host:port")),
    (&["--connections", "--concurrency", "--vus", "-u", "--users"], Name("--clients")),
    (&["-R", "--rps", "--qps", "-q"], Name("--rate")),
    (&["-z"], Name("--duration")),
    (&["--workers"], Name("--processes")),
    (&["--timeout"], Name("--patience")),
    (&["-X"], Name("--method")),
    (&["-o", "--output"], Name("--json")),
    (&["--iterations"], Name("--requests-max")),
    (&["--latency", "-L"], Words("times are always in the report")),
    (&["-k", "--keepalive"], Words("connections are kept, unless --keeps request says otherwise")),
    (&["--data", "-D", "--body-file"], Name("--body")),
    (&["--http2", "--http3"], Words("requests are HTTP/1.1 over TCP, without TLS")),
];

/// The names of what `weir` itself has.
const OF_WEIR: &[Habit] = &[(&["version", "-v"], Name("--version"))];

/// What was probably meant by a name that `tool` has not, in a sentence; `whose` is how the tool is
/// called. Only a name within two letters of one that there is, or one that another program has,
/// says enough for that.
pub(crate) fn meant(error: &clap::Error, tool: &Command, whose: &str) -> Option<String> {
    let written = |kind| match error.get(kind)? {
        ContextValue::String(one) => Some(one.as_str()),
        _ => None,
    };
    if let Some(command) = written(ContextKind::InvalidSubcommand) {
        let names: Vec<&str> = tool.get_subcommands().map(Command::get_name).collect();
        return habit(command, whose)
            .or_else(|| keys::meant(command, &names, DIFFER_MAX).map(named));
    }
    let flag = written(ContextKind::InvalidArg)?;
    if let Some(ContextValue::Strings(values)) = error.get(ContextKind::ValidValue) {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        return keys::meant(written(ContextKind::InvalidValue)?, &values, DIFFER_MAX).map(named);
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let like = || {
        let name = flag.strip_prefix("--")?;
        let names: Vec<&str> = tool.get_arguments().filter_map(clap::Arg::get_long).collect();
        keys::meant(name, &names, DIFFER_MAX).map(|near| named(&format!("--{near}")))
    };
    habit(flag, whose).or_else(like)
}

fn habit(name: &str, whose: &str) -> Option<String> {
    let of_tool: &[&[Habit]] = match whose {
        "weir" => &[OF_WEIR, OF_SERVE],
        "weir serve" => &[OF_SERVE],
        "weir load" => &[OF_LOAD],
        _ => return None,
    };
    let mut all = of_tool.iter().copied().flatten();
    Some(match all.find(|(names, _)| names.contains(&name))?.1 {
        Name(ours) => named(ours),
        Words(words) => String::from(words),
    })
}

fn named(name: &str) -> String {
    format!("did you mean `{name}`?")
}
