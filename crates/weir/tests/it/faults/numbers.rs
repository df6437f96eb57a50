//! The file with the number of the process that signals are for.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use crate::support::chosen::on_mechanisms;
use crate::support::combination::{Program, combinations};
use crate::support::command::run;
use crate::support::fixture::{DIGITS, Fixture};
use crate::support::home::Home;
use crate::support::server::{Server, send};
use crate::support::{PATIENCE, await_true, rights};

/// The machine refuses.
const MACHINE: i32 = 3;
/// Wrong usage or configuration.
const USAGE: i32 = 2;

fn number_in(file: &Path) -> Option<u32> {
    fs::read_to_string(file).ok()?.strip_suffix('\n')?.parse().ok()
}

#[test]
fn it_is_there_while_it_serves() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let home = tempfile::tempdir().expect("a directory");
        let file = home.path().join("pid");
        let name = file.to_str().expect("UTF-8");
        // Left behind by one that was killed.
        fs::write(&file, "1\n").expect("written");
        let flags = ["--pid-file", name, "--landlock", "auto", "--seccomp", "auto"];
        let server = combination.start(&site.root(), &flags);
        assert_eq!(number_in(&file), Some(server.pid()), "{combination}");
        let mut second = combination.command(&site.root(), &flags);
        let (code, _, errors) = run(&mut second).expect("the binary runs");
        let told = format!("--pid-file {name}: process {} has it and lives", server.pid());
        assert_eq!((code, errors.lines().count()), (Some(MACHINE), 1), "{combination}: {errors}");
        assert!(errors.contains(&told), "{combination}: {errors}");
        assert_eq!(number_in(&file), Some(server.pid()), "{combination}");
        server.stop();
        assert!(!file.exists(), "{combination}");
    });
}

/// Signals to the number in the file reach who serves, whichever program that is.
#[test]
fn another_program_has_its_own_number_there() {
    let home = Home::new(Fixture::new());
    let file = home.site.beside("pid");
    let settings = format!("listen = \"127.0.0.1:0\"\npid-file = {file:?}\n");
    home.configure(&combinations(Program::Weir)[0], &settings);
    let mut server = home.serve(&home.binary());
    let first = server.pid();
    // A program that does not come to serve changes nothing.
    fs::write(home.path("weir.toml"), "bogus = 1\n").expect("written");
    server.signal(Signal::USR2);
    server.await_line("not upgraded");
    assert_eq!(number_in(&file), Some(first));
    home.configure(&combinations(Program::Weir)[0], &settings);
    server.signal(Signal::USR2);
    let line = server.await_line("this one retires");
    let new = number_in(&file).expect("a number");
    assert!(new != first && line.contains(&format!("process {new} serves")), "{line}");
    assert_eq!(server.ended(PATIENCE).and_then(|status| status.code()), Some(0));
    assert_eq!(number_in(&file), Some(new), "the first has left it");
    assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS));
    send(new, Signal::TERM);
    assert!(await_true(PATIENCE, || !file.exists()), "the second takes it away");
}

/// It is opened before the rights are given up, and emptied where it cannot be removed after.
#[test]
fn a_user_without_rights_leaves_no_number_behind() {
    if rights::lacks_users() {
        return;
    }
    let site = Fixture::new();
    let home = tempfile::tempdir().expect("a directory");
    let file = home.path().join("pid");
    let mut command = Command::new(Program::Weir.path());
    command.arg("serve").arg("/usr/share").args(["--listen", "127.0.0.1:0", "--admin", "off"]);
    command.args(["--user", "nobody", "--pid-file"]).arg(&file);
    let server = Server::start(command, 0);
    assert_eq!(number_in(&file), Some(server.pid()));
    server.stop();
    assert_eq!(fs::read_to_string(&file).ok().as_deref(), Some(""));
    drop(site);
}

#[test]
fn what_cannot_be_such_a_file_is_told() {
    let site = Fixture::new();
    let link = site.beside("link");
    std::os::unix::fs::symlink(site.beside("elsewhere"), &link).expect("a link");
    let root = site.root();
    let rows: [&[&str]; 4] = [
        &["--pid-file", "/no/such/directory/pid"],
        &["--pid-file", root.to_str().expect("UTF-8")],
        &["--pid-file", link.to_str().expect("UTF-8")],
        &["--pid-file", "a", "--pid-file", "b"],
    ];
    for flags in rows {
        let mut command = Command::new(Program::Weir.path());
        command.arg("serve").arg(&root).args(["--listen", "127.0.0.1:0"]).args(flags);
        let (code, output, errors) = run(&mut command).expect("the binary runs");
        let told = (code, output.as_str(), errors.lines().count());
        assert_eq!(told, (Some(USAGE), "", 1), "{flags:?}: {errors}");
        assert!(errors.contains("--pid-file"), "{errors}");
    }
    assert!(!site.beside("elsewhere").exists());
}
