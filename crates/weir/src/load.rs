//! `weir load`: flags to a run, and what it came to.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;

use clap::{Arg, ArgMatches, Command};
use load::arrivals::{Arrivals, Gaps};
use load::behaviour::{Behaviour, Keeps};
use load::engine::{self, Failure, Plan, Summary};
use load::record::{Outcome, Record};
use load::stop::Stop;
use load::url::Url;
use load::workload::one_url::OneUrl;
use measure::Duration;
use measure::draw::Draw;

use crate::{machine, shown, usage};

/// Descriptors that are not connections: the standard ones, the poller, files.
const SPARE_DESCRIPTORS: u64 = 64;

pub(crate) fn load(flags: &ArgMatches) -> ExitCode {
    let (plan, url) = match plan(flags) {
        Ok(plan) => plan,
        Err(Failure::Operator(what)) => return usage(&what),
        Err(Failure::Machine(what)) => return machine(&what),
    };
    let mut tally = Tally::default();
    match engine::run(&plan, &mut OneUrl::new(&url.target), &mut |record| tally.collect(record)) {
        Err(Failure::Operator(what)) => usage(&what),
        Err(Failure::Machine(what)) => machine(&what),
        Ok(summary) => {
            shown(&tally.told(&plan, &summary));
            // Nobody can compare servers by a run that none of them has answered.
            if tally.good > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
    }
}

pub(crate) fn command() -> Command {
    let flag = |name, value, help| {
        Arg::new(name).long(name).value_name(value).help(help).allow_hyphen_values(true)
    };
    let rate = "Connections a second, each with one request, begun whatever the server does";
    let clients = "Clients, each of which asks again as soon as it is answered [default: 64]";
    let most = "Connections open at once; who comes then is counted as not started \
                [default: as many as there are descriptors]";
    Command::new("load")
        .about("Asks a server for a URL and tells how it went")
        .arg(Arg::new("url").value_name("URL").required(true).help("http://host[:port][/path]"))
        .arg(flag("rate", "R", rate).conflicts_with("clients"))
        .arg(flag("clients", "N", clients))
        .arg(flag("duration", "S", "Seconds in which requests begin [default: 10]"))
        .arg(flag("patience", "S", "Seconds after which a client gives up [default: 15]"))
        .arg(flag("connections-max", "N", most))
        .arg(flag("seed", "N", "Of all random numbers [default: 1]"))
}

fn plan(flags: &ArgMatches) -> Result<(Plan, Url), Failure> {
    let operator = Failure::Operator;
    let text = |name| flags.get_one::<String>(name).map(String::as_str);
    let url: Url = text("url").unwrap_or_default().parse().map_err(operator)?;
    let (arrivals, keeps) = match number::<f64>(text("rate"), "rate").map_err(operator)? {
        Some(rate) => (Arrivals::Open(Gaps::Fixed { rate }), Keeps::Request),
        None => {
            let clients = number(text("clients"), "clients").map_err(operator)?.unwrap_or(64);
            (Arrivals::Closed { clients, think: Draw::Constant(0.0) }, Keeps::Client)
        }
    };
    let duration = seconds(text("duration"), "duration", 10.0).map_err(operator)?;
    let patience = seconds(text("patience"), "patience", 15.0).map_err(operator)?;
    let seed = number(text("seed"), "seed").map_err(operator)?.unwrap_or(1);
    let most = number(text("connections-max"), "connections-max").map_err(operator)?;
    let connections_max = connections_max(most)?;
    let plan = Plan {
        to: address(&url)?,
        host: url.authority.clone(),
        arrivals,
        behaviour: Behaviour {
            patience: Some(patience),
            keeps,
            connections_max,
            ..Behaviour::default()
        },
        stop: Stop {
            after: duration,
            sessions_max: None,
            warm_up: Duration::ZERO,
            interval: Duration::from_secs(1),
        },
        seed,
        begin: os::clock::monotonic(),
        part: engine::Part::WHOLE,
    };
    Ok((plan, url))
}

fn number<N: std::str::FromStr>(text: Option<&str>, name: &str) -> Result<Option<N>, String> {
    let parsed = text.map(|text| {
        text.parse().map_err(|_| format!("--{name} {text}: must be a positive number"))
    });
    parsed.transpose()
}

/// More than nothing, and less than a year.
fn seconds(text: Option<&str>, name: &str, default: f64) -> Result<Duration, String> {
    const YEAR: f64 = 366.0 * 24.0 * 3600.0;
    let seconds = number(text, name)?.unwrap_or(default);
    let span = Duration::try_from_secs_f64(seconds).ok();
    let sound = span.filter(|span| !span.is_zero() && seconds <= YEAR);
    sound.ok_or_else(|| format!("--{name} {seconds}: must be a positive number of seconds"))
}

/// As many as descriptors allow, or fewer.
fn connections_max(asked: Option<usize>) -> Result<usize, Failure> {
    let descriptors = os::limits::descriptors();
    let most = usize::try_from(descriptors.saturating_sub(SPARE_DESCRIPTORS)).unwrap_or(usize::MAX);
    match asked {
        Some(asked) if asked > most => Err(Failure::Machine(format!(
            "--connections-max {asked}: this process may have {descriptors} descriptors open \
             (ulimit -n), of which {most} can be connections"
        ))),
        _ => Ok(asked.unwrap_or(most)),
    }
}

/// The first address of a host.
fn address(url: &Url) -> Result<SocketAddr, Failure> {
    let unknown = |why: String| Failure::Machine(format!("{}: {why}", url.host));
    let found = (url.host.as_str(), url.port).to_socket_addrs();
    let first = found.map_err(|error| unknown(error.to_string()))?.next();
    first.ok_or_else(|| unknown(String::from("no address")))
}

/// What is kept of a run.
#[derive(Default)]
struct Tally {
    good: u64,
    bytes: u64,
    /// Of good replies, from their intended starts.
    total: Duration,
    longest: Duration,
    /// Of all requests: how long after their intended starts they were begun.
    all: u64,
    late: Duration,
    latest: Duration,
    others: BTreeMap<String, u64>,
}

impl Tally {
    fn collect(&mut self, record: &Record) {
        self.bytes += record.bytes;
        let late = record.started - record.intended;
        self.all += 1;
        self.late += late;
        self.latest = self.latest.max(late);
        if record.outcome == Outcome::Good {
            let took = record.ended - record.intended;
            self.good += 1;
            self.total += took;
            self.longest = self.longest.max(took);
        } else {
            *self.others.entry(format!("{:?}", record.outcome)).or_default() += 1;
        }
    }

    fn told(&self, plan: &Plan, summary: &Summary) -> String {
        let seconds = plan.stop.after.as_secs_f64();
        let mean = self.total.as_secs_f64() / self.good.max(1) as f64;
        let rate = self.good as f64 / seconds;
        let mut text = format!("{} good replies, {rate:.1} a second\n", self.good);
        let _ = writeln!(
            text,
            "response time {:.3} ms on the average, {:.3} ms at most",
            mean * 1e3,
            self.longest.as_secs_f64() * 1e3
        );
        let _ =
            writeln!(text, "{} bytes received, {} connections", self.bytes, summary.connections);
        let _ = writeln!(
            text,
            "begun {:.3} ms late on the average, {:.3} ms at most",
            self.late.as_secs_f64() / self.all.max(1) as f64 * 1e3,
            self.latest.as_secs_f64() * 1e3
        );
        for (outcome, count) in &self.others {
            let _ = writeln!(text, "{count} {outcome}");
        }
        if summary.missed > 0 {
            let _ = writeln!(text, "{} never begun: this machine is too slow", summary.missed);
        }
        text
    }
}
