//! Passwords that are guessed: whoever guesses pays with his own time, and nobody else's.

mod processes;

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use rustix::process::Signal;

use crate::support::chosen::on_mechanisms_alone;
use crate::support::combination::{Combination, Program, combinations};
use crate::support::fixture::{DIGITS, Fixture};
use crate::support::metrics::counted;
use crate::support::processes::{niceness, threads, workers_of};
use crate::support::server::Server;
use crate::support::wire::{Head, Wire};
use crate::support::{PATIENCE, await_true, rights};

/// That of `secret`, as cheap as it may be, of three users.
const CHEAP: &str = "$2y$04$juphMykJHYIGv88W4iE/eOPYdm0q1k.fQ.rkp6yhkh9L4mbk1qBOi";
/// That of `secret`, which takes so long that others ask meanwhile.
const SLOW: &str = "$2y$08$Nwb3h4F0MheQSCs25tnZo.0sHbFDICtakUyBF33tLTfz2kA4LiOA.";
/// Seconds of a processor: no test waits for the end of one.
const ENDLESS: &str = "$2y$16$Nwb3h4F0MheQSCs25tnZo.0sHbFDICtakUyBF33tLTfz2kA4LiOA.";

/// More than the verifiers have in hand and let wait.
const MANY: u32 = 40;

/// Of one address at the same time, in hand and waiting.
const OF_ADDRESS: u32 = 8;

const HERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

const UNLIMITED: &[&str] = &["--auth-failures-per-min", "0"];
const FAILS_OFTEN: &[&str] = &["--auth-failures-per-min", "1000"];
/// So many that one is left over in no test's time.
const TWO_A_MINUTE: &[&str] = &["--auth-failures-per-min", "2"];

/// Also what is not in memory: the disk is nobody's who guesses.
#[test]
fn files_are_served_while_passwords_are_verified() {
    on_queues(|combination| {
        let flags = [UNLIMITED, &few_threads(combination)].concat();
        let stage = Stage::with(ENDLESS, combination, &flags);
        let _guesses = stage.guesses("slow", HERE);
        stage.await_asked(MANY);
        stage.await_who_gives_way();
        // A verdict may fall on any machine, but not all of them while this is served.
        let is_served_meanwhile = || {
            let before = stage.count("verifications");
            for target in ["/digits.txt", "/index.html", "/large.bin"] {
                let expected = stage.site.content(target);
                assert!(stage.server.fetch(target) == Ok(expected), "{combination}: {target}");
            }
            before < MANY && stage.count("verifications") == before
        };
        let served = (0..10).filter(|_| is_served_meanwhile()).take(3).count();
        assert_eq!(served, 3, "{combination}: files wait for verdicts");
        // Who comes when so many wait is told so at once, also when some have gone meanwhile.
        let mut more = Vec::new();
        let asks_until_refused = || {
            let (asked, refused) = (stage.count("requests"), stage.count("logins_refused"));
            more.push(stage.asking(&format!("slow:one more than {asked}"), HERE));
            stage.await_asked(asked + 1);
            stage.count("logins_refused") > refused
        };
        assert!(await_true(PATIENCE, asks_until_refused), "{combination}: the queue has no end");
        let (head, _) = more.pop().expect("one").reply(false).expect("a refusal");
        assert_eq!((head.status, head.field("retry-after")), (503, Some("1")), "{combination}");
    });
}

#[test]
fn an_address_fails_as_often_as_it_may() {
    on_queues(|combination| {
        let stage = Stage::start(combination, TWO_A_MINUTE);
        let status = |who: &str, from| stage.login(who, from).0.status;
        // Who is right has failed never, however often.
        for who in ["ann:secret", "bob:secret", "cid:secret", "ann:secret"] {
            assert_eq!(status(who, ELSEWHERE), 200, "{combination}: {who}");
        }
        assert_eq!(stage.count("verifications"), 3, "{combination}");
        for who in ["ann:1", "nobody:2"] {
            assert_eq!(status(who, ELSEWHERE), 401, "{combination}: {who}");
        }
        assert_eq!(stage.count("verifications"), 5, "{combination}");
        let (head, _) = stage.login("ann:3", ELSEWHERE);
        assert_eq!((head.status, head.field("retry-after")), (429, Some("30")), "{combination}");
        // What is known already costs nothing, and is told again.
        for (who, expected) in [("ann:1", 401), ("nobody:2", 401), ("ann:secret", 200)] {
            assert_eq!(status(who, ELSEWHERE), expected, "{combination}: {who}");
        }
        assert_eq!(stage.count("verifications"), 5, "{combination}: verified anew");
        assert_eq!(stage.count("logins_throttled"), 1, "{combination}");
        // Others are others.
        for (who, expected) in [("eve:secret", 200), ("ann:3", 401), ("ann:4", 401), ("ann:5", 429)]
        {
            assert_eq!(status(who, HERE), expected, "{combination}: {who}");
        }
        stage.server.stop();
    });
}

#[test]
fn a_balancers_client_fails_for_itself() {
    on_mechanisms_alone(Program::Weir, |combination| {
        let flags = [TWO_A_MINUTE, &["--proxy-protocol", "127.0.0.0/8"]].concat();
        let stage = Stage::start(combination, &flags);
        let rows = [("192.0.2.7", [401, 401, 429]), ("192.0.2.8", [401, 401, 429])];
        for (source, expected) in rows {
            for (n, expected) in expected.into_iter().enumerate() {
                let mut wire = stage.server.connect();
                let header = format!("PROXY TCP4 {source} 198.51.100.1 1 80\r\n");
                wire.send(header.as_bytes()).expect("sent");
                wire.get("/dir/", &said(&format!("ann:{source} {n}"))).expect("sent");
                let status = wire.reply(false).expect("a reply").0.status;
                assert_eq!(status, expected, "{combination}: {source}, {n}");
            }
        }
        stage.server.stop();
    });
}

#[test]
fn a_proxys_client_fails_for_itself() {
    on_mechanisms_alone(Program::Weir, |combination| {
        let flags = [TWO_A_MINUTE, &["--trusted-proxies", "127.0.0.1"]].concat();
        let stage = Stage::start(combination, &flags);
        let fails = |wire: &mut Wire, source: &str, expected: [u16; 3]| {
            for (n, expected) in expected.into_iter().enumerate() {
                let said = said(&format!("ann:{source} {n}"));
                let fields = format!("X-Forwarded-For: {source}\r\n{said}");
                wire.get("/dir/", &fields).expect("sent");
                let status = wire.reply(false).expect("a reply").0.status;
                assert_eq!(status, expected, "{combination}: {source}, {n}");
            }
        };
        let mut wire = stage.server.connect();
        fails(&mut wire, "192.0.2.7", [401, 401, 429]);
        fails(&mut wire, "192.0.2.8", [401, 401, 429]);
        // Nobody is somebody else because he says so.
        let key = combination.program.key();
        let elsewhere = Wire::connect_from(ELSEWHERE, stage.server.address, key);
        let mut wire = elsewhere.expect("a connection");
        fails(&mut wire, "192.0.2.9", [401, 401, 429]);
        fails(&mut wire, "192.0.2.10", [429, 429, 429]);
        stage.server.stop();
    });
}

/// One address has not all places to itself, however often it may fail.
#[test]
fn an_address_has_eight_places() {
    on_queues(|combination| {
        let stage = Stage::with(ENDLESS, combination, FAILS_OFTEN);
        let _guesses = stage.guesses("slow", ELSEWHERE);
        stage.await_asked(MANY);
        // Those whose verdict has fallen have left theirs.
        let rest = || MANY - stage.count("verifications") - OF_ADDRESS;
        // A thread counts that somebody asks before it counts what he is told.
        let are_told = await_true(PATIENCE, || stage.count("logins_throttled") >= rest());
        let throttled = stage.count("logins_throttled");
        let is_right = are_told && throttled <= MANY - OF_ADDRESS;
        assert!(is_right, "{combination}: {throttled} of {MANY} were throttled");
        let others: Vec<Wire> =
            (0..OF_ADDRESS).map(|n| stage.asking(&format!("slow:other {n}"), HERE)).collect();
        stage.await_asked(MANY + OF_ADDRESS);
        assert_eq!(stage.count("logins_throttled"), throttled, "{combination}: others' places");
        assert_eq!(stage.count("logins_refused"), 0, "{combination}: all places are taken");
        drop(others);
    });
}

#[test]
fn who_knows_a_password_gets_in_beside_who_guesses() {
    on_queues(|combination| {
        let stage = Stage::start(combination, FAILS_OFTEN);
        let guesses = stage.guesses("slow", ELSEWHERE);
        stage.await_asked(MANY);
        let (head, body) = stage.login("ann:secret", HERE);
        assert_eq!(head.status, 200, "{combination}");
        assert_eq!(body, stage.site.content("/dir/index.html"), "{combination}");
        let mut refused = 0;
        for mut wire in guesses {
            let status = wire.reply(false).expect("a reply").0.status;
            assert!(status == 401 || status == 429, "{combination}: {status}");
            refused += u32::from(status == 429);
        }
        assert_eq!(stage.count("logins_throttled"), refused, "{combination}");
        stage.server.stop();
    });
}

/// What many say at once is verified once for all.
#[test]
fn who_says_the_same_waits_for_the_same() {
    on_queues(|combination| {
        let stage = Stage::start(combination, UNLIMITED);
        for (who, expected) in [("slow:secret", 200), ("slow:wrong", 401)] {
            let mut asked: Vec<_> = (0..MANY).map(|_| stage.asking(who, HERE)).collect();
            for wire in &mut asked {
                let status = wire.reply(false).expect("a reply").0.status;
                assert_eq!(status, expected, "{combination}: {who}");
            }
        }
        assert_eq!(stage.count("verifications"), 2, "{combination}");
        stage.server.stop();
    });
}

/// They have no address: of whoever asks by TCP that says that he is gone.
#[test]
fn clients_of_a_unix_socket_are_served_where_addresses_matter() {
    let rows: [&[&str]; 3] = [
        &[],
        &["--auth-failures-per-min", "0", "--address-requests-per-s", "100"],
        &["--auth-failures-per-min", "0", "--address-connections-max", "100"],
    ];
    for flags in rows {
        on_mechanisms_alone(Program::Weir, |combination| {
            let home = tempfile::tempdir().expect("a directory");
            let socket = home.path().join("weir.sock");
            let listen = format!("unix:{}", socket.display());
            let stage = Stage::start(combination, &[flags, &["--listen", &listen]].concat());
            let rows = [("/digits.txt", "", 200), ("/dir/", "", 401)];
            let rows = rows.into_iter().chain([("/dir/", "ann:secret", 200)]);
            for (target, who, expected) in rows.chain([("/dir/", "ann:wrong", 401)]) {
                let mut wire = Wire::connect_unix(&socket).expect("a connection");
                wire.get(target, &said(who)).expect("sent");
                let status = wire.reply(false).map(|(head, _)| head.status);
                assert_eq!(status, Ok(expected), "{combination}: {target} {who} {flags:?}");
            }
            assert_eq!(stage.count("turned_away"), 0, "{combination}: {flags:?}");
            stage.server.stop();
        });
    }
}

/// Whoever is let in, or not, or not heard: what is wrong is mostly mistyped, and tells what is
/// right.
#[test]
fn credentials_stand_in_no_log_and_no_trace() {
    const LOGINS: [(&str, u16); 4] =
        [("ann:secret", 200), ("ann:mistyped 1", 401), ("eve:mistyped 2", 401), ("bob:late", 429)];
    for format in ["combined", "json"] {
        on_mechanisms_alone(Program::Weir, |combination| {
            let home = tempfile::tempdir().expect("a directory");
            let files = ["access-log", "error-log", "trace"].map(|name| home.path().join(name));
            let [access, error, trace] = files.each_ref().map(|file| file.to_str().expect("UTF-8"));
            let logs = ["--log-format", format, "--access-log", access, "--error-log", error];
            let more = ["--trace", trace, "--log-level", "debug"];
            let stage = Stage::start(combination, &[TWO_A_MINUTE, &logs, &more].concat());
            for (who, expected) in LOGINS {
                assert_eq!(stage.login(who, HERE).0.status, expected, "{combination}: {who}");
            }
            let said = stage.server.stop();
            let read = |file| std::fs::read_to_string(file).expect("a log");
            let [access, error, trace] = files.map(read);
            for (name, text, least) in [
                ("access", &access, 4),
                ("error", &error, 1),
                ("trace", &trace, 4),
                ("said", &said, 0),
            ] {
                assert!(text.lines().count() >= least, "{combination}: {name}: {text}");
                for (who, _) in LOGINS {
                    let (_, password) = who.split_once(':').expect("a password");
                    let shows = text.contains(password) || text.contains(&encoded(who));
                    assert!(!shows, "{combination}, {format}: {who} in {name}: {text}");
                }
            }
        });
    }
}

#[test]
fn replies_come_in_the_order_of_requests() {
    on_mechanisms_alone(Program::Weir, |combination| {
        let stage = Stage::start(combination, &[]);
        let mut wire = stage.server.connect();
        let asks = ["slow:wrong", "", "ann:secret", "", "ann:secret", "slow:wrong", "slow:secret"];
        for who in asks {
            let target = if who.is_empty() { "/digits.txt" } else { "/dir/" };
            wire.get(target, &said(who)).expect("sent");
        }
        let statuses: Vec<_> =
            asks.iter().map(|_| wire.reply(false).expect("a reply").0.status).collect();
        assert_eq!(statuses, [401, 200, 200, 200, 200, 401, 200], "{combination}");
        stage.server.stop();
    });
}

#[test]
fn who_waits_for_a_verdict_is_answered_whatever_ends() {
    for signal in [Signal::TERM, Signal::HUP] {
        on_queues(|combination| {
            let mut stage = Stage::start(combination, UNLIMITED);
            let who = ["slow:secret", "slow:1", "slow:2", "ann:secret"];
            let mut asked = who.map(|who| stage.asking(who, HERE));
            stage.await_asked(4);
            stage.server.signal(signal);
            for (wire, expected) in asked.iter_mut().zip([200, 401, 401, 200]) {
                let status = wire.reply(false).expect("a reply").0.status;
                assert_eq!(status, expected, "{combination}: {signal:?}");
            }
            if signal == Signal::HUP {
                stage.server.await_line("retires");
                assert_eq!(stage.login("ann:secret", HERE).0.status, 200, "{combination}");
                stage.server.signal(Signal::TERM);
            }
            let status = stage.server.ended(PATIENCE).and_then(|status| status.code());
            assert_eq!(status, Some(0), "{combination}: {signal:?}");
        });
    }
}

#[test]
fn who_goes_before_the_verdict_leaves_his_place() {
    on_queues(|combination| {
        let flags = [UNLIMITED, &["--connections-max", "4"]].concat();
        let stage = Stage::start(combination, &flags);
        for round in 0..3 {
            let asked: [Wire; 4] =
                [0, 1, 2, 3].map(|n| stage.asking(&format!("slow:{round} {n}"), HERE));
            stage.await_asked(4 * (round + 1) + round);
            drop(asked);
            let fetched = stage.server.fetch("/digits.txt");
            assert_eq!(fetched.as_deref(), Ok(DIGITS), "{combination}: round {round}");
        }
        // Where a thread waits for each verdict, it is only free then.
        let is_let_in = || stage.login("slow:secret", HERE).0.status == 200;
        assert!(await_true(PATIENCE, is_let_in), "{combination}");
        stage.server.stop();
    });
}

/// The machine refuses a thread. Where there is no other thread a limit leaves room for none, and
/// whom it binds is not root.
#[test]
fn without_a_thread_nobody_is_let_in_and_files_are_served() {
    if rights::lacks_users() {
        return;
    }
    let all = combinations(Program::Weir);
    for combination in all.iter().filter(|combination| combination.architecture == "sped") {
        let flags = ["--user", "65531", "--group", "65531"];
        // A supervisor and a worker.
        let stage = Stage::behind(&["prlimit", "--nproc=2"], SLOW, combination, &flags);
        let (head, _) = stage.login("ann:secret", HERE);
        assert_eq!((head.status, head.field("retry-after")), (503, Some("1")), "{combination}");
        assert_eq!(stage.server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        assert_eq!(stage.count("logins_refused"), 1, "{combination}");
        assert_eq!(stage.count("machine_faults"), 1, "{combination}");
        stage.server.stop();
    }
}

struct Stage<'s> {
    combination: &'s Combination,
    site: Fixture,
    server: Server,
    admin: SocketAddr,
}

impl<'s> Stage<'s> {
    fn start(combination: &'s Combination, flags: &[&str]) -> Self {
        Self::with(SLOW, combination, flags)
    }

    /// `slow`: of the user of that name.
    fn with(slow: &str, combination: &'s Combination, flags: &[&str]) -> Self {
        Self::behind(&["env"], slow, combination, flags)
    }

    /// `before`: a command that runs the server.
    fn behind(before: &[&str], slow: &str, combination: &'s Combination, flags: &[&str]) -> Self {
        let site = Fixture::small();
        // For whoever it becomes.
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(site.beside(""), open).expect("its own directory");
        let config = site.beside("weir.toml");
        let root = site.root();
        let cheap = ["ann", "bob", "cid", "eve"].map(|name| (name, CHEAP));
        let users = cheap.into_iter().chain([("slow", slow)]);
        let users: Vec<_> = users.map(|(name, hash)| format!("{name} = \"{hash}\"")).collect();
        let users = users.join(", ");
        let text = format!(
            "[[host]]\nnames = [\"weir.test\"]\n\
             [[host.rule]]\nat = \"/dir\"\nauth = {{ realm = \"dir\", users = {{ {users} }} }}\n\
             [[host.rule]]\nat = \"/\"\nroot = \"{}\"\n",
            root.display()
        );
        fs::write(&config, text).expect("written");
        let config = ["--config", config.to_str().expect("UTF-8")];
        let flags = [&config, &["--admin", "127.0.0.1:0"], flags].concat();
        let mut command = Command::new(before[0]);
        command.args(&before[1..]).arg(combination.program.path());
        command.args(combination.arguments(&root, &flags));
        let mut server = Server::start(command, combination.program.key());
        let admin = server.await_admin();
        if combination.row["holder"] == "process" {
            // While there are few, whoever is idle goes for the next one who comes.
            let count = combination.row["workers"].as_f64().expect("a number of workers");
            let are_all = await_true(PATIENCE, || counted(admin, "started") >= count);
            assert!(are_all, "{combination}: not all have started");
        }
        Self { combination, site, server, admin }
    }

    /// A connection on which somebody has asked with this name and password.
    fn asking(&self, who: &str, from: Ipv4Addr) -> Wire {
        let key = self.combination.program.key();
        let mut wire = Wire::connect_from(from, self.server.address, key).expect("a connection");
        wire.get("/dir/", &said(who)).expect("sent");
        wire
    }

    /// The same, and the reply.
    fn login(&self, who: &str, from: Ipv4Addr) -> (Head, Vec<u8>) {
        let reply = self.asking(who, from).reply(false);
        reply.unwrap_or_else(|fault| panic!("{}: {who}: {fault}", self.combination))
    }

    /// Many wrong passwords of a user, each on a connection of its own.
    fn guesses(&self, user: &str, from: Ipv4Addr) -> Vec<Wire> {
        (0..MANY).map(|n| self.asking(&format!("{user}:{n}"), from)).collect()
    }

    /// So many requests have been looked up.
    fn await_asked(&self, requests: u32) {
        let asked = await_true(PATIENCE, || self.count("requests") >= requests);
        assert!(asked, "{}: {} were asked", self.combination, self.count("requests"));
    }

    /// Threads that verify are there, and stand back for those that serve.
    fn await_who_gives_way(&self) {
        let worker = *workers_of(self.server.pid()).first().expect("a worker");
        let nice = |tid| niceness(worker, tid).unwrap_or_default();
        let gives_way = || {
            let all = threads(worker).into_iter();
            let mut verifiers = all.filter(|(_, name)| name == "weir-verifier").peekable();
            verifiers.peek().is_some() && verifiers.all(|(tid, _)| nice(tid) >= nice(worker) + 10)
        };
        assert!(await_true(PATIENCE, gives_way), "{}: they do not give way", self.combination);
    }

    fn count(&self, name: &str) -> u32 {
        counted(self.admin, name) as u32
    }
}

/// Where others wait for threads that verify, and one remembers for all; elsewhere each process
/// does so itself.
fn on_queues(test: impl Fn(&Combination) + Sync) {
    on_mechanisms_alone(Program::Weir, |combination| {
        if combination.row["holder"] != "process" {
            test(combination);
        }
    });
}

/// So few that those who wait for verdicts must not have them all.
fn few_threads(combination: &Combination) -> Vec<&'static str> {
    if combination.row["holder"] == "thread" { vec!["--threads", "4"] } else { Vec::new() }
}

/// The field that says a name and a password; nobody says none.
fn said(who: &str) -> String {
    if who.is_empty() {
        return String::new();
    }
    format!("Authorization: Basic {}\r\n", encoded(who))
}

/// In base64.
fn encoded(who: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let encoded = who.as_bytes().chunks(3).flat_map(|three| {
        let bits = (0..3).fold(0, |bits, n| bits << 8 | u32::from(*three.get(n).unwrap_or(&0)));
        let digit = move |n: usize| DIGITS[(bits >> (18 - 6 * n)) as usize & 63] as char;
        let bytes = three.len();
        (0..4).map(move |n| if n <= bytes { digit(n) } else { '=' })
    });
    encoded.collect()
}
