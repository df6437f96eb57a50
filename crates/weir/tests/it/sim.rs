//! `weir sim` as a user meets it: what it lists and says, and what is said to who asks wrongly.

use std::io::Read;
use std::process::{Command, Output, Stdio};

use crate::support::server::send;
use crate::support::terminal::Shown;
use harness::{KilledOnDrop, Need, await_end};
use rustix::process::Signal;

fn command(args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.arg("sim").args(args.split_whitespace());
    command
}

fn weir(args: &str) -> Output {
    harness::output(&mut command(args)).expect("weir runs")
}

/// One that takes no time.
const SMALL: &str = "--workload choi-clarknet --set trace-scale=0.05 --memory-mb 10 --clients 20 \
    --warm-up 1 --measured 2 --replications 2";

#[test]
fn what_there_is_is_listed() {
    let listed = weir("list");
    let text = String::from_utf8(listed.stdout).expect("UTF-8");
    for part in ["  mp ", "  pipelined ", "processes=16 for each", "  choi05 ", "  weir "] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// Of a set, also of one model, and with the range and the source.
#[test]
fn what_everything_costs_is_listed() {
    let rows = [
        ("choi05", "\ndisk-latency: from a request of the disk to its first byte\n  "),
        ("choi05", "\n  10 ms (1 to 100); "),
        ("choi05", "\n  yes (yes, no); "),
        ("weir", "\n  mt "),
        ("weir", "; command: weir lab run parameters: "),
    ];
    for (set, part) in rows {
        let text = String::from_utf8(weir(&format!("list {set}")).stdout).expect("UTF-8");
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn the_same_seed_says_the_same() {
    let runs = ["", "", " --seed 9"].map(|more| weir(&format!("run sped {SMALL}{more}")));
    let [one, again, other] = runs.map(|run| String::from_utf8(run.stdout).expect("UTF-8"));
    assert!(one.contains("replies/s") && one.contains("Simulated: sped on 1 processor"), "{one}");
    assert_eq!(one, again);
    assert_ne!(one, other);
}

#[test]
fn all_of_it_can_be_read_by_programs() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    weir(&format!("run mt {SMALL} --json {}", file.path().display()));
    let text = std::fs::read_to_string(file.path()).expect("UTF-8");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&json["simulated"], &json["model"]), (&true.into(), &"mt".into()));
    assert_eq!(json["runs"].as_array().map(Vec::len), Some(2));
    assert!(json["told"]["replies/s"]["mean"].as_f64().is_some_and(|mean| mean > 0.0), "{text}");
    assert_eq!(json["parameters"]["slice"]["value"], 1e7);
    // How long a connection is kept is told where nobody has said it, too.
    assert_eq!((&json["keeps"], &json["rate"]), (&"request".into(), &serde_json::Value::Null));
}

/// Whatever can be asked stands there, so that the same can be asked again.
#[test]
fn all_that_was_asked_can_be_read_by_programs() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let asked = "run mt:threads=9 --workload one-packet --set bytes=4096 --set slice=3 \
        --rate 200 --gaps poisson --keeps client --patience 3 --clients 77 --cache-policy s3-fifo \
        --processors 2 --memory-mb 33 --warm-up 1 --measured 4 --replications 3 --seed 5";
    let told = weir(&format!("{asked} --json {}", file.path().display()));
    assert!(told.status.success(), "{told:?}");
    let text = std::fs::read_to_string(file.path()).expect("UTF-8");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for (name, expected) in [
        ("/knobs", serde_json::json!([["threads", "9"]])),
        ("/workload", "one-packet".into()),
        ("/settings/bytes", "4096".into()),
        ("/parameters_name", "choi05".into()),
        ("/parameters/slice/value", 3e6.into()),
        ("/rate", 200.0.into()),
        ("/gaps", "poisson".into()),
        ("/keeps", "client".into()),
        ("/patience", "3".into()),
        ("/clients", 77.into()),
        ("/cache_policy", "s3-fifo".into()),
        ("/processors", 2.into()),
        ("/memory_bytes", (33 << 20).into()),
        ("/warm_up_s", 1.0.into()),
        ("/measured_s", 4.0.into()),
        ("/replications", 3.into()),
        ("/seed", 5.into()),
    ] {
        assert_eq!(json.pointer(name), Some(&expected), "{name}");
    }
    let per_s = json["told"]["replies/s"]["mean"].as_f64().expect("a number");
    assert!((per_s / 200.0 - 1.0).abs() < 0.1, "{per_s}");
}

/// Who cannot begin all that he was asked for has simulated something else.
#[test]
fn an_open_loop_with_too_few_clients_is_invalid() {
    let told = weir(
        "run sped --workload one-packet --rate 9000 --clients 10 --warm-up 0 --measured 2 \
         --replications 1",
    );
    let text = String::from_utf8(told.stderr).expect("UTF-8");
    assert!(text.contains("sessions could not begin, as all clients were busy"), "{text}");
    assert_eq!((text.lines().count(), told.status.code()), (1, Some(1)), "{text}");
}

/// In words, and of what a terminal shows.
type Seen = (&'static str, fn(&str) -> bool);

/// Stopped as soon as each of these is seen.
struct Stopped {
    asked: &'static str,
    seen: &'static [Seen],
    status: i32,
    said: &'static str,
    has_figures: bool,
}

/// Some of a thousand.
fn some_are_done(all: &str) -> bool {
    let mut counts = all.split(" of 1000 replications done");
    counts.any(|before| before.ends_with(|c| ('1'..='9').contains(&c)))
}

fn begins(all: &str) -> bool {
    all.contains("0 of 1000 replications done")
}

fn is_stopping(all: &str) -> bool {
    all.contains("weir: stopping, with what is done; ^C once more ends it at once\r\n")
}

/// A request takes a nanosecond of simulated time, so that no test sees the end of a second.
const ENDLESS: &str = "run sped --workload one-packet --set accept=0 --set receive=0.001 \
    --set header=0 --set path-lookup=0 --set path-miss=0 --set cache-lookup=0 \
    --set transmit=0";

const STOPPED: [Stopped; 3] = [
    Stopped {
        asked: "run mt --workload choi-clarknet --set trace-scale=0.05 --memory-mb 10 \
            --clients 20 --warm-up 1 --measured 2",
        seen: &[("replications that are done", some_are_done)],
        status: 130,
        said: " of 1000 replications are done\r\n",
        has_figures: true,
    },
    Stopped {
        asked: "run mt --measured 1000000",
        seen: &[("the beginning", begins)],
        status: 130,
        said: "weir: stopped before any of 1000 replications was done\r\n",
        has_figures: false,
    },
    Stopped {
        asked: ENDLESS,
        seen: &[("the beginning", begins), ("that it is stopping", is_stopping)],
        status: 130,
        said: "",
        has_figures: false,
    },
];

/// By ^C, and at once by one more.
#[test]
fn who_stops_has_what_is_done() {
    if harness::lacks(&[Need::File("/dev/ptmx")]) {
        return;
    }
    for of in STOPPED {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let json = file.path().display();
        let (terminal, shown) = Shown::new();
        let mut command = command(&format!("{} --replications 1000 --json {json}", of.asked));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(terminal);
        let mut run = KilledOnDrop(command.spawn().expect("it starts"));
        drop(command);
        for (what, is) in of.seen {
            shown.until(what, is);
            send(run.0.id(), Signal::INT);
        }
        let status = await_end(&mut run.0);
        let mut text = String::new();
        run.0.stdout.take().expect("output").read_to_string(&mut text).expect("UTF-8");
        let said = shown.rest();
        assert_eq!(status.code(), Some(of.status), "{}: {said}", of.asked);
        assert!(said.contains(of.said), "{}: {said:?}", of.asked);
        assert!(of.seen.len() > 1 || is_stopping(&said), "{}: {said:?}", of.asked);
        assert_eq!(text.contains("replies/s"), of.has_figures, "{}: {text}", of.asked);
        let text = std::fs::read_to_string(file.path()).expect("UTF-8");
        if of.has_figures {
            let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(json["replications"], 1_000);
            let runs = json["runs"].as_array().map_or(0, Vec::len);
            assert!((1..1_000).contains(&runs), "{runs}");
            assert!(said.contains(&format!("weir: stopped: {runs} of 1000")), "{said:?}");
        } else {
            assert_eq!(text, "", "{}", of.asked);
        }
    }
}

/// Who is dropped or gives up has a line, where anybody is.
#[test]
fn drops_are_told_where_there_are_some() {
    for (set, is_dropped) in [("100000", false), ("3", true)] {
        let told = weir(&format!("run sped {SMALL} --set backlog={set}"));
        let text = String::from_utf8(told.stdout).expect("UTF-8");
        let line = "AcceptQFull, of each request asked for ";
        assert_eq!(text.contains(line), is_dropped, "{text}");
        assert!(!text.contains("SynQFull") && !text.contains("given up"), "{text}");
    }
}

/// What is asked, and how the one line begins that is said to that.
#[test]
fn who_asks_wrongly_is_told_in_one_line() {
    let rows = [
        ("list nix", "nix: is no file, and none of choi05, weir"),
        ("run spd", "there is no model spd; there are: mp, mt, sped, amped, pipelined"),
        ("run knot", "there is no model knot: it is an architecture that has no model yet"),
        ("run sped:threads=2", "the model of sped has no knob threads; it has: processes"),
        ("run mt:threads=0", "mt: threads=0: has to be from 1 to"),
        ("run mt:threads", "threads: has to be NAME=VALUE"),
        ("run amped:helpers=1", "amped: helpers=1: has to be from 2 to"),
        ("run mt --set slise=1", "--set there is no parameter slise; did you mean slice?"),
        ("run mt --set slice=-1", "--set slice: has to be from 0 on and finite, and is -1"),
        (
            "run mt --set slice=1e12",
            "--set slice: has to be 32000000000 at most, and is 1000000000000",
        ),
        ("run mt --set slice=NaN", "--set slice: has to be from 0 on and finite, and is NaN"),
        ("run mt --set contents=some", "--set contents: has to be shared or private"),
        (
            "run mt --parameters no/such",
            "--parameters no/such: is no file, and none of choi05, weir",
        ),
        ("run mt --workload choi-nosa", "there is no workload choi-nosa"),
        ("run mt --memory-mb 1", "mt: of 1 MiB of memory processes take 0, threads take 2"),
        (
            "run sped --parameters weir --set connection-bytes=18446744073709552",
            "sped: of 4096 MiB of memory processes take",
        ),
        (
            "run mt --set receive=0 --set header=0 --set path-lookup=0 --set cache-lookup=0 --set \
             accept=0 --set transmit=0 --set round-trip=0.000001",
            "in a closed loop a request has to take some time: let receive, header,",
        ),
        ("run mt --processors 0", "--processors 0: has to be from 1 to 1024"),
        ("run mt --rate 0", "--rate 0: a rate is a number from"),
        ("run mt --rate NaN", "--rate NaN: a rate is a number from"),
        ("run mt --gaps poisson", "--gaps poisson: gaps are those of a --rate"),
        ("run mt --rate 9 --gaps wide", "--gaps wide: has to be one of fixed, poisson"),
        ("run mt --keeps ever", "--keeps ever: has to be one of request, session, client"),
        ("run mt --patience never", "--patience never: has to be a number of seconds above 0"),
        ("run mt --set trace-scale=x", "--set trace-scale x: has to be a number from 0.001 to 100"),
        ("run mt --workload one-packet --set slice=5 --set bytes=", "--set bytes : has to be"),
        ("run mt --set recency=0", "--set recency: choi-penn-state-cse has no such knob"),
        ("run mt --cache-policy lruu", "--cache-policy lruu: has to be one of lru, lfu"),
        ("sweep choi05 --beside no/such", "no/such: there are no results"),
        ("sweep choi06", "choi06: no such sweep; did you mean choi05?"),
    ];
    for (asked, expected) in rows {
        let told = weir(asked);
        let text = String::from_utf8(told.stderr).expect("UTF-8");
        // The parameters that are shipped were measured on one processor, and this may be another.
        let is_other = |line: &&str| !line.contains(": they were measured on the processor ");
        let text: String = text.split_inclusive('\n').filter(is_other).collect();
        let line = text.strip_prefix("weir: ").unwrap_or(&text);
        assert!(line.starts_with(expected), "{asked}: {text}");
        assert_eq!(text.lines().count(), 1, "{asked}: {text}");
        assert_eq!(told.status.code(), Some(2), "{asked}: {text}");
    }
}

/// Sets of parameters that cannot be, beside the one that is shipped.
#[test]
fn parameters_have_units_ranges_and_sources() {
    let shipped = include_str!("../../../sim/src/parameters/choi05.toml");
    // Of the slice: what stands there, what stands there then, and what is said to it.
    let rows = [
        ("value = 10", "value = -10", "[slice]: has to be from 0 on and finite, and is -10"),
        ("value = 10", "value = nan", "[slice]: has to be from 0 on and finite, and is NaN"),
        ("value = 10", "value = inf", "[slice]: has to be from 0 on and finite, and is inf"),
        ("range = [1", "range = [-1", "[slice]: range: has to be from 0 on and finite, and is -1"),
        ("[thread", "[mt.slise]\nvalue = 1\n[thread", "[mt.slise]: there is no parameter slise"),
        ("[thread", "[mt.slice]\nvalue = 1\n[thread", "[mt.slice]: missing field"),
        ("[thread", "[not.slice]\nvalue = 1\n[thread", "there is no parameter not"),
        ("[thread", "[slices]\nvalue = 1\n[thread", "there is no parameter slices; did you"),
        ("unit = \"ms\"", "unit = \"MB\"", "[slice]: unit"),
        ("value = 10", "value = 1000", "[slice]: value lies outside"),
        ("source = \"assumed: ", "source = \"", "[slice]: source has to say where"),
        ("value = 10", "value = \"x\"", "[slice]: has to be a number"),
        ("[slice]", "[slise]", "[slice] is missing: how long"),
        ("range =", "ranges =", "[slice]: unknown field"),
    ];
    let file = tempfile::NamedTempFile::new().expect("a file");
    let path = file.path().display().to_string();
    for (was, is, expected) in rows {
        let (before, of_slice) = shipped.split_once("[slice]").expect("a slice");
        let of_slice = format!("[slice]{of_slice}").replacen(was, is, 1);
        let text = format!("{before}{of_slice}");
        assert_ne!(text, shipped, "{expected}");
        std::fs::write(&path, text).expect("written");
        let told = weir(&format!("run sped --parameters {path} {SMALL}"));
        let text = String::from_utf8(told.stderr).expect("UTF-8");
        assert!(text.starts_with(&format!("weir: {path}: {expected}")), "{text}");
        assert_eq!((text.lines().count(), told.status.code()), (1, Some(2)), "{text}");
    }
}

/// A model's own value counts for it, and for nobody else; and whose processor is another one is
/// told, and has his figures.
#[test]
fn parameters_may_be_a_models_own_and_a_machines_own() {
    let shipped = include_str!("../../../sim/src/parameters/choi05.toml");
    let file = tempfile::NamedTempFile::new().expect("a file");
    let path = file.path().display().to_string();
    let own = "[mt.receive]\nvalue = 1\nunit = \"ms\"\nrange = [1, 1]\nsource = \"assumed: x\"\n";
    let of_none = "processor = \"of none\"\n";
    std::fs::write(&path, format!("{of_none}{shipped}{own}")).expect("written");
    for (model, expected) in [("mt", 1e6), ("sped", 4e4)] {
        let json = tempfile::NamedTempFile::new().expect("a file");
        let to = json.path().display();
        let told = weir(&format!("run {model} --parameters {path} {SMALL} --json {to}"));
        let warning = String::from_utf8(told.stderr).expect("UTF-8");
        let begins = "weir: parameters choi05: they were measured on the processor \"of none\"";
        assert!(warning.starts_with(begins) && warning.lines().count() == 1, "{warning}");
        assert!(told.status.success(), "{warning}");
        let text = std::fs::read_to_string(json.path()).expect("UTF-8");
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(json["parameters"]["receive"]["value"], expected, "{model}");
    }
}
